"""An option of the model, set for the session on screen."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from typing_extensions import override

from tui_host.errors import JSON
from tui_host.settings.options import Options, option_of, options_of
from tui_host.tui.screens.field import FieldScreen

if TYPE_CHECKING:
    from tui_host.chat.session import Session
    from tui_host.settings.schema import Provider

WORDS = {
    "temperature": "How freely it chooses among likely words, a number; 0 is the least.",
    "top_p": "Of which share of the likely words it chooses, a number up to 1.",
    "max_tokens": "The most tokens of an answer, thinking included.",
    "reasoning_effort": "How long it thinks, in the vendor's own words: low, medium, high.",
    "seed": "A whole number, for the same answer again as far as the provider can.",
}


def value_of(options: Options, name: str) -> JSON:
    """One option by its name; None where nothing is said."""
    values: dict[str, JSON] = {
        "temperature": options.temperature,
        "top_p": options.top_p,
        "max_tokens": options.max_tokens,
        "reasoning_effort": options.reasoning_effort,
        "seed": options.seed,
    }
    return values[name]


def with_value(options: Options, name: str, value: JSON) -> Options:
    """The options with one set anew; None says nothing of it."""
    if value is None:
        values = {each: value_of(options, each) for each in WORDS if each != name}
        left = options_of({each: kept for each, kept in values.items() if kept is not None})
        return replace(left, stop=options.stop, others=options.others)
    return options_of({name: value}).over(options)


class OptionScreen(FieldScreen):
    """One field with the value in use; an empty one takes the session's own away."""

    HEADING = "Option"
    PLACE = "Option"

    def __init__(self, session: Session, provider: Provider | None, name: str, changed: Callable[[], None]) -> None:
        super().__init__()
        self._session = session
        self._provider = provider
        self._option = name
        self._changed = changed

    def on_mount(self) -> None:
        """Show what is in use."""
        own = value_of(self._session.options, self._option)
        below = None if self._provider is None else value_of(self._provider.options, self._option)
        else_ = f"{below}, as configured" if below is not None else "not sent: the provider's own default"
        self.say(f"{self._option} for {self._session.model}, this session")
        self.explain(f"{WORDS[self._option]} Nothing in the field: {else_}.")
        self.field.value = "" if own is None else str(own)
        self.field.cursor_position = len(self.field.value)

    @override
    def taken(self, text: str) -> None:
        """Use it from the next request on."""
        try:
            value = option_of(self._option, text) if text else None
        except ValueError as error:
            self.complain(f"not {error}")
            return
        self._session.options = with_value(self._session.options, self._option, value)
        self.dismiss()
        self._changed()
