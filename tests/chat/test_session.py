"""A session is kept from its first word on, whenever the store opens."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.chat.bench import session_of
from tui_host.capture.redact.redaction import Redactor
from tui_host.capture.store.store import Store
from tui_host.chat.conversation import AnswerItem, CallItem, NoteItem
from tui_host.chat.policy import Policy
from tui_host.errors import StoreError
from tui_host.host.session_storage import StoreKeeper, stored_session
from tui_host.llm.messages import Text


def test_what_was_said_before_the_store_was_open_is_kept_too(tmp_path: Path) -> None:
    session = session_of(Policy(()))
    session.begin_turn("early bird")
    store = Store.open(tmp_path / "t.db")
    session.keep_in(StoreKeeper(store))
    session.conversation.add(NoteItem(turn=1, kind="note", what="later"))

    store.run(lambda _: None)  # the writer has come this far
    [info] = store.sessions.list()
    again = stored_session(store, info, Policy(()))

    assert (info.title, info.turns, again.turn) == ("early bird", 1, 1)
    assert not again.messages.is_loaded  # not before the model is to be told them
    assert again.messages == session.messages
    assert again.conversation.items == session.conversation.items
    store.close()


def test_no_secret_is_shown_however_it_comes_in() -> None:
    session = replace(session_of(Policy(())), redact=Redactor([("TOKEN", "hunter2-hunter2")]).text)
    shown = session.conversation
    session.begin_turn("mine is hunter2-hunter2")
    answer = shown.add(AnswerItem(turn=1, step=1))
    shown.grow(answer, lambda: AnswerItem(turn=1, step=1, text="so hunter2-hunter2", thinking="hunter2-hunter2"))
    call = shown.add(CallItem(turn=1, step=1, call="1", server="s", tool="t", asked='{"a":"hunter2-hunter2"}'))
    shown.put(call, replace(shown[call], result="HUNTER hunter2-hunter2"), keep=False)
    shown.add(NoteItem(turn=1, kind="error", what="401: hunter2-hunter2 is wrong"))

    assert "hunter2-hunter2" not in repr(shown.items)
    assert repr(shown.items).count("⟨secret:TOKEN⟩") == 6
    assert shown[answer] is shown[answer]


def test_a_session_goes_on_under_the_numbers_that_follow_what_is_kept(tmp_path: Path) -> None:
    store = Store.open(tmp_path / "t.db")
    first = replace(session_of(Policy(())), keeper=StoreKeeper(store))
    first.begin_turn("one")
    first.conversation.add(AnswerItem(turn=1, step=3, text="1", state="done"))
    store.run(lambda _: None)  # the writer has come this far
    again = stored_session(store, store.sessions.find(first.id), Policy(()))
    assert (again.turn, again.step) == (1, 3)
    again.begin_turn("two")

    store.run(lambda _: None)
    assert [str(message.parts[0]) for message in again.messages] == [
        str(Text(text="one")),
        str(Text(text="two")),
    ]  # read once two had been saved, and yet it is told once
    third = stored_session(store, store.sessions.find(first.id), Policy(()))
    assert third.messages == again.messages
    assert third.conversation.items == again.conversation.items
    store.close()


def test_a_session_whose_messages_are_gone_is_not_gone_on_with(tmp_path: Path) -> None:
    store = Store.open(tmp_path / "t.db")
    first = replace(session_of(Policy(())), keeper=StoreKeeper(store))
    first.begin_turn("one")
    store.run(lambda _: None)  # the writer has come this far
    again = stored_session(store, store.sessions.find(first.id), Policy(()))
    store.sessions.remove(first.id)
    with pytest.raises(StoreError, match="no longer stored"):
        again.messages.load()
    store.close()
