"""Addresses that servers want a person to visit: which host they lead to, what is odd about them, and opening them."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from ipaddress import ip_address
from urllib.parse import urlsplit

from tui_host.capture.visible import hidden

_BROWSE = "import sys, webbrowser; sys.exit(not webbrowser.open(sys.argv[1]))"
_SECONDS = 10.0
_SCREENS = ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER", "WSL_DISTRO_NAME")


@dataclass(frozen=True, slots=True)
class Address:
    """An address, as a person has to judge it. All text is untrusted."""

    text: str  # the whole address
    host: str  # the host, with a port that is not the scheme's own; empty if there is none
    notes: tuple[str, ...]  # what is odd about the address, a sentence each
    may_open: bool  # whether a browser may be given the address: only http and https


def address_of(text: str) -> Address:
    """Read an address, and list what a person should know before visiting it."""
    try:
        parts = urlsplit(text)
        name, port = parts.hostname or "", parts.port
    except ValueError:
        return Address(text, "", ("This is no address that a browser could open.",), may_open=False)
    scheme = parts.scheme.lower()
    is_web = scheme in {"http", "https"}
    may_open = is_web and bool(name) and not hidden(text) and not any(map(str.isspace, text))
    is_here = name == "localhost" or name.endswith(".localhost")
    with suppress(ValueError):  # it is no number
        is_here = ip_address(name).is_loopback
    meant = ""
    with suppress(UnicodeError):  # such as a label of more than 63 letters
        meant = name.encode().decode("idna") if name.isascii() else name.encode("idna").decode()
    odd = {
        f"The scheme is {scheme or 'missing'}: only http and https are opened from here.": not is_web,
        "The address has hidden characters or no host, so it is not opened from here.": is_web and not may_open,
        "The connection is not encrypted (http).": scheme == "http" and not is_here,
        "What stands before the @ is not the host.": parts.username is not None or parts.password is not None,
        f"The host has letters beyond ASCII; its real name is {meant or 'none'}.": not name.isascii(),
        f"The host is written in Punycode: a browser may show {meant or 'anything'}.": name.isascii() and meant != name,
    }
    host = f"{name}:{port}" if port is not None else name
    return Address(text, host, tuple(note for note, is_so in odd.items() if is_so), may_open)


def open_in_browser(text: str, environment: Mapping[str, str]) -> bool:
    """Open an address in the person's browser; returns whether a browser took it. Blocks until it is there.

    A process of its own looks for the browser, away from the terminal: a browser that draws in a terminal would draw over the app.
    """
    if sys.platform == "linux" and not any(environment.get(name) for name in _SCREENS):
        return False
    process = subprocess.Popen(  # noqa: S603 - our own interpreter; the address is an argument of it
        [sys.executable, "-P", "-c", _BROWSE, text],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        env=dict(environment),
    )
    try:
        return process.wait(_SECONDS) == 0
    except subprocess.TimeoutExpired:
        return True  # the browser itself is that process, and stays open
