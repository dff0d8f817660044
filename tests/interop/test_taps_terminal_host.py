"""A terminal host that this project did not write, with both its halves tapped: one call is one story.

What this host taught: it drops the ids of calls (its SDK does), calls `math.add` by the name `math_add`, and leaves calls and results
out of later requests.
"""

from __future__ import annotations

import json
import os
import pty
import select
import subprocess
import sys
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.demo.running import model_at
from tests.interop.others import HOME, OLLMCP, uvx
from tests.interop.test_taps_http import tapped
from tests.tap.stdio_taps import sessions, tap, until
from tui_host.capture.store.store import Store
from tui_host.infer.story import Story

pytestmark = pytest.mark.timeout(300)


class Screen:
    """What a program has written to its terminal, and what is typed there."""

    def __init__(self, terminal: int) -> None:
        self._terminal = terminal
        self._written = b""

    def type_after(self, wanted: str, text: str) -> None:
        """Type a line as soon as something new has been written."""
        self.wait(wanted)
        os.write(self._terminal, text.encode() + b"\r")

    def wait(self, wanted: str, seconds: float = 120) -> None:
        """Until something is written that was not waited for before."""
        end = time.monotonic() + seconds
        while (at := self._written.find(wanted.encode())) < 0:
            ready, _, _ = select.select([self._terminal], [], [], max(0.0, end - time.monotonic()))
            assert ready, f"{wanted!r} never came; there is {self._written[-2000:]!r}"
            self._written += os.read(self._terminal, 1 << 16)
        self._written = self._written[at + len(wanted) :]


@contextmanager
def at_a_terminal(command: Sequence[str], home: Path) -> Generator[Screen]:
    """A program with a terminal of its own; ended by what a closed terminal tells."""
    environment = {
        **os.environ,
        "HOME": str(home),
        "UV_CACHE_DIR": os.environ.get("UV_CACHE_DIR", f"{HOME}/.cache/uv"),
        "TERM": "xterm",
    }
    terminal, theirs = pty.openpty()
    with subprocess.Popen(command, env=environment, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True):
        os.close(theirs)
        try:
            yield Screen(terminal)
        finally:
            os.close(terminal)


def test_one_call_of_a_terminal_host_is_one_story(tmp_path: Path) -> None:
    server = tap(tmp_path, sys.executable, "-m", "tui_host.demo.servers", "math")
    servers = tmp_path / "servers.json"
    servers.write_text(json.dumps({"mcpServers": {"math": {"command": server[0], "args": list(server[1:])}}}))
    with model_at("--pace", "0") as (_, port), tapped(f"http://127.0.0.1:{port}", tmp_path) as origin:
        words = ["-j", str(servers), "-m", "ollama", "-H", origin]
        with at_a_terminal(uvx(OLLMCP, *words), tmp_path) as screen:
            screen.type_after("-tools", 'call math_add {"a": 20, "b": 22}')
            screen.type_after("What would you like to do?", "y")
            screen.wait("Answer")
            screen.type_after("-tools", "hello")
            screen.wait("Answer")
            screen.wait("-tools")
    story = told(tmp_path, 2)
    (joined,) = story.joined()
    (sent,) = joined.sent
    (place,) = joined.results
    assert (joined.call.name, joined.server, joined.tool) == ("math_add", "math", "add")
    assert sent.answer is not None
    assert sent.answer.texts[0] == place.text == "42"
    assert [(said.turn, said.step, said.text) for said in story.exchanges] == [
        (1, 1, 'call math_add {"a": 20, "b": 22}'),
        (1, 2, ""),
        (2, 1, "hello"),
    ]


def told(folder: Path, taps: int) -> Story:
    """What so many taps together have recorded, once that is at its end, which may be later than their own."""
    until(lambda: [info.live for info in sessions(folder)] == [False] * taps, 30)
    store = Store.open(folder / "tui-host.db")
    story = Story()
    records = [record for session in store.sessions.list() for record, _ in store.session_records(session.id)]
    store.close()
    for record in sorted(records, key=story.clock.at_ns):
        story.feed(record)
    return story
