"""Taps in the texts of other hosts' configurations: put in, taken out, and nothing else touched."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from tests.tap.host_files import CLAUDE_CODE, SAMPLES
from tui_host.errors import JSON
from tui_host.settings.hosts.host_entries import servers_in
from tui_host.settings.hosts.jsonc import PlacedValue, parse
from tui_host.settings.hosts.known_hosts import KnownHost, known_host
from tui_host.tap.stdio_arguments import read_stdio_arguments
from tui_host.tap.tap_insertion import differences, install, uninstall

PROGRAM = ("/opt/tui host/bin/tui-host", "tap", "stdio")
FORMS: dict[str, Callable[[str], str]] = {
    "as written": str,
    "CRLF": lambda text: text.replace("\n", "\r\n"),
    "BOM": lambda text: f"\ufeff{text}",
    "tabs": lambda text: text.replace("  ", "\t"),
    "wide": lambda text: json.dumps(value_of(parse(text, "a.json")), indent=4),
    "in one line": lambda text: json.dumps(value_of(parse(text, "a.json")), separators=(",", ":")),
}
"""The same file as different hands and hosts leave it."""


def value_of(node: PlacedValue | None) -> JSON:
    return None if node is None else node.value


def words_of(text: str, host: KnownHost) -> dict[tuple[str, ...], tuple[str, ...]]:
    return {entry.place: entry.words for entry in servers_in(text, host, "") if entry.words}


def tapped(text: str, host: KnownHost, *names: str) -> str:
    return install(text, servers_in(text, host, ""), names, PROGRAM).text


def untapped(text: str, host: KnownHost, *names: str) -> str:
    return uninstall(text, servers_in(text, host, ""), names).text


def without_words(value: JSON) -> JSON:
    """A file's value without any command and arguments."""
    if isinstance(value, dict):
        return {key: without_words(member) for key, member in value.items() if key not in {"command", "args"}}
    return value


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("name", "sample"), SAMPLES, ids=[name for name, _ in SAMPLES])
def test_what_was_tapped_and_untapped_is_the_same_to_the_letter(name: str, sample: str, form: str) -> None:
    text, host = FORMS[form](sample), known_host(name)
    written = tapped(text, host)
    before, after = words_of(text, host), words_of(written, host)
    assert before
    for place, words in before.items():
        tap = read_stdio_arguments(after[place][1:])
        assert tap is not None
        assert (after[place][0], tap.name, tap.command) == (PROGRAM[0], place[-1], words)
    assert without_words(value_of(parse(written, ""))) == without_words(value_of(parse(text, "a.json")))
    assert tapped(written, host) == written
    assert untapped(written, host) == text


def test_only_the_named_servers_are_tapped_in_every_project_that_has_them() -> None:
    host = known_host("claude-code")
    written = tapped(CLAUDE_CODE, host, "db")
    changes = differences(servers_in(CLAUDE_CODE, host, ""), servers_in(written, host, ""))
    assert [change.place for change in changes] == [
        ("projects", f"/home/ann/{project}", "mcpServers", "db") for project in ("shop", "wiki")
    ]
    assert untapped(written, host, "memory") == written
    assert untapped(written, host, "db") == CLAUDE_CODE


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("vscode", "// not node", "// never node"),
        ("claude-desktop", '"WEATHER_KEY": "wk-51f0c2aa9b"', '"WEATHER_KEY": "another", "B": "1"'),
        ("cursor", "\t\t\t\t", "        "),
    ],
)
def test_what_a_person_changed_since_stays(name: str, old: str, new: str) -> None:
    text, host = dict(SAMPLES)[name], known_host(name)
    changed = tapped(text, host).replace(old, new)
    assert untapped(changed, host) == text.replace(old, new) != text


@pytest.mark.parametrize(
    ("server", "why"),
    [
        ('{"command": "/usr/bin/tui-host", "args": ["tap", "stdio", "it", "--", "x"]}', "tapped already"),
        ('{"command": "uvx", "args": ["tui-host", "tap", "stdio", "it", "x", "-v"]}', "tapped already"),
        ('{"command": "npx -y server"}', "its command is a line for a shell; split it into command and args first"),
        ('{"command": "x", "args": "-y"}', "its arguments are not a list of strings"),
        ('{"command": "", "args": []}', "its command is not text, or is empty"),
        ('{"command": "node", "dev": {"debug": {}}}', "its host starts it under a debugger; remove «debug» first"),
        ('{"env": {}}', "neither a command nor a URL"),
    ],
)
def test_what_cannot_be_tapped_is_left_as_it_is_with_a_reason(server: str, why: str) -> None:
    text = f'{{"mcpServers": {{"it": {server}}}}}'
    outcome = install(text, servers_in(text, known_host("cursor"), ""), (), PROGRAM)
    assert (outcome.text, [server.why for server in outcome.skipped]) == (text, [why])


@pytest.mark.parametrize("name", ["-x", "", "a b", "é/@", "${HOME}", "a\u0000\ud83d"])
def test_any_name_of_a_server_becomes_a_word_of_the_tap(name: str) -> None:
    host = known_host("cursor")
    text = json.dumps({"mcpServers": {name: {"command": "x", "args": ["-y"]}}})
    (words,) = words_of(tapped(text, host), host).values()
    tap = read_stdio_arguments(words[1:])
    assert tap is not None
    assert tap.command == ("x", "-y")
    assert "$" not in tap.name
    assert tap.name.encode()


def test_taps_that_were_written_by_hand_are_taken_out_too() -> None:
    by_hand = (
        '{"mcpServers": {"it": {"command": "uvx", "args": ["tui-host", "tap", "stdio", "--log=-", "it", "npx", "-y"]}}}'
    )
    assert untapped(by_hand, known_host("cursor")) == '{"mcpServers": {"it": {"command": "npx", "args": ["-y"]}}}'


@pytest.mark.parametrize("text", ["", " \r\n", "\ufeff", "// nothing yet\n", "{}", "[]", "3", '{"mcpServers": null}'])
def test_a_file_without_servers_has_nothing_to_tap(text: str) -> None:
    outcome = install(text, servers_in(text, known_host("cursor"), ""), (), PROGRAM)
    assert (outcome.text, outcome.skipped) == (text, ())
