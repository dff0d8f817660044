"""The configuration as frozen values, without behaviour."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from typing_extensions import override

from tui_host.errors import JSON
from tui_host.settings.model_options import Options

Dialect = Literal["openai", "openai-responses", "anthropic", "gemini", "ollama"]
Transport = Literal["stdio", "http", "sse"]
Mode = Literal["auto", "legacy", "2026-07-28"]
Action = Literal["allow", "ask", "deny"]

DIALECTS: tuple[Dialect, ...] = ("openai", "openai-responses", "anthropic", "gemini", "ollama")
"""All supported dialects."""

_SPOKEN = ("native", "cline", "cherry", "json", "function", "react", "hermes")
PROTOCOLS: tuple[str, ...] = (*_SPOKEN, "hub", *(f"hub+{name}" for name in _SPOKEN[1:]))
"""All tool protocols; `hub` builds on `native`, `hub+NAME` on another."""

TRANSPORTS: tuple[Transport, ...] = ("stdio", "http", "sse")
MODES: tuple[Mode, ...] = ("auto", "legacy", "2026-07-28")
ACTIONS: tuple[Action, ...] = ("allow", "ask", "deny")

BUNDLED: tuple[str, ...] = ("math", "weather", "orders")
"""The bundled servers, in display order."""

THEMES: tuple[str, ...] = (
    "ansi-dark",
    "ansi-light",
    "atom-one-dark",
    "atom-one-light",
    "catppuccin-frappe",
    "catppuccin-latte",
    "catppuccin-macchiato",
    "catppuccin-mocha",
    "dracula",
    "flexoki",
    "gruvbox",
    "monokai",
    "nord",
    "rose-pine",
    "rose-pine-dawn",
    "rose-pine-moon",
    "solarized-dark",
    "solarized-light",
    "textual-dark",
    "textual-light",
    "tokyo-night",
)
"""Textual's themes, written out to check a name without loading Textual."""

DEMO = "demo"
"""The embedded model's provider name, which is reserved."""

REFERENCE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^{}]*))?\}")
"""A reference to the environment: group 1 is the name, group 2 the default (None without one)."""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Template:
    """A string with references `${NAME}` and `${NAME:-default}` to the environment, resolved at use.

    The repr names the references and hides the text around them, which may be a key.

    Attributes:
        text: As configured.
        literal: No references: the text was typed as an argument, already expanded by the shell.
    """

    text: str
    literal: bool = False

    @override
    def __repr__(self) -> str:
        names_found = () if self.literal else tuple(match.group(1) for match in REFERENCE.finditer(self.text))
        names = "".join(f"${{{name}}}, " for name in names_found)
        return f"Template({names}{len(self.text)} characters)"


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRef:
    """A provider's model; as text `PROVIDER/MODEL`."""

    provider: str
    model: str

    @override
    def __str__(self) -> str:
        return f"{self.provider}/{self.model}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Provider:
    """An LLM endpoint.

    Attributes:
        name: As in `PROVIDER/MODEL`.
        dialect: The wire format, one of `DIALECTS`.
        base_url: The URL before the dialect's path; empty for the embedded model.
        api_key: The credential; None if the preset's variable has it, or none is needed.
        key_variable: The preset's environment variable for the key, None without a preset.
        headers: Sent with each request.
        options: Default options, `extra_body` included; profile and session override them.
        models: Models to offer; empty means ask the provider.
        default_model: The model to start with, None if none is obvious.
        ca_file: Certificates to trust instead of the system's, None for the system's.
        timeout: Seconds between bytes.
        allow_http: Permits plain http to another machine.
        api_version: For dialects with a version.
        prices: By model, as configured.
        preset: Comes from the table of presets, not from a file.
        label: Display name.
        embedded: The demo model, a process started by the host.
        file: The file it is configured in, empty for a preset.
        in_keyring: The `api_key` came from the system's keyring.
    """

    name: str
    base_url: Template
    dialect: str = "openai"
    api_key: Template | None = None
    key_variable: str | None = None
    headers: Mapping[str, Template] = field(default_factory=dict[str, Template])
    options: Options = field(default_factory=Options)
    models: tuple[str, ...] = ()
    default_model: str | None = None
    ca_file: Path | None = None
    timeout: float = 600.0
    allow_http: bool = False
    api_version: str | None = None
    prices: Mapping[str, JSON] = field(default_factory=dict[str, JSON])
    preset: bool = False
    label: str = ""
    embedded: bool = False
    file: str = ""
    in_keyring: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerSpec:
    """A configured server.

    Attributes:
        name: `[A-Za-z0-9_-]{1,40}` without `__`.
        transport: The transport.
        command: The program, for stdio; None for a bundled or remote server.
        args: The program's arguments; never through a shell.
        env: Further environment variables of the program.
        cwd: The program's working directory, None for ours.
        url: The address for http and sse; None for a bundled server, whose process prints it.
        headers: Sent with each request to `url`.
        enabled: Connected at start.
        timeout: Seconds for a request; 0 for no limit.
        mode: The protocol era to speak.
        bundled: Name of the bundled server, None for others.
        watch: Files whose change restarts the server.
        allow_http: Permits plain http to another machine.
    """

    name: str
    transport: Transport = "stdio"
    command: Template | None = None
    args: tuple[Template, ...] = ()
    env: Mapping[str, Template] = field(default_factory=dict[str, Template])
    cwd: Template | None = None
    url: Template | None = None
    headers: Mapping[str, Template] = field(default_factory=dict[str, Template])
    enabled: bool = True
    timeout: float = 60.0
    mode: Mode = "auto"
    bundled: str | None = None
    watch: tuple[str, ...] = ()
    allow_http: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """A named set of system prompt, model, tool protocol, servers and options: an agent. None leaves a setting unchanged.

    Attributes:
        name: The name to choose it by.
        system: The system prompt; `{time}` and `{servers}` are filled in when a turn begins.
        servers: Servers whose tools are offered.
        tools: Patterns `SERVER.TOOL`, with `*`, of offered tools.
        model: The model to switch to.
        protocol: The tool protocol to switch to.
        options: Override the provider's, and are overridden by the session's.
        file: The file it is configured in.
    """

    name: str
    system: Template | None = None
    servers: tuple[str, ...] | None = None
    tools: tuple[str, ...] | None = None
    model: ModelRef | None = None
    protocol: str | None = None
    options: Options = field(default_factory=Options)
    file: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """Decides calls without asking: deny beats ask beats allow.

    Attributes:
        server: A server's name, with `*` as wildcard.
        tool: A tool's name, with `*` as wildcard.
        action: The decision.
        where: The file it is configured in.
    """

    server: str
    tool: str
    action: Action
    where: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Limits of a turn.

    Attributes:
        steps: Most model exchanges in a turn.
        connect_wait: Longest wait for connecting servers, in seconds from the later of the turn's and the server's start.
        retries: Most automatic retries of a request refused temporarily (429, 5xx).
    """

    steps: int = 25
    connect_wait: float = 10.0
    retries: int = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Store:
    """How long sessions are stored.

    Attributes:
        keep: Seconds, None for ever.
        max: Largest database in bytes, None for no limit.
    """

    keep: float | None = None
    max: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Ui:
    """The appearance of the app.

    Attributes:
        theme: A theme's name, None for the default.
        ascii: Draw with ASCII alone; None decides by the terminal.
    """

    theme: str | None = None
    ascii: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The whole configuration: files, environment and arguments.

    Attributes:
        config_file: The configuration file, None if there is none.
        config_dir: The folder for files saved by the app.
        data_dir: The database's folder.
        model: The chosen model; None means the embedded one.
        protocol: The tool protocol.
        profile: Name of the profile to start with, empty for none; already applied to `model` and `protocol`.
        profiles: By name.
        providers: By name: configured ones first, then presets, then the embedded one.
        servers: By name, in the order of the files.
        rules: From config.toml, then those saved by the app.
        allow: The patterns of `--allow`, `SERVER.TOOL` with `*`.
        limits: Limits of a turn.
        store: How long sessions are stored.
        ui: The appearance of the app.
        environment: The environment at the program's start.
        notices: Warnings, a sentence each, without secrets.
        default_servers: The bundled servers are used because none is configured.
        fixed: Remembered choices that `config.toml` overrides.
    """

    config_dir: Path
    data_dir: Path
    config_file: Path | None = None
    model: ModelRef | None = None
    protocol: str = "native"
    profile: str = ""
    profiles: Mapping[str, Profile] = field(default_factory=dict[str, Profile])
    providers: Mapping[str, Provider] = field(default_factory=dict[str, Provider])
    servers: Mapping[str, ServerSpec] = field(default_factory=dict[str, ServerSpec])
    rules: tuple[Rule, ...] = ()
    allow: tuple[str, ...] = ()
    limits: Limits = field(default_factory=Limits)
    store: Store = field(default_factory=Store)
    ui: Ui = field(default_factory=Ui)
    environment: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    notices: tuple[str, ...] = ()
    default_servers: bool = False
    fixed: frozenset[str] = frozenset()
