"""Reads files, environment and arguments once into a `Settings`, and reports all mistakes together."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TypeAlias, TypeVar

from tui_host.settings import paths, tables
from tui_host.settings.frozen import Frozen
from tui_host.settings.key_names import read_keys
from tui_host.settings.mistakes import Report, nearest, shown, wrong_choice
from tui_host.settings.presets import DEMO_PROVIDER, PRESETS
from tui_host.settings.rules import RULES_FILE, all_rules
from tui_host.settings.save import STATE_FILE
from tui_host.settings.schema import BUNDLED, PROTOCOLS, THEMES, ModelRef, Profile, SavedChoices, ServerSpec, Settings
from tui_host.settings.table_reader import SettingsTable, is_table, shown_path

_Value = TypeVar("_Value")
_Read: TypeAlias = Callable[[str, tables.Mistake], _Value | None]


class Overrides(Frozen):
    """The options typed on the command line, which win over environment and files; None for options not typed."""

    config: Path | None = None
    data_dir: Path | None = None
    model: str | None = None
    needs_model: bool = True  # else an unset variable in the configured model is no mistake
    protocol: str | None = None
    profile: str | None = None
    allow: tuple[str, ...] = ()
    steps: int | None = None
    only_server: ServerSpec | None = None  # of `tui-host URL` or `tui-host -- COMMAND…`: in place of all configured


def load(arguments: Overrides, environment: Mapping[str, str]) -> Settings:
    """Read the whole configuration, nothing of it from the working directory; raises a `SettingsError` with all mistakes."""
    report, data_dir = Report(), Path()
    files = _Files.read(arguments.config, environment, report)
    with report.collecting():
        data_dir = paths.data_dir(arguments.data_dir, environment)
    remembered = files.state.read(SavedChoices())
    settings = Settings(config_dir=files.path.parent, data_dir=data_dir, environment=dict(environment))
    settings = files.config.read(settings)
    providers = {name: tables.read_provider(name, table, settings) for name, table in files.tables("providers")}
    for preset in (*PRESETS.values(), DEMO_PROVIDER):
        providers.setdefault(preset.name, preset)
    servers, fixed = files.servers(remembered.switches)
    are_bundled = not servers and "servers" not in files.config.data  # an empty `servers` table means no servers
    if are_bundled:
        switches = remembered.switches
        servers = {name: ServerSpec(name=name, bundled=name, enabled=switches.get(name, True)) for name in BUNDLED}
    settings = replace(settings, providers=providers, servers=servers)
    profiles = {name: tables.read_profile(name, table, settings) for name, table in files.tables("profiles")}
    rules = all_rules(files.config, files.rules, tuple(servers))
    if arguments.only_server is not None:
        servers = {arguments.only_server.name: arguments.only_server}
        profiles = {name: replace(profile, servers=None, tools=None) for name, profile in profiles.items()}
    settings = replace(settings, servers=servers, profiles=profiles, rules=rules)
    start = _Start(typed=arguments, files=files, settings=settings)
    profile = start.value("profile", arguments.profile, start.profile) or Profile(name="")
    model = start.value("model", arguments.model, start.model, profile.model)
    protocol = start.value("protocol", arguments.protocol, start.protocol, profile.protocol) or PROTOCOLS[0]
    tables.check_patterns(arguments.allow, report)
    keys = read_keys(files.config.inner("keys"))
    limits, ui = settings.limits, settings.ui
    if arguments.steps is not None:
        limits = replace(limits, steps=arguments.steps)
    if remembered.theme in THEMES and ui.theme is None:
        ui = replace(ui, theme=remembered.theme)
    report.raise_if_any()
    return replace(
        settings,
        model=model,
        protocol=protocol,
        profile=profile.name,
        config_file=files.path if files.path.is_file() else None,
        allow=arguments.allow,
        limits=limits,
        ui=ui,
        keys=keys,
        notices=tuple(dict.fromkeys(report.notices)),
        default_servers=are_bundled and arguments.only_server is None,
        fixed=fixed.union(key for key in ("model", "protocol", "profile") if key in files.config.data),
        switches=remembered.switches,
        context=remembered.context,
    )


class _Files(Frozen):
    """The configuration files: the user's own, and those saved by the app; a missing file is an empty table."""

    path: Path
    config: SettingsTable
    state: SettingsTable
    rules: SettingsTable
    report: Report

    @classmethod
    def read(cls, typed: Path | None, environment: Mapping[str, str], report: Report) -> _Files:
        """Read the files of the folder that was typed, or else that the environment names."""
        path, named = Path("/nonexistent"), None
        with report.collecting():
            named = paths.named(typed, "--config", "TUI_HOST_CONFIG", environment)
            path = named or paths.default_dir("config") / paths.CONFIG_FILE
        return cls(
            path=path,
            config=SettingsTable.open(path, report, needed=named is not None),
            state=SettingsTable.open(path.parent / STATE_FILE, report),
            rules=SettingsTable.open(path.parent / RULES_FILE, report),
            report=report,
        )

    def tables(self, key: str) -> Iterator[tuple[str, SettingsTable]]:
        """Yield the tables `[key.NAME]` of config.toml, then the tables of the files `key.d/NAME.toml`."""
        outer = self.config.inner(key)
        for name, value in outer.data.items():
            table = outer.inner(name)
            if is_table(value):
                yield name, table
        folder, written = self.path.parent / f"{key}.d", list[Path]()
        try:
            written = sorted(folder.iterdir())
        except (FileNotFoundError, NotADirectoryError):
            return
        except OSError as error:
            what = f"the folder cannot be read: {error.strerror}"
            self.report.mistake(shown_path(folder), what, "check its permissions")
        for path in written:
            if path.suffix != ".toml" or path.name.startswith(".") or path.is_dir():
                continue  # editors leave such files
            if path.stem in outer.data:
                places = f"{self.config.file} and in {shown_path(path)}"
                self.report.notices.append(f"{key}.{shown(path.stem)} is defined in {places}: config.toml wins")
            elif (table := SettingsTable.open(path, self.report, needed=True)).source:
                yield path.stem, table

    def servers(self, switches: Mapping[str, bool]) -> tuple[dict[str, ServerSpec], frozenset[str]]:
        """Return the servers as switched, and the keys `servers.NAME.enabled` that the user's own file fixes."""
        specs, fixed = dict[str, ServerSpec](), set[str]()
        for name, table in self.tables("servers"):
            specs[name] = tables.read_server(name, table)
            if table.file == self.config.file and "enabled" in table.data:
                fixed.add(f"servers.{name}.enabled")
            elif name in switches:
                specs[name] = replace(specs[name], enabled=switches[name])
        return specs, frozenset(fixed)


class _Start(Frozen):
    """What a start begins with: typed values win over a chosen profile, that over configured ones, these over remembered ones."""

    typed: Overrides
    files: _Files
    settings: Settings

    def value(self, key: str, typed: str | None, read: _Read[_Value], profiled: _Value | None = None) -> _Value | None:
        """Return what a key begins with: `read` reads its text and tells a mistake in it."""
        config, state = self.files.config, self.files.state
        is_chosen = self.typed.profile is not None or "profile" in config.data
        if typed is not None:
            return read(typed, partial(config.report.mistake, f"--{key}"))
        if is_chosen and profiled is not None:
            return profiled
        if key in config.data:
            text = config.text(key, config.data[key])
            return None if text is None else read(text, partial(config.mistake, key))
        remembered = state.data.get(key)
        if not isinstance(remembered, str):
            return profiled

        def ignored(what: str, remedy: str) -> None:
            state.notice(key, f"ignored, {what} ({remedy})")

        value = read(remembered, ignored)
        return profiled if value is None else value  # a remembered profile is older than what is remembered beside it

    def model(self, text: str, mistake: tables.Mistake) -> ModelRef | None:
        return tables.read_model(text, self.settings, mistake, mistake if self.typed.needs_model else None)

    def profile(self, name: str, mistake: tables.Mistake) -> Profile | None:
        profiles = self.settings.profiles
        if name not in profiles:
            remedy = nearest(name, tuple(profiles)) if profiles else f"define [profiles.{shown(name)}] first"
            mistake(f'no profile "{shown(name)}"', remedy)
        return profiles.get(name)

    def protocol(self, name: str, mistake: tables.Mistake) -> str | None:
        if name in PROTOCOLS:
            return name
        mistake(*wrong_choice(name, PROTOCOLS))
        return None
