"""A person who looks elsewhere is called: by bell, notification and the window's title; where the terminal has the focus nobody is."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from textual import events

from tests.kit.app import MATH, OFF, USUAL, WIDE, Running, fast, running
from tui_host.chat.session import Session
from tui_host.chat.turn_result import TurnResult
from tui_host.settings.schema import Ui
from tui_host.tui import alerts
from tui_host.tui.alerts import Alerts
from tui_host.tui.textual_private import TerminalAnswer

TITLE = "call math.add {}"


def alerts_of(app: Running, written: list[str], **environment: str) -> Alerts:
    """Make alerts that write into a list, in place of the app's own, whose ticks would come between."""
    kept = {name: value for name, value in app.host.settings.environment.items() if not name.startswith("T")}
    app.host.settings = replace(app.host.settings, environment=kept | environment)
    return Alerts(app.host, app.app.asks, written.append)


async def test_a_call_that_waits_is_told_once_while_nobody_looks_and_the_header_says_since_when(
    tmp_path: Path, model_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with running(tmp_path, config=fast(model_url) + MATH, size=WIDE) as app:
        written: list[str] = []
        there = alerts_of(app, written, TERM="foot")
        await app.until_ready()
        await app.send(TITLE, app.asks)
        there.look()
        assert not written  # it does not wait long
        app.session.activity = replace(app.session.activity, since=app.session.activity.since - alerts.WAITING_SECONDS)
        await app.until(lambda: "waiting for you since " in app.lines[0])
        there.look()
        there.look()
        call = f"\x07\x1b]777;notify;tui-host;waits for you: {TITLE}\x07"
        assert written == [call, f"\x1b[22;2t\x1b]2;● approve? {TITLE}\x07"]
        there.has_focus = True
        there.look()
        there.has_focus = False
        there.look()  # gone again: the title says so, nobody is called twice
        assert written[2:] == ["\x1b]2;\x07\x1b[23;2t", f"\x1b[22;2t\x1b]2;● approve? {TITLE}\x07"]
        await app.pilot.resize_terminal(*USUAL)
        await app.until(lambda: "waiting for you since " in app.lines[0])
        await app.decide("n")
        there.look()
        assert written[4:] == ["\x1b]2;\x07\x1b[23;2t"]
        monkeypatch.setattr(alerts, "WAITING_SECONDS", 0.0)
        app.host.settings = replace(app.host.settings, ui=Ui(notify="off"))
        there.look()
        assert len(written) == 5


async def test_the_end_of_a_long_turn_is_told(tmp_path: Path, model_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async with running(tmp_path, config=fast(model_url) + OFF) as app:
        written: list[str] = []
        there = alerts_of(app, written, TERM_PROGRAM="WezTerm")

        def run(title: str, stop: TurnResult, seconds: float) -> list[str]:
            written.clear()
            app.session.title = title
            app.host.turns.results[app.session.id] = stop
            monkeypatch.setattr(alerts, "LONG_SECONDS", seconds)
            running_now = [app.session]

            def at_work(_: object) -> Iterator[Session]:
                return iter(running_now)

            monkeypatch.setattr(type(app.host.turns), "__iter__", at_work)
            there.look()
            running_now.clear()
            there.look()
            return written

        assert run("short", TurnResult(), 20.0) == []
        told = run("a\x1b]2;b\x07", TurnResult(), 0.0)
        assert told == ["\x07\x1b]9;tui-host: done: a␛]2;b␇\x07", "\x1b[22;2t\x1b]2;✓ done a␛]2;b␇\x07"]
        assert run("bad", TurnResult(stop="error"), 0.0)[-1] == "\x1b]2;✗ failed bad\x07"
        app.host.settings = replace(app.host.settings, ui=Ui(notify="bell"))
        assert run("stopped", TurnResult(stop="stopped"), 0.0) == []
        assert run("plain", TurnResult(), 0.0)[0] == "\x07"
        there.attend()
        there.look()
        assert written[-1] == "\x1b]2;\x07\x1b[23;2t"
        written.clear()
        there.has_focus = True
        assert run("seen", TurnResult(), 0.0) == []
        there.show_title("")


async def test_the_focus_is_what_the_terminal_says_and_the_theme_fits_its_ground(tmp_path: Path) -> None:
    async with running(tmp_path, config=OFF) as app:
        assert not app.app.alerts.has_focus
        app.app.post_message(TerminalAnswer("\x1b[?1004;0$y"))
        app.app.post_message(TerminalAnswer("\x1b]11;rgb:f8f8/f8f8/f0f0\x1b\\"))
        await app.until(lambda: app.app.theme == "textual-light")
        assert not app.app.alerts.has_focus
        app.app.post_message(TerminalAnswer("\x1b[?1004;1$y"))
        await app.until(lambda: app.app.alerts.has_focus)
        app.app.post_message(events.AppBlur())
        await app.until(lambda: not app.app.alerts.has_focus)
        app.app.post_message(events.AppFocus())
        await app.until(lambda: app.app.alerts.has_focus)
        app.app.theme = "nord"
        app.app.post_message(TerminalAnswer("\x1b]11;rgb:00/00/00\x07"))
        await app.pilot.pause()
        assert app.app.theme == "nord"
    async with running(tmp_path, config=f'{OFF}[ui]\ntheme = "auto"\n') as app:  # wins over the theme chosen last
        app.app.post_message(TerminalAnswer("\x1b]11;rgba:ff/ff/ff/ff\x07"))
        await app.until(lambda: app.app.theme == "textual-light")


@pytest.mark.parametrize(
    ("environment", "form"),
    [
        ({"TERM": "xterm-256color"}, ""),
        ({"TERM": "xterm-kitty"}, alerts.OSC_9),
        ({"TERM": "xterm-256color", "TERM_PROGRAM": "iTerm.app"}, alerts.OSC_9),
        ({"TERM": "rxvt-unicode-256color"}, alerts.OSC_777),
        ({"TERM": "tmux-256color", "TERM_PROGRAM": "tmux"}, ""),
        ({"TERM": "xterm-ghostty", "TMUX": "/run/tmux"}, ""),
    ],
)
def test_a_notification_has_the_form_that_the_terminal_knows(environment: dict[str, str], form: str) -> None:
    assert alerts.notification_of(environment) == form
