"""What the program relies on inside of Textual: an upgrade that moves one of these says here which."""

from __future__ import annotations

import ast
import importlib
import inspect
import io
import pkgutil
import re
import textwrap
import threading
import time
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from queue import Queue

import pytest
from textual import _time as textual_time
from textual import events
from textual._compositor import Compositor
from textual.app import App
from textual.driver import Driver
from textual.drivers import _writer_thread as writer_thread
from textual.drivers.linux_driver import LinuxDriver
from textual.geometry import Region
from textual.message_pump import MessagePump
from textual.screen import Screen
from typing_extensions import override

import tui_host.tui
from tui_host.guard.terminal_state import RESET
from tui_host.tui import textual_private
from tui_host.tui.app import TuiHost

# pyright: reportPrivateUsage=false

OVERRIDDEN = {
    "TuiHost": {"_display", "_fatal_error"},
    "ExactCompositor": {"_dirty_regions", "_regions_to_spans"},
    "PageScreen": {"_forward_event", "_update_auto_focus"},
}
"""The only private names of Textual's that a class of ours defines or uses on itself."""


def parameters(owner: type, name: str) -> list[str]:
    function = getattr(owner, name)
    assert callable(function)
    return list(inspect.signature(function).parameters)


def source(owner: type, name: str = "") -> str:
    return inspect.getsource(getattr(owner, name) if name else owner)


def test_a_frame_goes_through_display() -> None:
    assert parameters(App, "_display") == ["self", "screen", "renderable"]
    assert "app._display(self, update)" in source(Screen)


def test_a_screen_paints_what_its_compositor_says_has_changed() -> None:
    assert "self._compositor = Compositor()" in source(Screen, "__init__")
    assert "self._compositor.update_widgets(self._dirty_widgets)" in source(Screen, "_on_timer_update")
    assert "update = self._compositor.render_update(" in source(Screen, "_compositor_refresh")
    assert "self._dirty_widgets.add(widget)" in source(Screen, "_on_update")
    assert "return self.render_partial_update()" in source(Compositor, "render_update")
    assert "self._dirty_regions.update(regions)" in source(Compositor, "update_widgets")
    assert "visible_widgets.sort(key=itemgetter(0), reverse=True)" in inspect.getsource(
        inspect.getattr_static(Compositor, "visible_widgets").fget
    )
    assert list(Compositor._regions_to_spans([Region(2, 1, 3, 1), Region(4, 1, 3, 2)])) == [(1, 2, 7), (2, 4, 7)]
    used = source(Screen, "_on_timer_update") + source(App, "_display")
    assert all(name in used for name in ("_batch_count", "_layout_required", "_repaint_required"))
    assert "isinstance(renderable, CompositorUpdate)" in used


def test_what_is_typed_goes_to_a_screen_in_one_place_and_its_focus_is_chosen_in_another() -> None:
    assert "self.screen._forward_event(event)" in source(App, "on_event")
    assert parameters(Screen, "_forward_event") == ["self", "event"]
    assert "self._update_auto_focus()" in source(Screen)
    assert parameters(Screen, "_update_auto_focus") == ["self"]


def test_what_ends_the_app_goes_through_these() -> None:
    assert parameters(App, "exit") == ["self", "result", "return_code", "message"]
    assert parameters(App, "_fatal_error") == ["self"]
    assert parameters(App, "panic") == ["self", "renderables"]
    assert parameters(MessagePump, "_close_messages_no_wait") == ["self"]
    assert "self._fatal_error()" in source(App, "_handle_exception")
    assert "self._exception = error" in source(App, "_handle_exception")
    assert "self._app.panic" in source(LinuxDriver, "_run_input_thread")


def test_the_driver_writes_through_a_queue_that_a_thread_of_its_own_empties() -> None:
    assert "self._writer_thread = WriterThread(self._file)" in source(LinuxDriver, "start_application_mode")
    assert "self._file = sys.__stderr__" in source(LinuxDriver, "__init__")
    assert "self._writer_thread.stop()" in source(LinuxDriver, "close")
    assert "self._driver.close()" in source(App, "_shutdown")
    assert writer_thread.WriterThread is textual_private.WriterThread
    writer = writer_thread.WriterThread(io.StringIO())
    assert isinstance(writer, threading.Thread)
    assert writer.daemon
    assert writer.name == textual_private.WRITER
    assert isinstance(writer._queue, Queue)
    assert writer._queue.maxsize == writer_thread.MAX_QUEUED_WRITES > 3 * textual_private.MOST_WAITING
    assert "text is None" in inspect.getsource(writer.run)


def test_a_writer_is_waited_for_no_longer_than_a_terminal_may_take(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(textual_private, "PATIENCE", 0.05)
    taken, go_on = threading.Event(), threading.Event()

    class Stuck(io.StringIO):
        @override
        def write(self, text: str, /) -> int:
            taken.set()
            go_on.wait(20)
            return super().write(text)

    writer = writer_thread.WriterThread(Stuck())
    writer.start()
    writer.write("a frame")
    assert taken.wait(20)
    textual_private._stop_writer(writer)
    assert writer.is_alive()
    go_on.set()
    writer.join(20)
    assert not writer.is_alive()  # it was told that nothing more comes


def test_every_mode_that_the_driver_sets_is_undone() -> None:
    code = source(LinuxDriver)
    reset = RESET.decode()
    modes = set(re.findall(r'^ *(?:self\.)?write\("\\x1b\[\?(\d+)h', code, re.MULTILINE))
    assert {"1049", "1000", "1003", "1006", "1015", "1016", "1004", "2004", "2048"} <= modes
    kept = {"7", "25", "2026"}  # wrapping and cursor are on in a fresh terminal; 2026 ends with each frame
    assert all(f"\x1b[?{mode}l" in reset for mode in modes - kept)
    assert "\x1b[<u" in reset
    assert "\x1b[?25h" in reset
    assert "\x1b[?7h" in reset


def test_the_time_of_an_event_is_the_one_that_the_quiet_period_is_measured_in() -> None:
    assert textual_time.get_time is time.monotonic
    before = time.monotonic()
    assert before <= events.Key("y", "y").time <= time.monotonic()


def test_what_stands_in_a_paste_is_text_wherever_it_is_cut() -> None:
    assert "XTermParser(self._debug)" in source(LinuxDriver, "run_input_thread")
    typed = "a\x1b[200~b\x1b]0;x\x07\x0f\r\x1b[20\x1b[201~c\x1b[200~\x1b\x1b[201~\x1b[A"
    for pieces in ((*typed,), *((typed[:cut], typed[cut:]) for cut in range(1, len(typed)))):
        parser = textual_private.Parser()
        told = [event for piece in pieces for event in parser.feed(piece)]
        pastes = [event.text for event in told if isinstance(event, events.Paste)]
        keys = [event.key for event in told if isinstance(event, events.Key)]
        assert (pastes, keys) == (["b␛]0;x\x07\x0f\r␛[20", "␛"], ["a", "c", "up"])


def test_no_class_of_ours_takes_a_private_name_of_textuals_unknowingly() -> None:
    found = {cls.__name__: names for cls in our_classes() if (names := private_names(cls) & textual_names(cls))}
    assert found == OVERRIDDEN
    assert issubclass(TuiHost, App)


def test_private_modules_and_names_of_textual_are_used_in_one_place() -> None:
    folder = Path(tui_host.tui.__file__).parent
    found = {
        (path.name, node.module)
        for path in folder.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ImportFrom)
        and (node.module or "").startswith(("textual", "rich"))
        and ("._" in (node.module or "") or any(alias.name.startswith("_") for alias in node.names))
    }
    assert {name for name, _ in found} <= {"textual_private.py"}


def our_classes() -> Iterator[type]:
    for info in pkgutil.walk_packages(tui_host.tui.__path__, "tui_host.tui."):
        for value in vars(importlib.import_module(info.name)).values():
            if inspect.isclass(value) and value.__module__ == info.name and bases_of(value):
                yield value


def bases_of(cls: type) -> list[type]:
    return [base for base in cls.__mro__ if base.__module__.partition(".")[0] in {"textual", "rich"}]


def textual_names(cls: type) -> set[str]:
    """What Textual's bases of a class define or keep on themselves."""
    return {name for base in bases_of(cls) for name in (*vars(base), *on_itself(base)[0])}


def private_names(cls: type) -> set[str]:
    """What a class defines, keeps or uses on itself that begins with one underscore."""
    return {name for name in on_itself(cls)[1] if name.startswith("_") and not name.startswith("__")}


@cache
def on_itself(cls: type) -> tuple[set[str], set[str]]:
    """The names of `self.name` and `super().name` in a class's own source: those it keeps something in; and all, its methods too."""
    kept, used = set[str](), set[str]()
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(cls)))
    except (OSError, TypeError):  # made at run time
        return kept, used
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and ast.unparse(node.value) in {"self", "cls", "super()"}:
            used.add(node.attr)
            if isinstance(node.ctx, ast.Store):
                kept.add(node.attr)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            used.add(node.name)
    return kept, used


def test_the_driver_is_where_the_app_keeps_it() -> None:
    assert "self._driver = self._build_driver(" in source(App, "_process_messages")
    assert "_writer_thread" in source(LinuxDriver)
    assert issubclass(LinuxDriver, Driver)
