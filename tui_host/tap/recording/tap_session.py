"""What a tap records: a capture with a session of its own on the one database, which need not be there.

Nothing here holds up a relay: records wait in memory until the database is open, and where it cannot be opened or
written that is told once, and tried again. One that is removed, replaced or damaged while the tap runs is opened anew.
Source: DESIGN, How a byte becomes a row; threats.md, PXY-09.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path

from tui_host.capture.record import Place
from tui_host.capture.recorder import Memory, Recorder
from tui_host.capture.redact.redaction import Redactor
from tui_host.capture.session_summary import SessionState
from tui_host.capture.store.store import Store
from tui_host.capture.store.store_faults import LOCKED, LockedError
from tui_host.errors import StoreError, TuiHostError
from tui_host.settings.paths import DATABASE, data_dir
from tui_host.tap.recording.capture_start import NOT_OPEN, Beginning, anew, last_kept
from tui_host.tap.recording.gap_notices import Gaps
from tui_host.tap.recording.log_writer import Log, Logged
from tui_host.tap.recording.repeated_notices import told_once
from tui_host.tap.threads import Thread

LOOK_SECONDS = 0.5
"""How often it is looked for what is wrong."""
REOPEN_SECONDS = 5.0
GRACE_SECONDS = 5.0
"""How long the database may take for each step of its end: so long it waits for others who write. And a log to go on."""
LOCKED_SECONDS = 300.0
"""And how much longer while another program holds the database: it may let go of it at any moment."""
LAST_SECONDS = 60.0
"""How much longer the end may take where all is well but slow: nobody waits for it."""
TOUCH_SECONDS = 5.0
"""How often at most a list is told that something came."""

MEMORY = Memory(window_bytes=1 << 20, unkept_bytes=64 << 20, most_bytes=128 << 20)
"""No view follows here, and what a tap takes should not grow."""


class TapRecording:
    """What one tap process records. May be used at once; what it does with the disk it does in a thread of its own.

    Args:
        title: What its session is called in lists.
        tell: Takes a sentence for a person, in the thread; each is told once.
        secrets: Names and values that are taken out of every record.
        log: Gets every record too, None for none.
        begins: Where it begins; None for just now.
        log_patience: Seconds that are waited at the end while nothing is written to the log.

    Attributes:
        recorder: Takes the records.
        place: Where they belong: what every draft has as its place, or in it.
        tell_once: Tells a sentence that it has not told yet.
    """

    def __init__(
        self,
        title: str,
        *,
        tell: Callable[[str], None],
        secrets: Iterable[tuple[str, str]] = (),
        log: Log | None = None,
        begins: Beginning | None = None,
        log_patience: float = GRACE_SECONDS,
    ) -> None:
        begins = begins or anew()
        self.recorder = Recorder(None, Redactor(secrets), capture=begins.id, kind="tap", memory=MEMORY)
        self.recorder.go_on_after(begins.after)
        self.recorder.without = NOT_OPEN
        self.place = Place(session=begins.id)
        self._title = title
        self._created_ns = begins.began_ns
        self.tell_once = told_once(tell)
        self._logged = (
            None
            if log is None
            else Logged(
                log,
                self.recorder,
                self._state(self._created_ns).begun,
                self.tell_once,
                note=begins.note_logged,
                after=begins.logged,
            )
        )
        self._log_patience = log_patience
        self._begins = begins
        self._store: Store | None = None
        self._open_at = 0.0
        self._is_refused = False
        self._gaps = Gaps(self.recorder, begins, tell)
        self._notices: list[str] = []
        self._is_given_up = False
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

        The log is waited for as long as it goes on.

        Returns:
            Whether everything was kept.
        """
        self._ends_at = time.monotonic() + timeout
        self._is_ending.set()
        thread, self._thread = self._thread, None
        if thread is not None:
            thread.wait(timeout + LAST_SECONDS + LOCKED_SECONDS)
            if self._logged is not None:
                self._logged.close(self._log_patience, lambda: self._is_given_up)
            if not thread.is_alive:
                self._finish()
        return self._is_kept

    def give_up(self) -> None:
        """Wait no longer for a program that holds the database, nor for a log that takes its time."""
        self._is_given_up = True

    def missed(self, size: int) -> None:
        """So many bytes more passed for which there was no room while they waited to be recorded."""
        self._gaps.missed += size

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
        self._end()

    def _open(self, typed: Path | None, environment: Mapping[str, str]) -> None:
        """Find the database and open it; where it cannot be, what was recorded waits."""
        try:
            store = self._opened(data_dir(typed, environment) / DATABASE)
        except (TuiHostError, OSError) as error:
            self._open_at = time.monotonic() + REOPEN_SECONDS
            self._is_refused = not isinstance(error, LockedError)
            self.recorder.leave(str(error))
            return
        self._is_refused = False
        self._save(store)  # first: on a disk that is almost full nothing is kept that belongs to no session
        self.recorder.keep_in(store)
        self._store = store
        if self._gaps.is_anew or self._begins.is_another:  # what was carried over into it belongs to nobody
            with suppress(StoreError):  # it cannot be written, which is told
                store.sessions.claim(self._session)

    def _opened(self, path: Path) -> Store:
        """The database, where it is known what it has of this: by another process, or in the log of one whose file was replaced.

        Raises:
            TuiHostError: It cannot be opened, or not be read.
        """
        store = Store.open(path, notices=self._notices)
        if self._gaps.is_anew or self._begins.is_another:
            try:
                kept = self.recorder.reached - self.recorder.left
                self.recorder.found_kept(last_kept(store, self._begins.id, kept))
            except BaseException:
                store.close(GRACE_SECONDS)
                raise
        return store

    def _leave(self, store: Store) -> None:
        """Close a database in which nothing more can be kept, and open it again in a moment: who removes a folder has to be done with it."""
        loss = f"{store.path}: {store.loss}"
        self._store = None
        store.close(GRACE_SECONDS)
        self.recorder.leave(loss)
        self._gaps.is_anew = True

    def _is_at_end(self, ends_at: float) -> bool:
        """Whether nothing waits any more, or nothing more can be done for it."""
        recorder, timeout = self.recorder, ends_at - time.monotonic()
        if self._store is not None:
            recorder.flush(max(timeout, LOOK_SECONDS))
        if not recorder.left:
            return True
        is_locked = not self._is_refused if self._store is None else recorder.fault == LOCKED
        if not is_locked:
            return self._store is None or bool(recorder.fault)
        if timeout <= 0:
            self._gaps.tell_what_waits(f"{LOCKED}: records that wait for it, {LOCKED_SECONDS / 60:.0f} minutes at most")
        return self._is_given_up or timeout <= -LOCKED_SECONDS

    def _end(self) -> None:
        """End the session."""
        if self._store is not None:
            self._save(self._store)
            self._store.sessions.release(self._session)
            self._is_kept = self.recorder.close(GRACE_SECONDS)
        self._follow()

    def _finish(self) -> None:
        """Close the database, out of which the log may have read, and tell what is lost."""
        if self._store is not None:
            self._is_kept = self._store.close(GRACE_SECONDS) and self._is_kept
        self._gaps.end()

    @property
    def _session(self) -> str:
        return self.place.session or ""

    def _state(self, updated_ns: int) -> SessionState:
        return SessionState(
            id=self._session,
            title=self._title,
            created_ns=self._created_ns,
            updated_ns=updated_ns,
            source="tap",
            model="",
            protocol="",
        )

    def _save(self, store: Store) -> None:
        store.sessions.save(self._state(time.time_ns()))

    def _follow(self) -> None:
        """Tell what the database has to say, when it takes nothing, and when it takes again what has waited."""
        for notice in self._notices[:]:
            self.tell_once(notice)
        store, fault = self._store, self.recorder.fault
        if store is None or not store.loss:  # else it is left first
            self._gaps.follow(fault, None if store is None else store.path, is_ending=self._ends_at is not None)
