"""The command line's grammar: which command the words mean, with which options; and what is said of words that mean none."""

from __future__ import annotations

import argparse
from pathlib import Path

import pytest

from tui_host.cli.arguments import read_arguments
from tui_host.cli.table import COMMANDS
from tui_host.errors import SettingsError


def read(words: list[str]) -> argparse.Namespace:
    command, args = read_arguments(words)
    assert args.command == command.name
    return args


@pytest.mark.parametrize(
    ("words", "means"),
    [
        ([], {"command": "", "server": (), "no_record": False, "config": None}),
        (["--config", "c", "sessions", "list"], {"command": "sessions list", "config": Path("c")}),
        (["sessions", "list", "--config", "c"], {"command": "sessions list", "config": Path("c")}),
        (["sessions", "--config", "c", "list"], {"command": "sessions list", "config": Path("c")}),
        (
            ["--data-dir", "d", "https://docs.example/mcp"],
            {"command": "", "server": ("https://docs.example/mcp",), "data_dir": Path("d")},
        ),
        (
            ["--config", "c", "--", "uvx", "ask", "--json", "; touch x"],
            {"server": ("uvx", "ask", "--json", "; touch x"), "config": Path("c")},
        ),
        (["ask", "--", "--is this a question?"], {"text": "--is this a question?", "json": False}),
        (
            ["ask", "hi", "--allow", "a.*", "--allow", "b.c", "--yes", "--max-steps", "3", "--no-record"],
            {"text": "hi", "allow": ["a.*", "b.c"], "yes": True, "max_steps": 3, "no_record": True, "model": None},
        ),
        (
            ["servers", "add", "--header", "X: y", "docs", "https://d"],
            {"words": ["docs", "https://d"], "header": ["X: y"]},
        ),
        (
            ["servers", "add", "x", "--env", "A=1", "--", "y", "--env", "--", "z"],
            {"words": ["x"], "env": ["A=1"], "server": ("y", "--env", "--", "z")},
        ),
        (["call", "math", "--json", "add", "{}"], {"words": ["math", "add", "{}"], "json": True}),
        (["sessions", "show", "last", "--changes", "3", "5"], {"changes": ["3", "5"], "bill": None}),
        (["sessions", "prune", "--older-than", "2h", "--max", "5GB"], {"older_than": 7200, "max": 5_000_000_000}),
        (["tap", "llm", "--upstream", "https://x", "--allow-host", "h"], {"port": 8321, "allow_host": ["h"]}),
        (["demo-model", "--port", "0"], {"words": ["--port", "0"]}),
        (
            ["--config", "c", "demo-model", "--data-dir", "d", "--port", "0", "--config=e"],
            {"words": ["--port", "0"], "config": Path("e")},
        ),
        (["conformance", "--", "x", "--y"], {"server": ("x", "--y")}),
    ],
    ids=str,
)
def test_words_mean_a_command_with_its_options(words: list[str], means: dict[str, object]) -> None:
    args = vars(read(words))
    assert {name: args[name] for name in means} == means


@pytest.mark.parametrize(
    ("typed", "told"),
    [
        ("--frob", "there is no option --frob (see tui-host --help)"),
        ("--modle demo/openai", "there is no option --modle (did you mean --model? see tui-host --help)"),
        ("ask hi --jsn", "ask: there is no option --jsn (did you mean --json? see tui-host ask --help)"),
        (
            "servers add docs --haeder X:y https://d",
            "servers add: there is no option --haeder (did you mean --header? see tui-host servers add --help)",
        ),
        ("--", "no command after -- (write tui-host -- COMMAND ARGUMENTS…)"),
        ("ask", "ask: the following arguments are required: TEXT (see tui-host ask --help)"),
        ("ask x y", "ask: unrecognized arguments: y (see tui-host ask --help)"),
        (
            "ask x --max-steps 0",
            "ask: argument --max-steps: found '0', expected a whole number, 1 or more (see tui-host ask --help)",
        ),
        ("ask x --session=", "ask: argument --session: found nothing, expected a name (see tui-host ask --help)"),
        ("--data-dir= ask x", "argument --data-dir: found nothing, expected a path (see tui-host --help)"),
        ("sessions", "sessions: the following arguments are required: ACTION (see tui-host sessions --help)"),
        (
            "sessions lost",
            (
                "sessions: argument ACTION: invalid choice: 'lost' (choose from 'list', 'show', 'search', 'export', 'join', 'part', "
                "'link', 'delete', 'import', 'prune') (see tui-host sessions --help)"
            ),
        ),
        (
            "sessions show --time",
            "sessions show: the following arguments are required: ID, before the options (see tui-host sessions show --help)",
        ),
        (
            "sessions show last --time --bill",
            "sessions show: argument --bill: not allowed with argument --time (see tui-host sessions show --help)",
        ),
        (
            "tap llm --upstream https://x --allow-origin https://y/",
            (
                "tap llm: argument --allow-origin: found 'https://y/', expected an origin without a path, such as app://obsidian.md "
                "(see tui-host tap llm --help)"
            ),
        ),
    ],
)
def test_words_that_mean_nothing_are_told_with_a_remedy(typed: str, told: str) -> None:
    with pytest.raises(SettingsError) as caught:
        read_arguments(typed.split())
    assert str(caught.value) == told


@pytest.mark.parametrize("command", [command.name for command in COMMANDS if command.name != "conformance"])
def test_every_command_has_a_help(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    if command == "demo-model":  # its help is its own
        return
    with pytest.raises(SystemExit) as ended:
        read_arguments([*command.split(), "--help"])
    assert ended.value.code == 0
    assert capsys.readouterr().out.startswith(f"usage: tui-host {command} ")
