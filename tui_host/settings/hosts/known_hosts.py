"""The hosts whose configuration files `servers import` reads and `tap install` writes, in one table.

Source: each host's documentation and, for Cline, Gemini CLI, Goose and Codex, its code, as of autumn 2026.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tui_host.errors import SettingsError
from tui_host.settings.mistakes import nearest, shown

ANY = "*"  # stands for any key in `servers`
_VSCODES = (  # the snap uses the first
    "{config}/Code",
    "{config}/Code - Insiders",
    "{config}/VSCodium",
    "{home}/.var/app/com.visualstudio.code/config/Code",
    "{home}/.vscode-server/data",
)
_CLINES = (*_VSCODES, "{config}/Cursor", "{config}/Windsurf", "{home}/.cursor-server/data")  # forks run the extension
_OF_CLINE = "User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json"

_MCP_SERVERS = (("mcpServers",),)
# What a pattern begins with, a variable that leads to the folder, and where else in the home folder it is.
_FOLDERS = (
    ("{claude}", "CLAUDE_CONFIG_DIR", ""),
    ("{claude settings}", "CLAUDE_CONFIG_DIR", "/.claude"),
    ("{cline}", "CLINE_DATA_DIR", "/.cline/data"),
    ("{codex}", "CODEX_HOME", "/.codex"),
    ("{gemini}", "GEMINI_CLI_HOME", ""),
    ("{xdg config}", "XDG_CONFIG_HOME", "/.config"),
    ("{xdg data}", "XDG_DATA_HOME", "/.local/share"),
)


@dataclass(frozen=True, slots=True)
class KnownHost:
    """A host, where its configuration files are, and what is its own in them."""

    name: str  # to type; empty for text of any host
    title: str
    files: tuple[str, ...]  # patterns in a folder that `files_of` knows
    project_file: str = ""  # in a project's folder, often shared; used only if the user names it
    servers: tuple[tuple[str, ...], ...] = _MCP_SERVERS  # keys that lead to an object with the servers by name
    url_is_sse: bool = False  # a server behind a plain `url` speaks the older transport, HTTP+SSE
    is_toml: bool = False  # such files are only read
    has_bare_references: bool = False  # `$NAME` stands for a variable, as `${NAME}` does


HOSTS = (
    KnownHost("claude-desktop", "Claude Desktop", ("{config}/Claude/claude_desktop_config.json",)),
    KnownHost(
        "claude-code",
        "Claude Code",
        ("{claude}/.claude.json",),
        ".mcp.json",
        (*_MCP_SERVERS, ("projects", ANY, "mcpServers")),
    ),
    KnownHost("cursor", "Cursor", ("{home}/.cursor/mcp.json",), ".cursor/mcp.json"),
    KnownHost(
        "vscode",
        "VS Code",
        tuple(f"{folder}/User/{name}" for name in ("mcp.json", "profiles/*/mcp.json") for folder in _VSCODES),
        ".vscode/mcp.json",
        (("servers",), ("mcp", "servers"), *_MCP_SERVERS),
    ),
    KnownHost(
        "cline",
        "Cline",
        ("{home}/.cline/data/settings/cline_mcp_settings.json", *(f"{folder}/{_OF_CLINE}" for folder in _CLINES)),
        url_is_sse=True,
    ),
    KnownHost("windsurf", "Windsurf", ("{home}/.codeium/windsurf/mcp_config.json", "{home}/.codeium/mcp_config.json")),
    KnownHost(
        "gemini-cli",
        "Gemini CLI",
        ("{gemini}/.gemini/settings.json",),
        ".gemini/settings.json",
        url_is_sse=True,
        has_bare_references=True,
    ),
    KnownHost("lm-studio", "LM Studio", ("{home}/.lmstudio/mcp.json", "{home}/.cache/lm-studio/mcp.json")),
    KnownHost("codex", "Codex", ("{codex}/config.toml",), ".codex/config.toml", (("mcp_servers",),), is_toml=True),
)
TAPPED = tuple(host for host in HOSTS if not host.is_toml)
PASTED = KnownHost("", "", (), servers=(*(keys for host in HOSTS for keys in host.servers), ("context_servers",), ()))
"""Stands for any host: text in one of the common forms, which Cherry Studio and Zed exchange too."""


def known_host(typed: str) -> KnownHost:
    """Find a host of `TAPPED` by its name or title."""
    names = {host.name: host for host in TAPPED}
    name = typed.casefold().replace(" ", "-")
    if name not in names:
        by_hand = "write «tui-host tap stdio NAME --» in front of a server's command by hand"
        remedy = nearest(typed, list(names), f"choose from {', '.join(names)}, or {by_hand}")
        raise SettingsError(f"unknown host {shown(typed)}", "HOST", remedy)
    return names[name]


def folders_of(environment: Mapping[str, str], platform: str = sys.platform) -> Mapping[str, str]:
    """Return the folders in which hosts keep files, by the names that patterns begin with."""
    home = environment.get("HOME", "")
    if not home.startswith("/"):
        raise SettingsError("no home folder is known", "HOME", "set HOME to an absolute path")
    folders = {name: environment.get(variable) or f"{home}{usual}" for name, variable, usual in _FOLDERS}
    config = folders["{xdg config}"] if folders["{xdg config}"].startswith("/") else f"{home}/.config"
    return {
        **folders,
        "{home}": home,
        "{config}": f"{home}/Library/Application Support" if platform == "darwin" else config,
    }


def files_of(host: KnownHost, environment: Mapping[str, str], platform: str = sys.platform) -> list[Path]:
    """Return a host's existing files, or without any the file that it would create."""
    folders = folders_of(environment, platform)
    patterns = [pattern.split("/", 1) for pattern in host.files]
    existing = [path for name, rest in patterns for path in sorted(Path(folders[name]).glob(rest))]
    (name, rest), *_ = patterns
    return existing or [Path(folders[name], rest)]
