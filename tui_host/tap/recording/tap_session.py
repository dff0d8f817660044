"""Stores a tap's session in the database, which may be missing. Imported late.

Records wait in memory until the database is open. If it cannot be opened or written, the user is told once and the
attempt is repeated. A database that is removed, replaced or damaged while the tap runs is opened again.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from tui_host.capture.record import Place
from tui_host.capture.recorder import Memory, Recorder
from tui_host.capture.redact.redaction import Redactor
from tui_host.capture.session_summary import SessionInfo, session_id
from tui_host.capture.store.store import Store
from tui_host.capture.store.store_faults import LOCKED, LockedError
from tui_host.errors import StoreError, TuiHostError
from tui_host.settings.paths import DATABASE, data_dir
from tui_host.tap.recording.log_writer import Log, LogWriter
from tui_host.tap.recording.recorder_process import told_once
from tui_host.tap.threads import Thread

LOOK_SECONDS = 0.5
"""Seconds between looks for faults."""
REOPEN_SECONDS = 5.0
GRACE_SECONDS = 5.0
"""Seconds that the database may take for each step at the end, and a log without progress."""
LOCKED_SECONDS = 300.0
"""Further seconds to wait at the end for a locked database."""
LAST_SECONDS = 60.0
"""Further seconds for a slow end, which delays no other process."""
TOUCH_SECONDS = 5.0
"""Shortest time between updates of the session's time of change, in seconds."""

MEMORY = Memory(window_bytes=1 << 20, unkept_bytes=64 << 20, most_bytes=128 << 20)
"""No view follows the records, and a tap's memory should not grow."""
NOT_OPEN = "the database is not open yet"
"""Why nothing is stored at first; not a fault, and the user is not told."""


def _nothing() -> None:
    """Do nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionStart:
    """The state with which recording begins.

    Attributes:
        seed: Random bytes for the session's id.
        began_ns: Time when the tap began, on the wall clock.
        follows_another: Whether an earlier recorder of this session died.
        lost_bytes: Number of bytes that it had taken and not stored.
        on_well: Called when recording begins to work, or works again.
        on_ill: Called when recording stops working.
    """

    seed: bytes = field(default_factory=lambda: os.urandom(8))
    began_ns: int = field(default_factory=time.time_ns)
    follows_another: bool = False
    lost_bytes: int = 0
    on_well: Callable[[], None] = _nothing
    on_ill: Callable[[], None] = _nothing


class TapRecording:
    """Records a tap's session. Usable at once; all work on the disk is done in a thread.

    Args:
        title: The session's title.
        tell: Receives messages for the user, each once; called in the thread.
        secrets: Names and values of secrets to remove from every record.
        log: A log to write every record to; None for none.
        start: The state with which recording begins; None for a new session.
        log_patience: Seconds to wait at the end while the log makes no progress.

    Attributes:
        recorder: Receives the records.
        place: The place of every record; a record may add to it.
        is_whole: Whether the session is recorded from its beginning.
        tell_once: Tells the user a sentence, unless already told.
    """

    def __init__(
        self,
        title: str,
        *,
        tell: Callable[[str], None],
        secrets: Iterable[tuple[str, str]] = (),
        log: Log | None = None,
        start: SessionStart | None = None,
        log_patience: float = GRACE_SECONDS,
    ) -> None:
        start = start or SessionStart()
        session = session_id(start.began_ns, start.seed)
        # A capture belongs to one process: a later recorder begins a new capture in the same session.
        capture = session_id(time.time_ns(), os.urandom(8)) if start.follows_another else session
        self.recorder = Recorder(None, Redactor(secrets), capture=capture, kind="tap", memory=MEMORY)
        self.recorder.without = NOT_OPEN
        self.place = Place(session=session)
        self.is_whole = not start.follows_another
        self._title = title
        self._created_ns = start.began_ns
        self.tell_once = told_once(tell)
        self._log_writer = (
            None
            if log is None
            else LogWriter(
                log, self.recorder, self._info(start.began_ns), self.tell_once, is_there=start.follows_another
            )
        )
        self._log_patience = log_patience
        self._store: Store | None = None
        self._open_at = 0.0
        self._is_refused = False
        self._gaps = _GapNotices(self.recorder, start, tell)
        self._notices: list[str] = []
        self._is_given_up = False
        self._ends_at: float | None = None
        self._is_ending = threading.Event()
        self._is_kept = False
        self._thread: Thread | None = None

    def start(self, typed: Path | None, environment: Mapping[str, str]) -> None:
        """Open the database and store records there, as soon and as long as possible.

        Args:
            typed: `--data-dir DIR`.
            environment: The process's environment variables.

        Raises:
            OSError: The thread cannot start.
        """
        if self._log_writer is not None:
            self._log_writer.start()
        self._thread = Thread(lambda: self._run(typed, environment))

    def close(self, timeout: float = 5.0) -> bool:
        """Store the waiting records and end. Records that take longer than the timeout are given up and counted. Blocks.

        Waits for the log as long as it makes progress.

        Returns:
            Whether everything was stored.
        """
        self._ends_at = time.monotonic() + timeout
        self._is_ending.set()
        thread, self._thread = self._thread, None
        if thread is not None:
            thread.wait(timeout + LAST_SECONDS + LOCKED_SECONDS)
            if self._log_writer is not None:
                self._log_writer.close(self._log_patience, lambda: self._is_given_up)
            if not thread.is_alive:
                self._finish()
        return self._is_kept

    def give_up(self) -> None:
        """Stop waiting for a locked database or a slow log."""
        self._is_given_up = True

    def missed(self, size: int) -> None:
        """Count bytes that passed but found no room to wait for recording."""
        self._gaps.missed += size

    def exited(self, code: int, mono_ns: int) -> None:
        """Write the server's end to the log that a person reads; it has a record besides."""
        if self._log_writer is not None:
            self._log_writer.exited(code, time.time_ns() - time.monotonic_ns() + mono_ns)

    @property
    def has_told_fault(self) -> bool:
        """Whether nothing is stored for a reason that the user was told."""
        return self.recorder.fault not in {"", NOT_OPEN}

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
        """Open the database. If this fails, records keep waiting."""
        try:
            store = self._opened(data_dir(typed, environment) / DATABASE)
        except (TuiHostError, OSError) as error:
            self._open_at = time.monotonic() + REOPEN_SECONDS
            self._is_refused = not isinstance(error, LockedError)
            self.recorder.leave(str(error))
            return
        self._is_refused = False
        self._save(store)  # first: on an almost full disk, records without a session are not stored
        self.recorder.keep_in(store)
        self._store = store
        if self._gaps.is_anew or not self.is_whole:  # another process may have the session in this database
            with suppress(StoreError):  # the database cannot be written, which the user is told
                store.sessions.claim(self._session)

    def _opened(self, path: Path) -> Store:
        """Open the database. If the file was replaced, it may already contain records, through the old file's log.

        Raises:
            TuiHostError: The database cannot be opened or read.
        """
        store = Store.open(path, notices=self._notices)
        if self._gaps.is_anew:
            try:
                kept = self.recorder.reached - self.recorder.left
                records = store.records(capture=self.recorder.capture, after=kept)
                self.recorder.found_kept(max((record.seq for record in records), default=kept))
            except BaseException:
                store.close(GRACE_SECONDS)
                raise
        return store

    def _leave(self, store: Store) -> None:
        """Close a lost database. Opening is tried again a moment later, when the folder's removal may be complete."""
        loss = f"{store.path}: {store.loss}"
        self._store = None
        store.close(GRACE_SECONDS)
        self.recorder.leave(loss)
        self._gaps.is_anew = True

    def _is_at_end(self, ends_at: float) -> bool:
        """Whether no records wait any more, or nothing more can be done."""
        recorder, timeout = self.recorder, ends_at - time.monotonic()
        if self._store is not None:
            recorder.flush(max(timeout, LOOK_SECONDS))
        if not recorder.left:
            return True
        is_locked = not self._is_refused if self._store is None else recorder.fault == LOCKED
        if not is_locked:
            return self._store is None or bool(recorder.fault)
        if timeout <= 0:
            self._gaps.tell_what_waits(f"{LOCKED}: records wait for it, {LOCKED_SECONDS / 60:.0f} minutes at most")
        return self._is_given_up or timeout <= -LOCKED_SECONDS

    def _end(self) -> None:
        """End the session."""
        if self._store is not None:
            self._save(self._store)
            self._store.sessions.release(self._session)
            self._is_kept = self.recorder.close(GRACE_SECONDS)
        self._follow()

    def _finish(self) -> None:
        """Close the database, from which the log may have read, and tell the user about losses."""
        if self._store is not None:
            self._is_kept = self._store.close(GRACE_SECONDS) and self._is_kept
        self._gaps.end()

    @property
    def _session(self) -> str:
        return self.place.session or ""

    def _info(self, updated_ns: int) -> SessionInfo:
        return SessionInfo(
            id=self._session,
            title=self._title,
            created_ns=self._created_ns,
            updated_ns=updated_ns,
            source="tap",
            live=True,
        )

    def _save(self, store: Store) -> None:
        store.sessions.save(self._info(time.time_ns()))

    def _follow(self) -> None:
        """Tell the user the database's notices, and gaps in recording."""
        for notice in self._notices[:]:
            self.tell_once(notice)
        store, fault = self._store, self.recorder.fault
        if store is None or not store.loss:  # a lost database is closed first
            self._gaps.follow(fault, None if store is None else store.path, is_ending=self._ends_at is not None)


class _GapNotices:
    """Tells the user, once each, why nothing is stored, when recording resumes, and how much is missing.

    Args:
        recorder: Knows the dropped records.
        start: Knows what an earlier recorder lost.
        tell: Receives messages for the user.

    Attributes:
        is_anew: Whether later records are in another database than earlier ones.
        missed: Number of bytes that passed and found no room to wait for recording.
    """

    def __init__(self, recorder: Recorder, start: SessionStart, tell: Callable[[str], None]) -> None:
        self._recorder = recorder
        self._start = start
        self._tell = tell
        self.is_anew = False
        self.missed = 0
        self._is_to_go_on = start.follows_another  # until the user has been told
        self._is_well = False
        self._is_end_told = False
        self._faults: set[str] = set()  # faults told since recording last worked
        self._dropped = self._left_out = self._missed = 0

    def follow(self, fault: str, path: Path | None, *, is_ending: bool) -> None:
        """Tell the user about the beginning and the end of a gap.

        Args:
            fault: Why nothing is stored; empty if all is well.
            path: The database's path, if it is open.
            is_ending: Whether waiting records have no more time.
        """
        if fault and fault not in self._faults:
            self._faults.add(fault)
            if fault != LOCKED:  # a locked database is waited for
                self._is_well = False
                self._start.on_ill()
            words = fault if path is None else f"{path}: {fault}"
            if not is_ending:
                words += "; traffic waits in memory meanwhile"
            self._tell(f"nothing is recorded: {words}")
        elif not (fault or path is None or self._recorder.waiting):
            if self._faults or self._is_to_go_on:
                self._tell(f"recording continues; {self._missing()}")
                self._faults.clear()
                self.is_anew = self._is_to_go_on = False
            elif self.missed and not self._missed:
                self._tell(f"{self._too_much()}; the records mark where")
                self._missed = self.missed
            if not self._is_well:
                self._is_well = True
                self._start.on_well()

    def tell_what_waits(self, words: str) -> None:
        """Tell the user once, after these words, how many records still wait at the end."""
        if not self._is_end_told:
            self._is_end_told = True
            self._tell(f"{words}: {self._recorder.left:,}")

    def end(self) -> None:
        """Tell the user about losses at the end."""
        if self.missed > self._missed:
            self._tell(f"in all, {self._too_much()}")
        if lost := self._recorder.left:
            self._tell(f"records that waited in memory are lost: {lost:,}")

    def _too_much(self) -> str:
        return f"{self.missed:,} bytes of the traffic are not recorded, because the buffer was full"

    def _missing(self) -> str:
        """Describe the losses of a gap."""
        dropped, left_out, lost = self._recorder.dropped, self._recorder.left_out, self._start.lost_bytes
        is_lost = self._is_to_go_on and lost > 0
        words = [
            f"up to {lost:,} bytes are missing, and the rest of answers in progress" if is_lost else "",
            f"the bytes of {dropped - self._dropped:,} records were dropped" if dropped > self._dropped else "",
            f"{left_out - self._left_out:,} records are missing" if left_out > self._left_out else "",
            self._too_much() if self.missed > self._missed else "",
        ]
        self._dropped, self._left_out, self._missed = dropped, left_out, self.missed
        if any(words):
            return ", ".join(filter(None, words))
        return "nothing since then is missing" if self.is_anew else "nothing is missing"
