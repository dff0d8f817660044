"""Owns standard output: the only place that writes to it."""

from __future__ import annotations

import codecs
import json
import os
import re
import sys
from collections.abc import Generator, Iterable
from contextlib import contextmanager

from tui_host.capture.visible import visible
from tui_host.cli.cells import cells, padded
from tui_host.errors import JSON, TuiHostError

_ESCAPED = re.compile(
    "[\x7f-\x9f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ud800-\udfff\ufeff\ufff9-\ufffb\U000e0000-\U000e0fff]"
)
"""What a terminal acts on or hides, or UTF-8 cannot say: written as JSON's own escapes, so that a reader loses nothing."""


def text(words: str, *, end: str = "\n") -> None:
    """Write text: harmless for a terminal when standard output is one, else exactly as it is."""
    shown = visible(words) if _is_terminal() else words
    _write([(shown + end).encode(_encoding(), "backslashreplace")])


def value(answer: JSON) -> None:
    """Write one JSON object, on one line; on a terminal indented. What acts on a terminal is escaped, as JSON escapes it."""
    is_utf8 = codecs.lookup(_encoding()).name == "utf-8"
    if _is_terminal():
        dumped = json.dumps(answer, ensure_ascii=not is_utf8, indent=2)
    else:
        dumped = json.dumps(answer, ensure_ascii=not is_utf8, separators=(",", ":"))
    text(_ESCAPED.sub(lambda match: json.dumps(match[0])[1:-1], dumped))


def raw(pieces: Iterable[bytes]) -> None:
    """Write bytes as they are, for files and pipes; through `text` on a terminal."""
    if not _is_terminal():
        _write(pieces)
        return
    for piece in pieces:
        text(piece.decode(errors="backslashreplace"), end="")


def table(rows: Iterable[tuple[str, ...]]) -> None:
    """Write columns, as wide as their words; the last one free."""
    listed = [tuple(visible(cell, newlines=False) for cell in row) for row in rows]
    widths = [max(map(cells, column)) for column in zip(*listed, strict=True)]
    for row in listed:
        text("  ".join(map(padded, row, widths)).rstrip())


def finish() -> None:
    """Write what still waits, such as a help text; nobody is told at exit that its reader has gone."""
    if sys.stdout is not None:
        try:
            sys.stdout.flush()
        except OSError:
            abandon()


def abandon() -> None:
    """Nobody reads standard output any more: what is still in its buffer must not be told of at exit."""
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
        TuiHostError: It cannot be written for any other reason.
    """
    if sys.stdout is None:  # the program was started with it closed
        raise TuiHostError("it is closed", "standard output", "send it somewhere, to /dev/null if not needed")
    stream = sys.stdout.buffer
    for piece in pieces:
        with _told():
            stream.write(piece)
    with _told():
        stream.flush()


@contextmanager
def _told() -> Generator[None]:
    """The system's own reason why nothing can be written, in words. What made the pieces has errors of its own."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        abandon()
        raise TuiHostError(
            f"it cannot be written: {error.strerror}", "standard output", "send it to another place"
        ) from error
