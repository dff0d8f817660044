"""Single things that taps see and that must not be joined wrongly, or must be joined although they look odd."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tests.infer.forms import FORMS, Answer, Call, Results, User, form
from tests.infer.scene import SUM, Scene, call
from tests.infer.world import MS, found_in
from tui_host.infer.tapped_frames import MOST


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


def test_an_empty_word_that_stands_with_a_frame_names_no_call_without_an_id() -> None:
    scene, spoken, one = Scene(), FORMS["ollama"], call("math__add", "")
    math = scene.server("math", "add")
    scene.world.run(scene.model.answer(spoken, scene.model.ask(spoken, [User("sum")]), Answer("", [one])))
    scene.world.now += MS
    math.result(math.call("add", SUM, meta={"progressToken": ""})[0], "3")
    known = [each.link.known for each in scene.world.story().links() if each.link.relation in {"sent", "answered"}]
    assert known == ["value", "value"]


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


def test_a_host_that_sends_the_models_id_along_leaves_no_doubt() -> None:
    scene = Scene()
    math = scene.server("math", "add")
    calls = [call("math__add", "c1"), call("math__add", "c2")]
    first, second = scene.asks("twice", *calls)
    frames = [(math.id, math.call("add", SUM, meta={"claudecode/toolUseId": each})[1]) for each in ("c2", "c1")]
    assert scene.sent() == {first: [frames[1]], second: [frames[0]]}
    links = [each.link for each in scene.world.story().links()]
    assert {link.known for link in links if link.relation == "sent"} == {"id"}


def test_a_models_id_with_the_calls_arguments_names_it_whatever_the_host_calls_the_tool() -> None:
    scene = Scene()
    math = scene.server("math", "add")
    (asked,) = scene.asks("sum", call("plus", "c1"))
    frames = [math.call("add", given, meta={"claudecode/toolUseId": "c1"})[1] for given in ({"a": 9}, SUM)]
    assert scene.sent() == {asked: [(math.id, frames[1])]}


@pytest.mark.parametrize("name", ["mcp__lab______", "mcp_lab_____", "mcp__lab__查询天气", "lab__查询天气"])
def test_a_tool_whose_letters_are_not_ascii_is_called_by_what_hosts_make_of_its_name(name: str) -> None:
    scene = Scene()
    lab = scene.server("lab", "查询天气", "删除")
    (asked,) = scene.asks("天气", Call("c1", name, dict(SUM)))
    scene.runs(lab, "删除", "晴，二十五度")
    frame = scene.runs(lab, "查询天气", "晴，二十五度")
    assert scene.sent() == {asked: [frame]}


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
