"""Chooses profile, model and tool protocol for a start: from typed, configured and remembered values.

Typed values win over the profile. A typed or configured profile wins over the configured model and tool protocol, and
these win over remembered values. A remembered model or tool protocol wins over a remembered profile.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TypeAlias, TypeVar

from tui_host.errors import SettingsError
from tui_host.settings.environment_references import resolve
from tui_host.settings.mistakes import nearest, shown, wrong_choice
from tui_host.settings.profile_tables import read_model
from tui_host.settings.schema import PROTOCOLS, ModelRef, Profile, Provider, ServerSpec, Template
from tui_host.settings.table_reader import SettingsTable

Mistake: TypeAlias = Callable[[str, str], None]
"""Takes what is wrong with a value, and the remedy."""
_Value = TypeVar("_Value")


@dataclass(frozen=True, slots=True, kw_only=True)
class Overrides:
    """The options typed on the command line, which win over environment and files; None for options not typed.

    Attributes:
        needs_model: Whether the command asks a model, so that an unset variable in the configured model is a mistake.
        allow: Each `--allow SERVER.TOOL`.
        steps: `--max-steps N`.
        only_server: The server of `tui-host URL` or `tui-host -- COMMAND…`, which replaces all configured servers.
    """

    config: Path | None = None
    data_dir: Path | None = None
    model: str | None = None
    needs_model: bool = True
    protocol: str | None = None
    profile: str | None = None
    allow: tuple[str, ...] = ()
    steps: int | None = None
    only_server: ServerSpec | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StartChoices:
    """What the choices are made from: what was typed, the user's own file, and what was remembered."""

    typed: Overrides
    config: SettingsTable
    state: SettingsTable
    providers: Mapping[str, Provider]
    profiles: Mapping[str, Profile]
    environment: Mapping[str, str]

    def choose(self) -> tuple[Profile | None, ModelRef | None, str]:
        """Return profile, model and tool protocol; a model of None is the demo model."""
        typed, configured, remembered = self._values("profile", self.typed.profile, self._profile)
        is_chosen = self.typed.profile is not None or "profile" in self.config
        profile = (typed or configured) if is_chosen else remembered
        own_model = None if profile is None else profile.model
        own_protocol = None if profile is None else profile.protocol
        # An unset variable in a model that something else replaces is nobody's trouble.
        needs_model = self.typed.needs_model and self.typed.model is None and not (is_chosen and own_model)
        models = self._values("model", self.typed.model, partial(self._model, needed=needs_model))
        protocols = self._values("protocol", self.typed.protocol, _protocol)
        return (
            profile,
            _first(models, own_model, profile_wins=is_chosen),
            _first(protocols, own_protocol, profile_wins=is_chosen) or PROTOCOLS[0],
        )

    def _values(
        self, key: str, typed: str | None, read: Callable[[str, Mistake], _Value | None]
    ) -> tuple[_Value | None, _Value | None, _Value | None]:
        """Return what was typed, configured and remembered; the last counts, and is looked at, only without the second."""
        configured, remembered = self.config.data.get(key), self.state.data.get(key)

        def ignored(what: str, remedy: str) -> None:
            self.state.notice(key, f"ignored, {what} ({remedy})")

        return (
            None if typed is None else read(typed, partial(self.config.report.typed, f"--{key}")),
            read(configured, partial(self.config.mistake, key)) if isinstance(configured, str) else None,
            read(remembered, ignored) if isinstance(remembered, str) and configured is None else None,
        )

    def _model(self, text: str, mistake: Mistake, *, needed: bool) -> ModelRef | None:
        try:
            text = resolve(Template(text=text), self.environment, where="").text
        except SettingsError as error:
            if needed:
                mistake(error.what, error.remedy)
            return None
        return read_model(text, self.providers, mistake)

    def _profile(self, name: str, mistake: Mistake) -> Profile | None:
        if name not in self.profiles:
            remedy = nearest(name, tuple(self.profiles)) if self.profiles else f"define [profiles.{shown(name)}] first"
            mistake(f'no profile "{shown(name)}"', remedy)
        return self.profiles.get(name)


def _first(values: tuple[_Value | None, ...], of_profile: _Value | None, *, profile_wins: bool) -> _Value | None:
    """Return the first value of typed, configured and remembered ones; the profile's stands behind the first or the last."""
    typed, *others = values
    order = (typed, of_profile, *others) if profile_wins else (typed, *others, of_profile)
    return next((value for value in order if value is not None), None)


def _protocol(name: str, mistake: Mistake) -> str | None:
    if name in PROTOCOLS:
        return name
    mistake(*wrong_choice(name, PROTOCOLS))
    return None
