"""Writes to standard output, which no other module does."""

from __future__ import annotations

import json
import os
import re
import sys
import unicodedata
from collections.abc import Iterable
from typing import TextIO

from tui_host.capture.visible import visible
from tui_host.errors import JSON, TuiHostError

_ESCAPED = (  # compiled where it is used: the app has no use for it
    "[\x7f-\x9f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ud800-\udfff\ufeff\ufff9-\ufffb\U000e0000-\U000e0fff]"
)
"""Characters that a terminal obeys or hides, or that UTF-8 cannot encode: written as JSON escapes."""


def text(words: str, *, end: str = "\n") -> None:
    """Write text for people. It is made safe for a terminal, which may also be behind a pipe."""
    _write([(visible(words) + end).encode(errors="backslashreplace")])


def value(answer: JSON) -> None:
    """Write a JSON object on one line, or indented on a terminal. Characters that a terminal obeys become JSON escapes."""
    indent, separators = (2, None) if is_terminal() else (None, (",", ":"))
    dumped = json.dumps(answer, ensure_ascii=False, indent=indent, separators=separators)
    escaped = re.sub(_ESCAPED, lambda match: json.dumps(match[0])[1:-1], dumped)
    _write([f"{escaped}\n".encode(errors="backslashreplace")])


def raw(pieces: Iterable[bytes]) -> None:
    """Write bytes unchanged to a file or pipe; on a terminal, writes them as safe text."""
    if not is_terminal():
        _write(pieces)
        return
    for piece in pieces:
        text(piece.decode(errors="backslashreplace"), end="")


def table(rows: Iterable[tuple[str, ...]]) -> str:
    """Return rows in columns. Each column except the last is as wide as its longest cell."""
    listed = [tuple(visible(cell, newlines=False) for cell in row) for row in rows]
    widths = [max(map(cells, column)) for column in zip(*listed, strict=True)]
    return "\n".join("  ".join(map(padded, row, widths)).rstrip() for row in listed)


def either(words: str, answer: JSON, *, as_json: bool) -> None:
    """Write a JSON object, or text in its place."""
    if as_json:
        value(answer)
    elif words:
        text(words)


def finish() -> None:
    """Flush buffered output, such as a help text. Prints no error if the reader has gone."""
    for stream in (sys.stdout, sys.stderr):  # the app draws on the second
        try:
            if stream is not None:
                stream.flush()
        except OSError:
            abandon(stream)  # or Python would fail once more as it flushes at its end


def abandon(stream: TextIO | None = None) -> None:
    """Drop buffered output after the reader has gone, so that the program exits silently."""
    stream = stream or sys.stdout
    if stream is not None:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def is_terminal() -> bool:
    """Whether standard output is a terminal."""
    return sys.stdout is not None and sys.stdout.isatty()


def _write(pieces: Iterable[bytes]) -> None:
    """Write the pieces and flush. Raises BrokenPipeError if the reader has gone: the program then exits without a message."""
    if sys.stdout is None:  # standard output was closed when the program started
        raise TuiHostError("closed", "standard output", "redirect it, to /dev/null if not needed")
    try:
        sys.stdout.buffer.writelines(pieces)
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        abandon()
        what = f"cannot be written: {error.strerror}"
        raise TuiHostError(what, "standard output", "redirect it to another place") from error


def cells(text: str) -> int:
    """Return the width of a line in cells; combining marks and joiners take none. Source: Unicode 15, UAX #11."""
    if text.isascii():
        return len(text)
    seen = (character for character in text if unicodedata.category(character) not in {"Mn", "Me", "Cf"})
    return sum(2 if unicodedata.east_asian_width(character) in "WF" else 1 for character in seen)


def padded(text: str, width: int) -> str:
    """Fill a text with spaces up to a width."""
    return text + " " * (width - cells(text))


def clipped(text: str, width: int) -> str:
    """Cut a text to at most `width` cells, with `…` at the cut."""
    if cells(text) <= width:
        return text
    text = text[:width]  # so that a long text is not measured again and again
    while cells(text) > width - 1:
        text = text[:-1]
    return f"{text}…"
