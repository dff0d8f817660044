"""`servers add`, `remove`, `enable`, `disable`, `login`, `logout`: what they write and forget, and what they leave alone."""

import json
import re
import tomllib
from collections.abc import Generator
from pathlib import Path

import pytest
from anyio import to_thread

from tests.cases import some
from tests.cli.desk import Desk, desk
from tests.kit.program import Ended, Programs
from tests.servers.login_server import login_server
from tui_host.cli.commands.conformance import visit
from tui_host.errors import JSON

OWN = '[servers.mine]\ncommand = "true"\nenabled = false\n[servers.quiet]\ncommand = "true"\n'


@pytest.fixture
def place(program: Programs, tmp_path: Path) -> Generator[Desk]:
    with desk(program, tmp_path, servers=OWN) as found:
        yield found


def enabled(place: Desk) -> dict[JSON, JSON]:
    return {server["name"]: server["enabled"] for server in place.run("servers", "list", "--json").objects("servers")}


def test_added_servers_stand_in_files_of_their_own(place: Desk) -> None:
    command = place.run("servers", "add", "--env", "TOKEN=${MY_TOKEN}", "time", "--", "uvx", "mcp-server-time", "--x=1")
    url = place.run("servers", "add", "docs", "https://docs.example/mcp", "--header", "Authorization: Bearer ${DOCS}")
    assert (command.code, url.code, "it runs: uvx mcp-server-time --x=1" in command.err) == (0, 0, True)
    files = {path.name: tomllib.loads(path.read_text()) for path in (place.folder / "servers.d").iterdir()}
    assert files == {
        "time.toml": {"command": "uvx", "args": ["mcp-server-time", "--x=1"], "env": {"TOKEN": "${MY_TOKEN}"}},
        "docs.toml": {"url": "https://docs.example/mcp", "headers": {"Authorization": "Bearer ${DOCS}"}},
    }
    assert enabled(place) == {"mine": False, "quiet": True, "docs": True, "time": True}
    assert place.run("servers", "remove", "time").code == 0
    assert enabled(place) == {"mine": False, "quiet": True, "docs": True}


def test_switches_are_remembered_and_yield_to_the_file(place: Desk) -> None:
    assert place.run("servers", "add", "time", "--", "true").code == 0
    assert place.run("servers", "disable", "time", "quiet").code == 0
    assert enabled(place) == {"mine": False, "quiet": False, "time": False}
    assert place.run("servers", "enable", "time").code == 0
    assert enabled(place) == {"mine": False, "quiet": False, "time": True}
    assert place.run("servers", "disable", "time.now").code == 0
    switches = tomllib.loads((place.folder / "state.toml").read_text())["switches"]
    assert switches == {"time": True, "quiet": False, "time.now": False}
    refused = place.run("servers", "enable", "mine")
    assert refused.code == 2
    assert f"{place.folder / 'config.toml'}: servers.mine.enabled is set there" in refused.err
    assert place.run("servers", "enable", "tiem").err == "tui-host: servers: no server tiem (did you mean time?)\n"


def test_what_the_file_configures_is_neither_replaced_nor_removed(place: Desk) -> None:
    before = (place.folder / "config.toml").read_bytes()
    for words in ("remove quiet", "add quiet -- false", "add a__b -- true", "add alone"):
        ended = place.run("servers", *words.split())
        assert (ended.code, f"{place.folder / 'config.toml'}: " in ended.err) == (2, "quiet" in words)
    assert (place.folder / "config.toml").read_bytes() == before
    assert not (place.folder / "servers.d").exists()


CURSOR = {
    "mcpServers": {
        "time": {"command": "uvx", "args": ["mcp-server-time"], "env": {"API_KEY": "secret-12345"}},
        "docs": {"url": "https://docs.example/mcp", "headers": {"Authorization": "Bearer ${env:DOCS}"}},
        "quiet": {"command": "false"},
    }
}


def test_servers_of_other_hosts_are_shown_and_only_the_chosen_are_added(place: Desk, tmp_path: Path) -> None:
    (tmp_path / ".cursor").mkdir()
    (tmp_path / ".cursor" / "mcp.json").write_text(json.dumps(CURSOR))
    home = {"HOME": str(tmp_path)}
    shown = place.run("servers", "import", env=home)
    assert shown.code == 2
    assert "nothing was added (choose with --only NAME, or add --all)" in shown.err
    assert "  uvx mcp-server-time\n  env: API_KEY=•••\n" in shown.text
    assert "secret-12345" not in shown.text
    assert not (place.folder / "servers.d").exists()
    assert place.run("servers", "import", "--only", "time", "--only", "quiet-cursor", env=home).code == 0
    assert enabled(place) == {"mine": False, "quiet": True, "time": False, "quiet-cursor": False}
    again = place.run("servers", "import", "--all", "--json", env=home).objects("servers")
    assert [(server["name"], server["added"], server["why_not"]) for server in again] == [
        ("time", False, "the same server as time"),
        ("docs", True, None),
        ("quiet", False, "the same server as quiet-cursor"),
    ]


def test_exported_servers_keep_references_and_hold_no_secret(place: Desk) -> None:
    place.run("servers", "add", "a", "--env", "API_KEY=secret-12345", "--", "x", "--token", "secret-67890")
    place.run("servers", "add", "b", "https://b.example/mcp", "--header", "Authorization:Bearer ${B}")
    assert place.run("servers", "disable", "b").code == 0
    ended = place.run("servers", "export", "a", "b")
    args: list[JSON] = ["--token", "${A_TOKEN}"]
    headers: dict[str, JSON] = {"Authorization": "Bearer ${B}"}
    assert ended.json["mcpServers"] == {
        "a": {"command": "x", "args": args, "env": {"API_KEY": "${API_KEY}"}},
        "b": {"type": "http", "url": "https://b.example/mcp", "headers": headers, "disabled": True},
    }
    assert "servers.a holds a secret itself (API_KEY); it is exported as ${API_KEY}" in ended.err


def log_in(place: Desk) -> Ended:
    """As a person: take the address from standard error, and go where the authorization server sends the browser."""
    running = place.start("servers", "login", "guarded", terminal=True)
    running.until_shown("gives up")
    back = visit(some(re.compile(rb"http://127\.0\.0\.1:\d+/authorize\S+").search(running.out.data))[0].decode())
    visit(some(back))
    return running.wait()


async def test_the_person_logs_in_at_a_printed_address_and_out(program: Programs, tmp_path: Path) -> None:
    async with login_server() as server:
        await to_thread.run_sync(_in_and_out, program, tmp_path, server.url)
    assert server.steps.count("GET /authorize") == 1


def _in_and_out(program: Programs, folder: Path, url: str) -> None:
    with desk(program, folder, servers=f"[servers.guarded]\nurl = {json.dumps(url)}\n") as place:
        assert (place.run("servers", "check").code, place.run("call", "guarded", "echo").code) == (1, 1)
        ended = log_in(place)
        assert ended.code == 0
        assert b"guarded: logged in" in ended.out
        assert b"logins.json (mode 0600), since this system has no keyring" in ended.out
        assert place.run("call", "guarded", "echo").out == b"fine\n"
        stored = json.loads((place.data / "logins.json").read_text())[url]["tokens"]["access_token"]
        kept: JSON = place.run("sessions", "export", "last").text
        assert stored not in str(kept)
        assert "the login is forgotten" in place.run("servers", "logout", "guarded").err
        assert "there was no login" in place.run("servers", "logout", "guarded").err
        assert "it needs a login (run tui-host servers login guarded)" in place.run("call", "guarded", "echo").err
