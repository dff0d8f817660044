"""The hosts whose configuration files this program knows.

Source: each host's documentation and, for Cline and Gemini CLI, its code, as of autumn 2026. In a path, `{config}` is the folder for
desktop applications: `~/.config` on Linux, `~/Library/Application Support` on macOS.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tui_host.errors import SettingsError
from tui_host.settings.mistakes import nearest, shown

FLATPAKS = "/.var/app/"
ANY = "*"
"""Stands for any key in `servers`."""
_VSCODES = (  # the snap uses the first
    *("{config}/Code", "{config}/Code - Insiders", "{config}/VSCodium"),
    *("{home}/.var/app/com.visualstudio.code/config/Code", "{home}/.var/app/com.vscodium.codium/config/VSCodium"),
)
_CLINES = (  # forks of Visual Studio Code, and its remote ends, run the same extension
    *(*_VSCODES, "{config}/Cursor", "{config}/Windsurf"),
    *("{home}/.vscode-server/data", "{home}/.cursor-server/data"),
)
_OF_CLINE = "User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownHost:
    """A host, the paths of its configuration files, and where they list servers."""

    name: str  # to type; empty for text of any host
    title: str
    files: tuple[str, ...]  # patterns, in which `{…}` names an entry of `_places`
    project_files: tuple[str, ...] = ()  # in a project's folder, often shared; used only if the user names one
    servers: tuple[tuple[str, ...], ...] = (("mcpServers",),)  # keys that lead to an object with the servers by name
    inside: str = ""  # a member of a server's object that may hold the command or URL in the object's place
    urls: tuple[str, ...] = ("url",)
    url_is_sse: bool = False  # a server behind a plain `url` speaks the older transport, HTTP+SSE
    is_toml: bool = False  # such files are only read
    milliseconds: bool = False
    has_bare_references: bool = False  # `$NAME` stands for a variable, as `${NAME}` does
    note: str = ""


HOSTS = (
    KnownHost(
        name="claude-desktop",
        title="Claude Desktop",
        files=("{config}/Claude/claude_desktop_config.json",),
        note="its model cannot be redirected, so only the traffic with its servers can be recorded",
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
        note="cursor-agent asks again for approval of a server whose command has changed",
    ),
    KnownHost(
        name="vscode",
        title="VS Code",
        files=(
            *(f"{folder}/User/{name}" for name in ("mcp.json", "profiles/*/mcp.json") for folder in _VSCODES),
            "{home}/.vscode-server/data/User/mcp.json",
        ),
        project_files=(".vscode/mcp.json",),
        servers=(("servers",), ("mcp", "servers"), ("mcpServers",)),
    ),
    KnownHost(
        name="cline",
        title="Cline",
        files=("{cline}", *(f"{folder}/{_OF_CLINE}" for folder in _CLINES)),
        inside="transport",
        url_is_sse=True,
    ),
    KnownHost(
        name="windsurf",
        title="Windsurf",
        files=("{home}/.codeium/windsurf/mcp_config.json", "{home}/.codeium/mcp_config.json"),
        urls=("serverUrl", "url"),
    ),
    KnownHost(
        name="gemini-cli",
        title="Gemini CLI",
        files=("{gemini}/.gemini/settings.json",),
        project_files=(".gemini/settings.json",),
        urls=("httpUrl", "url"),
        url_is_sse=True,
        milliseconds=True,
        has_bare_references=True,
    ),
    KnownHost(
        name="lm-studio",
        title="LM Studio",
        files=("{home}/.lmstudio/mcp.json", "{home}/.cache/lm-studio/mcp.json"),
    ),
    KnownHost(
        name="codex",
        title="Codex",
        files=("{codex}/config.toml",),
        project_files=(".codex/config.toml",),
        is_toml=True,
    ),
)
TAPPED = tuple(host for host in HOSTS if not host.is_toml)
"""The hosts into whose files taps can be written."""
PASTED = KnownHost(
    name="",
    title="",
    files=(),
    servers=(("mcpServers",), ("servers",), ("mcp", "servers"), ("context_servers",), ("extensions",)),
    inside="transport",
    urls=("httpUrl", "serverUrl", "url", "baseUrl", "uri"),
)
"""Stands for any host: text in one of the common forms. Cherry Studio and Goose exchange such text."""
_SHORT = {"claude": "claude-desktop", "code": "vscode", "gemini": "gemini-cli"}


def known_host(typed: str) -> KnownHost:
    """Find a host of `TAPPED` by a name in any spelling: `claude-desktop`, `"Claude Desktop"`, `vs-code`, `gemini`."""
    plain = _plain(typed)
    for host in TAPPED:
        if plain in {_plain(host.name), _plain(host.title)} or _SHORT.get(plain) == host.name:
            return host
    names = [host.name for host in TAPPED]
    by_hand = "write «tui-host tap stdio NAME --» in front of a server's command by hand"
    remedy = nearest(typed, names, f"choose from {', '.join(names)}, or {by_hand}")
    raise SettingsError(f"unknown host {shown(typed)}", "HOST", remedy)


def files_of(host: KnownHost, environment: Mapping[str, str], platform: str = sys.platform) -> list[Path]:
    """Return a host's existing files, followed by the expected paths of its missing files."""
    existing: list[Path] = []
    missing: list[Path] = []
    places = _places(environment, platform)
    for pattern in host.files:
        path = Path(pattern.format_map(places))
        folder, star, rest = str(path).partition("/*/")
        if star:
            existing += sorted(Path(folder).glob(f"*/{rest}"))
        elif path.exists():
            existing.append(path)
        elif FLATPAKS not in pattern:  # only some have one
            missing.append(path)
    return [*existing, *missing]


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
        "codex": environment.get("CODEX_HOME") or f"{home}/.codex",
        "gemini": environment.get("GEMINI_CLI_HOME") or home,
        "cline": environment.get("CLINE_MCP_SETTINGS_PATH") or f"{data}/settings/cline_mcp_settings.json",
    }


def _plain(name: str) -> str:
    return "".join(filter(str.isalnum, name.casefold()))
