"""Reads files, environment and arguments once into a `Settings`, and reports all mistakes together."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path
from types import MappingProxyType

from tui_host.errors import SettingsError
from tui_host.settings import paths
from tui_host.settings.mistakes import Report, nearest, shown
from tui_host.settings.paths import CONFIG_FILE, default_config_dir
from tui_host.settings.presets import DEMO_PROVIDER, PRESETS
from tui_host.settings.profile_tables import read_profile
from tui_host.settings.protocol_prompts import unused_templates
from tui_host.settings.provider_tables import read_provider
from tui_host.settings.rule_tables import read_patterns, read_rules
from tui_host.settings.save import STATE_FILE
from tui_host.settings.schema import BUNDLED, THEMES, Rule, SavedChoices, ServerSpec, Settings, UserFile
from tui_host.settings.server_tables import read_server, server_from_arguments
from tui_host.settings.start_choices import Overrides, StartChoices
from tui_host.settings.table_reader import Table
from tui_host.settings.toml_files import files_of, is_table, read_document, shown_path

__all__ = ["Overrides", "load", "server_from_arguments"]

RULES_FILE = "rules.toml"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Files:
    """The configuration files that were read: the user's file, and the files saved by the app."""

    folder: Path
    config_file: Path | None
    config: Table
    state: Table
    rules: Table


def load(arguments: Overrides, environment: Mapping[str, str]) -> Settings:
    """Read the whole configuration. Nothing is read from the working directory. Blocks on the disk.

    Raises:
        SettingsError: The first mistake, with all others in `more`. Each mistake names file, key, value and remedy.
    """
    report = Report()
    environment = MappingProxyType(dict(environment))
    files = _open(arguments, environment, report)
    data_dir = _found(lambda: paths.data_dir(arguments.data_dir, environment), report)
    configured, remembered = files.config.read(UserFile), files.state.read(SavedChoices)
    providers = {
        name: read_provider(name, table, environment, files.folder)
        for name, table in _named_tables(files, "providers", report)
    }
    for preset in (*PRESETS.values(), DEMO_PROVIDER):
        providers.setdefault(preset.name, preset)
    servers, fixed = _servers(files, remembered.switches, report)
    are_bundled = not servers and "servers" not in files.config  # an empty `servers` table means no servers
    if are_bundled:
        servers = {
            name: ServerSpec(name=name, bundled=name, enabled=remembered.switches.get(name, True)) for name in BUNDLED
        }
    profiles = {
        name: read_profile(name, table, providers, tuple(servers), environment)
        for name, table in _named_tables(files, "profiles", report)
    }
    rules, allow = _rules(files, report), read_patterns(arguments.allow, report)
    if arguments.only_server is not None:
        servers = {arguments.only_server.name: arguments.only_server}
        profiles = {name: replace(profile, servers=None, tools=None) for name, profile in profiles.items()}
    else:
        _notice_idle_rules(rules, tuple(servers), report)
    profile, model, protocol = StartChoices(
        typed=arguments,
        config=files.config,
        state=files.state,
        providers=providers,
        profiles=profiles,
        environment=environment,
        report=report,
    ).choose()
    limits, ui = configured.limits, configured.ui
    if arguments.steps is not None:
        limits = replace(limits, steps=arguments.steps)
        if arguments.steps < 1:
            report.typed("--max-steps", f"found {arguments.steps}, expected 1 or more", "write a number, such as 25")
    if remembered.theme is not None and remembered.theme not in THEMES:
        files.state.notice("theme", f'ignored, there is no theme "{shown(remembered.theme)}"')
    elif ui.theme is None:
        ui = replace(ui, theme=remembered.theme)
    report.notices += unused_templates(files.folder)
    report.raise_if_any()
    return Settings(
        config_file=files.config_file,
        config_dir=files.folder,
        data_dir=data_dir,
        model=model,
        protocol=protocol,
        profile="" if profile is None else profile.name,
        profiles=MappingProxyType(profiles),
        providers=MappingProxyType(providers),
        servers=MappingProxyType(servers),
        rules=rules,
        allow=allow,
        limits=limits,
        store=configured.store,
        ui=ui,
        environment=environment,
        notices=tuple(dict.fromkeys(report.notices)),
        default_servers=are_bundled and arguments.only_server is None,
        fixed=fixed.union(key for key in ("model", "protocol", "profile") if key in files.config),
        switches=MappingProxyType(dict(remembered.switches)),
    )


def _open(arguments: Overrides, environment: Mapping[str, str], report: Report) -> _Files:
    where, named = "--config", arguments.config
    if named is None and environment.get("TUI_HOST_CONFIG"):
        where, named = "TUI_HOST_CONFIG", Path(environment["TUI_HOST_CONFIG"])
    if named is None:
        path = _found(lambda: default_config_dir() / CONFIG_FILE, report)
    else:
        path = _found(lambda: paths.whole(named, where), report)
    config = _table(path, report, needed=named is not None)
    return _Files(
        folder=path.parent,
        config_file=None if config is None else path,
        config=config or Table(data={}, report=report, file=shown_path(path)),
        state=_table(path.parent / STATE_FILE, report) or Table(data={}, report=report),
        rules=_table(path.parent / RULES_FILE, report) or Table(data={}, report=report),
    )


def _found(find: Callable[[], Path], report: Report) -> Path:
    try:
        return find()
    except SettingsError as error:
        report.mistakes.append(error)
        return Path("/nonexistent")


def _table(path: Path, report: Report, *, needed: bool = False) -> Table | None:
    document = read_document(path, report, needed=needed)
    if document is None:
        return None
    return Table(data=document.values, report=report, file=shown_path(path), source=document.text)


def _named_tables(files: _Files, key: str, report: Report) -> Iterator[tuple[str, Table]]:
    """Yield the tables `[key.NAME]` of config.toml, then the tables of the files `key.d/NAME.toml`."""
    outer = files.config.inner(key)
    for name, value in outer.data.items():
        table = outer.inner(name)
        if is_table(value):
            yield name, table
    for name, path in files_of(files.folder / f"{key}.d", report):
        if name in outer.data:
            places = f"{files.config.file} and in {shown_path(path)}"
            report.notices.append(f"{key}.{shown(name)} is defined in {places}: config.toml wins")
            continue
        table = _table(path, report, needed=True)
        if table is not None:
            yield name, table


def _servers(
    files: _Files, switches: Mapping[str, bool], report: Report
) -> tuple[dict[str, ServerSpec], frozenset[str]]:
    """Return the servers as switched, and the keys `servers.NAME.enabled` that the user's own file fixes."""
    specs: dict[str, ServerSpec] = {}
    fixed: set[str] = set()
    for name, table in _named_tables(files, "servers", report):
        spec = read_server(name, table)
        if table.file == files.config.file and "enabled" in table:
            fixed.add(f"servers.{name}.enabled")
        else:
            spec = replace(spec, enabled=switches.get(name, spec.enabled))
        specs[name] = spec
    return specs, frozenset(fixed)


def _rules(files: _Files, report: Report) -> tuple[Rule, ...]:
    rules = {(rule.server, rule.tool): rule for rule in read_rules(files.rules)}
    own = tuple(read_rules(files.config))
    for rule in own:
        saved = rules.pop((rule.server, rule.tool), None)
        if saved is not None:
            name = f"{shown(rule.server)}.{shown(rule.tool)}"
            places = f"{rule.where} and in {saved.where}"
            report.notices.append(f"a rule for {name} is defined in {places}: config.toml wins")
    return (*own, *rules.values())


def _notice_idle_rules(rules: Sequence[Rule], servers: Sequence[str], report: Report) -> None:
    """Report rules that match no server: a `deny` rule with a typing mistake would protect nothing."""
    for rule in rules:
        if not any(fnmatchcase(name, rule.server) for name in servers):
            name = f"{shown(rule.server)}.{shown(rule.tool)}"
            reason = f"matches no server; {nearest(rule.server, servers)}"
            report.notices.append(f"{rule.where}: the rule for {name} {reason}")
