"""Checks what providers and servers have in common: an address, headers, and secrets that a file should not hold."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from tui_host.errors import SettingsError
from tui_host.settings.environment_references import is_header_value
from tui_host.settings.schema import REFERENCE, Template
from tui_host.settings.table_reader import Table
from tui_host.settings.urls import check_url, parts_of

_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")


def check_address(table: Table, key: str, url: Template, headers: Iterable[str], *, allow_http: bool) -> None:
    """Check a URL. One with references is checked when it is used. Of two credentials only one could be sent."""
    if not url.references:
        try:
            check_url(url.text, allow_http=allow_http)
        except SettingsError as error:
            table.mistake(key, error.what, error.remedy)
    if "@" not in parts_of(url.text).netloc:
        return
    rivals = ["api_key"] if "api_key" in table else []
    rivals += [f"headers.{name}" for name in headers if name.lower() == "authorization"]
    if rivals:
        table.mistake(key, f"has a user before the @, beside {rivals[0]}", "remove one of them: only one can be sent")


def check_headers(table: Table, headers: Mapping[str, Template]) -> None:
    """Check the names and the values of headers. A value with references is checked when it is used."""
    if not headers:
        return
    from tui_host.settings.sensitivity import sensitivity  # imported late: most files have no headers

    inner, seen = table.inner("headers"), set[str]()
    for name, template in headers.items():
        if not _HEADER_NAME.fullmatch(name):
            inner.mistake(name, "not a valid header name", "use letters, digits and -")
        if name.lower() in seen:
            inner.mistake(name, "the same header twice", "remove one: case does not matter")
        seen.add(name.lower())
        if not template.references and not is_header_value(template.text):
            inner.mistake(name, "a character that is invalid in a header", "write ASCII, on one line")
        if not template.references and sensitivity(name) == "remove":
            notice_secret(inner, name, template)


def notice_secret(table: Table, key: str, template: Template, variable: str = "NAME") -> None:
    """Warn of a secret that the file itself holds, be it as a reference's default; it is kept better in a variable."""
    if REFERENCE.sub(lambda match: match[2] or "", template.text).strip():
        remedy = f'write "${{{variable}}}" and set that variable instead'
        table.notice(key, f"the file contains the secret itself; {remedy}")
