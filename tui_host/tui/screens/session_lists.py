"""Lists that belong to a session: the rules given for it, and the turns that requests may leave out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from textual import events
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static
from typing_extensions import override

from tui_host.capture.visible import tool_name
from tui_host.chat.session import oldest_turns, omit_turns
from tui_host.llm.outline import size_words
from tui_host.tui.screens.page_screen import PageScreen
from tui_host.tui.widgets.choices import Choice, ChoiceList
from tui_host.tui.widgets.lines.line_view import LineView

if TYPE_CHECKING:
    from tui_host.chat.session import Session
    from tui_host.host.host import Host

RULES = "These tools run unasked in this session, as long as their server does not change them."
NO_RULES = "No rule was given for this session. In an approval, A pressed twice gives one."
TURNS = (
    "The conversation is longer than the model reads. These turns would be left out of this and all later requests; the"
    " chat keeps them."
)


class ListScreen(PageScreen):
    """A screen with a text and a list below it.

    Args:
        place: Its heading, and its keys by their name in `key_tables.PLACES`.
        words: The text above the list.
        choices: Returns the lines of the list.
        act: Handles a key for the chosen line; returns whether the screen closes.
        empty: The text of an empty list.
    """

    AUTO_FOCUS = "ChoiceList"
    DEFAULT_CSS = "ListScreen > #list-words { height: auto; max-height: 3; padding: 0 1; color: $text-muted; }"

    def __init__(
        self,
        place: str,
        words: str,
        choices: Callable[[], Sequence[Choice]],
        act: Callable[[str, int], bool],
        empty: str = "",
    ) -> None:
        super().__init__()
        self.HEADING = self.PLACE = place
        self._words = words
        self._choices = choices
        self._act = act
        self._empty = empty

    @override
    def body(self) -> Sequence[Widget]:
        return [Static(Content(self._words), id="list-words"), ChoiceList(classes="page-body")]

    def on_mount(self) -> None:
        choices = self._choices()
        self.query_one("#list-words").display = bool(choices)
        self.query_one(ChoiceList).show(choices, empty=self._empty)

    def on_line_view_opened(self, event: LineView.Opened) -> None:
        self._take("enter", event.line)

    def on_key(self, event: events.Key) -> None:
        self._take(event.key, self.query_one(ChoiceList).cursor)

    def _take(self, key: str, number: int | None) -> None:
        if number is not None and self.is_on_top:
            if self._act(key, number):
                self.action_leave()
            else:
                self.on_mount()


def rules_screen(session: Session) -> ListScreen:
    """Return the screen of rules given for a session; `enter` or `delete` withdraws one."""
    policy = session.policy

    def take_back(key: str, number: int) -> bool:
        if key in {"enter", "delete", "backspace"}:
            del policy.grants[number]
        return False

    def rules() -> list[Choice]:
        return [Choice(words=tool_name(grant.server, grant.tool)) for grant in policy.grants]

    return ListScreen("Rules", RULES, rules, take_back, NO_RULES)


def oldest_turns_screen(host: Host, session: Session) -> ListScreen:
    """Return the screen of turns to leave out of a conversation that is too long; `enter` leaves them out."""
    turns = oldest_turns(session)

    def go_on(key: str, _: int) -> bool:
        if key not in {"enter", "s"}:
            return False
        has_failed = session.can_try_again
        if key == "enter" and not session.busy:
            omit_turns(session, turns)
        if has_failed:
            host.again(session)
        return True

    lines = [
        Choice(before=f"turn {turn.turn}  ", words=turn.title, right=(size_words(turn.size_bytes),)) for turn in turns
    ]
    return ListScreen("Oldest turns", TURNS, lambda: lines, go_on)
