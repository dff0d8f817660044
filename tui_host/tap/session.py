"""The session of a tap: stores its records and its row in the database, which may be missing, locked or full for a while."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple, TypeAlias

from typing_extensions import override

from tui_host.capture.record import Place, Record
from tui_host.capture.recorder import Memory, Recorder
from tui_host.capture.redact.redaction import Redactor
from tui_host.capture.session_summary import SessionInfo, session_id
from tui_host.capture.store.schema import LOCKED
from tui_host.capture.store.store import Store
from tui_host.errors import TuiHostError
from tui_host.settings.credential_places import in_variables, in_words
from tui_host.settings.paths import DATABASE, data_dir

REOPEN_SECONDS = 5.0  # shortest time between two tries to open the database
TOUCH_SECONDS = 5.0  # shortest time between two updates of the session's time of change
# For each step at the end: of a database that works, and of one that does not.
GRACE_SECONDS, SHORT_GRACE_SECONDS = 5.0, 0.5
MEMORY = Memory(window_bytes=1 << 20, unkept_bytes=64 << 20)  # no view follows, and a tap's memory should not grow

Tell: TypeAlias = Callable[[str], None]
Learn: TypeAlias = Callable[[str], Callable[[Record], str]]
"""Makes what learns of the host from the records, of what is known so far. Returns what is known whenever it is more: JSON."""


class RecorderOptions(NamedTuple):
    """What to record, and where, after `earlier` recorders: mostly the words that the relay's `recorder_words` composes."""

    wire: str = "stdio"  # or `llm` or `http`
    name: str = ""
    data_dir: str = ""
    log: str = ""  # `-` for plain lines on standard error
    log_file: int = -1  # its descriptor
    began_ns: int = 0  # on the wall clock; 0 for now
    seed: str = ""  # of the session's id, in hexadecimal
    command: Sequence[str] = ()  # the server's, which may contain credentials
    earlier: int = 0
    stored_seq: int = 0  # the last record freed by the one before
    learn: Learn | None = None


class LostDatabaseError(Exception):
    """The database was removed, replaced or found damaged: another recorder has to begin anew, with what was not stored."""


class TapRecorder(Recorder):
    """Records what a relay reported, with the time when it happened, under the relay's number of the exchange."""

    at_ns = number = 0  # set by `TappedExchanges` before each item
    # By time: records that the recorder before stored but, being killed, did not free.
    stored: Counter[int] | None = None

    @override
    def append(self, record: Record, at_ns: int | None = None) -> int:
        time_ns = self.at_ns or at_ns or 0
        if self.stored and self.stored[time_ns]:
            self.stored[time_ns] -= 1
            return self.reached
        return super().append(record, time_ns or None)

    @override
    def new_exchange(self) -> str:
        return f"x{self.number}"


class TapSession:
    """One tap's session, as one recorder sees it."""

    def __init__(self, options: RecorderOptions, tell: Tell) -> None:
        began_ns = options.began_ns or time.time_ns()
        self._id = session_id(began_ns, bytes.fromhex(options.seed) or os.urandom(8))
        self.info = SessionInfo(id=self._id, title=options.name, source="tap", created_ns=began_ns, live=True)
        self.place = Place(session=self._id)
        self.is_first = not options.earlier
        # A capture belongs to one process: a later recorder begins another one in the same session.
        captures = [self._id, *(f"{self._id}-{number + 1}" for number in range(1, options.earlier + 1))]
        redactor = Redactor((*in_variables(os.environ), *in_words(options.command)))
        without = "the database is not open yet"
        self.recorder = TapRecorder(None, redactor, capture=captures[-1], kind="tap", memory=MEMORY, without=without)
        self.fault = ""  # why nothing is stored for now
        self.store: Store | None = None  # until it could be opened
        self._options, self._tell = options, tell
        self._before = "" if self.is_first else captures[-2]
        self._was_faulty = False
        self._notices: list[str] = []
        self._learner = None if options.learn is None else options.learn("{}")
        self._fed = 0
        self._open_at = self._touch_at = 0.0
        self._touched = -1

    def look(self) -> None:
        """Open the database if it is not, keep the session's row up to date, and tell the user about a fault or its end."""
        now = time.monotonic()
        if self.store is None and now >= self._open_at:
            self._open_at, options = now + REOPEN_SECONDS, self._options
            folder = data_dir(Path(options.data_dir) if options.data_dir else None, os.environ)
            try:
                store = Store.open(folder / DATABASE, notices=self._notices)
            except (TuiHostError, OSError) as error:
                self.fault = LOCKED if isinstance(error, TuiHostError) and error.what == LOCKED else str(error)
            else:
                # First of all: on an almost full disk, records without a session are not stored.
                store.sessions.save(replace(self.info, updated_ns=time.time_ns()))
                store.sessions.claim(self._id)  # a recorder that died may be its owner
                if self._before:
                    left = store.records(capture=self._before, after=options.stored_seq)
                    self.recorder.stored = Counter(record.mono_ns or 0 for record in left)
                    row = store.sessions.get(self._id)
                    if options.learn is not None and row is not None:
                        self._learner = options.learn(row.facts)
                self.recorder.keep_in(store)
                self.store = store
        if self.store is not None:
            if self.store.loss:
                raise LostDatabaseError(f"{self.store.path}: {self.store.loss}")
            self.fault = f"{self.store.path}: {self.recorder.fault}" if self.recorder.fault else ""
            self._keep_row(self.store, now)
        while self._notices:
            self._tell(self._notices.pop(0))
        if self.fault:
            self._tell(f"nothing is recorded: {self.fault}; the traffic waits meanwhile")
        elif self._was_faulty:
            self._tell("recording continues")
        self._was_faulty = self.fault != ""

    def close(self) -> bool:
        """Store what is left, and end the session; returns whether everything is stored."""
        store = self.store
        if store is None:
            return not self.recorder.left
        grace = SHORT_GRACE_SECONDS if self.fault else GRACE_SECONDS
        self.recorder.flush(grace)
        self._keep_row(store, self._touch_at)
        store.sessions.release(self._id)
        is_kept = self.recorder.close(grace)
        return store.close(grace) and is_kept

    def _keep_row(self, store: Store, now: float) -> None:
        """Save what is learned of the host at once, and now and then when the last record came."""
        if self._learner is not None and self._fed < self.recorder.last:
            facts = ""
            for record in self.recorder.since(self._fed):
                facts = self._learner(record) or facts
                self._fed = record.seq
            if facts:
                self.info = replace(self.info, facts=facts)
                store.sessions.save(self.info)
        if now >= self._touch_at and self.recorder.revision != self._touched:
            self._touch_at = now + TOUCH_SECONDS
            self._touched = self.recorder.revision
            store.sessions.save(replace(self.info, updated_ns=time.time_ns()))
