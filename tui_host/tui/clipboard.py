"""Copies text to the terminal's clipboard, and tells the user how much was copied.

The text is sent to the terminal (OSC 52), so copying works over ssh too. Terminals do not report success.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tui_host.capture.visible import hidden, visible
from tui_host.tui.keys import key_of

if TYPE_CHECKING:
    from textual.app import App

MUCH = 74_000  # characters from which some terminals refuse to copy. Source: xterm's and hterm's limits of OSC 52


def send(app: App[int], what: str, text: str) -> None:
    """Send a text to the terminal's clipboard, and show its size in a notice; of a long one, offer a file too."""
    if not text:
        app.notify(f"There is nothing to copy here. {key_of('quit')} quits.", markup=False, timeout=3)
        return
    shown = visible(text)  # what is pasted elsewhere must not act there
    app.copy_to_clipboard(shown)
    notice = f"{what}: {len(text):,} characters sent to the terminal's clipboard"
    if count := hidden(text):
        notice += f", {count} hidden ones written as codes"
    if len(data := shown.encode()) <= MUCH:
        app.notify(notice, markup=False, timeout=3)
        return
    from tui_host.tui.screens.field_screen import SaveScreen

    name = "-".join(re.findall(r"[\w.]+", what)) or "copy"
    words = f"{notice}. Some terminals take no more than 74 kB."
    app.push_screen(SaveScreen(f"{name}.txt", words, data, lambda path: app.notify(f"Saved: {path}", markup=False)))
