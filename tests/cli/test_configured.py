"""Where configuration and data are, and what is said of mistakes in them."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.cli.desk import NO_SERVER, desk
from tests.cli.program import Programs
from tests.cli.provider import text

MISTAKES = """
protocoll = "native"
[providers.mine]
base_url = 7
colour = "red"
[servers.a__b]
command = "x"
[servers.two]
command = "x"
url = "https://docs.example/mcp"
[[rules]]
server = "x"
tool = "y"
action = "maybe"
[limits]
steps = -1
"""
KEYS = [
    "limits.steps",
    "protocoll",
    "providers.mine.base_url",
    "providers.mine.colour",
    "rules #1.action",
    "servers.a__b",
    "servers.two.url",
]


@pytest.mark.parametrize(
    "words", [("ask", "--json", "hi"), ("servers", "list"), ("sessions", "list", "--json")], ids=str
)
def test_all_mistakes_are_told_at_once_and_nothing_else_is_done(
    program: Programs, tmp_path: Path, words: tuple[str, ...]
) -> None:
    config = tmp_path / "bad.toml"
    config.write_text(MISTAKES)
    ended = program.run(*words, "--config", config, "--data-dir", tmp_path / "data")
    assert (ended.code, ended.out) == (2, b"")
    lines = ended.err.splitlines()
    start = f"tui-host: {config}: "
    assert all(line.startswith(start) and line.endswith(")") for line in lines), lines
    assert sorted(line.removeprefix(start).partition(": ")[0] for line in lines) == KEYS
    assert not (tmp_path / "data").exists()


@pytest.mark.parametrize("place", ["before", "after", "between", "environment", "home"])
def test_configuration_and_data_are_found_where_they_are_named(program: Programs, tmp_path: Path, place: str) -> None:
    config, data = tmp_path / "config.toml", tmp_path / "data"
    config.write_text(NO_SERVER)
    named = ("--config", str(config), "--data-dir", str(data))
    env: dict[str, str] = {}
    words = ("servers", "list", "--json")
    if place == "environment":
        env = {"TUI_HOST_CONFIG": str(config), "TUI_HOST_DATA_DIR": str(data)}
    elif place == "home":
        env = {"HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path / "xdg")}
        (tmp_path / "xdg" / "tui-host").mkdir(parents=True)
        config.rename(tmp_path / "xdg" / "tui-host" / "config.toml")
    else:
        words = {
            "before": (*named, *words),
            "after": (*words, *named),
            "between": ("servers", *named, "list", "--json"),
        }[place]
    ended = program.run(*words, env=env)
    assert ended.code == 0, ended.err
    assert [server["name"] for server in json.loads(ended.out)["servers"]] == ["off"]


def test_the_data_folder_is_the_platforms_the_variables_or_the_one_that_is_typed(
    program: Programs, tmp_path: Path
) -> None:
    with desk(program, tmp_path, text("one"), text("two"), text("three")):
        words = ("ask", "hi", "--config", tmp_path / "config.toml")
        env = {"MY_KEY": "12345678", "XDG_DATA_HOME": str(tmp_path / "home")}
        variable = {**env, "TUI_HOST_DATA_DIR": str(tmp_path / "variable")}
        for given, option in ((env, ()), (variable, ()), (variable, ("--data-dir", tmp_path / "typed"))):
            assert program.run(*option, *words, env=given).code == 0
    assert (tmp_path / "home" / "tui-host" / "tui-host.db").is_file()
    for folder in ("variable", "typed"):
        assert (tmp_path / folder / "tui-host.db").stat().st_mode & 0o077 == 0


def test_a_database_of_a_newer_version_is_wrong_use_and_is_left_as_it_is(program: Programs, tmp_path: Path) -> None:
    with desk(program, tmp_path, text("one")) as place:
        assert place.ask("hi").code == 0
        database = place.data / "tui-host.db"
        with closing(sqlite3.connect(database)) as connection:
            connection.execute("PRAGMA user_version = 99")
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        before = database.read_bytes()
        for words in (("ask", "--json", "hi"), ("sessions", "list", "--json"), ("sessions", "delete", "last")):
            ended = place.run(*words)
            assert (ended.code, ended.out) == (2, b"")
            assert ended.err.startswith(f"tui-host: {database}: the database was written by a newer tui-host (form 99,")
            assert ended.err.endswith("(update tui-host, or choose another place with --data-dir)\n")
            assert database.read_bytes() == before
        assert len(place.provider.requests) == 1


def test_a_model_that_is_not_set_fails_only_what_needs_it(program: Programs, tmp_path: Path) -> None:
    with desk(program, tmp_path, text("one")) as place:
        config = tmp_path / "config.toml"
        config.write_text(config.read_text().replace('"mine/m"', '"${MODEL_OF_MINE}"'))
        assert place.run("servers", "list").code == place.run("sessions", "list").code == 0
        assert place.ask("hi", "--model", "mine/m").out == b"one\n"
        ended = place.ask("hi")
        assert (ended.code, ended.out) == (2, b"")
        assert f"{config}: model: MODEL_OF_MINE is not set" in ended.err
        assert place.run("ask", "hi", env={"MODEL_OF_MINE": "nobody/m"}).code == 2


def test_what_the_app_saved_twice_is_told_and_the_persons_file_wins(program: Programs, tmp_path: Path) -> None:
    with desk(program, tmp_path, text("one")) as place:
        (tmp_path / "servers.d").mkdir()
        (tmp_path / "servers.d" / "off.toml").write_text('command = "false"\n')
        told = [place.ask("hi"), place.run("servers", "list"), place.run("sessions", "list")]
    assert told[0].out == b"one\n"
    for ended in told:
        assert ended.code == 0
        assert ended.err.count("\n") == 1
        assert "servers.off is defined in" in ended.err
        assert "config.toml wins" in ended.err


@pytest.mark.parametrize(
    "words",
    [(), ("ask",), ("servers",), ("servers", "check"), ("sessions",), ("sessions", "export"), ("demo-model",)],
    ids=str,
)
def test_every_command_says_its_version_and_needs_no_configuration_for_it(
    program: Programs, words: tuple[str, ...]
) -> None:
    ended = program.run(*words, "--version", env={"TUI_HOST_CONFIG": "/nowhere"})
    assert (ended.code, ended.text.split()[0], ended.err) == (0, "tui-host", "")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--frob",), "--frob"),
        (("nonsense",), "nonsense"),
        (("servers",), "ACTION"),
        (("sessions", "show"), "ID"),
        (("sessions", "export", "last", "--format", "xml"), "xml"),
        (("ask", "hi", "--data", "x"), "--data"),
        (("--",), "no command"),
        (("demo-model", "--port", "x"), "'x' is no port"),
        (("--data-dir", "d", "demo-model", "--nope"), "--nope"),
    ],
    ids=str,
)
def test_wrong_words_are_told_in_one_line_with_a_remedy(program: Programs, words: tuple[str, ...], said: str) -> None:
    ended = program.run(*words)
    assert (ended.code, ended.out) == (2, b"")
    assert ended.err.startswith("tui-host: ")
    assert said in ended.err
    assert ended.err.endswith(")\n")
    assert ended.err.count("\n") == 1
