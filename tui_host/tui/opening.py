"""`open`: the app on what others captured. It is looked at, not kept: it stands in a database of its own until the app ends."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from tui_host.settings.schema import Store as StoreLimits
from tui_host.tui.run import Opened, check_terminal, run_app

if TYPE_CHECKING:
    from tui_host.settings.schema import Settings


def open_files(paths: Sequence[Path], settings: Settings) -> int:
    """The app on files; returns its exit code. No server is started for it.

    Raises:
        SettingsError: There is no terminal to draw on, or a file cannot be opened.
        TuiHostError: A file is none of what can be read, or what `run_app` raises.
    """
    check_terminal()
    from tui_host.capture.redact import redactor_of
    from tui_host.capture.store.store import Store
    from tui_host.host.importing import import_files

    with tempfile.TemporaryDirectory(prefix="tui-host-") as folder:
        own = Path(folder)
        store = Store.open(own / "tui-host.db")
        try:
            imported = import_files(store, paths, redactor_of(settings))
            opened = Opened(info=store.find_session(imported.id), items=store.sessions.item_texts(imported.id))
        finally:
            store.close()
        names = " ".join(path.name for path in paths)
        told = f"Nothing of this session is kept, nor of others here: tui-host sessions import {names} keeps it."
        notices = (*settings.notices, *imported.notices, told)
        settings = replace(settings, data_dir=own, servers={}, store=StoreLimits(), notices=notices)
        return run_app(settings, opened=opened)
