"""The configuration as frozen dataclasses without behaviour."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from typing_extensions import override

from tui_host.settings.model_options import Options

Dialect = Literal["openai", "openai-responses", "anthropic", "gemini", "ollama"]
Transport = Literal["stdio", "http", "sse"]
Mode = Literal["auto", "legacy", "2026-07-28"]
Action = Literal["allow", "ask", "deny"]

DIALECTS: tuple[Dialect, ...] = ("openai", "openai-responses", "anthropic", "gemini", "ollama")
"""All supported dialects."""

_SPOKEN = ("native", "cline", "cherry", "json", "function", "react", "hermes")
PROTOCOLS: tuple[str, ...] = (*_SPOKEN, "hub", *(f"hub+{name}" for name in _SPOKEN[1:]))
"""All supported tool protocols. `hub` builds on `native`, and `hub+NAME` on the tool protocol NAME."""

TRANSPORTS: tuple[Transport, ...] = ("stdio", "http", "sse")
MODES: tuple[Mode, ...] = ("auto", "legacy", "2026-07-28")
LOG_LEVELS: tuple[str, ...] = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")
"""The levels of a server's log messages, least severe first."""
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
"""Names of Textual's themes, listed here to check a name without importing Textual."""

REGISTRY = "https://registry.modelcontextprotocol.io"
"""The official registry of MCP servers."""

DEMO = "demo"
"""Provider name of the demo model; no other provider may use it."""

REFERENCE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^{}]*))?\}")
"""A reference to an environment variable: group 1 is the name, group 2 the default (None without a default)."""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Template:
    """A string with references `${NAME}` and `${NAME:-default}` to environment variables, filled in when the string is used.

    The repr shows only the names of the variables and hides other text, which may be a key.

    Attributes:
        text: The string as configured.
        literal: The text contains no references: it was typed as an argument, and the shell has expanded it.
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
    """A model of a provider; as text `PROVIDER/MODEL`."""

    provider: str
    model: str

    @override
    def __str__(self) -> str:
        return f"{self.provider}/{self.model}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """What a model's tokens cost, for a million of them, in whatever currency the person counts.

    Attributes:
        input: Of input tokens.
        output: Of output tokens.
        cached: Of input tokens read from the cache.
        cache_written: Of input tokens written to the cache.
    """

    input: float
    output: float
    cached: float
    cache_written: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Provider:
    """An endpoint that serves models.

    Attributes:
        name: The part PROVIDER of `PROVIDER/MODEL`.
        dialect: The wire format, one of `DIALECTS`.
        base_url: The URL before the dialect's path; empty for the demo model.
        api_key: The key; None if the preset's variable holds it, or if no key is needed.
        key_variable: The preset's environment variable for the key; None for a provider without a preset.
        headers: Headers to send with each request.
        options: Default model options, including `extra_body`; profile and session override them.
        models: The models to offer; if empty, the provider is asked.
        default_model: The model to start with, None if there is no obvious one.
        ca_file: A file of certificates to trust instead of the system's; None for the system's.
        timeout: Longest time between received bytes, in seconds.
        allow_http: Whether plain http to another machine is permitted.
        api_version: The API's version, for dialects that have one.
        prices: The price of each model, by its name.
        preset: Whether the provider comes from the built-in table and not from a file.
        label: The name to display.
        embedded: Whether this is the demo model, whose process the host starts.
        file: The file that configures the provider, empty for a preset.
        in_keyring: Whether `api_key` came from the system's keyring.
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
    prices: Mapping[str, Price] = field(default_factory=dict[str, Price])
    preset: bool = False
    label: str = ""
    embedded: bool = False
    file: str = ""
    in_keyring: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerSpec:
    """The configuration of a server.

    Attributes:
        name: 1 to 40 letters of any script, digits, `-` and `_`, without `__`.
        transport: How to connect: stdio, http or sse.
        command: The program to start, for stdio; None for a bundled or remote server.
        args: The program's arguments, passed without a shell.
        env: Environment variables to add for the program.
        cwd: The program's working directory; None for this program's own.
        url: The address for http and sse; None for a bundled server, whose process prints its address.
        headers: Headers to send with each request to `url`.
        enabled: Whether to connect at start.
        timeout: Longest time for a request, in seconds; 0 for no limit.
        mode: Which era of MCP to speak.
        bundled: Name of the bundled server, None for other servers.
        watch: Patterns of files, relative to `cwd` or to the folder of `file`; a change restarts the server.
        allow_http: Whether plain http to another machine is permitted.
        client_id: The client's id at the authorization server, where it was given; None to register.
        client_secret: The secret that belongs to `client_id`, if any.
        client_metadata_url: The address of a document that describes the client, for servers that take one as id; may be empty.
        redirect_port: The port that a login returns to; 0 for any free port.
        file: The file that configures the server, empty for a bundled or typed server.
        sampling: Whether the server may ask for answers of the model.
        instructions: Whether the server's instructions are sent to the model.
        roots: Folders whose paths the server may know.
        timeout_max: Longest time for a call that reports progress, in seconds.
        log_level: Least severe level of the log messages that the server is asked for; empty leaves it to the server.
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
    client_id: Template | None = None
    client_secret: Template | None = None
    client_metadata_url: str = ""
    redirect_port: int = 0
    file: str = field(default="", compare=False)
    sampling: bool = False
    instructions: bool = False
    roots: tuple[str, ...] = ()
    timeout_max: float = 600.0
    log_level: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """A named set of system prompt, model, tool protocol, servers and options: an agent. A field of None changes nothing.

    Attributes:
        name: The profile's name.
        system: The system prompt. Its placeholders `{time}`, `{servers}` and `{server_instructions}` are filled in when a turn begins.
        servers: Names of the servers whose tools are offered.
        tools: Patterns `SERVER.TOOL` of the tools to offer, with `*` as wildcard.
        model: The model to switch to.
        protocol: The tool protocol to switch to.
        options: Model options, which override the provider's. The session's options override these.
        file: The file that configures the profile.
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
    """A rule that decides calls without asking: deny beats ask beats allow.

    Attributes:
        server: A server's name, with `*` as wildcard.
        tool: A tool's name, with `*` as wildcard.
        action: What to do with a call that matches.
        where: The file that contains the rule.
    """

    server: str
    tool: str
    action: Action
    where: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Limits of a turn.

    Attributes:
        steps: Largest number of model exchanges in a turn.
        connect_wait: Longest wait for connecting servers, in seconds from the later of the turn's and the server's start.
        retries: Largest number of automatic retries of a request that is refused temporarily (429, 5xx).
    """

    steps: int = 25
    connect_wait: float = 10.0
    retries: int = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Store:
    """How long sessions are stored, and how large the database may grow.

    Attributes:
        keep: Seconds to keep a session; None keeps sessions for ever.
        max: Largest size of the database in bytes; None for no limit.
    """

    keep: float | None = None
    max: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Ui:
    """The appearance of the app.

    Attributes:
        theme: The theme's name, None for the default theme.
        ascii: Whether to draw with ASCII characters only; None decides by the terminal.
    """

    theme: str | None = None
    ascii: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The whole configuration, from files, environment and arguments.

    Attributes:
        config_file: The configuration file that was read, None if there is none.
        config_dir: The folder in which the app saves files.
        data_dir: The folder of the database.
        model: The model to start with; None means the demo model.
        protocol: The tool protocol to start with.
        profile: Name of the profile to start with, empty for none; already applied to `model` and `protocol`.
        profiles: The profiles by name.
        providers: The providers by name: configured ones first, then presets, then the demo model's.
        servers: The servers by name, in the order of the files.
        rules: The rules from config.toml, then the rules saved by the app.
        allow: The patterns of `--allow`, `SERVER.TOOL` with `*`.
        limits: Limits of a turn.
        store: How long sessions are stored.
        ui: The appearance of the app.
        environment: The environment variables at the program's start.
        notices: Warnings, one sentence each, without secrets.
        default_servers: Whether the bundled servers are used, because no server is configured.
        fixed: Keys of remembered choices that `config.toml` overrides, such as `model` or `servers.NAME.enabled`.
        registry: Base URL of the MCP registry for `servers add --registry`.
        switches: Remembered switches by `SERVER` or `SERVER.TOOL`; those of servers are already applied to `servers`.
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
    registry: str = REGISTRY
    switches: Mapping[str, bool] = field(default_factory=dict[str, bool])
