"""`conformance`: the program as the official suite runs it. The suite itself runs in `tests/interop`."""

from __future__ import annotations

import json
from collections.abc import Generator

import pytest

from tests.cli.desk import NO_SERVER, Desk, desk
from tests.kit.mcp_server import mcp_server, tool
from tests.kit.program import Programs
from tests.servers.running import sdk_command
from tui_host.cli.commands.conformance import sample
from tui_host.errors import JSON


@pytest.fixture(scope="module")
def place(program: Programs, tmp_path_factory: pytest.TempPathFactory) -> Generator[Desk]:
    with desk(program, tmp_path_factory.mktemp("conformance"), servers=NO_SERVER) as found:
        yield found


def run(place: Desk, *server: object, calls: JSON) -> tuple[int, str]:
    context = json.dumps({"name": "own", "toolCalls": calls})
    ended = place.program.run("conformance", *place.places, *server, env={"MCP_CONFORMANCE_CONTEXT": context})
    return ended.code, ended.told


def test_the_calls_of_the_context_are_made_and_end_in_order(place: Desk) -> None:
    own = ("--", *sdk_command("stdio"))
    assert run(place, *own, calls=[{"name": "add", "arguments": {"a": 1, "b": 2}}]) == (0, "")
    code, told = run(place, *own, calls=[{"name": "subtract", "arguments": {}}])
    assert (code, "no tool subtract" in told) == (1, True)


def test_a_call_that_the_server_refuses_is_told_and_is_not_the_exit_code(place: Desk) -> None:
    refused = {"code": -32602, "message": "no network references"}
    server = mcp_server({"tools": [tool("look")], "on": {"tools/call": [{"error": refused}]}})
    code, told = run(place, "--", *server.argv, calls=[{"name": "look", "arguments": {}}])
    assert (code, "error -32602: no network references" in told) == (0, True)


def test_a_server_is_needed(place: Desk) -> None:
    code, told = run(place, calls=[])
    assert (code, "write a URL, or -- and a command" in told) == (2, True)


def test_a_sample_prefers_defaults_and_leaves_out_what_may_be_left_out() -> None:
    schema: JSON = {
        "type": "object",
        "properties": {
            "name": {"type": "string", "default": "Ann"},
            "age": {"type": "integer", "minimum": 18},
            "role": {"type": "string", "oneOf": [{"const": "a", "title": "A"}]},
            "note": {"type": "string"},
        },
        "required": ["age", "role"],
    }
    assert sample(schema) == {"name": "Ann", "age": 18, "role": "a"}
    assert sample(schema, optional=True) == {"name": "Ann", "age": 18, "role": "a", "note": "text"}
