"""What is made of a prompt, a question, an image and a long conversation between a server, the host and a model."""

import json
import os
from pathlib import Path

import pytest

from tests.host.test_host import answers, asked, configured, serving
from tests.kit.bodies import text
from tests.kit.peer import Answer, head, peer_in_thread, until
from tests.servers.rich_server import RED, png
from tui_host.capture.link import read_link
from tui_host.chat.conversation import NoteItem
from tui_host.chat.opening import NOT_ALONE, filled_prompt
from tui_host.chat.sampling import sampling_ask
from tui_host.chat.session import Session, oldest_turns, omit_turns
from tui_host.errors import JSON, TuiHostError
from tui_host.host.image_decoder import Picture, decode_image
from tui_host.llm.dialects.table import DIALECTS
from tui_host.llm.messages import Text, ToolCall, ToolResult
from tui_host.servers.catalog import ContentBlock, PromptMessage
from tui_host.servers.server_questions import SamplingRequest
from tui_host.settings.model_options import Options
from tui_host.settings.schema import ModelRef


def test_tools_and_their_results_are_handed_to_the_dialect() -> None:
    schema: JSON = {"type": "object"}
    given: JSON = {"type": "tool_use", "id": "t1", "name": "look", "input": {"a": 1}}
    back: JSON = {"type": "tool_result", "toolUseId": "t1", "content": [{"type": "text", "text": "x"}]}
    messages: JSON = [
        {"role": "user", "content": {"type": "text", "text": "hi"}},
        {"role": "assistant", "content": [given]},
        {"role": "user", "content": [back]},
    ]
    tools: JSON = [{"name": "look", "inputSchema": schema}]
    ask = sampling_ask(SamplingRequest(server="s", params={"maxTokens": 5, "tools": tools, "messages": messages}), "m")
    assert [(tool.name, tool.schema) for tool in ask.tools] == [("look", schema)]
    assert [message.role for message in ask.messages] == ["user", "assistant", "tool"]
    call, result = ask.messages[1].parts[0], ask.messages[2].parts[0]
    assert isinstance(call, ToolCall)
    assert isinstance(result, ToolResult)
    assert (call.arguments, result.call) == ('{"a": 1}', call)


def said(role: str, text: str) -> PromptMessage:
    return PromptMessage(role=role, content=ContentBlock(kind="text", text=text))


PICTURE = PromptMessage(role="user", content=ContentBlock(kind="image", media_type="image/png", data=RED, size=73))
BETWEEN = (said("user", "a plan"), PICTURE, said("assistant", "how long?"), said("user", "a week"))
FILLED = filled_prompt("rich", "plan", [said("assistant", "I begin"), *BETWEEN, said("assistant", "I end")])


async def test_a_filled_prompt_is_sent_in_every_dialect_with_its_origin_and_the_user_at_both_ends(
    tmp_path: Path,
) -> None:
    messages = FILLED.given
    assert [message.role for message in messages] == ["user", "assistant", "user"]
    texts = ["".join(part.text for part in message.parts if isinstance(part, Text)).strip() for message in messages]
    assert texts == [f"{NOT_ALONE}I begin\n\na plan", "how long?", f"a week\n\n{NOT_ALONE}I end"]
    spoken = {b"I begin", b"a plan", b"how long?", b"a week", b"I end"}
    async with serving(configured(tmp_path)) as host:
        assert host.recorder is not None
        for name in DIALECTS:
            session = host.sessions.new(model=ModelRef(provider="demo", model=name))
            host.send(session, "", filled=FILLED)
            await until(lambda at=session: not at.busy)
            result = host.turns.result(session)
            assert result is not None
            assert result.stop == "done", name
            own = [record for record in host.recorder.since(0) if record.place.session == session.id]
            body = [record.data for record in own if (record.wire, record.kind) == ("llm", "request")][-1]
            assert all(words in body for words in (*spoken, RED.encode())), name
            links = [read_link(record.data) for record in own if record.kind == "link"]
            given = {body[link.span.start : link.span.end] for link in links if link and link.relation == "given"}
            assert spoken <= given, name


async def drawn(data: bytes) -> Picture:
    return await decode_image(data, columns=20, rows=5, background="000000", environment=os.environ)


async def test_an_image_is_made_to_fit_its_cells_and_one_that_is_too_large_or_none_is_not_decoded() -> None:
    picture = await drawn(png(400, 100))
    assert (picture.width, picture.height, picture.original, picture.form) == (20, 5, (400, 100), "PNG")
    assert picture.rgb == b"\xff\0\0" * 100
    with pytest.raises(TuiHostError, match=r"100,000 × 100,000 pixels; the limit is 40 million"):
        await drawn(png(1, 1, claims=(100_000, 100_000)))
    with pytest.raises(TuiHostError, match="cannot be decoded"):
        await drawn(b"<svg/>")


FULL = {"error": {"message": "too much", "code": "context_length_exceeded"}}
REFUSES: Answer = head("400 Bad Request", kind="application/json") + json.dumps(FULL).encode()


async def test_a_full_context_goes_on_without_the_turns_that_the_user_saw(tmp_path: Path) -> None:
    with peer_in_thread(text("one"), text("two"), REFUSES, text("three"), text("four")) as peer:
        settings = configured(tmp_path, peer.url)
        async with serving(settings) as host:
            session = host.sessions.new()
            session.options = Options(seed=7)
            assert oldest_turns(session) == []
            await asked(host, session, "long " * 100)
            await asked(host, session, "second")
            await asked(host, session, "third")
            assert [item.is_full for item in notes(session)] == [True]
            [turn] = oldest_turns(session)
            assert (turn.turn, turn.title[:9]) == (1, "long long")
            assert turn.size_bytes > 500
            assert len(peer.messages(2)) == 5, "nothing is dropped unasked"
            omit_turns(session, [turn])
            host.again(session)
            await until(lambda: not session.busy)
        async with serving(settings) as host:
            again = host.sessions.open("last")
            assert (again.omitted_turns, again.options) == (1, Options(seed=7))
            await asked(host, again, "fourth")
            assert answers(again) == ["one", "two", "three", "four"]
            assert "turn 1 left out" in notes(again)[-1].what
    assert [message["content"] for message in peer.messages(3)] == ["second", "two", "third"]
    assert [message["content"] for message in peer.messages(4)] == ["second", "two", "third", "three", "fourth"]


def notes(session: Session) -> list[NoteItem]:
    return [item for item in session.conversation if isinstance(item, NoteItem)]
