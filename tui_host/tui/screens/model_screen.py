"""Profile, model and tool protocol: what is configured, what the providers report, their keys, the options in use."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING

from textual.widgets import Input

from tui_host.capture.visible import line
from tui_host.errors import TuiHostError
from tui_host.settings.save import save_state
from tui_host.settings.schema import ModelRef
from tui_host.tui.screens.model_lines import Entry, Lines, lacks
from tui_host.tui.screens.page_screen import ChoiceScreen
from tui_host.tui.widgets.choices import Choice, ChoiceList

if TYPE_CHECKING:
    from tui_host.chat.session import Session
    from tui_host.host.host import Host
    from tui_host.host.provider_models import Reported
    from tui_host.settings.schema import Provider, Settings

_MORE = (
    "Another provider: choose it, and its key is asked for; or set the key in the environment (OPENAI_API_KEY, …), "
    "or write it into config.toml."
)


class ModelScreen(ChoiceScreen):
    """A list, filtered as one types; any PROVIDER/MODEL may be typed whole."""

    HEADING = "Model, tool protocol, profile"
    PLACE = "Model"
    PLACEHOLDER = "filter, or a whole PROVIDER/MODEL"

    def __init__(self, host: Host, session: Session, typed: str = "") -> None:
        super().__init__()
        self._begun = typed
        self._host = host
        self._session = session
        self._listed: list[Entry] = []

    def on_mount(self) -> None:
        """Say what is in use, and what there is."""
        session, profiles = self._session, self._host.settings.profiles
        names = [str(session.model), session.protocol, *([session.profile] if session.profile in profiles else [])]
        self.say(f"{self.HEADING}   now {f' {self.glyphs.dot} '.join(names)}")
        self.note(_fixed(self._host.settings) + _MORE.replace("…", self.glyphs.more))
        self._show(session.model)
        if self._begun:
            self._write(self._begun)
        self.run_worker(self._look_around())

    async def _look_around(self, *names: str) -> None:
        """Ask the providers which models they have, all or these; nobody waits for it."""
        from tui_host.host.provider_models import reported

        try:
            await self._host.ready()
        except TuiHostError:
            return  # told by the app, which ends
        known = [name for name, answer in self._host.reported.items() if answer.error is None]
        await reported(self._host, names, self._report, known=known)
        if self.is_running:
            self._show()  # the keys that the keyring has are known by now

    def _report(self, answer: Reported) -> None:
        self._host.reported[answer.provider] = answer
        if self.is_running:
            self._show()

    def on_input_changed(self) -> None:
        """Filter by what is typed."""
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
            found = [entry for entry in entries if is_all or words in entry.choice.words.casefold()]
            if heading == "Model" and typed is not None and all(entry.model != typed for entry in found):
                found.append(Entry(choice=Choice(words=str(typed), mark=" ", note="as typed"), model=typed))
            if found:
                listed += [Entry(choice=Choice(words=heading, heading=True)), *found]
        place = self._place(listed, current, is_filtered=bool(words))
        self._listed = listed
        self.choices.show(
            [entry.choice for entry in listed],
            empty="No model here is called so. Write PROVIDER/MODEL whole, with a provider that is configured.",
            current=place,
        )

    def _place(self, listed: list[Entry], current: ModelRef | None, *, is_filtered: bool) -> int | None:
        """Where the cursor goes: on the model that is asked for, else on what it was on, else on the first line."""
        if current is not None:
            return next((at for at, entry in enumerate(listed) if entry.model == current), None)
        cursor = self.choices.cursor
        chosen = self._listed[cursor].choice.words if cursor is not None and cursor < len(self._listed) else ""
        same = next((at for at, entry in enumerate(listed) if entry.choice.words == chosen), None)
        return 0 if is_filtered and (same is None or len(listed) != len(self._listed)) else same

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
        """Take something once its model's provider has a key, if one is needed."""
        provider = self._host.settings.providers.get(model.provider) if model is not None else None
        if provider is not None and lacks(self._host, provider):
            self.run_worker(self._find_key(provider, take), exclusive=True)
        else:
            take()

    def _take_model(self, model: ModelRef) -> None:
        self._session.model = self._host.sessions.model = model
        self._remember({"model": str(model)})

    def _take_profile(self, name: str) -> None:
        """Take a profile with what it names; what was remembered of that before gives way."""
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
        """Take it if the keyring has the key after all, which nobody may have asked it yet; else ask for the key."""
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
        """Ask for a key; once it is kept, take what was chosen, or show what the provider has."""
        from tui_host.tui.screens.key_screen import KeyScreen

        def stored() -> None:
            if take is not None:
                take()
                return
            self._write(f"{provider.name}/")
            self.run_worker(self._look_around(provider.name))

        self.app.push_screen(KeyScreen(self._host, provider, stored))  # pyright: ignore[reportUnknownMemberType]

    def _ask_option(self, name: str) -> None:
        from tui_host.tui.screens.option_screen import OptionScreen

        self.app.push_screen(OptionScreen(self._host, self._session, name, self._show))  # pyright: ignore[reportUnknownMemberType]

    async def _forget(self, provider: Provider) -> None:
        try:
            await self._host.keys.forget(provider)
        except TuiHostError as error:
            self.notify(line(f"not forgotten: {error}", 300), severity="error", markup=False)
            return
        self._host.reported.pop(provider.name, None)
        self.notify(f"the key of {provider.name} is forgotten", markup=False)
        self._show()

    def _remember(self, choices: Mapping[str, str | None]) -> None:
        if self._session.turn:
            self._session.save()
        try:
            save_state(self._host.settings, choices)
        except TuiHostError as error:
            words = f"taken until the program ends, but not remembered: {error}"
            self.app.notify(line(words, 300), severity="warning", markup=False)  # pyright: ignore[reportUnknownMemberType]
        self.action_leave()


def _fixed(settings: Settings) -> str:
    """What a choice is worth where the person's own file makes it, one line."""
    names = " and ".join(name for name in ("model", "protocol", "profile") if name in settings.fixed)
    if not names or settings.config_file is None:
        return ""
    return f"{line(settings.config_file.name, 40)} sets {names}: another choice holds until the program ends.\n"
