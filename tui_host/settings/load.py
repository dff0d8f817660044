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
from tui_host.settings.profile_tables import Known, read_profile
from tui_host.settings.protocol_prompts import unused_templates
from tui_host.settings.provider_tables import read_provider
from tui_host.settings.rule_tables import read_patterns, read_rules
from tui_host.settings.save import STATE_FILE, SWITCHES
from tui_host.settings.schema import (
    BUNDLED,
    REGISTRY,
    THEMES,
    Limits,
    Profile,
    Provider,
    Rule,
    ServerSpec,
    Settings,
    Store,
    Ui,
)
from tui_host.settings.server_tables import read_server, server_from_arguments
from tui_host.settings.start_choices import Choosing, Overrides
from tui_host.settings.table_reader import Table
from tui_host.settings.toml_files import files_of, read_document, shown_path

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

    Args:
        arguments: The options typed on the command line.
        environment: The process's environment variables, which are copied.

    Raises:
        SettingsError: The first mistake, with all others in `more`. Each mistake names file, key, value and remedy.
    """
    report = Report()
    snapshot = MappingProxyType(dict(environment))
    files = _open(arguments, snapshot, report)
    data_dir = _found(lambda: paths.data_dir(arguments.data_dir, snapshot), report)
    providers = _providers(files, snapshot, report)
    configured, fixed_servers = _servers(files, report)
    are_bundled = not configured and "servers" not in files.config  # an empty `servers` table means no servers
    if are_bundled:
        configured = {name: ServerSpec(name=name, bundled=name) for name in BUNDLED}
    switches = _switches(files)
    configured = {
        name: spec if name in fixed_servers else replace(spec, enabled=switches.get(name, spec.enabled))
        for name, spec in configured.items()
    }
    names = Known(providers=providers, servers=tuple(configured), environment=snapshot)
    servers, profiles = _typed_alone(arguments.only_server, configured, _profiles(files, names, report))
    rules, allow = _rules(files, report), read_patterns(arguments.allow, report)
    if arguments.only_server is None:
        _tell_of_idle(rules, tuple(servers), report)
    chosen = Choosing(
        config=files.config,
        state=files.state,
        typed=arguments,
        providers=providers,
        profiles=profiles,
        environment=snapshot,
        report=report,
    ).choose()
    report.notices += unused_templates(files.folder)
    registry = files.config.text("registry") or REGISTRY
    limits, store, ui = _limits(files, arguments, report), _store(files), _ui(files, report)
    for table in (files.config, files.state, files.rules):
        table.finish()
    report.raise_if_any()
    return Settings(
        config_file=files.config_file,
        config_dir=files.folder,
        data_dir=data_dir,
        model=chosen.model,
        protocol=chosen.protocol,
        profile=chosen.profile.name if chosen.profile is not None else "",
        profiles=MappingProxyType(profiles),
        providers=MappingProxyType(providers),
        servers=MappingProxyType(servers),
        rules=rules,
        allow=allow,
        limits=limits,
        store=store,
        ui=ui,
        environment=snapshot,
        notices=tuple(dict.fromkeys(report.notices)),
        default_servers=are_bundled and arguments.only_server is None,
        fixed=frozenset(
            [
                *(key for key in ("model", "protocol", "profile") if key in files.config),
                *(f"servers.{name}.enabled" for name in fixed_servers),
            ]
        ),
        registry=registry,
        switches=MappingProxyType(switches),
    )


def _typed_alone(
    only: ServerSpec | None, servers: dict[str, ServerSpec], profiles: dict[str, Profile]
) -> tuple[dict[str, ServerSpec], dict[str, Profile]]:
    """Replace all servers by the server typed on the command line, if any, and let every profile use it."""
    if only is None:
        return servers, profiles
    return {only.name: only}, {name: replace(profile, servers=None, tools=None) for name, profile in profiles.items()}


def _open(arguments: Overrides, environment: Mapping[str, str], report: Report) -> _Files:
    named = arguments.config or _variable("TUI_HOST_CONFIG", environment)
    if named is not None:
        where = "--config" if arguments.config else "TUI_HOST_CONFIG"
        path = _found(lambda: paths.whole(named, where), report)
    else:
        path = _found(lambda: default_config_dir() / CONFIG_FILE, report)
    data = read_document(path, report, needed=named is not None)
    return _Files(
        folder=path.parent,
        config_file=None if data is None else path,
        config=Table(data or {}, file=shown_path(path), report=report),
        state=_table_if_there(path.parent / STATE_FILE, report),
        rules=_table_if_there(path.parent / RULES_FILE, report),
    )


def _variable(name: str, environment: Mapping[str, str]) -> Path | None:
    text = environment.get(name, "")
    return Path(text) if text else None


def _found(find: Callable[[], Path], report: Report) -> Path:
    try:
        return find()
    except SettingsError as error:
        report.mistakes.append(error)
        return Path("/nonexistent")


def _table_if_there(path: Path, report: Report) -> Table:
    return Table(read_document(path, report, needed=False) or {}, file=shown_path(path), report=report)


def _named_tables(files: _Files, key: str, report: Report) -> Iterator[tuple[str, Table]]:
    """Yield the tables `[key.NAME]` of config.toml, then the tables of the files `key.d/NAME.toml`."""
    outer = files.config.table(key)
    names = outer.names() if outer is not None else ()
    for name in names:
        table = outer.table(name) if outer is not None else None
        if table is not None:
            yield name, table
    for name, path in files_of(files.folder / f"{key}.d", report):
        if name in names:
            report.notices.append(
                f"{key}.{shown(name)} is defined in {files.config.file} and in {shown_path(path)}: config.toml wins"
            )
        else:
            data = read_document(path, report, needed=True)
            if data is not None:
                yield name, Table(data, file=shown_path(path), report=report)


def _providers(files: _Files, environment: Mapping[str, str], report: Report) -> dict[str, Provider]:
    providers = {
        name: read_provider(name, table, environment, files.folder)
        for name, table in _named_tables(files, "providers", report)
    }
    for name, preset in PRESETS.items():
        providers.setdefault(name, preset)
    providers[DEMO_PROVIDER.name] = DEMO_PROVIDER
    return providers


def _servers(files: _Files, report: Report) -> tuple[dict[str, ServerSpec], list[str]]:
    """Return the configured servers, and the names of those whose `enabled` is set in the user's own file."""
    specs: dict[str, ServerSpec] = {}
    fixed: list[str] = []
    for name, table in _named_tables(files, "servers", report):
        specs[name] = read_server(name, table)
        if table.file == files.config.file and "enabled" in table:
            fixed.append(name)
    return specs, fixed


def _switches(files: _Files) -> dict[str, bool]:
    table = files.state.table(SWITCHES)
    return {} if table is None else {name: table.flag(name, default=True) for name in table.names()}


def _profiles(files: _Files, known: Known, report: Report) -> dict[str, Profile]:
    return {name: read_profile(name, table, known) for name, table in _named_tables(files, "profiles", report)}


def _rules(files: _Files, report: Report) -> tuple[Rule, ...]:
    rules = list(read_rules(files.config))
    written = {(rule.server, rule.tool): rule for rule in rules}
    for rule in read_rules(files.rules):
        first = written.get((rule.server, rule.tool))
        if first is None:
            rules.append(rule)
        else:
            report.notices.append(
                f"a rule for {shown(rule.server)}.{shown(rule.tool)} is defined in {first.where} and in {rule.where}: "
                "config.toml wins"
            )
    return tuple(rules)


def _tell_of_idle(rules: Sequence[Rule], servers: Sequence[str], report: Report) -> None:
    """Report rules that match no server: a `deny` rule with a typing mistake would protect nothing."""
    for rule in rules:
        if not any(fnmatchcase(name, rule.server) for name in servers):
            name = f"{shown(rule.server)}.{shown(rule.tool)}"
            report.notices.append(
                f"{rule.where}: the rule for {name} matches no server; {nearest(rule.server, servers)}"
            )


def _limits(files: _Files, arguments: Overrides, report: Report) -> Limits:
    usual = Limits()
    table = files.config.table("limits") or Table({}, file="", report=report)
    steps = table.count("steps", usual.steps)
    connect_wait = table.number("connect_wait", usual.connect_wait, zero=True)
    retries = table.count("retries", usual.retries, least=0)
    table.finish()
    if arguments.steps is not None:
        steps = Table({"--max-steps": arguments.steps}, file="", report=report).count("--max-steps", steps)
    return Limits(steps=steps, connect_wait=connect_wait, retries=retries)


def _store(files: _Files) -> Store:
    table = files.config.table("store")
    if table is None:
        return Store()
    store = Store(keep=table.duration("keep"), max=table.size("max"))
    table.finish()
    return store


def _ui(files: _Files, report: Report) -> Ui:
    remembered = files.state.text("theme")
    if remembered is not None and remembered not in THEMES:
        report.notices.append(f'{files.state.where("theme")} is ignored: no theme "{shown(remembered)}"')
        remembered = None
    table = files.config.table("ui")
    if table is None:
        return Ui(theme=remembered)
    theme = table.text("theme")
    if theme is not None and theme not in THEMES:
        table.mistake("theme", f'there is no theme "{shown(theme)}"', nearest(theme, THEMES))
    draws_ascii = table.flag("ascii", default=False)
    table.finish()
    return Ui(theme=remembered if theme is None else theme, ascii=draws_ascii if "ascii" in table else None)
