"""Single things that taps see and that must not be joined wrongly, or must be joined although they look odd."""

from __future__ import annotations

import pytest

from tests.infer.scene import SUM, Scene, call
from tests.kit.bodies import Call


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


def test_a_call_within_a_hubs_call_is_joined_to_its_frame() -> None:
    scene = Scene()
    math = scene.server("math", "add_numbers")
    (asked,) = scene.asks("sum", Call("c1", "mcp__hub__invoke", {"name": "mathAddNumbers", "params": dict(SUM)}))
    frame = scene.runs(math, "add_numbers", "3")
    assert scene.sent() == {asked: [frame]}


def test_a_host_that_sends_the_models_id_along_leaves_no_doubt() -> None:
    scene = Scene()
    math = scene.server("math", "add")
    calls = [call("math__add", "c1"), call("math__add", "c2")]
    first, second = scene.asks("twice", *calls)
    frames = [(math.id, math.call("add", SUM, meta={"claudecode/toolUseId": each})[1]) for each in ("c2", "c1")]
    assert scene.sent() == {first: [frames[1]], second: [frames[0]]}
    links = [each.link for each in scene.world.story().links()]
    assert {link.known for link in links if link.relation == "sent"} == {"id"}
