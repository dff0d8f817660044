"""What bodies of other hosts say: models, hosts, calls and results in plain text, and what hosts put around them."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Sequence

import pytest

from tests.cases import first_values
from tests.infer.forms import FORMS
from tests.infer.scene import chat_of
from tests.infer.world import World
from tests.kit.bodies import Answer, Call, Entry, Results, User
from tests.llm.protocols.answers import PLAIN, SUM, TOOLS, speaking, text_of
from tui_host.chat.conversation import AnswerItem, CallItem, Conversation, Item
from tui_host.errors import JSON
from tui_host.infer.conversations.host_names import host_asking, host_named, model_asked
from tui_host.infer.conversations.prompted import reader_of
from tui_host.infer.conversations.request_messages import AdditionFinder, RequestReader
from tui_host.infer.story import Story
from tui_host.infer.story_chat import StoryChat
from tui_host.llm.dialects.table import dialect_at
from tui_host.llm.events import CallArguments, ModelEvent, TextDelta
from tui_host.llm.messages import Message, Text, ToolCall, ToolResult

BROWSER = "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/537.36 (KHTML, like Gecko)"


@pytest.mark.parametrize(
    ("agent", "system", "named"),
    [
        ("OpenAI/JS 4.83.0", "You are Cline, a highly skilled software engineer", "Cline"),
        ("Mozilla/5.0 (Macintosh) AppleWebKit/537.36 CherryStudio/1.6.2 Chrome/138 Electron/37", "", "Cherry Studio"),
        (
            "litellm/1.80",
            "x-anthropic-billing-header: a\n\nYou are Claude Code, Anthropic's official CLI.",
            "Claude Code",
        ),
        ("agent/1", "Review this:\nYou are Claude Code, Anthropic's official CLI for Claude.", "agent"),
        ("GeminiCLI-tui/0.61.0/gemini-3 (linux; x64; terminal)", "", "Gemini CLI"),
        ("codex_exec/0.169.0 (Debian 12.0.0; x86_64) xterm (codex_exec; 0.169.0)", "", "Codex"),
        ("ls/JS 5.23.2", "You are an agent in the Continue CLI. Given", "Continue"),
        ("ai-sdk/openai-compatible/3.0.37 ai-sdk/provider-utils/5.0.30", "", "the AI SDK"),
        ("Python/3.12 aiohttp/3.14.5", 'Be kind.\nMCP server "math" instructions:\nFour operations.', "Open WebUI"),
        ("OpenAI/JS 4.83.0", "", "the OpenAI SDK for JavaScript"),
        ("my-agent/2.0 (test)", "", "my-agent"),
        (f"{BROWSER} My-App/3.1 Chrome/122.0.0.0 Electron/29.4.0 Safari/537.36", "", "My-App"),
        (f"{BROWSER} Chrome/126.0.0.0 Safari/537.36 Edg/126.0.0.0", "", "a browser"),
        ("", "", ""),
    ],
)
def test_a_host_is_named_by_what_it_sends_to_its_model(agent: str, system: str, named: str) -> None:
    assert host_asking(agent, "", system) == named


@pytest.mark.parametrize(
    ("client", "named"),
    [
        ("claude-code", "Claude Code"),
        ("Visual Studio Code - Insiders", "VS Code Copilot"),
        ("mcp", "the MCP SDK for Python"),
        ("somebody's own", "somebody's own"),
    ],
)
def test_a_host_is_named_by_its_client(client: str, named: str) -> None:
    assert host_named(client) == named


def test_a_model_is_named_in_the_body_or_in_the_path() -> None:
    assert model_asked("https://x/v1/chat/completions", b'{"model":"deepseek-chat"}') == "deepseek-chat"
    assert model_asked("https://x/v1beta/models/gemini-3:streamGenerateContent?alt=sse", b"{}") == "gemini-3"
    assert model_asked("https://x/v1/chat/completions", b"not JSON") == ""


# Calls in plain text.


CHERRY = '<tool_use>\n  <name>mcp__box__get</name>\n  <arguments>{"城市": "北京"}</arguments>\n</tool_use>'
CLINE = (
    "<use_mcp_tool>\n<server_name>box</server_name>\n<tool_name>get</tool_name>\n"
    '<arguments>\n{"城市": "北京"}\n</arguments>\n</use_mcp_tool>'
)
HERMES = '<tool_call>\n{"name": "box__get", "arguments": {"城市": "北京"}}\n</tool_call>'


def read(protocol: str, text: str, size: int, host: str = "") -> list[ModelEvent]:
    """What a host's answer says that comes in pieces of so many characters."""
    reader = reader_of(protocol, "", is_own=host == "tui-host")
    pieces = [text[place : place + size] for place in range(0, len(text), size)]
    found = [event for piece in pieces for event in reader.feed(TextDelta(text=piece, start=0, end=0))]
    return [*found, *reader.finish()]


def said_in(events: list[ModelEvent]) -> str:
    return "".join(event.text for event in events if isinstance(event, TextDelta))


def calls_in(events: list[ModelEvent]) -> list[str]:
    return [event.text for event in events if isinstance(event, CallArguments)]


@pytest.mark.parametrize("size", first_values([1, 3, 7, 1000]))
@pytest.mark.parametrize(("protocol", "call"), [("cherry", CHERRY), ("cline", CLINE), ("hermes", HERMES)])
@pytest.mark.parametrize(
    ("before", "behind"),
    [
        ("好的", ""),
        ("1 < 2 and <b>so</b> on: `", "`"),
        ("```\nls\n\n", ""),
        ("For example:\n```xml\n<!-- a call -->\n", "\n```\nShall I?"),
    ],
)
def test_a_call_in_code_is_one_as_other_hosts_run_it_and_a_mention_in_ours(
    size: int, protocol: str, call: str, before: str, behind: str
) -> None:
    events = read(protocol, before + call + behind, size)
    assert said_in(events) == before + behind
    assert [text.replace(" ", "") for text in calls_in(events)] == ['{"城市":"北京"}']
    if "`" in before:
        own = read(protocol, before + call + behind, size, host="tui-host")
        assert (said_in(own), calls_in(own)) == (before + call + behind, [])


# Results in plain text.


TAGGED = FORMS["hermes"]
CALLS = [Call("", "math__add", {"a": 1}), Call("", "docs__find", {"q": "é\n"})]
RESULTS = ['say "11" é\n<task>', '{"found": ["12"]}']


def _response(call: Call, content: str) -> str:
    return f'<tool_response>\n{{"name": "{call.name}", "content": {content}}}\n</tool_response>'


BLOCKS = [_response(CALLS[0], json.dumps(RESULTS[0], ensure_ascii=False)), _response(CALLS[1], RESULTS[1])]


class Shaped:
    """Hermes with the messages that tell results in a shape of a host's own."""

    url, several = TAGGED.url, True

    def __init__(self, shape: Callable[[Sequence[str]], list[JSON]], blocks: Sequence[str]) -> None:
        self._shape = shape
        self._blocks = blocks

    def request(self, entries: Sequence[Entry], system: str = "") -> bytes:
        """The request with the results put in anew."""
        body = json.loads(TAGGED.request([entry for entry in entries if not isinstance(entry, Results)], system))
        if any(isinstance(entry, Results) for entry in entries):
            body["messages"] += self._shape(self._blocks)
        return json.dumps(body).encode()

    def response(self, answer: Answer) -> Sequence[bytes]:
        """As ever."""
        return TAGGED.response(answer)


def user(blocks: Sequence[str]) -> list[JSON]:
    return [{"role": "user", "content": "\n".join(blocks)}]


def one(blocks: Sequence[str]) -> list[JSON]:
    return [{"role": "tool", "content": "\n".join(blocks)}]


SHAPES = [user, one]


def _told(form: Shaped) -> tuple[list[Item], list[str]]:
    """The chat, and what of the last request belongs to the tool protocol."""
    world = World()
    model, asked = world.model(), [User("sums")]
    list(model.answer(form, model.ask(form, asked), Answer("", CALLS)))
    exchange = model.ask(form, [*asked, Answer("", CALLS), Results(list(zip(CALLS, RESULTS, strict=True)))])
    story = world.story()
    body = story.conversations.exchanges[model.id, exchange].body
    links = [found.link for found in story.links() if found.link.span.exchange == exchange]
    framing = [body[link.span.start : link.span.end] for link in links if link.words == "frames a result"]
    return chat_of(story), [json.loads(b'"' + text + b'"') for text in framing]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("order", [1, -1])
def test_results_between_tags_are_those_of_the_calls_that_they_name_in_whatever_message_they_stand(
    shape: Callable[[Sequence[str]], list[JSON]], order: int
) -> None:
    items, framing = _told(Shaped(shape, BLOCKS[::order]))
    calls = [item for item in items if isinstance(item, CallItem)]
    assert [(item.tool, item.state, item.result) for item in calls] == [
        (call.name, "done", text) for call, text in zip(CALLS, RESULTS, strict=True)
    ]
    frames = [f'<tool_response>\n{{"name": "{call.name}", "content": ' for call in CALLS[::order]]
    assert "".join(framing) == "".join(f"{frame}}}\n</tool_response>" for frame in frames)


# Words of hosts.


OPENAI = FORMS["openai"]
OWN_CHERRY = (
    "Use tools:\n<tool_use>\n  <name>{tool_name}</name>\n  <arguments>{json_arguments}</arguments>\n</tool_use>"
)
OWN_CLINE = "Use tools:\n<use_mcp_tool>\n<server_name>box</server_name>"
ONE = '<tool_use>\n  <name>mcp__box__get</name>\n  <arguments>{"k": 1}</arguments>\n</tool_use>'
USE = (
    "<use_mcp_tool>\n<server_name>box</server_name>\n<tool_name>get</tool_name>\n"
    '<arguments>\n{"k": 1}\n</arguments>\n</use_mcp_tool>'
)


def chat_told(system: str, text: str, *, agent: str = "", is_live: bool) -> list[Item]:
    """The chat of an answer: told once, or again with each record."""
    world = World()
    model = world.model()
    list(model.answer(OPENAI, model.ask(OPENAI, [User("hello")], agent, system), Answer(text)))
    story, chat = Story(), Conversation()
    telling = StoryChat(story, chat)
    for _, record in world.records:
        story.feed(record)
        if is_live:
            telling.tell()
    telling.tell()
    return list(chat.items)


def words_in(items: list[Item]) -> list[str]:
    """What the model wrote, a call as its name."""
    found = [
        item.tool if isinstance(item, CallItem) else item.text
        for item in items
        if isinstance(item, CallItem | AnswerItem)
    ]
    return [text.strip() for text in found]


@pytest.mark.parametrize("is_live", [False, True])
@pytest.mark.parametrize(
    ("system", "text", "said"),
    [
        (OWN_CHERRY, f"一{ONE}二\n{ONE}三", ["一", "mcp__box__get", "二", "mcp__box__get", "三"]),
        (OWN_CHERRY, f"{ONE}\n{ONE}\n晴天。", ["mcp__box__get", "mcp__box__get", "晴天。"]),
        (OWN_CLINE, f"x {USE} und dann weiter.", ["x", "box__get", "und dann weiter."]),
        (
            OWN_CLINE,
            f"<thinking>hm</thinking>{USE}<thinking>so</thinking>",
            ["", "box__get", "<thinking>so</thinking>"],
        ),
        (OWN_CLINE, f"<thinking>hm {USE} so</thinking>\nok", ["ok"]),
        (OWN_CHERRY, f"<think>hm {ONE}</think>ok", ["ok"]),
    ],
)
def test_words_behind_a_call_are_told_in_their_place(system: str, text: str, said: list[str], *, is_live: bool) -> None:
    items = chat_told(system, text, is_live=is_live)
    assert words_in(items) == said
    assert {item.state for item in items if isinstance(item, AnswerItem)} <= {"done"}


def _said(protocol: str, messages: list[JSON]) -> list[str]:
    """The texts that were put into a request of these messages."""
    dialect = dialect_at("/v1/chat/completions")
    assert dialect is not None
    body = json.dumps({"model": "m", "messages": messages}).encode()
    request = RequestReader().read(body)
    found = list(AdditionFinder().found_in(protocol, body, request))
    for (_, end, _), (start, _, _) in itertools.pairwise(found):
        assert end <= start, "no byte is in two"
    return [str(json.loads(f'"{body[start:end].decode()}"')) for start, end, _ in found]


def _talk(own: str) -> list[Message]:
    call = ToolCall(id="1", wire_id="", name="math__add", arguments=SUM)
    told = ToolResult(call=call, content=(Text(text="11 <task>é</task>"),))
    return [
        *([Message(role="system", parts=(Text(text=own),))] if own else []),
        Message(role="user", parts=(Text(text="what is 6 × 5?"),)),
        Message(role="assistant", parts=(call,), stop="tools"),
        Message(role="tool", parts=(told,)),
    ]


@pytest.mark.parametrize("own", ["", "Be brief."])
@pytest.mark.parametrize("name", PLAIN)
def test_of_our_own_requests_the_same_is_found_as_the_protocol_knows_it_put_in(name: str, own: str) -> None:
    prepared = speaking(name).prepare(_talk(own), TOOLS)
    texts = [text_of(message) for message in prepared.messages]
    written: list[JSON] = [
        {"role": message.role, "content": text} for message, text in zip(prepared.messages, texts, strict=True)
    ]
    injected = [each for each in prepared.places if each.source == "injected"]
    known = "".join(texts[each.message][each.start : each.end].strip() for each in injected)
    found = "".join(text.strip() for text in _said(name, written))
    assert "".join(found.split()) == "".join(known.split())
