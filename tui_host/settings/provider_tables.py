"""Reads providers from the configuration."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from tui_host.errors import SettingsError
from tui_host.settings.environment_references import is_header_value, references, resolve
from tui_host.settings.mistakes import shown
from tui_host.settings.model_options import Options, options_of, wrong_options
from tui_host.settings.presets import PRESETS
from tui_host.settings.schema import DEMO, DIALECTS, REFERENCE, Price, Provider, Template
from tui_host.settings.table_reader import Table
from tui_host.settings.urls import check_url, parts_of

PROVIDER_NAME = re.compile(r"[A-Za-z0-9_.-]{1,40}")

_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_PATHS_OF_DIALECTS = ("/chat/completions", "/responses", "/messages", "/completions", "/api/chat", "/v1beta/models")
_OTHER_FACES: Mapping[str, tuple[str, str]] = {"ollama": ("Ollama", "/v1"), "gemini": ("Gemini", "/openai")}
"""For each dialect whose vendor also offers Chat Completions: the vendor's name and the path."""


def read_provider(name: str, table: Table, environment: Mapping[str, str], folder: Path) -> Provider:
    """Read a provider's table. Missing keys come from the preset with the same name; mistakes go to the report.

    Args:
        name: The provider's name.
        table: The provider's table.
        environment: Environment variables, for references in names of models and files.
        folder: The configuration's folder, to which a relative `ca_file` refers.
    """
    _check_name(name, table)
    preset = PRESETS.get(name)
    dialect = table.choice("dialect", DIALECTS, preset.dialect if preset else DIALECTS[0])
    allow_http = table.flag("allow_http", default=False)
    base_url = _base_url(table, preset, dialect, allow_http=allow_http)
    api_key = table.template("api_key", hidden=True)
    if api_key is not None and _holds_a_secret(api_key):
        table.report.notices.append(
            f"{table.where('api_key')}: the file contains the key itself; "
            f'write "${{{_variable(name, preset)}}}" and set that variable instead'
        )
    headers = read_headers(table.table("headers"))
    check_userinfo(table, "base_url", base_url, headers)
    read = Provider(
        name=name,
        label=preset.label if preset else name,
        base_url=base_url,
        dialect=dialect,
        api_key=api_key,
        key_variable=preset.key_variable if preset else None,
        headers=headers,
        options=read_options(table),
        models=tuple(_filled(model, environment) for model in table.texts("models")),
        default_model=_expanded(table.text("default_model"), environment) or (preset.default_model if preset else None),
        ca_file=_path(_expanded(table.text("ca_file"), environment), folder),
        timeout=table.number("timeout", 600.0, zero=False),
        allow_http=allow_http,
        api_version=_expanded(table.text("api_version"), environment),
        prices=_prices(table.table("prices")),
        file=table.file,
    )
    table.finish()
    return read


def _prices(table: Table | None) -> dict[str, Price]:
    """Read the prices of models. Without a price of their own, cached tokens cost as much as others."""
    prices: dict[str, Price] = {}
    if table is None:
        return prices
    for name in table.names():
        inner = table.table(name)
        if inner is not None:
            full, output = (inner.number(key, 0.0, zero=True) for key in ("input", "output"))
            cached, written = (inner.number(key, full, zero=True) for key in ("cached", "cache_written"))
            prices[name] = Price(input=full, output=output, cached=cached, cache_written=written)
            inner.finish()
    return prices


def read_options(table: Table) -> Options:
    """Read the tables `options` and `extra_body` of a provider or a profile."""
    values = table.json("options")
    inner = table.table("options") if values else None
    if inner is not None:
        for name, kind in wrong_options(values).items():
            inner.mistake(name, f"not {kind}", f"write {kind}")
        if "extra_body" in values:
            inner.mistake("extra_body", "not an option", f"write it beside options, as {table.where('extra_body')}")
    return options_of({**values, "extra_body": table.json("extra_body")})


def read_headers(headers: Table | None) -> dict[str, Template]:
    """Read the table `headers` of a provider or a server; empty if the table is missing."""
    if headers is None:
        return {}
    from tui_host.settings.credential_names import is_credential_key  # imported late: most files have no headers

    read = headers.named_templates()
    seen: set[str] = set()
    for name, template in read.items():
        if not _HEADER_NAME.fullmatch(name):
            headers.mistake(name, "not a valid header name", "use letters, digits and -")
        if name.lower() in seen:
            headers.mistake(name, "the same header twice", "remove one: case does not matter")
        seen.add(name.lower())
        if references(template):
            continue
        if not is_header_value(template.text):
            headers.mistake(name, "a character that is invalid in a header", "write ASCII, on one line")
        if is_credential_key(name) and template.text.strip():
            headers.report.notices.append(
                f"{headers.where(name)}: the file contains the credential itself; "
                'write "${NAME}" for it and set that variable instead'
            )
    return read


def _filled(text: str, environment: Mapping[str, str]) -> str:
    """Fill in references; returns the text unchanged if a variable is not set."""
    try:
        return resolve(Template(text=text), environment, where="").text
    except SettingsError:
        return text


def check_template_url(table: Table, key: str, url: Template, *, allow_http: bool) -> None:
    """Check a URL that has no references. A URL with references is checked when it is used."""
    if references(url):
        return
    try:
        check_url(url.text, allow_http=allow_http, where=table.where(key))
    except SettingsError as error:
        table.report.mistakes.append(error)


def check_userinfo(table: Table, key: str, url: Template | None, headers: Iterable[str]) -> None:
    """Refuse a URL with user and password if there is another credential: only one of them can be sent."""
    if url is None or "@" not in parts_of(url.text).netloc:
        return
    authorization = next((f"headers.{name}" for name in headers if name.lower() == "authorization"), "")
    rival = "api_key" if "api_key" in table else authorization
    if rival:
        table.mistake(key, f"has a user before the @, beside {rival}", "remove one of them: only one can be sent")


def _check_name(name: str, table: Table) -> None:
    if name == DEMO:
        table.mistake("", f"{DEMO} is reserved for the embedded model", "choose another name")
    elif not PROVIDER_NAME.fullmatch(name):
        table.mistake("", f'"{shown(name)}" is not a valid provider name', "use 1 to 40 letters, digits, dots, - and _")


def _base_url(table: Table, preset: Provider | None, dialect: str, *, allow_http: bool) -> Template:
    url = table.template("base_url", hidden=True)
    if url is None:
        if preset is None and "base_url" not in table:
            table.mistake("base_url", "missing", f"write it, or use the name of a preset: {', '.join(PRESETS)}")
        return preset.base_url if preset else Template(text="")
    check_template_url(table, "base_url", url, allow_http=allow_http)
    for path in _PATHS_OF_DIALECTS:
        if url.text.rstrip("/").endswith(path):
            table.mistake("base_url", f"ends with {path}, which the dialect adds itself", f"remove {path}")
            break
    chat_completions = _OTHER_FACES.get(dialect)
    if chat_completions is not None and url.text.rstrip("/").endswith(chat_completions[1]):
        vendor, path = chat_completions
        remedy = f'remove {path}, or write dialect = "openai"'
        table.mistake("base_url", f"ends with {path}, where {vendor} speaks the dialect openai, not {dialect}", remedy)
    return url


def _holds_a_secret(template: Template) -> bool:
    """Whether a key is written into the configuration, be it as a reference's default."""
    return bool(REFERENCE.sub(lambda match: match.group(2) or "", template.text).strip())


def _variable(name: str, preset: Provider | None) -> str:
    if preset is not None and preset.key_variable is not None:
        return preset.key_variable
    return f"{re.sub('[^A-Za-z0-9]', '_', name).upper()}_API_KEY"


def _expanded(text: str | None, environment: Mapping[str, str]) -> str | None:
    return None if text is None else _filled(text, environment)


def _path(text: str | None, folder: Path) -> Path | None:
    if not text:
        return None
    try:
        return folder / Path(text).expanduser()
    except RuntimeError:
        return folder / text
