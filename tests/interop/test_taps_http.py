"""Hosts that this project did not write, with `tap llm` or `tap http` before what they talk to: they notice nothing, all is recorded."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.interop.rawhttp import exchanges_in
from tests.interop.relay import Relay
from tests.interop.test_vendor_clients import CLIENTS, answers, reads_all
from tests.kit.peer import peer_in_thread
from tests.tap.stdio_taps import recorded, sessions, until
from tui_host.capture.store.store import Store
from tui_host.infer.story import Story

pytestmark = pytest.mark.timeout(300)


@contextmanager
def tapped(upstream: str, folder: Path, *kind: str) -> Generator[str]:
    """The tap before an upstream, as a program; its origin."""
    words = ["tap", *(kind or ("llm",)), "--upstream", upstream, "--port", "0", "--data-dir", str(folder)]
    with subprocess.Popen([sys.executable, "-m", "tui_host", *words], stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            found = re.match(rb"http://[^/]+", process.stdout.readline().strip())
            assert found is not None
            yield found[0].decode()
            process.send_signal(signal.SIGTERM)
            assert process.wait(5) == 143
        finally:
            process.kill()


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


@pytest.mark.parametrize("name", CLIENTS)
def test_a_vendors_own_client_reads_all_through_a_tap_and_all_is_recorded(name: str, tmp_path: Path) -> None:
    with peer_in_thread(*answers(name)) as there, Relay(there.port) as wire:
        with tapped(f"http://127.0.0.1:{wire.port}", tmp_path) as origin:
            reads_all(name, origin)
        wire.cut()
        passed = [
            exchange
            for connection in wire.connections
            for exchange in exchanges_in(bytes(connection.sent), bytes(connection.answered))
        ]
    records = [record.draft for record in recorded(tmp_path)]
    asked = [draft for draft in records if draft.kind == "request"]
    bodies = {draft.exchange: b"" for draft in asked}
    for draft in records:
        if draft.kind == "chunk":
            bodies[draft.exchange] += draft.data
    assert sorted((draft.data, bodies[draft.exchange]) for draft in asked) == sorted(
        (exchange.request.body, exchange.response.body if exchange.response else b"") for exchange in passed
    )
    assert len(asked) == 3
