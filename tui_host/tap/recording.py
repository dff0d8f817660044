"""What a tap records: a capture with a session of its own on the one database, which need not be there.

Nothing here holds up a relay: records wait in memory until the database is open, and where it cannot be opened or
written that is told once, and tried again. One that is removed, replaced or damaged while the tap runs is opened anew.
Source: DESIGN, How a byte becomes a row; threats.md, PXY-09.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path

from tui_host.capture.record import Place
from tui_host.capture.recorder import Memory, Recorder
from tui_host.capture.redact import Redactor
from tui_host.capture.store.faults import LOCKED
from tui_host.capture.store.sessions import SessionInfo, SessionState, session_id
from tui_host.capture.store.store import Store
from tui_host.errors import StoreError, TuiHostError
from tui_host.settings.paths import DATABASE, data_dir
from tui_host.tap.logged import Log, Logged
from tui_host.tap.threads import Thread

LOOK_SECONDS = 0.5
"""How often it is looked for what is wrong."""
REOPEN_SECONDS = 5.0
GRACE_SECONDS = 5.0
"""How long the database may take for each step of its end: so long it waits for others who write."""
LAST_SECONDS = 60.0
"""How much longer the end may take where all is well but slow: nobody waits for it."""
TOLD_LIMIT = 1000
"""Different sentences that are told."""
TOUCH_SECONDS = 5.0
"""How often at most a list is told that something came."""

MEMORY = Memory(window_bytes=1 << 20, unkept_bytes=64 << 20, most_bytes=128 << 20)
"""No view follows here, and what a tap takes should not grow."""

_NOT_OPEN = "the database is not open yet"


class TapRecording:
    """What one tap process records. May be used at once; what it does with the disk it does in a thread of its own.

    Args:
        title: What its session is called in lists.
        tell: Takes a sentence for a person, in the thread; each is told once.
        secrets: Names and values that are taken out of every record.
        log: Gets every record too, None for none.
        began_ns: When the tap began, on the wall clock; None for just now.

    Attributes:
        recorder: Takes the records.
        place: Where they belong: what every draft has as its place, or in it.
    """

    def __init__(
        self,
        title: str,
        *,
        tell: Callable[[str], None],
        secrets: Iterable[tuple[str, str]] = (),
        log: Log | None = None,
        began_ns: int | None = None,
    ) -> None:
        now_ns = time.time_ns() if began_ns is None else began_ns
        identity = session_id(now_ns, os.urandom(8))
        self.recorder = Recorder(None, Redactor(secrets), capture=identity, kind="tap", memory=MEMORY)
        self.recorder.without = _NOT_OPEN
        self.place = Place(session=identity)
        self._title = title
        self._created_ns = now_ns
        self._tell = tell
        self._told: set[str] = set()
        self._logged = None if log is None else Logged(log, self.recorder, self._info(), self.tell_once)
        self._store: Store | None = None
        self._open_at = 0.0
        self._is_refused = self._is_anew = self._is_waiting_told = False
        self._faults: set[str] = set()  # told since all was well
        self._dropped = self._left_out = 0
        self._notices: list[str] = []
        self._ends_at: float | None = None
        self._is_ending = threading.Event()
        self._is_kept = False
        self._thread: Thread | None = None

    def start(self, typed: Path | None, environment: Mapping[str, str]) -> None:
        """Open the database and keep what is recorded there, as soon and as long as that is possible.

        Args:
            typed: `--data-dir DIR`.
            environment: The process's.

        Raises:
            OSError: There can be no other thread.
        """
        if self._logged is not None:
            self._logged.start()
        self._thread = Thread(lambda: self._run(typed, environment))

    def close(self, timeout: float = 5.0) -> bool:
        """Write what waits, and end; what cannot be written within the time is given up, which is told. Blocks.

        Returns:
            Whether everything was kept.
        """
        self._ends_at = time.monotonic() + timeout
        self._is_ending.set()
        if self._thread is not None:
            self._thread.wait(timeout + LAST_SECONDS)
        return self._is_kept

    def exited(self, code: int, mono_ns: int) -> None:
        """The server has ended; that is no record, and told in the log alone."""
        if self._logged is not None:
            self._logged.exited(code, time.time_ns() - time.monotonic_ns() + mono_ns)

    def _run(self, typed: Path | None, environment: Mapping[str, str]) -> None:
        touched_at, touched = -TOUCH_SECONDS, -1
        while True:
            ends_at, now = self._ends_at, time.monotonic()
            if self._store is None and (now >= self._open_at or ends_at is not None):
                self._open(typed, environment)
            elif self._store is not None and self._store.loss:
                self._leave(self._store)
            self._follow()
            if self._store is not None and now - touched_at >= TOUCH_SECONDS and self.recorder.revision != touched:
                touched_at, touched = now, self.recorder.revision
                self._save(self._store)
            if ends_at is None:
                self._is_ending.wait(LOOK_SECONDS)
            elif self._is_at_end(ends_at):
                break
            else:
                time.sleep(LOOK_SECONDS)
        self._finish()

    def _open(self, typed: Path | None, environment: Mapping[str, str]) -> None:
        """Find the database and open it; where it cannot be, what was recorded waits."""
        try:
            store = Store.open(data_dir(typed, environment) / DATABASE, notices=self._notices)
        except (TuiHostError, OSError) as error:
            self._open_at = time.monotonic() + REOPEN_SECONDS
            self._is_refused = True
            self.recorder.leave(str(error))
            return
        self._is_refused = False
        self._save(store)  # first: on a disk that is almost full nothing is kept that belongs to no session
        self.recorder.keep_in(store)
        self._store = store
        if self._is_anew:  # what was carried over into it belongs to nobody
            with suppress(StoreError):  # it cannot be written, which is told
                store.sessions.claim(self._session)

    def _leave(self, store: Store) -> None:
        """Close a database in which nothing more can be kept, and open it again in a moment: who removes a folder has to be done with it."""
        loss = f"{store.path}: {store.loss}"
        self._store = None
        store.close(GRACE_SECONDS)
        self.recorder.leave(loss)
        self._is_anew = True

    def _is_at_end(self, ends_at: float) -> bool:
        """Whether nothing waits any more, or nothing more can be done for it."""
        recorder, timeout = self.recorder, ends_at - time.monotonic()
        if self._store is None:
            return self._is_refused or not recorder.left
        recorder.flush(max(timeout, LOOK_SECONDS))
        is_hopeless = recorder.fault and (timeout <= 0 or recorder.fault != LOCKED)  # that may be over soon
        return bool(is_hopeless) or not recorder.left

    def _finish(self) -> None:
        """End the session, the log and the database."""
        store = self._store
        is_kept = False
        if store is not None:
            self._save(store)
            store.sessions.release(self._session)
            is_kept = self.recorder.close(GRACE_SECONDS)
        self._follow()
        if self._logged is not None:
            self._logged.close(GRACE_SECONDS)
        if store is not None:
            self._is_kept = store.close(GRACE_SECONDS) and is_kept
        lost = self.recorder.left
        if lost and (self._is_waiting_told or not self._faults):
            self._tell(f"what waited in memory is lost, records: {lost:,}")

    @property
    def _session(self) -> str:
        return self.place.session or ""

    def _info(self) -> SessionInfo:
        return SessionInfo(
            id=self._session,
            title=self._title,
            created_ns=self._created_ns,
            updated_ns=self._created_ns,
            turns=0,
            source="tap",
            live=True,
            model="",
            protocol="",
        )

    def _save(self, store: Store) -> None:
        store.sessions.save(
            SessionState(
                id=self._session,
                title=self._title,
                created_ns=self._created_ns,
                updated_ns=time.time_ns(),
                source="tap",
                model="",
                protocol="",
            )
        )

    def _follow(self) -> None:
        """Tell what the database has to say, when it takes nothing, and when it takes again what has waited."""
        for notice in self._notices[:]:
            self.tell_once(notice)
        store, recorder = self._store, self.recorder
        fault = recorder.fault
        if store is not None and store.loss:
            return  # it is left first
        if fault and fault not in self._faults:
            self._faults.add(fault)
            words = fault if store is None else f"{store.path}: {fault}"
            if self._ends_at is None:
                self._is_waiting_told = True
                words += "; what passes waits in memory meanwhile"
            self._tell(f"nothing is recorded: {words}")
        elif not fault and self._faults and not recorder.waiting:
            self._tell(f"recording goes on; {self._missing()}")
            self._faults.clear()
            self._is_anew = False

    def _missing(self) -> str:
        """What is missing of what came while nothing was recorded."""
        dropped, left_out = self.recorder.dropped, self.recorder.left_out
        words = [
            f"of {dropped - self._dropped:,} records the bytes were dropped" if dropped > self._dropped else "",
            f"{left_out - self._left_out:,} are missing" if left_out > self._left_out else "",
        ]
        self._dropped, self._left_out = dropped, left_out
        if any(words):
            return ", ".join(filter(None, words))
        return "of what passed since, nothing is missing" if self._is_anew else "nothing is missing"

    def tell_once(self, words: str) -> None:
        """Tell a sentence that has not been told yet."""
        if words not in self._told and len(self._told) < TOLD_LIMIT:
            self._told.add(words)
            self._tell(words)
