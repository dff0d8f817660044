"""A session is kept from its first word on, whenever the store opens."""

from __future__ import annotations

from pathlib import Path

from tui_host.capture.store import Store
from tui_host.chat.conversation import NoteItem
from tui_host.chat.policy import Policy
from tui_host.chat.session import Session
from tui_host.host.keeping import StoreKeeper, stored_session
from tui_host.settings.schema import ModelRef


def test_what_was_said_before_the_store_was_open_is_kept_too(tmp_path: Path) -> None:
    session = Session(
        id="20260101-000000-aaaaa",
        source="chat",
        created_ns=1,
        model=ModelRef(provider="demo", model="openai"),
        protocol="native",
        policy=Policy(()),
    )
    session.begin_turn("early bird")
    store = Store.open(tmp_path / "t.db")
    session.keep_in(StoreKeeper(store))
    session.conversation.add(NoteItem(turn=1, kind="note", what="later"))

    store.run(lambda _: None)  # the writer has come this far
    [info] = store.sessions.list()
    again = stored_session(store, info, Policy(()))

    assert (info.title, info.turns, again.turn) == ("early bird", 1, 1)
    assert again.messages == session.messages
    assert again.conversation.items == session.conversation.items
    store.close()
