"""Reads the tables of providers, servers and profiles: what spans several fields, or other tables; adds and removes servers."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TypeAlias

from tui_host.errors import SettingsError
from tui_host.settings.environment_references import resolve
from tui_host.settings.mistakes import Report, nearest, shown
from tui_host.settings.paths import ensure_private_dir
from tui_host.settings.presets import PRESETS
from tui_host.settings.save import save_switches, write_toml
from tui_host.settings.schema import ModelRef, Profile, Provider, ServerSpec, Settings, Template
from tui_host.settings.table_reader import SettingsTable, shown_path
from tui_host.settings.urls import check_url

Mistake: TypeAlias = Callable[[str, str], None]  # takes what is wrong with a value, and the remedy
_PATHS_OF_DIALECTS = re.compile(r"/(?:chat/completions|responses|messages|completions|api/chat|v1beta/models)$")
# For each dialect whose vendor also offers Chat Completions: the vendor's name and the path.
_CHAT_COMPLETIONS = {"ollama": ("Ollama", "/v1"), "gemini": ("Gemini", "/openai")}
# What other programs' patterns have beside `*` stands in no tool's name that is meant.
_PATTERN = re.compile(r"[\w-]*\*[\w*-]*|[\w*-]{1,80}\.[^\[\](){}?|]+")


def read_provider(name: str, table: SettingsTable, settings: Settings) -> Provider:
    """Read a provider's table. Missing keys come from the preset with the same name; a `ca_file` is relative to config.toml."""
    preset = PRESETS.get(name, Provider(name=name, label=name))
    read = table.read(replace(preset, preset=False, file=table.file))
    if "base_url" in table.data:
        _check_address(table, "base_url", read.base_url, allow_http=read.allow_http)
        address = read.base_url.text.rstrip("/")
        path = _PATHS_OF_DIALECTS.search(address)
        if path is not None:
            table.mistake("base_url", f"ends with {path[0]}, which the dialect adds itself", f"remove {path[0]}")
        vendor, inner = _CHAT_COMPLETIONS.get(read.dialect, ("", ""))
        if vendor and address.endswith(inner):
            what = f"ends with {inner}, where {vendor} speaks the dialect openai, not {read.dialect}"
            table.mistake("base_url", what, f'remove {inner}, or write dialect = "openai"')
    elif not read.base_url.text:
        table.mistake("base_url", "missing", f"write it, or use the name of a preset: {', '.join(PRESETS)}")
    environment = settings.environment
    return replace(
        read,
        models=tuple(_filled(model, environment) for model in read.models),
        default_model=_filled(read.default_model or "", environment) or None,
        api_version=_filled(read.api_version or "", environment) or None,
        ca_file=None if read.ca_file is None else settings.config_dir / _filled(str(read.ca_file), environment),
    )


def _filled(text: str, environment: Mapping[str, str]) -> str:
    try:
        return resolve(Template(text=text), environment, where="").text
    except SettingsError:
        return text  # the provider may not be used


def read_server(name: str, table: SettingsTable) -> ServerSpec:
    """Read a server's table."""
    spec = table.read(ServerSpec(name=name, file=table.file, transport="http" if "url" in table.data else "stdio"))
    ways = [key for key in ("command", "url", "bundled") if key in table.data]
    for key in ways[1:]:
        table.mistake(key, f"conflicts with {ways[0]}", f"remove one: a server has {' or '.join(ways)}")
    fitting = {"command": ("stdio",), "url": ("http", "sse"), "bundled": ("stdio",)}
    if spec.bundled == "weather":
        fitting["bundled"] = ("stdio", "http")
    if not ways:
        table.mistake("", "no command, url or bundled", "set one of them to say how to reach the server")
    elif "transport" in table.data and spec.transport not in fitting[ways[0]]:
        what = f'found "{spec.transport}", which {ways[0]} does not support'
        table.mistake("transport", what, f"write {' or '.join(fitting[ways[0]])}")
    if spec.url is not None:
        _check_address(table, "url", spec.url, allow_http=spec.allow_http)
    if spec.client_secret is not None and spec.client_id is None:
        table.mistake("client_secret", "there is no client_id", "write the id that the secret belongs to")
    return spec


def _check_address(table: SettingsTable, key: str, url: Template, *, allow_http: bool) -> None:
    if url.text and not url.references:  # which are filled in, and checked, when the URL is used
        try:
            check_url(url.text, allow_http=allow_http)
        except SettingsError as error:
            table.mistake(key, error.what, error.remedy)


def read_profile(name: str, table: SettingsTable, settings: Settings) -> Profile:
    """Read a profile's table; the settings have their providers and servers."""
    servers = tuple(settings.servers)
    profile = table.read(Profile(name=name, file=table.file))
    for server in profile.servers or ():
        if server not in servers:
            table.mistake("servers", f'no server "{shown(server)}"', nearest(server, servers))
    for pattern in profile.tools or ():
        server = pattern.partition(".")[0]
        if not any(matches(configured, server) for configured in servers):
            table.mistake("tools", f'no server "{shown(server)}"', nearest(server, servers))

    def unset(what: str, _: str) -> None:  # which is no trouble of those who use other profiles
        table.notice("model", f"{what}; this profile leaves the model unchanged")

    text = table.text("model", table.data["model"]) if "model" in table.data else None
    if text is None:
        return profile
    return replace(profile, model=read_model(text, settings, partial(table.mistake, "model"), unset))


def read_model(text: str, settings: Settings, mistake: Mistake, unset: Mistake | None) -> ModelRef | None:
    """Parse `PROVIDER/MODEL`. Calls `mistake` with the fault and the remedy, or `unset`, if given, if a variable is not set."""
    try:
        text = resolve(Template(text=text), settings.environment, where="").text
    except SettingsError as error:
        if unset is not None:
            unset(error.what, error.remedy)
        return None
    name, slash, model = text.partition("/")
    provider = settings.providers.get(name)
    if provider is None:
        mistake(f'no provider "{shown(name)}"', nearest(name, tuple(settings.providers)))
    elif not slash or not model:
        mistake(f'found "{shown(text)}", expected PROVIDER/MODEL', f"write {name}/{provider.default_model or 'MODEL'}")
    elif provider.embedded and model not in provider.models:
        mistake(f'{name} has no model "{shown(model)}"', nearest(model, provider.models))
    else:
        return ModelRef(provider=name, model=model)
    return None


def matches(name: str, pattern: str) -> bool:
    """Whether a name matches a pattern, in which `*` stands for any text."""
    return re.fullmatch(".*".join(map(re.escape, pattern.split("*"))), name, re.DOTALL) is not None


def check_patterns(patterns: Sequence[str], report: Report) -> None:
    """Check the patterns of `--allow`. A pattern that cannot match any `SERVER.TOOL` is a mistake."""
    for pattern in patterns:
        if not _PATTERN.fullmatch(pattern):
            meant, remedy = pattern_of(pattern), "write it like time.get_* or math.*"
            if _PATTERN.fullmatch(meant):
                remedy = f"write * for brackets and other signs: {shown(meant)}"
            report.mistake("--allow", f'found "{shown(pattern)}", expected SERVER.TOOL', remedy)


def pattern_of(name: str) -> str:
    """Return a pattern for a tool's name, with `*` for what cannot be typed or quoted, or stands in no pattern."""
    return "".join(letter if letter.isprintable() and letter not in "'[](){}?|" else "*" for letter in name)


FOLDER = "servers.d"


def server_name(text: str) -> str:
    """Return a valid server name made from a text; `server` if no valid character remains."""
    name = re.sub(r"[^\w]+", "-", text)
    return re.sub(r"_{2,}", "_", name)[:40].strip("-_") or "server"


def read_entry(name: str, table: Mapping[str, object]) -> tuple[ServerSpec, tuple[str, ...]]:
    """Return the server that a table describes, and the warnings about the table; raises a `SettingsError` with all mistakes."""
    report = Report()
    spec = read_server(name, SettingsTable(data=table, file=f"servers.{name}", report=report))
    report.raise_if_any()
    return spec, tuple(report.notices)


def add_entry(settings: Settings, name: str, table: Mapping[str, object]) -> Path:
    """Write a server's own file; a switch remembered for an earlier server of that name is forgotten."""
    read_entry(name, table)
    path = settings.config_dir / FOLDER / f"{name}.toml"
    if name in settings.servers and not settings.default_servers:
        where = settings.servers[name].file
        raise SettingsError(f"there is a server {name} already", where, "choose another name")
    ensure_private_dir(path.parent)
    _forget_switches(settings, name)
    write_toml(path, table)
    return path


def remove_entry(settings: Settings, name: str) -> Path:
    """Delete a server's own file and return its path; a server that is configured elsewhere is a `SettingsError`."""
    path = settings.config_dir / FOLDER / f"{name}.toml"
    file = settings.servers[name].file
    if not file:
        raise SettingsError(f"{name} is a bundled server", "servers remove", f"tui-host servers disable {name}")
    if file != shown_path(path):
        raise SettingsError(f"{name} is configured there", f"{file}: servers.{name}", "remove it from that file")
    try:
        path.unlink()
    except OSError as error:
        raise SettingsError(f"cannot be deleted: {error.strerror}", file, "check its folder") from error
    _forget_switches(settings, name)
    return path


def _forget_switches(settings: Settings, name: str) -> None:
    switches = {key: None for key in settings.switches if key.partition(".")[0] == name}
    if switches:
        save_switches(settings, switches)
