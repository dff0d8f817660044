"""The status of a server as its connection publishes it, and the server's log: every change is announced, secrets are redacted.

Source of the log: MCP 2025-11-25 and 2026-07-28, Server features, Logging.
"""

from __future__ import annotations

import json
import time
from collections import Counter, deque
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import lru_cache

from tui_host.capture.json.narrowing import said, text_or_empty
from tui_host.errors import JSON
from tui_host.servers.catalog import LogLine, ServerStatus, State
from tui_host.settings.schema import LOG_LEVELS

NOTICES = 30
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


class StatusPublisher:
    """The current status of a server, during a connection: `status` not yet redacted, `shown` redacts a text."""

    def __init__(self, status: ServerStatus, redact: Callable[[str], str], changed: Callable[[], None]) -> None:
        self.status = status
        self.shown = lru_cache(256)(redact)  # read as often as the screen is drawn
        self.log = ServerLog(redact)
        self._changed = changed

    @property
    def state(self) -> State:
        return self.status.state

    def update(self, status: ServerStatus) -> None:
        self.status = status
        self._changed()

    def publish(self, state: State, detail: str) -> None:
        since = self.status.since_mono_ns if state == self.status.state else time.monotonic_ns()
        self.update(replace(self.status, state=state, detail=detail, since_mono_ns=since))

    def notice(self, *sentences: str) -> None:
        """Add notices for the user; each sentence appears once."""
        if sentences:
            notices = dict.fromkeys((*self.status.notices, *sentences))
            self.update(replace(self.status, notices=tuple(notices)[-NOTICES:]))

    def redacted(self) -> ServerStatus:
        """Return the status with its log, without secrets."""
        shown, status = self.shown, self.status
        return replace(
            status,
            detail=shown(status.detail),
            server_info=shown(status.server_info),
            instructions=shown(status.instructions),
            notices=tuple(map(shown, status.notices)),
            log=self.log.lines,
            log_counts=tuple(self.log.counts.items()),
        )
