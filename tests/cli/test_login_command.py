"""`servers login` and `logout`: the address on standard error, the browser's return, what is kept and forgotten."""

from __future__ import annotations

import json
import re
from pathlib import Path

from anyio import to_thread

from tests.cli.desk import Desk, desk
from tests.kit.program import Ended, Programs
from tests.servers.login_server import login_server
from tui_host.cli.commands.conformance import visit
from tui_host.errors import JSON

ADDRESS = re.compile(rb"http://127\.0\.0\.1:\d+/authorize\S+")


def log_in(place: Desk) -> Ended:
    """As a person: take the address from standard error, and go where the authorization server sends the browser."""
    running = place.start("servers", "login", "guarded", terminal=True)
    running.until_shown("gives up")
    found = ADDRESS.search(running.out.data)
    assert found is not None
    back = visit(found[0].decode())
    assert back is not None
    visit(back)
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
        refused = place.run("call", "guarded", "echo")
        assert "it needs a login (run tui-host servers login guarded)" in refused.err
