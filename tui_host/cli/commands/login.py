"""`servers login` and `servers logout`: log in at a server in the browser, and forget the login."""

from __future__ import annotations

import math
from argparse import Namespace
from dataclasses import replace
from typing import TYPE_CHECKING

from tui_host.cli import diagnostics, options
from tui_host.cli.answerers import TerminalAnswerer
from tui_host.cli.hosting import chosen_servers, host_of, pool_of, run_async, running
from tui_host.errors import ServerError, SettingsError

if TYPE_CHECKING:
    from tui_host.settings.schema import ServerSpec, Settings


def add(parser: options.CommandParser) -> None:
    """Add the options."""
    parser.words("+", "SERVER", "the servers' names")


def run(args: Namespace, settings: Settings) -> int:
    """Log in or out, and return the exit code.

    Raises:
        SettingsError: A server is unknown, or has no URL.
        ServerError: The login failed.
    """
    from tui_host.servers.server_endpoint import resolve_endpoint
    from tui_host.settings.login_storage import StoredLogins

    urls: dict[str, str] = {}
    for name in chosen_servers(settings.servers, args.words):
        urls[name] = resolve_endpoint(settings.servers[name], settings.environment).url
        if not urls[name]:
            raise SettingsError("only a server with a url takes a login", f"servers.{name}")
    if args.command == "servers login":
        return max(run_async(_log_in, settings, settings.servers[name], url) for name, url in urls.items())
    logins = StoredLogins(settings.data_dir)
    for name, url in urls.items():
        diagnostics.tell(f"{name}: {'the login is forgotten' if logins.forget(url) else 'there was no login'}")
    return diagnostics.DONE


async def _log_in(settings: Settings, spec: ServerSpec, url: str) -> int:
    import anyio

    from tui_host.settings.login_storage import StoredLogins

    host = host_of(settings, {spec.name: replace(spec, enabled=True)})
    host.answerer = TerminalAnswerer()
    logins = host.logins = StoredLogins(settings.data_dir)
    async with running(host) as interruption:
        with anyio.CancelScope() as scope:
            interruption.then(scope.cancel)
            await pool_of(host).settled(math.inf)  # a person may take any time in the browser
        (status,) = pool_of(host).statuses()
        if interruption.code is not None:
            return interruption.code
        for notice in status.notices:
            diagnostics.tell(f"{spec.name}: {notice}")
        if status.state != "ready":
            raise ServerError(status.detail or status.state, spec.name)
        is_kept = bool(await anyio.to_thread.run_sync(logins.load, url))
        diagnostics.tell(f"{spec.name}: {'logged in' if is_kept else 'connected; it asks for no login'}")
    return diagnostics.DONE
