"""The one place for private names of Textual; `tests/tui/test_textual_private.py` guards each of them."""
# pyright: reportPrivateUsage=false

from __future__ import annotations

import time
from contextlib import suppress
from functools import partial
from queue import Full
from typing import TYPE_CHECKING

from textual._xterm_parser import XTermParser
from textual.drivers import linux_driver
from textual.drivers._writer_thread import WriterThread
from textual.worker import WorkerFailed
from typing_extensions import override

if TYPE_CHECKING:
    from collections.abc import Iterable

    from textual.app import App
    from textual.dom import DOMNode
    from textual.message import Message

MOST_WAITING = 8
"""Writes that may wait for the terminal; Textual's own queue blocks the event loop at 30."""
PATIENCE = 1.0
"""Seconds that a terminal may take to read the last of what it is sent, before the program ends without that."""
WRITER = "textual-output"
"""The name of the thread that writes to the terminal."""
PASTE, PASTED = "\x1b[200~", "\x1b[201~"


class Parser(XTermParser):
    """Textual's, but what stands in a paste is text: an escape in it would be read as keys, which act.

    Source: threats.md, TRM-10.
    """

    def __init__(self, debug: bool = False) -> None:  # noqa: FBT002 - as it is called
        super().__init__(debug)
        self._is_pasting = False
        self._begun = ""  # of a mark: in a paste it waits for its rest, before one it was passed on already

    @override
    def feed(self, data: str) -> Iterable[Message]:
        """Take in what was typed; nothing is the end of it."""
        tame = self._tame(data)
        return super().feed(tame) if tame or not data else ()

    def _tame(self, data: str) -> str:
        tame: list[str] = []
        while True:
            passed = 0 if self._is_pasting else len(self._begun)
            text, found, rest = (self._begun + data).partition(PASTED if self._is_pasting else PASTE)
            self._begun = "" if found else _beginning(text, PASTED if self._is_pasting else PASTE)
            if self._is_pasting:
                text = text.removesuffix(self._begun).replace("\x1b", "␛")
            tame.append((text + found)[passed:])
            if not found:
                return "".join(tame)
            self._is_pasting = not self._is_pasting
            data = rest


def _beginning(text: str, mark: str) -> str:
    """What stands at the end of a text and may be the beginning of a mark."""
    return next((mark[:size] for size in range(len(mark) - 1, 0, -1) if text.endswith(mark[:size])), "")


def keep_pastes_text() -> None:
    """Have Textual's driver read its input with our parser."""
    setattr(linux_driver, "XTermParser", Parser)  # noqa: B010 - a name of its own imports


def writes_waiting(node: DOMNode) -> int:
    """How many writes of a node's app wait for a terminal that does not read."""
    driver = getattr(node.app, "_driver", None)  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType]
    writer = getattr(driver, "_writer_thread", None)
    queue = getattr(writer, "_queue", None)
    return 0 if queue is None else int(queue.qsize())


def end_messages(app: App[int]) -> None:
    """End the app without a word of Textual's, whose own shows local variables."""
    app._close_messages_no_wait()


def first_exception(app: App[int]) -> Exception | None:
    """What ended the app, None if nothing has; of what failed in a worker the mistake itself, which knows its place."""
    error = app._exception
    return error.error if isinstance(error, WorkerFailed) and isinstance(error.error, Exception) else error


def bound_the_end(app: App[int]) -> None:
    """Let the app end though its terminal reads nothing: Textual would wait for ever for what nobody takes."""
    writer = getattr(app._driver, "_writer_thread", None)
    if isinstance(writer, WriterThread):
        setattr(writer, "stop", partial(_stop_writer, writer))  # noqa: B010 - a method is replaced, on this one object


def let_go(app: App[int]) -> None:
    """Let an app that is suspended end without touching the terminal, which is another program's by now."""
    driver = app._driver
    if isinstance(driver, linux_driver.LinuxDriver):
        driver.attrs_before = None
        driver.exit_event.set()  # it reads no more, and throws away nothing that was typed


def is_stuck(app: App[int]) -> bool:
    """Whether something is still to be written to the terminal though the app has ended."""
    writer = getattr(app._driver, "_writer_thread", None)
    return isinstance(writer, WriterThread) and writer.is_alive()


def _stop_writer(writer: WriterThread) -> None:
    end = time.monotonic() + PATIENCE
    with suppress(Full):  # then it will not end in time either, and is left behind
        writer._queue.put(None, timeout=PATIENCE)
    writer.join(max(end - time.monotonic(), 0))
