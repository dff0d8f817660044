"""What requests to models say in all dialects and words: whose they are, which conversation they continue, calls and results."""

import itertools
import json
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import pytest
from typing_extensions import override

from tests.infer.forms import FORMS, Spoken
from tests.infer.scene import OPENAI, Scene, call, chat_of
from tests.infer.world import MS, ModelTap, World, found_in
from tests.kit.bodies import Answer, Call, Entry, User, dumped
from tui_host.capture.record import Head, Record
from tui_host.capture.redact.redaction import Redactor
from tui_host.chat.conversation import AnswerItem, CallItem, Conversation, NoteItem, UserItem
from tui_host.errors import JSON
from tui_host.infer.conversations.host_names import host_asking, host_named, model_asked
from tui_host.infer.conversations.request_messages import RequestReader, results_of
from tui_host.infer.story import Story
from tui_host.infer.story_chat import StoryChat
from tui_host.infer.tap_facts import TapFacts

BROWSER = "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/537.36 (KHTML, like Gecko)"
BILLED = "x-anthropic-billing-header: a\n\nYou are Claude Code, Anthropic's official CLI."


@pytest.mark.parametrize(
    ("agent", "system", "named"),
    [
        ("OpenAI/JS 4.83.0", "You are Cline, a highly skilled software engineer", "Cline"),
        (f"{BROWSER} CherryStudio/1.6.2 Chrome/138 Electron/37", "", "Cherry Studio"),
        ("litellm/1.80", BILLED, "Claude Code"),
        ("agent/1", "Review this:\nYou are Claude Code, Anthropic's official CLI for Claude.", "agent"),
        ("GeminiCLI-tui/0.61.0/gemini-3 (linux; x64; terminal)", "", "Gemini CLI"),
        ("codex_exec/0.169.0 (Debian 12.0.0; x86_64) xterm (codex_exec; 0.169.0)", "", "Codex"),
        ("ls/JS 5.23.2", "You are an agent in the Continue CLI. Given", "Continue"),
        ("ai-sdk/openai-compatible/3.0.37 ai-sdk/provider-utils/5.0.30", "", "the AI SDK"),
        ("Python/3.12 aiohttp/3.14.5", 'Be kind.\nMCP server "math" instructions:\nFour operations.', "Open WebUI"),
        ("OpenAI/JS 4.83.0", "", "the OpenAI SDK for JavaScript"),
        (f"{BROWSER} My-App/3.1 Chrome/122.0.0.0 Electron/29.4.0 Safari/537.36", "", "My-App"),
        (f"{BROWSER} Chrome/126.0.0.0 Safari/537.36 Edg/126.0.0.0", "", "a browser"),
        ("", "", ""),
    ],
)
def test_a_host_is_named_by_what_it_sends_to_its_model(agent: str, system: str, named: str) -> None:
    assert host_asking([("User-Agent", agent)], system) == (named, agent, "")


def test_a_host_is_named_by_its_client_and_a_model_in_the_body_or_in_the_path() -> None:
    clients = ("claude-code", "Visual Studio Code - Insiders", "mcp", "somebody's own")
    named = ["Claude Code", "VS Code Copilot", "the MCP SDK for Python", "somebody's own"]
    assert list(map(host_named, clients)) == named
    assert model_asked("https://x/v1/chat/completions", b'{"model":"deepseek-chat"}') == "deepseek-chat"
    assert model_asked("https://x/v1beta/models/gemini-3:streamGenerateContent?alt=sse", b"{}") == "gemini-3"
    assert model_asked("https://x/v1/chat/completions", b"not JSON") == ""


# Conversations.


TOOL: JSON = {"type": "function", "function": {"name": "math__add", "parameters": {"type": "object"}}}
CALLED = Answer("", [call("math__add")])


class Sent(NamedTuple):
    """A request: what was said in turns by the person and the model; its answer, None for a refusal, "…" for one still to come."""

    said: Sequence[str]
    answer: Answer | str | None = Answer("yes")
    tools: bool = True
    result: str = ""

    def pass_through(self, model: ModelTap) -> None:
        roles, exchange = ("user", "assistant"), model.exchange()
        messages: list[JSON] = [{"role": roles[n % 2], "content": text} for n, text in enumerate(self.said)]
        messages += [{"role": "tool", "tool_call_id": "c", "content": self.result}] if self.result else []
        offered: dict[str, JSON] = {"tools": [TOOL]} if self.tools else {}
        draft = Record(wire="llm", kind="request", peer="example", direction="out", exchange=exchange)
        body = dumped({"model": "x", "messages": messages, **offered})
        model.keep(replace(draft, head=Head(method="POST", url=OPENAI.url), data=body))
        if self.answer is None:
            model.refuse(exchange)
        elif isinstance(self.answer, Answer):
            list(model.answer(OPENAI, exchange, self.answer))


ONE = Sent(["one"])
TITLE = Sent(["<session>\none\n</session>\nWrite a title."], tools=False)
SHORT = ["a summary", "yes", "two"]


@pytest.mark.parametrize(
    ("requests", "places"),
    [
        ([ONE, Sent(["one", "yes", "two"])], [(1, 1, None), (2, 1, 0)]),
        ([Sent(["one"], None), Sent(["one"], None), ONE, Sent(["two"])], [(1, 1, None), (1, 1, 0), (1, 1, 1), (2, 1, None)]),
        ([ONE, ONE], [(1, 1, None), (2, 1, None)]),
        ([ONE, Sent(["other", "yes", "two"])], [(1, 1, None), (2, 1, None)]),
        ([ONE, Sent(SHORT), Sent([*SHORT, "yes", "three"])], [(1, 1, None), (2, 1, None), (3, 1, 1)]),
        ([TITLE, ONE, Sent(["two"])], [(1, 1, None), (1, 1, None), (2, 1, None)]),
        ([ONE, TITLE], [(1, 1, None), (1, 1, None)]),
        ([Sent(["one"], "…"), Sent(["is this bad?"], tools=False)], [(1, 1, None), (1, 1, None)]),
        ([Sent(["one"], CALLED), Sent(["sum up a page"], tools=False)], [(1, 1, None), (1, 1, None)]),
        ([ONE, Sent(["two"], tools=False)], [(1, 1, None), (2, 1, None)]),
    ],
    ids=[
        "goes on", "again and again", "asked once more", "another answer", "made shorter", "a title first", "a title behind", "beside a running answer",
        "beside running calls", "without tools later",
    ],
)  # fmt: skip
def test_a_request_continues_the_one_whose_messages_it_begins_with(
    requests: Sequence[Sent], places: Sequence[tuple[int, int, int | None]]
) -> None:
    """Turn, step, and the number of the request before."""
    world = World()
    model = world.model()
    for sent in requests:
        world.now += 100 * MS
        sent.pass_through(model)
    exchanges = list(world.story().conversations.exchanges.values())
    keys = [exchange.key for exchange in exchanges]
    before = [None if exchange.previous is None else keys.index(exchange.previous) for exchange in exchanges]
    assert [(exchange.turn, exchange.step, before[n]) for n, exchange in enumerate(exchanges)] == places


SECRET = "wonderful-" * 4
REMINDER = "<system-reminder>\nToday is Sunday.\n</system-reminder>"
ASKS, REPEATS = Sent(["What is 6 × 5?"]), Sent(["What is 6 × 5?", "I ask."], result="30")


@pytest.mark.parametrize(
    ("asked", "question"),
    [
        ([ASKS, Sent(["And then?"])], "What is 6 × 5?"),
        ([Sent(["hello"], tools=False), TITLE], "hello"),
        ([TITLE, ASKS], "What is 6 × 5?"),
        ([Sent([f"{REMINDER}\nWhat is 6 × 5?"])], "What is 6 × 5?"),
        ([REPEATS], "What is 6 × 5?"),
        ([Sent([REMINDER]), ASKS], "What is 6 × 5?"),
        ([], ""),
        ([Sent([f"{'x' * 40} {SECRET}, is it good?"])], f"{'x' * 40} ⟨secret:KEY⟩, is i…"),
    ],
)
def test_a_story_is_called_by_what_a_person_asked_first_with_tools(asked: Sequence[Sent], question: str) -> None:
    world, facts = World(), TapFacts(redact=Redactor([("KEY", SECRET)]).text)
    model = world.model()
    for sent in asked:
        sent.pass_through(model)
    for _, record in world.records:
        facts.feed(record)
    assert facts.question == question
    if asked == [REPEATS]:  # the question stands before what its own request repeats
        assert [type(item) for item in chat_of(world.story())] == [NoteItem, UserItem, AnswerItem, AnswerItem]


# Calls.


def test_a_result_that_is_reported_differently_does_not_forbid_a_link() -> None:
    scene, one, words = Scene(), call("math__add"), "add reported an error: invalid structuredContent"
    math = scene.server("math", "add")
    scene.asks("a sum", one)
    scene.runs(math, "add", "30")
    scene.goes_on("a sum", [one], [(one, words)])
    story = scene.world.story()
    (joined,) = story.joined()
    assert ([frame.tool for frame in joined.sent], joined.is_reported_differently) == (["add"], True)
    told = [found.link.words for found in story.links() if found.link.relation == "told"]
    assert told == [f"reported differently: {words}"]
    (shown,) = [item.words for item in chat_of(story) if isinstance(item, CallItem)]
    assert shown == "approved by its host, not here · maybe · reported differently"


ADDED: dict[str, JSON] = {"a": 1, "b": 2}
CHATBOT = 'Choose a tool and answer {"tool": "name", "arguments": {}}.\nTool: math__add'
WRITTEN = '{"tool": "math__add", "arguments": {"a": 1, "b": 2}}'
RENDERED = f"Calling tools:\n[{{'id': 'call_1', 'type': 'function', 'function': {{'name': 'math__add', 'arguments': {ADDED}}}}}]"


class Rewritten(Spoken):
    """A host whose requests are these messages."""

    messages: Sequence[tuple[str, str]] = ()

    @override
    def request(self, entries: Sequence[Entry], system: str = "") -> bytes:
        messages: list[JSON] = [{"role": role, "content": text} for role, text in self.messages]
        return dumped({"model": "gpt-x", "stream": True, "messages": messages})


@pytest.mark.parametrize(
    ("system", "answer", "repeated", "result"),
    [
        (CHATBOT, Answer(WRITTEN), WRITTEN, ("system", "Tool execution result: 3")),
        ("You call.", Answer("I add.", [Call("call_1", "math__add", ADDED)]), f"I add.\n{RENDERED}", ("user", "Observation:\n3")),
    ],
    ids=["result of the system's", "history anew"],
)  # fmt: skip
def test_a_turn_of_a_history_that_its_host_rewrites_stays_one_and_its_result_is_told(
    system: str, answer: Answer, repeated: str, result: tuple[str, str]
) -> None:
    scene, form = Scene(), Rewritten()
    model, math = scene.model, scene.server("math", "add")
    form.messages = [("system", system), ("user", "a sum")]
    exchange = model.ask(form, [])
    scene.world.run(model.answer(form, exchange, answer))
    frame = scene.runs(math, "add", "3")
    scene.world.now += 10 * MS
    form.messages = [*form.messages, ("assistant", repeated), result]
    last = model.ask(form, [])
    story, asked = scene.world.story(), (model.id, exchange, 0)
    assert {each.turn for each in story.conversations.exchanges.values()} == {1}
    assert found_in(story) == {("sent", asked, frame), ("told", asked, (model.id, last))}


USE = '<tool_use>\n  <name>mcp__box__get</name>\n  <arguments>{"k": 1}</arguments>\n</tool_use>'
CLINE = (
    "<use_mcp_tool>\n<server_name>box</server_name>\n<tool_name>get</tool_name>\n"
    '<arguments>\n{"城市": "北京"}\n</arguments>\n</use_mcp_tool>'
)
OWN_CHERRY = "Use tools:\n<tool_use>\n  <name>{tool_name}</name>\n</tool_use>"
OWN_CLINE = "Use tools:\n<use_mcp_tool>\n<server_name>box</server_name>"
BEFORE, BEHIND = "For example:\n```xml\n<!-- a call -->\n", "\n```\nShall I?"
FENCED = f"{BEFORE}{USE}{BEHIND}"


@pytest.mark.parametrize("is_live", [False, True])
@pytest.mark.parametrize(
    ("agent", "system", "text", "said"),
    [
        ("", OWN_CHERRY, f"一{USE}二\n{USE}三", ["一", "mcp__box__get", "二", "mcp__box__get", "三"]),
        ("", OWN_CHERRY, FENCED, [BEFORE.strip(), "mcp__box__get", BEHIND.strip()]),
        ("tui-host", OWN_CHERRY, FENCED, [FENCED]),
        ("", OWN_CHERRY, f"{USE}\n{USE}\n晴天。", ["mcp__box__get", "mcp__box__get", "晴天。"]),
        ("", OWN_CLINE, f"<thinking>hm</thinking>{CLINE}<thinking>so", ["", "box__get", "<thinking>so"]),
        ("", OWN_CLINE, f"<thinking>hm {CLINE} so</thinking>\nok", ["ok"]),
    ],
)
def test_a_call_is_one_wherever_other_hosts_run_it_and_the_words_around_it_are_told_in_their_place(
    agent: str, system: str, text: str, said: list[str], *, is_live: bool
) -> None:
    world, form, story, chat = World(), FORMS["openai"], Story(), Conversation()
    model, telling = world.model(), StoryChat(story, chat)
    list(model.answer(form, model.ask(form, [User("hello")], agent, system), Answer(text)))
    for _, record in world.records:
        story.feed(record)
        if is_live:
            telling.tell()
    telling.tell()
    found = [item for item in chat if isinstance(item, CallItem | AnswerItem)]
    assert [item.tool if isinstance(item, CallItem) else item.text.strip() for item in found] == said
    assert {item.state for item in found if isinstance(item, AnswerItem)} == {"done"}


# Results in plain text, and what else a protocol puts in.


RESULTS = {"math__add": 'say "11" é\n<task>', "docs__find": '{"found": ["12"]}'}
FRAMES = {name: f'<tool_response>\n{{"name": "{name}", "content": ' for name in RESULTS}
BLOCKS = [
    f"{FRAMES['math__add']}{json.dumps(RESULTS['math__add'], ensure_ascii=False)}}}\n</tool_response>",
    f"{FRAMES['docs__find']}{RESULTS['docs__find']}}}\n</tool_response>",
]


def put_in(protocol: str, messages: list[JSON]) -> list[str]:
    """The texts that were put into a request of these messages."""
    body, reader = dumped({"model": "m", "messages": messages}), RequestReader()
    found = list(reader.additions(protocol, body, reader.read(body)))
    assert all(end <= start for (_, end, _), (start, _, _) in itertools.pairwise(found)), "no byte is in two"
    return [str(json.loads(f'"{body[start:end].decode()}"')) for start, end, _ in found]


@pytest.mark.parametrize("role", ["user", "tool"])
@pytest.mark.parametrize("order", [1, -1])
def test_results_between_tags_are_those_that_they_name_in_whatever_message_they_stand(role: str, order: int) -> None:
    messages: list[JSON] = [{"role": role, "content": "\n".join(BLOCKS[::order])}]
    body = dumped({"messages": messages})
    (message,) = RequestReader().read(body).messages
    results = results_of(body, "hermes", message)
    assert [(result.name, result.text) for result in results] == list(RESULTS.items())[::order]
    frames = [piece for name in [*FRAMES][::order] for piece in (FRAMES[name], "}\n</tool_response>")]
    assert put_in("hermes", messages) == frames
