"""Which frame carries which call, and how that is known: ids, texts, the only pair left, and by order."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest

from tests.infer.habits import TOOLS
from tests.infer.scene import Scene, call
from tui_host.capture.link import Known
from tui_host.infer.call_values import READING, result_texts
from tui_host.infer.call_values import Answer as Answered
from tui_host.infer.call_values import Call as Called
from tui_host.infer.matching.matcher import match
from tui_host.infer.matching.reports import repeats
from tui_host.infer.matching.tool_names import meant, tools_named

LONG = "\n".join(f"line {number} of what it says" for number in range(200))
Frames = list[tuple[Known, list[tuple[str, int]]]]


def frames_of(scene: Scene, choices: Mapping[tuple[str, str, int], bool] | None = None) -> Frames:
    """How the frames of each call are known, and which they are."""
    story = scene.world.story()
    joined = match(list(story.conversations.calls()), story.frames, choices)
    return [(found.known, [frame.key for frame in found.sent]) for found in joined]


@pytest.mark.parametrize(
    ("texts", "degree"),
    [(("3", "3"), "maybe"), (("the first of two long sums is 3", "and 4 is what the second one gives"), "value")],
)
def test_equal_calls_at_once_are_certain_by_long_texts_and_else_joined_in_order(
    texts: Sequence[str], degree: Known
) -> None:
    scene = Scene()
    math, calls = scene.server("math", "add"), [call("math__add", name) for name in ("c1", "c2")]
    scene.asks("twice", *calls)
    frames = [scene.runs(math, "add", text) for text in texts]
    scene.goes_on("twice", calls, list(zip(calls, texts, strict=True)))
    assert frames_of(scene) == [(degree, [frame]) for frame in frames]


def test_a_frame_that_no_call_asked_for_stays_open() -> None:
    scene = Scene()
    math, one = scene.server("math", "add", "multiply"), call("math__multiply")
    scene.asks("a product", one)
    scene.runs(math, "add", "3")
    carried = scene.runs(math, "multiply", "2")
    scene.goes_on("a product", [one], [(one, "2")])
    (joined,) = scene.world.story().joined()
    assert (joined.known, [frame.key for frame in joined.sent], joined.rivals) == ("value", [carried], ())


def test_a_persons_choice_beats_all() -> None:
    scene = Scene()
    math, one = scene.server("math", "add"), call("math__add")
    scene.asks("sum", one)
    carried, other = scene.runs(math, "add", "3"), scene.runs(math, "add", "4")
    scene.goes_on("sum", [one], [(one, "3")])
    (joined,) = scene.world.story().joined()
    assert frames_of(scene) == [("value", [carried])]
    assert frames_of(scene, {(joined.call.key, *other): True}) == [("hand", [other])]
    assert frames_of(scene, {(joined.call.key, *carried): False}) == [("maybe", [other])]
    assert frames_of(scene, {(joined.call.key, *carried): False, (joined.call.key, *other): False}) == [("value", [])]


KNOWN = [(server, tool) for server, tools in TOOLS.items() for tool in tools]


def test_a_name_that_no_tool_has_stands_for_none_but_for_a_server_of_another_name_in_the_tap() -> None:
    for name in ("web__fetch", "get", "jobs__restart", "x" * 70, "mcp__jobs__get_status_of_all", ""):
        assert tools_named(name, KNOWN) == frozenset()
    tools, name = [("everything", "add")], "mcp__calc__add"
    assert tools_named(name, tools, (name,)) == set(tools)  # if the request offers that name and no other
    assert tools_named(name, tools) == tools_named(name, tools, (name, "mcp__everything__add")) == frozenset()


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("docs__access_mcp_resource", '{"uri": "a:b"}'),
        ("ReadMcpResourceTool", '{"server": "docs", "uri": "a:b"}'),
        ("tui-host__invoke", f'{{"name": "docs__{READING}", "params": {{"uri": "a:b"}}}}'),
    ],
)
def test_a_tool_that_reads_resources_and_a_hub_mean_what_their_arguments_say(name: str, arguments: str) -> None:
    bare = Called(key="1", capture="c", exchange="1", number=0, wire_id="", name=name, arguments="", at_ns=0, spans=())
    assert meant(replace(bare, arguments=arguments)) == (f"docs__{READING}", '{"uri":"a:b"}')
    assert tools_named(f"docs__{READING}", [*KNOWN, ("docs", READING), ("math", READING)]) == {("docs", READING)}


@pytest.mark.parametrize(
    ("reported", "text", "wanted"),
    [
        ("3", "3", True),
        ('{"result": "3"}', "3", True),
        ('{"name": "add", "content": "{\\"content\\": [{\\"type\\": \\"text\\", \\"text\\": \\"3\\"}]}"}', "3", True),
        ('{"b": 2, "a": 1.0}', '{"a":1,"b":2}', True),
        ("<output>\n3\n</output>", "3", True),
        ('<output>[{"text": "it is noon, 12 o\\u2019clock sharp"}]</output>', "it is noon, 12 o’clock sharp", True),
        ("13", "3", False),
        ("3.5", "3", False),
        (LONG[:500] + "\n[truncated]", LONG, True),
        ("[…]" + LONG[-500:], LONG, None),
        ("It lists many lines.", LONG, None),
        ("access denied", "access denied", True),
        ("Done.", "", None),
    ],
)
def test_an_answer_is_recognised_in_what_is_reported(reported: str, text: str, wanted: bool | None) -> None:  # noqa: FBT001 - a row's
    texts = result_texts({"content": [{"type": "text", "text": text}]})
    assert repeats(reported, Answered(seq=1, texts=texts)) is wanted
