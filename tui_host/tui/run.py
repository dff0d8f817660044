"""Runs the app and the host around each other: the host opens after the first frame, and ends after the app."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from tui_host.errors import SettingsError
from tui_host.host.host import Host
from tui_host.tui.app import TuiHost

if TYPE_CHECKING:
    from tui_host.settings.schema import Settings

SIGNALS = {signal.SIGTERM: 143, signal.SIGHUP: 129, signal.SIGINT: 130}
"""Exit codes. Source: DESIGN, Contract, Exit codes."""


def run_app(settings: Settings) -> int:
    """The app; returns its exit code.

    Raises:
        SettingsError: There is no terminal that it can draw on.
    """
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise SettingsError("the app needs a terminal", where="tui-host", remedy="without one: tui-host ask TEXT")
    if os.environ.get("TERM", "dumb") == "dumb":
        raise SettingsError(
            "this terminal cannot place text", where="TERM", remedy="set TERM, or use tui-host ask TEXT"
        )
    return asyncio.run(_run(settings))


async def _run(settings: Settings) -> int:
    app = TuiHost(Host(settings))
    loop = asyncio.get_running_loop()
    for number, code in SIGNALS.items():
        loop.add_signal_handler(
            number, app.end, code
        )  # they stay to the end: a second one must not leave children behind
    async with around(app):
        await app.run_async()
    return app.return_code or 0


@asynccontextmanager
async def around(app: TuiHost) -> AsyncGenerator[None]:
    """The app's host: it opens after the first frame, lives while the block runs the app, and has ended when it is left."""

    async def serve() -> None:
        await app.first_frame.wait()
        await app.host.serve()

    async with asyncio.TaskGroup() as group:
        group.create_task(serve())
        try:
            yield
        finally:
            app.first_frame.set()  # an app that ended before its first frame still has a host to end
            app.host.stop()
