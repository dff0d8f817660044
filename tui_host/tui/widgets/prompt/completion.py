"""Completion of commands and file names above the prompt, and why a `/name` is not run."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from difflib import get_close_matches
from types import MappingProxyType

from textual import events
from typing_extensions import override

from tui_host.capture.visible import line
from tui_host.tui.text_width import clip
from tui_host.tui.widgets.choices import Choice, ChoiceList

MOST = 6
"""Number of lines to show at once; the rest scroll."""
_LONGEST = 40
"""Longest name to show, in cells; a longer one is cut."""
_SERVERS = "/servers shows servers, tools and messages"
_SESSIONS = "/sessions searches and opens earlier sessions"
ELSEWHERE: Mapping[str, str] = MappingProxyType(
    {
        "clear": "/new begins a new session, and this one stays in /sessions",
        "compact": "nothing is left out of the history unasked; /new begins a new session",
        "config": "/model has model, protocol and options; the rest stands in config.toml (see /help)",
        "exit": "/quit ends the program and its servers",
        "export": "the command «tui-host sessions export last» writes a session to a file",
        "history": _SESSIONS,
        "login": "/model asks for a provider's key",
        "mcp": _SERVERS,
        "permissions": "/rules lists the rules of this session, and ends them",
        "resume": _SESSIONS,
        "tools": _SERVERS,
    }
)
"""Commands of other programs, each with this program's way to do the same."""


def hint_of(name: str, commands: Collection[str]) -> str:
    """Say why a command was not run, and what to use instead."""
    near = " or ".join(f"/{other}" for other in get_close_matches(name, commands, n=2, cutoff=0.5))
    if name in commands:
        words = f"/{name} takes no arguments, so it did not run."
    elif name in ELSEWHERE:
        words = f"There is no command /{name}: {ELSEWHERE[name]}."
    else:
        words = f"There is no command /{line(name, 40)}{f': {near}?' if near else '.'}"
    return f"{words} A space before the / sends it as text."


class Completion(ChoiceList, can_focus=False):
    """A list of names with short help. The prompt keeps the focus and moves the choice."""

    DEFAULT_CSS = """
    Completion {
        display: none;
        height: auto;
        max-height: 6;
        overflow-y: auto;
        scrollbar-gutter: stable;
        background: $panel;
        & > .line-view--cursor { background: $primary 30%; }
    }
    """

    def __init__(self, on_chosen: Callable[[], None]) -> None:
        super().__init__()
        self._on_chosen = on_chosen
        self._names: list[str] = []

    @property
    def is_open(self) -> bool:
        return bool(self._names)

    @property
    def chosen(self) -> str:
        """The chosen name; empty without suggestions."""
        return self._names[self.cursor or 0] if self._names else ""

    def offer(self, pairs: Sequence[tuple[str, str]], sign: str) -> None:
        """Show suggestions behind their sign; the first is chosen."""
        choices = [Choice(words=sign + clip(name, _LONGEST), note=words) for name, words in pairs]
        if self._choices == choices:
            return
        self._names = [name for name, _ in pairs]
        self.display = bool(pairs)
        self.styles.height = min(MOST, len(choices))
        self.show(choices, current=0)
        self.scroll_to(y=0, animate=False)

    @override
    def on_click(self, event: events.Click) -> None:
        event.stop()
        number = event.y - self.gutter.top + self.top
        if 0 <= number < len(self._names):
            self.cursor = number
            self._on_chosen()
