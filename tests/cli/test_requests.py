"""Calls, reads and prompts: what they print, what they point out, what servers ask meanwhile, and the calls of the official suite."""

from __future__ import annotations

import json
from collections.abc import Generator
from pathlib import Path

import pytest

from tests.cli.desk import Desk, desk, rule
from tests.kit.bodies import asks, text
from tests.kit.mcp_server import mcp_server, tool
from tests.kit.program import Programs
from tests.servers.rich_server import RICH
from tests.servers.running import sdk_command, sdk_configured
from tui_host.cli.commands.conformance import sample
from tui_host.errors import JSON

OFF = "enabled = false\n"


@pytest.fixture(scope="module")
def place(program: Programs, tmp_path_factory: pytest.TempPathFactory) -> Generator[Desk]:
    servers = sdk_configured("own") + OFF + RICH.table("rich", OFF)
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
    assert "**Call** `own.echo`" in place.run("sessions", "show", "last").text


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


def test_an_unknown_tool_names_the_remedy(place: Desk) -> None:
    unknown = place.run("call", "own", "ecko")
    assert (unknown.code, unknown.out) == (1, b"")
    assert "own: no tool ecko (did you mean echo?)" in unknown.err


def test_a_resource_is_printed_exactly(place: Desk, tmp_path: Path) -> None:
    ended = place.run("read", "own", "note://one")
    assert (ended.code, ended.out) == (0, b"note")
    missing = place.run("read", "--json", "own", "note://two")
    assert (missing.code, missing.json["result"]) == (1, None)
    assert missing.json["error"] is not None


def test_a_prompt_is_filled_in(place: Desk) -> None:
    ended = place.run("prompt", "own", "greet", "name=Ann")
    assert (ended.code, ended.out) == (0, b"user: hello Ann\n")


# What is pointed out beside the answer


NUMBER = {"type": "object", "properties": {"n": {"type": "number"}}, "required": ["n"]}
COLOURS = {"type": "object", "properties": {"colour": {"type": "string"}, "size": {"type": "integer"}}}


def form(schema: object) -> list[dict[str, object]]:
    """Steps of a tool that asks for a form and tells what was answered."""
    params = {"message": "Really?", "requestedSchema": schema}
    return [{"ask": "elicitation/create", "params": params}, {"answers": True}]


SCRIPT = {
    "instructions": "Add one\nat a time.",
    "tools": [tool("add", inputSchema=NUMBER), tool("confirm"), tool("paint"), tool("get[1]")],
    "prompts": [{"name": "greet", "description": "Greets."}, {"name": "part", "description": "Parts."}],
    "on": {
        "tools/call add": [{"text": "added"}],
        "tools/call confirm": form({"type": "object", "properties": {}}),
        "tools/call paint": form(COLOURS),
        "tools/call get[1]": [{"text": "got"}],
    },
}


@pytest.fixture(scope="module")
def odd(program: Programs, tmp_path_factory: pytest.TempPathFactory) -> Generator[Desk]:
    answers = [asks(("odd__get_1_", "{}")), text("well")] * 3
    servers = mcp_server(SCRIPT).table("odd")
    rules = rule("odd.ad", "deny") + rule("odd.pai*", "ask") + rule("*.delete_*", "deny")
    with desk(program, tmp_path_factory.mktemp("odd"), *answers, servers=servers, more=rules) as found:
        yield found


FIELDS = "the fields are colour, size"


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (["add", '{"n": 1}'], 0, []),
        (["add", '{"n": "1"}'], 0, ["the arguments do not fit the schema of add: n: '1' is not of type 'number'"]),
        (["add"], 0, ["the arguments do not fit the schema of add: 'n' is a required property"]),
        (["confirm"], 0, ["odd asked to confirm (Really?): declined: --confirm accepts"]),
        (["confirm", "--confirm"], 0, []),
        (["paint", "--elicit", "colour=red", "--elicit", "size=3"], 0, []),
        (
            ["paint"],
            0,
            ["odd asked for colour, size (Really?): declined: nothing was given; --elicit FIELD=VALUE answers"],
        ),
        (
            ["paint", "--elicit", "size=3", "--elicit", "color=red"],
            1,
            [
                "odd asked for colour, size (Really?): declined: it has no field color (did you mean colour?)",
                f"--elicit color: no form has this field; {FIELDS}",
            ],
        ),
        (["paint", "--elicit", "size=3", "--elicit", "x=1"], 1, [f"--elicit x: no form has this field; {FIELDS}"]),
    ],
    ids=str,
)
def test_a_call_points_out_what_was_not_meant(odd: Desk, words: list[str], code: int, told: list[str]) -> None:
    ended = odd.run("call", "odd", *words)
    assert (ended.code, ended.told.splitlines()) == (code, [f"tui-host: {line}" for line in told])


def test_a_refused_call_is_allowed_by_the_pattern_that_is_told(odd: Desk) -> None:
    lost = f"tui-host: the rule deny odd.ad in {odd.folder}/config.toml matches no tool of its server"
    lost += " (compare it with the tools' names in f3)\n"
    ended = odd.ask("go")
    refused = "a call was refused, because nobody can be asked here (allow with --allow 'odd.get*1*')"
    assert (ended.code, ended.told) == (3, f"{lost}tui-host: odd.'get[1]': {refused}\n")
    ended = odd.ask("go", "--allow", "odd.get*1*", "--allow", "odd.paintt", "--allow", "ood.paint")
    unfit = "--allow odd.paintt fits no tool of odd (did you mean paint?)"
    assert ended.code == 0
    assert ended.told == f"{lost}tui-host: {unfit}\ntui-host: --allow ood.paint fits no server (choose from odd)\n"


def test_check_says_the_instructions_and_names_the_prompts(odd: Desk) -> None:
    lines = odd.run("servers", "check", "odd").text.splitlines()
    assert "  instructions: Add one␊at a time." in lines
    assert "  prompts: greet, part" in lines


# What servers ask is answered by flags


BOOK = ("asking__book", '{"train":"IC 1"}')


def asking() -> str:
    return sdk_configured("asking")


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_ask_fills_in_a_form_by_its_flags(program: Programs, tmp_path: Path, mode: str) -> None:
    servers = f'{asking()}mode = "{mode}"\n'
    with desk(program, tmp_path, asks(BOOK), text("booked"), servers=servers) as place:
        ended = place.ask("--yes", "--elicit", "seats=3", "--elicit", "window=no", "--elicit", "elsewhere=1", "go")
        assert ended.code == 0, ended.err
        assert "IC 1: 3 plants False" in str(place.provider.messages(-1))


def test_ask_lets_a_server_ask_the_model_and_know_a_folder(program: Programs, tmp_path: Path) -> None:
    wished = asks(("asking__ask_the_model", "{}"), ("asking__folders", "{}"))
    with desk(program, tmp_path, wished, text("blue"), text("well"), servers=asking()) as place:
        ended = place.ask("--yes", "--sampling", "--root", tmp_path, "go")
        assert ended.code == 0, ended.err
        told = str(place.provider.messages(-1))
        assert "mine/m: blue" in told
        assert tmp_path.as_uri() in told


def test_a_call_tells_what_was_refused_and_what_the_server_logged(program: Programs, tmp_path: Path) -> None:
    line = {"level": "debug", "logger": "l", "data": {"n": 2999}}
    on = {
        "tools/call undeclared": [{"ask": "elicitation/create", "params": {"mode": "telepathy"}}, {"text": "asked"}],
        "tools/call logs": [{"notify": "notifications/message", "params": line, "times": 3000}, {"text": "logged"}],
    }
    frames = mcp_server({"tools": [tool("undeclared"), tool("logs")], "on": on})
    with desk(program, tmp_path, servers=frames.table("frames")) as place:
        ended = place.run("call", "frames", "undeclared")
        assert "frames: its question was refused: this mode of elicitation was not declared" in ended.err
        ended = place.run("call", "frames", "logs")
        assert 'log debug: l: {"n": 2999}' in ended.err
        assert "2,700 earlier log messages are not shown" in ended.err


# As the official suite runs it, which itself is in tests/interop


def conform(place: Desk, *server: object, calls: JSON) -> tuple[int, str]:
    context = json.dumps({"name": "own", "toolCalls": calls})
    ended = place.program.run("conformance", *place.places, *server, env={"MCP_CONFORMANCE_CONTEXT": context})
    return ended.code, ended.told


def test_the_calls_of_the_context_are_made_and_end_in_order(place: Desk) -> None:
    own = ("--", *sdk_command("stdio"))
    assert conform(place, *own, calls=[{"name": "add", "arguments": {"a": 1, "b": 2}}]) == (0, "")
    code, told = conform(place, *own, calls=[{"name": "subtract", "arguments": {}}])
    assert (code, "no tool subtract" in told) == (1, True)


def test_a_call_that_the_server_refuses_is_told_and_is_not_the_exit_code(place: Desk) -> None:
    refused = {"code": -32602, "message": "no network references"}
    server = mcp_server({"tools": [tool("look")], "on": {"tools/call": [{"error": refused}]}})
    code, told = conform(place, "--", *server.argv, calls=[{"name": "look", "arguments": {}}])
    assert (code, "error -32602: no network references" in told) == (0, True)


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
