"""Reads rules and patterns that say which tools may be called without asking, and which may never be called."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from tui_host.settings.mistakes import Report, shown
from tui_host.settings.schema import Rule
from tui_host.settings.table_reader import SettingsTable

_SERVER_PATTERN = re.compile(r"[\w*-]{1,80}")
# What other programs' patterns have beside `*` stands in no tool's name that is meant.
_TOOL_PATTERN = re.compile(r"[^\[\](){}?|]+")


def matches(name: str, pattern: str) -> bool:
    """Whether a name matches a pattern, in which `*` stands for any text."""
    return re.fullmatch(".*".join(map(re.escape, pattern.split("*"))), name, re.DOTALL) is not None


def read_rules(table: SettingsTable) -> Iterator[Rule]:
    """Yield the rules of a file in order. An invalid rule is reported and skipped."""
    for entry in table.array("rules"):
        rule = entry.read(Rule(where=table.file))
        for key in ("server", "tool", "action"):
            if not entry.data.get(key):
                entry.mistake(key, "missing", "write server, tool and action; * stands for any characters")
        if rule.server and not _SERVER_PATTERN.fullmatch(rule.server):
            what = f'"{shown(rule.server)}" fits no server\'s name'
            entry.mistake("server", what, "use letters, digits, -, _ and *")
        if rule.server and rule.tool and "action" in entry:
            yield rule


def check_patterns(patterns: Sequence[str], report: Report) -> None:
    """Check the patterns of `--allow`. A pattern that cannot match any `SERVER.TOOL` is a mistake."""
    for pattern in patterns:
        server, dot, tool = pattern.partition(".")
        matches_something = _TOOL_PATTERN.fullmatch(tool) if dot else "*" in pattern
        if not matches_something or not _SERVER_PATTERN.fullmatch(server):
            what = f'found "{shown(pattern)}", expected SERVER.TOOL'
            remedy = "write it like time.get_* or math.*"
            if tool and _SERVER_PATTERN.fullmatch(server):
                remedy = f"write * for brackets and other signs: {shown(pattern_of(pattern))}"
            report.mistake(what, "--allow", remedy)


def pattern_of(name: str) -> str:
    """Return a pattern for a tool's name, with `*` for what cannot be typed or quoted, or stands in no pattern."""
    return "".join(letter if letter.isprintable() and letter not in "'[](){}?|" else "*" for letter in name)
