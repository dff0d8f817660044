"""A person who logs in, and a pool with a server that wants a login."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import anyio
from anyio import to_thread
from typing_extensions import override

from tests.servers.login_server import LoginServer
from tests.servers.running import Running, remote, started
from tui_host.cli.commands.conformance import visit
from tui_host.servers.server_questions import Answering, Declines, Login
from tui_host.settings.login_storage import Logins


class Person(Declines):
    """Logs in with a browser that reaches the listener, or pastes the address."""

    def __init__(self, *, pastes: bool = False) -> None:
        self.logins: list[Login] = []
        self._pastes = pastes

    @override
    async def log_in(self, login: Login) -> str | None:
        self.logins.append(login)
        place = await to_thread.run_sync(visit, login.url)
        assert place is not None
        if self._pastes:
            return place
        await to_thread.run_sync(visit, place)
        await anyio.sleep_forever()
        return None


@asynccontextmanager
async def connected(
    server: LoginServer, person: Declines, logins: Logins | None = None, **more: object
) -> AsyncGenerator[Running]:
    spec = remote("guarded", server.url, **more)
    answering = Answering(answerer=lambda: person, logins=logins or Logins())
    async with started(spec, answering=answering) as running:
        yield running
