"""Checks and splits URLs, and selects their proxies by the conventions of curl."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from contextlib import suppress
from urllib.parse import SplitResult, urlsplit

from tui_host.errors import SettingsError


def check_url(url: str, *, allow_http: bool, where: str = "") -> None:
    """Refuse an invalid URL, and plain http to another machine, with a `SettingsError` that does not repeat it."""
    parts = split(url, where=where)
    if parts.scheme == "http" and not allow_http and not is_loopback(parts.hostname or ""):
        what = f"plain http to {shown(parts)} would send everything unencrypted, keys too"
        raise SettingsError(what, where, "use https, or set allow_http = true to permit it")


def split(url: str, *, where: str = "") -> SplitResult:
    """Split an http or https URL into its parts; refuses an invalid one with a `SettingsError` that does not repeat it."""
    parts, what = parts_of(url), "not an http or https URL"
    with suppress(ValueError):  # of a port that is no number
        if parts.scheme in {"http", "https"} and parts.hostname and parts.port != 0:
            if all(" " < character != "\x7f" for character in url):
                return parts
            what = "the URL contains a space or a control character"
    raise SettingsError(what, where, "write it like https://host/path")


def parts_of(url: str) -> SplitResult:
    """Split a URL written by others. The result for an invalid URL has no host."""
    try:
        return urlsplit(url)
    except ValueError:
        return urlsplit(url.replace("//", "", 1))  # without what would begin a host


def shown(parts: SplitResult) -> str:
    """Return scheme, host and port as text: these parts of a URL are safe in errors and logs."""
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2].lower()}"


def is_loopback(host: str) -> bool:
    """Whether a URL's host is this machine, judged by its spelling, without a DNS lookup."""
    if host.lower().rstrip(".") == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.lower().removeprefix("::ffff:")).is_loopback
    except ValueError:
        return False


def proxy_for(url: str, environment: Mapping[str, str]) -> str | None:
    """Return the URL of the proxy for a request; None for no proxy, as always to this machine. Names in lower case win."""

    def variable(name: str) -> str:
        return environment.get(name) or environment.get(name.upper()) or ""

    parts = urlsplit(url)
    host = (parts.hostname or "").lower()
    exempt = filter(None, map(str.strip, variable("no_proxy").lower().split(",")))
    places = (host, f"{host}:{parts.port}")
    if is_loopback(host) or any(_matches(place, entry) for entry in exempt for place in places):
        return None
    proxy = variable(f"{parts.scheme}_proxy") or variable("all_proxy")
    return f"http://{proxy}" if proxy and "://" not in proxy else proxy or None


def _matches(host: str, entry: str) -> bool:
    """Whether an entry of `no_proxy` means a host: `*`, a domain, an address or a network."""
    try:
        return ipaddress.ip_address(host) in ipaddress.ip_network(entry.strip("[]"), strict=False)
    except ValueError:  # one of them is a name
        domain = entry.removeprefix("*").removeprefix(".")
        return not domain or host == domain or host.endswith(f".{domain}")
