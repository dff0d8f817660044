"""Conversations that say the same, answers that are dropped, and calls that are left: what one has must not be given to the other."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tests.infer.forms import FORMS, Answer, Call, Entry, Results, User
from tests.infer.world import MS, Asked, ModelTap, ServerTap, World, found_in
from tui_host.errors import JSON

OLLAMA = FORMS["ollama"]
"""Here no ids tell what belongs to which."""
ADD = Call("", "math__add", {"a": 1, "b": 2})
ASKS = Answer("", [ADD])


class Scene:
    """One model, one server, and the time between them."""

    def __init__(self) -> None:
        self.world = World()
        self.model = self.world.model()
        self.math = self.world.server("math")
        self.math.start(["add"])

    def says(self, *entries: Entry, answer: Answer = ASKS, model: ModelTap | None = None) -> str:
        """A request and its answer; gives the exchange."""
        self.world.now += 50 * MS
        model = model or self.model
        exchange = model.ask(OLLAMA, entries)
        self.world.now += 50 * MS
        list(model.answer(OLLAMA, exchange, answer))
        return exchange

    def runs(self, text: str, tap: ServerTap | None = None) -> tuple[str, int]:
        """A call's frame and its answer; gives the frame."""
        self.world.now += 50 * MS
        tap = tap or self.math
        identity, seq = tap.call("add", ADD.arguments)
        self.world.now += 5 * MS
        tap.result(identity, text)
        return tap.id, seq

    def found(self) -> set[tuple[str, str, object]]:
        """What was joined: a frame, or where it is told, to an exchange's call."""
        return {
            (kind, call[1], where[1] if kind == "told" else where) for kind, call, where in found_in(self.world.story())
        }


def told(*texts: str) -> Sequence[Entry]:
    """A conversation of one question, in which an answer's results are told."""
    return [User("sum"), *(entry for text in texts for entry in (ASKS, Results([(ADD, text)])))]


def test_of_conversations_that_say_the_same_at_once_nobody_knows_which_goes_on() -> None:
    scene = Scene()
    for _ in range(2):
        scene.says(User("sum"))
    for text in ("3", "4"):
        scene.runs(text)
        scene.says(*told(text), answer=Answer("Done."))
    assert scene.found() == set()


def test_of_two_answers_one_may_wait_still_where_two_requests_that_went_on_are_the_same() -> None:
    scene = Scene()
    for _ in range(2):
        scene.says(User("sum"))
    for _ in range(2):
        scene.runs("3")
        scene.says(*told("3"), answer=Answer("Done."))  # from one of them twice, or from each
    scene.says(User("sum"))
    for text in ("4", "5"):
        scene.runs(text)
        scene.says(*told(text), answer=Answer("Done."))
    assert scene.found() == set()


def test_a_conversation_that_says_the_same_later_goes_on_by_itself() -> None:
    scene = Scene()
    wanted: set[tuple[str, str, object]] = set()
    for text in ("3", "3"):
        first, frame = scene.says(User("sum")), scene.runs(text)
        wanted |= {("sent", first, frame), ("told", first, scene.says(*told(text), answer=Answer("Done.")))}
    assert scene.found() == wanted


def test_an_answer_in_place_of_another_is_the_one_that_goes_on_and_the_other_keeps_its_frame() -> None:
    scene = Scene()
    first, frame = scene.says(User("sum")), scene.runs("3")
    dropped, earlier = scene.says(*told("3")), scene.runs("5")
    taken, later = scene.says(*told("3")), scene.runs("5")
    again = scene.says(*told("3", "5"), answer=Answer("Done."))
    assert scene.found() == {
        ("sent", first, frame),
        ("told", first, dropped),
        ("told", first, taken),
        ("sent", dropped, earlier),
        ("sent", taken, later),
        ("told", taken, again),
    }


def test_a_call_that_was_left_keeps_no_frame_from_another_that_is_told_what_it_brought() -> None:
    scene = Scene()
    scene.says(User("a sum, and then nobody says yes or no"))
    second, frame = scene.says(User("sum")), scene.runs("3")
    assert scene.found() == set()
    assert scene.found() | {("sent", second, frame), ("told", second, scene.says(*told("3")))} == scene.found()


def test_a_frame_that_was_not_answered_may_be_of_a_call_that_was_sent_again_and_not_of_one_that_was_left() -> None:
    scene, openai = Scene(), FORMS["openai"]
    left, *calls = (Call(f"c{number}", "math__add", ADD.arguments) for number in range(3))
    exchanges: list[str] = []
    for number, asks in enumerate((Answer("", [left]), Answer("", calls))):
        exchanges.append(scene.model.ask(openai, [User(f"sum {number}")]))
        list(scene.model.answer(openai, exchanges[-1], asks))
    scene.world.now += 50 * MS
    scene.math.call("add", ADD.arguments)  # nobody can say which of the two it was
    again = scene.world.server("math")
    again.start(["add"])
    frames = [scene.runs(text, again) for text in ("3", "4")]
    scene.model.ask(openai, [User("sum 1"), Answer("", calls), Results(list(zip(calls, ("3", "4"), strict=True)))])
    sent = {each for each in found_in(scene.world.story()) if each[0] == "sent"}
    assert sent == {("sent", (scene.model.id, exchanges[1], number), frame) for number, frame in enumerate(frames)}


def test_what_a_call_is_told_that_its_host_knew_before_moves_no_clock() -> None:
    """The frame is of the call that its person left; the same once more was not sent."""
    scene, known = Scene(), "the sum of these is three, as it ever was"
    scene.says(User("sum"))
    frame = scene.runs(known)
    scene.says(User("another"))
    last = scene.says(User("another"), ASKS, Results([(ADD, known)]), answer=Answer("It is 3."))
    assert scene.found() == {("sent", "1", frame), ("told", "2", last)}


def test_a_clock_in_another_zone_gives_no_frame_to_a_call_that_was_asked_for_later() -> None:
    scene = Scene()
    late = scene.world.server("late", off=3_600_000 * MS)
    late.start(["add"])
    scene.runs("3", late)
    scene.says(User("sum"), answer=Answer("", [Call("", "late__add", ADD.arguments)]))
    assert scene.found() == set()


def test_an_answer_that_went_on_is_not_meant_where_other_words_stand_beside_the_same_call() -> None:
    """Its host has dropped what was said between: the first question, and the last answer with its result."""
    scene = Scene()
    first = scene.says(User("sum"))
    then = [*told("no"), Answer("No sum.", []), User("again?")]
    second = scene.says(*told("no"), answer=Answer("No sum."))
    worded = Answer("Let me see.", [ADD])
    waiting = scene.says(*then, answer=worded)
    last = scene.says(User("sum"), worded, Results([(ADD, "no")]), answer=Answer("Done."))
    assert {each for each in scene.found() if each[0] == "told"} == {("told", first, second), ("told", waiting, last)}


def test_a_call_of_a_tool_that_a_host_calls_by_itself_too_is_joined_once_something_is_told_of_it() -> None:
    scene = Scene()
    scene.runs("1")
    first, frame = scene.says(User("sum")), scene.runs("3")
    assert scene.found() == set()
    last = scene.says(*told("3"), answer=Answer("Done."))
    assert scene.found() == {("sent", first, frame), ("told", first, last)}


def test_a_conversation_goes_on_through_a_tap_that_was_started_in_place_of_its_own() -> None:
    scene = Scene()
    first, frame = scene.says(User("sum")), scene.runs("3")
    other = scene.world.model()
    scene.says(User("hello"), answer=Answer("Hello."), model=other)
    last = scene.says(*told("3"), answer=Answer("Done."), model=other)
    assert scene.found() == {("sent", first, frame), ("told", first, last)}


def test_an_answer_that_was_cut_and_asked_for_once_more_carries_out_nothing() -> None:
    scene = Scene()
    openai = FORMS["openai"]
    call = Call("c1", "math__add", ADD.arguments)
    exchange = scene.model.ask(openai, [User("sum")])
    list(scene.model.answer(openai, exchange, Answer("", [call, call, call]), cut=True))
    scene.world.now += 100 * MS
    second = scene.model.ask(openai, [User("sum")])
    list(scene.model.answer(openai, second, Answer("", [call])))
    frame = scene.runs("3")
    asked: Asked = (scene.model.id, second, 0)
    assert {each for each in found_in(scene.world.story()) if each[0] == "sent"} == {("sent", asked, frame)}


@pytest.mark.parametrize(
    ("dialect", "agent", "peer", "goes_on"),
    [
        ("ollama", "", "example", True),
        ("gemini", "", "example", False),
        ("ollama", "GeminiCLI/0.61", "example", False),
        ("ollama", "", "another", False),
    ],
)
def test_a_request_goes_on_only_from_an_answer_in_its_own_dialect_to_its_own_host_and_of_who_is_asked(
    dialect: str, agent: str, peer: str, *, goes_on: bool
) -> None:
    world, question = World(), User("sum")
    model, later = world.model(), world.model()
    later.peer = peer
    first = model.ask(FORMS[dialect], [question], agent)
    list(model.answer(FORMS[dialect], first, ASKS))
    world.now += 50 * MS
    second = later.ask(OLLAMA, told("3"), "Cline/3" if agent else "")  # what it goes on from has no record
    told_to = {where for kind, _, where in found_in(world.story()) if kind == "told"}
    assert told_to == ({(later.id, second)} if goes_on else set())


@pytest.mark.parametrize("name", ["cline", "cherry", "react", "hermes"])
def test_an_answer_that_its_host_cut_once_it_had_read_the_call_goes_on_as_a_whole_one(name: str) -> None:
    scene = Scene()
    form = FORMS[name]
    exchange = scene.model.ask(form, [User("sum")])
    *said, _, _ = form.response(ASKS)
    scene.model.closed_by_host(exchange, said)
    frame = scene.runs("3")
    last = scene.model.ask(form, told("3"))
    assert scene.found() == {("sent", exchange, frame), ("told", exchange, last)}


def test_hosts_that_share_a_connection_without_a_session_keep_their_answers_apart() -> None:
    scene = Scene()
    math = scene.world.server("math", has_no_sessions=True)
    asks = {text: Answer("", [Call("", "math__add", {"a": 1, "b": int(text)})]) for text in "34"}
    exchanges = {text: scene.says(User(text), answer=answer) for text, answer in asks.items()}
    frames = {
        text: (math.id, math.call("add", answer.calls[0].arguments, connection=text)[1])
        for text, answer in asks.items()
    }
    scene.world.now += 50 * MS
    for text in asks:  # each host counts from 1
        math.result(1, text, connection=text)
    wanted: set[tuple[str, str, object]] = set()
    for text, answer in asks.items():
        last = scene.says(User(text), answer, Results([(answer.calls[0], text)]), answer=Answer("Done."))
        wanted |= {("sent", exchanges[text], frames[text]), ("told", exchanges[text], last)}
    assert scene.found() == wanted


def test_the_calls_of_a_batch_have_each_their_own_answer() -> None:
    scene = Scene()
    calls = [Call("", "math__add", {"a": 1, "b": number}) for number in (2, 3)]
    exchange = scene.says(User("sums"), answer=Answer("", calls))
    asked: list[JSON] = [
        {
            "jsonrpc": "2.0",
            "id": number,
            "method": "tools/call",
            "params": {"name": "add", "arguments": {**call.arguments}},
        }
        for number, call in enumerate(calls, 1)
    ]
    frame = scene.math.line("out", asked)
    for number, text in ((2, "4"), (1, "3")):
        scene.math.result(number, text)
    story = scene.world.story()
    joined = [(each.asked.number, [sent.seq for sent in each.sent], each.sent[0].answer) for each in story.joined()]
    assert exchange
    assert [(number, sent, answer and answer.texts[0]) for number, sent, answer in joined] == [
        (0, [frame], "3"),
        (1, [frame], "4"),
    ]


@pytest.mark.parametrize(
    ("agent", "client", "is_joined"),
    [("Cline/3", "cline", True), ("Cline/3", "cursor", False)],
)
def test_what_one_host_was_asked_for_no_other_that_says_its_name_carries_out(
    agent: str, client: str, *, is_joined: bool
) -> None:
    scene = Scene()
    tap = scene.world.server("math")
    tap.start(["add"], client)
    list(scene.model.answer(OLLAMA, scene.model.ask(OLLAMA, [User("sum")], agent), ASKS))
    scene.runs("3", tap)
    assert bool(scene.found()) == is_joined


def test_a_frame_that_names_a_call_that_nobody_saw_asked_for_is_of_no_other() -> None:
    scene = Scene()
    openai = FORMS["openai"]
    calls = [Call(name, "math__add", {"a": number, "b": 2}) for number, name in enumerate(("c1", "c2"))]
    exchange = scene.model.ask(openai, [User("sums")])
    list(scene.model.answer(openai, exchange, Answer("", calls)))
    (_, named), _ = [
        scene.math.call("add", call.arguments, meta={"claudecode/toolUseId": name})
        for call, name in zip(calls, ("c1", "c0"), strict=True)
    ]
    assert scene.found() == {("sent", exchange, (scene.math.id, named))}


@pytest.mark.parametrize(
    ("brought", "words", "is_told"), [("", "(No response)", True), ("[]", "There are no items.", False)]
)
def test_of_calls_that_seem_told_in_fewer_places_than_they_are_none_takes_anothers(
    brought: str, words: str, *, is_told: bool
) -> None:
    scene = Scene()
    calls = [Call("", "math__add", {"a": number}) for number in range(3)]
    exchange = scene.says(User("sums"), answer=Answer("", calls))
    for call, text in zip(calls, (brought, "[]", "[]"), strict=True):
        identity, _ = scene.math.call("add", call.arguments)
        scene.math.answer(identity, {"content": [{"type": "text", "text": text}] if text else []})
    results = list(zip(calls, (words, "[]", "[]"), strict=True))
    scene.says(User("sums"), Answer("", calls), Results(results), answer=Answer("Done."))
    joined = scene.world.story().joined()
    assert exchange
    assert [[told.text for told in each.told] for each in joined] == [[text] * is_told for _, text in results]


def test_an_empty_list_that_is_told_bare_may_be_what_has_no_blocks_and_not_the_text_that_says_so() -> None:
    scene, hermes = Scene(), FORMS["hermes"]
    calls = [Call("", "math__add", {"a": number}) for number in range(2)]
    exchange = scene.model.ask(hermes, [User("sums")])
    list(scene.model.answer(hermes, exchange, Answer("", calls)))
    for call, content in zip(calls, ([{"type": "text", "text": "[]"}], []), strict=True):
        identity, _ = scene.math.call("add", call.arguments)
        scene.math.answer(identity, {"content": [*content]})
    results = list(zip(calls, ("<output>[]</output>", "[]"), strict=True))
    scene.model.ask(hermes, [User("sums"), Answer("", calls), Results(results)])
    told = [[place.text for place in each.told] for each in scene.world.story().joined()]
    assert [len(places) for places in told] == [1, 1]
    assert "<output>" in told[0][0]
    assert "<output>" not in told[1][0]


def test_nobody_knows_whether_a_request_is_made_again_while_calls_wait_or_by_a_conversation_that_says_the_same() -> (
    None
):
    scene = Scene()
    scene.says(User("sum"))
    scene.runs("3")
    scene.says(*told("3"))  # the call that this is answered with waits
    second = scene.says(User("sum"))
    scene.runs("3")
    scene.says(*told("3"))  # in place of what waits, or by the second
    assert second not in {call for _, call, _ in scene.found()}


def test_a_frame_that_was_not_answered_is_not_of_the_call_that_timed_out_where_it_may_have_been_sent_again_unseen() -> (
    None
):
    scene, openai = Scene(), FORMS["openai"]
    calls = [Call(f"c{number}", "math__add", ADD.arguments) for number in range(2)]
    exchange = scene.model.ask(openai, [User("sums")])
    list(scene.model.answer(openai, exchange, Answer("", calls)))
    scene.math.call("add", ADD.arguments)  # its server ends; of the next one there is no tap yet
    scene.world.now += 50 * MS
    results = list(zip(calls, ("3", "Request timed out"), strict=True))
    scene.model.ask(openai, [User("sums"), Answer("", calls), Results(results)])
    assert not [each for each in found_in(scene.world.story()) if each[0] == "sent"]


@pytest.mark.parametrize(("text", "is_joined"), [("3", False), ("4", True)])
def test_a_call_takes_no_frame_that_brought_what_another_without_one_was_told_of_the_same(
    text: str, *, is_joined: bool
) -> None:
    scene = Scene()
    scene.math = scene.world.server("math", boot=1 << 40, off=400 * MS)  # nothing tells that its clock is
    scene.math.start(["add"])
    scene.says(User("sum"))
    frame = scene.runs("3")
    last = scene.says(*told(text))
    assert (("sent", last, frame) in scene.found()) == is_joined


def test_a_call_that_was_given_up_takes_no_error_that_another_without_a_frame_was_told() -> None:
    scene = Scene()
    scene.math = scene.world.server("math", boot=1 << 40, off=400 * MS)  # nothing tells that its clock is
    scene.math.start(["add"])
    scene.says(User("sum"))
    scene.world.now += 50 * MS
    identity, failed = scene.math.call("add", ADD.arguments)
    scene.math.answer(identity, {"content": [{"type": "text", "text": "no such number"}], "isError": True})
    second = scene.says(*told("Error: no such number"))
    scene.world.now += 50 * MS
    identity, _ = scene.math.call("add", ADD.arguments)
    scene.world.now += 500 * MS
    scene.math.frame("out", {"method": "notifications/cancelled", "params": {"requestId": identity}})
    scene.says(*told("Error: no such number", "Request timed out"), answer=Answer("Done."))
    assert ("sent", second, (scene.math.id, failed)) not in scene.found()


def test_a_request_that_is_made_again_is_of_its_conversation_once_all_that_began_alike_went_on_with_words_of_their_own() -> (
    None
):
    scene = Scene()
    for _ in range(2):
        scene.says(User("sum"))
    for text in ("3", "4"):
        scene.runs(text)
    dropped = scene.says(*told("3"))
    scene.says(*told("4"), answer=Answer("Done."))
    again = scene.says(*told("3"))  # as a person asked for another answer
    frame = scene.runs("5")
    last = scene.says(*told("3", "5"), answer=Answer("Done."))
    found = scene.found()
    assert {("sent", again, frame), ("told", again, last)} <= found
    assert dropped not in {call for _, call, _ in found}


@pytest.mark.parametrize("name", ["cherry", "older cherry", "hermes", "json", "function", "react"])
def test_an_answer_that_is_but_a_call_in_a_text_is_the_one_that_was_meant_where_its_results_are_told_again(
    name: str,
) -> None:
    world, form = World(), FORMS[name]
    model, entries = world.model(), [User("sum"), ASKS, Results([(ADD, "3")])]
    for asked in (entries[:1], entries, entries):
        world.now += 50 * MS
        exchange = model.ask(form, asked)
        world.now += 50 * MS
        list(model.answer(form, exchange, ASKS))
    first, *others = world.story().exchanges
    assert [each.parent for each in others] == [first.asking.key] * 2
