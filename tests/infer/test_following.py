"""A story that is followed is whole in a moment, whatever took the processor, and whatever could not be read at once."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.infer.kept import keep_story
from tui_host.capture.record import Record
from tui_host.capture.store.store import Store
from tui_host.errors import StoreError
from tui_host.infer.live_story import TAPS_SECONDS, LiveStory, StoryUpdate
from tui_host.infer.stories import Stories
from tui_host.settings.paths import DATABASE


class Clock:
    """One that stands still unless it is put forward."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.seconds = time.monotonic()
        monkeypatch.setattr(time, "monotonic", lambda: self.seconds)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    keep_story(tmp_path)
    store = Store.open_to_read(tmp_path / "data" / DATABASE)
    yield store
    store.close()


def followed(store: Store) -> LiveStory:
    return LiveStory(store, Stories(store).listed()[0][0].id)


def taken(following: LiveStory) -> list[StoryUpdate]:
    pieces = list(following.updates)
    following.updates.clear()
    return pieces


def calls(pieces: list[StoryUpdate]) -> int:
    """How many frames that call a tool are among them."""
    return sum(b'"tools/call"' in record.draft.data for piece in pieces for record in piece.records)


def test_what_could_not_be_read_is_read_in_a_moment_and_once(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    clock, following, read = Clock(monkeypatch), followed(store), store.records

    def breaks_off(*, capture: str, after: int, until_seq: int | None = None) -> Iterator[Record]:
        if until_seq is not None:  # that is for the taps' names
            yield from read(capture=capture, after=after, until_seq=until_seq)
            return
        yield next(iter(read(capture=capture, after=after)))
        raise StoreError("the database cannot be read", str(store.path), "start again")

    monkeypatch.setattr(store, "records", breaks_off)
    with pytest.raises(StoreError):
        following.read(1)
    monkeypatch.setattr(store, "records", read)
    before = following.version
    clock.seconds += TAPS_SECONDS
    assert following.version != before, "nobody would ask again"
    following.read(1)
    pieces = taken(following)
    assert calls(pieces) == 1
    assert pieces[-1].state.is_whole
    assert pieces[-1].state.turns == 1
