"""A whole turn with servers of others: the export against what the model's and the servers' side received, byte by byte.

Two turns of one session, so that two starts of each server are in it. The question asks for all calls at once.
"""

import json
from collections.abc import Generator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.interop.asking import PROGRAM, Answer, Program, http_server, provider, stdio_server
from tests.interop.comparison import Line, array_of, chosen, compare_exchanges, compare_pipes, object_of
from tests.interop.others import EVERYTHING, HOME, TIME, Node, call_awhile, everything_over_http, serving, uvx
from tests.interop.relay import Relay
from tests.ports import unused_port
from tui_host.errors import JSON

pytestmark = pytest.mark.timeout(300)

ASKED: dict[str, Mapping[str, JSON]] = {
    "echo": {"message": "héllo ✓ \u202e\u0000 𝄞"},
    "get-sum": {"a": 2, "b": 3.5},
    "get-tiny-image": {},
    "get-structured-content": {"location": "New York"},
    "trigger-long-running-operation": {"duration": 1, "steps": 4},
    "get-annotated-message": {"messageType": "error", "includeImage": True},
    "get-resource-links": {"count": 3},
    "get-resource-reference": {"resourceType": "Text", "resourceId": 1},
    "gzip-file-as-resource": {"name": "a.gz", "data": "data:text/plain,héllo", "outputType": "resource"},
}
AGAIN = """call time.get_current_time {"timezone":"Europe/Paris"}
call everything.echo {"message":"again"}
call web.echo {"message":"again"}
""" + call_awhile("everything")
REFUSED: Mapping[str, JSON] = {"a": "two", "b": 3}


@dataclass(frozen=True, slots=True, kw_only=True)
class Heard:
    """Two turns, and what both sides of the wires have of them."""

    answers: list[Answer]
    lines: list[Line]
    folder: Path
    model: Relay
    web: Relay


@pytest.fixture(scope="module", params=["auto", "legacy"])
def heard(request: pytest.FixtureRequest, node: Node, tmp_path_factory: pytest.TempPathFactory) -> Generator[Heard]:
    folder = tmp_path_factory.mktemp("heard")
    mode = str(request.param)
    port = unused_port()
    with (
        serving([*PROGRAM, "demo-model", "--port", str(port), "--pace", "0"], port),
        everything_over_http(node) as web,
        Relay(port) as model,
        Relay(web) as servers,
    ):
        program = Program(
            folder,
            provider("mine", model.port, "openai"),
            stdio_server("everything", node.command(EVERYTHING), tee=folder / "everything", mode=mode),
            stdio_server("time", uvx(TIME), tee=folder / "time", mode=mode, env={"HOME": HOME}),
            http_server("web", servers.port, mode=mode),
        )
        first = program.ask(question())
        second = program.ask(AGAIN, "--session", str(first.whole["session"]))
        yield Heard(answers=[first, second], lines=program.export(), folder=folder, model=model, web=servers)


def question() -> str:
    asked = [(server, tool, arguments) for server in ("everything", "web") for tool, arguments in ASKED.items()]
    asked += [("everything", "get-sum", REFUSED), ("web", "get-sum", REFUSED)]
    asked += [("time", "get_current_time", {"timezone": zone}) for zone in ("Asia/Tokyo", "Nowhere/Else")]
    return "\n".join(f"call {server}.{tool} {json.dumps(given, ensure_ascii=False)}" for server, tool, given in asked)


def test_the_peers_received_and_sent_what_is_exported(heard: Heard) -> None:
    compare_exchanges(heard.lines, "mine", heard.model)
    # The end of its session comes after the last record of ours.
    compare_exchanges(heard.lines, "web", heard.web, after=["DELETE"])
    for server in ("everything", "time"):
        compare_pipes(heard.lines, server, heard.folder / server)


def test_each_call_says_what_its_frames_say(heard: Heard) -> None:
    calls = [call for answer in heard.answers for call in answer.calls]
    frames = [line for line in chosen(heard.lines, kind="frame") if line.call]
    for server in ("everything", "web", "time"):
        asked = [object_of(json.loads(line.data)) for line in chosen(frames, peer=server, direction="out")]
        told = [object_of(json.loads(line.data)) for line in chosen(frames, peer=server, direction="in")]
        sent = [(object_of(one["params"])["name"], object_of(one["params"])["arguments"]) for one in asked]
        assert sent == [(call["tool"], call["sent"]) for call in calls if call["server"] == server]
        results = {json.dumps(one["result"]) for one in told if "result" in one}
        assert results == {json.dumps(call["result"]) for call in calls if call["server"] == server}
    # What a server calls an error is one, and the model is told every result in the next request.
    assert [answer.whole["stop"] for answer in heard.answers] == ["done", "done"]
    failed = [(call["server"], call["tool"], call["sent"]) for call in heard.answers[0].calls if call["is_error"]]
    assert failed == [
        ("everything", "get-sum", REFUSED),
        ("web", "get-sum", REFUSED),
        ("time", "get_current_time", {"timezone": "Nowhere/Else"}),
    ]
    assert not any(call["is_error"] for call in heard.answers[1].calls)
    requests = chosen(heard.lines, peer="mine", kind="request")
    messages = [object_of(one) for one in array_of(object_of(json.loads(requests[1].data))["messages"])]
    said = [str(one["content"]) for one in messages if one["role"] == "tool"]
    assert (len(said), said[0]) == (len(heard.answers[0].calls), "Echo: " + str(ASKED["echo"]["message"]))
