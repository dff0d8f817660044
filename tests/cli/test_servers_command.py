"""`servers`: what is configured, and what each server offers when it is asked."""

from __future__ import annotations

import json
from collections.abc import Generator

import pytest

from tests.cli.desk import Desk, desk, server
from tests.cli.program import Ended, Programs
from tui_host.errors import JSON

OTHERS = """
[servers.nowhere]
command = "no-such-command-here"
[servers.docs]
url = "http://ann:pass-word@127.0.0.1:9/mcp?key=s3cr3t-value"
headers = { Authorization = "Bearer ${NOT_THERE}" }
enabled = false
[servers.bare]
command = "true"
env = { TOKEN = "${NOT_THERE}" }
"""
SERVERS = (
    server("good", "good")
    + server("exits", "exits")
    + server("mute", "no-initialize", "timeout = 0.5")
    + server("odd", "malformed-tools", "enabled = false")
    + OTHERS
)


@pytest.fixture(scope="module")
def place(program: Programs, tmp_path_factory: pytest.TempPathFactory) -> Generator[Desk]:
    with desk(program, tmp_path_factory.mktemp("servers"), servers=SERVERS) as found:
        yield found


@pytest.fixture(scope="module")
def checked(place: Desk) -> Ended:
    return place.run("servers", "check")


@pytest.fixture(scope="module")
def as_json(place: Desk) -> Ended:
    return place.run("servers", "check", "--json")


def servers_of(ended: Ended) -> dict[str, dict[str, JSON]]:
    found = ended.json["servers"]
    assert isinstance(found, list)
    return {str(each["name"]): each for each in found if isinstance(each, dict)}


def test_list_says_what_is_configured_and_shows_no_secret(place: Desk) -> None:
    listed = place.run("servers", "list")
    assert (listed.code, listed.err) == (0, "")
    rows = [line.split(maxsplit=3) for line in listed.text.splitlines()]
    assert rows[0][:3] == ["NAME", "TRANSPORT", "STATE"]
    assert [row[0] for row in rows[1:]] == ["good", "exits", "mute", "odd", "nowhere", "docs", "bare"]
    assert rows[6] == ["docs", "http", "disabled", "http://127.0.0.1:9/mcp"]
    as_json = place.run("servers", "list", "--json")
    assert [each["enabled"] for each in servers_of(as_json).values()] == [True, True, True, False, True, False, True]
    for ended in (listed, as_json):
        assert "pass-word" not in ended.text
        assert "s3cr3t" not in ended.text


def test_check_tells_of_each_enabled_server_and_fails_if_one_does(checked: Ended, place: Desk) -> None:
    lines = checked.text.splitlines()
    assert checked.code == 1
    assert [line.partition(":")[0] for line in lines if not line.startswith(" ")] == [
        "good",
        "exits",
        "mute",
        "nowhere",
        "bare",
    ]
    good = lines.index("good: ready  2025-11-25 (stateful)  hostile good 1")
    assert lines[good + 1 : good + 4] == ["  echo", "  slow", "  progress"]
    assert "mute: failed  no answer to initialize within 0.5 s" in lines
    assert any(line.startswith("nowhere: failed") and "no-such-command-here was not found" in line for line in lines)
    assert any(line.startswith("bare: failed") and "NOT_THERE is not set" in line for line in lines)
    # A check is no session: it leaves nothing.
    assert not place.data.exists()


def test_what_a_failed_server_wrote_is_shown_and_acts_on_no_terminal(checked: Ended) -> None:
    lines = checked.text.splitlines()
    exits = lines.index("exits: failed  exited (4)")
    assert lines[exits + 1] == "  | ␛[2Jno license found␇"


def test_check_as_json_says_it_exactly(as_json: Ended) -> None:
    found = servers_of(as_json)
    assert as_json.code == 1
    assert list(found) == ["good", "exits", "mute", "nowhere", "bare"]
    good, exits = found["good"], found["exits"]
    assert (good["state"], good["protocol"], good["era"], good["server"]) == (
        "ready",
        "2025-11-25",
        "stateful",
        "hostile good 1",
    )
    assert (exits["state"], exits["exit_code"], exits["stderr"]) == ("failed", 4, ["\x1b[2Jno license found\x07"])
    tools = good["tools"]
    assert isinstance(tools, list)
    assert tools[0] == {"name": "echo", "description": "The tool echo.", "problem": None}


def test_named_servers_alone_are_checked_also_those_that_are_not_enabled(place: Desk) -> None:
    ended = place.run("servers", "check", "odd", "good")
    lines = ended.text.splitlines()
    assert (ended.code, ended.told) == (0, "")
    assert [line.partition(":")[0] for line in lines if not line.startswith(" ")] == ["odd", "good"]
    assert "  tasks  (not offered: it runs only as a task, which is not supported yet)" in lines
    assert sum("it runs only as a task" in line for line in lines) == 1


def test_a_server_that_is_not_configured_is_wrong_use(place: Desk) -> None:
    ended = place.run("servers", "check", "good", "goood")
    assert (ended.code, ended.out) == (2, b"")
    assert ended.err.startswith("tui-host: servers: no server goood (choose from good, exits")


def test_what_is_bundled_is_listed_where_nothing_is_configured(program: Programs) -> None:
    ended = program.run("servers", "list", "--json")
    assert json.loads(ended.out) == {
        "servers": [
            {"name": name, "transport": "stdio", "address": f"bundled {name}", "enabled": True}
            for name in ("math", "weather", "orders")
        ]
    }
