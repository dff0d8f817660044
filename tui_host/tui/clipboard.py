"""Copy the current text to the terminal's clipboard, and say how much was copied.

The text goes to the terminal itself (OSC 52), so it arrives over ssh too; nobody answers whether it did.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from tui_host.capture.visible import hidden, visible

if TYPE_CHECKING:
    from textual.widget import Widget

MUCH = 74_000
"""Characters of a text that some terminals refuse. Source: xterm's and hterm's limits of OSC 52."""


class Terminal(Protocol):
    """The methods of an app used for copying."""

    def copy_to_clipboard(self, text: str) -> None:
        """Send a text to the terminal's clipboard."""

    def notify(self, message: str, *, timeout: float | None, markup: bool) -> None:
        """Tell something for some seconds."""


def current_source(focused: Widget | None) -> tuple[str, str]:
    """Return the text of the focused view or its nearest ancestor, with a word for it; two empty strings if none has text."""
    for node in focused.ancestors_with_self if focused is not None else ():
        source: object = getattr(node, "current_source", None)
        match source() if callable(source) else source:
            case (str(what), str(text)) if text:
                return what, text
            case _:
                pass
    return "", ""


def send(app: Terminal, what: str, text: str) -> None:
    """Send a text to the terminal's clipboard, and notify the person of its size."""
    shown = visible(text)  # what is pasted elsewhere must not act there
    app.copy_to_clipboard(shown)
    notice = f"{what}: {len(text):,} characters sent to the terminal's clipboard"
    if count := hidden(text):
        notice += f", {count} hidden ones written as codes"
    if text.endswith("\n"):
        notice += ", with a line end"
    if len(shown.encode()) > MUCH:
        notice += "; some terminals accept no more than 74 kB"
    app.notify(notice, markup=False, timeout=3)
