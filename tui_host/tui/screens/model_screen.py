"""The screen for profile, model, tool protocol and options, with the keys of providers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from textual.widgets import Input

from tui_host.capture.visible import line
from tui_host.errors import TuiHostError
from tui_host.settings.model_options import SETTABLE, Options, text_of, value_of
from tui_host.settings.provider_check import lacks_key
from tui_host.settings.save import save_state
from tui_host.settings.schema import PROTOCOLS, ModelRef
from tui_host.tui.masks import mask_of
from tui_host.tui.screens.field_screen import NOT_SENT, configured
from tui_host.tui.screens.page_screen import ChoiceScreen
from tui_host.tui.widgets.choices import Choice, ChoiceList

if TYPE_CHECKING:
    from tui_host.chat.session import Session
    from tui_host.errors import TuiHostError
    from tui_host.host.host import Host
    from tui_host.host.provider_models import Reported
    from tui_host.settings.schema import Profile, Provider, Settings
    from tui_host.tui.glyphs import Glyphs

PROTOCOL_WORDS = {
    "native": "tools go into the API's own field for tools; nothing is added to the prompt",
    "cline": "Cline's XML: one tool per answer, questions to the user, an explicit end",
    "cherry": "Cherry Studio's <tool_use>: several calls in one answer",
    "json": "the whole answer is one JSON object, as in MCP's simple chatbot example",
    "function": "the same with function and parameters, as in many tutorials",
    "react": "Thought, Action, Action Input, Observation, Final Answer",
    "hermes": "<tool_call> with JSON, as open-weight models are trained on",
    "hub": "three tools in place of all: list, inspect, invoke",
}
"""What each tool protocol is; `hub+NAME` is said by its two halves."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A line of the list: a heading, or something to choose.

    Attributes:
        model: A model to take.
        protocol: A tool protocol to take.
        profile: A profile to take, empty to follow none, None for something else.
        provider: One whose model is still to be typed.
        keyless: A provider whose key is to be asked for.
        forget: A provider whose key the keyring is to forget.
        option: An option to set.
    """

    choice: Choice
    model: ModelRef | None = None
    protocol: str = ""
    profile: str | None = None
    provider: str = ""
    keyless: str = ""
    forget: str = ""
    option: str = ""


def lacks(host: Host, provider: Provider) -> bool:
    """Whether a provider's key is missing, as far as the keyring was asked."""
    return provider.name not in host.keys.stored and lacks_key(provider, host.settings.environment)


def _origin(host: Host, provider: Provider) -> str | None:
    """Say where a provider is known from; None for an unusable provider."""
    variable, environment = provider.key_variable, host.settings.environment
    if provider.embedded:
        return "built in, needs no key"
    if provider.name in host.keys.stored:
        return "its key is in the keyring"
    if not provider.preset:
        return "configured"
    if variable is not None and environment.get(variable, "").strip():
        return f"{variable} is set"
    answer = host.reported.get(provider.name)
    return "runs on this machine" if variable is None and answer is not None and answer.error is None else None


def _named(profile: Profile) -> Iterator[str]:
    """Yield the settings of a profile as words."""
    if profile.model is not None:
        yield str(profile.model)
    if profile.protocol is not None:
        yield profile.protocol
    if profile.servers is not None:
        yield f"servers {', '.join(profile.servers) or 'none'}"
    if profile.tools is not None:
        yield f"tools {', '.join(profile.tools) or 'none'}"
    if profile.system is not None:
        yield line(profile.system.text.strip(), 80)


def _short(error: TuiHostError) -> str:
    """Put the remedy first, for a line that may be cut."""
    return f"{error.remedy}; {error.what}" if error.remedy else error.what


class Lines:
    """Makes the entries from the present state."""

    def __init__(self, host: Host, session: Session, glyphs: Glyphs) -> None:
        self._host = host
        self._session = session
        self._glyphs = glyphs
        self._mask = mask_of(host, glyphs)

    def models(self) -> list[Entry]:
        """Return every known model, and the providers without a known model."""
        origins: dict[ModelRef, str] = {}
        bare: list[Entry] = []
        for provider in self._host.settings.providers.values():
            origin = _origin(self._host, provider)
            if origin is None:
                continue
            answer = self._host.reported.get(provider.name)
            reported = answer.models if answer is not None else ()
            names = dict.fromkeys(name for name in (provider.default_model, *provider.models, *reported) if name)
            origins |= {ModelRef(provider=provider.name, model=name): origin for name in names}
            if lacks(self._host, provider):
                continue  # it has a line of its own, which asks for the key
            if answer is not None and answer.error is not None:
                bare.append(self._bare(provider, self._mask(f"does not answer: {_short(answer.error)}")))
            elif not names:
                bare.append(self._bare(provider, f"{origin}; type the name of a model"))
        if self._session.model not in origins:
            origins = {self._session.model: "chosen by name"} | origins
        return [self._model(ref, origin) for ref, origin in origins.items()] + bare

    def _bare(self, provider: Provider, words: str) -> Entry:
        return Entry(choice=Choice(words=f"{provider.name}/", mark=" ", note=words), provider=provider.name)

    def _model(self, ref: ModelRef, origin: str) -> Entry:
        return Entry(choice=self._used(str(ref), origin, is_used=ref == self._session.model), model=ref)

    def profiles(self) -> list[Entry]:
        """The profiles, and none; nothing where none is configured."""
        profiles, dot = self._host.settings.profiles, f" {self._glyphs.dot} "
        used = self._session.profile if self._session.profile in profiles else ""
        if not profiles:
            return []
        entries = [
            Entry(choice=self._used(name, dot.join(_named(profile)), is_used=name == used), profile=name)
            for name, profile in profiles.items()
        ]
        none = self._used("no profile", "all tools, no system prompt", is_used=not used)
        return [*entries, Entry(choice=none, profile="")]

    def protocols(self) -> list[Entry]:
        """The tool protocols."""
        return [
            Entry(
                choice=self._used(name, PROTOCOL_WORDS.get(name, ""), is_used=name == self._session.protocol),
                protocol=name,
            )
            for name in PROTOCOLS
        ]

    def _used(self, words: str, note: str, *, is_used: bool) -> Choice:
        mark = self._glyphs.state[0] if is_used else self._glyphs.state[1]
        return Choice(words=words, mark=mark, note=note, right=("in use",) if is_used else ())

    def options(self) -> list[Entry]:
        """Return the options of the session's model with their values."""
        entries: list[Entry] = []
        sent, unsent = self._sent()
        for name in SETTABLE:
            own = value_of(self._session.options, name)
            _, where = configured(self._host.settings, self._session, name)
            on_wire = sent.on_wire(name)
            by_key = on_wire is not None and on_wire != value_of(sent, name)
            note = "for this session" if own is not None else where or NOT_SENT
            if by_key:
                note = "set by extra_body or a vendor's own key"
            elif name in unsent:
                note = f"not sent: {unsent[name]}"
            value = text_of(on_wire)
            right = (self._mask(value)[:24],) if value else ()
            mark = self._glyphs.state[0] if value else self._glyphs.state[1]
            entries.append(Entry(choice=Choice(words=name, mark=mark, note=note, right=right), option=name))
        return entries

    def _sent(self) -> tuple[Options, Mapping[str, str]]:
        """Return the options of the next request, and the options that cannot be sent, with reasons."""
        from tui_host.llm.messages import Ask
        from tui_host.llm.model_request import unsent

        settings, session = self._host.settings, self._session
        options, profile = session.options, settings.profiles.get(session.profile)
        provider = settings.providers.get(session.model.provider)
        options = options.over(profile.options) if profile is not None else options
        if provider is None:
            return options, {}
        options = options.over(provider.options)
        ask = Ask(model=session.model.model, messages=(), options=options)
        return options, unsent(provider, ask, settings.environment)

    def keyless(self) -> Iterator[Entry]:
        """Yield the presets without a key."""
        for provider in self._host.settings.providers.values():
            if lacks(self._host, provider):
                note = f"{provider.label}: {provider.key_variable} is not set; press enter to type the key"
                yield Entry(choice=Choice(words=f"{provider.name}/", mark=" ", note=note), keyless=provider.name)

    def stored(self) -> Iterator[Entry]:
        """Yield the saved keys, to delete."""
        for name in sorted(self._host.keys.stored):
            choice = Choice(words=f"delete the key of {name}", mark=" ", note="in the system's keyring")
            yield Entry(choice=choice, forget=name)


_MORE = (
    "For another provider, choose it and type its key, set the key in the environment (OPENAI_API_KEY, …), or write it into"
    " config.toml."
)


class ModelScreen(ChoiceScreen):
    """A filtered list. A whole PROVIDER/MODEL may be typed too."""

    HEADING = "Model, tool protocol, profile"
    PLACE = "Model"
    PLACEHOLDER = "filter, or type PROVIDER/MODEL"

    def __init__(self, host: Host, session: Session, typed: str = "") -> None:
        super().__init__()
        self._begun = typed
        self._host = host
        self._session = session
        self._listed: list[Entry] = []

    def on_mount(self) -> None:
        """Show the current choices, and the list."""
        session, profiles = self._session, self._host.settings.profiles
        names = [str(session.model), session.protocol, *([session.profile] if session.profile in profiles else [])]
        self.say(f"{self.HEADING}   now {f' {self.glyphs.dot} '.join(names)}")
        self.note(_fixed(self._host.settings) + _MORE.replace("…", self.glyphs.more))
        self._show(session.model)
        if self._begun:
            self._write(self._begun)
        self.run_worker(self._look_around())

    async def _look_around(self, *names: str) -> None:
        """Ask all providers, or the named ones, for their models in the background."""
        from tui_host.host.provider_models import reported

        try:
            await self._host.ready()
        except TuiHostError:
            return  # told by the app, which ends
        answered = [name for name, answer in self._host.reported.items() if answer.error is None]
        await reported(self._host, names, self._report, known=answered)
        if self.is_running:
            self._show()  # the keys that the keyring has are known by now

    def _report(self, answer: Reported) -> None:
        self._host.reported[answer.provider] = answer
        if self.is_running:
            self._show()

    def on_input_changed(self) -> None:
        """Filter by the typed text."""
        self._show()

    def _show(self, current: ModelRef | None = None) -> None:
        words, lines = self.typed.casefold(), Lines(self._host, self._session, self.glyphs)
        typed = self._typed_model()
        listed: list[Entry] = []
        for heading, entries in (
            ("Model", lines.models()),
            ("Profile", lines.profiles()),
            ("Tool protocol", lines.protocols()),
            ("Options", lines.options()),
            ("Without a key", lines.keyless()),
            ("Keys", lines.stored()),
        ):
            is_all = words == heading.casefold()
            matches = [entry for entry in entries if is_all or words in entry.choice.words.casefold()]
            if heading == "Model" and typed is not None and all(entry.model != typed for entry in matches):
                matches.append(Entry(choice=Choice(words=str(typed), mark=" ", note="as typed"), model=typed))
            if matches:
                listed += [Entry(choice=Choice(words=heading, heading=True)), *matches]
        place = self._place(listed, current, is_filtered=bool(words))
        self._listed = listed
        self.choices.show(
            [entry.choice for entry in listed],
            empty="No model has this name. Type PROVIDER/MODEL in full, with a configured provider.",
            current=place,
        )

    def _place(self, listed: list[Entry], current: ModelRef | None, *, is_filtered: bool) -> int | None:
        """Return the new line of the cursor: the wanted model, else the former entry, else the first line."""
        if current is not None:
            return next((at for at, entry in enumerate(listed) if entry.model == current), None)
        cursor = self.choices.cursor
        chosen = self._listed[cursor].choice.words if cursor is not None and cursor < len(self._listed) else ""
        same = next((at for at, entry in enumerate(listed) if entry.choice.words == chosen), None)
        return 0 if is_filtered and (same is None or len(listed) != len(self._listed)) else same

    def _typed_model(self) -> ModelRef | None:
        """Return the typed model, if its provider is configured."""
        provider, _, model = self.typed.partition("/")
        if provider in self._host.settings.providers and model:
            return ModelRef(provider=provider, model=model)
        return None

    def on_input_submitted(self) -> None:
        """Use the current entry."""
        if self.choices.cursor is None:
            self.notify("type PROVIDER/MODEL, with a configured provider", severity="error", markup=False)
        else:
            self._take(self.choices.cursor)

    def on_line_view_opened(self, event: ChoiceList.Opened) -> None:
        """Use the clicked entry."""
        self._take(event.line)

    def _take(self, number: int) -> None:
        if not 0 <= number < len(self._listed):
            return
        entry = self._listed[number]
        if entry.provider:
            self._write(f"{entry.provider}/")
        elif entry.model is not None:
            self._with_key(entry.model, partial(self._take_model, entry.model))
        elif entry.protocol:
            self._session.protocol = self._host.sessions.protocol = entry.protocol
            self._remember({"protocol": entry.protocol})
        elif entry.profile is not None:
            profile = self._host.settings.profiles.get(entry.profile)
            self._with_key(profile.model if profile is not None else None, partial(self._take_profile, entry.profile))
        elif entry.option:
            self._ask_option(entry.option)
        elif entry.keyless:
            self._ask_key(self._host.settings.providers[entry.keyless], None)
        elif entry.forget:
            self.run_worker(self._forget(self._host.settings.providers[entry.forget]))

    def _write(self, text: str) -> None:
        field = self.query_one(Input)
        field.value = text
        field.cursor_position = len(text)

    def _with_key(self, model: ModelRef | None, take: Callable[[], None]) -> None:
        """Apply a choice after making sure that the model's provider has a key."""
        provider = self._host.settings.providers.get(model.provider) if model is not None else None
        if provider is not None and lacks(self._host, provider):
            self.run_worker(self._find_key(provider, take), exclusive=True)
        else:
            take()

    def _take_model(self, model: ModelRef) -> None:
        self._session.model = self._host.sessions.model = model
        self._remember({"model": str(model)})

    def _take_profile(self, name: str) -> None:
        """Use a profile; former choices for its settings are dropped."""
        host, session = self._host, self._session
        host.sessions.take_profile(session, name)
        new = host.sessions
        new.profile, new.model, new.protocol = name, session.model, session.protocol
        choices: dict[str, str | None] = {"profile": name or None}
        profile = host.settings.profiles.get(name)
        if profile is not None and profile.model is not None:
            choices["model"] = None
        if profile is not None and profile.protocol is not None:
            choices["protocol"] = None
        self._remember(choices)

    async def _find_key(self, provider: Provider, take: Callable[[], None]) -> None:
        """Apply a choice if the keyring has the key, else ask for the key."""
        try:
            await self._host.with_key(provider)
        except TuiHostError as error:
            self.notify(line(str(error), 300), severity="warning", markup=False)
        if not self.is_current:
            return  # closed meanwhile
        if lacks(self._host, provider):
            self._ask_key(provider, take)
        else:
            take()

    def _ask_key(self, provider: Provider, take: Callable[[], None] | None) -> None:
        """Ask for a key; then apply the choice, or show the provider's models."""
        from tui_host.tui.screens.field_screen import KeyScreen

        def stored() -> None:
            if take is not None:
                take()
                return
            self._write(f"{provider.name}/")
            self.run_worker(self._look_around(provider.name))

        self.app.push_screen(KeyScreen(self._host, provider, stored))  # pyright: ignore[reportUnknownMemberType]

    def _ask_option(self, name: str) -> None:
        from tui_host.tui.screens.field_screen import OptionScreen

        self.app.push_screen(OptionScreen(self._host, self._session, name, self._show))  # pyright: ignore[reportUnknownMemberType]

    async def _forget(self, provider: Provider) -> None:
        try:
            await self._host.keys.forget(provider)
        except TuiHostError as error:
            self.notify(line(f"not deleted: {error}", 300), severity="error", markup=False)
            return
        self._host.reported.pop(provider.name, None)
        self.notify(f"the key of {provider.name} was deleted", markup=False)
        self._show()

    def _remember(self, choices: Mapping[str, str | None]) -> None:
        if self._session.turn:
            self._session.save()
        try:
            save_state(self._host.settings, choices)
        except TuiHostError as error:
            words = f"used until the program ends, but not saved: {error}"
            self.app.notify(line(words, 300), severity="warning", markup=False)  # pyright: ignore[reportUnknownMemberType]
        self.action_leave()


def _fixed(settings: Settings) -> str:
    """Say which choices `config.toml` fixes, in one line."""
    names = " and ".join(name for name in ("model", "protocol", "profile") if name in settings.fixed)
    if not names or settings.config_file is None:
        return ""
    return f"{line(settings.config_file.name, 40)} sets {names}; another choice lasts until the program ends.\n"
