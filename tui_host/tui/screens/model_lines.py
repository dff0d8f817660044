"""The lines of the model screen: what is configured, what the providers report, whose key is missing, which options are in use."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tui_host.capture.visible import line
from tui_host.settings.model_options import SETTABLE, Options, text_of, value_of
from tui_host.settings.provider_check import lacks_key
from tui_host.settings.schema import PROTOCOLS, ModelRef
from tui_host.tui.masks import mask_of
from tui_host.tui.screens.option_screen import NOT_SENT, configured
from tui_host.tui.widgets.choices import Choice

if TYPE_CHECKING:
    from tui_host.chat.session import Session
    from tui_host.errors import TuiHostError
    from tui_host.host.host import Host
    from tui_host.settings.schema import Profile, Provider
    from tui_host.tui.glyphs import Glyphs

PROTOCOL_WORDS = {
    "native": "tools go in the field that the provider's API has for them; nothing is added to the prompt",
    "cline": "Cline's XML: one tool an answer, questions back, an explicit end",
    "cherry": "Cherry Studio's <tool_use>: several calls in one answer",
    "json": "the whole answer is one JSON object, as the official simple chatbot has it",
    "function": "the same with function and parameters, as in teaching texts",
    "react": "Thought, Action, Action Input, Observation, Final Answer",
    "hermes": "<tool_call> with JSON, as open-weight models are trained on",
    "hub": "three tools in the place of all: list, inspect, invoke",
}
"""What each tool protocol is; `hub+NAME` is said by its two halves."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A line with what it stands for: one of these, or a heading.

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
    """Where a provider is known from, in words; None for one that cannot be used as things are."""
    variable, environment = provider.key_variable, host.settings.environment
    if provider.embedded:
        return "embedded, needs no key"
    if provider.name in host.keys.stored:
        return "its key is in the keyring"
    if not provider.preset:
        return "configured"
    if variable is not None and environment.get(variable, "").strip():
        return f"{variable} is set"
    answer = host.reported.get(provider.name)
    return "answers on this machine" if variable is None and answer is not None and answer.error is None else None


def _named(profile: Profile) -> Iterator[str]:
    """What a profile names, a piece for each."""
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
    """What to do first, for a line that may be cut, where there is anything to do."""
    return f"{error.remedy}; {error.what}" if error.remedy else error.what


class Lines:
    """Makes the lines, of what is known now."""

    def __init__(self, host: Host, session: Session, glyphs: Glyphs) -> None:
        self._host = host
        self._session = session
        self._glyphs = glyphs
        self._mask = mask_of(host, glyphs)

    def models(self) -> list[Entry]:
        """Every model that can be named now, and the providers that name none."""
        found: dict[ModelRef, str] = {}
        bare: list[Entry] = []
        for provider in self._host.settings.providers.values():
            origin = _origin(self._host, provider)
            if origin is None:
                continue
            answer = self._host.reported.get(provider.name)
            told = answer.models if answer is not None else ()
            names = dict.fromkeys(name for name in (provider.default_model, *provider.models, *told) if name)
            found |= {ModelRef(provider=provider.name, model=name): origin for name in names}
            if lacks(self._host, provider):
                continue  # it has a line of its own, which asks for the key
            if answer is not None and answer.error is not None:
                bare.append(self._bare(provider, self._mask(f"cannot be asked: {_short(answer.error)}")))
            elif not names:
                bare.append(self._bare(provider, f"{origin}; type its model's name"))
        if self._session.model not in found:
            found = {self._session.model: "chosen by name"} | found
        return [self._model(ref, origin) for ref, origin in found.items()] + bare

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
        none = self._used("no profile", "every tool, and no system prompt", is_used=not used)
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
        """The options of the session's model, and what each is now."""
        entries: list[Entry] = []
        sent, unsent = self._sent()
        for name in SETTABLE:
            own = value_of(self._session.options, name)
            _, where = configured(self._host.settings, self._session, name)
            on_wire = sent.on_wire(name)
            by_key = on_wire is not None and on_wire != value_of(sent, name)
            note = "for this session" if own is not None else where or NOT_SENT
            if by_key:
                note = "as extra_body or another key of the vendor's says"
            elif name in unsent:
                note = f"not sent: {unsent[name]}"
            value = text_of(on_wire)
            right = (self._mask(value)[:24],) if value else ()
            mark = self._glyphs.state[0] if value else self._glyphs.state[1]
            entries.append(Entry(choice=Choice(words=name, mark=mark, note=note, right=right), option=name))
        return entries

    def _sent(self) -> tuple[Options, Mapping[str, str]]:
        """The options that the next request has, and those of them that cannot be told, with the reason."""
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
        """The presets that could be used, if only there were a key."""
        for provider in self._host.settings.providers.values():
            if lacks(self._host, provider):
                note = f"{provider.label}: {provider.key_variable} is not set; enter asks for the key"
                yield Entry(choice=Choice(words=f"{provider.name}/", mark=" ", note=note), keyless=provider.name)

    def stored(self) -> Iterator[Entry]:
        """The keys that can be forgotten."""
        for name in sorted(self._host.keys.stored):
            choice = Choice(words=f"forget the key of {name}", mark=" ", note="in the system's keyring")
            yield Entry(choice=choice, forget=name)
