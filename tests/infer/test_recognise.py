"""What bodies of other hosts say: models, hosts, calls and results in plain text, and what hosts put around them."""

from __future__ import annotations

import itertools
import json

import pytest

from tests.cases import first_values
from tests.infer.forms import FORMS
from tests.infer.world import World
from tests.kit.bodies import Answer, User, dumped
from tests.llm.protocols.answers import PLAIN, SUM, TOOLS, speaking, text_of
from tui_host.chat.conversation import AnswerItem, CallItem, Conversation
from tui_host.errors import JSON
from tui_host.infer.conversations.host_names import host_asking, host_named, model_asked
from tui_host.infer.conversations.request_messages import RequestReader, results_of
from tui_host.infer.story import Story
from tui_host.infer.story_chat import StoryChat
from tui_host.llm.events import CallArguments, TextDelta
from tui_host.llm.messages import Message, Text, ToolCall, ToolResult
from tui_host.llm.protocols.reader import HeldReader
from tui_host.llm.protocols.table import PROTOCOLS

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


# Calls in plain text.


ARGUMENTS = '{"城市": "北京"}'
CHERRY = f"<tool_use>\n  <name>mcp__box__get</name>\n  <arguments>{ARGUMENTS}</arguments>\n</tool_use>"
CLINE = (
    "<use_mcp_tool>\n<server_name>box</server_name>\n<tool_name>get</tool_name>\n"
    f"<arguments>\n{ARGUMENTS}\n</arguments>\n</use_mcp_tool>"
)
HERMES = f'<tool_call>\n{{"name": "box__get", "arguments": {ARGUMENTS}}}\n</tool_call>'


@pytest.mark.parametrize("size", first_values([1, 3, 7, 1000]))
@pytest.mark.parametrize(("protocol", "call"), [("cherry", CHERRY), ("cline", CLINE), ("hermes", HERMES)])
@pytest.mark.parametrize(
    ("before", "behind"),
    [("好的", ""), ("1 < 2 and <b>so</b> on: `", "`"), ("For example:\n```xml\n<!-- a call -->\n", "\n```\nShall I?")],
)
def test_a_call_in_code_is_one_as_other_hosts_run_it_and_a_mention_in_ours(
    size: int, protocol: str, call: str, before: str, behind: str
) -> None:
    whole = before + call + behind
    for is_own in (False, True):
        reader = PROTOCOLS[protocol]("").reader(())
        reader = reader if is_own or not isinstance(reader, HeldReader) else reader.anywhere()
        pieces = [TextDelta(text=whole[place : place + size], start=0, end=0) for place in range(0, len(whole), size)]
        events = [*(event for piece in pieces for event in reader.feed(piece)), *reader.finish()]
        said = "".join(event.text for event in events if isinstance(event, TextDelta))
        calls = [event.text for event in events if isinstance(event, CallArguments)]
        assert (said, calls) == ((whole, []) if is_own else (before + behind, [ARGUMENTS]))


USE = '<tool_use>\n  <name>mcp__box__get</name>\n  <arguments>{"k": 1}</arguments>\n</tool_use>'
OWN_CHERRY = "Use tools:\n<tool_use>\n  <name>{tool_name}</name>\n</tool_use>"
OWN_CLINE = "Use tools:\n<use_mcp_tool>\n<server_name>box</server_name>"


@pytest.mark.parametrize("is_live", [False, True])
@pytest.mark.parametrize(
    ("system", "text", "said"),
    [
        (OWN_CHERRY, f"一{USE}二\n{USE}三", ["一", "mcp__box__get", "二", "mcp__box__get", "三"]),
        (OWN_CHERRY, f"{USE}\n{USE}\n晴天。", ["mcp__box__get", "mcp__box__get", "晴天。"]),
        (OWN_CLINE, f"<thinking>hm</thinking>{CLINE}<thinking>so", ["", "box__get", "<thinking>so"]),
        (OWN_CLINE, f"<thinking>hm {CLINE} so</thinking>\nok", ["ok"]),
    ],
)
def test_words_behind_a_call_are_told_in_their_place(system: str, text: str, said: list[str], *, is_live: bool) -> None:
    world, form, story, chat = World(), FORMS["openai"], Story(), Conversation()
    model, telling = world.model(), StoryChat(story, chat)
    list(model.answer(form, model.ask(form, [User("hello")], "", system), Answer(text)))
    for _, record in world.records:
        story.feed(record)
        if is_live:
            telling.tell()
    telling.tell()
    found = [item for item in chat.items if isinstance(item, CallItem | AnswerItem)]
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


@pytest.mark.parametrize("own", ["", "Be brief."])
@pytest.mark.parametrize("name", PLAIN)
def test_of_our_own_requests_the_same_is_found_as_the_protocol_knows_it_put_in(name: str, own: str) -> None:
    call = ToolCall(id="1", wire_id="", name="math__add", arguments=SUM)
    talk = [
        *([Message(role="system", parts=(Text(text=own),))] if own else []),
        Message(role="user", parts=(Text(text="what is 6 × 5?"),)),
        Message(role="assistant", parts=(call,), stop="tools"),
        Message(role="tool", parts=(ToolResult(call=call, content=(Text(text="11 <task>é</task>"),)),)),
    ]
    prepared = speaking(name).prepare(talk, TOOLS)
    texts = [text_of(message) for message in prepared.messages]
    roles = [message.role for message in prepared.messages]
    injected = [place for place in prepared.places if place.source == "injected"]
    known = "".join(texts[place.message][place.start : place.end] for place in injected)
    found = "".join(put_in(name, [{"role": role, "content": text} for role, text in zip(roles, texts, strict=True)]))
    assert "".join(found.split()) == "".join(known.split())
