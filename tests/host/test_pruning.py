"""`[store] keep` and `max` are respected while the program runs: what is old goes, what is open stays."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.capture.stores import FIRST, keep_session
from tests.host.test_host import configured, serving, until
from tui_host.capture.store.store import Store
from tui_host.host import store_cleanup as pruning
from tui_host.settings.schema import StoreLimits


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pruning, "FIRST_SECONDS", 0)


async def test_a_session_older_than_keep_goes_in_the_background_and_one_that_is_open_stays(tmp_path: Path) -> None:
    store = Store.open(tmp_path / "data" / "tui-host.db")
    keep_session(store, FIRST, 1, count=5)
    store.close()
    async with serving(replace(configured(tmp_path), store=StoreLimits(keep=3600))) as host:
        store = host.store
        assert store is not None
        session = host.sessions.new()
        session.begin_turn("hello")
        await until(lambda: store.sessions.get(session.id) and not store.sessions.get(FIRST))
        assert [info.id for info in store.sessions.list()] == [session.id]
        await until(lambda: host.notices)
        assert host.notices == ["1 old session was deleted, as [store] keep and max say"]


async def test_what_cannot_be_removed_is_told(tmp_path: Path) -> None:
    store = Store.open(tmp_path / "data" / "tui-host.db")
    keep_session(store, FIRST, 1, count=5)
    trigger = "CREATE TRIGGER kept BEFORE DELETE ON sessions BEGIN SELECT RAISE(ABORT, 'not now'); END"
    store.run(lambda connection: connection.execute(trigger))
    store.close()

    async with serving(replace(configured(tmp_path), store=StoreLimits(keep=3600))) as host:
        await until(lambda: host.notices)

        assert "could not be deleted" in host.notices[0]
        assert "not now" in host.notices[0]
