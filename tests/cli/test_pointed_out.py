"""What a command points out beside its answer: mistakes in flags, rules and arguments, each in one whole sentence."""

from __future__ import annotations

from collections.abc import Generator

import pytest

from tests.cli.desk import Desk, desk, rule
from tests.kit.bodies import asks, text
from tests.kit.mcp_server import mcp_server, tool
from tests.kit.program import Programs

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
def place(program: Programs, tmp_path_factory: pytest.TempPathFactory) -> Generator[Desk]:
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
def test_a_call_points_out_what_was_not_meant(place: Desk, words: list[str], code: int, told: list[str]) -> None:
    ended = place.run("call", "odd", *words)
    assert (ended.code, ended.told.splitlines()) == (code, [f"tui-host: {line}" for line in told])


def test_a_refused_call_is_allowed_by_the_pattern_that_is_told(place: Desk) -> None:
    lost = f"tui-host: the rule deny odd.ad in {place.folder}/config.toml matches no tool of its server"
    lost += " (compare it with the tools' names in f3)\n"
    ended = place.ask("go")
    refused = "a call was refused, because nobody can be asked here (allow with --allow 'odd.get*1*')"
    assert (ended.code, ended.told) == (3, f"{lost}tui-host: odd.'get[1]': {refused}\n")
    ended = place.ask("go", "--allow", "odd.get*1*", "--allow", "odd.paintt")
    assert ended.code == 0
    assert ended.told == f"{lost}tui-host: --allow odd.paintt fits no tool of odd (did you mean paint?)\n"


def test_a_pattern_that_no_option_takes_says_how_to_write_it(place: Desk) -> None:
    ended = place.ask("go", "--allow", "odd.get[1]")
    assert (ended.code, ended.told) == (
        2,
        'tui-host: --allow: found "odd.get[1]", expected SERVER.TOOL (write * for brackets and other signs: odd.get*1*)\n',
    )


def test_check_says_the_instructions_and_names_the_prompts(place: Desk) -> None:
    lines = place.run("servers", "check", "odd").text.splitlines()
    assert "  instructions: Add one␊at a time." in lines
    assert "  prompts: greet, part" in lines
