"""A server asks the session's model, in an exchange of its own in the chain of the server's call."""

from __future__ import annotations

import json
from pathlib import Path

from tests.answers.chained import steps_of
from tests.host.test_host import asked, configured, serving
from tests.kit.bodies import asks, text
from tests.kit.peer import peer_in_thread
from tests.servers.answers import Scripted
from tests.servers.running import ASKING_SERVER, sdk_configured
from tui_host.chat.sampling import sampling_ask
from tui_host.errors import JSON
from tui_host.llm.messages import ToolCall, ToolResult
from tui_host.servers.server_questions import SamplingRequest

ALLOWED = '[[rules]]\nserver = "*"\ntool = "*"\naction = "allow"\n'


async def test_a_server_asks_the_model_of_the_session_in_its_call(tmp_path: Path) -> None:
    answers = [asks(("colours__ask_the_model", "{}")), text("blue"), text("It is blue.")]
    with peer_in_thread(*answers) as peer:
        server = sdk_configured("colours", program=ASKING_SERVER) + "sampling = true\n"
        async with serving(configured(tmp_path, peer.url, server + ALLOWED)) as host:
            person = host.answerer = Scripted()
            session = host.sessions.new()
            await asked(host, session, "which colour?")
            assert host.recorder is not None
            records = list(host.recorder.since(0, limit=10**6))
        sampled = json.loads(peer.bodies[1])
        assert [message["content"] for message in sampled["messages"]] == ["Be brief.", "Say blue."]
        assert (sampled["temperature"], 50 in sampled.values()) == (0.5, True)
        assert "mine/m: blue" in str(peer.messages(2))
        assert len(person.requests) == 3
        (call,) = {record.draft.place.call or "" for record in records if record.draft.kind == "request"} - {""}
        words = [step.value for step in steps_of(call, records)]
        assert "the server asks the model" in words


def test_tools_and_their_results_are_handed_to_the_dialect() -> None:
    schema: JSON = {"type": "object"}
    request = SamplingRequest(
        server="s",
        params={
            "maxTokens": 5,
            "tools": [{"name": "look", "inputSchema": schema}],
            "messages": [
                {"role": "user", "content": {"type": "text", "text": "hi"}},
                {"role": "assistant", "content": [{"type": "tool_use", "id": "t1", "name": "look", "input": {"a": 1}}]},
                {
                    "role": "user",
                    "content": [{"type": "tool_result", "toolUseId": "t1", "content": [{"type": "text", "text": "x"}]}],
                },
            ],
        },
    )
    ask = sampling_ask(request, "m")
    assert [(tool.name, tool.schema) for tool in ask.tools] == [("look", schema)]
    assert [message.role for message in ask.messages] == ["user", "assistant", "tool"]
    call, result = ask.messages[1].parts[0], ask.messages[2].parts[0]
    assert isinstance(call, ToolCall)
    assert isinstance(result, ToolResult)
    assert (call.arguments, result.call) == ('{"a": 1}', call)
