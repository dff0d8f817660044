"""The hosts whose configuration is known, as one table.

Source: each host's documentation and, for Cline and Gemini CLI, its code, as of autumn 2026. `{config}` is where applications of a
desktop keep what is theirs: `~/.config` on Linux, `~/Library/Application Support` on macOS.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tui_host.errors import SettingsError
from tui_host.settings.mistakes import nearest, shown

VSCODES = (
    *("{config}/Code", "{config}/Code - Insiders", "{config}/VSCodium"),
    *("{home}/.var/app/com.visualstudio.code/config/Code", "{home}/.var/app/com.vscodium.codium/config/VSCodium"),
)
"""Folders of Visual Studio Code. Its snap uses the first too."""
KIN = ("{config}/Cursor", "{config}/Windsurf")
"""Folders of editors that were made from it, and can hold the same extensions."""
FLATPAKS = "/.var/app/"
"""In the path of what belongs to a Flatpak."""
ANY = "*"
"""In `servers`: whatever the key is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownHost:
    """A host and its files.

    Attributes:
        name: As it is typed.
        title: As it calls itself.
        files: Patterns of the person's own files; `{…}` is a place of `places`.
        project_files: Files in a project's folder, often shared with others; used only where a person names them.
        servers: Keys that lead to an object of servers by name.
        inside: A member of a server's object that may hold its command or URL in its stead.
        urls: Members that hold a server's URL.
        note: What is not as one would expect with this host, and why; may be empty.
    """

    name: str
    title: str
    files: tuple[str, ...]
    project_files: tuple[str, ...] = ()
    servers: tuple[tuple[str, ...], ...] = (("mcpServers",),)
    inside: str = ""
    urls: tuple[str, ...] = ("url",)
    note: str = ""


HOSTS = (
    KnownHost(
        name="claude-desktop",
        title="Claude Desktop",
        files=("{config}/Claude/claude_desktop_config.json",),
        note="its model cannot be redirected: what it says to its servers is all that can be recorded",
    ),
    KnownHost(
        name="claude-code",
        title="Claude Code",
        files=("{claude}/.claude.json",),
        project_files=(".mcp.json",),
        servers=(("mcpServers",), ("projects", ANY, "mcpServers")),
    ),
    KnownHost(
        name="cursor",
        title="Cursor",
        files=("{home}/.cursor/mcp.json",),
        project_files=(".cursor/mcp.json",),
        note="cursor-agent asks once more whether a server whose command has changed is approved",
    ),
    KnownHost(
        name="vscode",
        title="VS Code",
        files=(
            *(f"{folder}/User/mcp.json" for folder in VSCODES),
            *(f"{folder}/User/profiles/*/mcp.json" for folder in VSCODES),
            "{home}/.vscode-server/data/User/mcp.json",
        ),
        project_files=(".vscode/mcp.json",),
        servers=(("servers",), ("mcp", "servers"), ("mcpServers",)),
    ),
    KnownHost(
        name="cline",
        title="Cline",
        files=(
            "{cline}",
            *(
                f"{folder}/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json"
                for folder in (*VSCODES, *KIN, "{home}/.vscode-server/data", "{home}/.cursor-server/data")
            ),
        ),
        inside="transport",
    ),
    KnownHost(
        name="gemini-cli",
        title="Gemini CLI",
        files=("{gemini}/.gemini/settings.json",),
        project_files=(".gemini/settings.json",),
        urls=("url", "httpUrl"),
    ),
)

_SHORT = {"claude": "claude-desktop", "code": "vscode", "gemini": "gemini-cli"}


def known_host(typed: str) -> KnownHost:
    """The host of that name, however it is spelled: `claude-desktop`, `"Claude Desktop"`, `vs-code`, `gemini`.

    Raises:
        SettingsError: No such host is known.
    """
    plain = _plain(typed)
    for host in HOSTS:
        if plain in {_plain(host.name), _plain(host.title)} or _SHORT.get(plain) == host.name:
            return host
    names = [host.name for host in HOSTS]
    otherwise = f"known are {', '.join(names)}; put «tui-host tap stdio NAME --» before a server's command by hand"
    raise SettingsError(f"{shown(typed)} is not known here", "HOST", nearest(typed, names, otherwise))


def files_of(host: KnownHost, environment: Mapping[str, str], platform: str = sys.platform) -> list[Path]:
    """Where a host's own files are: each that exists, then for each pattern without any the place where one would be.

    Raises:
        SettingsError: No home folder is known.
    """
    found: list[Path] = []
    missing: list[Path] = []
    places = _places(environment, platform)
    for pattern in host.files:
        path = Path(pattern.format_map(places))
        folder, star, rest = str(path).partition("/*/")
        if star:
            found += sorted(Path(folder).glob(f"*/{rest}"))
        elif path.exists():
            found.append(path)
        elif FLATPAKS not in pattern:  # only some have one
            missing.append(path)
    return [*found, *missing]


def _places(environment: Mapping[str, str], platform: str) -> dict[str, str]:
    home = environment.get("HOME", "")
    if not home.startswith("/"):
        raise SettingsError("no home folder is known", "HOME", "set HOME to an absolute path, or give --file FILE")
    config = environment.get("XDG_CONFIG_HOME", "")
    if platform == "darwin":
        config = f"{home}/Library/Application Support"
    elif not config.startswith("/"):
        config = f"{home}/.config"
    data = environment.get("CLINE_DATA_DIR") or f"{environment.get('CLINE_DIR') or f'{home}/.cline'}/data"
    return {
        "home": home,
        "config": config,
        "claude": environment.get("CLAUDE_CONFIG_DIR") or home,
        "gemini": environment.get("GEMINI_CLI_HOME") or home,
        "cline": environment.get("CLINE_MCP_SETTINGS_PATH") or f"{data}/settings/cline_mcp_settings.json",
    }


def _plain(name: str) -> str:
    return "".join(character for character in name.casefold() if character.isalnum())
