"""What a tool protocol put into a tapped host's request: the same bytes that our own host knows it put in, and none twice."""

from __future__ import annotations

import itertools
import json

import pytest

from tests.llm.protocols.answers import PLAIN, SUM, TOOLS, speaking, text_of
from tui_host.errors import JSON
from tui_host.infer.conversations.protocol_additions import ProtocolAdditions
from tui_host.infer.conversations.request_messages import RequestReader
from tui_host.llm.dialects.table import dialect_at
from tui_host.llm.messages import Message, Text, ToolCall, ToolResult


def _said(protocol: str, messages: list[JSON]) -> list[str]:
    """The texts that were put into a request of these messages."""
    dialect = dialect_at("/v1/chat/completions")
    assert dialect is not None
    body = json.dumps({"model": "m", "messages": messages}).encode()
    request = RequestReader().read(dialect, body)
    found = list(ProtocolAdditions().found_in(protocol, body, request.system, request.messages))
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
    known = "".join(texts[each.message][each.start : each.end].strip() for each in prepared.injected)
    found = "".join(text.strip() for text in _said(name, written))
    assert "".join(found.split()) == "".join(known.split())
