"""What the program relies on inside of Textual: an upgrade that moves one of these says here which."""

import ast
import inspect
import time
from pathlib import Path

import pytest
from textual import events
from textual._compositor import Compositor
from textual.app import App
from textual.constants import ESCAPE_DELAY
from textual.drivers.linux_driver import LinuxDriver
from textual.geometry import Region
from textual.message_pump import MessagePump
from textual.screen import Screen

import tui_host.tui
from tui_host.tui import textual_private

# pyright: reportPrivateUsage=false


SOURCES: tuple[tuple[type, str, str], ...] = (
    (App, "_handle_exception", "self._fatal_error()"),
    (App, "_handle_exception", "self._exception = error"),
    (App, "_process_messages", "self._driver = self._build_driver("),
    (App, "_shutdown", "self._driver.close()"),
    (App, "on_event", "self.screen._forward_event(event)"),
    (App, "_display", "isinstance(renderable, CompositorUpdate)"),
    (Compositor, "render_update", "return self.render_partial_update()"),
    (Compositor, "update_widgets", "self._dirty_regions.update(regions)"),
    (LinuxDriver, "__init__", "self._file = sys.__stderr__"),
    (LinuxDriver, "_run_input_thread", "self._app.panic"),
    (LinuxDriver, "close", "self._writer_thread.stop()"),
    (LinuxDriver, "run_input_thread", "XTermParser(self._debug)"),
    (LinuxDriver, "start_application_mode", "self._writer_thread = WriterThread(self._file)"),
    (App, "_prune", "node._pruning = True"),
    (Screen, "__init__", "self._compositor = Compositor()"),
    (Screen, "_compositor_refresh", "update = self._compositor.render_update("),
    (Screen, "_on_timer_update", "self._compositor.update_widgets(self._dirty_widgets)"),
    (Screen, "_on_timer_update", "_batch_count"),
    (Screen, "_on_timer_update", "_layout_required"),
    (Screen, "_on_timer_update", "_repaint_required"),
    (Screen, "_on_update", "self._dirty_widgets.add(widget)"),
)
"""What we rely on inside of Textual's methods, each as a part of the method's source."""
PARAMETERS: tuple[tuple[type, str, list[str]], ...] = (
    (App, "_display", ["self", "screen", "renderable"]),
    (App, "_fatal_error", ["self"]),
    (App, "exit", ["self", "result", "return_code", "message"]),
    (App, "panic", ["self", "renderables"]),
    (MessagePump, "_close_messages_no_wait", ["self"]),
    (Screen, "_forward_event", ["self", "event"]),
)
"""The methods that we call or replace, with their parameters."""


def test_textual_does_inside_what_we_rely_on() -> None:
    assert not [each for each in SOURCES if each[2] not in inspect.getsource(getattr(*each[:2]))]
    found = [(owner, name, list(inspect.signature(getattr(owner, name)).parameters)) for owner, name, _ in PARAMETERS]
    assert found == list(PARAMETERS)
    assert list(Compositor._regions_to_spans([Region(2, 1, 3, 1), Region(4, 1, 3, 2)])) == [(1, 2, 7), (2, 4, 7)]


def test_what_stands_in_a_paste_is_text_wherever_it_is_cut() -> None:
    typed = "a\x1b[200~b\x1b]0;x\x07\x0f\r\x1b[20\x1b[201~c\x1b[200~\x1b\x1b[201~\x1b[A"
    for pieces in ((*typed,), *((typed[:cut], typed[cut:]) for cut in range(1, len(typed)))):
        parser = textual_private.Parser()
        told = [event for piece in pieces for event in parser.feed(piece)]
        pastes = [event.text for event in told if isinstance(event, events.Paste)]
        keys = [event.key for event in told if isinstance(event, events.Key)]
        assert (pastes, keys) == (["b␛]0;x\x07\x0f\r␛[20", "␛"], ["a", "c", "up"])


def test_alt_enter_is_a_key_as_usual_terminals_write_it_and_text_in_a_paste() -> None:
    told = [*textual_private.Parser().feed("\x1b\r\r\x1b[200~\x1b\r\x1b[201~")]
    assert [event.key for event in told if isinstance(event, events.Key)] == ["alt+enter", "enter"]
    assert [event.text for event in told if isinstance(event, events.Paste)] == ["␛\r"]


ANSWERS = (
    "\x1b[?62;22;52c",
    "\x1b[>41;354;0c",
    "\x1b[?0u",
    "\x1b[8;45;140t",
    "\x1b[6;20;10t",
    "\x1b[?997;1n",
    "\x1bP>|tmux 3.4\x1b\\",
    "\x1bP1$r0 q\x1b\\",
    "\x1b]11;rgb:1e1e/1e1e/1e1e\x1b\\",
    "\x1b[?1004;1$y",
    "\x1b]10;rgb:ffff/ffff/ffff\x07",
    "\x1b_Gi=31;OK\x1b\\",
)
"""What terminals answer when they are asked for their attributes, keys, sizes, theme, name, settings, colours and graphics."""


@pytest.mark.parametrize("answer", ANSWERS)
def test_a_terminals_own_answer_is_no_key_wherever_it_is_cut(answer: str) -> None:
    for pieces in ((*answer,), *((answer[:cut], answer[cut:]) for cut in range(1, len(answer))), (answer, answer)):
        parser = textual_private.Parser()
        told = [event for piece in ("a", *pieces, "b\x1b[6;5~\x1b") for event in parser.feed(piece)]
        assert [event.key for event in told if isinstance(event, events.Key)] == ["a", "b", "ctrl+pagedown"]
        heard = [event for event in told if isinstance(event, textual_private.TerminalAnswer)]
        is_ours, times = answer.startswith(("\x1b]11;", "\x1b[?1004;")), pieces.count(answer) or 1
        assert [(event.is_light, event.tells_focus) for event in heard] == is_ours * times * [
            (None, True) if "$" in answer else (False, None)
        ]


@pytest.mark.parametrize("typed", ["Please", "]1 first", "[?] what", "_under", ""])
def test_what_is_typed_after_escape_stays_and_a_whole_answer_does_not(typed: str) -> None:
    parser = textual_private.Parser()
    told = [*parser.feed("\x1b")]
    time.sleep(ESCAPE_DELAY * 1.5)
    told += parser.tick()
    for piece in (*typed, "" if typed else ANSWERS[-2].removeprefix("\x1b")):
        told += parser.feed(piece) if piece else ()
    keys = [event for event in told if isinstance(event, events.Key)]
    assert (keys[0].key, "".join(key.character or "" for key in keys[1:])) == ("escape", typed)


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
