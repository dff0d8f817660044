"""Files on their way into the app: another process reads them, and the chat says how far that has come."""

from __future__ import annotations

import asyncio
import os
import subprocess
from collections.abc import AsyncGenerator, Generator, Sequence
from contextlib import ExitStack, asynccontextmanager, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING

from tui_host.errors import SettingsError, TuiHostError
from tui_host.host.importing_process import COMMAND, Reached, question, reached
from tui_host.settings.secrets import listed_environment
from tui_host.tui.sources import ARRIVING
from tui_host.tui.widgets.first import reading_words

if TYPE_CHECKING:
    from tui_host.chat.session import Session
    from tui_host.settings.schema import Settings
    from tui_host.tui.app import TuiHost


class Incoming:
    """Files that will be read once the app's first frame is there.

    Args:
        paths: Which.
        database: Where their session comes to, and nothing else.
        settings: Whose secrets are taken out.

    Raises:
        SettingsError: One cannot be opened.
    """

    def __init__(self, paths: Sequence[Path], database: Path, settings: Settings) -> None:
        self.database = database
        self._names = " and ".join(path.name or str(path) for path in paths)
        self._question = question(paths, database, settings)
        self._environment = listed_environment(settings.environment)
        for path in paths:
            if str(path) == "-":
                raise SettingsError("the app's keys come from standard input", "-", "put it into a file, and name that")
            if not os.access(path, os.R_OK) or path.is_dir():
                from tui_host.host.importing import opened

                with ExitStack() as stack:
                    opened(path, stack)  # which says why

    @asynccontextmanager
    async def shown_in(self, app: TuiHost) -> AsyncGenerator[None]:
        """While the block runs the app, it shows how far this has come, and then what came of it; an error ends it."""
        app.begin = partial(self._session_until_then, app)
        app.reading = reading_words(self._names)
        async with asyncio.TaskGroup() as group:
            following = group.create_task(self._follow(app))
            try:
                yield
            finally:
                following.cancel()

    def _session_until_then(self, app: TuiHost) -> Session:
        """What is shown until theirs is there."""
        from tui_host.capture.session import foreign_session

        info = foreign_session(ARRIVING, self._names)
        return app.host.sessions.foreign(info)

    async def _follow(self, app: TuiHost) -> None:
        await app.complete.wait()
        try:
            with self._started() as process:
                came = await self._read(process, app)
        except TuiHostError as error:
            app.host.fault = error  # whoever runs the app tells it, once the terminal is given back
            return
        app.host.notices += [*came.notices, "Nothing is kept here: «tui-host sessions import» does."]

    @contextmanager
    def _started(self) -> Generator[subprocess.Popen[bytes]]:
        """The process that reads them; with the block it ends, wherever it is.

        Raises:
            TuiHostError: It cannot be started.
        """
        try:
            process = subprocess.Popen(  # noqa: S603 - our own module
                COMMAND,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env=self._environment,
                start_new_session=True,
            )
        except OSError as error:
            raise TuiHostError(f"the process that reads it cannot be started: {error.strerror}", self._names) from error
        with process:
            try:
                yield process
            finally:
                process.kill()  # who waits for its next word hears that there is none

    async def _read(self, process: subprocess.Popen[bytes], app: TuiHost) -> Reached:
        """Show what comes of it; what it said last, once all is there."""
        from tui_host.tui.imported import ArrivingSource

        stdin, stdout = _pipe(process.stdin), _pipe(process.stdout)
        with suppress(BrokenPipeError):  # it has ended: heard below
            stdin.write(self._question)
            stdin.flush()
        first = app.session
        while not (so_far := reached(await asyncio.to_thread(stdout.readline))).is_whole:
            if so_far.id:
                await self._show(so_far.id, app, first)
            elif app.main is not None and isinstance(source := app.main.source, ArrivingSource):
                source.reached = f"reading {self._names}: {_words(so_far)}"
        return so_far

    async def _show(self, name: str, app: TuiHost, first: Session) -> None:
        """Its session has a record: let it take the place of what stood for it."""
        await app.host.ready()
        store = app.host.store
        assert store is not None  # noqa: S101 - it has what it shows
        info = await asyncio.to_thread(store.find_session, name)
        if app.session is first:
            app.call_later(app.show_session, app.host.sessions.foreign(info))  # in the app's own context
        else:
            app.host.notices.append(f"{self._names} is being read: f5 has it.")


def _words(so_far: Reached) -> str:
    share = min(100 * so_far.done // max(so_far.expected, 1), 100)
    return f"{share} % · {so_far.records:,} record{'s' * (so_far.records != 1)}"


def _pipe(pipe: IO[bytes] | None) -> IO[bytes]:
    assert pipe is not None  # noqa: S101 - pipes were asked for
    return pipe
