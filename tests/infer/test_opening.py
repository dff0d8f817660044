"""What a chat tells of a conversation that began when nobody listened: all that the request holds, once, and marked."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tests.infer.forms import FORMS, NAMES, form
from tests.infer.world import MS, ModelTap, World
from tests.kit.bodies import Answer, Call, Entry, Results, User
from tui_host.chat.conversation import AnswerItem, CallItem, Conversation, Item, NoteItem, UserItem
from tui_host.infer.chat_start import CAPTURED_FROM_HERE, NOT_CAPTURED
from tui_host.infer.story import Story
from tui_host.infer.story_chat import StoryChat

OPENAI = FORMS["openai"]
CALL = Call("c1", "math__add", {"a": 1, "b": 2})
EARLIER = [User("first"), Answer("I look.", [CALL]), Results([(CALL, "3")]), Answer("It is three."), User("second")]
TOLD = [NOT_CAPTURED, "> first", "I look.", "math__add = 3", "It is three.", CAPTURED_FROM_HERE, "> second"]


def words(items: Sequence[Item]) -> list[str]:
    """What the items say, a line each."""
    found: list[str] = []
    for item in items:
        match item:
            case UserItem():
                found.append(f"> {item.text}")
            case AnswerItem():
                found.append(item.text.strip())
            case CallItem():
                found.append(f"{item.tool} = {item.result}")
            case NoteItem():
                found.append(item.what)
            case _:
                found.append(repr(item))
    return found


class Told:
    """A story that is told as it goes on."""

    def __init__(self) -> None:
        self.world = World()
        self.chat = Conversation()
        self.story = Story()
        self._telling = StoryChat(self.story, self.chat)

    def hear(self) -> None:
        """Take in what is new."""
        self.world.now += 100 * MS
        for _, record in self.world.records:
            self.story.feed(record)
        self.world.records.clear()
        self._telling.tell()

    def ask(self, model: ModelTap, entries: Sequence[Entry], answer: Answer | None = None) -> str:
        """A request, and its answer if there is one."""
        exchange = model.ask(OPENAI, entries)
        self.hear()
        if answer is not None:
            list(model.answer(OPENAI, exchange, answer))
            self.hear()
        return exchange

    @property
    def words(self) -> list[str]:
        """What the chat says."""
        return words(list(self.chat.items))


@pytest.mark.parametrize("name", NAMES)
def test_a_conversation_in_the_middle_is_told_from_its_beginning(name: str) -> None:
    spoken, told = form(name, ["math__add"]), Told()
    told.world.model().ask(spoken, EARLIER)
    told.hear()
    items = list(told.chat.items)
    [result] = [item.result for item in items if isinstance(item, CallItem)]
    assert "3" in result  # of some forms with what is around it
    assert [each.replace(result, "3") for each in words(items)] == TOLD
    assert {item.turn for item in items} == {1}
    steps = [(item.step, item.words, item.state) for item in items if isinstance(item, CallItem)]
    assert steps == [(0, "told in the request", "done")]
    assert all(item.step == 0 and item.seconds == 0 for item in items if isinstance(item, AnswerItem))
    assert told.story.conversations.turns == 1


def test_the_conversation_goes_on_as_any_other_and_nothing_is_told_again() -> None:
    told = Told()
    model = told.world.model()
    told.ask(model, EARLIER, Answer("", [CALL]))
    before = list(told.chat.items)
    entries = [*EARLIER, Answer("", [CALL]), Results([(CALL, "4")])]
    told.ask(model, entries, Answer("Four."))
    told.ask(model, [*entries, Answer("Four."), User("third")], Answer("Five."))
    assert told.words == [*TOLD, "math__add = 4", "Four.", "> third", "Five."]
    assert list(told.chat.items)[: len(TOLD)] == before[: len(TOLD)]
    assert [(each.turn, each.step) for each in told.story.exchanges] == [(1, 1), (1, 2), (2, 1)]


def test_what_was_said_while_a_tap_did_not_run_is_told_and_no_more() -> None:
    told = Told()
    told.ask(told.world.model(), EARLIER[:1], Answer("I look.", [CALL]))
    entries = [*EARLIER, Answer("Yes."), User("third")]
    told.ask(told.world.model(), entries, Answer("No."))
    gap = [NOT_CAPTURED, "It is three.", "> second", "Yes.", CAPTURED_FROM_HERE]
    assert told.words == ["> first", "I look.", "math__add = 3", *gap, "> third", "No."]
