"""Chooses profile, model and tool protocol for a start: from typed, configured and remembered values.

Typed values win over the profile. A typed or configured profile wins over the configured model and tool protocol, and
these win over remembered values. A remembered model or tool protocol wins over a remembered profile.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from tui_host.errors import SettingsError
from tui_host.settings.environment_references import resolve
from tui_host.settings.mistakes import Report, nearest, shown, wrong_choice
from tui_host.settings.profile_tables import read_model
from tui_host.settings.schema import (
    PROTOCOLS,
    ModelRef,
    Profile,
    Provider,
    SavedChoices,
    ServerSpec,
    Template,
    UserFile,
)
from tui_host.settings.table_reader import Table


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
    """What the choices are made from, in order of precedence: typed, the user's own file, what was remembered.

    Attributes:
        config: The table of the user's own file, for the place of a mistake.
        state: The table of what was remembered.
    """

    typed: Overrides
    configured: UserFile
    remembered: SavedChoices
    config: Table
    state: Table
    providers: Mapping[str, Provider]
    profiles: Mapping[str, Profile]
    environment: Mapping[str, str]
    report: Report

    def profile(self) -> tuple[Profile | None, bool]:
        """Return the profile, and whether it wins over configured values: a remembered one does not."""
        configured, remembered, typed = self.configured.profile, self.remembered.profile, self.typed.profile
        if configured is not None:
            self._check_profile(configured, partial(self.config.mistake, "profile"))
        if typed is not None:
            self._check_profile(typed, partial(self.report.typed, "--profile"))
        elif configured is None:
            if remembered is not None and remembered not in self.profiles:
                self.state.notice("profile", f'ignored, there is no profile "{shown(remembered)}"')
            return self.profiles.get(remembered or ""), False
        return self.profiles.get(typed or configured or ""), True

    def model(self, profile: Profile | None, *, is_profile_chosen: bool) -> ModelRef | None:
        """Return the model, None for the demo model."""
        of_profile = None if profile is None else profile.model
        is_over = of_profile is not None and is_profile_chosen
        below = self._model_below(is_needed=not is_over and self.typed.model is None)
        if self.typed.model is not None:
            return read_model(self.typed.model, self.providers, partial(self.report.typed, "--model"))
        return of_profile if is_over else below or of_profile

    def protocol(self, profile: Profile | None, *, is_profile_chosen: bool) -> str:
        """Return the tool protocol's name."""
        remembered, typed = self.remembered.protocol, self.typed.protocol
        if remembered is not None and remembered not in PROTOCOLS:
            self.state.notice("protocol", f'ignored, there is no tool protocol "{shown(remembered)}"')
            remembered = None
        of_profile = None if profile is None else profile.protocol
        if typed is not None and typed not in PROTOCOLS:
            self.report.typed("--protocol", *wrong_choice(typed, PROTOCOLS))
        if typed is not None:
            return typed
        if of_profile is not None and is_profile_chosen:
            return of_profile
        return self.configured.protocol or remembered or of_profile or PROTOCOLS[0]

    def _check_profile(self, name: str, mistake: Callable[[str, str], None]) -> None:
        if name not in self.profiles:
            remedy = nearest(name, tuple(self.profiles)) if self.profiles else f"define [profiles.{shown(name)}] first"
            mistake(f'no profile "{shown(name)}"', remedy)

    def _model_below(self, *, is_needed: bool) -> ModelRef | None:
        """Return the configured or the remembered model. An unset variable matters only if this model is needed."""
        configured, remembered = self.configured.model, self.remembered.model
        if configured is not None:
            try:
                text = resolve(Template(text=configured), self.environment, where="").text
            except SettingsError as error:
                if is_needed and self.typed.needs_model:
                    self.config.mistake("model", error.what, error.remedy)
                return None
            return read_model(text, self.providers, partial(self.config.mistake, "model"))
        if remembered is None:
            return None
        return read_model(
            remembered,
            self.providers,
            lambda what, remedy: self.state.notice("model", f"ignored, {what} ({remedy})"),
        )
