"""What the tests of recording share: an open store on a disk that can be full."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from tui_host.capture.store.schema import connect
from tui_host.capture.store.store import Store


class Disk:
    """A place that can be full: the error that SQLite gives is the same."""

    def __init__(self) -> None:
        self._connections: list[sqlite3.Connection] = []

    def connect(self, path: Path) -> sqlite3.Connection:
        self._connections.append(connect(path))
        return self._connections[-1]

    def fill(self) -> None:
        self._connections[0].execute("PRAGMA max_page_count = 1").fetchall()

    def make_room(self) -> None:
        self._connections[0].execute("PRAGMA max_page_count = 1000000").fetchall()

    def statements(self) -> list[str]:
        """What is executed from now on."""
        executed: list[str] = []
        self._connections[0].set_trace_callback(executed.append)
        return executed


@pytest.fixture
def disk() -> Disk:
    return Disk()


@pytest.fixture
def store(tmp_path: Path, disk: Disk) -> Iterator[Store]:
    opened = Store.open(tmp_path / "tui-host.db", retry_seconds=0.05, connect=disk.connect)
    yield opened
    opened.close()
