"""Publishes the status of a server: every change is announced, and secrets are redacted."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache

from tui_host.servers.catalog import ServerStatus, State
from tui_host.servers.server_log import ServerLog

NOTICES = 30


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
