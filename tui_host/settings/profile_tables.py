"""Reads profiles and `PROVIDER/MODEL` references from the configuration."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from tui_host.errors import SettingsError
from tui_host.settings.environment_references import resolve
from tui_host.settings.mistakes import Report, nearest, shown
from tui_host.settings.provider_tables import read_options
from tui_host.settings.rule_tables import matches
from tui_host.settings.schema import PROTOCOLS, ModelRef, Profile, Provider
from tui_host.settings.table_reader import Table

PROFILE_NAME = re.compile(r"[\w.-]{1,40}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """Names that a profile may refer to.

    Attributes:
        providers: The providers by name.
        servers: Names of all configured servers, also of disabled ones.
        environment: Environment variables, for a reference in a model's name.
    """

    providers: Mapping[str, Provider]
    servers: Collection[str]
    environment: Mapping[str, str]


def read_profile(name: str, table: Table, known: Known) -> Profile:
    """Read a profile's table; mistakes go to the table's report."""
    if not PROFILE_NAME.fullmatch(name):
        table.mistake("", f'"{shown(name)}" is not a valid profile name', "use 1 to 40 letters, digits, dots, - and _")
    servers = table.texts("servers") if "servers" in table else None
    for server in servers or ():
        if server not in known.servers:
            table.mistake("servers", f'no server "{shown(server)}"', nearest(server, tuple(known.servers)))
    tools = table.texts("tools") if "tools" in table else None
    for pattern in tools or ():
        _check_pattern(pattern, table, known)
    read = Profile(
        name=name,
        system=table.template("system"),
        servers=servers,
        tools=tools,
        model=_model(table, known),
        protocol=table.choice("protocol", PROTOCOLS, PROTOCOLS[0]) if "protocol" in table else None,
        options=read_options(table),
        file=table.file,
    )
    table.finish()
    return read


def read_model(text: str, providers: Mapping[str, Provider], where: str, report: Report) -> ModelRef | None:
    """Parse `PROVIDER/MODEL`. If the provider or model is unknown, reports a mistake and returns None."""
    name, slash, model = text.partition("/")
    provider = providers.get(name)
    if provider is None:
        report.mistake(f'no provider "{shown(name)}"', where, nearest(name, tuple(providers)))
    elif not slash or not model:
        example = provider.default_model or "MODEL"
        report.mistake(f'found "{shown(text)}", expected PROVIDER/MODEL', where, f"write {name}/{example}")
    elif provider.embedded and model not in provider.models:
        report.mistake(f'{name} has no model "{shown(model)}"', where, nearest(model, provider.models))
    else:
        return ModelRef(provider=name, model=model)
    return None


def _model(table: Table, known: Known) -> ModelRef | None:
    """Return the profile's model. If its variable is not set, adds a notice: users of other models are not affected."""
    template = table.template("model")
    if template is None:
        return None
    where = table.where("model")
    try:
        text = resolve(template, known.environment, where=where).text
    except SettingsError as error:
        table.report.notices.append(f"{where}: {error.what}; this profile leaves the model unchanged")
        return None
    return read_model(text, known.providers, where, table.report)


def _check_pattern(pattern: str, table: Table, known: Known) -> None:
    """Report a pattern that cannot match any tool of the configured servers."""
    server, dot, tool = pattern.partition(".")
    if not (tool if dot else "*" in pattern):
        table.mistake("tools", f'found "{shown(pattern)}", expected SERVER.TOOL', "write it like time.get_* or math.*")
    elif not any(matches(name, server) for name in known.servers):
        table.mistake("tools", f'no server "{shown(server)}"', nearest(server, tuple(known.servers)))
