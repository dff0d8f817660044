"""What a tool protocol put into a tapped host's request: the same bytes that our own host knows it put in, and none twice."""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence

import pytest

from tests.llm.protocols.answers import PLAIN, SUM, TOOLS, speaking, text_of
from tui_host.errors import JSON
from tui_host.infer.asking.injected import Injections
from tui_host.infer.asking.request_reader import Hearing
from tui_host.llm.dialects.dialect_table import dialect_at
from tui_host.llm.messages import Message, Text, ToolCall, ToolResult


def _body(messages: Sequence[JSON]) -> bytes:
    return json.dumps({"model": "m", "messages": messages}).encode()


def _found(injections: Injections, protocol: str, body: bytes, hearing: Hearing) -> list[tuple[int, int, str]]:
    dialect = dialect_at("/v1/chat/completions")
    assert dialect is not None
    request = hearing.read(dialect, body)
    return list(injections.found_in(protocol, body, request.system, request.messages))


def _said(protocol: str, messages: list[JSON]) -> list[tuple[str, str]]:
    """The texts that were put into a request of these messages, and what for."""
    body = _body(messages)
    found = _found(Injections(), protocol, body, Hearing())
    for (_, end, _), (start, _, _) in itertools.pairwise(found):
        assert end <= start, "no byte is in two"
    return [(str(json.loads(f'"{body[start:end].decode()}"')), words) for start, end, words in found]


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
    known = "".join(texts[each.message][each.start : each.end].strip() for each in prepared.injected)
    found = "".join(text.strip() for text, _ in _said(name, written))
    assert "".join(found.split()) == "".join(known.split())


def test_what_a_prompt_says_beside_the_protocol_is_the_hosts_own() -> None:
    prompt = (
        "You are Cline, a software engineer.\n\n====\n\nTOOL USE\n\nYou have tools.\n\n====\n\nMCP SERVERS\n\n"
        "# Connected MCP Servers\n\n## math\n- add: Adds.\n\n====\n\nEDITING FILES\n\nUse a tool.\n\n====\n\nRULES\n\n"
        "- One tool.\n\n====\n\nUSER'S CUSTOM INSTRUCTIONS\n\nUse tools in French."
    )
    asked = (
        "<task>\nhi <tools>\n</task>\n\n<environment_details>\n# Connected MCP Servers\n- math\n</environment_details>"
    )
    found = _said("cline", [{"role": "system", "content": prompt}, {"role": "user", "content": asked}])
    teaches = "teaches the tool protocol cline"
    assert [(text.strip(), words) for text, words in found] == [
        ("TOOL USE\n\nYou have tools.\n\n====\n\nMCP SERVERS", teaches),
        ("# Connected MCP Servers\n\n## math\n- add: Adds.", "lists the tools"),
        ("- One tool.", teaches),
        ("<task>", "frames what was said"),
        ("</task>", "frames what was said"),
        (
            "<environment_details>\n# Connected MCP Servers\n- math\n</environment_details>",
            "details of the environment",
        ),
    ]
