"""Runs app and host together: the host opens after the first screen is complete, and ends after the app."""

from __future__ import annotations

import asyncio
import gc
import io
import os
import sys
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager, nullcontext, suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from tui_host.errors import SettingsError, TuiHostError

if TYPE_CHECKING:
    from pathlib import Path

    from tui_host.guard.guard_client import Guard
    from tui_host.settings.schema import Settings
    from tui_host.tui.app import TuiHost
    from tui_host.tui.incoming_files import Incoming

PLACELESS = frozenset({"", "dumb", "unknown"})  # values of TERM for terminals that cannot position text
SWITCH_SECONDS = 0.0005
"""Longest time until a busy thread lets the screen work, be it with a page, a filter or imports. Python's own is ten times longer."""
THRESHOLDS = (1000, 10, 100)
"""Thresholds of the garbage collector: full collections are rare, since they delay the screen and find little."""


def check_terminal(instead: str = "tui-host ask TEXT") -> None:
    """Raise `SettingsError` if the app cannot draw on the terminal, with the command that does the same without one."""
    if not all(os.isatty(descriptor) for descriptor in (0, 1, 2)):  # Textual draws on standard error
        raise SettingsError("the app needs a terminal", remedy=f"without one: {instead}")
    if os.environ.get("TERM", "") in PLACELESS:
        raise SettingsError("this terminal cannot place text", where="TERM", remedy=f"set TERM, or use {instead}")


def run_app(settings: Settings, *, record: bool = True, incoming: Incoming | None = None) -> int:
    """Run the app, with incoming files in place of a new session, and return the exit code.

    Raises:
        TuiHostError: The host failed to open, a bug ended the app, or the files could be read only in part.
    """
    check_terminal()
    from tui_host.guard.guard_client import Guard
    from tui_host.guard.terminal_state import found_terminal, restore

    if isinstance(sys.__stderr__, io.TextIOWrapper):
        # Terminals read UTF-8, also where the locale names another encoding.
        sys.__stderr__.reconfigure(encoding="utf-8", errors="replace")
    guard = Guard(found_terminal())
    try:
        app = asyncio.run(_run(settings, guard, record=record, incoming=incoming))
    except BaseException:
        restore(guard)  # Textual may not have come to that
        raise
    finally:
        guard.bye()
    error = app.crash or app.host.fault
    code = app.return_code or 0
    if error is None and incoming is not None and not code:  # by a signal it ended as by a signal
        error = incoming.broken
    if error is not None:
        raise error
    return code


def open_files(paths: Sequence[Path], settings: Settings) -> int:
    """Run the app on captures from elsewhere, without servers and with a temporary database, and return the exit code."""
    import tempfile
    from pathlib import Path

    from tui_host.settings.paths import DATABASE
    from tui_host.settings.schema import StoreLimits
    from tui_host.tui.incoming_files import Incoming

    check_terminal("tui-host sessions import FILE, then tui-host sessions show last")
    with tempfile.TemporaryDirectory(prefix="tui-host-open-", ignore_cleanup_errors=True) as folder:
        incoming = Incoming(paths, Path(folder, DATABASE), settings)
        return run_app(replace(settings, servers={}, store=StoreLimits()), incoming=incoming)


async def _run(settings: Settings, guard: Guard, *, record: bool, incoming: Incoming | None) -> TuiHost:
    from textual.drivers import linux_driver

    from tui_host.host.host import Host
    from tui_host.tui.app import TuiHost
    from tui_host.tui.exits import beside, drawing, watched
    from tui_host.tui.textual_private import Parser

    setattr(linux_driver, "XTermParser", Parser)  # noqa: B010 - a name of its own imports
    sys.setswitchinterval(SWITCH_SECONDS)
    database = None if incoming is None else incoming.database
    host = Host(settings, record=record, guard=guard, database=database)
    app = TuiHost(host) if incoming is None else incoming.app(host)
    async with (
        watched(app, guard) as is_told,
        around(app),
        drawing(app, guard, is_told),
        beside(collect(app)),
        nullcontext() if incoming is None else beside(incoming.follow(app)),
    ):
        await app.run_async(mouse=settings.ui.mouse)
    return app


@asynccontextmanager
async def around(app: TuiHost) -> AsyncGenerator[None]:
    """Open the app's host once the screen is complete, and close the host when the block is left."""

    async def serve() -> None:
        await app.complete.wait()
        await app.host.serve()
        if app.host.fault is not None:
            app.exit(return_code=1)

    async with asyncio.TaskGroup() as group:
        group.create_task(serve())
        try:
            yield
        finally:
            app.first_frame.set()  # an app that ended before its first frame still has a host to end
            app.complete.set()
            app.host.stop()


async def collect(app: TuiHost) -> None:
    """Run the garbage collector only after the screen is complete, and never through imported modules.

    It was off while modules came in. What they define stays, and each look through it stops the screen for a tenth of a second.
    """
    await app.first_frame.wait()
    gc.freeze()
    await app.complete.wait()
    gc.collect()  # what building the screen has left: 2 MiB, looked for only in what is newer than the first frame
    gc.freeze()
    gc.set_threshold(*THRESHOLDS)
    gc.enable()
    with suppress(TuiHostError):  # who runs the app tells it
        await app.host.ready()
    gc.freeze()  # with the host came the SDK
