"""Reads files, environment and arguments once into a `Settings`, and reports all mistakes together."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import TypeAlias, TypeVar

from tui_host.errors import SettingsError
from tui_host.settings import paths
from tui_host.settings.environment_references import resolve
from tui_host.settings.mistakes import Report, nearest, shown, wrong_choice
from tui_host.settings.paths import CONFIG_FILE, default_config_dir
from tui_host.settings.presets import DEMO_PROVIDER, PRESETS
from tui_host.settings.provider_tables import read_model, read_profile, read_provider
from tui_host.settings.rule_tables import check_patterns, matches, read_rules
from tui_host.settings.save import STATE_FILE
from tui_host.settings.schema import (
    BUNDLED,
    PROTOCOLS,
    THEMES,
    ModelRef,
    Profile,
    Provider,
    Rule,
    SavedChoices,
    ServerSpec,
    Settings,
    Template,
    UserFile,
)
from tui_host.settings.server_tables import read_server, server_from_arguments
from tui_host.settings.table_reader import SettingsTable
from tui_host.settings.toml_files import files_of, is_table, shown_path

__all__ = ["Overrides", "load", "server_from_arguments"]

RULES_FILE = "rules.toml"
_Value = TypeVar("_Value")
# Takes what is wrong with a value, and the remedy.
_Mistake: TypeAlias = Callable[[str, str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Overrides:
    """The options typed on the command line, which win over environment and files; None for options not typed.

    For a command that `needs_model`, an unset variable in the configured model is a mistake. `only_server`, of `tui-host URL`
    or `tui-host -- COMMAND…`, replaces all configured servers.
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


def load(arguments: Overrides, environment: Mapping[str, str]) -> Settings:
    """Read the whole configuration. Nothing is read from the working directory. Blocks on the disk.

    Raises:
        SettingsError: The first mistake, with all others in `more`. Each mistake names file, key, value and remedy.
    """
    report = Report()
    environment = MappingProxyType(dict(environment))
    files = _Files.read(arguments.config, environment, report)
    data_dir = Path()
    with report.collecting():
        data_dir = paths.data_dir(arguments.data_dir, environment)
    configured, remembered = files.config.read(UserFile()), files.state.read(SavedChoices())
    providers = files.providers(environment)
    servers, fixed = files.servers(remembered.switches)
    are_bundled = not servers and "servers" not in files.config  # an empty `servers` table means no servers
    if are_bundled:
        switches = remembered.switches
        servers = {name: ServerSpec(name=name, bundled=name, enabled=switches.get(name, True)) for name in BUNDLED}
    profiles = {
        name: read_profile(name, table, providers, tuple(servers), environment)
        for name, table in files.named_tables("profiles")
    }
    rules = files.all_rules(tuple(servers))
    if arguments.only_server is not None:
        servers = {arguments.only_server.name: arguments.only_server}
        profiles = {name: replace(profile, servers=None, tools=None) for name, profile in profiles.items()}
    profile, model, protocol = _StartChoices(
        typed=arguments,
        config=files.config,
        state=files.state,
        providers=providers,
        profiles=profiles,
        environment=environment,
    ).choose()
    check_patterns(arguments.allow, report)
    limits, ui = configured.limits, configured.ui
    if arguments.steps is not None:
        limits = replace(limits, steps=arguments.steps)
        if arguments.steps < 1:
            what = f"found {arguments.steps}, expected 1 or more"
            report.mistake(what, "--max-steps", "write a number, such as 25")
    if remembered.theme in THEMES and ui.theme is None:
        ui = replace(ui, theme=remembered.theme)
    report.raise_if_any()
    return Settings(
        config_file=files.path if files.is_there else None,
        config_dir=files.path.parent,
        data_dir=data_dir,
        model=model,
        protocol=protocol,
        profile="" if profile is None else profile.name,
        profiles=MappingProxyType(profiles),
        providers=MappingProxyType(providers),
        servers=MappingProxyType(servers),
        rules=rules,
        allow=arguments.allow,
        limits=limits,
        store=configured.store,
        ui=ui,
        environment=environment,
        notices=tuple(dict.fromkeys(report.notices)),
        default_servers=are_bundled and arguments.only_server is None,
        fixed=frozenset(fixed).union(key for key in ("model", "protocol", "profile") if key in files.config),
        switches=MappingProxyType(dict(remembered.switches)),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Files:
    """The configuration files: the user's own, and those saved by the app; a missing file is an empty table."""

    path: Path
    is_there: bool
    config: SettingsTable
    state: SettingsTable
    rules: SettingsTable
    report: Report

    @classmethod
    def read(cls, typed: Path | None, environment: Mapping[str, str], report: Report) -> _Files:
        """Read the files in the folder of the configuration that was typed, or else that the environment names."""
        where, named = "--config", typed
        if named is None and environment.get("TUI_HOST_CONFIG"):
            where, named = "TUI_HOST_CONFIG", Path(environment["TUI_HOST_CONFIG"])
        path = Path("/nonexistent")
        with report.collecting():
            path = default_config_dir() / CONFIG_FILE if named is None else paths.whole(named, where)
        config, state, rules = (
            SettingsTable.open(file, report, needed=file is path and named is not None)
            for file in (path, path.parent / STATE_FILE, path.parent / RULES_FILE)
        )
        return cls(
            path=path,
            is_there=config is not None,
            config=config or SettingsTable(data={}, report=report, file=shown_path(path)),
            state=state or SettingsTable(data={}, report=report),
            rules=rules or SettingsTable(data={}, report=report),
            report=report,
        )

    def named_tables(self, key: str) -> Iterator[tuple[str, SettingsTable]]:
        """Yield the tables `[key.NAME]` of config.toml, then the tables of the files `key.d/NAME.toml`."""
        outer = self.config.inner(key)
        for name, value in outer.data.items():
            table = outer.inner(name)
            if is_table(value):
                yield name, table
        for name, path in files_of(self.path.parent / f"{key}.d", self.report):
            if name in outer.data:
                places = f"{self.config.file} and in {shown_path(path)}"
                self.report.notices.append(f"{key}.{shown(name)} is defined in {places}: config.toml wins")
            elif (table := SettingsTable.open(path, self.report, needed=True)) is not None:
                yield name, table

    def providers(self, environment: Mapping[str, str]) -> dict[str, Provider]:
        """Return the configured providers, then the presets and the demo model."""
        tables = self.named_tables("providers")
        providers = {name: read_provider(name, table, environment, self.path.parent) for name, table in tables}
        for preset in (*PRESETS.values(), DEMO_PROVIDER):
            providers.setdefault(preset.name, preset)
        return providers

    def servers(self, switches: Mapping[str, bool]) -> tuple[dict[str, ServerSpec], set[str]]:
        """Return the servers as switched, and the keys `servers.NAME.enabled` that the user's own file fixes."""
        specs: dict[str, ServerSpec] = {}
        fixed: set[str] = set()
        for name, table in self.named_tables("servers"):
            spec = read_server(name, table)
            if table.file == self.config.file and "enabled" in table:
                fixed.add(f"servers.{name}.enabled")
            else:
                spec = replace(spec, enabled=switches.get(name, spec.enabled))
            specs[name] = spec
        return specs, fixed

    def all_rules(self, servers: Sequence[str]) -> tuple[Rule, ...]:
        """Return the rules of the user's own file, then those saved by the app for other tools; an idle one is noticed."""
        own = tuple(read_rules(self.config))
        decided = {(rule.server, rule.tool) for rule in own}
        rules = (*own, *(rule for rule in read_rules(self.rules) if (rule.server, rule.tool) not in decided))
        for rule in rules:
            # A `deny` with a typing mistake would protect nothing.
            if not any(matches(name, rule.server) for name in servers):
                words = f"the rule for {shown(rule.server)}.{shown(rule.tool)} matches no server"
                self.report.notices.append(f"{rule.where}: {words}; {nearest(rule.server, servers)}")
        return rules


@dataclass(frozen=True, slots=True, kw_only=True)
class _StartChoices:
    """Chooses profile, model and tool protocol for a start: from typed, configured and remembered values.

    Typed values win over the profile. A typed or configured profile wins over the configured model and tool protocol, and
    these win over remembered values. A remembered model or tool protocol wins over a remembered profile.
    """

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
        self, key: str, typed: str | None, read: Callable[[str, _Mistake], _Value | None]
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

    def _model(self, text: str, mistake: _Mistake, *, needed: bool) -> ModelRef | None:
        try:
            text = resolve(Template(text=text), self.environment, where="").text
        except SettingsError as error:
            if needed:
                mistake(error.what, error.remedy)
            return None
        return read_model(text, self.providers, mistake)

    def _profile(self, name: str, mistake: _Mistake) -> Profile | None:
        if name not in self.profiles:
            remedy = nearest(name, tuple(self.profiles)) if self.profiles else f"define [profiles.{shown(name)}] first"
            mistake(f'no profile "{shown(name)}"', remedy)
        return self.profiles.get(name)


def _first(values: tuple[_Value | None, ...], of_profile: _Value | None, *, profile_wins: bool) -> _Value | None:
    """Return the first value of typed, configured and remembered ones; the profile's stands behind the first or the last."""
    typed, *others = values
    order = (typed, of_profile, *others) if profile_wins else (typed, *others, of_profile)
    return next((value for value in order if value is not None), None)


def _protocol(name: str, mistake: _Mistake) -> str | None:
    if name in PROTOCOLS:
        return name
    mistake(*wrong_choice(name, PROTOCOLS))
    return None
