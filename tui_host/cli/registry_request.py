"""Asks an MCP registry for an entry. The request goes to the configured registry alone, and carries no credential."""

from __future__ import annotations

import json
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Mapping

from tui_host.capture.json.narrowing import is_object
from tui_host.errors import TuiHostError
from tui_host.settings.urls import check_url

SECONDS = 20.0
LARGEST = 4 << 20


def registry_entry(registry: str, name: str) -> Mapping[str, object]:
    """Return the latest `server.json` of a server. Blocks on the network.

    Args:
        registry: The registry's base URL.
        name: The server's name in the registry, such as `io.github.user/server`.

    Raises:
        SettingsError: The registry's URL is invalid.
        TuiHostError: The registry cannot be reached, or has no such entry.
    """
    check_url(registry, allow_http=False, where="registry")
    url = f"{registry.rstrip('/')}/v0.1/servers/{urllib.parse.quote(name, safe='')}/versions/latest"
    request = urllib.request.Request(url, headers={"Accept": "application/json", "User-Agent": "tui-host"})  # noqa: S310 - checked
    try:
        with urllib.request.urlopen(request, timeout=SECONDS) as response:  # noqa: S310 - the URL is checked above
            data = response.read(LARGEST + 1)
    except urllib.error.HTTPError as error:
        what = f"there is no server {name}" if error.code == 404 else f"the registry answers {error.code}"
        raise TuiHostError(what, registry, "search for it in the registry") from error
    except OSError as error:
        raise TuiHostError(
            f"cannot be reached: {error}", registry, "check the network and registry in config.toml"
        ) from error
    try:
        value: object = json.loads(data)
    except ValueError:
        value = None
    server = value.get("server", value) if is_object(value) else None
    if not is_object(server) or len(data) > LARGEST:
        raise TuiHostError("the answer is no server.json", registry, "check registry in config.toml")
    return server
