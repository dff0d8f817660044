"""The server of `tui-host URL` or `tui-host -- COMMAND…`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import PurePath

from tui_host.errors import SettingsError
from tui_host.settings.schema import ServerSpec, Template
from tui_host.settings.tables import server_name
from tui_host.settings.urls import check_url, split

# Programs that start another program, whose name is an argument.
_LAUNCHERS = frozenset(["uvx", "npx", "bunx", "pipx", "uv", "npm", "bun", "deno", "node", "python", "run", "exec"])


def typed_server(words: Sequence[str]) -> ServerSpec:
    """Return the server that a URL or a command means, used literally, under a name made from it."""
    command, *args = words or ("",)
    if "://" in command and not args:
        check_url(command, allow_http=True, where="URL")
        parts = split(command)
        return ServerSpec(
            name=server_name(parts.netloc.rpartition("@")[2].lower()),
            transport="sse" if parts.path.rstrip("/").endswith("/sse") else "http",
            url=Template(text=command, literal=True),
            allow_http=True,  # whoever types a URL sees its scheme
        )
    if not command:
        raise SettingsError("no program given", "COMMAND", "write tui-host -- PROGRAM ARGUMENTS")
    program = PurePath(command).name
    for word in words:  # it is named by the program, or by what a launcher such as `npx` starts
        stem = re.sub(r"(?<=.)@[^@]*$|\.(?:py|js|mjs|cjs|ts|sh|exe)$", "", PurePath(word).name)
        if stem and not word.startswith("-") and re.sub(r"[\d.]+$", "", stem) not in _LAUNCHERS:
            program = stem
            break
    return ServerSpec(
        name=server_name(program),
        command=Template(text=command, literal=True),
        args=tuple(Template(text=argument, literal=True) for argument in args),
    )
