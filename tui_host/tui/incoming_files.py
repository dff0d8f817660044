"""Shows files that a separate process reads for the app, and their progress."""

from __future__ import annotations

import asyncio
import os
import subprocess
from collections.abc import AsyncGenerator, Generator, Sequence
from contextlib import ExitStack, asynccontextmanager, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING

from tui_host.errors import SettingsError, StoreError, TuiHostError
from tui_host.opening.import_process import COMMAND, ImportState, import_state, request_line
from tui_host.settings.environment_references import listed_environment
from tui_host.tui.sources import ARRIVING
from tui_host.tui.sources.source_words import reading_words

if TYPE_CHECKING:
    from tui_host.chat.conversation import NoteItem
    from tui_host.chat.session import Session
    from tui_host.settings.schema import Settings
    from tui_host.tui.app import TuiHost

LOOK_SECONDS = 0.05
STILL_LOOKS = 10
"""Number of looks without news after which the chat counts as complete."""
WRITE_SECONDS = 5.0
"""Longest wait for the disk, in seconds, before an error is shown."""


class Incoming:
    """Files to read once the app's first frame is painted.

    Args:
        paths: The files to read.
        database: The temporary database for their session.
        settings: The settings whose secrets are removed.

    Attributes:
        broken: Why only a part of the files could be read; None otherwise.

    Raises:
        SettingsError: A file cannot be opened.
    """

    def __init__(self, paths: Sequence[Path], database: Path, settings: Settings) -> None:
        self.database = database
        self.broken: TuiHostError | None = None
        self._id = ""
        self._names = " and ".join(path.name or str(path) for path in paths)
        self._question = request_line(paths, database, settings)
        self._environment = listed_environment(settings.environment)
        for path in paths:
            if str(path) == "-":
                raise SettingsError(
                    "the app reads its keys from standard input", "-", "save it to a file and open that"
                )
            if not os.access(path, os.R_OK) or path.is_dir():
                from tui_host.opening.importing import opened

                with ExitStack() as stack:
                    opened(path, stack)  # which says why

    @asynccontextmanager
    async def shown_in(self, app: TuiHost) -> AsyncGenerator[None]:
        """Show the progress and then the result, while the block runs the app.

        An error ends the app if no row was shown yet; otherwise the rows stay and the error is shown beside them.
        """
        app.begin = partial(self._session_until_then, app)
        app.reading = reading_words(self._names)
        async with asyncio.TaskGroup() as group:
            following = group.create_task(self._follow(app))
            try:
                yield
            finally:
                following.cancel()

    def _session_until_then(self, app: TuiHost) -> Session:
        from tui_host.capture.session_summary import foreign_session

        info = foreign_session(ARRIVING, self._names)
        return app.host.sessions.foreign(info)

    async def _follow(self, app: TuiHost) -> None:
        await app.complete.wait()
        try:
            with self._started() as process:
                came = await self._read(process, app)
        except TuiHostError as error:
            error.where = error.where or self._names
            if self._is_shown(app):
                await self._break_off(error, app)
            else:
                app.host.fault = error  # whoever runs the app tells it, once the terminal is given back
            return
        app.host.notices += [*came.notices, "Nothing is saved here; «tui-host sessions import» saves it."]

    @contextmanager
    def _started(self) -> Generator[subprocess.Popen[bytes]]:
        """Start the reading process, and kill it at the end of the block.

        Raises:
            TuiHostError: The process cannot be started.
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
            raise TuiHostError(
                f"the process that reads the file cannot be started: {error.strerror}", self._names
            ) from error
        with process:
            try:
                yield process
            finally:
                process.kill()  # who waits for its next word hears that there is none

    async def _read(self, process: subprocess.Popen[bytes], app: TuiHost) -> ImportState:
        """Show the records as the process stores them, and return its last report."""
        from tui_host.tui.sources.imported import ArrivingSource

        stdin, stdout = _pipe(process.stdin), _pipe(process.stdout)
        with suppress(BrokenPipeError):  # it has ended: heard below
            stdin.write(self._question)
            stdin.flush()
        first = app.session
        while not (so_far := import_state(await asyncio.to_thread(stdout.readline))).is_whole:
            if so_far.id:
                self._id = so_far.id
                await self._show(so_far.id, app, first)
            elif app.main is not None and isinstance(source := app.main.source, ArrivingSource):
                source.reached = _words(so_far, self._names)
        return so_far

    async def _show(self, name: str, app: TuiHost, first: Session) -> None:
        """Replace the placeholder by the session when its first record is stored."""
        await app.host.ready()
        store = app.host.store
        assert store is not None  # noqa: S101 - it has what it shows
        info = await asyncio.to_thread(store.find_session, name)
        if app.session is first:
            app.call_later(app.show_session, app.host.sessions.foreign(info))  # in the app's own context
        else:
            app.host.notices.append(f"{self._names} is being read; open it with f5.")

    def _is_shown(self, app: TuiHost) -> bool:
        """Whether the user may have read some of the session, or has opened another session."""
        if not self._id or app.session.id == ARRIVING:
            return False
        if app.session.id != self._id:
            return True
        source = None if app.main is None else app.main.source
        return source is not None and bool(source.ladder.rows)

    async def _break_off(self, error: TuiHostError, app: TuiHost) -> None:
        """Report the error in the chat and as a notice: no more records will come."""
        from tui_host.chat.conversation import NoteItem, item_to_text

        self.broken = error
        app.host.notices.append(str(error))
        store = app.host.store
        assert store is not None  # noqa: S101 - it has what it shows
        note = NoteItem(turn=1, kind="error", what=error.what, where=error.where, remedy=error.remedy)
        with suppress(StoreError):  # such as a full disk, which may be the error itself: it is shown below even so
            number = len(await asyncio.to_thread(store.session_items, self._id))
            store.sessions.save_item(self._id, number, item_to_text(note))  # for when it is opened again
            await asyncio.to_thread(store.run, lambda _: None, WRITE_SECONDS)
        await self._note_in(app, note)

    async def _note_in(self, app: TuiHost, note: NoteItem) -> None:
        """Add a note at the end of the chat when no more items arrive, if the session is still on screen."""
        from tui_host.tui.sources.imported import ArrivingSource

        before, looks = (-1, -1), 0
        while app.session.id == self._id and looks < STILL_LOOKS:
            await asyncio.sleep(LOOK_SECONDS)
            source, conversation = None if app.main is None else app.main.source, app.session.conversation
            if isinstance(source, ArrivingSource) and source.live:
                source.break_off(str(self.broken))
            if source is None or source.live:
                continue
            now = len(source.ladder.rows), len(conversation)
            looks, before = looks + 1 if now == before else 0, now
        if app.session.id == self._id:
            conversation = app.session.conversation
            if not len(conversation) or conversation[len(conversation) - 1] != note:
                conversation.add(note)


def _words(so_far: ImportState, names: str) -> str:
    records = f"{so_far.records:,} record{'s' * (so_far.records != 1)}"
    if 0 < so_far.expected <= so_far.done:
        return f"linking the calls in {names}: {records}"
    return f"reading {names}: {100 * so_far.done // max(so_far.expected, 1)} % · {records}"


def _pipe(pipe: IO[bytes] | None) -> IO[bytes]:
    assert pipe is not None  # noqa: S101 - pipes were asked for
    return pipe
