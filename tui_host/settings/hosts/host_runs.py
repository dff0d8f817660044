"""How known hosts are started for one run with other addresses for their models and servers, without a word in their files.

Each host has a function that reads where it goes to now, and returns a plan. A value that a host would take from one of its
files is read from there, so that a request never goes to another vendor than without taps. Files of a project that its host
may not trust are left alone, since naming their servers would start them.

Source: each host's documentation and, for Gemini CLI, Goose and Cline, its code, as of autumn 2026. Tried with Claude Code
2.1.197, Codex 0.171.0, Gemini CLI 0.61.0, opencode 1.18.33 and Cline 3.0.65.
"""

from __future__ import annotations

import json
import re
import sys
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from typing import TypeAlias

from tui_host.errors import JSON, SettingsError
from tui_host.settings.hosts.jsonc import parse
from tui_host.settings.presets import PRESETS
from tui_host.settings.table_reader import shown_path

Table: TypeAlias = Mapping[str, JSON]
ANTHROPIC, GOOGLE = "https://api.anthropic.com", "https://generativelanguage.googleapis.com"
OPENAI, OLLAMA = "https://api.openai.com/v1", "http://127.0.0.1:11434"
CODE_ASSIST, CHATGPT = "https://cloudcode-pa.googleapis.com", "https://chatgpt.com/backend-api/codex"
ADDRESSES: Mapping[str, str] = {
    "ANTHROPIC_API_BASE": ANTHROPIC,
    "ANTHROPIC_BASE_URL": ANTHROPIC,
    "ANTHROPIC_HOST": ANTHROPIC,
    "CODE_ASSIST_ENDPOINT": CODE_ASSIST,
    "DEEPSEEK_API_BASE": "https://api.deepseek.com/beta",
    "GEMINI_API_BASE": GOOGLE,
    "GOOGLE_GEMINI_BASE_URL": GOOGLE,
    "GOOGLE_HOST": GOOGLE,
    "OLLAMA_API_BASE": OLLAMA,
    "OLLAMA_HOST": OLLAMA,
    "OPENAI_API_BASE": OPENAI,
    "OPENAI_BASE_URL": OPENAI,
    "OPENAI_HOST": "https://api.openai.com",
    "OPENROUTER_API_BASE": "https://openrouter.ai/api/v1",
    "OPENROUTER_HOST": "https://openrouter.ai",
}
"""Where hosts go to if a variable is not set."""
_OF_GOOSE = {
    "anthropic": "ANTHROPIC_HOST",
    "google": "GOOGLE_HOST",
    "ollama": "OLLAMA_HOST",
    "openai": "OPENAI_HOST",
    "openrouter": "OPENROUTER_HOST",
}
_OF_AIDER = ("OPENAI", "ANTHROPIC", "DEEPSEEK", "GEMINI", "OLLAMA", "OPENROUTER")
_OF_OPENCODE = {"anthropic": f"{ANTHROPIC}/v1", "google": f"{GOOGLE}/v1beta"}
_OF_CLINE = {"openai-native": OPENAI, "openai-codex": CHATGPT, "anthropic": ANTHROPIC, "gemini": GOOGLE}


@dataclass(frozen=True, slots=True, kw_only=True)
class Override:
    """What changes for a run: words behind the host's name, variables, and private files by name."""

    words: tuple[str, ...] = ()
    variables: Mapping[str, str] = field(default_factory=dict[str, str])
    files: Mapping[str, JSON] = field(default_factory=dict[str, JSON])


@dataclass(frozen=True, slots=True, kw_only=True)
class RunPlan:
    """Where a host goes to, and how it is sent elsewhere: to addresses of the same keys, and to servers of the same names.

    `override` also gets the folder of the files. The first model is the one that is in use where that is known.
    """

    models: Mapping[str, str]
    override: Callable[[Mapping[str, str], Table, Path], Override]
    servers: Table = field(default_factory=dict[str, JSON])  # in the form of `mcpServers`
    left: str = ""  # what is not tapped, and why


@dataclass(frozen=True, slots=True, kw_only=True)
class HostStart:
    """How a host is started."""

    words: tuple[str, ...]  # behind its name
    environment: Mapping[str, str]
    folder: Path

    @property
    def home(self) -> Path:
        """The person's home folder."""
        home = self.environment.get("HOME", "")
        if not home.startswith("/"):
            raise SettingsError("no home folder is known", "HOME", "set HOME to an absolute path")
        return Path(home)

    def place(self, variable: str, default: str) -> Path:
        """Return the path in a variable, else one in the home folder."""
        return Path(self.environment.get(variable) or self.home / default)

    def address(self, variable: str, *places: str) -> str:
        """Return the address in a variable, else in the files whose lines set one, else what is usual."""
        found = self.environment.get(variable, "")
        for place in places:
            path = self.home / place
            text = path.read_text("utf-8", "replace") if path.is_file() else ""
            match = re.search(rf"(?m)^\s*(?:export )?{variable}\s*[=:]\s*[\"']?([^\s\"'#]+)", text)
            found = found or (match[1] if match else "")
        return found or ADDRESSES.get(variable, "")

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


def _read(path: Path) -> Table:
    """Return what a JSON or TOML file of a host says; nothing without one. Raises a SettingsError if it is neither."""
    if not path.is_file():
        return {}
    text = path.read_text("utf-8-sig", "replace")
    if path.suffix != ".toml":
        return table_at(parse(text, shown_path(path)).value)
    try:
        return table_at(json.loads(json.dumps(tomllib.loads(text), default=str)))
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(f"not TOML: {error}", shown_path(path), "fix it first") from None


def _text(value: JSON) -> str:
    return value if isinstance(value, str) else ""


def _list(value: JSON) -> Sequence[JSON]:
    return value if isinstance(value, Sequence) and not isinstance(value, str) else ()


def _by_variables(addresses: Mapping[str, str], _servers: Table, _folder: Path) -> Override:
    return Override(variables=addresses)


def _claude_code(start: HostStart) -> RunPlan:
    """Servers of `--mcp-config` go before those of the same name; settings go before the environment, and `--settings` before them."""
    name, own = "ANTHROPIC_BASE_URL", start.place("CLAUDE_CONFIG_DIR", ".claude")
    settings = [
        own / "settings.json",
        *(start.folder / ".claude" / each for each in ("settings.json", "settings.local.json")),
    ]
    written = [url for path in settings if (url := _text(table_at(_read(path), "env").get(name)))]
    path = start.place("CLAUDE_CONFIG_DIR", "") / ".claude.json"
    config = _read(path)
    folders = (table_at(config, "projects", str(each)) for each in (start.folder, *start.folder.parents))
    project = next(filter(None, folders), table_at(None))
    approved, off = _list(project.get("enabledMcpjsonServers")), _list(project.get("disabledMcpServers"))
    shared = table_at(_read(start.folder / ".mcp.json") if approved else None, "mcpServers")
    servers = {key: value for key, value in shared.items() if key in approved}
    servers |= {**table_at(config, "mcpServers"), **table_at(project, "mcpServers")}
    servers = {key: value for key, value in servers.items() if key not in off}

    def override(addresses: Mapping[str, str], tapped: Table, folder: Path) -> Override:
        words = [f"--mcp-config={folder / 'mcp.json'}"] if tapped else []
        words += [f"--settings={json.dumps({'env': addresses})}"] if written and addresses else []
        return Override(words=tuple(words), variables=addresses, files={"mcp.json": {"mcpServers": tapped}})

    return RunPlan(models={name: (written or [start.address(name)])[-1]}, override=override, servers=servers)


def _codex(start: HostStart) -> RunPlan:
    """Options of `-c` go before `config.toml`. A provider of our own stands in for the built-in one, which cannot be changed."""
    own = start.place("CODEX_HOME", ".codex")
    config = _read(own / "config.toml")
    provider = _text(config.get("model_provider")) or "openai"
    url = _text(table_at(config, "model_providers", provider).get("base_url"))
    is_own = not url
    if is_own:
        login = _read(own / "auth.json")
        is_chatgpt = bool(login.get("tokens")) and not (
            login.get("OPENAI_API_KEY") or "OPENAI_API_KEY" in start.environment
        )
        usual = CHATGPT if is_chatgpt else start.address("OPENAI_BASE_URL", str(own / ".env"))
        url = _text(config.get("openai_base_url")) or usual

    def override(addresses: Mapping[str, str], tapped: Table, _folder: Path) -> Override:
        options: dict[str, JSON] = {}
        for key, address in addresses.items():
            options[f"model_providers.{key}.base_url"] = address
            if is_own:
                options |= {"model_provider": key, f"model_providers.{key}.name": "OpenAI"}
                options |= {
                    f"model_providers.{key}.wire_api": "responses",
                    f"model_providers.{key}.requires_openai_auth": True,
                }
        for name, server in tapped.items():
            changed = {key: value for key, value in table_at(server).items() if key in {"command", "args", "url"}}
            options |= {f"mcp_servers.{name}.{key}": value for key, value in changed.items()}
        words = (
            word for key, value in options.items() for word in ("-c", f"{key}={json.dumps(value, ensure_ascii=False)}")
        )
        return Override(words=tuple(words))

    servers = table_at(config, "mcp_servers")
    named = {name: server for name, server in servers.items() if re.fullmatch(r"[\w-]+", name)}
    return RunPlan(models={"tui-host" if is_own else provider: url}, override=override, servers=named)


def _gemini_cli(start: HostStart) -> RunPlan:
    """The system's settings go before all others, server by server. With a base URL alone, a login would be refused."""
    own = start.place("GEMINI_CLI_HOME", "") / ".gemini"
    settings = _read(own / "settings.json")
    is_mac = sys.platform == "darwin"
    usual = "/Library/Application Support/GeminiCli/settings.json" if is_mac else "/etc/gemini-cli/settings.json"
    system = _read(start.place("GEMINI_CLI_SYSTEM_SETTINGS_PATH", usual))
    login = _text(table_at(settings, "security", "auth").get("selectedType")) or "gemini-api-key"
    name = "GOOGLE_GEMINI_BASE_URL" if login == "gemini-api-key" else "CODE_ASSIST_ENDPOINT"

    def override(addresses: Mapping[str, str], tapped: Table, folder: Path) -> Override:
        security = table_at(system, "security")
        auth = {"selectedType": login, **table_at(security, "auth")}
        changed = {**system, "security": {**security, "auth": auth}}
        changed["mcpServers"] = {**table_at(system, "mcpServers"), **tapped}
        variables = {**addresses, "GEMINI_CLI_SYSTEM_SETTINGS_PATH": str(folder / "settings.json")}
        return Override(variables=variables, files={"settings.json": changed})

    url = start.address(name, str(start.folder / ".gemini/.env"), str(start.folder / ".env"), str(own / ".env"), ".env")
    left = (
        "servers of the project's .gemini/settings.json"
        if _read(start.folder / ".gemini/settings.json").get("mcpServers")
        else ""
    )
    return RunPlan(models={name: url}, override=override, servers=table_at(settings, "mcpServers"), left=left)


def _opencode(start: HostStart) -> RunPlan:
    """The variable with a configuration goes before all files. A provider is tapped if it is configured, or its key is known."""
    config: dict[str, dict[str, JSON]] = {"provider": {}, "mcp": {}}
    folders = [start.place("XDG_CONFIG_HOME", ".config") / "opencode", *reversed(start.folder.parents), start.folder]
    paths = [folder / f"{name}" for folder in folders for name in ("config.json", "opencode.json", "opencode.jsonc")]
    if given := start.environment.get("OPENCODE_CONFIG"):
        paths.insert(3, Path(given))
    texts = [_read(path) for path in paths]
    content = table_at(parse(start.environment.get("OPENCODE_CONFIG_CONTENT", ""), "OPENCODE_CONFIG_CONTENT").value)
    models = [start.option("-m", "--model")]
    for part in (*texts, content):
        config = {key: {**config[key], **table_at(part, key)} for key in config}
        models += [_text(part.get("model")), _text(part.get("small_model"))]
    logins = _read(start.place("XDG_DATA_HOME", ".local/share") / "opencode" / "auth.json")
    named = [model.partition("/")[0] for model in models if model]
    named += [name for name, login in logins.items() if table_at(login).get("type") == "api"]
    named += [
        name for name, preset in PRESETS.items() if preset.key_variable and preset.key_variable in start.environment
    ]
    addresses: dict[str, str] = {}
    for name in dict.fromkeys((*named, *config["provider"])):
        preset = PRESETS.get(name)
        usual = _OF_OPENCODE.get(name) or (preset.base_url.text if preset else "")
        url = _text(table_at(config["provider"], name, "options").get("baseURL")) or usual
        if url and "{" not in url:
            addresses[name] = url

    def override(tapped_models: Mapping[str, str], tapped: Table, _folder: Path) -> Override:
        provider = {name: {"options": {"baseURL": url}} for name, url in tapped_models.items()}
        mcp = dict[str, JSON]()
        for name, server in tapped.items():
            entry = {key: value for key, value in table_at(server).items() if key not in {"command", "args"}}
            words = [table_at(server).get("command"), *_list(table_at(server).get("args"))]
            mcp[name] = {**entry, "command": words} if "command" in table_at(server) else entry
        changed = {
            **content,
            "provider": {**table_at(content, "provider"), **provider},
            "mcp": {**table_at(content, "mcp"), **mcp},
        }
        return Override(variables={"OPENCODE_CONFIG_CONTENT": json.dumps(changed)})

    servers = dict[str, JSON]()
    for name, server in config["mcp"].items():
        words = _list(table_at(server).get("command"))
        servers[name] = {**table_at(server), "command": words[0], "args": words[1:]} if words else server
    return RunPlan(models=addresses, override=override, servers=servers)


def _goose(start: HostStart) -> RunPlan:
    """Variables go before `config.yaml`, of which the lines of the first level are read."""
    file = str(start.place("XDG_CONFIG_HOME", ".config") / "goose" / "config.yaml")
    provider = start.address("GOOSE_PROVIDER", file)
    if provider not in _OF_GOOSE:
        raise SettingsError(
            f"Goose uses the provider {provider or 'of its first start'}", "tap run", "give --llm-env NAME"
        )
    name = _OF_GOOSE[provider]
    return RunPlan(models={name: start.address(name, file)}, override=_by_variables, left="its extensions")


def _aider(start: HostStart) -> RunPlan:
    """It has no servers. A `.env` file or an option of its own goes before the variables, and so past the tap."""
    names = [f"{name}_API_BASE" for name in _OF_AIDER]
    return RunPlan(models={name: start.address(name) for name in names}, override=_by_variables)


def _cline(start: HostStart) -> RunPlan:
    """Two variables lead to other files of providers and servers. A new login would be lost with a copy: such a provider is left.

    Its hub is not used: that is a process of its own, which would outlive the run with the run's files, or began without them.
    """
    data = start.place("CLINE_DATA_DIR", ".cline/data") / "settings"
    providers = _read(start.place("CLINE_PROVIDER_SETTINGS_PATH", str(data / "providers.json")))
    name = start.option("-P", "--provider") or _text(providers.get("lastUsedProvider"))
    settings = table_at(providers, "providers", name, "settings")
    preset = PRESETS.get(name)
    url = _text(settings.get("baseUrl")) or _OF_CLINE.get(name) or (preset.base_url.text if preset else "")
    if not settings.get("apiKey") and name != "ollama":
        url = ""
    servers = table_at(
        _read(start.place("CLINE_MCP_SETTINGS_PATH", str(data / "cline_mcp_settings.json"))), "mcpServers"
    )

    def override(addresses: Mapping[str, str], tapped: Table, folder: Path) -> Override:
        files, variables = dict[str, JSON](), {"CLINE_SESSION_BACKEND_MODE": "local"}
        if addresses:
            entry = {**table_at(providers, "providers", name), "settings": {**settings, "baseUrl": addresses[name]}}
            copy = {**providers, "providers": {**table_at(providers, "providers"), name: entry}}
            files["providers.json"] = copy
            variables["CLINE_PROVIDER_SETTINGS_PATH"] = str(folder / "providers.json")
        if tapped:
            files["cline_mcp_settings.json"] = {"mcpServers": {**servers, **tapped}}
            variables["CLINE_MCP_SETTINGS_PATH"] = str(folder / "cline_mcp_settings.json")
        return Override(variables=variables, files=files)

    left = "" if url else f"its provider {name or '(none)'}, which has no key of its own"
    return RunPlan(models={name: url} if url else {}, override=override, servers=servers, left=left)


RUNS: Mapping[str, Callable[[HostStart], RunPlan]] = {
    "claude": _claude_code,
    "claude-code": _claude_code,
    "codex": _codex,
    "gemini": _gemini_cli,
    "gemini-cli": _gemini_cli,
    "opencode": _opencode,
    "opencode-ai": _opencode,
    "goose": _goose,
    "aider": _aider,
    "aider-chat": _aider,
    "cline": _cline,
}
"""By the names of programs and packages."""


def _name(word: str) -> str:
    return PurePath(word).name.partition("@")[0].removesuffix(".js")


def host_in(command: Sequence[str]) -> int | None:
    """Return the place of a known host in a command: its first word, or behind a launcher such as `npx -y`; None if unknown."""
    for at, word in enumerate(command[:4]):
        if _name(word) in RUNS:
            return at
        if at and not word.startswith("-"):
            break
    return None


def plan_of(command: Sequence[str], environment: Mapping[str, str], folder: Path) -> RunPlan:
    """Return the plan of a host in a command, for an unknown one without models and servers."""
    at = host_in(command)
    if at is None:
        return RunPlan(models={}, override=_by_variables)
    return RUNS[_name(command[at])](HostStart(words=tuple(command[at + 1 :]), environment=environment, folder=folder))
