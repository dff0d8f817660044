"""`call`, `read` and `prompt`: one request to a server, by the person's own consent."""

from __future__ import annotations

import json
import sys
from collections.abc import Generator
from pathlib import Path

import pytest

from tests.cli.desk import Desk, desk
from tests.kit.program import Programs
from tests.servers.running import SDK_SERVER, sdk_configured

RICH = SDK_SERVER.parent / "rich_server.py"
OFF = "enabled = false\n"


@pytest.fixture(scope="module")
def place(program: Programs, tmp_path_factory: pytest.TempPathFactory) -> Generator[Desk]:
    rich = f"[servers.rich]\ncommand = {json.dumps(sys.executable)}\nargs = [{json.dumps(str(RICH))}]\n"
    servers = sdk_configured("own") + OFF + rich + OFF
    with desk(program, tmp_path_factory.mktemp("requests"), servers=servers) as found:
        yield found


def test_a_call_prints_its_result_and_is_kept_as_a_session_with_its_frames(place: Desk) -> None:
    ended = place.run("call", "own", "echo", '{"text": "\\u001b[2Jhello"}')
    assert (ended.code, ended.out) == (0, "␛[2Jhello\n".encode())
    session = place.listed()[0]
    assert (session["source"], session["turns"], session["live"], session["model"]) == ("ask", 1, False, "")
    records = [json.loads(line) for line in place.run("sessions", "export", "last").text.splitlines()[1:]]
    asked = [record for record in records if '"tools/call"' in record.get("text", "")]
    assert [record["call"] for record in asked] == ["direct_1"]
    decision = next(json.loads(record["text"]) for record in records if record["kind"] == "decision")
    assert (decision["decision"], decision["by"], decision["sent"]) == ("approved", "person", {"text": "\x1b[2Jhello"})
    assert "Tool call: own.echo" in place.run("sessions", "show", "last").text


def test_a_call_without_record_leaves_nothing(place: Desk) -> None:
    before = place.files()
    ended = place.run("call", "--no-record", "--json", "own", "add", "-", stdin=b'{"a": 1, "b": 2}')
    assert ended.code == 0
    assert (ended.json["session"], ended.json["is_error"], ended.json["sent"]) == (None, False, {"a": 1, "b": 2})
    assert place.files() == before


def test_a_tool_that_reports_an_error_exits_with_1(place: Desk) -> None:
    ended = place.run("call", "--json", "own", "fail")
    assert (ended.code, ended.json["is_error"], ended.json["error"]) == (1, True, None)
    assert "fail reports an error" in ended.err


def test_a_result_that_does_not_fit_the_output_schema_is_told(place: Desk) -> None:
    ended = place.run("call", "rich", "everything")
    assert ended.code == 0
    assert "the result does not fit the output schema" in ended.err
    assert b"two note://two" in ended.out
    assert "the tool has a page, which is not shown: tui-host read rich ui://everything/page.html" in ended.err
    assert place.run("call", "--json", "rich", "everything").json["output_errors"] != []
    assert place.run("call", "--json", "rich", "nothing").json["output_errors"] != []


def test_an_unknown_tool_and_malformed_json_name_the_remedy(place: Desk) -> None:
    unknown = place.run("call", "own", "ecko")
    assert (unknown.code, unknown.out) == (1, b"")
    assert "own: no tool ecko (did you mean echo?)" in unknown.err
    malformed = place.run("call", "own", "echo", "{'text': 1}")
    assert (malformed.code, malformed.out) == (2, b"")
    assert "the arguments are not JSON" in malformed.err


def test_a_resource_is_printed_exactly(place: Desk, tmp_path: Path) -> None:
    ended = place.run("read", "own", "note://one")
    assert (ended.code, ended.out) == (0, b"note")
    missing = place.run("read", "--json", "own", "note://two")
    assert (missing.code, missing.json["result"]) == (1, None)
    assert missing.json["error"] is not None


def test_a_prompt_is_filled_in(place: Desk) -> None:
    ended = place.run("prompt", "own", "greet", "name=Ann")
    assert (ended.code, ended.out) == (0, b"user: hello Ann\n")
    wrong = place.run("prompt", "own", "greet", "name")
    assert (wrong.code, wrong.out) == (2, b"")
    assert "name has no value (write KEY=VALUE)" in wrong.err
