"""`open`: shows captures from elsewhere in the app. Records go to a temporary database, deleted when the app ends.

The app's first frame waits for no file.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from tui_host.capture.store.temporary_store import fleeting_folder
from tui_host.settings.paths import DATABASE
from tui_host.settings.schema import Store as StoreLimits
from tui_host.tui.incoming_files import Incoming
from tui_host.tui.run_app import check_terminal, run_app

if TYPE_CHECKING:
    from tui_host.settings.schema import Settings


def open_files(paths: Sequence[Path], settings: Settings) -> int:
    """Run the app on files, without servers, and return the exit code.

    Raises:
        SettingsError: There is no terminal to draw on, or a file cannot be opened.
        TuiHostError: A file is none of what can be read, or what `run_app` raises.
    """
    check_terminal("tui-host sessions import FILE, then tui-host sessions show last")
    with fleeting_folder() as folder:
        incoming = Incoming(paths, folder / DATABASE, settings)
        return run_app(replace(settings, servers={}, store=StoreLimits()), incoming=incoming)
