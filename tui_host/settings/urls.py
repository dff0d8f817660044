"""Checks and splits URLs, and selects their proxies by the conventions of curl.

Credentials may be sent by https to any machine, by plain http only to this machine.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from urllib.parse import SplitResult, urlsplit

from tui_host.errors import SettingsError


def check_url(url: str, *, allow_http: bool, where: str = "") -> None:
    """Refuse an invalid URL, and plain http to another machine, with a `SettingsError` at `where`.

    The error shows only scheme and host, since the rest may hold a credential.
    """
    parts = split(url, where=where)
    if parts.scheme == "http" and not allow_http and not is_loopback(parts.hostname or ""):
        what = f"plain http to {shown(parts)} would send everything unencrypted, keys too"
        raise SettingsError(what, where, "use https, or set allow_http = true to permit it")


def split(url: str, *, where: str = "") -> SplitResult:
    """Split an http or https URL into its parts; refuses an invalid one with a `SettingsError` that does not repeat it."""
    try:
        parts = urlsplit(url)
        port_is_valid = parts.port is None or parts.port > 0
    except ValueError:
        raise SettingsError("not a URL", where, "write it like https://host/path") from None
    if parts.scheme not in {"http", "https"} or not parts.hostname or not port_is_valid:
        raise SettingsError("not an http or https URL", where, "write it like https://host/path")
    if any(character <= " " or character == "\x7f" for character in url):
        raise SettingsError("the URL contains a space or a control character", where, "write it like https://host/path")
    return parts


def parts_of(url: str) -> SplitResult:
    """Split a URL written by others. The result for an invalid URL has no host."""
    try:
        return urlsplit(url)
    except ValueError:
        before, _, fragment = url.partition("#")
        path, _, query = before.partition("?")
        return SplitResult("", "", path, query, fragment)


def shown(parts: SplitResult) -> str:
    """Return scheme, host and port as text: these parts of a URL are safe in errors and logs."""
    host = parts.hostname or ""
    host = f"[{host}]" if ":" in host else host
    port = f":{parts.port}" if parts.port is not None else ""
    return f"{parts.scheme}://{host}{port}"


def is_loopback(host: str) -> bool:
    """Whether a URL's host is this machine, judged by its spelling, without a DNS lookup."""
    if host.lower().rstrip(".") == "localhost":
        return True
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return False
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is not None:
        return address.ipv4_mapped.is_loopback
    return address.is_loopback


def proxy_for(url: str, environment: Mapping[str, str]) -> str | None:
    """Return the URL of the proxy for a request; None for no proxy, as always to this machine. Names in lower case win."""
    parts = urlsplit(url)
    host = (parts.hostname or "").lower()
    if is_loopback(host) or _is_exempt(host, parts.port, _either("no_proxy", environment)):
        return None
    proxy = _either(f"{parts.scheme}_proxy", environment) or _either("all_proxy", environment)
    if not proxy:
        return None
    return proxy if "://" in proxy else f"http://{proxy}"


def _either(name: str, environment: Mapping[str, str]) -> str:
    return environment.get(name) or environment.get(name.upper()) or ""


def _is_exempt(host: str, port: int | None, exempt: str) -> bool:
    return any(_matches(host, port, entry.strip().lower()) for entry in exempt.split(",") if entry.strip())


def _matches(host: str, port: int | None, entry: str) -> bool:
    if entry == "*":
        return True
    if "/" in entry:
        try:
            return ipaddress.ip_address(host) in ipaddress.ip_network(entry, strict=False)
        except ValueError:
            return False
    name, colon, number = entry.rpartition(":")
    if colon and number.isdigit() and ":" not in name:
        if str(port or "") != number:
            return False
        entry = name
    entry = entry.removeprefix("*").removeprefix(".").strip("[]")
    return host == entry or host.endswith(f".{entry}")
