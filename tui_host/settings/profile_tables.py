"""Reads profiles and `PROVIDER/MODEL` references from the configuration."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial

from tui_host.errors import SettingsError
from tui_host.settings.environment_references import resolve
from tui_host.settings.mistakes import nearest, shown
from tui_host.settings.rule_tables import matches
from tui_host.settings.schema import ModelRef, Profile, Provider, Template
from tui_host.settings.table_reader import SettingsTable

_NAME = re.compile(r"[\w.-]{1,40}")


def read_profile(
    name: str,
    table: SettingsTable,
    providers: Mapping[str, Provider],
    servers: Sequence[str],
    environment: Mapping[str, str],
) -> Profile:
    """Read a profile's table; mistakes go to the report. `servers` are all configured ones, also those disabled."""
    if not _NAME.fullmatch(name):
        table.mistake("", f'"{shown(name)}" is not a valid profile name', "use 1 to 40 letters, digits, dots, - and _")
    profile = table.read(Profile(name=name, model=_model(table, providers, environment), file=table.file))
    for server in profile.servers or ():
        if server not in servers:
            table.mistake("servers", f'no server "{shown(server)}"', nearest(server, servers))
    for pattern in profile.tools or ():
        server, dot, tool = pattern.partition(".")
        if not (tool if dot else "*" in pattern):
            what = f'found "{shown(pattern)}", expected SERVER.TOOL'
            table.mistake("tools", what, "write it like time.get_* or math.*")
        elif not any(matches(configured, server) for configured in servers):
            table.mistake("tools", f'no server "{shown(server)}"', nearest(server, servers))
    return profile


def read_model(text: str, providers: Mapping[str, Provider], mistake: Callable[[str, str], None]) -> ModelRef | None:
    """Parse `PROVIDER/MODEL`. If the provider or model is unknown, calls `mistake` with the fault and the remedy."""
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


def _model(table: SettingsTable, providers: Mapping[str, Provider], environment: Mapping[str, str]) -> ModelRef | None:
    """Return the profile's model. If its variable is not set, adds a notice: users of other models are not affected."""
    text = table.text("model", table.data["model"]) if "model" in table else None
    if text is None:
        return None
    try:
        text = resolve(Template(text=text), environment, where="").text
    except SettingsError as error:
        table.notice("model", f"{error.what}; this profile leaves the model unchanged")
        return None
    return read_model(text, providers, partial(table.mistake, "model"))
