"""`servers login` and `servers logout`: log in at a server in the browser, and forget the login."""

from __future__ import annotations

import math
import os
import sys
from dataclasses import replace
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import anyio
from anyio import to_thread
from typing_extensions import override

from tui_host.capture.visible import visible
from tui_host.cli import diagnostics
from tui_host.cli.chosen_servers import chosen_servers
from tui_host.cli.command_host import running
from tui_host.errors import ServerError, SettingsError
from tui_host.host.host import Host
from tui_host.servers.server_endpoint import resolve_endpoint
from tui_host.servers.server_questions import Declines
from tui_host.settings.login_storage import StoredLogins

if TYPE_CHECKING:
    from tui_host.cli.arguments import Arguments
    from tui_host.servers.server_questions import Login
    from tui_host.settings.schema import ServerSpec, Settings


def log_in_or_out(arguments: Arguments, settings: Settings) -> int:
    """Run the subcommand and return the exit code.

    Raises:
        SettingsError: A server is unknown, or has no URL.
        ServerError: The login failed.
    """
    specs = [settings.servers[name] for name in chosen_servers(settings.servers, arguments.words)]
    places = {spec.name: _place(spec, settings) for spec in specs}
    if arguments.action == "logout":
        logins = StoredLogins(settings.data_dir)
        for name, url in places.items():
            was_kept = logins.forget(url)
            diagnostics.tell(f"{name}: {'the login is forgotten' if was_kept else 'there was no login'}")
        return diagnostics.DONE
    return max(anyio.run(_log_in, settings, spec, places[spec.name]) for spec in specs)


def _place(spec: ServerSpec, settings: Settings) -> str:
    url = resolve_endpoint(spec, settings.environment).url
    if not url:
        raise SettingsError("only a server with a url takes a login", f"servers.{spec.name}")
    return url


async def _log_in(settings: Settings, spec: ServerSpec, url: str) -> int:
    only = replace(settings, servers={spec.name: replace(spec, enabled=True)})
    host = Host(only, source="ask", record=False)
    host.answerer = TerminalAnswerer()
    logins = host.logins = StoredLogins(settings.data_dir)
    async with running(host) as interruption:
        assert host.pool is not None  # noqa: S101 - there once the host is ready
        with anyio.CancelScope() as scope:
            interruption.then(scope.cancel)
            await host.pool.settled(math.inf)
        (status,) = host.pool.statuses()
        if interruption.code is not None:
            return interruption.code
        for notice in (*host.notices, *status.notices):
            diagnostics.tell(f"{spec.name}: {notice}")
        if status.state != "ready":
            raise ServerError(status.detail or status.state, spec.name)
        is_kept = bool(await to_thread.run_sync(logins.load, url))
        diagnostics.tell(f"{spec.name}: {'logged in' if is_kept else 'connected; it asks for no login'}")
    return diagnostics.DONE


class TerminalAnswerer(Declines):
    """Shows a login's address on standard error, and reads from standard input what to do. Declines everything else."""

    @override
    async def log_in(self, login: Login) -> str | None:
        """Show the address; a pasted address is the answer, enter opens the browser."""
        host = urlsplit(login.url).netloc
        diagnostics.write(
            f"{login.server} asks for a login at {visible(host, newlines=False)} ({visible(login.reason, newlines=False)}):\n\n"
            f"  {visible(login.url, newlines=False)}\n\n"
            f"Open this address, or press enter to open it in the browser. It returns to {login.redirect};\n"
            "where that cannot be reached, paste the address that the browser was sent to. q gives up.\n"
        )
        while (words := await _line()) is not None:
            if "://" in words:
                return words
            if words in {"q", "quit"}:
                return None
            if not words:
                await to_thread.run_sync(_open, login.url)
        await anyio.sleep_forever()  # standard input has ended: the browser returns by itself
        return None


def _open(url: str) -> None:
    import webbrowser

    if not webbrowser.open(url):
        diagnostics.tell("there is no browser to open; open the address elsewhere")


async def _line() -> str | None:
    """Read a line from standard input, None at its end. Uses no thread, so that the browser's return can end the wait."""
    if sys.stdin is None:
        return None
    try:
        await anyio.wait_readable(sys.stdin.fileno())
        data = os.read(sys.stdin.fileno(), 1 << 16)
    except OSError:  # a file, which cannot be waited for
        return None
    return data.decode(errors="replace").strip() if data else None
