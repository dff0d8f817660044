"""The screen on which the user chooses profile, model, tool protocol, options and providers, and enters keys."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType
from textual.widgets import Input
from typing_extensions import override

from tui_host.capture.visible import line
from tui_host.chat.conversation import NoteItem
from tui_host.errors import TuiHostError
from tui_host.llm.provider_check import lacks_key
from tui_host.settings.model_options import SETTABLE, text_of, value_of
from tui_host.settings.save import save_state
from tui_host.settings.schema import PROTOCOLS, ModelRef
from tui_host.settings.system_keyring import keyring_name
from tui_host.tui.screens.field_screen import NOT_SENT, ask_for_option, configured, key_screen
from tui_host.tui.screens.page_screen import Browse
from tui_host.tui.widgets.choices import Choice

if TYPE_CHECKING:
    from tui_host.chat.session import Session
    from tui_host.settings.schema import Provider
    from tui_host.tui.screens.main_screen import MainScreen

_TYPED = "as typed"
_GROUP = 15  # cells of a group's name, before its first entry
_HUB = "three tools in place of all"
PROTOCOL_WORDS = {
    "native": "tools in the API's own field; nothing is added to the prompt",
    "cline": "XML, as in Cline: one tool per answer, questions to the user, an explicit end",
    "cherry": "<tool_use>, Cherry Studio: several calls in one answer",
    "json": "the whole answer is JSON: one object, as in MCP's simple chatbot example",
    "function": "JSON, as in many tutorials: function and parameters",
    "react": "Thought, Action, Observation: in lines, up to the Final Answer",
    "hermes": "<tool_call> with JSON: what open-weight models are trained on",
    "hub": f"{_HUB}: list, inspect, invoke",
} | {name: f"{_HUB}; asked for as in {name.removeprefix('hub+')}" for name in PROTOCOLS if "+" in name}


def _note_change(session: Session, what: str, chosen: str, before: str) -> None:
    """Say what holds from here on, in place of the last item if that says the same: nothing was sent since."""
    items, words = session.conversation, f"the {what} is {chosen} from here on; it was "
    last = items[-1] if items else None
    # A running turn may have sent a request that no item tells of yet; a profile changes more than its line says.
    if isinstance(last, NoteItem) and last.kind == "note" and not session.busy and what != "profile":
        # An empty note, which is not shown, stands where a change was taken back.
        change = re.fullmatch(f"(the {what} is .+ from here on; it was (.+))?", last.what)
        if change is not None:
            before = change[2] or before
            items.put(len(items) - 1, replace(last, what="" if chosen == before else words + before))
            return
    session.note(words + before)


class ModelScreen(Browse):
    """Models, profiles, tool protocols, options, providers and keys in one list. The user may also type PROVIDER/MODEL."""

    IS_OWN = True
    HEADING = "Model, tool protocol, profile"
    FILTER = "filter, type PROVIDER/MODEL, or a group: tool protocol, options, keys"
    FILTER_FIRST = True
    HAS_SHEET = False
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "", "use", tooltip="use it in this session and in new ones"),
    ]

    def __init__(self, main: MainScreen, typed: str = "") -> None:
        super().__init__()
        self._host, self._session, self._begun = main.host, main.submissions.session, typed
        self._told = ""

    @override
    def on_mount(self) -> None:
        session, profiles = self._session, self._host.settings.profiles
        names = [str(session.model), session.protocol, session.profile if session.profile in profiles else ""]
        self.note(f"{self.HEADING}   now {' · '.join(filter(None, names))}", place="#page-heading")
        self.list_again(f"Model {session.model}")
        self._ask(self._begun)

    async def _ask_providers(self, *names: str) -> None:
        from tui_host.host.provider_models import reported

        with self.telling():
            await self._host.ready()
            answered = [name for name, answer in self._host.reported.items() if answer.error is None]
            await reported(self._host, names, known=answered)

    @override
    def items(self) -> Mapping[str, Choice]:
        words, used, profile_used = self.typed.casefold(), self._session.protocol, self._session.profile
        self.empty = "No model has this name. Type PROVIDER/MODEL in full, with a configured provider."
        if words == "profile":
            self.empty = "No profile is configured. Write [profiles.NAME] into config.toml."
        protocols = [
            Choice(words=name, mark="○●"[name == used], note=PROTOCOL_WORDS[name], take=partial(self._choose, name))
            for name in PROTOCOLS
        ]
        profiles, stored, settings = list[Choice](), list[Choice](), self._host.settings
        for name, profile in settings.profiles.items():
            parts = [str(value) for value in (profile.model, profile.protocol) if value is not None]
            for what, names in (("servers", profile.servers), ("tools", profile.tools)):
                parts += [] if names is None else [f"{what} {', '.join(names) or 'none'}"]
            parts += [] if profile.system is None else [line(profile.system.text.strip(), 80)]
            of = "" if profile.model is None else profile.model.provider
            take = partial(self._with_key, of, partial(self._choose, name, is_profile=True))
            profiles.append(Choice(words=name, mark="○●"[name == profile_used], note=" · ".join(parts), take=take))
        if settings.profiles:
            mark, take = "○●"[profile_used not in settings.profiles], partial(self._choose, "", is_profile=True)
            profiles.append(Choice(words="no profile", mark=mark, note="all tools, no system prompt", take=take))
        for name in sorted(self._host.keys.stored):
            what, take = f"delete the key of {name}", partial(self.start, partial(self._forget, name))
            stored.append(Choice(words=what, mark=" ", note="in the system's keyring", take=take))
        listed: dict[str, Choice] = {}
        groups = {"Model": self._models(), "Profile": profiles, "Tool protocol": protocols}
        for heading, entries in (groups | {"Options": self._options(), "Keys": stored}).items():
            matching = [entry for entry in entries if words == heading.casefold() or words in entry.words.casefold()]
            for number, choice in enumerate(matching):
                before = f"{heading if not number else '':<{_GROUP}}"
                listed[f"{heading} {choice.words}"] = replace(choice, before=before)
        return listed

    @override
    def look(self) -> None:
        """Say below the list what the current entry is, in full."""
        host, session, settings = self._host, self._session, self._host.settings
        chosen = session.model, session.protocol, session.profile, session.options
        self.revision = self.typed, tuple(host.reported.values()), tuple(host.keys.stored), *chosen
        super().look()
        choice = self.listed.get(self.choices.current)
        if choice is None:
            return
        names = (choice.words, choice.right, "(in use)" * (choice.mark == "●"))
        words = f"{' '.join(filter(None, names))}: {choice.note}"
        fixed = [name for name in ("model", "protocol", "profile") if name in settings.fixed]
        if fixed and settings.config_file is not None:
            file = line(settings.config_file.name, 40)
            words += f"\n{file} sets {' and '.join(fixed)}; another choice lasts until the program ends."
        if words != self._told:
            self._told = words
            self.note(words)

    @override
    def on_input_changed(self, event: Input.Changed) -> None:
        """Go to the entry whose whole name was typed: the one in use may only begin so."""
        event.stop()
        self.look()
        # A provider, and a model listed because it was typed, may be only the beginning of what is meant.
        for key, choice in self.listed.items():
            if choice.words == self.typed and choice.mark != " " and choice.note != _TYPED:
                self.choices.move_cursor(self.choices.keys.index(key))
                break

    def _ask(self, text: str, *providers: str) -> None:
        """Write into the field, and ask all providers, or the named ones, for their models."""
        self.field.value = text
        self.field.cursor_position = len(text)
        self.start(self._ask_providers(*providers))

    def _choose(self, chosen: ModelRef | str, *, is_profile: bool = False) -> None:
        """Use a model, a tool protocol or a profile, which drops former choices for its settings; and save the choice."""
        session, new, settings = self._session, self._host.sessions, self._host.settings
        before: ModelRef | str
        if is_profile:
            what, before, profile = "profile", session.profile, settings.profiles.get(str(chosen))
            choices: dict[str, object] = {"profile": str(chosen) or None}
            if profile is not None:
                owned = {"model": profile.model, "protocol": profile.protocol}
                choices |= {name: None for name, value in owned.items() if value is not None}
            new.take_profile(session, str(chosen))
            new.profile, new.model, new.protocol = session.profile, session.model, session.protocol
        elif isinstance(chosen, ModelRef):
            what, before, session.model, new.model = "model", session.model, chosen, chosen
            listed = self._host.reported.get(chosen.provider)
            window = None if listed is None else listed.models.get(chosen.model)
            choices = {"model": str(chosen), "context": {str(chosen): window}}  # None forgets, so old sizes go
        else:
            what, before, session.protocol, new.protocol = "tool protocol", session.protocol, chosen, chosen
            choices = {"protocol": chosen}
        if session.turn:
            if chosen != before:
                _note_change(session, what, str(chosen) or "none", str(before) or "none")
            session.save()
        with self.telling("used until the program ends, but not saved: ", "warning"):
            save_state(settings, choices)
        self.action_leave()

    def _lacks(self, provider: Provider) -> bool:
        """Whether a provider's key is missing, as far as the keyring was asked."""
        return provider.name not in self._host.keys.stored and lacks_key(provider, self._host.settings.environment)

    def _with_key(self, name: str, take: Callable[[], object]) -> None:
        """Apply a choice once its provider has a key: from the keyring, or from the person; else say how to give one."""
        from tui_host.host.keyring_status import in_thread

        provider = self._host.settings.providers.get(name)
        if provider is None or not self._lacks(provider):
            take()
            return

        async def find_key() -> None:
            with self.telling(severity="warning"):
                await self._host.with_key(provider)
            if not self._lacks(provider):
                take()
                return
            keyring, why = "", "This system has no keyring, and keys are never written to a file."
            try:
                keyring = await in_thread(keyring_name)
            except TuiHostError as error:
                why = f"{error.what}."
            if keyring and self.is_active:
                self.app.push_screen(key_screen(self._host, provider, keyring, take))  # pyright: ignore[reportUnknownMemberType]
            elif not keyring:
                how = f"Set the environment variable {provider.key_variable}, then start tui-host again."
                self.note(f"{line(why, 300)}\n{how}")

        self.start(find_key, exclusive=True, group="key")

    def _models(self) -> Iterator[Choice]:
        """Yield the models, those without a key last; a provider that has none to name stands with its own name."""
        host, session, states = self._host, self._session, dict[str, str]()
        providers = host.settings.providers
        for name, provider in sorted(providers.items(), key=lambda pair: self._lacks(pair[1])):
            variable, answer = provider.key_variable or "", host.reported.get(name)
            origins = {
                f"{provider.label}: {variable} is not set; press enter to type the key": self._lacks(provider),
                "built in, needs no key": provider.embedded,
                "its key is in the keyring": name in host.keys.stored,
                "configured": not provider.preset,
                f"{variable} is set": host.settings.environment.get(variable, "").strip(),
                "runs on this machine": not variable and answer is not None and answer.error is None,
            }
            words = next((origin for origin, holds in origins.items() if holds), "")
            if words and not self._lacks(provider) and answer is not None and (error := answer.error) is not None:
                words = host.mask(f"does not answer: {'; '.join(filter(None, (error.remedy, error.what)))}")
            if words:  # else it would run on this machine, and does not
                models = [provider.default_model, *provider.models]
                models += host.reported[name].models if name in host.reported else ()
                states |= dict.fromkeys([f"{name}/{model}" for model in models if model] or [f"{name}/"], words)
        if str(session.model) not in states:
            states = {str(session.model): "chosen by name"} | states
        name, _, typed = self.typed.partition("/")
        if typed and name in providers:
            states.setdefault(self.typed, _TYPED)
        for whole, words in states.items():
            name, _, model = whole.partition("/")
            take: Callable[[], object] = partial(self._ask, f"{name}/", name)
            if model:
                take = partial(self._choose, ModelRef(provider=name, model=model))
            mark = "○●"[whole == str(session.model)] if model else " "
            yield Choice(words=whole, mark=mark, note=words, take=partial(self._with_key, name, take))

    def _options(self) -> Iterator[Choice]:
        """Yield the options of the session's model with the values that are sent, or why they are not."""
        from tui_host.llm.messages import Ask
        from tui_host.llm.model_request import unsent

        settings, session = self._host.settings, self._session
        below, provider = configured(settings, session), settings.providers.get(session.model.provider)
        sent, reasons = session.options.over(below), dict[str, str]()
        if provider is not None:
            ask = Ask(model=session.model.model, messages=(), options=sent)
            reasons = unsent(provider, ask, settings.environment)

        for name in SETTABLE:
            words = NOT_SENT if value_of(below, name) is None else "as configured"
            words = words if value_of(session.options, name) is None else "for this session"
            on_wire = sent.on_wire(name)
            if on_wire is not None and on_wire != value_of(sent, name):
                words = "set by extra_body or a vendor's own key"
            elif name in reasons:
                words = f"not sent: {reasons[name]}"
            value = self._host.mask(text_of(on_wire))[:24]
            take = partial(ask_for_option, self, self._host, session, name)
            yield Choice(words=name, mark="○●"[bool(value)], note=words, right=value, take=take)

    async def _forget(self, name: str) -> None:
        with self.telling("not deleted: "):
            await self._host.keys.forget(self._host.settings.providers[name])
            self._host.reported.pop(name, None)
            self.notify(f"the key of {name} was deleted", markup=False)
