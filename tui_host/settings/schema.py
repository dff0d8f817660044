"""What can be configured, as frozen values. Nothing here acts."""

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
"""The dialects that this version speaks."""

_SPOKEN = ("native", "cline", "cherry", "json", "function", "react", "hermes")
PROTOCOLS: tuple[str, ...] = (*_SPOKEN, "hub", *(f"hub+{name}" for name in _SPOKEN[1:]))
"""The tool protocols that this version has; `hub` is over `native`, `hub+NAME` over another."""

TRANSPORTS: tuple[Transport, ...] = ("stdio", "http", "sse")
MODES: tuple[Mode, ...] = ("auto", "legacy", "2026-07-28")
ACTIONS: tuple[Action, ...] = ("allow", "ask", "deny")

BUNDLED: tuple[str, ...] = ("math", "weather", "orders")
"""The bundled servers, in the order they are listed."""

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
"""Textual's themes, written out: a name that is none is told with all other mistakes, where no Textual is loaded."""

DEMO = "demo"
"""The embedded model's provider; no configured provider may take the name."""

REFERENCE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^{}]*))?\}")
"""A reference to the environment: group 1 is the name, group 2 the default (None without one)."""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Template:
    """A string in which `${NAME}` and `${NAME:-default}` stand for the environment, resolved at use.

    Its repr names the references and hides the text around them, which may be a key that somebody wrote out.

    Attributes:
        text: As configured.
        literal: References are not read in it: it was typed as an argument, and the shell has expanded what it wanted.
    """

    text: str
    literal: bool = False

    @override
    def __repr__(self) -> str:
        found = () if self.literal else tuple(match.group(1) for match in REFERENCE.finditer(self.text))
        names = "".join(f"${{{name}}}, " for name in found)
        return f"Template({names}{len(self.text)} characters)"


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRef:
    """A model of a provider; as text `PROVIDER/MODEL`."""

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
        base_url: What stands before the dialect's path; empty for the embedded one, whose address its process tells.
        api_key: The credential; None if the preset's variable has it, or none is needed.
        key_variable: The environment variable that the preset reads, None if it is not a preset's name.
        headers: Sent with each request.
        options: Sent with each request, `extra_body` among them, unless a profile or a session says otherwise.
        models: Names to offer; empty means ask the provider.
        default_model: The one to start with, None if there is no obvious one.
        ca_file: Certificates to trust instead of the system's, None for those.
        timeout: Seconds between bytes.
        allow_http: Plain http to another machine is meant.
        api_version: For dialects that have one.
        prices: By model, as configured.
        preset: It stands in no file: it comes from the table of presets.
        label: What a person calls it.
        embedded: It is the demo model, a process that the host starts.
        file: Where it stands, empty for a preset.
        in_keyring: Its `api_key` came from the system's keyring.
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
        transport: How it is reached.
        command: The program, for stdio; None for a bundled or remote one.
        args: Its arguments; never through a shell.
        env: Given to it beside the Contract's list.
        cwd: Its working directory, None for ours.
        url: Where it is, for http and sse; None for a bundled one, whose process tells.
        headers: Sent with each request to `url`.
        enabled: Connected at start.
        timeout: Seconds for one request; 0 is never.
        mode: The protocol era to speak.
        bundled: The name of the bundled server it is, None for others.
        watch: Files whose change restarts it.
        allow_http: Plain http to another machine is meant.
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
    """A named set of system prompt, model, tool protocol, servers, options: an agent. None leaves a thing as it is.

    Attributes:
        name: As it is chosen by.
        system: What the model is told before all else; `{time}` and `{servers}` in it are filled in as a turn begins.
        servers: The servers whose tools are offered.
        tools: The patterns, `SERVER.TOOL` with `*`, of the tools that are offered.
        model: The model that choosing the profile chooses.
        protocol: The same of the tool protocol.
        options: Over the provider's, under the session's.
        file: Where it stands.
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
    """What becomes of calls without asking: deny beats ask beats allow.

    Attributes:
        server: A server's name, `*` stands for any characters.
        tool: A tool's name, likewise.
        action: What to do.
        where: The file it stands in.
    """

    server: str
    tool: str
    action: Action
    where: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Bounds of a turn.

    Attributes:
        steps: Model exchanges in one turn.
        connect_wait: Seconds that a turn waits for servers still connecting, from its own start or from theirs, whichever is later.
        retries: How often a request is sent again by itself that a provider refused for a while (429, 5xx).
    """

    steps: int = 25
    connect_wait: float = 10.0
    retries: int = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Store:
    """How long sessions are kept.

    Attributes:
        keep: Seconds, None for ever.
        max: Bytes that the database may take, None for any.
    """

    keep: float | None = None
    max: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Ui:
    """How the screens look.

    Attributes:
        theme: Name of a theme, None for the default.
        ascii: Draw with ASCII alone; None asks the terminal.
    """

    theme: str | None = None
    ascii: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Everything that is configured: files, environment and arguments as one value.

    Attributes:
        config_file: The configuration that was read, None if there is none.
        config_dir: Where what the app saves goes.
        data_dir: Where the database is.
        model: The chosen model; None means the embedded one.
        protocol: The tool protocol.
        profile: The name of the profile to start with, empty for none; `model` and `protocol` are what it chose already.
        profiles: By name.
        providers: By name: configured ones first, then the presets, then the embedded one.
        servers: By name, in the order of the files.
        rules: Of config.toml, then those that the app saved.
        allow: The patterns of `--allow`, `SERVER.TOOL` with `*`.
        limits: Bounds of a turn.
        store: How long sessions are kept.
        ui: How the screens look.
        environment: The environment as it was when the program started.
        notices: Things to tell that stop nothing, a sentence each, without any secret.
        default_servers: The bundled servers are used because none is configured.
        fixed: Which choices that the app remembers are silent at the next start, because `config.toml` makes them.
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
