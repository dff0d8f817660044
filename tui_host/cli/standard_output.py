"""The only writer of standard output."""

from __future__ import annotations

import codecs
import json
import os
import re
import sys
from collections.abc import Generator, Iterable
from contextlib import contextmanager

from tui_host.capture.visible import visible
from tui_host.cli.columns import cells, padded
from tui_host.errors import JSON, TuiHostError

_ESCAPED = re.compile(
    "[\x7f-\x9f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ud800-\udfff\ufeff\ufff9-\ufffb\U000e0000-\U000e0fff]"
)
"""Characters that a terminal obeys or hides, or UTF-8 cannot encode: written as JSON escapes, so a reader loses nothing."""


def text(words: str, *, end: str = "\n") -> None:
    """Write text: made safe on a terminal, else unchanged."""
    shown = visible(words) if _is_terminal() else words
    _write([(shown + end).encode(_encoding(), "backslashreplace")])


def value(answer: JSON) -> None:
    """Write a JSON object on one line, indented on a terminal. Characters obeyed by a terminal are escaped as in JSON."""
    is_utf8 = codecs.lookup(_encoding()).name == "utf-8"
    if _is_terminal():
        dumped = json.dumps(answer, ensure_ascii=not is_utf8, indent=2)
    else:
        dumped = json.dumps(answer, ensure_ascii=not is_utf8, separators=(",", ":"))
    text(_ESCAPED.sub(lambda match: json.dumps(match[0])[1:-1], dumped))


def raw(pieces: Iterable[bytes]) -> None:
    """Write bytes unchanged to files and pipes; through `text` on a terminal."""
    if not _is_terminal():
        _write(pieces)
        return
    for piece in pieces:
        text(piece.decode(errors="backslashreplace"), end="")


def table(rows: Iterable[tuple[str, ...]]) -> None:
    """Write columns, each as wide as its longest cell except the last."""
    listed = [tuple(visible(cell, newlines=False) for cell in row) for row in rows]
    widths = [max(map(cells, column)) for column in zip(*listed, strict=True)]
    for row in listed:
        text("  ".join(map(padded, row, widths)).rstrip())


def finish() -> None:
    """Flush buffered output, such as a help text, without an error message if the reader has gone."""
    if sys.stdout is not None:
        try:
            sys.stdout.flush()
        except OSError:
            abandon()


def abandon() -> None:
    """Drop buffered output after the reader has gone, to exit silently."""
    if sys.stdout is not None:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _is_terminal() -> bool:
    return sys.stdout is not None and sys.stdout.isatty()


def _encoding() -> str:
    return "utf-8" if sys.stdout is None else sys.stdout.encoding


def _write(pieces: Iterable[bytes]) -> None:
    """Write and flush.

    Raises:
        BrokenPipeError: The reader has gone, which ends the program quietly.
        TuiHostError: Writing failed for any other reason.
    """
    if sys.stdout is None:  # the program was started with it closed
        raise TuiHostError("closed", "standard output", "redirect it, to /dev/null if not needed")
    stream = sys.stdout.buffer
    for piece in pieces:
        with _told():
            stream.write(piece)
    with _told():
        stream.flush()


@contextmanager
def _told() -> Generator[None]:
    """Turn the system's reason for a failed write into an error. Errors of the pieces' producer pass unchanged."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        abandon()
        raise TuiHostError(
            f"cannot be written: {error.strerror}", "standard output", "redirect it to another place"
        ) from error
