"""A server's log messages: the last ones, and how many of each level there were.

Source: MCP 2025-11-25 and 2026-07-28, Server features, Logging.
"""

from __future__ import annotations

import json
import time
from collections import Counter, deque
from collections.abc import Callable, Mapping

from tui_host.errors import JSON
from tui_host.servers.catalog import LogLine
from tui_host.settings.schema import LOG_LEVELS

LINES = 300
LONGEST = 2_000
"""Most characters of a line; the record has the whole message."""


class ServerLog:
    """Log messages of a connection.

    Args:
        redact: Removes secrets from a text.

    Attributes:
        counts: Number of messages by level.
    """

    def __init__(self, redact: Callable[[str], str]) -> None:
        self.counts: Counter[str] = Counter()
        self._redact = redact
        self._lines: deque[LogLine] = deque(maxlen=LINES)
        self._shown: tuple[LogLine, ...] | None = ()

    @property
    def lines(self) -> tuple[LogLine, ...]:
        """The last messages, newest last."""
        if self._shown is None:
            self._shown = tuple(self._lines)
        return self._shown

    def add(self, params: Mapping[str, JSON]) -> None:
        """Add a message, given the parameters of its notification; a level that MCP does not have counts as `info`."""
        level, data, logger = params.get("level"), params.get("data"), params.get("logger")
        known = level if isinstance(level, str) and level in LOG_LEVELS else "info"
        text = data if isinstance(data, str) else json.dumps(data, ensure_ascii=False)
        name = logger if isinstance(logger, str) else ""
        self.counts[known] += 1
        self._lines.append(
            LogLine(
                level=known,
                text=self._redact(text[:LONGEST]),
                logger=self._redact(name[:LONGEST]),
                mono_ns=time.monotonic_ns(),
            )
        )
        self._shown = None
