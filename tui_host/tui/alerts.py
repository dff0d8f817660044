"""Alerts tell somebody who looks elsewhere that a session waits for an answer, or that a long turn has ended.

A bell, a notification of the desktop where the terminal can show one, and a mark in the window's title.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tui_host.capture.visible import line

if TYPE_CHECKING:
    from tui_host.chat.session import Session
    from tui_host.host.host import Host
    from tui_host.tui.questions.asks import Asks

WAITING_SECONDS = 10.0  # that a question waits before the person is called
LONG_SECONDS = 20.0  # of a turn that is worth a call when it ends
TITLE_CHARACTERS = 60
BELL = "\x07"
PUSHED, POPPED = "\x1b[22;2t", "\x1b[23;2t"
"""Keep and bring back the window's title, in terminals that have a stack of titles."""
# A notification of the desktop, for terminals known to show one. Sources: their documents. Inside tmux and screen neither passes.
OSC_9, OSC_777 = "\x1b]9;tui-host: {}\x07", "\x1b]777;notify;tui-host;{}\x07"
BY_PROGRAM: Mapping[str, str] = dict.fromkeys(("iTerm.app", "WezTerm", "ghostty", "WarpTerminal"), OSC_9)
BY_TERM = {"xterm-kitty": OSC_9, "xterm-ghostty": OSC_9, "wezterm": OSC_9, "foot": OSC_777, "rxvt-unicode": OSC_777}


def notification_of(environment: Mapping[str, str]) -> str:
    """Return the form of a notification that the terminal shows; empty for a terminal that is not known to show any."""
    term, program = environment.get("TERM", ""), environment.get("TERM_PROGRAM", "")
    if term.startswith(("tmux", "screen")) or environment.get("TMUX"):
        return ""
    by_term = next((form for name, form in BY_TERM.items() if term == name or term.startswith(f"{name}-")), "")
    return BY_PROGRAM.get(program, by_term)


@dataclass(eq=False, slots=True)
class Alerts:
    """Watches all sessions, and calls once for each question and each long turn, unless the terminal has the focus.

    Where a terminal does not say whether it has the focus, it counts as not having it.
    """

    _host: Host
    _asks: Asks
    _write: Callable[[str], object]  # to the terminal
    has_focus: bool = False
    _called: set[tuple[object, float]] = field(default_factory=set[tuple[object, float]])  # whose, and since when
    _busy: dict[str, tuple[Session, float]] = field(default_factory=dict[str, "tuple[Session, float]"])
    _done: tuple[str, str] | None = None  # the mark and title of the long turn that ended while nobody was there
    _title: str = ""  # what the window's title says; empty while it is not ours

    def look(self) -> None:
        """Call the person if something is new, and mark the window's title."""
        if self._host.settings.ui.notify == "off":
            return
        now, news, waiting, marks = time.monotonic(), "", None, self._host.mask.marks
        questions: list[tuple[object, float, str, str]] = [
            (ask, ask.since, "● question", f"{line(ask.server, 40)} {ask.words}")
            for ask in self._asks.of(None)
            if now - ask.since >= WAITING_SECONDS
        ]
        for session in self._host.sessions.values():
            activity = session.activity
            is_asked = bool(activity.detail or session.open_questions())  # else it goes on in a moment
            if activity.waits == "you" and is_asked and session.waited >= WAITING_SECONDS:
                mark = "● question" if activity.detail else "● approve?"
                questions.append((session.id, activity.since, mark, line(marks(session.title), TITLE_CHARACTERS)))
        for whose, since, mark, title in questions:
            waiting = mark, title
            if (whose, since) not in self._called:
                self._called.add((whose, since))
                news = "waits for you"
        self._called &= {(whose, since) for whose, since, *_ in questions}
        running = {session.id: session for session in self._host.turns}
        for name, (session, since) in list(self._busy.items()):
            result = None if name in running else self._host.turns.result(session)
            if name not in running:
                del self._busy[name]
            if result is not None and now - since >= LONG_SECONDS and result.stop != "stopped":
                mark = "✓ done" if result.stop == "done" else "✗ failed"
                self._done, news = (mark, line(marks(session.title), TITLE_CHARACTERS)), mark[2:]
        self._busy |= {name: (session, now) for name, session in running.items() if name not in self._busy}
        if self.has_focus:
            self.attend()
            return
        told = waiting or self._done
        if news and told is not None:
            form = notification_of(self._host.settings.environment) if self._host.settings.ui.notify == "auto" else ""
            self._write(BELL + form.format(f"{news}: {told[1]}"))
        self.show_title(" ".join(told) if told is not None else "")

    def attend(self) -> None:
        """Take note that somebody is there."""
        self._done = None
        if self.has_focus:
            self.show_title("")

    def show_title(self, title: str) -> None:
        """Write the window's title; without one, bring the former one back."""
        if title and title != self._title:
            self._write(f"{'' if self._title else PUSHED}\x1b]2;{title}\x07")
        elif self._title and not title:
            self._write(f"\x1b]2;\x07{POPPED}")  # empty where there is no stack
        self._title = title
