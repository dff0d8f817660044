"""The items of a chat: what a view learns of them, how they come back from the store, and what never stands in them."""

from dataclasses import replace
from pathlib import Path

import pytest

from tests.chat.bench import session_of
from tui_host.capture.redact.redaction import Redactor
from tui_host.capture.store.deletion import delete_session
from tui_host.capture.store.store import Store
from tui_host.chat.conversation import (
    ITEM_FORM,
    AnswerItem,
    CallItem,
    Conversation,
    NoteItem,
    UserItem,
    item_from_text,
    title_of,
)
from tui_host.chat.policy import Policy
from tui_host.chat.session import Session
from tui_host.chat.stored_messages import message_from_text, message_to_text
from tui_host.errors import StoreError
from tui_host.host.session_storage import StoreKeeper, stored_session
from tui_host.llm.messages import Message, Text

STORED = Path(__file__).with_name("stored.jsonl").read_text("utf-8").rstrip("\n").split("\n")
"""One of each kind, as versions up to 7a9113cf wrote them."""
TALK = [
    UserItem(turn=1, text="one \u4e2d"),
    AnswerItem(turn=1, step=1, text="first", state="done"),
    UserItem(turn=2, text="two"),
    AnswerItem(turn=2, step=1, text="half"),
]


def call(number: str, **more: object) -> CallItem:
    return replace(CallItem(turn=1, step=1, call=number, server="s", tool="t", asked="{}"), **more)


def message(text: str) -> Message:
    return Message(role="user", parts=(Text(text=text),))


def test_no_secret_is_shown_however_it_comes_in() -> None:
    session = replace(session_of(Policy(())), redact=Redactor([("TOKEN", "hunter2-hunter2")]).text)
    shown = session.conversation
    session.begin_turn("mine is hunter2-hunter2")
    answer = shown.add(AnswerItem(turn=1, step=1))
    shown.grow(answer, lambda: AnswerItem(turn=1, step=1, text="so hunter2-hunter2", thinking="hunter2-hunter2"))
    number = shown.add(call("1", asked='{"a":"hunter2-hunter2"}'))
    shown.put(number, replace(shown[number], result="HUNTER hunter2-hunter2"), keep=False)
    shown.add(NoteItem(turn=1, kind="error", what="401: hunter2-hunter2 is wrong"))
    assert "hunter2-hunter2" not in repr(list(shown))
    assert repr(list(shown)).count("⟨secret:TOKEN⟩") == 6
    assert shown[answer] is shown[answer]


def test_a_note_that_is_said_again_is_one_line_that_counts() -> None:
    session = session_of(Policy(()))
    session.begin_turn("two")
    for what in ("taken back", "taken back", "another", "taken back"):
        session.note(what)
        session.conversation.add(call("a", turn=session.turn))
    session.note("taken back", kind="error")
    session.note("taken back", kind="error")
    notes = [item for item in session.conversation if isinstance(item, NoteItem)]
    assert [note.what for note in notes] == ["taken back", "another", *["taken back"] * 3]
    assert [note.times for note in notes] == [2, 1, 1, 1, 1]
    assert item_from_text(ITEM_FORM.write(notes[0])) == notes[0]


def test_a_title_is_the_first_line_cut_short() -> None:
    assert [title_of("\n\n  hello\nworld"), len(title_of("x" * 200)), title_of("  ")] == ["hello", 60, "untitled"]


# What is stored.


def again(text: str) -> str:
    if text.startswith('{"item"'):
        return ITEM_FORM.write(item_from_text(text))
    found = message_from_text(text)
    return "" if found is None else message_to_text(found)


def test_what_an_earlier_version_stored_is_read_and_written_as_it_was() -> None:
    assert [again(text) for text in STORED] == STORED


def test_what_cannot_be_read_is_passed_over_or_told_in_its_place() -> None:
    for text in ("", "[]", "{}", '{"role":"queen","parts":[]}', '{"role":"user"}', "[" * 9000):
        assert message_from_text(text) is None
    for text in ('{"item":"hologram","turn":1}', "[]", '{"item":"user","turn":1}', '{"item"'):
        assert item_from_text(text) == NoteItem(turn=0, kind="note", what="this version cannot show this item")
    later = '{"role":"user","parts":[{"part":"smell"},{"part":"text","text":"a","colour":"red"}],"mood":1}'
    assert message_from_text(later) == message("a")


def test_what_an_earlier_process_left_open_is_told_as_cut() -> None:
    left = [call("a", turn=2, state="waiting"), call("b", turn=2, state="running")]
    conversation = Conversation(list(map(ITEM_FORM.write, [*TALK, *left])))
    assert (conversation.said(1), conversation.said(10)) == (["two"], ["one \u4e2d", "two"])
    conversation.close_open()
    assert list(conversation)[3:] == [
        AnswerItem(turn=2, step=1, text="half", state="cut"),
        call("a", turn=2, state="stopped", words="not decided: the program ended"),
        call("b", turn=2, state="failed", words="cut: the program ended; it may have run"),
    ]
    assert list(conversation)[:3] == TALK[:3]


def test_a_session_is_kept_from_its_first_word_and_goes_on_under_the_numbers_that_follow(tmp_path: Path) -> None:
    store = Store.open(tmp_path / "t.db")

    def reopened(session: Session) -> Session:
        store.run(lambda _: None)  # the writer has come this far
        return stored_session(store, store.sessions.find(session.id), Policy(()))

    first = session_of(Policy(()))
    first.begin_turn("early bird")
    first.keep_in(StoreKeeper(store))  # only now is the store open
    first.conversation.add(AnswerItem(turn=1, step=3, text="1", state="done"))
    first.omitted_turns, first.refused_images = 1, {"demo/openai": 1}
    first.save()
    second = reopened(first)
    assert (second.title, second.turn, second.step) == ("early bird", 1, 3)
    assert (second.omitted_turns, second.refused_images) == (1, {"demo/openai": 1})
    assert list(second.conversation) == list(first.conversation)
    assert second.messages.unread is not None  # not before the model is to be told them
    second.begin_turn("two")
    third = reopened(second)
    assert [message.parts for message in second.messages] == [(Text(text="early bird"),), (Text(text="two"),)]
    assert list(third.messages) == list(second.messages)
    fourth = reopened(third)
    delete_session(store, first.id)
    with pytest.raises(StoreError, match="no longer stored"):
        fourth.messages.load()
    store.close()
