"""An option of the model, set for the session on screen."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from textual.widgets import Input
from typing_extensions import override

from tui_host.capture.visible import line
from tui_host.errors import JSON
from tui_host.settings.model_options import Options, option_of, text_of, value_of, with_value
from tui_host.tui.screens.field_screen import FieldScreen

if TYPE_CHECKING:
    from tui_host.chat.session import Session
    from tui_host.host.host import Host
    from tui_host.settings.schema import Settings

NOT_SENT = "not sent: the provider's own default"
WORDS = {
    "temperature": "How freely it chooses among likely words, a number; 0 is the least.",
    "top_p": "Of which share of the likely words it chooses, a number up to 1.",
    "max_tokens": "The most tokens of an answer, thinking included.",
    "reasoning_effort": "How long it thinks, in the vendor's own words: low, medium, high.",
    "seed": "A whole number, for the same answer again as far as the provider can.",
    "stop": 'Texts at which the answer ends, with commas between them; one with a comma or a line end in quotes: "a, b\\n".',
    "extra_body": "Members of the request's body that the dialect does not know, as a JSON object: they win over its own.",
}


class OptionScreen(FieldScreen):
    """One field with the value in use; an empty one takes the session's own away."""

    HEADING = "Option"
    PLACE = "Option"

    def __init__(self, host: Host, session: Session, name: str, changed: Callable[[], None]) -> None:
        super().__init__()
        self._session = session
        self._option = name
        self._configured = configured(host.settings, session, name)
        self._changed = changed

    def on_mount(self) -> None:
        """Show what is in use."""
        value, where = self._configured
        else_ = f"{line(text_of(value), 200)}, {where}" if value is not None else NOT_SENT
        self.say(f"{self._option} for {self._session.model}, this session")
        self.explain(f"{WORDS[self._option]} Nothing in the field: {else_}.")
        self.field.value = text_of(value_of(self._session.options, self._option))
        self.field.cursor_position = len(self.field.value)

    def on_input_changed(self, event: Input.Changed) -> None:
        """Say what is amiss while it is written."""
        self._read(event.value.strip())

    def _read(self, text: str) -> JSON:
        """What is written; None where that is nothing, or, with the reason below the field, no such value."""
        try:
            value = option_of(self._option, text) if text else None
        except ValueError as error:
            self.complain(f"not {error}")
            return None
        self.complain("")
        return value

    @override
    def taken(self, text: str) -> None:
        """Use it from the next request on."""
        value = self._read(text)
        if text and value is None:
            return
        self._session.options = with_value(self._session.options, self._option, value)
        if self._session.turn:
            self._session.save()
        self.action_leave()
        self._changed()


def configured(settings: Settings, session: Session, name: str) -> tuple[JSON, str]:
    """What an option is where the session itself says nothing, None for nothing, and where that stands."""
    profile = settings.profiles.get(session.profile)
    provider = settings.providers.get(session.model.provider)
    found: list[tuple[Options, str]] = []
    if profile is not None:
        found.append((profile.options, f"from the profile {profile.name}"))
    if provider is not None:
        found.append((provider.options, "as configured"))
    said = ((value_of(options, name), where) for options, where in found)
    return next((each for each in said if each[0] is not None), (None, ""))
