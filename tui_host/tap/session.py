"""The session of a tap: stores its records and its row in the database, which may be missing, locked or full for a while."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Protocol

from typing_extensions import override

from tui_host.capture.record import Place, Record
from tui_host.capture.recorder import Memory, Recorder
from tui_host.capture.redact.redaction import Redactor
from tui_host.capture.session_summary import SessionInfo, session_id
from tui_host.capture.store.store import Store
from tui_host.capture.store.store_faults import LOCKED, LockedError
from tui_host.errors import TuiHostError
from tui_host.settings.paths import DATABASE, data_dir

REOPEN_SECONDS = 5.0
KEEP_SECONDS = 1.0
"""Seconds to wait for one batch of records to be stored, before looking after other things."""
GRACE_SECONDS, SHORT_GRACE_SECONDS = 5.0, 0.5
"""Seconds that the database may take for each step at the end: one that works, and one that does not."""
LOCKED_SECONDS = 300.0
"""Seconds to wait at the end for a locked database."""
TOUCH_SECONDS = 5.0
"""Shortest time between updates of the session's time of change."""

MEMORY = Memory(window_bytes=1 << 20, unkept_bytes=64 << 20)
"""No view follows the records, and a tap's memory should not grow."""
NOT_OPEN = "the database is not open yet"
"""Why nothing is stored at first; not a fault, and the user is not told."""


class LostDatabaseError(Exception):
    """The database was removed, replaced or found damaged: another recorder has to begin anew, with what was not stored."""


class TapRecorder(Recorder):
    """A recorder that leaves out what the one before it has stored and could no longer say so.

    Attributes:
        stored: How many records of each time are stored already.
    """

    stored: Mapping[int | None, int] = MappingProxyType({})

    @override
    def append(self, record: Record, at_ns: int | None = None) -> int:
        count = self.stored.get(at_ns, 0)
        if count:
            self.stored = {**self.stored, at_ns: count - 1}
            return self.reached
        return super().append(record, at_ns)


class Facts(Protocol):
    """What a tap learns of its host while it records: see `infer.tap_facts`.

    Attributes:
        text: What is known, as JSON.
    """

    text: str

    def feed(self, record: Record) -> bool:
        """Look at the next record; returns whether `text` has changed."""
        ...


class TapSession:
    """One tap's session, as one recorder sees it.

    Args:
        title: The session's title.
        tell: Receives messages for the user.
        secrets: Names and values of secrets to remove from every record.
        began_ns: When the tap began, on the wall clock.
        seed: Random bytes for the session's id.
        earlier: Number of recorders that have recorded a part of it.
        stored_seq: The last record of the recorder before that is known to be stored.
        learn: Makes what learns of the host from the records, of what is known so far; None for nothing.

    Attributes:
        recorder: Receives the records.
        place: The place of every record.
        is_first: Whether the tap is recorded from its beginning.
        fault: Why nothing is stored for now; empty if all is well.
    """

    def __init__(
        self,
        title: str,
        *,
        tell: Callable[[str], None],
        secrets: Iterable[tuple[str, str]] = (),
        began_ns: int | None = None,
        seed: bytes = b"",
        earlier: int = 0,
        stored_seq: int = 0,
        learn: Callable[[str], Facts] | None = None,
    ) -> None:
        self._began_ns = time.time_ns() if began_ns is None else began_ns
        session = session_id(self._began_ns, seed or os.urandom(8))
        # A capture belongs to one process: a later recorder begins another one in the same session.
        captures = [session if not number else f"{session}-{number + 1}" for number in range(earlier + 1)]
        self.recorder = TapRecorder(None, Redactor(secrets), capture=captures[-1], kind="tap", memory=MEMORY)
        self.recorder.without = NOT_OPEN
        self.place = Place(session=session)
        self.fault = ""
        self.is_first = not earlier
        self._before = captures[-2:-1]
        self._stored_seq = stored_seq
        self._title = title
        self._session = session
        self._tell = tell
        self._told: set[str] = set()
        self._learn = learn
        self._facts: Facts | None = None
        self._fed = 0
        self._store: Store | None = None
        self._notices: list[str] = []
        self._open_at = self._touch_at = 0.0
        self._touched = -1

    def look(self, typed: Path | None, environment: Mapping[str, str]) -> None:
        """Open the database if it is not, keep the session's row up to date, and tell the user about a fault or its end.

        Args:
            typed: `--data-dir DIR`.
            environment: The process's environment variables.

        Raises:
            LostDatabaseError: The database is no longer the one that was opened.
        """
        now = time.monotonic()
        if self._store is None and now >= self._open_at:
            self._open_at = now + REOPEN_SECONDS
            self._open(typed, environment)
        if self._store is not None and self._store.loss:
            raise LostDatabaseError(f"{self._store.path}: {self._store.loss}")
        if self._store is not None:
            self._keep_row(self._store, now)
        self._tell_changes()

    def keep(self) -> bool:
        """Wait a moment until all records are stored; returns whether they are."""
        if self._store is not None and self.recorder.left:
            self.recorder.flush(KEEP_SECONDS)
        return not self.recorder.left

    def close(self) -> bool:
        """Store what is left, and end the session; returns whether everything is stored."""
        store = self._store
        if store is None:
            return not self.recorder.left
        grace = SHORT_GRACE_SECONDS if self.fault else GRACE_SECONDS
        self.recorder.flush(grace)
        self._keep_row(store, self._touch_at)
        store.sessions.release(self._session)
        is_kept = self.recorder.close(grace)
        return store.close(grace) and is_kept

    def info(self) -> SessionInfo:
        """Return the session's row."""
        return SessionInfo(
            id=self._session,
            title=self._title,
            created_ns=self._began_ns,
            updated_ns=time.time_ns(),
            source="tap",
            live=True,
        )

    @property
    def is_locked(self) -> bool:
        """Whether another process holds the database, which may end at any moment."""
        return self.fault.endswith(LOCKED)

    @property
    def may_record(self) -> bool:
        """Whether to take what passed: a later recorder first has to see what is stored."""
        return self.is_first or self._store is not None

    @property
    def is_well(self) -> bool:
        """Whether records are stored."""
        return self._store is not None and not self.fault

    def _open(self, typed: Path | None, environment: Mapping[str, str]) -> None:
        try:
            store = Store.open(data_dir(typed, environment) / DATABASE, notices=self._notices)
        except LockedError:
            self.fault = LOCKED
        except (TuiHostError, OSError) as error:
            self.fault = str(error)
        else:
            self.fault = ""
            store.sessions.save(self.info())  # first: on an almost full disk, records without a session are not stored
            store.sessions.claim(self._session)  # a recorder that died may be its owner
            for capture in self._before:
                left = store.records(capture=capture, after=self._stored_seq)
                self.recorder.stored = Counter(record.mono_ns for record in left)
            self.recorder.keep_in(store)
            self._store = store
            if self._learn is not None:
                row = store.sessions.get(self._session)
                self._facts = self._learn("{}" if row is None else row.facts)

    def _keep_row(self, store: Store, now: float) -> None:
        """Save what is learned of the host at once, and now and then when the last record came."""
        if self._facts is not None and self._fed < self.recorder.last:
            has_learned = False
            for record in self.recorder.since(self._fed):
                has_learned = self._facts.feed(record) or has_learned
                self._fed = record.seq
            if has_learned:
                store.sessions.save_facts(self._session, self._facts.text)
        if now >= self._touch_at and self.recorder.revision != self._touched:
            self._touch_at = now + TOUCH_SECONDS
            self._touched = self.recorder.revision
            store.sessions.save(self.info())

    def _tell_changes(self) -> None:
        """Tell the user the database's notices, why nothing is stored, and that recording continues."""
        while self._notices:
            self._tell(self._notices.pop(0))
        if self._store is not None:
            fault = self.recorder.fault
            self.fault = f"{self._store.path}: {fault}" if fault else ""
        if self.fault and self.fault not in self._told:
            self._told.add(self.fault)
            self._tell(f"nothing is recorded: {self.fault}; the traffic waits meanwhile")
        elif self._told and not self.fault:
            self._told.clear()
            self._tell("recording continues")
