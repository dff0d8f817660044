"""The one place for private names of Textual; `tests/tui/test_textual_private.py` guards each of them."""
# pyright: reportPrivateUsage=false

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.segment import Segments
from rich.text import Text

if TYPE_CHECKING:
    from textual.app import App

MOST_WAITING = 8
"""Writes that may wait for the terminal; Textual's own queue blocks the event loop at 30."""


def writes_waiting(app: App[int]) -> int:
    """How many writes wait for a terminal that does not read."""
    writer = getattr(app._driver, "_writer_thread", None)
    queue = getattr(writer, "_queue", None)
    return 0 if queue is None else int(queue.qsize())


def say_after_end(app: App[int], line: str) -> None:
    """Print a line once the terminal is as it was, and end the app; in place of a traceback that shows local variables."""
    app._exit_renderables.append(Segments(app.console.render(Text(line))))
    app._close_messages_no_wait()
