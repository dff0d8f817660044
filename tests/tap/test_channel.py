"""What a relay reports goes in order, and where there is no room for all of it only pieces of bodies are left out, and counted."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from threading import Thread

import pytest

from tui_host.tap.recording.channel_read import ChannelReader
from tui_host.tap.recording.channel_write import CHUNK, COMPLETE, REQUEST, TAKEN, ChannelWriter, lost
from tui_host.tap.recording.journal import Journal
from tui_host.tap.recording.recorder_process import RecorderEnds

PIECE = bytes(range(256)) * 64
ROOM = (17 + len(b"head")) + 3 * (17 + len(PIECE))
"""What stands before an item takes seventeen bytes."""


def journal_of(folder: Path, monkeypatch: pytest.MonkeyPatch, *, has_file: bool = True) -> Journal:
    monkeypatch.setenv("TMPDIR", str(folder if has_file else folder / "missing"))
    if not has_file:
        monkeypatch.setattr("tui_host.tap.recording.journal.FOLDERS", (str(folder / "missing"),))
    return Journal(room=ROOM)


def flat(told: ChannelReader) -> Iterator[tuple[bytes, int, int, bytes]]:
    """Thing by thing."""
    for items in told.batches():
        yield from items


def reader_of(journal: Journal, grace: float = 0) -> tuple[ChannelReader, int]:
    """Who reads it, and where he lets the relay know."""
    notices, write = os.pipe()
    return ChannelReader(RecorderEnds(journal, lifeline=-1, notices=write), grace), notices


@pytest.mark.parametrize("has_file", [True, False])
def test_without_a_reader_what_comes_waits_in_a_file_or_is_counted_and_no_end_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, has_file: bool
) -> None:
    journal = journal_of(tmp_path, monkeypatch, has_file=has_file)
    writer = ChannelWriter(journal)
    writer.report(REQUEST, b"head", 7)
    for _ in range(20):
        writer.report(CHUNK, PIECE, 7)
    writer.report(REQUEST, b"another", 8)
    writer.report(COMPLETE, b"", 7)
    told, notices = reader_of(journal)
    reading = flat(told)
    items = [next(reading)]
    thread = Thread(target=lambda: items.extend(reading))
    thread.start()
    assert os.read(notices, 9) == TAKEN
    writer.make_room()
    writer.close()
    thread.join(90)
    found = [(kind, number, data) for kind, number, _, data in items]
    kept = b"".join(data for kind, _, data in found if kind == CHUNK)
    missing = sum(int(data) for kind, _, data in found if kind == lost(CHUNK))
    assert kept == PIECE * (len(kept) // len(PIECE))
    assert len(kept) + missing == 20 * len(PIECE)
    assert (missing == 0) == has_file
    assert found[0] == (REQUEST, 7, b"head")
    assert found[-2:] == [(REQUEST, 8, b"another"), (COMPLETE, 7, b"")]
    assert told.missing == 0


def test_what_several_threads_pass_while_somebody_reads_comes_whole_and_in_the_order_of_each(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal = journal_of(tmp_path, monkeypatch)
    writer = ChannelWriter(journal)
    count = 3000

    def write(number: int) -> None:
        for each in range(count):  # sizes that come to lie over the end of the memory, and over what it holds
            writer.report(CHUNK, b"%d " % each * (1 + each % 97), number)
            writer.notify()

    threads = [Thread(target=write, args=(number,)) for number in range(3)]
    told, _ = reader_of(journal)
    items: list[tuple[int, bytes]] = []
    reading = Thread(target=lambda: items.extend((item[1], item[3]) for item in flat(told)))
    for thread in (*threads, reading):
        thread.start()
    for thread in threads:
        thread.join()
    writer.make_room()  # as if it had been asked for
    writer.close()
    reading.join(90)
    for number in range(3):
        found = [data for each, data in items if each == number]
        assert found == [b"%d " % each * (1 + each % 97) for each in range(count)]


def test_who_is_asked_to_end_gives_up_what_is_left_once_the_relay_has_ended_and_counts_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal = journal_of(tmp_path, monkeypatch)
    writer = ChannelWriter(journal)
    told, _ = reader_of(journal)
    writer.report(CHUNK, b"first", 1)
    reading = flat(told)
    assert next(reading)[3] == b"first"
    told.hurry()
    writer.report(CHUNK, b"second", 1)
    assert next(reading)[3] == b"second"  # the relay goes on
    writer.close()
    writer = ChannelWriter(journal)
    writer.report(CHUNK, b"third", 1)
    assert [item[3] for item in reading] == []
    assert told.missing >= len(b"third")
