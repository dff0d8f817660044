"""What the servers of a pool share, and a connection as its transport, its login and its requests know it.

Source of the log: MCP 2025-11-25 and 2026-07-28, Server features, Logging.
"""

from __future__ import annotations

import json
import time
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TYPE_CHECKING

from tui_host.capture.json.narrowing import said, text_or_empty
from tui_host.errors import JSON
from tui_host.guard.guard_client import Guard
from tui_host.servers.catalog import LogLine, ServerStatus, State, Turning
from tui_host.servers.outgoing_request import HttpState
from tui_host.settings.schema import LOG_LEVELS

if TYPE_CHECKING:
    from tui_host.capture.recorder import Recorder
    from tui_host.capture.stdio.lines import Lines
    from tui_host.capture.stdio.server_pipes import StdioChild
    from tui_host.servers.server_questions import Answering
    from tui_host.settings.schema import ServerSpec

NOTICES = 30
LINES, LINE_CHARACTERS = 300, 2_000
"""Most lines of a log that are kept, and characters of one; the record has the whole messages."""
LEVEL_CHARACTERS = 20
_MEANT = {"warn": "warning", "fatal": "critical", "err": "error", "trace": "debug"}
"""Levels of other logging libraries, which servers pass on."""


@dataclass(slots=True, kw_only=True)
class Shared:
    """What the servers of a pool share."""

    recorder: Recorder
    environment: Mapping[str, str]
    guard: Guard
    answering: Answering
    changed: Callable[[], None]  # whenever anything about a server has changed
    turned: Callable[[str, Turning, str], None]  # with the server's name and the reason
    for_command: bool  # which does not last: a server that never was ready is not tried again
    handshake_only: set[str] = field(
        default_factory=set[str]
    )  # what ends at the probe for newer versions, by `identity`
    is_stopping: bool = False


class Wire:
    """The wire of a connection: what its transport sets, whom that tells of what happens, and the status that all publish."""

    answer: Callable[[str, Mapping[str, JSON]], Awaitable[Mapping[str, JSON]]]
    """Answers a request of the server by method and parameters, with the member of the response: `result` or `error`."""
    heard: Callable[[str, Mapping[str, JSON]], None]
    """Takes a notification of the server."""
    end: Callable[[str], None]
    """Hears why the wire has ended, before the pending requests fail; only the first cause counts."""
    refused: Callable[[str], None]
    """Hears why nothing accepts connections at the address any more. Calls under way are still waited for."""
    waiting: Callable[[str], AbstractContextManager[None]]
    """Stops the time limits of the call or of connecting, and shows what is waited for."""

    def __init__(self, spec: ServerSpec, shared: Shared, status: ServerStatus) -> None:
        self.spec = spec
        self.server = spec.name
        self.shared = shared
        self.recorder = shared.recorder
        self.id = ""  # in the capture
        self.tap: Lines | None = None  # of a program over stdio alone
        self.child: StdioChild | None = None  # also of a program that serves over HTTP
        self.gate = HttpState()
        self.cause = ""  # why the wire ended
        self.is_left = False  # we are disconnecting, and so the wire ends
        self.known = status  # with secrets
        self.shown = lru_cache(256)(shared.recorder.redactor.text)  # read as often as the screen is drawn
        self._lines: deque[LogLine] = deque(maxlen=LINES)
        self._log: tuple[LogLine, ...] | None = ()
        self._counts: Counter[str] = Counter()

    def update(self, **changes: object) -> None:
        self.known = replace(self.known, **changes)
        self.shared.changed()

    def publish(self, state: State, detail: str) -> None:
        since = self.known.since_mono_ns if state == self.known.state else time.monotonic_ns()
        self.update(state=state, detail=detail, since_mono_ns=since)

    def notice(self, *sentences: str) -> None:
        """Add notices for the user; each sentence appears once."""
        notices = tuple(dict.fromkeys(filter(None, (*self.known.notices, *sentences))))[-NOTICES:]
        if notices != self.known.notices:
            self.update(notices=notices)

    def log(self, params: Mapping[str, JSON]) -> None:
        """Add a log message, whose data some servers put into other members."""
        redact = self.recorder.redactor.text
        level = said(params.get("level")) or "info"
        known = _MEANT.get(level.lower(), level.lower())
        self._counts[known if known in LOG_LEVELS else "other"] += 1
        others = {name: value for name, value in params.items() if name not in {"level", "logger", "_meta"}}
        data = others.get("data", others.get("message", others))
        text = data if isinstance(data, str) else json.dumps(data, ensure_ascii=False)
        self._lines.append(
            LogLine(
                level=known if known in LOG_LEVELS else redact(level[:LEVEL_CHARACTERS]),
                text=redact(text[:LINE_CHARACTERS]),
                logger=redact(text_or_empty(params.get("logger"))[:LINE_CHARACTERS]),
                mono_ns=time.monotonic_ns(),
            )
        )
        self._log = None
