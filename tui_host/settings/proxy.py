"""Selects the proxy for a request from the environment, by the conventions of curl."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from urllib.parse import urlsplit

from tui_host.settings.urls import is_loopback


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
