"""The screen on which the user chooses profile, model, tool protocol, options and providers, and enters keys."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType
from textual.widgets import Input
from typing_extensions import override

from tui_host.capture.visible import line
from tui_host.errors import TuiHostError
from tui_host.settings.environment_references import lacks_key
from tui_host.settings.model_options import SETTABLE, Options, text_of, value_of
from tui_host.settings.save import save_state
from tui_host.settings.schema import PROTOCOLS, ModelRef
from tui_host.tui.host_mask import mask_of
from tui_host.tui.screens.field_screen import NOT_SENT, configured
from tui_host.tui.screens.page_screen import ChoiceScreen, Surroundings
from tui_host.tui.widgets.choices import Choice

if TYPE_CHECKING:
    from typing import Self

    from tui_host.chat.session import Session
    from tui_host.host.host import Host, Reported
    from tui_host.settings.schema import Profile, Provider, Settings

PROTOCOL_WORDS = {
    "native": "tools in the API's own field; nothing is added to the prompt",
    "cline": "XML, as in Cline: one tool per answer, questions to the user, an explicit end",
    "cherry": "<tool_use>, Cherry Studio: several calls in one answer",
    "json": "the whole answer is JSON: one object, as in MCP's simple chatbot example",
    "function": "JSON, as in many tutorials: function and parameters",
    "react": "Thought, Action, Observation: in lines, up to the Final Answer",
    "hermes": "<tool_call> with JSON: what open-weight models are trained on",
    "hub": "three tools in place of all: list, inspect, invoke",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """An entry that the user can choose."""

    name: str  # the text of the line
    take: Callable[[], None]  # called when the entry is chosen
    words: str = ""  # a description
    value: str = ""  # a figure at the end of the line
    mark: str = " "  # a glyph in front
    is_used: bool = False  # whether the entry is the one in use

    @property
    def choice(self) -> Choice:
        """The entry as a line of the list."""
        return Choice(words=self.name, mark=self.mark, note=self.words, right=(self.value,) if self.value else ())


def protocol_words(name: str) -> str:
    """Return the description of a tool protocol; for `hub+NAME`, those of both parts."""
    over = name.removeprefix("hub+")
    return PROTOCOL_WORDS[name] if over == name else f"hub, called as in {over}: three tools in place of all"


def lacks(host: Host, provider: Provider) -> bool:
    """Whether a provider's key is missing, as far as the keyring was asked."""
    return provider.name not in host.keys.stored and lacks_key(provider, host.settings.environment)


def _origin(host: Host, provider: Provider) -> str:
    """Return where a provider is known from; empty for an unusable one."""
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
    is_local = variable is None and answer is not None and answer.error is None
    return "runs on this machine" if is_local else ""


def _named(profile: Profile) -> Iterator[str]:
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
    return f"{error.remedy}; {error.what}" if error.remedy else error.what


class ModelScreen(ChoiceScreen):
    """Choices in groups: models, profiles, tool protocols, options, providers, keys. The user may also type PROVIDER/MODEL."""

    IS_OWN = True
    HEADING = "Model, tool protocol, profile"
    PLACEHOLDER = "filter, or type PROVIDER/MODEL"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("tab", "group(1)", "next group", tooltip="go to the next group; shift+tab: the former one"),
        Binding("shift+tab", "group(-1)"),
        Binding("enter", "", "use", tooltip="use it in this session and in new ones"),
    ]
    DEFAULT_CSS = "ModelScreen > #page-note { min-height: 2; }"

    def __init__(self, host: Host, session: Session, typed: str = "") -> None:
        super().__init__()
        self._begun = typed
        self._host = host
        self._session = session
        self._lines: Sequence[Entry | str] = ()  # the entries, with the headings of their groups

    @classmethod
    @override
    def over(cls, place: Surroundings, words: str = "") -> Self | None:
        if words == "profile" and not place.host.settings.profiles:
            place.tell("No profile is configured. Write [profiles.NAME] into config.toml.")
            return None
        return cls(place.host, place.session, words)

    @property
    def current(self) -> Entry | None:
        """The entry under the cursor, if the list has one."""
        number = self.choices.cursor
        entry = self._lines[number] if number is not None and number < len(self._lines) else None
        return entry if isinstance(entry, Entry) else None

    def on_mount(self) -> None:
        session, profiles = self._session, self._host.settings.profiles
        names = [str(session.model), session.protocol, *([session.profile] if session.profile in profiles else [])]
        self.say(f"{self.HEADING}   now {' · '.join(names)}")
        self._show(str(session.model))
        if self._begun:
            self._write(self._begun)
        self.start(self._look_around())

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
        self._show()

    def _show(self, wanted: str = "") -> None:
        """Show the groups, with the cursor on the wanted entry, else on the one it was on, else on the first."""
        former = self.current
        name = wanted or (former.name if former is not None else "")
        self._lines = [
            *self._matching("Model", self._models()),
            *self._matching("Profile", self._profiles()),
            *self._matching("Tool protocol", self._protocols()),
            *self._matching("Options", self._options()),
            *self._matching("Providers", self._providers()),
            *self._matching("Keys", self._stored_keys()),
        ]
        choices = [
            Choice(words=entry, heading=True) if isinstance(entry, str) else entry.choice for entry in self._lines
        ]
        places = [at for at, entry in enumerate(self._lines) if isinstance(entry, Entry) and entry.name == name]
        self.choices.show(choices, empty=_EMPTY, current=places[0] if places else 0)
        self._tell()

    def _matching(self, heading: str, entries: Iterable[Entry]) -> Sequence[Entry | str]:
        words, typed = self.typed.casefold(), self._typed_model()
        found = [entry for entry in entries if words == heading.casefold() or words in entry.name.casefold()]
        if heading == "Model" and typed is not None and all(entry.name != str(typed) for entry in found):
            found.append(self._model(typed, "as typed"))
        return [heading, *found] if found else []

    def on_line_view_cursor_moved(self) -> None:
        self._tell()

    def _tell(self) -> None:
        """Say what the entry under the cursor is, in full."""
        if (current := self.current) is not None:
            named = " ".join(filter(None, (current.name, current.value, "(in use)" * current.is_used)))
            self.note(f"{named}: {current.words}{_fixed(self._host.settings)}")

    def action_group(self, step: int) -> None:
        """Go to the next or the former group: to its entry in use, else to its first."""
        headings = [at for at, entry in enumerate(self._lines) if isinstance(entry, str)]
        if not headings:
            return
        here = self.choices.cursor or 0
        begin = headings[(sum(at <= here for at in headings) - 1 + step) % len(headings)]
        end = min((at for at in headings if at > begin), default=len(self._lines))
        used = (
            at
            for at, entry in enumerate(self._lines[:end])
            if at > begin and isinstance(entry, Entry) and entry.is_used
        )
        self.choices.show_line(begin, top=True)
        self.choices.move_cursor(next(used, begin + 1))

    def _typed_model(self) -> ModelRef | None:
        """Return the typed model, if its provider is configured."""
        provider, _, model = self.typed.partition("/")
        if provider in self._host.settings.providers and model:
            return ModelRef(provider=provider, model=model)
        return None

    def on_input_submitted(self) -> None:
        if self.choices.cursor is None:
            self.notify("type PROVIDER/MODEL, with a configured provider", severity="error", markup=False)
        else:
            self._choose()

    def on_line_view_opened(self) -> None:
        self._choose()

    def _choose(self) -> None:
        if (current := self.current) is not None:  # the list may have changed since the click
            current.take()

    def _write(self, text: str) -> None:
        field = self.query_one(Input)
        field.value = text
        field.cursor_position = len(text)

    def _with_key(self, model: ModelRef | None, take: Callable[[], None]) -> None:
        """Apply a choice after making sure that the model's provider has a key."""
        provider = self._host.settings.providers.get(model.provider) if model is not None else None
        if provider is not None and lacks(self._host, provider):
            self.start(self._find_key(provider, take), exclusive=True)
        else:
            take()

    def _take_model(self, model: ModelRef) -> None:
        def take() -> None:
            self._session.model = self._host.sessions.model = model
            self._remember({"model": str(model)})

        self._with_key(model, take)

    def _take_protocol(self, name: str) -> None:
        self._session.protocol = self._host.sessions.protocol = name
        self._remember({"protocol": name})

    def _use_profile(self, name: str) -> None:
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
        with self.telling(severity="warning"):
            await self._host.with_key(provider)
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
            self.start(self._look_around(provider.name))

        self.app.push_screen(KeyScreen(self._host, provider, stored))  # pyright: ignore[reportUnknownMemberType]

    def _ask_option(self, name: str) -> None:
        from tui_host.tui.screens.field_screen import option_screen

        self.app.push_screen(option_screen(self._host, self._session, name, self._show))  # pyright: ignore[reportUnknownMemberType]

    def _delete_key(self, name: str) -> None:
        self.start(self._forget(self._host.settings.providers[name]))

    async def _forget(self, provider: Provider) -> None:
        with self.telling("not deleted: "):
            await self._host.keys.forget(provider)
            self._host.reported.pop(provider.name, None)
            self.notify(f"the key of {provider.name} was deleted", markup=False)
            self._show()

    def _remember(self, choices: Mapping[str, str | None]) -> None:
        if self._session.turn:
            self._session.save()
        with self.telling("used until the program ends, but not saved: ", "warning"):
            save_state(self._host.settings, choices)
        self.action_leave()

    # The entries.

    def _models(self) -> list[Entry]:
        origins: dict[ModelRef, str] = {}
        for provider in self._host.settings.providers.values():
            origin = _origin(self._host, provider)
            if not origin:
                continue
            answer = self._host.reported.get(provider.name)
            names = (provider.default_model, *provider.models, *(answer.models if answer is not None else ()))
            words = "no key" if lacks(self._host, provider) else origin
            origins |= {ModelRef(provider=provider.name, model=name): words for name in names if name}
        if self._session.model not in origins:
            origins = {self._session.model: "chosen by name"} | origins
        return [self._model(ref, origin) for ref, origin in origins.items()]

    def _model(self, ref: ModelRef, origin: str) -> Entry:
        return self._usable(str(ref), origin, partial(self._take_model, ref), is_used=self._session.model == ref)

    def _usable(self, name: str, words: str, take: Callable[[], None], *, is_used: bool) -> Entry:
        mark = "●" if is_used else "○"
        return Entry(name=name, take=take, words=words, mark=mark, is_used=is_used)

    def _profiles(self) -> list[Entry]:
        """Return the profiles and «none»; empty if no profile is configured."""
        settings = self._host.settings
        used = self._session.profile if self._session.profile in settings.profiles else ""
        if not settings.profiles:
            return []
        entries = [
            self._usable(
                name,
                " · ".join(_named(profile)),
                partial(self._with_key, profile.model, partial(self._use_profile, name)),
                is_used=name == used,
            )
            for name, profile in settings.profiles.items()
        ]
        none = self._usable(
            "no profile", "all tools, no system prompt", partial(self._use_profile, ""), is_used=not used
        )
        return [*entries, none]

    def _protocols(self) -> Iterator[Entry]:
        for name in PROTOCOLS:
            is_used = name == self._session.protocol
            yield self._usable(name, protocol_words(name), partial(self._take_protocol, name), is_used=is_used)

    def _options(self) -> Iterator[Entry]:
        """Yield the options of the session's model with their values."""
        sent, unsent = self._sent()
        for name in SETTABLE:
            own = value_of(self._session.options, name)
            _, where = configured(self._host.settings, self._session, name)
            on_wire = sent.on_wire(name)
            note = "for this session" if own is not None else where or NOT_SENT
            if on_wire is not None and on_wire != value_of(sent, name):
                note = "set by extra_body or a vendor's own key"
            elif name in unsent:
                note = f"not sent: {unsent[name]}"
            value = mask_of(self._host)(text_of(on_wire))[:24]
            mark = "●" if value else "○"
            yield Entry(name=name, take=partial(self._ask_option, name), words=note, value=value, mark=mark)

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

    def _providers(self) -> Iterator[Entry]:
        """Yield the providers, those that can be used first: whether there is a key, and whether the provider answers."""
        mask, keyless = mask_of(self._host), list[Entry]()
        for provider in self._host.settings.providers.values():
            name, origin = f"{provider.name}/", _origin(self._host, provider)
            answer = self._host.reported.get(provider.name)
            if lacks(self._host, provider):
                words = f"{provider.label}: {provider.key_variable} is not set; press enter to type the key"
                keyless.append(Entry(name=name, take=partial(self._ask_key, provider, None), words=words))
            elif origin:
                words = origin
                if answer is not None and answer.error is not None:
                    words = mask(f"does not answer: {_short(answer.error)}")
                elif not (provider.default_model or provider.models or (answer is not None and answer.models)):
                    words = f"{origin}; type the name of a model"
                yield Entry(name=name, take=partial(self._write, name), words=words)
        yield from keyless

    def _stored_keys(self) -> Iterator[Entry]:
        for name in sorted(self._host.keys.stored):
            take = partial(self._delete_key, name)
            yield Entry(name=f"delete the key of {name}", take=take, words="in the system's keyring")


_EMPTY = "No model has this name. Type PROVIDER/MODEL in full, with a configured provider."


def _fixed(settings: Settings) -> str:
    """Say which choices `config.toml` fixes, in one line."""
    names = " and ".join(name for name in ("model", "protocol", "profile") if name in settings.fixed)
    if not names or settings.config_file is None:
        return ""
    return f"\n{line(settings.config_file.name, 40)} sets {names}; another choice lasts until the program ends."
