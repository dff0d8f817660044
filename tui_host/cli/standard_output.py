"""Writes to standard output, which no other module does."""

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
"""Characters that a terminal obeys or hides, or that UTF-8 cannot encode: written as JSON escapes."""


def text(words: str, *, end: str = "\n") -> None:
    """Write text for people. It is made safe for a terminal, which may also be behind a pipe."""
    _write([(visible(words) + end).encode(_encoding(), "backslashreplace")])


def value(answer: JSON) -> None:
    """Write a JSON object on one line, or indented on a terminal. Characters that a terminal obeys become JSON escapes."""
    is_utf8 = codecs.lookup(_encoding()).name == "utf-8"
    if is_terminal():
        dumped = json.dumps(answer, ensure_ascii=not is_utf8, indent=2)
    else:
        dumped = json.dumps(answer, ensure_ascii=not is_utf8, separators=(",", ":"))
    escaped = _ESCAPED.sub(lambda match: json.dumps(match[0])[1:-1], dumped)
    _write([f"{escaped}\n".encode(_encoding(), "backslashreplace")])


def raw(pieces: Iterable[bytes]) -> None:
    """Write bytes unchanged to a file or pipe; on a terminal, writes them as safe text."""
    if not is_terminal():
        _write(pieces)
        return
    for piece in pieces:
        text(piece.decode(errors="backslashreplace"), end="")


def table(rows: Iterable[tuple[str, ...]]) -> None:
    """Write rows in columns. Each column except the last is as wide as its longest cell."""
    listed = [tuple(visible(cell, newlines=False) for cell in row) for row in rows]
    widths = [max(map(cells, column)) for column in zip(*listed, strict=True)]
    for row in listed:
        text("  ".join(map(padded, row, widths)).rstrip())


def finish() -> None:
    """Flush buffered output, such as a help text. Prints no error if the reader has gone."""
    if sys.stdout is not None:
        try:
            sys.stdout.flush()
        except OSError:
            abandon()


def abandon() -> None:
    """Drop buffered output after the reader has gone, so that the program exits silently."""
    if sys.stdout is not None:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def is_terminal() -> bool:
    """Whether standard output is a terminal."""
    return sys.stdout is not None and sys.stdout.isatty()


def _encoding() -> str:
    return "utf-8" if sys.stdout is None else sys.stdout.encoding


def _write(pieces: Iterable[bytes]) -> None:
    """Write the pieces and flush standard output.

    Raises:
        BrokenPipeError: The reader has gone; the program then exits without a message.
        TuiHostError: Writing failed for any other reason.
    """
    if sys.stdout is None:  # standard output was closed when the program started
        raise TuiHostError("closed", "standard output", "redirect it, to /dev/null if not needed")
    stream = sys.stdout.buffer
    for piece in pieces:
        with _told():
            stream.write(piece)
    with _told():
        stream.flush()


@contextmanager
def _told() -> Generator[None]:
    """Turn a failed write into an error with the system's reason. Errors raised while making the pieces pass unchanged."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        abandon()
        raise TuiHostError(
            f"cannot be written: {error.strerror}", "standard output", "redirect it to another place"
        ) from error
