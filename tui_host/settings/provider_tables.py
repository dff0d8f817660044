"""Reads providers from the configuration."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from tui_host.errors import SettingsError
from tui_host.settings.endpoint_checks import check_address, check_headers, notice_secret
from tui_host.settings.environment_references import resolve
from tui_host.settings.mistakes import shown
from tui_host.settings.presets import PRESETS
from tui_host.settings.schema import AS_INPUT, DEMO, Price, Provider, Template
from tui_host.settings.table_reader import Table

_NAME = re.compile(r"[A-Za-z0-9_.-]{1,40}")
_PATHS_OF_DIALECTS = ("/chat/completions", "/responses", "/messages", "/completions", "/api/chat", "/v1beta/models")
_CHAT_COMPLETIONS = {"ollama": ("Ollama", "/v1"), "gemini": ("Gemini", "/openai")}
"""For each dialect whose vendor also offers Chat Completions: the vendor's name and the path."""


def read_provider(name: str, table: Table, environment: Mapping[str, str], folder: Path) -> Provider:
    """Read a provider's table. Missing keys come from the preset with the same name; mistakes go to the report.

    References in the names of models and files are filled in; a relative `ca_file` starts at the configuration's `folder`.
    """
    preset = PRESETS.get(name, Provider(name=name, label=name))
    read = table.read(
        Provider,
        name=name,
        file=table.file,
        label=preset.label,
        dialect=preset.dialect,
        base_url=preset.base_url,
        key_variable=preset.key_variable,
        default_model=preset.default_model,
    )
    if name == DEMO:
        table.mistake("", f"{DEMO} is reserved for the embedded model", "choose another name")
    elif not _NAME.fullmatch(name):
        table.mistake("", f'"{shown(name)}" is not a valid provider name', "use 1 to 40 letters, digits, dots, - and _")
    _check_base_url(read, table)
    check_headers(table, read.headers)
    if read.api_key is not None:
        variable = read.key_variable or f"{re.sub('[^A-Za-z0-9]', '_', name).upper()}_API_KEY"
        notice_secret(table, "api_key", read.api_key, variable)
    file = None if read.ca_file is None else Path(_filled(str(read.ca_file), environment))
    return replace(
        read,
        models=tuple(_filled(model, environment) for model in read.models),
        default_model=_filled(read.default_model or "", environment) or None,
        api_version=_filled(read.api_version or "", environment) or None,
        prices={model: _filled_price(price) for model, price in read.prices.items()},
        ca_file=None if file is None else folder / _expanded(file),
    )


def _check_base_url(read: Provider, table: Table) -> None:
    if "base_url" not in table:
        if not read.base_url.text:
            table.mistake("base_url", "missing", f"write it, or use the name of a preset: {', '.join(PRESETS)}")
        return
    if not read.base_url.text:
        return  # its mistake is told
    check_address(table, "base_url", read.base_url, read.headers, allow_http=read.allow_http)
    address = read.base_url.text.rstrip("/")
    path = next((path for path in _PATHS_OF_DIALECTS if address.endswith(path)), "")
    if path:
        table.mistake("base_url", f"ends with {path}, which the dialect adds itself", f"remove {path}")
    vendor, path = _CHAT_COMPLETIONS.get(read.dialect, ("", ""))
    if vendor and address.endswith(path):
        what = f"ends with {path}, where {vendor} speaks the dialect openai, not {read.dialect}"
        table.mistake("base_url", what, f'remove {path}, or write dialect = "openai"')


def _filled_price(price: Price) -> Price:
    cached = price.input if price.cached == AS_INPUT else price.cached
    return replace(
        price, cached=cached, cache_written=price.input if price.cache_written == AS_INPUT else price.cache_written
    )


def _filled(text: str, environment: Mapping[str, str]) -> str:
    """Fill in references; returns the text unchanged if a variable is not set."""
    try:
        return resolve(Template(text=text), environment, where="").text
    except SettingsError:
        return text


def _expanded(path: Path) -> Path:
    try:
        return path.expanduser()
    except RuntimeError:
        return path
