"""Single things that taps see and that must not be joined wrongly, or must be joined although they look odd."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence

import pytest

from tests.chat.infer.forms import FORMS, Answer, Call, Results, User, form
from tests.chat.infer.world import MS, Asked, ServerTap, World, found_in
from tui_host.chat.infer.frames import MOST
from tui_host.errors import JSON

OPENAI = FORMS["openai"]
SUM = {"a": 1, "b": 2}


class Scene:
    """A host with one model, and servers of the tests' own."""

    def __init__(self) -> None:
        self.world = World()
        self.model = self.world.model()

    def server(self, name: str, *tools: str) -> ServerTap:
        """A tap before a server."""
        tap = self.world.server(name)
        tap.start(tools)
        return tap

    def asks(self, text: str, *calls: Call) -> list[Asked]:
        """A first request and its answer."""
        return self.again([User(text)], *calls)

    def again(self, entries: Sequence[User | Answer | Results], *calls: Call, text: str = "") -> list[Asked]:
        """A request and its answer."""
        self.world.now += 100 * MS
        exchange = self.model.ask(OPENAI, entries)

        def answered() -> Generator[int]:
            yield from self.model.answer(OPENAI, exchange, Answer(text, calls))

        self.world.run(answered())
        return [(self.model.id, exchange, number) for number in range(len(calls))]

    def goes_on(self, text: str, calls: Sequence[Call], told: Sequence[tuple[Call, str]]) -> str:
        """The next request of a conversation."""
        self.world.now += 100 * MS
        return self.model.ask(OPENAI, [User(text), Answer("", calls), Results(told)])

    def runs(self, tap: ServerTap, tool: str, text: str | None) -> tuple[str, int]:
        """A call's frame, and its answer, if one comes; gives the frame."""
        self.world.now += 50 * MS
        identity, seq = tap.call(tool, SUM)
        self.world.now += 50 * MS
        if text is not None:
            tap.result(identity, text)
        return tap.id, seq

    def sent(self) -> dict[Asked, list[tuple[str, object]]]:
        """Which frames were found to carry which call."""
        found: dict[Asked, list[tuple[str, object]]] = {}
        for kind, call, where in sorted(found_in(self.world.story()), key=repr):
            if kind == "sent":
                found.setdefault(call, []).append(where)
        return found


def call(name: str, identity: str = "c1") -> Call:
    """A call of the one set of arguments."""
    return Call(identity, name, SUM)


def test_a_call_that_was_rejected_gets_no_frame_of_another_conversation() -> None:
    scene = Scene()
    math = scene.server("math", "add")
    one, other = call("math__add", "c1"), call("math__add", "c2")
    scene.asks("the first", one)
    (carried,) = scene.asks("the second", other)
    frame = scene.runs(math, "add", "3")
    scene.goes_on("the first", [one], [(one, "The user denied this operation.")])
    assert scene.sent() == {carried: [frame]}


def test_a_call_that_two_conversations_may_have_asked_for_is_joined_to_neither_before_one_is_told() -> None:
    scene = Scene()
    math = scene.server("math", "add")
    one, other = call("math__add", "c1"), call("math__add", "c2")
    (first,) = scene.asks("the first", one)
    scene.asks("the second", other)
    frame = scene.runs(math, "add", "3")
    assert scene.sent() == {}
    scene.goes_on("the first", [one], [(one, "3")])
    scene.goes_on("the second", [other], [(other, "Error: the user said no")])
    assert scene.sent() == {first: [frame]}


@pytest.mark.parametrize("name", ["{}__now", "mcp__{}__now", "{}.now", "{}-now", "mcp_{}_now", "{}/now"])
def test_of_two_servers_with_a_tool_of_one_name_the_one_that_is_named_is_called(name: str) -> None:
    scene = Scene()
    time, clock = scene.server("time", "now"), scene.server("clock", "now")
    first, second = scene.asks("what time?", call(name.format("time"), "c1"), call(name.format("clock"), "c2"))
    frames = [scene.runs(clock, "now", "noon"), scene.runs(time, "now", "noon")]
    assert scene.sent() == {first: [frames[1]], second: [frames[0]]}


def test_a_name_without_a_server_that_two_servers_have_is_doubtful_until_the_results_differ() -> None:
    scene = Scene()
    time, clock = scene.server("time", "now"), scene.server("clock", "now")
    calls = [call("now", "c1"), call("now", "c2")]
    first, second = scene.asks("what time?", *calls)
    frames = [scene.runs(clock, "now", "noon"), scene.runs(time, "now", "midnight")]
    assert scene.sent() == {}
    scene.goes_on("what time?", calls, [(calls[0], "midnight"), (calls[1], "noon")])
    assert scene.sent() == {first: [frames[1]], second: [frames[0]]}


def steps(scene: Scene, server: str, tap: ServerTap, *orders: str, at_once: bool = True) -> list[list[Asked]]:
    """A conversation whose answers ask for several calls; gives these.

    Each answer is written as the places of its calls in the order in which they are sent: `210`. `==` are two that are alike.
    """
    entries: list[User | Answer | Results] = [User(f"with {server}")]
    asked: list[list[Asked]] = []
    for step, order in enumerate(orders):
        are_alike = "=" in order
        sending = range(len(order)) if are_alike else map(int, order)
        arguments = [SUM if are_alike else {"step": step, "number": number} for number in range(len(order))]
        calls = [Call(f"{server}{step}.{number}", f"{server}__add", each) for number, each in enumerate(arguments)]
        asked.append(scene.again(entries, *calls))
        waiting: list[int] = []
        for number in sending:
            scene.world.now += MS
            waiting.append(tap.call("add", arguments[number])[0])
            if not at_once:
                scene.world.now += 50 * MS
                tap.result(waiting.pop(), "done")
        for identity in waiting:
            scene.world.now += MS
            tap.result(identity, "done")
        entries += [Answer("", calls), Results([(each, "done") for each in calls])]
    scene.again(entries)
    return asked


IN_ORDER = ("012",) * 4
"""What a host that does not care for the order sends once in more than a thousand times."""


@pytest.mark.parametrize(
    ("shown", "is_joined"),
    [
        ((), False),
        (IN_ORDER[1:], False),
        (IN_ORDER, True),
        ((*IN_ORDER, "102"), False),
        (("210",) * 4, False),
    ],
)
def test_of_alike_calls_the_order_tells_which_is_which_only_where_a_host_has_shown_that_it_keeps_it(
    shown: Sequence[str], *, is_joined: bool
) -> None:
    scene = Scene()
    *_, twins = steps(scene, "math", scene.server("math", "add"), *shown, "==")
    assert [call in scene.sent() for call in twins] == [is_joined] * 2


@pytest.mark.parametrize(("at_once", "is_joined"), [(True, False), (False, True)])
def test_who_sends_one_call_after_the_other_has_not_shown_in_which_order_it_sends_them_at_once(
    *, at_once: bool, is_joined: bool
) -> None:
    scene = Scene()
    math = scene.server("math", "add")
    steps(scene, "math", math, *IN_ORDER, at_once=False)
    ((first, second),) = steps(scene, "math", math, "==", at_once=at_once)
    assert [first in scene.sent(), second in scene.sent()] == [is_joined] * 2


def test_what_one_host_has_shown_tells_nothing_of_another_whose_connection_is_its_own() -> None:
    scene = Scene()
    steps(scene, "math", scene.server("math", "add"), *IN_ORDER)
    (twins,) = steps(scene, "jobs", scene.server("jobs", "add"), "==")
    assert not scene.sent().keys() & {*twins}


@pytest.mark.parametrize("is_timed", [True, False])
def test_alike_calls_of_one_answer_are_as_doubtful_where_no_time_is_told_as_where_it_is(*, is_timed: bool) -> None:
    scene = Scene()
    steps(scene, "math", scene.server("math", "add"), "==")
    assert not [each for each in found_in(scene.world.story(is_timed=is_timed)) if each[0] == "sent"]


def test_an_order_that_is_shown_tells_nothing_where_results_are_told_in_another() -> None:
    scene = Scene()
    math = scene.server("math", "add")
    steps(scene, "math", math, *IN_ORDER)
    calls = [call("math__add", "c1"), call("math__add", "c2")]
    twins = scene.asks("twice", *calls)
    scene.runs(math, "add", "3")
    scene.runs(math, "add", "3")
    scene.goes_on("twice", calls, [(calls[1], "3"), (calls[0], "3")])
    assert not scene.sent().keys() & {*twins}
    scene.goes_on("twice", calls, [(calls[0], "3"), (calls[1], "3")])
    assert not scene.sent().keys() & {*twins}, "the first request that tells them counts"


def test_a_request_that_was_made_before_and_fits_two_answers_without_ids_tells_of_neither() -> None:
    scene = Scene()
    json, user = form("json", ["math__add"]), User("what is it?")
    asks = Answer("", [call("math__add", "")])
    denied = [user, asks, Results([(asks.calls[0], "The user denied this operation.")])]

    def exchange(entries: Sequence[User | Answer | Results], answer: Answer) -> str:
        scene.world.now += 100 * MS
        identity = scene.model.ask(json, entries)
        list(scene.model.answer(json, identity, answer))
        return identity

    first = exchange([user], asks)
    told = exchange(denied, Answer("It is none."))
    exchange([*denied, Answer("It is none."), User("once more")], asks)
    exchange(denied, Answer("Again none."))  # as of a host that has forgotten what was between
    joined = {each.asked.exchange: [place.exchange for place in each.told] for each in scene.world.story().joined()}
    assert joined == {first: [told], "3": []}


def test_an_answer_that_the_host_dropped_gets_no_frame() -> None:
    scene = Scene()
    math = scene.server("math", "add")
    dropped, taken = call("math__add", "c1"), call("math__add", "c2")
    scene.asks("once", dropped)
    (carried,) = scene.asks("once", taken)
    frame = scene.runs(math, "add", "3")
    assert scene.sent() == {}
    scene.goes_on("once", [taken], [(taken, "3")])
    assert scene.sent() == {carried: [frame]}


def test_a_frame_that_no_answer_asked_for_is_joined_to_nothing() -> None:
    scene = Scene()
    math = scene.server("math", "add", "multiply")
    scene.runs(math, "add", "3")
    scene.asks("sum", call("math__add"))
    scene.runs(math, "multiply", "2")
    assert scene.sent() == {}


@pytest.mark.parametrize(
    ("agent", "client", "words", "turn"),
    [
        ("", "", "sum", None),
        ("", "", "use add for this", 1),
        ("Cline/3", "cline", "sum", 1),
        ("Cline/3", "cursor", "use add for this", None),
    ],
)
def test_a_frame_stands_in_the_turn_of_the_host_whose_it_is_or_that_offers_its_tool_else_in_none(
    agent: str, client: str, words: str, turn: int | None
) -> None:
    world = World()
    model = world.model()
    next(model.answer(OPENAI, model.ask(OPENAI, [User(words)], agent), Answer("", [call("math__add")])))
    world.now += MS
    tap = world.server("math")
    tap.start(["add"], client)
    tap.call("add", SUM)
    story = world.story()
    assert story.feed(world.records[-1][1]).draft.place.turn == turn


@pytest.mark.parametrize(
    ("arguments", "seconds", "later", "turn"),
    [
        ({"a": 9}, 1, False, 1),
        ({"a": 9}, 300, False, None),
        ({"a": 9}, 1, True, None),
        (SUM, 1, True, None),  # the one that was asked for has its answer
    ],
)
def test_a_frame_that_nobody_asked_for_stands_in_no_turn_that_is_over(
    arguments: Mapping[str, JSON], seconds: int, *, later: bool, turn: int | None
) -> None:
    scene = Scene()
    math = scene.server("math", "add")
    scene.asks("use add for this", call("math__add"))
    scene.runs(math, "add", "3")
    for text in ("hello", "and use add?") if later else ():
        scene.asks(text)
    scene.world.now += seconds * 1000 * MS
    math.call("add", arguments)
    placed = scene.world.story()
    records = [placed.feed(record) for _, record in scene.world.records]
    assert records[-1].draft.place.turn == turn


def test_a_tool_whose_name_ends_as_another_is_told_apart() -> None:
    scene = Scene()
    jobs = scene.server("jobs", "status", "get_status")
    (asked,) = scene.asks("how is it?", call("jobs__get_status"))
    scene.runs(jobs, "status", "done")
    frame = scene.runs(jobs, "get_status", "done")
    assert scene.sent() == {asked: [frame]}


def test_a_call_within_a_hubs_call_is_joined_to_its_frame() -> None:
    scene = Scene()
    math = scene.server("math", "add_numbers")
    (asked,) = scene.asks("sum", Call("c1", "mcp__hub__invoke", {"name": "mathAddNumbers", "params": dict(SUM)}))
    frame = scene.runs(math, "add_numbers", "3")
    assert scene.sent() == {asked: [frame]}


def test_a_call_is_sent_again_by_a_host_whose_server_died() -> None:
    scene = Scene()
    before = scene.server("math", "add")
    (asked,) = scene.asks("sum", call("math__add"))
    first = scene.runs(before, "add", None)
    second = scene.runs(scene.server("math", "add"), "add", "3")
    assert scene.sent() == {asked: [first, second]}


def test_turns_and_steps_are_counted_as_a_person_would() -> None:
    scene = Scene()
    scene.server("math", "add")
    one = call("math__add")
    scene.asks("the first question", one)
    scene.goes_on("the first question", [one], [(one, "3")])
    scene.asks("another conversation")
    story = scene.world.story()
    assert [(said.turn, said.step, said.text) for said in story.exchanges] == [
        (1, 1, "the first question"),
        (1, 2, ""),
        (2, 1, "another conversation"),
    ]


def test_two_that_say_the_same_at_once_each_through_a_tap_of_its_own_have_turns_of_their_own() -> None:
    world, one = World(), call("math__add", "")
    models = [world.model(), world.model()]
    entries: list[User | Answer | Results] = [User("sum")]
    for answer in (Answer("", [one]), Answer("It is 3.", [])):
        exchanges = [model.ask(FORMS["ollama"], entries) for model in models]
        for model, exchange in zip(models, exchanges, strict=True):
            world.now += MS
            list(model.answer(FORMS["ollama"], exchange, answer))
        entries += [answer, Results([(one, "3")])] if answer.calls else []
        world.now += MS
    said = {(each.asking.key[0], each.turn, each.step) for each in world.story().exchanges}
    assert said == {(model.id, turn, step) for turn, model in enumerate(models, 1) for step in (1, 2)}


def test_a_question_to_a_host_that_drops_calls_from_its_history_is_the_new_one_alone() -> None:
    scene = Scene()
    scene.server("math", "add")
    one = call("math__add")
    hello: list[User | Answer | Results] = [User("hello"), Answer("Hello.", [])]
    scene.again(hello[:1], text="Hello.")
    scene.again([*hello, User("a sum")], one)
    scene.again([*hello, User("a sum"), Answer("", [one]), Results([(one, "3")])], text="It is 3.")
    scene.again([*hello, User("a sum"), Answer("It is 3.", []), User("another")])
    assert [said.text for said in scene.world.story().exchanges] == ["hello", "a sum", "", "another"]


def test_what_failed_is_tried_again_by_its_host_soon_and_by_a_person_after_other_turns() -> None:
    scene = Scene()

    def fails(text: str, *, later: int = 100 * MS) -> None:
        scene.world.now += later
        scene.model.refuse(scene.model.ask(OPENAI, [User(text)]))

    fails("one?")
    fails("two?")
    fails("one?", later=2_000 * MS)  # two conversations at a time
    fails("two?", later=60_000 * MS)  # in the last turn
    fails("one?", later=60_000 * MS)
    assert [said.turn for said in scene.world.story().exchanges] == [1, 2, 1, 2, 3]


def test_a_host_that_sends_the_models_id_along_leaves_no_doubt() -> None:
    scene = Scene()
    math = scene.server("math", "add")
    calls = [call("math__add", "c1"), call("math__add", "c2")]
    first, second = scene.asks("twice", *calls)
    frames = [(math.id, math.call("add", SUM, meta={"claudecode/toolUseId": each})[1]) for each in ("c2", "c1")]
    assert scene.sent() == {first: [frames[1]], second: [frames[0]]}
    links = [each.link for each in scene.world.story().links()]
    assert {link.known for link in links if link.relation == "sent"} == {"id"}


def test_a_call_that_was_given_up_keeps_its_frame_whatever_comes_after() -> None:
    scene = Scene()
    math = scene.server("math", "add")
    one = call("math__add")
    (asked,) = scene.asks("sum", one)
    identity, seq = math.call("add", SUM)
    math.frame("out", {"method": "notifications/cancelled", "params": {"requestId": identity}})
    scene.goes_on("sum", [one], [(one, "Request timed out")])
    scene.world.now += 100 * MS
    math.result(identity, "3")
    assert scene.sent() == {asked: [(math.id, seq)]}


def test_a_frame_without_an_answer_is_not_that_of_a_call_that_a_person_rejected() -> None:
    scene = Scene()
    math = scene.server("math", "add")
    one = call("math__add")
    scene.asks("sum", one)
    scene.runs(math, "add", None)
    scene.goes_on("sum", [one], [(one, "The user rejected this.")])
    assert scene.sent() == {}


def test_frames_of_two_hosts_on_one_tap_are_not_one_call_sent_again() -> None:
    scene = Scene()
    math = scene.server("math", "add")
    math.start(["add"], connection="c2")
    (asked,) = scene.asks("sum", call("math__add", "a"))
    first = scene.runs(math, "add", None)
    scene.world.now += 50 * MS
    math.call("add", SUM, "c2")
    assert scene.sent() == {}
    del asked, first


def test_a_result_of_many_megabytes_is_known_by_how_it_begins() -> None:
    scene = Scene()
    math = scene.server("math", "add")
    one, other = call("math__add", "c1"), call("math__add", "c2")
    first, second = scene.asks("both", one, other)
    texts = ["".join(f"{part} {number}\n" for number in range(500_000)) for part in ("left", "right")]
    frames = [scene.runs(math, "add", text) for text in texts]
    scene.goes_on("both", [one, other], [(one, texts[1][:9000]), (other, texts[0][:9000])])
    assert scene.sent() == {first: [frames[1]], second: [frames[0]]}
    assert all(len(text) > MOST for text in texts)


def test_a_task_is_answered_when_its_result_is_fetched() -> None:
    scene = Scene()
    math = scene.server("math", "add")
    (asked,) = scene.asks("sum", call("math__add"))
    identity, seq = math.call("add", SUM, task={"ttl": 1000})
    math.answer(identity, {"task": {"taskId": "t1", "status": "working"}})
    assert [joined.sent[0].answer for joined in scene.world.story().joined()] == [None]
    fetching, _ = math.ask("tasks/result", {"taskId": "t1"})
    last = math.result(fetching, "3")
    (joined,) = scene.world.story().joined()
    assert scene.sent() == {asked: [(math.id, seq)]}
    assert joined.sent[0].answer is not None
    assert joined.sent[0].answer.seq == last


def test_a_resource_that_a_model_reads_through_cline_is_joined_to_its_request() -> None:
    scene = Scene()
    docs = scene.server("docs", "search")
    cline = FORMS["cline"]
    reads = Answer("", [Call("", "access_mcp_resource", {"server_name": "docs", "uri": "docs://1"})])
    exchange = scene.model.ask(cline, [User("read")])
    list(scene.model.answer(cline, exchange, reads))
    identity, seq = docs.ask("resources/read", {"uri": "docs://1"})
    docs.answer(identity, {"contents": [{"uri": "docs://1", "text": "a page"}]})
    scene.world.now += 50 * MS
    second = scene.model.ask(cline, [User("read"), reads, Results([(reads.calls[0], "a page")])])
    asked = (scene.model.id, exchange, 0)
    assert found_in(scene.world.story()) == {
        ("sent", asked, (docs.id, seq)),
        ("told", asked, (scene.model.id, second)),
    }


@pytest.mark.parametrize(
    ("brought", "told", "is_joined"),
    [
        (("3", "4", None), ("4", "Request timed out", "3"), True),  # neither as they were sent nor as they came
        (("3", "4", None), ("3", "4", "Request timed out"), False),  # as they were sent
    ],
)
def test_alike_calls_whose_results_have_no_ids_are_told_apart_where_no_order_but_theirs_fits(
    brought: Sequence[str | None], told: Sequence[str], *, is_joined: bool
) -> None:
    world, ollama = World(), FORMS["ollama"]
    model, math = world.model(), world.server("math")
    math.start(["add"])
    asks = Answer("", [Call("", "math__add", SUM)] * 3)
    exchange = model.ask(ollama, [User("sum")])
    list(model.answer(ollama, exchange, asks))
    frames: list[tuple[str, object]] = []
    for text in brought:
        world.now += 50 * MS
        identity, seq = math.call("add", SUM)
        frames.append((math.id, seq))
        world.now += 50 * MS
        if text is None:
            math.frame("out", {"method": "notifications/cancelled", "params": {"requestId": identity}})
        else:
            math.result(identity, text)
    world.now += 50 * MS
    second = model.ask(ollama, [User("sum"), asks, Results(list(zip(asks.calls, told, strict=True)))])
    calls = [(model.id, exchange, number) for number in range(3)]
    wanted: set[tuple[str, Asked, tuple[str, object]]] = {("told", call, (model.id, second)) for call in calls}
    wanted |= {("sent", call, frames[place]) for call, place in zip(calls, (1, 2, 0), strict=True)}
    assert found_in(world.story()) == (wanted if is_joined else set())


def test_results_without_ids_of_calls_that_no_tap_saw_are_joined_to_none_by_their_order_alone() -> None:
    world, ollama = World(), FORMS["ollama"]
    model = world.model()
    asks = Answer("", [Call("", "web__search", {"q": word}) for word in ("one", "two")])
    list(model.answer(ollama, model.ask(ollama, [User("search")]), asks))
    world.now += 50 * MS
    model.ask(
        ollama, [User("search"), asks, Results([(call, text) for call, text in zip(asks.calls, "ab", strict=True)])]
    )
    assert found_in(world.story()) == set()
