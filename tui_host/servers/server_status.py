"""How a server stands: what is known of it, as a person is told. Every change is announced; no secret is in what is told."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache

from tui_host.servers.catalog import ServerStatus, State
from tui_host.servers.server_faults import words_of_answer
from tui_host.servers.transports import Wire

STDERR_LINES = 20
NOTICES = 30


class Standing:
    """What is known of one server, from one connection's start to its end.

    Args:
        status: To begin with.
        redact: Takes secrets out of a text.
        changed: Called after each change.

    Attributes:
        status: As the server has said it.
    """

    def __init__(self, status: ServerStatus, redact: Callable[[str], str], changed: Callable[[], None]) -> None:
        self.status = status
        self.shown = lru_cache(256)(redact)  # it is asked for at screen rate
        self._changed = changed

    @property
    def state(self) -> State:
        """Where the connection stands."""
        return self.status.state

    def know(self, status: ServerStatus) -> None:
        """More is known."""
        self.status = status
        self._changed()

    def publish(self, state: State, detail: str) -> None:
        """The connection stands elsewhere, or something else is to be said of where it stands."""
        since = self.status.since_mono_ns if state == self.status.state else time.monotonic_ns()
        self.know(replace(self.status, state=state, detail=detail, since_mono_ns=since))

    def notice(self, *sentences: str) -> None:
        """What a person should know besides; each sentence is told once."""
        if sentences:
            told = dict.fromkeys((*self.status.notices, *sentences))
            self.know(replace(self.status, notices=tuple(told)[-NOTICES:]))

    def told(self, wire: Wire | None) -> ServerStatus:
        """What is known now, counters and the last lines of standard error included; no secret is in it."""
        shown, status = self.shown, self.status
        status = replace(
            status,
            detail=shown(status.detail),
            server_info=shown(status.server_info),
            instructions=shown(status.instructions),
            notices=tuple(map(shown, status.notices)),
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
    """What is to be known of a wire now, save what the state's own line says already."""
    counts, child = wire.repair.counts, wire.child
    told: list[str] = []
    if child is not None and child.unread_since is not None:
        told.append(f"it has not read its standard input for {time.monotonic() - child.unread_since:.0f} s")
    if child is not None and child.errors.unrecorded:
        told.append(f"{child.errors.unrecorded:,} bytes of its standard error came too fast to be recorded")
    failed = words_of_answer(wire.gate.last) if wire.gate is not None and wire.gate.last is not None else ""
    if failed and failed not in detail:
        told.append(f"the last request failed: {failed}")
    if counts.merged:
        told.append(f"{counts.merged:,} notifications came too fast; only the newest of each kind was acted upon")
    if counts.refused or wire.refused:
        told.append(f"{counts.refused + wire.refused:,} requests of the server were too many at once and were refused")
    if counts.unexpected:
        told.append(f"{counts.unexpected:,} answers came to nothing that was asked")
    return told
