"""The conversation tells what changed, keeps what is final, closes what was left open, and shows no secret."""

from __future__ import annotations

from dataclasses import replace

from tests.chat.bench import session_of
from tui_host.capture.redact.redaction import Redactor
from tui_host.chat.conversation import AnswerItem, CallItem, Conversation, Item, NoteItem, SummaryItem, UserItem
from tui_host.chat.policy import Policy


def call(number: str, **more: str) -> CallItem:
    return replace(CallItem(turn=1, step=1, call=number, server="s", tool="t", asked="{}"), **more)


def test_a_view_learns_what_changed_since_it_looked() -> None:
    conversation = Conversation()
    for text in ("a", "b"):
        conversation.add(UserItem(turn=1, text=text))
    seen = conversation.revision
    assert conversation.changed_since(seen) == []
    conversation.put(0, UserItem(turn=1, text="A"))
    conversation.add(UserItem(turn=2, text="c"))
    assert (conversation.changed_since(seen), conversation.changed_since(0)) == ([0, 2], [0, 1, 2])


def test_what_streams_is_made_when_somebody_looks_and_kept_when_it_is_final() -> None:
    kept: list[Item] = []
    conversation = Conversation(keep=lambda _, item: kept.append(item))
    number = conversation.add(AnswerItem(turn=1, step=1))
    made: list[str] = []

    def make() -> Item:
        made.append("made")
        return AnswerItem(turn=1, step=1, text="so far")

    for _ in range(1000):
        conversation.grow(number, make)
    assert made == []
    assert (conversation[number], made) == (AnswerItem(turn=1, step=1, text="so far"), ["made"])
    conversation.put(number, AnswerItem(turn=1, step=1, text="all", state="done"))
    assert kept == [AnswerItem(turn=1, step=1), AnswerItem(turn=1, step=1, text="all", state="done")]


def test_what_an_earlier_process_left_open_is_told_as_cut() -> None:
    half = AnswerItem(turn=1, step=1, text="half")
    conversation = Conversation([half, call("a", state="waiting"), call("b", state="running")])
    conversation.close_open()
    assert list(conversation) == [
        replace(half, state="cut"),
        call("a", state="stopped", words="not decided: the program ended"),
        call("b", state="failed", words="cut: the program ended; it may have run"),
    ]


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


def test_a_session_goes_on_with_the_number_of_its_last_step() -> None:
    def summary(turn: int, steps: int) -> SummaryItem:
        return SummaryItem(turn=turn, steps=steps, calls=0, seconds=1.0)

    items = [AnswerItem(turn=1, step=9), summary(1, 9), AnswerItem(turn=2, step=1), summary(2, 2), summary(2, 1)]
    session = replace(session_of(Policy(())), turn=2, conversation=Conversation(items))
    assert session.step == 3
    session.begin_turn("more")
    assert session.step == 0
