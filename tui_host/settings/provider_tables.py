"""Reads providers and profiles, and checks what providers have in common with servers: addresses, headers, secrets."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from tui_host.errors import SettingsError
from tui_host.settings.environment_references import is_header_value, resolve
from tui_host.settings.mistakes import nearest, shown
from tui_host.settings.presets import PRESETS
from tui_host.settings.rule_tables import matches
from tui_host.settings.schema import DEMO, REFERENCE, ModelRef, Profile, Provider, Template
from tui_host.settings.table_reader import SettingsTable
from tui_host.settings.urls import check_url

_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_NAME = re.compile(r"[A-Za-z0-9_.-]{1,40}")
_PROFILE_NAME = re.compile(r"[\w.-]{1,40}")
_PATHS_OF_DIALECTS = ("/chat/completions", "/responses", "/messages", "/completions", "/api/chat", "/v1beta/models")
# For each dialect whose vendor also offers Chat Completions: the vendor's name and the path.
_CHAT_COMPLETIONS = {"ollama": ("Ollama", "/v1"), "gemini": ("Gemini", "/openai")}


def read_provider(name: str, table: SettingsTable, environment: Mapping[str, str], folder: Path) -> Provider:
    """Read a provider's table. Missing keys come from the preset with the same name; mistakes go to the report.

    References in the names of models and files are filled in; a relative `ca_file` starts at the configuration's `folder`.
    """
    preset = PRESETS.get(name, Provider(name=name, label=name))
    read = table.read(replace(preset, preset=False, file=table.file))
    if name == DEMO:
        table.mistake("", f"{DEMO} is reserved for the embedded model", "choose another name")
    elif not _NAME.fullmatch(name):
        table.mistake("", f'"{shown(name)}" is not a valid provider name', "use 1 to 40 letters, digits, dots, - and _")
    _check_base_url(read, table)
    check_headers(table, read.headers)
    if read.api_key is not None:
        variable = read.key_variable or f"{re.sub('[^A-Za-z0-9]', '_', name).upper()}_API_KEY"
        notice_secret(table, "api_key", read.api_key, variable)
    return replace(
        read,
        models=tuple(_filled(model, environment) for model in read.models),
        default_model=_filled(read.default_model or "", environment) or None,
        api_version=_filled(read.api_version or "", environment) or None,
        ca_file=None if read.ca_file is None else folder / _filled(str(read.ca_file), environment),
    )


def _check_base_url(read: Provider, table: SettingsTable) -> None:
    if "base_url" not in table:
        if not read.base_url.text:
            table.mistake("base_url", "missing", f"write it, or use the name of a preset: {', '.join(PRESETS)}")
        return
    if not read.base_url.text:
        return  # the reader has reported it
    check_address(table, "base_url", read.base_url, allow_http=read.allow_http)
    address = read.base_url.text.rstrip("/")
    path = next((path for path in _PATHS_OF_DIALECTS if address.endswith(path)), "")
    if path:
        table.mistake("base_url", f"ends with {path}, which the dialect adds itself", f"remove {path}")
    vendor, path = _CHAT_COMPLETIONS.get(read.dialect, ("", ""))
    if vendor and address.endswith(path):
        what = f"ends with {path}, where {vendor} speaks the dialect openai, not {read.dialect}"
        table.mistake("base_url", what, f'remove {path}, or write dialect = "openai"')


def _filled(text: str, environment: Mapping[str, str]) -> str:
    """Fill in references; returns the text unchanged if a variable is not set."""
    try:
        return resolve(Template(text=text), environment, where="").text
    except SettingsError:
        return text


def check_address(table: SettingsTable, key: str, url: Template, *, allow_http: bool) -> None:
    """Check a URL. One with references is checked when it is used."""
    if not url.references:
        try:
            check_url(url.text, allow_http=allow_http)
        except SettingsError as error:
            table.mistake(key, error.what, error.remedy)


def check_headers(table: SettingsTable, headers: Mapping[str, Template]) -> None:
    """Check the names and the values of headers. A value with references is checked when it is used."""
    if not headers:
        return
    from tui_host.settings.sensitivity import sensitivity  # imported late: most files have no headers

    inner = table.inner("headers")
    for name, template in headers.items():
        if not _HEADER_NAME.fullmatch(name):
            inner.mistake(name, "not a valid header name", "use letters, digits and -")
        if not template.references and not is_header_value(template.text):
            inner.mistake(name, "a character that is invalid in a header", "write ASCII, on one line")
        if not template.references and sensitivity(name) == "remove":
            notice_secret(inner, name, template)


def notice_secret(table: SettingsTable, key: str, template: Template, variable: str = "NAME") -> None:
    """Warn of a secret that the file itself holds, be it as a reference's default; it is kept better in a variable."""
    if REFERENCE.sub(lambda match: match[2] or "", template.text).strip():
        remedy = f'write "${{{variable}}}" and set that variable instead'
        table.notice(key, f"the file contains the secret itself; {remedy}")


def read_profile(
    name: str,
    table: SettingsTable,
    providers: Mapping[str, Provider],
    servers: Sequence[str],
    environment: Mapping[str, str],
) -> Profile:
    """Read a profile's table; mistakes go to the report. `servers` are all configured ones, also those disabled."""
    if not _PROFILE_NAME.fullmatch(name):
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
