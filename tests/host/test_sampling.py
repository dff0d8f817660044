"""A server asks the session's model, in an exchange of its own in the chain of the server's call."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from tests.answers.chained import steps_of
from tests.cli.provider import asks, provider, text
from tests.host.test_host import asked, configured, serving
from tests.servers.answers import Scripted
from tui_host.chat.sampling import sampling_ask
from tui_host.errors import JSON
from tui_host.llm.messages import ToolCall, ToolResult
from tui_host.servers.server_questions import SamplingRequest

ASKING = Path(__file__).parents[1] / "servers/asking_server.py"
SERVER = (
    f"[servers.colours]\ncommand = {json.dumps(sys.executable)}\n"
    f'args = [{json.dumps(str(ASKING))}, "stdio"]\nsampling = true\n'
    '[[rules]]\nserver = "*"\ntool = "*"\naction = "allow"\n'
)


async def test_a_server_asks_the_model_of_the_session_in_its_call(tmp_path: Path) -> None:
    answers = [asks(("colours__ask_the_model", "{}")), text("blue"), text("It is blue.")]
    with provider(*answers) as peer:
        async with serving(configured(tmp_path, peer.url, SERVER)) as host:
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
