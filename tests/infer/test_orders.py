"""What the order tells in which alike calls are sent and told: only what a host has shown that it keeps."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tests.infer.forms import FORMS, Answer, Call, Results, User
from tests.infer.scene import SUM, Scene, call
from tests.infer.world import MS, Asked, ModelTap, ServerTap, World, found_in

OLLAMA = FORMS["ollama"]
"""Here no ids tell what belongs to which."""


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


def test_what_is_sent_on_a_connection_that_began_later_may_have_been_sent_before_and_shows_no_order() -> None:
    scene = Scene()
    math = scene.server("math", "add")
    steps(scene, "math", math, *IN_ORDER)
    entries: list[User | Answer | Results] = [User("go on")]
    tap, asked = math, list[Asked]()
    for step, (numbers, order) in enumerate((((1,), "0"), ((2, 3), "10"), ((4, 4), "01"))):
        calls = [Call(f"c{step}.{place}", "math__add", {"n": number}) for place, number in enumerate(numbers)]
        asked = scene.again(entries, *calls)
        if step == 1:
            tap = scene.server("math", "add")  # the one before it died, maybe with a call
        for place in map(int, order):
            scene.world.now += MS
            tap.result(tap.call("add", calls[place].arguments)[0], "done")
        entries += [Answer("", calls), Results([(each, "done") for each in calls])]
    scene.again(entries)
    assert [twin in scene.sent() for twin in asked] == [True] * 2


def test_what_one_host_has_shown_tells_nothing_of_another_whose_connection_is_its_own() -> None:
    scene = Scene()
    steps(scene, "math", scene.server("math", "add"), *IN_ORDER)
    (twins,) = steps(scene, "jobs", scene.server("jobs", "add"), "==")
    assert not scene.sent().keys() & {*twins}


def test_what_was_shown_on_two_connections_is_of_one_host_where_a_conversation_has_calls_on_both() -> None:
    scene = Scene()
    math, jobs = scene.server("math", "add"), scene.server("jobs", "add")
    steps(scene, "math", math, *IN_ORDER[:2])
    steps(scene, "jobs", jobs, *IN_ORDER[:2])
    entries: list[User | Answer | Results] = [User("with both")]
    asked = list[Asked]()
    for server, tap, count in (("math", math, 1), ("jobs", jobs, 2)):
        calls = [Call(f"{server}.{number}", f"{server}__add", SUM) for number in range(count)]
        asked = scene.again(entries, *calls)
        for _ in calls:
            scene.runs(tap, "add", "done")
        entries += [Answer("", calls), Results([(each, "done") for each in calls])]
    scene.again(entries)
    assert [twin in scene.sent() for twin in asked] == [True] * 2


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


def asked_alike(count: int) -> tuple[World, ModelTap, ServerTap, Answer]:
    """A model that was asked, a server, and an answer of so many calls that are alike, without ids."""
    world = World()
    model, math = world.model(), world.server("math")
    math.start(["add"])
    asks = Answer("", [Call("", "math__add", SUM)] * count)
    list(model.answer(OLLAMA, model.ask(OLLAMA, [User("sum")]), asks))
    return world, model, math, asks


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
    world, model, math, asks = asked_alike(3)
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
    second = model.ask(OLLAMA, [User("sum"), asks, Results(list(zip(asks.calls, told, strict=True)))])
    calls = [(model.id, "1", number) for number in range(3)]
    wanted: set[tuple[str, Asked, tuple[str, object]]] = {("told", call, (model.id, second)) for call in calls}
    wanted |= {("sent", call, frames[place]) for call, place in zip(calls, (1, 2, 0), strict=True)}
    assert found_in(world.story()) == (wanted if is_joined else set())


@pytest.mark.parametrize(("twice", "is_joined"), [(False, True), (True, False)])
def test_the_only_frame_that_brought_what_one_of_alike_calls_is_told_is_not_of_another_that_was_told_something_before(
    *, twice: bool, is_joined: bool
) -> None:
    world, model, math, asks = asked_alike(3)
    other = Answer("", asks.calls[:2])
    second = model.ask(OLLAMA, [User("another sum")])
    list(model.answer(OLLAMA, second, other))
    texts = [f"the sum of them all is {number}" for number in (2, 0, 1, 3, 4)]
    sent, seqs = zip(*(math.call("add", SUM) for _ in texts), strict=True)
    for place in (0, 1, 3, 4):
        world.now += 50 * MS
        math.result(sent[place], texts[place])
    world.now += 50 * MS
    model.ask(OLLAMA, [User("another sum"), other, Results(list(zip(other.calls, texts[3:], strict=True)))])
    world.now += 50 * MS
    math.result(sent[2], texts[2])
    if twice:
        math.result(math.call("add", SUM)[0], texts[2])
    world.now += 50 * MS
    model.ask(OLLAMA, [User("sum"), asks, Results([(asks.calls[0], text) for text in sorted(texts[:3])])])
    found = {frame for kind, call, frame in found_in(world.story()) if kind == "sent" and call[1] == "1"}
    assert found == ({(math.id, seq) for seq in seqs[:3]} if is_joined else set())


def test_what_was_sent_is_told_where_no_other_place_than_that_of_a_denial_is_left_though_that_is_told_so_each_time() -> (
    None
):
    """Else it might be what its host knew before."""
    world = World()
    model, math = world.model(), world.server("math")
    math.start(["add"])
    calls = [Call("", "math__add", SUM), Call("", "math__add", {"a": 7})]
    told = [(calls[0], "The user denied this operation."), (calls[1], "3 in all")]  # as they came to an end
    entries: list[User | Answer | Results] = [User("sums")]
    for _ in range(3):
        list(model.answer(OLLAMA, model.ask(OLLAMA, entries), Answer("", calls)))
        world.now += 50 * MS
        math.result(math.call("add", SUM)[0], "3 in all")
        entries += [Answer("", calls), Results(told)]
        world.now += 50 * MS
    asked = [(model.id, exchange, 0) for exchange in "12"]
    words = {(call, model.id, where): "3 in all" for call, where in zip(asked, "23", strict=True)}
    wanted = {("told", call, (capture, where)) for call, capture, where in words}
    assert wanted <= found_in(world.story(), words)


def test_of_alike_calls_without_ids_none_is_known_by_its_place_where_a_frame_may_be_anothers_second_try() -> None:
    world, model, math, asks = asked_alike(2)
    for text in (None, "3"):
        world.now += 50 * MS
        identity, _ = math.call("add", SUM)
        world.now += 50 * MS
        if text is None:
            math.frame("out", {"method": "notifications/cancelled", "params": {"requestId": identity}})
        else:
            math.result(identity, text)
    told = ("3", "Same call as the one before: see its result.")
    model.ask(OLLAMA, [User("sum"), asks, Results(list(zip(asks.calls, told, strict=True)))])
    assert found_in(world.story()) == set()


def test_of_alike_calls_without_ids_none_is_known_by_its_place_where_one_was_given_up_nobody_knows_when() -> None:
    """They may be told as they came to an end: the second first, which its host did not wait for."""
    world, model, math, asks = asked_alike(2)
    world.now += 50 * MS
    sent = [math.call("add", SUM)[0] for _ in range(2)]
    world.now += 500 * MS
    math.result(sent[0], "3")
    world.now += 50 * MS
    told = ("Request timed out", "3")
    model.ask(OLLAMA, [User("sum"), asks, Results(list(zip(asks.calls, told, strict=True)))])
    world.now += 500 * MS
    math.result(sent[1], "4")
    assert found_in(world.story()) == set()


def test_a_frame_that_came_too_late_is_not_of_a_call_whose_result_may_stand_in_anothers_place() -> None:
    world, ollama = World(), FORMS["ollama"]
    model, math = world.model(), world.server("math")
    math.start(["add"])
    asks = Answer("", [Call("", "math__add", SUM), Call("", "math__add", {**SUM, "a": 20})])
    list(model.answer(ollama, model.ask(ollama, [User("sum")]), asks))
    world.now += 50 * MS
    identity, unheeded = math.call("add", {**SUM, "a": 20})
    math.result(identity, "22")  # which its host did not wait for
    late, _ = math.call("add", SUM)
    world.now += 500 * MS
    identity, again = math.call("add", SUM)
    math.result(identity, "3")
    world.now += 50 * MS
    told = ("Request timed out", "3")
    model.ask(ollama, [User("sum"), asks, Results(list(zip(asks.calls, told, strict=True)))])
    world.now += 500 * MS
    math.result(late, "3")
    sent = {(call, frame) for kind, call, frame in found_in(world.story()) if kind == "sent"}
    assert sent <= {((model.id, "1", 0), (math.id, again)), ((model.id, "1", 1), (math.id, unheeded))}


def twins_told_as_asked(*, off: int = 0, dies: bool = False) -> tuple[set[tuple[str, Asked, object]], World]:
    """Three alike calls without ids that are sent from the last to the first and answered from the second to the first; what is so."""
    world, ollama = World(), FORMS["ollama"]
    model, math = world.model(), world.server("math", off=off)
    math.start(["add"])
    asks = Answer("", [Call("", "math__add", SUM)] * 3)
    exchange = model.ask(ollama, [User("sum")])
    list(model.answer(ollama, exchange, asks))
    calls = [(model.id, exchange, number) for number in range(3)]
    texts = [f"the sum of them all is {number}" for number in range(3)]
    wanted, identities = set[tuple[str, Asked, object]](), dict[int, int]()
    for number in (2, 1, 0):
        world.now += MS
        identities[number], seq = math.call("add", SUM)
        wanted.add(("sent", calls[number], (math.id, seq)))
    world.now += 50 * MS
    if dies:  # with the second call, which is sent again and answered within so short a time that no clock tells when
        again = world.server("math", off=off)
        again.start(["add"])
        identity, seq = again.call("add", SUM)
        wanted.add(("sent", calls[1], (again.id, seq)))
        world.now += MS
        again.result(identity, texts[1])
    for number in (2, 0) if dies else (1, 2, 0):
        world.now += MS
        math.result(identities[number], texts[number])
    world.now += 50 * MS
    last = model.ask(ollama, [User("sum"), asks, Results(list(zip(asks.calls, texts, strict=True)))])
    return wanted | {("told", call, (model.id, last)) for call in calls}, world


def test_an_order_that_one_clock_alone_refutes_is_none_in_which_alike_calls_may_be_told() -> None:
    wanted, world = twins_told_as_asked(dies=True)
    assert found_in(world.story()) == wanted


def test_alike_calls_tell_how_far_a_clock_is_off_though_nobody_knows_yet_which_is_which() -> None:
    wanted, world = twins_told_as_asked(off=3_600_000 * MS)
    assert found_in(world.story()) == wanted


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
