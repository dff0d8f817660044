"""How known hosts are started for one run with other addresses for their models and servers, without a word in their files.

Each host has a function that reads where it goes to now, has taps put before that, and returns how it is sent to them. A
value that a host would take from one of its files is read from there, so that a request never goes to another vendor than
without taps. Files of a project that its host may not trust are left alone, since naming their servers would start them.

Source: each host's documentation and, for Gemini CLI, Goose and Cline, its code, as of autumn 2026. Tried with Claude Code
2.1.197, Codex 0.171.0, Gemini CLI 0.61.0, opencode 1.18.33 and Cline 3.0.65.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from typing import TypeAlias

from tui_host.errors import JSON, SettingsError
from tui_host.settings.hosts.host_entries import value_in
from tui_host.settings.hosts.known_hosts import folders_of
from tui_host.settings.presets import PRESETS
from tui_host.settings.save import write_private
from tui_host.settings.table_reader import shown_path

Table: TypeAlias = Mapping[str, JSON]
# An address, and the variables without which hosts go there.
_USUAL = """
https://api.openai.com/v1                 | OPENAI_BASE_URL OPENAI_API_BASE
https://api.openai.com                    | OPENAI_HOST
https://api.anthropic.com                 | ANTHROPIC_BASE_URL ANTHROPIC_API_BASE ANTHROPIC_HOST
https://generativelanguage.googleapis.com | GOOGLE_GEMINI_BASE_URL GEMINI_API_BASE GOOGLE_HOST
https://cloudcode-pa.googleapis.com       | CODE_ASSIST_ENDPOINT
https://api.deepseek.com/beta             | DEEPSEEK_API_BASE
http://127.0.0.1:11434                    | OLLAMA_API_BASE OLLAMA_HOST
https://openrouter.ai/api/v1              | OPENROUTER_API_BASE
https://openrouter.ai                     | OPENROUTER_HOST
"""
_ROWS = (row.split("|") for row in _USUAL.strip().split("\n"))
ADDRESSES: Mapping[str, str] = {name: url.strip() for url, names in _ROWS for name in names.split()}
"""Where hosts go to if a variable is not set."""
CHATGPT = "https://chatgpt.com/backend-api/codex"
# By the names that a host gives to services.
_SERVICES = {name: preset.base_url.text for name, preset in PRESETS.items()}
_OF_OPENCODE = {
    **_SERVICES,
    "anthropic": f"{ADDRESSES['ANTHROPIC_HOST']}/v1",
    "google": f"{ADDRESSES['GOOGLE_HOST']}/v1beta",
}
_OF_CLINE = {**_SERVICES, "openai-native": ADDRESSES["OPENAI_BASE_URL"], "openai-codex": CHATGPT}
# Cline's files, and the variables that lead to others.
_FILES_OF_CLINE = {
    "providers.json": "CLINE_PROVIDER_SETTINGS_PATH",
    "cline_mcp_settings.json": "CLINE_MCP_SETTINGS_PATH",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Override:
    """What changes for a run: words behind the host's name, and variables. `left` is what is not tapped, and why."""

    words: tuple[str, ...] = ()
    variables: Mapping[str, str] = field(default_factory=dict[str, str])
    left: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class HostStart:
    """How a host is started, and what puts taps before its models and servers: it returns them by the same keys.

    Models are named first, with the one that is in use before others; servers in the form of `mcpServers`.
    """

    words: tuple[str, ...]  # behind its name
    environment: Mapping[str, str]
    private: Path  # a folder for the files of this run
    llm_env: str = ""  # the variable that the person named for the model's address: no other is tapped
    tap_models: Callable[[Mapping[str, str]], Mapping[str, str]]
    tap_servers: Callable[[Table], Table]

    def path(self, place: str, variable: str = "") -> Path:
        """Return the path in a variable, else a place in a folder of `folders_of`, or in the project's."""
        if given := self.environment.get(variable):
            return Path(given)
        folder, _, rest = place.partition("/")
        return Path(folders_of(self.environment)[folder], rest) if folder.startswith("{") else Path(place)

    def read(self, place: str, variable: str = "") -> Table:
        """Return what a JSON or TOML file says; nothing without one. Raises a SettingsError if it is neither."""
        path = self.path(place, variable)
        text = path.read_text("utf-8-sig", "replace") if path.is_file() else ""
        return table_at(value_in(text, shown_path(path), is_toml=path.suffix == ".toml"))

    def written(self, name: str, content: Table) -> str:
        """Write a file for this run and return its path."""
        path = self.private / name
        write_private(path, json.dumps(content, ensure_ascii=False).encode())
        return str(path)

    def address(self, variable: str, *places: str) -> str:
        """Return the address in a variable, else in the files whose lines set one, else what is usual."""
        address = self.environment.get(variable, "")
        for path in map(self.path, places):
            text = path.read_text("utf-8", "replace") if path.is_file() else ""
            match = re.search(rf"(?m)^\s*(?:export )?{variable}\s*[=:]\s*[\"']?([^\s\"'#]+)", text)
            address = address or (match[1] if match else "")
        return address or ADDRESSES.get(variable, "")

    def option(self, *names: str) -> str:
        """Return the value of an option among the words; empty without it."""
        for at, word in enumerate(self.words):
            name, equals, value = word.partition("=")
            if name in names:
                return value if equals else next(iter(self.words[at + 1 : at + 2]), "")
        return ""


def table_at(value: JSON, *keys: str) -> Table:
    """Return the table to which keys lead; an empty one if there is none."""
    for key in keys:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value if isinstance(value, Mapping) else {}


def _text_at(table: Table, *keys: str) -> str:
    value = table_at(table, *keys[:-1]).get(keys[-1])
    return value if isinstance(value, str) else ""


def _list(value: JSON) -> Sequence[JSON]:
    return value if isinstance(value, Sequence) and not isinstance(value, str) else ()


def _merged(*tables: Table) -> Table:
    """Merge tables, those within them too; a later value wins."""
    whole = dict[str, JSON]()
    for table in tables:
        for key, value in table.items():
            whole[key] = _merged(table_at(whole.get(key)), value) if isinstance(value, Mapping) else value
    return whole


def _claude_code(start: HostStart) -> Override:
    """Servers of `--mcp-config` go before those of the same name; settings go before the environment, and `--settings` before them."""
    name = "ANTHROPIC_BASE_URL"
    settings = ("{claude settings}/settings.json", ".claude/settings.json", ".claude/settings.local.json")
    written = [url for place in settings if (url := _text_at(start.read(place), "env", name))]
    addresses = start.tap_models({name: (written or [start.address(name)])[-1]})
    config = start.read("{claude}/.claude.json")
    folders = (table_at(config, "projects", str(folder)) for folder in (Path.cwd(), *Path.cwd().parents))
    project = next(filter(None, folders), table_at(None))
    approved, off = _list(project.get("enabledMcpjsonServers")), _list(project.get("disabledMcpServers"))
    shared = table_at(start.read(".mcp.json") if approved else None, "mcpServers")
    servers = {key: value for key, value in shared.items() if key in approved}
    servers |= {**table_at(config, "mcpServers"), **table_at(project, "mcpServers")}
    tapped = start.tap_servers({key: value for key, value in servers.items() if key not in off})
    words = [f"--mcp-config={start.written('mcp.json', {'mcpServers': tapped})}"] if tapped else []
    words += [f"--settings={json.dumps({'env': addresses})}"] if written and addresses else []
    return Override(words=tuple(words), variables=addresses)


def _codex(start: HostStart) -> Override:
    """Options of `-c` go before `config.toml`. A provider of our own stands in for the built-in one, which cannot be changed."""
    config, own = start.read("{codex}/config.toml"), dict[str, JSON]()
    key = _text_at(config, "model_provider") or "openai"
    url = _text_at(config, "model_providers", key, "base_url")
    if not url:
        key, login = "tui-host", start.read("{codex}/auth.json")
        has_key = login.get("OPENAI_API_KEY") or "OPENAI_API_KEY" in start.environment
        usual = CHATGPT if login.get("tokens") and not has_key else start.address("OPENAI_BASE_URL", "{codex}/.env")
        url = _text_at(config, "openai_base_url") or usual
        own = {"name": "OpenAI", "wire_api": "responses", "requires_openai_auth": True}
    options = dict[str, JSON]()
    for address in start.tap_models({key: url}).values():
        options = {f"model_providers.{key}.{name}": value for name, value in {"base_url": address, **own}.items()}
        options |= {"model_provider": key} if own else {}
    named = {name: server for name, server in table_at(config, "mcp_servers").items() if re.fullmatch(r"[\w-]+", name)}
    for name, server in start.tap_servers(named).items():
        changed = {key: value for key, value in table_at(server).items() if key in {"command", "args", "url"}}
        options |= {f"mcp_servers.{name}.{key}": value for key, value in changed.items()}
    words = (("-c", f"{name}={json.dumps(value, ensure_ascii=False)}") for name, value in options.items())
    return Override(words=tuple(word for pair in words for word in pair))


def _gemini_cli(start: HostStart) -> Override:
    """The system's settings go before all others, server by server. With a base URL alone, a login would be refused."""
    settings, file = start.read("{gemini}/.gemini/settings.json"), "GEMINI_CLI_SYSTEM_SETTINGS_PATH"
    folder = "/Library/Application Support/GeminiCli" if sys.platform == "darwin" else "/etc/gemini-cli"
    system = start.read(f"{folder}/settings.json", file)
    login = _text_at(settings, "security", "auth", "selectedType") or "gemini-api-key"
    name = "GOOGLE_GEMINI_BASE_URL" if login == "gemini-api-key" else "CODE_ASSIST_ENDPOINT"
    places = (".gemini/.env", ".env", "{gemini}/.gemini/.env", "{home}/.env")
    addresses = start.tap_models({name: start.address(name, *places)})
    servers = {**table_at(settings, "mcpServers"), **table_at(system, "mcpServers")}
    changed = _merged({"security": {"auth": {"selectedType": login}}}, system)
    changed = {**changed, "mcpServers": {**table_at(system, "mcpServers"), **start.tap_servers(servers)}}
    has_more = start.read(".gemini/settings.json").get("mcpServers")
    return Override(
        variables={**addresses, file: start.written("settings.json", changed)},
        left="servers of the project's .gemini/settings.json" if has_more else "",
    )


def _opencode(start: HostStart) -> Override:
    """The variable with a configuration goes before all files. A provider is tapped if it is configured, or its key is known."""
    variable = "OPENCODE_CONFIG_CONTENT"
    content = table_at(value_in(start.environment.get(variable, ""), variable))
    folders = ("{xdg config}/opencode", *map(str, reversed((Path.cwd(), *Path.cwd().parents))))
    places = [f"{folder}/{name}" for folder in folders for name in ("config.json", "opencode.json", "opencode.jsonc")]
    if given := start.environment.get("OPENCODE_CONFIG"):
        places.insert(3, given)
    config = _merged(*map(start.read, places), content)
    models = (start.option("-m", "--model"), _text_at(config, "model"), _text_at(config, "small_model"))
    named = [model.partition("/")[0] for model in models]
    logins = start.read("{xdg data}/opencode/auth.json")
    named += [name for name in logins if _text_at(logins, name, "type") == "api"]
    named += [name for name, preset in PRESETS.items() if (preset.key_variable or "") in start.environment]
    providers = table_at(config, "provider")
    urls = {
        name: _text_at(providers, name, "options", "baseURL") or _OF_OPENCODE.get(name, "")
        for name in (*named, *providers)
    }
    addresses = start.tap_models({name: url for name, url in urls.items() if url and "{" not in url})
    servers, mcp = dict[str, JSON](), dict[str, JSON]()
    for name, server in table_at(config, "mcp").items():  # whose command is a list with its arguments
        command, *args = _list(table_at(server).get("command")) or [None]
        servers[name] = {**table_at(server), "command": command, "args": args} if command else server
    for name, server in start.tap_servers(servers).items():
        entry = dict(table_at(server))
        words = [entry.get("command"), *_list(entry.pop("args", None))]
        mcp[name] = {**entry, "command": words} if "command" in entry else entry
    provider: Table = {name: {"options": {"baseURL": url}} for name, url in addresses.items()}
    return Override(variables={variable: json.dumps(_merged(content, {"provider": provider, "mcp": mcp}))})


def _goose(start: HostStart) -> Override:
    """Variables go before `config.yaml`, of which the lines of the first level are read."""
    file = "{xdg config}/goose/config.yaml"
    provider = start.address("GOOSE_PROVIDER", file)
    name = f"{provider.upper()}_HOST"
    if name not in ADDRESSES and not start.llm_env:
        what = f"Goose uses the provider {provider or 'of its first start'}"
        raise SettingsError(what, "tap run", "give --llm-env NAME")
    return Override(variables=start.tap_models({name: start.address(name, file)}), left="its extensions")


def _aider(start: HostStart) -> Override:
    """It has no servers. A `.env` file or an option of its own goes before the variables, and so past the tap."""
    names = [name for name in ADDRESSES if name.endswith("_API_BASE")]
    return Override(variables=start.tap_models({name: start.address(name) for name in names}))


def _cline(start: HostStart) -> Override:
    """Two variables lead to other files of providers and servers. A new login would be lost with a copy: such a provider is left.

    Its hub is not used: that is a process of its own, which would outlive the run with the run's files, or began without them.
    """
    places = {f"{{cline}}/settings/{file}": variable for file, variable in _FILES_OF_CLINE.items()}
    providers, listed = (start.read(*place) for place in places.items())
    servers = table_at(listed, "mcpServers")
    name = start.option("-P", "--provider") or _text_at(providers, "lastUsedProvider")
    settings = table_at(providers, "providers", name, "settings")
    url = _text_at(settings, "baseUrl") or _OF_CLINE.get(name, "")
    if not settings.get("apiKey") and name != "ollama":
        url = ""
    addresses = start.tap_models({name: url} if url else {})
    tapped = start.tap_servers(servers)
    copied: Table = {"providers": {name: {"settings": {"baseUrl": addresses.get(name)}}}}
    files = {"providers.json": _merged(providers, copied)} if addresses else {}
    files |= {"cline_mcp_settings.json": {"mcpServers": {**servers, **tapped}}} if tapped else {}
    return Override(
        variables={
            "CLINE_SESSION_BACKEND_MODE": "local",
            **{_FILES_OF_CLINE[file]: start.written(file, content) for file, content in files.items()},
        },
        left="" if url else f"its provider {name or '(none)'}, which has no key of its own",
    )


Run: TypeAlias = Callable[[HostStart], Override]
_NAMES: tuple[tuple[Run, str], ...] = (
    (_claude_code, "claude claude-code"),
    (_codex, "codex"),
    (_gemini_cli, "gemini gemini-cli"),
    (_opencode, "opencode opencode-ai"),
    (_goose, "goose"),
    (_aider, "aider aider-chat"),
    (_cline, "cline"),
)
RUNS = {name: run for run, names in _NAMES for name in names.split()}
"""By the names of programs and packages."""


def host_in(command: Sequence[str]) -> tuple[int, Run | None]:
    """Return the place of a known host in a command, its first word or one behind a launcher such as `npx -y`, and its function."""
    for at, word in enumerate(command[:4]):
        name = PurePath(word).name.partition("@")[0].removesuffix(".js")
        if name in RUNS:
            return at, RUNS[name]
        if at and not word.startswith("-"):
            break
    return 0, None
