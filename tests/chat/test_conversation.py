"""The conversation tells what changed, keeps what is final, and closes what an earlier process left open."""

from __future__ import annotations

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
    assert (waiting.state, running.state) == ("rejected", "failed")
    assert "may have run" in running.words
