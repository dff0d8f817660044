"""Where configuration and data are, and what is said of mistakes in them."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.cli.desk import NO_SERVER, desk
from tests.kit.bodies import text
from tests.kit.program import Programs

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
    "limits.steps, line 16",
    "protocoll, line 2",
    "providers.mine.base_url, line 4",
    "providers.mine.colour, line 5",
    "rules #1.action, line 14",
    "servers.a__b, line 6",
    "servers.two.url, line 10",
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


@pytest.mark.parametrize("place", ["typed", "environment", "home"])
def test_configuration_and_data_are_found_where_they_are_named(program: Programs, tmp_path: Path, place: str) -> None:
    config, data = tmp_path / "xdg" / "tui-host" / "config.toml", tmp_path / "data"
    config.parent.mkdir(parents=True)
    config.write_text(NO_SERVER)
    named = ("--config", str(config), "--data-dir", str(data)) if place == "typed" else ()
    env = {
        "typed": {},
        "environment": {"TUI_HOST_CONFIG": str(config), "TUI_HOST_DATA_DIR": str(data)},
        "home": {"HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path / "xdg")},
    }[place]
    ended = program.run("servers", *named, "list", "--json", env=env)
    assert ended.code == 0, ended.err
    assert [server["name"] for server in json.loads(ended.out)["servers"]] == ["off"]


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


@pytest.mark.parametrize("words", [(), ("ask",), ("servers", "check"), ("demo-model",)], ids=str)
def test_every_command_says_its_version_and_needs_no_configuration_for_it(
    program: Programs, words: tuple[str, ...]
) -> None:
    ended = program.run(*words, "--version", env={"TUI_HOST_CONFIG": "/nowhere"})
    assert (ended.code, ended.text.split()[0], ended.err) == (0, "tui-host", "")
