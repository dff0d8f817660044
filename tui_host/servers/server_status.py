"""Publishes the status of a server: every change is announced, and secrets are redacted."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache

from tui_host.servers.catalog import ServerStatus, State
from tui_host.servers.server_faults import words_of_answer
from tui_host.servers.server_log import ServerLog
from tui_host.servers.transports import Wire

STDERR_LINES = 20
NOTICES = 30


class StatusPublisher:
    """The current status of a server, during a connection.

    Args:
        status: The initial status.
        redact: Removes secrets from a text.
        changed: Called after each change.

    Attributes:
        status: The status, not yet redacted.
        shown: Cached `redact`.
        log: The server's log messages.
    """

    def __init__(self, status: ServerStatus, redact: Callable[[str], str], changed: Callable[[], None]) -> None:
        self.status = status
        self.shown = lru_cache(256)(redact)  # read as often as the screen is drawn
        self.log = ServerLog(redact)
        self._changed = changed

    @property
    def state(self) -> State:
        """The current state."""
        return self.status.state

    def update(self, status: ServerStatus) -> None:
        """Replace the status."""
        self.status = status
        self._changed()

    def publish(self, state: State, detail: str) -> None:
        """Set state and detail."""
        since = self.status.since_mono_ns if state == self.status.state else time.monotonic_ns()
        self.update(replace(self.status, state=state, detail=detail, since_mono_ns=since))

    def notice(self, *sentences: str) -> None:
        """Add notices for the user; each sentence appears once."""
        if sentences:
            notices = dict.fromkeys((*self.status.notices, *sentences))
            self.update(replace(self.status, notices=tuple(notices)[-NOTICES:]))

    def snapshot(self, wire: Wire | None) -> ServerStatus:
        """Return the redacted status with counters and the last lines of standard error."""
        shown, status = self.shown, self.status
        status = replace(
            status,
            detail=shown(status.detail),
            server_info=shown(status.server_info),
            instructions=shown(status.instructions),
            notices=tuple(map(shown, status.notices)),
            log=self.log.lines,
            log_counts=tuple(self.log.counts.items()),
        )
        if wire is None:
            return status
        counts, tap, child = wire.repair.counts, wire.tap, wire.child
        return replace(
            status,
            frames_out=counts.out if tap is None else tap.sent,
            frames_in=counts.into if tap is None else tap.received,
            malformed=counts.malformed if tap is None else tap.malformed,
            stderr=() if child is None else tuple(map(shown, child.errors.last(STDERR_LINES))),
            exit_code=None if child is None else child.process.exit_code,
            notices=(*status.notices, *_live_notices(wire, status.detail)),
        )


def _live_notices(wire: Wire, detail: str) -> list[str]:
    """Return notices about the wire's present state, without those that the detail line repeats."""
    counts, child = wire.repair.counts, wire.child
    notices: list[str] = []
    if child is not None and child.unread_since is not None:
        notices.append(f"has not read its standard input for {time.monotonic() - child.unread_since:.0f} s")
    if child is not None and child.errors.unrecorded:
        notices.append(f"{child.errors.unrecorded:,} bytes of standard error came too fast to be recorded")
    failed = words_of_answer(wire.gate.last) if wire.gate is not None and wire.gate.last is not None else ""
    if failed and failed not in detail:
        notices.append(f"the last request failed: {failed}")
    if counts.merged:
        notices.append(f"{counts.merged:,} notifications came too fast; only the newest of each kind was used")
    if counts.refused or wire.refused:
        notices.append(f"{counts.refused + wire.refused:,} requests of the server were refused: too many at once")
    if counts.unexpected:
        notices.append(f"{counts.unexpected:,} answers matched no request")
    return notices
