"""Reads providers, profiles and models: what spans several fields, or other tables."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from tui_host.errors import SettingsError
from tui_host.settings.environment_references import resolve
from tui_host.settings.mistakes import nearest, shown
from tui_host.settings.presets import PRESETS
from tui_host.settings.rule_tables import matches
from tui_host.settings.schema import ModelRef, Profile, Provider, Template
from tui_host.settings.table_reader import SettingsTable
from tui_host.settings.urls import check_url

_PATHS_OF_DIALECTS = re.compile(r"/(?:chat/completions|responses|messages|completions|api/chat|v1beta/models)$")
# For each dialect whose vendor also offers Chat Completions: the vendor's name and the path.
_CHAT_COMPLETIONS = {"ollama": ("Ollama", "/v1"), "gemini": ("Gemini", "/openai")}


def read_provider(name: str, table: SettingsTable, environment: Mapping[str, str], folder: Path) -> Provider:
    """Read a provider's table. Missing keys come from the preset with the same name; mistakes go to the report.

    References in the names of models and files are filled in; a relative `ca_file` starts at the configuration's `folder`.
    """
    preset = PRESETS.get(name, Provider(name=name, label=name))
    read = table.read(replace(preset, preset=False, file=table.file))
    if "base_url" in table:
        _check_base_url(read, table)
    elif not read.base_url.text:
        table.mistake("base_url", "missing", f"write it, or use the name of a preset: {', '.join(PRESETS)}")
    return replace(
        read,
        models=tuple(_filled(model, environment) for model in read.models),
        default_model=_filled(read.default_model or "", environment) or None,
        api_version=_filled(read.api_version or "", environment) or None,
        ca_file=None if read.ca_file is None else folder / _filled(str(read.ca_file), environment),
    )


def _check_base_url(read: Provider, table: SettingsTable) -> None:
    check_address(table, "base_url", read.base_url, allow_http=read.allow_http)
    address = read.base_url.text.rstrip("/")
    path = _PATHS_OF_DIALECTS.search(address)
    if path is not None:
        table.mistake("base_url", f"ends with {path[0]}, which the dialect adds itself", f"remove {path[0]}")
    vendor, inner = _CHAT_COMPLETIONS.get(read.dialect, ("", ""))
    if vendor and address.endswith(inner):
        what = f"ends with {inner}, where {vendor} speaks the dialect openai, not {read.dialect}"
        table.mistake("base_url", what, f'remove {inner}, or write dialect = "openai"')


def _filled(text: str, environment: Mapping[str, str]) -> str:
    """Fill in references; returns the text unchanged if a variable is not set."""
    try:
        return resolve(Template(text=text), environment, where="").text
    except SettingsError:
        return text


def check_address(table: SettingsTable, key: str, url: Template, *, allow_http: bool) -> None:
    """Check a URL. One with references is checked when it is used, and one of another kind was refused before."""
    if url.text and not url.references:
        try:
            check_url(url.text, allow_http=allow_http)
        except SettingsError as error:
            table.mistake(key, error.what, error.remedy)


def read_profile(
    name: str,
    table: SettingsTable,
    providers: Mapping[str, Provider],
    servers: Sequence[str],
    environment: Mapping[str, str],
) -> Profile:
    """Read a profile's table; mistakes go to the report. `servers` are all configured ones, also those disabled."""
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

    text = table.text("model", table.data["model"]) if "model" in table else None
    if text is None:
        return profile
    return replace(profile, model=read_model(text, providers, environment, partial(table.mistake, "model"), unset))


def read_model(
    text: str,
    providers: Mapping[str, Provider],
    environment: Mapping[str, str],
    mistake: Callable[[str, str], None],
    unset: Callable[[str, str], None],
) -> ModelRef | None:
    """Parse `PROVIDER/MODEL`. Calls `mistake` with the fault and the remedy, or `unset` if a variable is not set."""
    try:
        text = resolve(Template(text=text), environment, where="").text
    except SettingsError as error:
        unset(error.what, error.remedy)
        return None
    name, slash, model = text.partition("/")
    provider = providers.get(name)
    if provider is None:
        mistake(f'no provider "{shown(name)}"', nearest(name, tuple(providers)))
    elif not slash or not model:
        mistake(f'found "{shown(text)}", expected PROVIDER/MODEL', f"write {name}/{provider.default_model or 'MODEL'}")
    elif provider.embedded and model not in provider.models:
        mistake(f'{name} has no model "{shown(model)}"', nearest(model, provider.models))
    else:
        return ModelRef(provider=name, model=model)
    return None
