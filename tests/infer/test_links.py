"""Which frame carries which call: equal calls, names, shared servers, and what nobody can tell."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

import pytest

from tests.infer.forms import FORMS, form
from tests.infer.habits import NAMINGS, TOOLS
from tests.infer.scene import Scene, call, chat_of
from tests.infer.world import MS, ModelTap, ServerTap, World, found_in
from tests.kit.bodies import Answer, Call, Entry, Results, User
from tui_host.chat.conversation import AnswerItem, CallItem, UserItem
from tui_host.errors import JSON
from tui_host.infer.call_values import READING, lean, result_texts
from tui_host.infer.call_values import Answer as Answered
from tui_host.infer.call_values import Call as Called
from tui_host.infer.same_result import BEGINNING, END, HINT, OTHER, SAME, WHOLE, tells
from tui_host.infer.tool_aliases import meant, tools_named

OLLAMA = FORMS["ollama"]
"""Here no ids tell what belongs to which."""
ADD = Call("", "math__add", {"a": 1, "b": 2})
ASKS = Answer("", [ADD])


class OneModel:
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
    scene = OneModel()
    for _ in range(2):
        scene.says(User("sum"))
    for text in ("3", "4"):
        scene.runs(text)
        scene.says(*told(text), answer=Answer("Done."))
    assert scene.found() == set()


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


def test_of_equal_calls_of_which_a_cache_may_have_answered_one_neither_has_the_frame() -> None:
    scene = Scene()
    math = scene.server("math", "add")
    first, second, third = (call("math__add", name) for name in ("c1", "c2", "c3"))
    entries: list[User | Answer | Results] = [User("watch it")]
    (asked,) = scene.again(entries, first)
    frame = scene.runs(math, "add", "pending")
    entries += [Answer("", [first]), Results([(first, "pending")])]
    scene.again(entries, second, third)
    scene.runs(math, "add", "pending")
    entries += [Answer("", [second, third]), Results([(second, "[nothing has changed]"), (third, "pending")])]
    scene.again(entries)
    assert scene.sent() == {asked: [frame]}


# Names of servers and tools.


SUM = {"a": 1, "b": 2}
ADDS, SUBTRACTS = "Adds two numbers.", "Subtracts the second from the first."


def served(world: World, name: str, tools: Mapping[str, str], listed: bool = True) -> tuple[str, int]:  # noqa: FBT001, FBT002 - a row's
    """A call at a tap before a server, answered; the frame."""
    tap = world.server(name)
    listing: list[JSON] = [{"name": tool, "description": words} for tool, words in tools.items()]
    tap.start(listing if listed else [])
    world.now += 50 * MS
    identity, seq = tap.call("add", SUM)
    tap.result(identity, "3")
    return tap.id, seq


def test_a_call_whose_server_is_not_known_is_shown_by_the_name_that_the_model_wrote() -> None:
    world, openai = World(), FORMS["openai"]
    model = world.model()
    calls = [Call("c1", "mcp__evhttp__add", SUM), Call("c2", "mcp__everything__add", {"a": 7})]
    list(model.answer(openai, model.ask(openai, [User("sum")]), Answer("", calls)))
    served(world, "everything", {"add": ADDS})
    shown = [(item.server, item.tool) for item in chat_of(world.story()) if isinstance(item, CallItem)]
    assert shown == [("", "mcp__evhttp__add"), ("everything", "add")]


KNOWN = [(server, tool) for server, tools in TOOLS.items() for tool in tools]
ALONE = 6
"""Of the ways in which hosts name tools, the one that leaves the server out."""
CUT = (12, 13)
"""Those that put a digest in place of the end of a long name: tools that begin alike stay possible."""


@pytest.mark.parametrize("number", range(len(NAMINGS)))
def test_a_name_stands_for_its_tool_however_a_host_joins_cleans_and_shortens_it(number: int) -> None:
    for server, tool in KNOWN:
        found = tools_named(NAMINGS[number](server, tool), KNOWN)
        assert (server, tool) in found
        says_no_server = number == ALONE or "0mcp0" in NAMINGS[number](server, tool)
        is_alone = len(found) == 1 or (says_no_server and {each for _, each in found} == {tool})
        assert is_alone or (number in CUT and all(owner == server for owner, _ in found))


WEATHER = [("lab", tool) for tool in ("查询天气", "列表", "删除它", "get_天气", "get", "fire🔥")] + [
    ("数据库", "查询"),
    ("数据库", "get"),
]


@pytest.mark.parametrize(
    ("name", "tool"),
    [
        ("查询天气", ("lab", "查询天气")),
        ("____", ("lab", "查询天气")),
        ("mcp__lab__查询天气", ("lab", "查询天气")),
        ("mcp__lab______", ("lab", "查询天气")),  # as Claude Code and Codex have it
        ("mcp_lab_____", ("lab", "查询天气")),  # as Gemini CLI has it
        ("lab_get___", ("lab", "get_天气")),  # as opencode has it
        ("mcp__lab__fire__", ("lab", "fire🔥")),  # as hosts in JavaScript have it
        ("mcp__lab__get", ("lab", "get")),
        ("数据库__查询", ("数据库", "查询")),
    ],
)
def test_a_name_stands_for_a_tool_whose_letters_are_not_ascii(name: str, tool: tuple[str, str]) -> None:
    assert tools_named(name, WEATHER) == {tool}


@pytest.mark.parametrize("name", ["web__fetch", "get", "jobs__restart", "x" * 70, "mcp__jobs__get_status_of_all", ""])
def test_a_name_that_no_tool_has_stands_for_none(name: str) -> None:
    assert tools_named(name, KNOWN) == frozenset()


@pytest.mark.parametrize(
    ("name", "arguments", "wanted"),
    [
        ("docs__access_mcp_resource", '{"uri": "a:b"}', ("docs__", '{"uri":"a:b"}')),
        ("access_mcp_resource", '{"server_name": "docs", "uri": "a:b"}', ("docs__", '{"uri":"a:b"}')),
        ("ReadMcpResourceTool", '{"server": "docs", "uri": "a:b"}', ("docs__", '{"uri":"a:b"}')),
    ],
)
def test_what_reads_a_resource_means_a_request_for_it(name: str, arguments: str, wanted: tuple[str, str]) -> None:
    asked = Called(
        key="1", capture="c", exchange="1", number=0, wire_id="", name=name, arguments=arguments, at_ns=0, spans=()
    )
    assert meant(asked) == (f"{wanted[0]}{READING}", wanted[1])
    assert tools_named(meant(asked)[0], [*KNOWN, ("docs", READING), ("math", READING)]) == {("docs", READING)}


NAMES = ("older cherry", "cherry", "hermes", "ollama", "gemini")
"""Forms in which no ids tell whose a result is."""
TOOL, ADDING = "weather__get_forecast", "math__add"
CITIES = [Call("", TOOL, {"city": city}) for city in ("Paris", "Tokyo")]
TWO = "doubtful which of the 2 results told below is its own"
ROOM = 77
"""Columns for these words on a screen of 80."""


def _world(name: str, calls: Sequence[Call], told: Sequence[tuple[Call, str]]) -> World:
    """A model's half alone, which goes on to an answer and a second question."""
    world, asked, said = World(), [User("weather?")], form(name, (TOOL, ADDING))
    model = world.model()
    entries: list[User | Answer | Results] = [*asked, Answer("", calls), Results(list(told))]
    for before, answer in ((asked, Answer("", calls)), (entries, Answer("Rain and sun."))):
        world.now += 100 * MS
        exchange = model.ask(said, before)
        world.run(model.answer(said, exchange, answer))
    world.now += 100 * MS
    model.ask(said, [*entries, Answer("Rain and sun."), User("sure?")])
    return world


@pytest.mark.parametrize("name", NAMES)
def test_of_the_same_tool_twice_each_result_is_told_once_and_the_calls_say_that_nobody_knows_whose_it_is(
    name: str,
) -> None:
    items = chat_of(_world(name, CITIES, list(zip(CITIES, ("rain", "sun"), strict=True))).story())
    calls = [item for item in items if isinstance(item, CallItem)]
    assert [(item.state, item.words, item.result) for item in calls[:2]] == [("asked", TWO, "")] * 2
    assert [(item.state, item.result, item.asked) for item in calls[2:]] == [("done", "rain", ""), ("done", "sun", "")]
    assert all(len(item.words) <= ROOM for item in calls)
    kinds = [type(item) for item in items if not isinstance(item, AnswerItem) or item.text.strip()]
    assert kinds == [UserItem, *[CallItem] * 4, AnswerItem, UserItem], "they stand where they were told"


# What tells a result.


LONG = "\n".join(f"line {number} of what it says" for number in range(200))


def answered(text: str, *, is_error: bool = False) -> Answered:
    """A server's answer of one text."""
    texts = result_texts({"content": [{"type": "text", "text": text}]})
    return Answered(seq=1, at_ns=0, texts=texts, is_error=is_error)


@pytest.mark.parametrize(
    ("told", "text", "wanted"),
    [
        ("3", "3", SAME),
        ("[]", "[]", WHOLE),
        ('{"name": "add", "content": "[]"}', "[]", WHOLE),
        ('{"result": "3"}', "3", SAME),
        ('{"name": "add", "content": "{\\"content\\": [{\\"type\\": \\"text\\", \\"text\\": \\"3\\"}]}"}', "3", SAME),
        ('{"b": 2, "a": 1.0}', '{"a":1,"b":2}', SAME),
        ("Result: 3", "3", WHOLE),
        ("<output>\n3\n</output>", "3", WHOLE),
        ('{"output": "Tool output:\\n3"}', "3", WHOLE),
        (
            '<output>[{"text": "it is noon, 12 o\\u2019clock sharp"}]</output>',
            "it is noon, 12 o’clock sharp",
            BEGINNING,
        ),
        ("13", "3", OTHER),
        ("3.5", "3", OTHER),
        (LONG[:500] + "\n[truncated]", LONG, BEGINNING),
        ("[…]" + LONG[-500:], LONG, END),
        ("It lists many lines.", LONG, None),
        ("The user denied this operation.", LONG, OTHER),
        ("The user rejected it (done by hand)", "done", OTHER),
        ("access denied", "access denied", SAME),
        ("(No response)", "", HINT),
        ("Done.", "", None),
    ],
)
def test_a_result_is_known_in_what_is_told(told: str, text: str, wanted: int | None) -> None:
    assert tells(told, answered(text).says) == wanted


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"a": 1.0}, {"a": 1}),
        ({"a": "5", "b": "true"}, {"a": 5, "b": True}),
        ({"a": 12345678901234567890}, {"a": 12345678901234567000}),
        ({"a": 1, "b": None}, {"a": 1}),
        ({"a": 1}, {"a": 1, "limit": 10}),
    ],
)
def test_arguments_may_be_sent_for_each_other_however_a_host_writes_them_anew(one: object, other: object) -> None:
    defaults = {"limit": "10"}
    assert lean(json.dumps(one), defaults) == lean(json.dumps(other), defaults)
    assert lean('{"a":"007"}', defaults) != lean('{"a":7}', defaults)
    assert lean('{"limit":5}', defaults) != lean("{}", defaults)


CALL = Call("", "math__add", {"a": 1, "b": 2})
SIZE = 100_000
REPEATED = {
    "blanks": " ",
    "blank lines": "\n",
    "empty rows": "|\n",
    "lists of tools that do not end": "<tools>{",
    "results that do not end": "<tool_response>",
    "longer ones": "<tool_use_result>\n<name>a</name><result>",
    "words of a host that do not end": "<system-reminder>",
}


@pytest.mark.parametrize(
    "name",
    ["cline", *(pytest.param(name, marks=pytest.mark.exhaustive) for name in ("openai", "older cherry", "hermes"))],
)
@pytest.mark.parametrize("repeated", REPEATED)
def test_a_long_question_and_a_long_result_are_told_in_no_time(name: str, repeated: str) -> None:
    text = f"x{REPEATED[repeated] * (SIZE // len(REPEATED[repeated]))}y"
    world, spoken = World(), form(name, ["math__add"])
    model, asked = world.model(), [User(text)]
    list(model.answer(spoken, model.ask(spoken, asked), Answer("", [CALL])))
    model.ask(spoken, [*asked, Answer("", [CALL]), Results([(CALL, text)]), Answer("Yes."), User(text)])
    items = chat_of(world.story())
    assert [item.text for item in items if isinstance(item, UserItem)] == [text, text]
    assert [len(item.result) >= len(text) for item in items if isinstance(item, CallItem)] == [True]
