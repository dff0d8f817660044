"""What a tap records: a capture with a session of its own on the one database, which need not be there.

Nothing here holds up a relay: records wait in memory until the database is open, and where it cannot be opened or
written that is told once, and tried again. Source: DESIGN, How a byte becomes a row; threats.md, PXY-09.
"""

from __future__ import annotations

import os
import re
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Protocol

from tui_host.capture.record import Place, Record
from tui_host.capture.recorder import Memory, Recorder
from tui_host.capture.redact import BY_VALUE_FROM, Redactor
from tui_host.capture.store.sessions import SessionInfo, SessionState, session_id
from tui_host.capture.store.store import Store
from tui_host.errors import TuiHostError
from tui_host.settings.paths import DATABASE, data_dir

LOOK_SECONDS, LOG_SECONDS = 0.5, 0.05
"""How often it is looked for what is wrong, and for what is new where there is a log to write."""
REOPEN_SECONDS = 5.0
TOLD_LIMIT = 1000
"""Different sentences that are told."""
TOUCH_SECONDS = 5.0
"""How often at most a list is told that something came."""

MEMORY = Memory(window_bytes=1 << 20, unkept_bytes=64 << 20)
"""No view follows here, and what a tap takes should not grow."""

_SECRET_NAME = re.compile(r"KEY|TOKEN|SECRET|PASSW|CREDENTIAL|AUTH", re.IGNORECASE)
_NOT_OPEN = "the database is not open yet"


class Log(Protocol):
    """Takes records in order, besides the database."""

    def begin(self, session: SessionInfo) -> None:
        """The session that all of them belong to."""
        ...

    def write(self, record: Record) -> None:
        """The next record.

        Raises:
            OSError: It cannot be written; nothing more is.
        """
        ...


def secrets_in(environment: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """What a host gave to a server to keep: variables that are named like keys, tokens, secrets and passwords."""
    for name, value in environment.items():
        if len(value) >= BY_VALUE_FROM and _SECRET_NAME.search(name) and not value.startswith("/"):
            yield name, value


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
        self._log = log
        self._logged = 0
        self._store: Store | None = None
        self._file: tuple[int, int] | None = None
        self._fault = ""
        self._dropped = 0
        self._notices: list[str] = []
        self._is_ending = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self, typed: Path | None, environment: Mapping[str, str]) -> None:
        """Open the database and keep what is recorded there, as soon and as long as that is possible.

        Args:
            typed: `--data-dir DIR`.
            environment: The process's.
        """
        self._thread = threading.Thread(target=self._run, args=(typed, environment), name="recording", daemon=True)
        self._thread.start()

    def close(self, timeout: float = 5.0) -> bool:
        """Write what waits, and end; what cannot be written within the time is given up. Blocks.

        Returns:
            Whether everything was kept.
        """
        self._is_ending.set()
        if self._thread is not None:
            self._thread.join(timeout)
            if self._thread.is_alive():
                return False
        store = self._store
        if store is None:
            return False
        self._save()
        store.sessions.release(self._session)
        is_kept = self.recorder.close(timeout)
        self._follow()
        if self._fault:
            self._tell("what waited in memory is lost")
        return store.close(timeout) and is_kept

    @property
    def _session(self) -> str:
        return self.place.session or ""

    def _run(self, typed: Path | None, environment: Mapping[str, str]) -> None:
        self._begin_log()
        reopened_at = touched_at = -REOPEN_SECONDS
        touched = -1
        while True:
            is_last = self._is_ending.is_set()
            now = time.monotonic()
            if self._store is None and (now - reopened_at >= REOPEN_SECONDS):
                reopened_at = now
                self._open(typed, environment)
            self._follow()
            if self._store is not None and now - touched_at >= TOUCH_SECONDS and self.recorder.revision != touched:
                touched_at, touched = now, self.recorder.revision
                self._save()
            if is_last:
                return
            self._is_ending.wait(LOOK_SECONDS if self._log is None else LOG_SECONDS)

    def _open(self, typed: Path | None, environment: Mapping[str, str]) -> None:
        """Find the database and open it; where it cannot be, that is told, and tried again later."""
        try:
            path = data_dir(typed, environment) / DATABASE
            store = Store.open(path, notices=self._notices)
            found = path.stat()
        except (TuiHostError, OSError) as error:
            self.recorder.without = str(error)
            self.tell_once(f"nothing is recorded: {error}")
            return
        self._file = found.st_dev, found.st_ino
        self.recorder.keep_in(store)
        self._store = store
        self._save()

    def _save(self) -> None:
        if self._store is not None:
            self._store.sessions.save(
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
        """Write what is new to the log, and tell what is wrong."""
        if self._log is not None:
            try:
                while new := self.recorder.since(self._logged):
                    for record in new:
                        self._log.write(record)
                    self._logged = new[-1].seq
            except OSError as error:
                self._log = None
                self.tell_once(f"the log cannot be written: {error.strerror or error}")
            except TuiHostError as error:
                self.tell_once(f"the log misses records: {error}")
        for notice in self._notices:
            self.tell_once(notice)
        if self._store is not None:
            self._follow_fault()
            if not self._fault and self._is_gone(self._store.path):
                self.tell_once(f"nothing is recorded any more: {self._store.path} is gone")

    def _follow_fault(self) -> None:
        """Tell when the database takes nothing, and when it takes again what has waited."""
        fault, dropped = self.recorder.fault, self.recorder.dropped
        if fault == self._fault:
            return
        self._fault = fault
        if fault:
            self._tell(f"nothing is recorded: {fault}; what passes waits in memory meanwhile")
            return
        lost = dropped - self._dropped
        self._dropped = dropped
        self._tell(
            "recording goes on" + (f"; of {lost} records the bytes were dropped" if lost else "; nothing is missing")
        )

    def _is_gone(self, path: Path) -> bool:
        try:
            found = path.stat()
        except OSError:
            return True
        return (found.st_dev, found.st_ino) != self._file

    def _begin_log(self) -> None:
        if self._log is None:
            return
        session = SessionInfo(
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
        try:
            self._log.begin(session)
        except OSError as error:
            self._log = None
            self.tell_once(f"the log cannot be written: {error.strerror or error}")

    def tell_once(self, words: str) -> None:
        """Tell a sentence that has not been told yet."""
        if words not in self._told and len(self._told) < TOLD_LIMIT:
            self._told.add(words)
            self._tell(words)
