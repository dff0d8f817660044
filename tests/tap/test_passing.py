"""What a relay tells goes in order, and where there is no room for all of it only pieces of bodies are left out, and counted."""

from __future__ import annotations

import os
from pathlib import Path
from threading import Thread

import pytest

from tests.tap.stdio_taps import until
from tui_host.tap.kinds import CHUNK, COMPLETE, REQUEST, SPOOLED, lost
from tui_host.tap.passing import Telling, open_spool, taken_from

PIECE = bytes(range(256)) * 4096


def told(telling: Telling, descriptor: int) -> list[tuple[bytes, int, bytes]]:
    """All that is told, read only once nothing more is said."""
    found = bytearray()

    def read() -> None:
        while chunk := os.read(descriptor, 1 << 20):
            found.extend(chunk)

    reading = Thread(target=read)
    reading.start()
    until(telling.close)
    reading.join(10)
    os.close(descriptor)
    return [(kind, number, data) for kind, number, _, data in taken_from(found)]


@pytest.mark.parametrize("has_file", [True, False])
def test_without_a_reader_what_comes_waits_in_a_file_or_is_counted_and_no_end_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, has_file: bool
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    spool = open_spool() if has_file else None
    read, write = os.pipe()
    telling = Telling(write, spool, lambda: None)
    telling.passed(REQUEST, b"head", 7)
    for _ in range(20):
        telling.passed(CHUNK, PIECE, 7)
        telling.go()
    telling.passed(REQUEST, b"another", 8)
    telling.passed(COMPLETE, b"", 7)
    items = told(telling, read)
    if spool is not None:
        (start, end) = map(int, items.pop()[2].split())
        items += [(kind, number, data) for kind, number, _, data in taken_from(bytearray(os.pread(spool, end, start)))]
        os.close(spool)
        assert b"".join(data for kind, _, data in items if kind == CHUNK) == 20 * PIECE
    kept = sum(len(data) for kind, _, data in items if kind == CHUNK)
    missing = sum(int(data) for kind, _, data in items if kind == lost(CHUNK))
    assert kept + missing == 20 * len(PIECE)
    assert items[0] == (REQUEST, 7, b"head")
    assert items[-2:] == [(REQUEST, 8, b"another"), (COMPLETE, 7, b"")]
    assert SPOOLED not in {kind for kind, _, _ in items}
