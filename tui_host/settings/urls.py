"""URLs taken apart, and to which of them a credential may travel: https anywhere, plain http only to this machine."""

from __future__ import annotations

import ipaddress
from urllib.parse import SplitResult, urlsplit

from tui_host.errors import SettingsError


def check_url(url: str, *, allow_http: bool, where: str = "") -> None:
    """Refuse a URL that is none, or that is plain http to another machine.

    Args:
        url: As it will be used, after references were resolved.
        allow_http: The provider or server says that plain http is meant.
        where: For the error; file and key, or the provider's or server's name.

    Raises:
        SettingsError: With a text that shows scheme and host alone, since the rest may carry a credential.
    """
    parts = split(url, where=where)
    if parts.scheme == "http" and not allow_http and not is_loopback(parts.hostname or ""):
        raise SettingsError(
            f"{shown(parts)} would send everything, keys too, unencrypted",
            where,
            "use https, or set allow_http = true if that is meant",
        )


def split(url: str, *, where: str = "") -> SplitResult:
    """Take an http or https URL apart.

    Raises:
        SettingsError: When it is not one; the text does not repeat it.
    """
    try:
        parts = urlsplit(url)
        port_is_valid = parts.port is None or parts.port > 0
    except ValueError:
        raise SettingsError("not a URL", where, "write it like https://host/path") from None
    if parts.scheme not in {"http", "https"} or not parts.hostname or not port_is_valid:
        raise SettingsError("not an http or https URL", where, "write it like https://host/path")
    if any(character <= " " or character == "\x7f" for character in url):
        raise SettingsError("a URL with a space or a control character in it", where, "write it like https://host/path")
    return parts


def parts_of(url: str) -> SplitResult:
    """A URL that somebody else wrote, taken apart; of what is none nothing is a host."""
    try:
        return urlsplit(url)
    except ValueError:
        before, _, fragment = url.partition("#")
        path, _, query = before.partition("?")
        return SplitResult("", "", path, query, fragment)


def shown(parts: SplitResult) -> str:
    """Scheme, host and port: what of a URL may stand in an error or a log."""
    host = parts.hostname or ""
    host = f"[{host}]" if ":" in host else host
    port = f":{parts.port}" if parts.port is not None else ""
    return f"{parts.scheme}://{host}{port}"


def is_loopback(host: str) -> bool:
    """Whether a URL's host is this machine, judged by its spelling alone: nothing is looked up."""
    if host.lower().rstrip(".") == "localhost":
        return True
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return False
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is not None:
        return address.ipv4_mapped.is_loopback
    return address.is_loopback
