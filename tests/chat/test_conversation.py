"""The conversation tells what changed, keeps what is final, and closes what an earlier process left open."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tui_host.chat.conversation import (
    AnswerItem,
    CallItem,
    Conversation,
    Item,
    NoteItem,
    SummaryItem,
    UserItem,
    item_from_json,
    item_to_json,
    item_to_text,
)

ITEMS: tuple[Item, ...] = (
    UserItem(turn=1, text="hello"),
    AnswerItem(turn=1, step=1, text="hi", thinking="hm", state="done", seconds=1.5),
    CallItem(turn=1, step=1, call="1.1.1", server="math", tool="add", asked="{}", state="done", result="3"),
    NoteItem(turn=1, kind="error", what="refused", where="demo", remedy="start it", again=True),
    SummaryItem(turn=1, steps=1, calls=1, seconds=2.0, tokens_in=10, tokens_out=None),
)


def test_every_item_survives_the_store() -> None:
    assert [item_from_json(item_to_json(item)) for item in ITEMS] == list(ITEMS)


def test_an_item_of_a_later_version_is_passed_over() -> None:
    assert item_from_json({"item": "hologram", "turn": 1}) is None
    assert item_from_json({"item": "user"}) is None


def test_a_view_learns_what_changed_since_it_looked() -> None:
    conversation = Conversation()
    for item in ITEMS:
        conversation.add(item)
    seen = conversation.revision
    assert conversation.changed_since(seen) == []
    conversation.put(1, AnswerItem(turn=1, step=1, text="hi there", state="done"))
    conversation.add(UserItem(turn=2, text="more"))
    assert conversation.changed_since(seen) == [1, 5]
    assert conversation.changed_since(0) == [0, 1, 2, 3, 4, 5]


def test_what_streams_is_made_when_somebody_looks_and_kept_when_it_is_final() -> None:
    kept: list[tuple[int, Item]] = []
    conversation = Conversation(keep=lambda number, item: kept.append((number, item)))
    number = conversation.add(AnswerItem(turn=1, step=1))
    made: list[str] = []

    def make() -> Item:
        made.append("made")
        return AnswerItem(turn=1, step=1, text="so far")

    for _ in range(1000):
        conversation.grow(number, make)
    assert made == []
    assert conversation[number] == AnswerItem(turn=1, step=1, text="so far")
    assert made == ["made"]
    conversation.put(number, AnswerItem(turn=1, step=1, text="all", state="done"))
    assert [item for _, item in kept] == [
        AnswerItem(turn=1, step=1),
        AnswerItem(turn=1, step=1, text="all", state="done"),
    ]


def test_what_an_earlier_process_left_open_is_told_as_cut() -> None:
    conversation = Conversation(
        [
            AnswerItem(turn=1, step=1, text="half"),
            CallItem(turn=1, step=1, call="a", server="s", tool="t", asked="{}", state="waiting"),
            CallItem(turn=1, step=1, call="b", server="s", tool="t", asked="{}", state="running"),
        ]
    )
    conversation.close_open()
    answer, waiting, running = conversation.items
    assert isinstance(answer, AnswerItem)
    assert answer.state == "cut"
    assert isinstance(waiting, CallItem)
    assert isinstance(running, CallItem)
    assert (waiting.state, running.state) == ("stopped", "failed")
    assert "may have run" in running.words


TALK = [
    UserItem(turn=1, text="one \u4e2d"),
    AnswerItem(turn=1, step=1, text="first", state="done"),
    UserItem(turn=2, text="two"),
    AnswerItem(turn=2, step=1, text="half"),
]


def stored(*items: Item) -> list[str]:
    return [item_to_text(item) for item in items]


def unread(conversation: Conversation) -> list[bool]:
    return [conversation.unread(number) is not None for number in range(len(conversation))]


def test_a_stored_item_is_read_when_it_is_looked_at_and_then_stays_the_same() -> None:
    conversation = Conversation(stored(*TALK))
    assert len(conversation.items) == len(conversation) == 4
    assert next(iter(reversed(conversation.items))) == TALK[3]
    assert conversation[1] is conversation[1]
    assert unread(conversation) == [True, False, True, False]
    assert conversation.items == TALK
    assert conversation.items[-2:] == TALK[2:]
    assert conversation.items != TALK[1:]
    assert conversation.revision == 1  # looking changes nothing
    with pytest.raises(IndexError):
        _ = conversation.items[4]


def test_what_this_version_cannot_read_is_told_in_its_place() -> None:
    conversation = Conversation(['{"item":"from later"}', "[]", '{"item":"user","turn":1}', *stored(TALK[0])])
    assert [type(item) for item in conversation.items] == [NoteItem, NoteItem, NoteItem, UserItem]


def test_closing_what_was_left_open_looks_at_the_last_turn_alone() -> None:
    kept: list[int] = []
    conversation = Conversation(stored(*TALK)).again(keep=lambda number, _: kept.append(number), redact=str)
    conversation.close_open()
    assert unread(conversation) == [True, False, False, False]  # the one before the turn tells that it is not of it
    assert conversation.items[3] == replace(AnswerItem(turn=2, step=1, text="half"), state="cut")
    assert kept == [3]


def test_what_the_person_said_last_is_found_without_reading_the_answers() -> None:
    conversation = Conversation(stored(*TALK))
    assert conversation.said(1) == ["two"]
    assert conversation.said(10) == ["one \u4e2d", "two"]
    assert unread(conversation) == [False, True, False, True]
    conversation.add(UserItem(turn=3, text="three"))
    assert conversation.said(2) == ["two", "three"]
