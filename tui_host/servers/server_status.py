"""The status of a server as its connection publishes it, with the server's log: every change is announced, secrets are redacted.

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


class StatusPublisher:
    """The current status of a server, during a connection: `status` not yet redacted, `shown` redacts a text."""

    def __init__(self, status: ServerStatus, redact: Callable[[str], str], changed: Callable[[], None]) -> None:
        self.status = status
        self.shown = lru_cache(256)(redact)  # read as often as the screen is drawn
        self._redact = redact
        self._changed = changed
        self._lines: deque[LogLine] = deque(maxlen=LINES)
        self._log: tuple[LogLine, ...] | None = ()
        self._counts: Counter[str] = Counter()

    @property
    def state(self) -> State:
        return self.status.state

    def update(self, **changes: object) -> None:
        """Change these fields of the status, and announce it."""
        self.status = replace(self.status, **changes)
        self._changed()

    def publish(self, state: State, detail: str) -> None:
        since = self.status.since_mono_ns if state == self.state else time.monotonic_ns()
        self.update(state=state, detail=detail, since_mono_ns=since)

    def notice(self, *sentences: str) -> None:
        """Add notices for the user; each sentence appears once."""
        notices = tuple(dict.fromkeys(filter(None, (*self.status.notices, *sentences))))[-NOTICES:]
        if notices != self.status.notices:
            self.update(notices=notices)

    def log(self, params: Mapping[str, JSON]) -> None:
        """Add a log message, given the parameters of its notification."""
        level = said(params.get("level")) or "info"
        known = _MEANT.get(level.lower(), level.lower())
        self._counts[known if known in LOG_LEVELS else OTHER] += 1
        self._lines.append(
            LogLine(
                level=known if known in LOG_LEVELS else self._redact(level[:LEVEL_CHARACTERS]),
                text=self._redact(_text_of(params)[:LINE_CHARACTERS]),
                logger=self._redact(text_or_empty(params.get("logger"))[:LINE_CHARACTERS]),
                mono_ns=time.monotonic_ns(),
            )
        )
        self._log = None

    def redacted(self, **live: object) -> ServerStatus:
        """Return the status with its log and with what is true at this moment, without secrets."""
        if self._log is None:  # else the same value again, so that a screen sees that no line was added
            self._log = tuple(self._lines)
        status = replace(self.status, **live)
        return replace(
            status,
            detail=self.shown(status.detail),
            server_info=self.shown(status.server_info),
            instructions=self.shown(status.instructions),
            stderr=tuple(map(self.shown, status.stderr)),
            notices=tuple(map(self.shown, status.notices)),
            log=self._log,
            log_counts=tuple(self._counts.items()),
        )


def _text_of(params: Mapping[str, JSON]) -> str:
    """Return the message: its data; in a message without, what some servers send in its place."""
    others = {name: value for name, value in params.items() if name not in {"level", "logger", "_meta"}}
    data = others.get("data", others.get("message", others))
    return data if isinstance(data, str) else json.dumps(data, ensure_ascii=False)
