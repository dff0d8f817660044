"""The command line's grammar: which command the words mean, with which options; and what is said of words that mean none."""

from collections.abc import Generator
from pathlib import Path

import pytest

from tests.cli.desk import NO_SERVER, Desk, desk
from tests.kit.program import Programs
from tui_host.cli.arguments import read_arguments
from tui_host.cli.table import COMMANDS
from tui_host.errors import SettingsError


@pytest.mark.parametrize(
    ("words", "means"),
    [
        ([], {"command": "", "server": (), "no_record": False, "config": None}),
        (["--config", "c", "sessions", "list"], {"command": "sessions list", "config": Path("c")}),
        (["sessions", "list", "--config", "c"], {"command": "sessions list", "config": Path("c")}),
        (["--data-dir", "d", "https://d.example"], {"server": ("https://d.example",), "data_dir": Path("d")}),
        (["--config", "c", "--", "uvx", "ask", "--json", "; touch x"],
         {"server": ("uvx", "ask", "--json", "; touch x"), "config": Path("c")}),
        (["ask", "--", "--is this a question?"], {"text": "--is this a question?", "json": False}),
        (["ask", "hi", "--allow", "a.*", "--allow", "b.c", "--yes", "--max-steps", "3", "--no-record"],
         {"text": "hi", "allow": ["a.*", "b.c"], "yes": True, "max_steps": 3, "no_record": True, "model": None}),
        (["servers", "add", "x", "--env", "A=1", "--", "y", "--env", "--", "z"],
         {"words": ["x"], "env": ["A=1"], "server": ("y", "--env", "--", "z")}),
        (["call", "math", "--json", "add", "{}"], {"words": ["math", "add", "{}"], "json": True}),
        (["sessions", "show", "last", "--changes", "3", "5"], {"changes": ["3", "5"], "bill": None}),
        (["sessions", "prune", "--older-than", "2h", "--max", "5GB"], {"older_than": 7200, "max": 5_000_000_000}),
        (["tap", "llm", "--upstream", "https://x", "--allow-host", "h"], {"port": 8321, "allow_host": ["h"]}),
        (["--config", "c", "demo-model", "--data-dir", "d", "--port", "0", "--config=e"],
         {"words": ["--port", "0"], "config": Path("e")}),
        (["conformance", "--", "x", "--y"], {"server": ("x", "--y")}),
    ],
)  # fmt: skip
def test_words_mean_a_command_with_its_options(words: list[str], means: dict[str, object]) -> None:
    command, args = read_arguments(words)
    assert args.command == command.name
    assert {name: vars(args)[name] for name in means} == means


@pytest.mark.parametrize(
    ("typed", "told"),
    [
        ("--modle demo/openai", "there is no option --modle (did you mean --model? see tui-host --help)"),
        ("ask hi --jsn", "ask: there is no option --jsn (did you mean --json? see tui-host ask --help)"),
        ("--", "no command after -- (write tui-host -- COMMAND ARGUMENTS…)"),
        ("ask", "ask: the following arguments are required: TEXT (see tui-host ask --help)"),
        ("ask x y", "ask: unrecognized arguments: y (see "),
        ("ask x --max-steps 0", "ask: argument --max-steps: found '0', expected a whole number, 1 or more (see "),
        ("ask x --session=", "ask: argument --session: found nothing, expected a name (see "),
        ("--data-dir= ask x", "argument --data-dir: found nothing, expected a path (see tui-host --help)"),
        ("sessions", "sessions: the following arguments are required: ACTION (see "),
        ("sessions lost", "sessions: argument ACTION: invalid choice: 'lost' (choose from 'list', 'show', "),
        ("sessions show --time", "sessions show: the following arguments are required: ID, before the options (see "),
        ("tap llm --upstream https://x --allow-origin https://y/",
         "tap llm: argument --allow-origin: found 'https://y/'"),
    ],
)  # fmt: skip
def test_words_that_mean_nothing_are_told_with_a_remedy(typed: str, told: str) -> None:
    with pytest.raises(SettingsError) as caught:
        read_arguments(typed.split())
    assert str(caught.value).startswith(told)


def test_every_command_has_a_help(capsys: pytest.CaptureFixture[str]) -> None:
    for command in COMMANDS:
        if command.name not in {"conformance", "demo-model"}:  # the help of the demo model is its own
            with pytest.raises(SystemExit, match="0"):
                read_arguments([*command.name.split(), "--help"])
            assert capsys.readouterr().out.startswith(f"usage: tui-host {command.name} ")


@pytest.fixture(scope="module")
def place(program: Programs, tmp_path_factory: pytest.TempPathFactory) -> Generator[Desk]:
    with desk(program, tmp_path_factory.mktemp("wrong"), servers=NO_SERVER) as found:
        yield found


@pytest.mark.parametrize(
    ("words", "remedies"),
    [
        ([], ["tui-host ask TEXT"]),
        (["ask", "--config", "/nowhere.toml", "hi"], ["/nowhere.toml: no such file"]),
        (["ask", "  ", "--json"], ["there is no question"]),
        (["ask", "-", "--json"], ["not UTF-8"]),
        (["ask", "hi", "--no-record", "--session", "last"], ["leave one out"]),
        (["ask", "hi", "--model", "nobody/m", "--json"], ['--model: no provider "nobody"']),
        (["ask", "hi", "--elicit", "seats"], ["--elicit: seats has no value (write FIELD=VALUE)"]),
        (["ask", "hi", "--root", "/no"], ["--root: there is no folder /no"]),
        (["ask", "hi", "--attach", "/"], ["tui-host: --attach: "]),
        (["compare", "hi", "--json", "--with", "nobody/m", "--with", "mine"],
         ['no provider "nobody"', 'found "mine", expected PROVIDER/MODEL (write mine/MODEL)']),
        (["compare", "hi", "--with", "demo/openai:clin"], ['demo has no model "openai:clin"']),
        (["compare", "hi", "--with", "mine/m", "--with", "mine/m:native"], ["twice"]),
        (["compare", "hi", "--json"], ["--with"]),
        (["models", "deepsek"], ["tui-host: models: no provider deepsek (choose from mine, openai,"]),
        (["call", "off", "echo", "{'text': 1}"], ["the arguments are not JSON"]),
        (["prompt", "off", "greet", "name"], ["name has no value (write KEY=VALUE)"]),
        (["servers", "check", "off", "of"], ["tui-host: servers: no server of (choose from off)"]),
        (["servers", "check", "--call", "add", "{}"], ["--call"]),
        (["servers", "login", "guardian"], ["guardian"]),
        (["conformance"], ["write a URL, or -- and a command"]),
    ],
    ids=" ".join,
)  # fmt: skip
def test_wrong_use_names_its_remedies_and_asks_nobody(place: Desk, words: list[str], remedies: list[str]) -> None:
    ended = place.run(*words, stdin=b"\xff\xfe")
    assert (ended.code, ended.out) == (2, b"")
    for line, remedy in zip(ended.err.splitlines(keepends=True), remedies, strict=True):
        assert remedy in line
    assert place.provider.requests == []
    assert not place.data.exists()
