"""Reads rules and patterns: which tools may be called without asking, and which never."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from tui_host.settings.mistakes import Report, shown
from tui_host.settings.schema import ACTIONS, Action, Rule
from tui_host.settings.table_reader import Table

_SERVER_PATTERN = re.compile(r"[A-Za-z0-9_*-]{1,80}")


def matches(name: str, pattern: str) -> bool:
    """Whether a name matches a pattern with `*` as wildcard."""
    return re.fullmatch(".*".join(map(re.escape, pattern.split("*"))), name, re.DOTALL) is not None


def read_rules(table: Table) -> Iterator[Rule]:
    """Yield the rules of a file in order; a broken rule is reported and skipped."""
    for entry in table.array("rules"):
        server, tool = entry.text("server"), entry.text("tool")
        action: Action = entry.choice("action", ACTIONS, "ask")
        for key in ("server", "tool", "action"):
            if key not in entry:
                entry.mistake(key, "missing", "write server, tool and action; * stands for any characters")
        if server is not None and not _SERVER_PATTERN.fullmatch(server):
            entry.mistake("server", f'"{shown(server)}" fits no server\'s name', "use letters, digits, -, _ and *")
        if tool is not None and not tool:
            entry.mistake("tool", "empty", "name the tool, or write * for all")
        entry.finish()
        if server and tool and "action" in entry:
            yield Rule(server=server, tool=tool, action=action, where=table.file)


def read_patterns(patterns: Sequence[str], report: Report) -> tuple[str, ...]:
    """Check the patterns of `--allow`; a pattern that could match no `SERVER.TOOL` is a mistake."""
    for pattern in patterns:
        server, dot, tool = pattern.partition(".")
        matches_something = bool(tool) if dot else "*" in pattern
        if not matches_something or not _SERVER_PATTERN.fullmatch(server):
            report.mistake(
                f'found "{shown(pattern)}", expected SERVER.TOOL', "--allow", "write it like time.get_* or math.*"
            )
    return tuple(patterns)
