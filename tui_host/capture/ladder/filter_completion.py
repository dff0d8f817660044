"""Completes the last term of a filter: names of fields, then values that occur."""

from __future__ import annotations

from collections.abc import Sequence

from tui_host.capture.ladder.filter_language import FIELDS, KIND_WORDS
from tui_host.capture.ladder.ladder import Ladder
from tui_host.capture.ladder.row_table import STATES

MOST = 20
"""Completions to offer."""


def completions(text: str, ladder: Ladder) -> Sequence[tuple[str, str]]:
    """Return completions of the last term, each as the word to show and the whole filter."""
    start = max(text.rfind(" "), text.rfind("(")) + 1
    if text.count('"') % 2:
        return ()
    before, term = text[:start], text[start:]
    name, colon, begun = term.partition(":")
    if not colon:
        names = [name for name in FIELDS if name.startswith(term.lower())]
        return [(name, before + name) for name in names]
    folded = begun.casefold()
    values = [value for value in _values(name.lower(), ladder) if folded in value.casefold() and value != begun]
    values.sort(key=lambda value: not value.casefold().startswith(folded))
    return [(value, f"{before}{name}:{_quoted(value)}") for value in values[:MOST]]


def _quoted(value: str) -> str:
    return f'"{value}"' if " " in value else value


def _values(name: str, ladder: Ladder) -> Sequence[str]:
    match name:
        case "kind":
            return KIND_WORDS
        case "dir":
            return ("in", "out")
        case "status":
            return (*ladder.values("status"), *STATES)
        case "server" | "tool" | "method" | "turn":
            return ladder.values(name)
        case _:
            return ()
