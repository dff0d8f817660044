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


async def test_a_session_older_than_keep_goes_in_the_background_or_that_it_cannot_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pruning, "FIRST_SECONDS", 0)
    store = Store.open(tmp_path / "data" / "tui-host.db")
    keep_session(store, FIRST, 1, count=5)
    trigger = "CREATE TRIGGER kept BEFORE DELETE ON sessions BEGIN SELECT RAISE(ABORT, 'not now'); END"
    store.run(lambda connection: connection.execute(trigger))
    store.close()
    settings = replace(configured(tmp_path), store=StoreLimits(keep=3600))
    async with serving(settings) as host:
        await until(lambda: host.notices)
        assert "could not be deleted" in host.notices[0]
        assert "not now" in host.notices[0]
    store = Store.open(tmp_path / "data" / "tui-host.db")
    store.run(lambda connection: connection.execute("DROP TRIGGER kept"))
    store.close()
    async with serving(settings) as host:
        kept = host.store
        assert kept is not None
        session = host.sessions.new()
        session.begin_turn("hello")
        await until(lambda: kept.sessions.get(session.id) and not kept.sessions.get(FIRST))
        assert [info.id for info in kept.sessions.list()] == [session.id]
        await until(lambda: host.notices)
        assert host.notices == ["1 old session was deleted: 1 by [store] keep = 1h"]
