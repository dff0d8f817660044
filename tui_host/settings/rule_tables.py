"""Reads rules and patterns that say which tools may be called without asking, and which may never be called."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from tui_host.settings.mistakes import Report, shown
from tui_host.settings.schema import Rule
from tui_host.settings.table_reader import SettingsTable

# What other programs' patterns have beside `*` stands in no tool's name that is meant.
_PATTERN = re.compile(r"[\w-]*\*[\w*-]*|[\w*-]{1,80}\.[^\[\](){}?|]+")


def matches(name: str, pattern: str) -> bool:
    """Whether a name matches a pattern, in which `*` stands for any text."""
    return re.fullmatch(".*".join(map(re.escape, pattern.split("*"))), name, re.DOTALL) is not None


def read_rules(table: SettingsTable) -> Iterator[Rule]:
    """Yield the rules of a file in order."""
    for entry in table.array("rules"):
        yield entry.read(Rule(where=table.file))
        for key in ("server", "tool", "action"):
            if not entry.data.get(key):
                entry.mistake(key, "missing", "write server, tool and action; * stands for any characters")


def check_patterns(patterns: Sequence[str], report: Report) -> None:
    """Check the patterns of `--allow`. A pattern that cannot match any `SERVER.TOOL` is a mistake."""
    for pattern in patterns:
        if not _PATTERN.fullmatch(pattern):
            meant, remedy = pattern_of(pattern), "write it like time.get_* or math.*"
            if _PATTERN.fullmatch(meant):
                remedy = f"write * for brackets and other signs: {shown(meant)}"
            report.mistake("--allow", f'found "{shown(pattern)}", expected SERVER.TOOL', remedy)


def pattern_of(name: str) -> str:
    """Return a pattern for a tool's name, with `*` for what cannot be typed or quoted, or stands in no pattern."""
    return "".join(letter if letter.isprintable() and letter not in "'[](){}?|" else "*" for letter in name)
