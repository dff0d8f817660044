"""Calls, reads and prompts: what they print, what they point out, what servers ask meanwhile, and the calls of the official suite."""

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
from tui_host.errors import JSON

OFF = "enabled = false\n"


@pytest.fixture(scope="module")
def place(program: Programs, tmp_path_factory: pytest.TempPathFactory) -> Generator[Desk]:
    servers = sdk_configured("own") + OFF + RICH.table("rich", OFF)
    with desk(program, tmp_path_factory.mktemp("requests"), servers=servers) as found:
        yield found


def test_a_call_prints_its_result_and_is_kept_as_a_session_with_its_frames(place: Desk) -> None:
    ended = place.run("call", "own", "echo", "-", stdin=b'{"text": "\\u001b[2Jhello"}')
    assert (ended.code, ended.out) == (0, "␛[2Jhello\n".encode())
    session = place.listed()[0]
    assert (session["source"], session["turns"], session["live"], session["model"]) == ("ask", 1, False, "")
    records = [json.loads(line) for line in place.run("sessions", "export", "last").text.splitlines()[1:]]
    asked = [record for record in records if '"tools/call"' in record.get("text", "")]
    assert [record["call"] for record in asked] == ["direct_1"]
    decision = next(json.loads(record["text"]) for record in records if record["kind"] == "decision")
    assert (decision["decision"], decision["by"], decision["sent"]) == ("approved", "person", {"text": "\x1b[2Jhello"})
    assert "**Call** `own.echo`" in place.run("sessions", "show", "last").text


def test_what_a_server_refuses_or_does_not_have_exits_with_1_and_a_remedy(place: Desk) -> None:
    ended = place.run("call", "--json", "own", "fail")
    assert (ended.code, ended.json["is_error"], ended.json["error"]) == (1, True, None)
    assert "fail reports an error" in ended.err
    unknown = place.run("call", "own", "ecko")
    assert (unknown.code, unknown.out) == (1, b"")
    assert "own: no tool ecko (did you mean echo?)" in unknown.err
    missing = place.run("read", "--json", "own", "note://two")
    assert (missing.code, missing.json["result"], bool(missing.json["error"])) == (1, None, True)


def test_a_result_that_does_not_fit_the_output_schema_is_told(place: Desk) -> None:
    ended = place.run("call", "rich", "everything")
    assert ended.code == 0
    assert "the result does not fit the output schema" in ended.err
    assert b"two note://two" in ended.out
    assert "the tool has a page, which is not shown: tui-host read rich ui://everything/page.html" in ended.err
    assert place.run("call", "--json", "rich", "nothing").json["output_errors"] != []


def test_a_resource_is_printed_exactly_and_a_prompt_filled_in(place: Desk) -> None:
    for words, out in (("read own note://one", b"note"), ("prompt own greet name=Ann", b"user: hello Ann\n")):
        ended = place.run(*words.split())
        assert (ended.code, ended.out) == (0, out)


# What is pointed out beside the answer


NUMBER = {"type": "object", "properties": {"n": {"type": "number"}}, "required": ["n"]}
COLOURS = {"type": "object", "properties": {"colour": {"type": "string"}, "size": {"type": "integer"}}}


def form(schema: object) -> list[dict[str, object]]:
    params = {"message": "Really?", "requestedSchema": schema}
    return [{"ask": "elicitation/create", "params": params}, {"answers": True}]


LOG = {"level": "debug", "logger": "l", "data": {"n": 2999}}
SCRIPT = {
    "instructions": "Add one\nat a time.",
    "tools": [*map(tool, ("confirm", "paint", "get[1]", "undeclared", "logs")), tool("add", inputSchema=NUMBER)],
    "prompts": [{"name": "greet", "description": "Greets."}, {"name": "part", "description": "Parts."}],
    "on": {
        "tools/call add": [{"text": "added"}],
        "tools/call confirm": form({"type": "object", "properties": {}}),
        "tools/call paint": form(COLOURS),
        "tools/call get[1]": [{"text": "got"}],
        "tools/call undeclared": [{"ask": "elicitation/create", "params": {"mode": "telepathy"}}, {"text": "asked"}],
        "tools/call logs": [{"notify": "notifications/message", "params": LOG, "times": 3000}, {"text": "logged"}],
    },
}


@pytest.fixture(scope="module")
def odd(program: Programs, tmp_path_factory: pytest.TempPathFactory) -> Generator[Desk]:
    answers = [asks(("odd__get_1_", "{}")), text("well")] * 2
    servers = mcp_server(SCRIPT).table("odd")
    rules = rule("odd.ad", "deny") + rule("odd.pai*", "ask") + rule("*.delete_*", "deny")
    with desk(program, tmp_path_factory.mktemp("odd"), *answers, servers=servers, more=rules) as found:
        yield found


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (["add", '{"n": "1"}'], 0, ["the arguments do not fit the schema of add: n: '1' is not of type 'number'"]),
        (["confirm"], 0, ["odd asked to confirm (Really?): declined: --confirm accepts"]),
        (["confirm", "--confirm"], 0, []),
        (["paint", "--elicit", "colour=red", "--elicit", "size=3"], 0, []),
        (["paint"], 0,
         ["odd asked for colour, size (Really?): declined: nothing was given; --elicit FIELD=VALUE answers"]),
        (
            ["paint", "--elicit", "size=3", "--elicit", "color=red"],
            1,
            [
                "odd asked for colour, size (Really?): declined: it has no field color (did you mean colour?)",
                "--elicit color: no form has this field; the fields are colour, size",
            ],
        ),
    ],
)  # fmt: skip
def test_a_call_points_out_what_was_not_meant(odd: Desk, words: list[str], code: int, told: list[str]) -> None:
    ended = odd.run("call", "odd", *words)
    assert (ended.code, ended.told.splitlines()) == (code, [f"tui-host: {line}" for line in told])


def test_a_refused_call_is_allowed_by_the_pattern_that_is_told(odd: Desk) -> None:
    lost = f"tui-host: the rule deny odd.ad in {odd.folder}/config.toml matches no tool of its server"
    lost += " (compare it with the tools' names in /mcp)\n"
    ended = odd.ask("go")
    refused = "a call was refused, because nobody can be asked here (allow with --allow 'odd.get*1*')"
    assert (ended.code, ended.told) == (3, f"{lost}tui-host: odd.'get[1]': {refused}\n")
    ended = odd.ask("go", "--allow", "odd.get*1*", "--allow", "odd.paintt", "--allow", "ood.paint")
    unfit = "--allow odd.paintt fits no tool of odd (did you mean paint?)"
    assert ended.code == 0
    assert ended.told == f"{lost}tui-host: {unfit}\ntui-host: --allow ood.paint fits no server (choose from odd)\n"


def test_check_says_the_instructions_and_a_call_what_was_refused_and_logged(odd: Desk) -> None:
    lines = odd.run("servers", "check", "odd").text.splitlines()
    assert "  instructions: Add one␊at a time." in lines
    assert "  prompts: greet, part" in lines
    refused = odd.run("call", "odd", "undeclared").err
    assert "odd: its question was refused: this mode of elicitation was not declared" in refused
    logged = odd.run("call", "odd", "logs").err
    assert 'log debug: l: {"n": 2999}' in logged
    assert "2,700 earlier log messages are not shown" in logged


def test_what_servers_ask_is_answered_by_flags(program: Programs, tmp_path: Path) -> None:
    tools = {"book": '{"train":"IC 1"}', "ask_the_model": "{}", "folders": "{}"}
    wished = [asks((f"asking__{name}", arguments)) for name, arguments in tools.items()]
    answers = (*wished[:2], text("blue"), wished[2], text("well"))
    with desk(program, tmp_path, *answers, servers=sdk_configured("asking")) as place:
        fields = ("--elicit", "seats=3", "--elicit", "window=no", "--elicit", "elsewhere=1")
        ended = place.ask("--yes", *fields, "--sampling", "--root", tmp_path, "go")
        assert ended.code == 0, ended.err
        told = str(place.provider.messages(-1))
        assert [words in told for words in ("IC 1: 3 plants False", "mine/m: blue", tmp_path.as_uri())] == [True] * 3
        sampled = json.loads(place.provider.bodies[2])
        assert [message["content"] for message in sampled["messages"]] == ["Be brief.", "Say blue."]
        assert (sampled["temperature"], 50 in sampled.values()) == (0.5, True)
        assert "the server asks the model" in place.run("sessions", "show", "last", "--chain", "1.2.1").text


# As the official suite runs it, which itself is in tests/interop


def test_the_calls_of_the_context_are_made_and_a_refusal_is_told_and_is_not_the_exit_code(place: Desk) -> None:
    def conform(*server: object, **call: JSON) -> tuple[int, str]:
        context = json.dumps({"name": "own", "toolCalls": [call]})
        ended = place.program.run("conformance", *place.places, *server, env={"MCP_CONFORMANCE_CONTEXT": context})
        return ended.code, ended.told

    own = ("--", *sdk_command("stdio"))
    assert conform(*own, name="add", arguments={"a": 1, "b": 2}) == (0, "")
    code, told = conform(*own, name="subtract", arguments={})
    assert (code, "no tool subtract" in told) == (1, True)
    refused = {"code": -32602, "message": "no network references"}
    server = mcp_server({"tools": [tool("look")], "on": {"tools/call": [{"error": refused}]}})
    code, told = conform("--", *server.argv, name="look", arguments={})
    assert (code, "error -32602: no network references" in told) == (0, True)
