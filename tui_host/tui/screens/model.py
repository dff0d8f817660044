"""The model and the tool protocol: what is configured, whose key is set, which servers of models answer on this machine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from textual.widgets import Input

from tui_host.capture.visible import line
from tui_host.errors import TuiHostError
from tui_host.settings.save import save_state
from tui_host.settings.schema import PROTOCOLS, ModelRef
from tui_host.tui.screens.page import ChoiceScreen
from tui_host.tui.widgets.choices import Choice, ChoiceList

if TYPE_CHECKING:
    from tui_host.chat.session import Session
    from tui_host.host.host import Host
    from tui_host.llm.probe import LocalServer
    from tui_host.settings.schema import Provider, Settings

PROTOCOL_WORDS = {
    "native": "tools go in the field that the provider's API has for them; nothing is added to the prompt"
}
_MORE = "Another provider: set its key in the environment (OPENAI_API_KEY, ANTHROPIC_API_KEY, …), or write it into config.toml."


def _origin(host: Host, provider: Provider) -> str | None:
    """Where a provider is known from, in words; None for one that cannot be used as things are."""
    variable = provider.key_variable
    if provider.embedded:
        return "embedded, needs no key"
    if not provider.preset:
        return "configured"
    if variable is not None and host.settings.environment.get(variable, "").strip():
        return f"{variable} is set"
    return None


def choices(host: Host) -> list[tuple[ModelRef, str]]:
    """Every model that can be named now, and where it is known from."""
    found: list[tuple[ModelRef, str]] = []
    for provider in host.settings.providers.values():
        origin = _origin(host, provider)
        if origin is not None:
            names = dict.fromkeys(name for name in (provider.default_model, *provider.models) if name)
            found += [(ModelRef(provider=provider.name, model=name), origin) for name in names]
    return found


def nameless(host: Host) -> list[tuple[str, str]]:
    """Providers that can be used and name no model, and where they are known from."""
    return [
        (provider.name, origin)
        for provider in host.settings.providers.values()
        if not provider.models and not provider.default_model and (origin := _origin(host, provider)) is not None
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Line:
    """A line with what it stands for; `provider` alone is one whose model is still to be typed."""

    choice: Choice
    model: ModelRef | None = None
    protocol: str = ""
    provider: str = ""


class ModelScreen(ChoiceScreen):
    """A list, filtered as one types; any PROVIDER/MODEL may be typed whole."""

    HEADING = "Model and tool protocol"
    PLACE = "Model"
    PLACEHOLDER = "filter, or a whole PROVIDER/MODEL"

    def __init__(self, host: Host, session: Session) -> None:
        super().__init__()
        self._host = host
        self._session = session
        self._local: tuple[LocalServer, ...] = ()
        self._listed: list[_Line] = []

    def on_mount(self) -> None:
        """Say what is in use, and what there is."""
        self.say(f"Model and tool protocol   now {self._session.model} {self.glyphs.dot} {self._session.protocol}")
        self.note(_fixed(self._host.settings) + _MORE.replace("…", self.glyphs.more))
        self._show(self._session.model)
        self.run_worker(self._look_around())

    async def _look_around(self) -> None:
        """Ask the usual ports of this machine which models they have; nobody waits for it."""
        from tui_host.llm.probe import local_servers

        self._local = await local_servers()
        if self._local and self.is_running:
            self._show()

    def on_input_changed(self) -> None:
        """Filter by what is typed."""
        self._show()

    def _show(self, current: ModelRef | None = None) -> None:
        words = self.typed.casefold()
        models = [entry for entry in self._models() if words in entry.choice.words.casefold()]
        typed = self._typed_model()
        if typed is not None and all(entry.model != typed for entry in models):
            models.append(_Line(choice=Choice(words=str(typed), mark=" ", note="as typed"), model=typed))
        protocols = [entry for entry in map(self._protocol, PROTOCOLS) if words in entry.choice.words]
        self._listed = [_heading("Model"), *models] if models else []
        self._listed += [_heading("Tool protocol"), *protocols] if protocols else []
        place = next((at for at, entry in enumerate(self._listed) if current and entry.model == current), None)
        self.choices.show(
            [entry.choice for entry in self._listed],
            empty="No model here is called so. Write PROVIDER/MODEL whole, with a provider that is configured.",
            current=0 if place is None and words else place,
        )

    def _models(self) -> list[_Line]:
        known = choices(self._host)
        for server in self._local:
            names = {ref.model for ref, _ in known if ref.provider == server.provider}
            known += [
                (ModelRef(provider=server.provider, model=name), "answers on this machine")
                for name in server.models
                if name not in names
            ]
        if all(ref != self._session.model for ref, _ in known):
            known.insert(0, (self._session.model, "chosen by name"))
        lines = [self._model(ref, origin) for ref, origin in known]
        bare = [(name, f"{origin}; type its model's name") for name, origin in nameless(self._host)]
        bare += [
            (server.provider, "answers on this machine, without a model") for server in self._local if not server.models
        ]
        return lines + [
            _Line(choice=Choice(words=f"{name}/", mark=" ", note=words), provider=name) for name, words in bare
        ]

    def _model(self, ref: ModelRef, origin: str) -> _Line:
        is_used = ref == self._session.model
        return _Line(
            choice=Choice(
                words=str(ref), mark=self._mark(is_used=is_used), note=origin, right=("in use",) if is_used else ()
            ),
            model=ref,
        )

    def _protocol(self, name: str) -> _Line:
        is_used = name == self._session.protocol
        words = PROTOCOL_WORDS.get(name, "")
        return _Line(
            choice=Choice(
                words=name, mark=self._mark(is_used=is_used), note=words, right=("in use",) if is_used else ()
            ),
            protocol=name,
        )

    def _mark(self, *, is_used: bool) -> str:
        return self.glyphs.state[0] if is_used else self.glyphs.state[1]

    def _typed_model(self) -> ModelRef | None:
        """What is typed, where it names a provider that is configured, and a model."""
        provider, _, model = self.typed.partition("/")
        if provider in self._host.settings.providers and model:
            return ModelRef(provider=provider, model=model)
        return None

    def on_input_submitted(self) -> None:
        """Take the current one."""
        if self.choices.cursor is None:
            self.notify("write PROVIDER/MODEL, with a provider that is configured", severity="error", markup=False)
        else:
            self._take(self.choices.cursor)

    def on_line_view_opened(self, event: ChoiceList.Opened) -> None:
        """Take the one that was clicked."""
        self._take(event.line)

    def _take(self, number: int) -> None:
        if not 0 <= number < len(self._listed):
            return
        entry = self._listed[number]
        if entry.provider:
            field = self.query_one(Input)
            field.value = f"{entry.provider}/"
            field.cursor_position = len(field.value)
        elif entry.model is not None:
            self._session.model = self._host.model = entry.model
            self._remember("model", str(entry.model))
        elif entry.protocol:
            self._session.protocol = self._host.protocol = entry.protocol
            self._remember("protocol", entry.protocol)

    def _remember(self, name: str, value: str) -> None:
        if self._session.turn:
            self._session.save()
        try:
            save_state(self._host.settings, name, value)
        except TuiHostError as error:
            words = f"taken until the program ends, but not remembered: {error}"
            self.app.notify(line(words, 300), severity="warning", markup=False)  # pyright: ignore[reportUnknownMemberType]
        self.dismiss()


def _fixed(settings: Settings) -> str:
    """What a choice is worth where the person's own file makes it, one line."""
    names = " and ".join(name for name in ("model", "protocol") if name in settings.fixed)
    if not names or settings.config_file is None:
        return ""
    return f"{line(settings.config_file.name, 40)} sets {names}: another choice holds until the program ends.\n"


def _heading(words: str) -> _Line:
    return _Line(choice=Choice(words=words, heading=True))
