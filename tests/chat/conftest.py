"""The demo model, and sessions whose every request and link is looked at when a test has ended."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Protocol

import pytest

from tests.chat.bench import Bench, check_links, check_requests, made
from tui_host.chat.policy import Approver, Policy


@pytest.fixture(scope="session")
def demo_url() -> Iterator[str]:
    command = [sys.executable, "-m", "tui_host.demo.model", "--pace", "0", "--lifeline"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        yield json.loads(process.stdout.readline())["dialects"]["openai"]
        process.terminate()


class Make(Protocol):
    def __call__(
        self,
        *,
        approver: Approver | None = None,
        yes: bool = False,
        policy: Policy | None = None,
        url: str = "",
    ) -> Bench: ...


@pytest.fixture
async def bench(demo_url: str, tmp_path: Path) -> AsyncIterator[Make]:
    benches: list[Bench] = []

    def make(
        *, approver: Approver | None = None, yes: bool = False, policy: Policy | None = None, url: str = ""
    ) -> Bench:
        policy = policy or Policy((), allow_all=yes)
        benches.append(made(url or demo_url, tmp_path, approver=approver, policy=policy))
        return benches[-1]

    yield make
    for at in benches:
        await at.services.client.aclose()
    for at in benches:
        check_requests(at.requests())
        check_links(at)
