"""The demo model, and sessions whose every request and link is looked at when a test has ended."""

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.chat.bench import Bench, check_links, check_requests, made
from tests.kit.peer import Answer, peer
from tui_host.chat.policy import Approver, Policy


@dataclass
class Make:
    demo_url: str
    folder: Path
    made: list[Bench] = field(default_factory=list[Bench])

    def __call__(
        self, *, approver: Approver | None = None, yes: bool = False, policy: Policy | None = None, url: str = ""
    ) -> Bench:
        policy = policy or Policy((), allow_all=yes)
        self.made.append(made(url or self.demo_url, self.folder, approver=approver, policy=policy))
        return self.made[-1]

    @asynccontextmanager
    async def hearing(
        self,
        *answers: Answer,
        approver: Approver | None = None,
        yes: bool = False,
        policy: Policy | None = None,
        protocol: str = "native",
    ) -> AsyncGenerator[Bench]:
        """A session whose provider gives these answers, one to each request and the last one to all that follow."""
        async with peer(*answers[:-1], always=answers[-1]) as there:
            at = self(approver=approver, yes=yes, policy=policy, url=there.url)
            at.session.protocol = protocol
            yield at


@pytest.fixture
async def bench(model_url: str, tmp_path: Path) -> AsyncIterator[Make]:
    make = Make(model_url, tmp_path)
    yield make
    for at in make.made:
        await at.services.client.aclose()
        check_requests(at.requests())
        check_links(at)
