"""The model: those that are configured, and those whose key or server was found."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.content import Content
from textual.widget import Widget
from textual.widgets import Input
from typing_extensions import override

from tui_host.capture.visible import line
from tui_host.settings.save import save_state
from tui_host.settings.schema import ModelRef
from tui_host.tui.screens.page import ListView, PageScreen

if TYPE_CHECKING:
    from tui_host.chat.session import Session
    from tui_host.host.host import Host


def choices(host: Host) -> list[tuple[ModelRef, str]]:
    """Every model that can be named now, and where it is known from."""
    found: list[tuple[ModelRef, str]] = []
    for provider in host.settings.providers.values():
        has_key = provider.key_variable is None or bool(host.settings.environment.get(provider.key_variable))
        if provider.preset and not provider.embedded and not (has_key and provider.key_variable):
            continue
        origin = "embedded, needs no key" if provider.embedded else "configured"
        if provider.preset and provider.key_variable and not provider.embedded:
            origin = f"{provider.key_variable} is set"
        names = dict.fromkeys(name for name in (provider.default_model, *provider.models) if name)
        found += [(ModelRef(provider=provider.name, model=name), origin) for name in names]
    return found


class ModelScreen(PageScreen):
    """A list, filtered as one types; any PROVIDER/MODEL may be typed whole."""

    HEADING = "Model"
    KEYS = "type to filter, or a whole PROVIDER/MODEL   enter choose"

    def __init__(self, host: Host, session: Session) -> None:
        super().__init__()
        self._host = host
        self._session = session
        self._listed: list[tuple[ModelRef, str]] = []

    @override
    def body(self) -> list[Widget]:
        return [Input(placeholder="PROVIDER/MODEL", id="model-filter"), ListView(id="model-list")]

    @override
    def on_mount(self) -> None:
        super().on_mount()
        self.query_one(Input).focus()
        self._show("")

    def on_input_changed(self, event: Input.Changed) -> None:
        """Filter by what is typed."""
        self._show(event.value)

    def _show(self, words: str) -> None:
        wanted = words.casefold().strip()
        self._listed = [
            (ref, origin) for ref, origin in choices(self._host) if wanted in f"{ref.provider}/{ref.model}".casefold()
        ]
        lines = [self._line(ref, origin) for ref, origin in self._listed]
        none = "Not in the list. Enter takes it as typed, where the provider is configured."
        view = self.query_one(ListView)
        view.show(lines or [Content.styled(f"  {none}", "$text-muted")])
        view.cursor = 0 if self._listed else None

    def _line(self, ref: ModelRef, origin: str) -> Content:
        mark = "> " if ref == self._session.model else "  "
        name = line(f"{ref.provider}/{ref.model}", 60)
        return Content.assemble(Content(f"{mark}{name:<44}"), Content.styled(f"  {origin}", "$text-muted"))

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Take the current one, else what was typed."""
        cursor = self.query_one(ListView).cursor
        if self._listed and cursor is not None:
            self._choose(self._listed[cursor][0])
            return
        provider, _, model = event.value.strip().partition("/")
        if provider in self._host.settings.providers and model:
            self._choose(ModelRef(provider=provider, model=model))
        else:
            self.notify("write PROVIDER/MODEL, with a provider that is configured", severity="error", markup=False)

    def on_line_view_opened(self, event: ListView.Opened) -> None:
        """Take the one that was entered or clicked."""
        if event.line < len(self._listed):
            self._choose(self._listed[event.line][0])

    def _choose(self, ref: ModelRef) -> None:
        self._session.model = ref
        save_state(self._host.settings, "model", f"{ref.provider}/{ref.model}")
        self.dismiss()

    def key_down(self) -> None:
        """From the field into the list."""
        self.query_one(ListView).focus()
