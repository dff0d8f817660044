"""Shows files that `sessions import` reads into the app's temporary database, as it shows taps while they record."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from tui_host.errors import SettingsError, StoreError, TuiHostError
from tui_host.tui.keys import key_of
from tui_host.tui.suggestions import ARRIVING, READING

if TYPE_CHECKING:
    from tui_host.host.host import Host
    from tui_host.settings.schema import Settings
    from tui_host.tui.app import TuiHost

LOOK_SECONDS = 0.05
NOT_SAVED = "Nothing is saved here; «tui-host sessions import» saves it."


class Incoming:
    """Files to read once the app's first frame is painted; `broken` says why only a part of them could be read.

    Raises:
        SettingsError: A file cannot be opened.
    """

    def __init__(self, paths: Sequence[Path], database: Path, settings: Settings) -> None:
        self.database = database  # the temporary one for their session
        self.broken: TuiHostError | None = None
        self._names = " and ".join(path.name or str(path) for path in paths)
        self._command = [sys.executable, "-P", "-m", "tui_host", "sessions", "import", "--json"]
        self._command += [str(path.absolute()) for path in paths]
        self._environment = {**settings.environment, "TUI_HOST_DATA_DIR": str(database.parent)}
        if settings.config_file is not None:
            self._environment["TUI_HOST_CONFIG"] = str(settings.config_file)
        for path in paths:
            if str(path) == "-":
                what = "the app reads its keys from standard input"
                raise SettingsError(what, "-", "save it to a file and open that")
            if not os.access(path, os.R_OK) or path.is_dir():
                from tui_host.opening.files import open_file

                with ExitStack() as stack:
                    open_file(path, stack)  # which says why

    def app(self, host: Host) -> TuiHost:
        """Return the app with a placeholder for the session, which `follow` shows from its first record on."""
        from tui_host.capture.session_summary import SessionInfo
        from tui_host.tui.app import TuiHost

        arriving = SessionInfo(ARRIVING, self._names, "import")
        return TuiHost(host, partial(host.sessions.foreign, arriving), READING.format(self._names))

    async def follow(self, app: TuiHost) -> None:
        """Read the files; an error ends the app if no row was shown yet, else the rows stay and the error is shown beside them."""
        await app.complete.wait()
        try:
            await app.host.ready()
            process = subprocess.Popen(  # noqa: ASYNC220, S603 - our own program, and it starts at once
                self._command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                env=self._environment,
                start_new_session=True,
                text=True,
                errors="replace",
            )
        except OSError as error:
            what = f"the process that reads the file cannot be started: {error.strerror}"
            app.host.fault = TuiHostError(what, self._names)
            return
        except TuiHostError as error:
            app.host.fault = error  # whoever runs the app tells it, once the terminal is given back
            return
        first, info = app.session, None
        with process:
            try:
                async with asyncio.TaskGroup() as group:
                    ending = group.create_task(asyncio.to_thread(process.communicate))
                    while info is None and not ending.done():
                        await asyncio.sleep(LOOK_SECONDS)
                        with suppress(StoreError):  # what cannot be read now may be readable later
                            listed = () if app.host.store is None else app.host.store.sessions.list()
                            info = next((session for session in listed if session.imported), None)
                    if info is not None and app.session is first and app.main is not None:
                        show = partial(app.main.show_session, app.host.sessions.foreign(info))
                        app.call_later(show)  # in the app's own context
                    elif info is not None:
                        app.host.notices.append(f"{self._names} is being read; open it with {key_of('sessions')}.")
                    _, said = await ending
            finally:
                process.kill()
        words = [sentence.removeprefix("tui-host: ") for sentence in said.splitlines()]
        if process.returncode:
            self.broken = TuiHostError(words[-1] if words else "the process that reads it has ended", "")
            app.host.fault = self.broken if info is None else None
        else:
            words.append(NOT_SAVED)
        app.host.notices += words
