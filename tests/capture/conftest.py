"""What the tests of recording share: an open store on a disk that can be full."""

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from tui_host.capture.store import database, writer
from tui_host.capture.store.schema import connect
from tui_host.capture.store.store import Store


class Disk:
    """A place that can be full: the error that SQLite gives is the same."""

    def __init__(self) -> None:
        self._connections: list[sqlite3.Connection] = []

    def connect(self, path: Path, *, uri: str = "") -> sqlite3.Connection:
        connection = connect(path, uri=uri)
        self._connections += [connection] * (not uri)
        return connection

    def fill(self) -> None:
        self._connections[0].execute("PRAGMA max_page_count = 1").fetchall()

    def make_room(self) -> None:
        self._connections[0].execute("PRAGMA max_page_count = 1000000").fetchall()


@pytest.fixture
def disk() -> Disk:
    return Disk()


@pytest.fixture
def store(tmp_path: Path, disk: Disk, monkeypatch: pytest.MonkeyPatch) -> Iterator[Store]:
    monkeypatch.setattr(writer, "RETRY_SECONDS", 0.05)
    with monkeypatch.context() as patched:
        patched.setattr(database, "connect", disk.connect)
        opened = Store.open(tmp_path / "tui-host.db")
    yield opened
    opened.close()
