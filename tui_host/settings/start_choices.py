"""Chooses profile, model and tool protocol for a start: from typed, configured and remembered values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from tui_host.errors import SettingsError
from tui_host.settings.environment_references import resolve
from tui_host.settings.mistakes import Report, nearest, shown
from tui_host.settings.profile_tables import read_model
from tui_host.settings.schema import PROTOCOLS, ModelRef, Profile, Provider, ServerSpec, Template
from tui_host.settings.table_reader import Table

Origin: TypeAlias = Literal["typed", "config", "state", ""]


@dataclass(frozen=True, slots=True, kw_only=True)
class Overrides:
    """The options typed on the command line, which win over environment and files; None for options not typed.

    Attributes:
        config: `--config FILE`.
        data_dir: `--data-dir DIR`.
        model: `--model PROVIDER/MODEL`.
        needs_model: Whether the command asks a model, so that an unset variable in the configured model is a mistake.
        protocol: `--protocol NAME`.
        profile: `--profile NAME`.
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
class Chosen:
    """The profile, model and tool protocol for a start.

    Attributes:
        profile: The profile, None for no profile.
        model: The model, None for the demo model.
        protocol: The tool protocol's name.
    """

    profile: Profile | None
    model: ModelRef | None
    protocol: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Choosing:
    """The values from which the choices are made, in their order of precedence.

    Typed values win over the profile. A typed or configured profile wins over the configured model and tool protocol,
    and these win over remembered values. A remembered model or tool protocol wins over a remembered profile.

    Attributes:
        config: The user's configuration file.
        state: Remembered values, used for keys that the user's file does not set.
    """

    config: Table
    state: Table
    typed: Overrides
    providers: Mapping[str, Provider]
    profiles: Mapping[str, Profile]
    environment: Mapping[str, str]
    report: Report

    def choose(self) -> Chosen:
        """Make the choices; mistakes go to the report."""
        profile, origin = self._profile()
        return Chosen(profile=profile, model=self._model(profile, origin), protocol=self._protocol(profile, origin))

    def _profile(self) -> tuple[Profile | None, Origin]:
        configured, remembered, typed = self.config.text("profile"), self.state.text("profile"), self.typed.profile
        if configured is not None:
            self._known(configured, self.config.where("profile"))
        if typed is not None:
            return self._known(typed, "--profile"), "typed"
        if configured is not None:
            return self.profiles.get(configured), "config"
        if remembered is not None and remembered not in self.profiles:
            where = self.state.where("profile")
            self.report.notices.append(f'{where} is ignored: no profile "{shown(remembered)}"')
        return self.profiles.get(remembered or ""), "state"

    def _known(self, name: str, where: str) -> Profile | None:
        profile = self.profiles.get(name)
        if profile is None:
            remedy = nearest(name, tuple(self.profiles)) if self.profiles else f"define [profiles.{shown(name)}] first"
            self.report.mistake(f'no profile "{shown(name)}"', where, remedy)
        return profile

    def _model(self, profile: Profile | None, origin: Origin) -> ModelRef | None:
        configured, remembered = self.config.text("model"), self.state.text("model")
        of_profile = None if profile is None else profile.model
        is_over = of_profile is not None and origin != "state"
        read: ModelRef | None = None
        if configured is not None:
            where = self.config.where("model")
            try:
                text = resolve(Template(text=configured), self.environment, where=where).text
            except SettingsError as error:
                if self.typed.needs_model and self.typed.model is None and not is_over:
                    self.report.mistakes.append(error)
            else:
                read = read_model(text, self.providers, where, self.report)
        elif remembered is not None:
            doubts = Report()
            read = read_model(remembered, self.providers, self.state.where("model"), doubts)
            self.report.notices += [f"ignored: {doubt}" for doubt in doubts.mistakes]
        if is_over or read is None:
            read = of_profile or read
        if self.typed.model is not None:
            read = read_model(self.typed.model, self.providers, "--model", self.report)
        return read

    def _protocol(self, profile: Profile | None, origin: Origin) -> str:
        remembered = self.state.text("protocol")
        if remembered is not None and remembered not in PROTOCOLS:
            where = self.state.where("protocol")
            self.report.notices.append(f'{where} is ignored: no tool protocol "{shown(remembered)}"')
            remembered = None
        of_profile = None if profile is None else profile.protocol
        protocol = self.config.choice("protocol", PROTOCOLS, remembered or of_profile or PROTOCOLS[0])
        if of_profile is not None and origin != "state":
            protocol = of_profile
        if self.typed.protocol is None:
            return protocol
        typed = Table({"--protocol": self.typed.protocol}, file="", report=self.report)
        return typed.choice("--protocol", PROTOCOLS, protocol)
