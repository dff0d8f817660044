"""Owns standard output: the only place that writes to it."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable

from tui_host.capture.visible import visible
from tui_host.errors import JSON


def text(words: str, *, end: str = "\n") -> None:
    """Write text: harmless for a terminal when standard output is one, else exactly as it is."""
    sys.stdout.write((visible(words) if sys.stdout.isatty() else words) + end)
    sys.stdout.flush()


def value(answer: JSON) -> None:
    """Write one JSON object, on one line; on a terminal indented, with what acts on it escaped."""
    if sys.stdout.isatty():
        text(json.dumps(answer, ensure_ascii=False, indent=2))
    else:
        text(json.dumps(answer, ensure_ascii=False, separators=(",", ":")))


def raw(pieces: Iterable[bytes]) -> None:
    """Write bytes as they are, for files and pipes; through `text` on a terminal."""
    if sys.stdout.isatty():
        for piece in pieces:
            text(piece.decode(errors="backslashreplace"), end="")
        return
    sys.stdout.flush()
    for piece in pieces:
        sys.stdout.buffer.write(piece)
    sys.stdout.buffer.flush()


def table(rows: Iterable[tuple[str, ...]]) -> None:
    """Write columns, as wide as their words; the last one free."""
    listed = [tuple(visible(cell, newlines=False) for cell in row) for row in rows]
    widths = [max(map(len, column)) for column in zip(*listed, strict=True)]
    for row in listed:
        text("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
