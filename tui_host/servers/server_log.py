"""A server's log messages: the last ones, and how many of each level there were.

Source: MCP 2025-11-25 and 2026-07-28, Server features, Logging.
"""

from __future__ import annotations

import json
import time
from collections import Counter, deque
from collections.abc import Callable, Mapping

from tui_host.capture.json.narrowing import said, text_or_empty
from tui_host.errors import JSON
from tui_host.servers.catalog import LogLine
from tui_host.settings.schema import LOG_LEVELS

LINES = 300
LINE_CHARACTERS = 2_000
"""Most characters of a line; the record has the whole message."""
LEVEL_CHARACTERS = 20
_MEANT = {"warn": "warning", "fatal": "critical", "err": "error", "trace": "debug"}
"""Levels of other logging libraries, which servers pass on."""
OTHER = "other"


class ServerLog:
    """Log messages of a connection; `counts` are by level, levels that MCP does not have together."""

    def __init__(self, redact: Callable[[str], str]) -> None:
        self.counts: Counter[str] = Counter()
        self._redact = redact
        self._lines: deque[LogLine] = deque(maxlen=LINES)
        self._shown: tuple[LogLine, ...] | None = ()

    @property
    def lines(self) -> tuple[LogLine, ...]:
        """The last messages, newest last; the same value until one is added, so that a screen sees that none was."""
        if self._shown is None:
            self._shown = tuple(self._lines)
        return self._shown

    def add(self, params: Mapping[str, JSON]) -> None:
        """Add a message, given the parameters of its notification."""
        level = said(params.get("level")) or "info"
        known = _MEANT.get(level.lower(), level.lower())
        if known not in LOG_LEVELS:
            known = level[:LEVEL_CHARACTERS]
        self.counts[known if known in LOG_LEVELS else OTHER] += 1
        self._lines.append(
            LogLine(
                level=self._redact(known),
                text=self._redact(_text_of(params)[:LINE_CHARACTERS]),
                logger=self._redact(text_or_empty(params.get("logger"))[:LINE_CHARACTERS]),
                mono_ns=time.monotonic_ns(),
            )
        )
        self._shown = None


def _text_of(params: Mapping[str, JSON]) -> str:
    """Return the message: its data; in a message without, what some servers send in its place."""
    if "data" in params:
        data = params["data"]
    else:
        others = {name: value for name, value in params.items() if name not in {"level", "logger", "_meta"}}
        data = others.get("message", others)
    return data if isinstance(data, str) else json.dumps(data, ensure_ascii=False)
