"""What a chat tells of a conversation that began when nobody listened: all that the request holds, once, and marked."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tests.infer.forms import FORMS, NAMES, Answer, Call, Entry, Results, User, dumped, form
from tests.infer.world import MS, ModelTap, World
from tui_host.capture.record import Draft, Head
from tui_host.chat.conversation import AnswerItem, CallItem, Conversation, Item, NoteItem, UserItem
from tui_host.errors import JSON
from tui_host.infer.asking.chat_start import HEARD, NOT_HEARD
from tui_host.infer.story import Story
from tui_host.infer.story_chat import Telling

OPENAI = FORMS["openai"]
CALL = Call("c1", "math__add", {"a": 1, "b": 2})
EARLIER = [User("first"), Answer("I look.", [CALL]), Results([(CALL, "3")]), Answer("It is three."), User("second")]
TOLD = [NOT_HEARD, "> first", "I look.", "math__add = 3", "It is three.", HEARD, "> second"]


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
        self._telling = Telling(self.story, self.chat)

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


def sent(body: JSON, url: str = OPENAI.url) -> Told:
    """What is told of one request."""
    told = Told()
    model, head = told.world.model(), Head(method="POST", url=url)
    model.keep(Draft(wire="llm", kind="request", direction="out", peer="p", exchange="1", head=head, data=dumped(body)))
    told.hear()
    return told


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
    assert told.story.talks.turns == 1


@pytest.mark.parametrize("name", NAMES)
def test_a_request_that_ends_with_a_result_tells_the_question_the_call_and_the_result(name: str) -> None:
    told = Told()
    told.world.model().ask(form(name, ["math__add"]), EARLIER[:3])
    told.hear()
    question, answer, call = list(told.chat.items)[1:-1]
    assert words([question, answer]) == ["> first", "I look."]
    assert isinstance(call, CallItem)
    assert (call.tool, call.asked, "3" in call.result) == ("math__add", CALL.text, True)


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


def test_what_is_tried_again_or_asked_in_another_way_tells_the_rest_once() -> None:
    told = Told()
    model = told.world.model()
    model.refuse(told.ask(model, EARLIER))  # the host asks again
    told.ask(model, EARLIER, Answer("Yes."))
    told.ask(model, EARLIER, Answer("No."))  # the person does
    told.ask(model, [*EARLIER[:-1], User("other")], Answer("Maybe."))
    refused = "example answered 429: slow down"
    assert told.words == [*TOLD, refused, "Yes.", "> second", "No.", "> other", "Maybe."]


def test_what_passes_two_taps_is_told_once() -> None:
    told = Told()
    for tap in (told.world.model(), told.world.model()):
        tap.ask(OPENAI, EARLIER)
    told.hear()
    assert told.words == [*TOLD, "> second"]


def test_what_was_said_while_a_tap_did_not_run_is_told_and_no_more() -> None:
    told = Told()
    told.ask(told.world.model(), EARLIER[:1], Answer("I look.", [CALL]))
    entries = [*EARLIER, Answer("Yes."), User("third")]
    told.ask(told.world.model(), entries, Answer("No."))
    gap = [NOT_HEARD, "It is three.", "> second", "Yes.", HEARD]
    assert told.words == ["> first", "I look.", "math__add = 3", *gap, "> third", "No."]


def test_a_host_that_sends_the_end_alone_repeats_nothing() -> None:
    told, entries = Told(), list[Entry]()
    model, expected = told.world.model(), list[str]()
    for number in range(6):
        entries.append(User(f"question {number}"))
        told.ask(model, entries[-3:], Answer(f"answer {number}"))
        entries.append(Answer(f"answer {number}"))
        expected += [f"> question {number}", f"answer {number}"]
    assert told.words == expected


def test_an_answer_that_was_changed_since_is_told_as_the_request_has_it() -> None:
    told = Told()
    model = told.world.model()
    told.ask(model, [User("first")], Answer("It is three."))
    told.ask(model, [User("first"), Answer("Four, it is."), User("second")], Answer("Yes."))
    assert told.words == ["> first", "It is three.", NOT_HEARD, "Four, it is.", HEARD, "> second", "Yes."]


def test_what_a_host_says_of_itself_and_its_answer_are_not_told() -> None:
    messages: list[JSON] = [
        {"role": "user", "content": "<session_context>\nToday is Monday.\n</session_context>"},
        {"role": "assistant", "content": "Got it."},
        {"role": "user", "content": "<system-reminder>Be brief.</system-reminder>first"},
    ]
    assert sent({"model": "m", "messages": messages}).words == ["> first"]
    messages += [{"role": "assistant", "content": "One."}, {"role": "user", "content": "second"}]
    told = sent({"model": "m", "messages": messages})
    assert told.words == [NOT_HEARD, "> first", "One.", HEARD, "> second"]


def test_a_result_whose_call_was_cut_off_says_so() -> None:
    messages: list[JSON] = [
        {"type": "function_call_output", "call_id": "c1", "output": "3"},
        {"type": "message", "role": "assistant", "content": "It is three."},
        {"role": "user", "content": "second"},
    ]
    told = sent({"model": "m", "input": messages}, FORMS["openai-responses"].url)
    assert told.words == [NOT_HEARD, "a tool = 3", "It is three.", HEARD, "> second"]
    assert [item.words for item in told.chat.items if isinstance(item, CallItem)] == [
        "told in the request without its call"
    ]


def test_a_call_that_the_request_tells_no_result_of_is_asked_for() -> None:
    told = Told()
    told.ask(told.world.model(), [User("first"), Answer("", [CALL]), User("second")])
    calls = [(item.state, item.result) for item in told.chat.items if isinstance(item, CallItem)]
    assert calls == [("asked", "")]


def test_the_beginning_of_an_answer_that_a_host_writes_itself_stands_behind_the_question() -> None:
    messages: list[JSON] = [
        {"role": "user", "content": "first"},
        {"role": "assistant", "content": "It"},
        {"role": "assistant", "content": "is"},
    ]
    told = sent({"model": "m", "messages": messages})
    assert told.words == [NOT_HEARD, "> first", "It", "is", HEARD]


def test_a_conversation_that_begins_with_results_is_named_by_what_it_tells_was_asked() -> None:
    told = Told()
    model = told.world.model()
    first, other = told.ask(model, EARLIER[:3]), told.ask(model, [User("else")])
    list(model.answer(OPENAI, other, Answer("Other.")))
    told.hear()
    list(model.answer(OPENAI, first, Answer("Three.")))
    told.hear()
    assert told.words[-5:] == [HEARD, "> else", "Other.", 'to "first":', "Three."]
