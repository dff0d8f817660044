"""The configuration as frozen dataclasses. A field made by `setting` is a key of a file and its rule, read by `table_reader`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import field
from pathlib import Path
from typing import Literal, TypeVar, get_args

from typing_extensions import override

from tui_host.settings.frozen import Frozen
from tui_host.settings.model_options import Options

Dialect = Literal["openai", "openai-responses", "anthropic", "gemini", "ollama"]
Transport = Literal["stdio", "http", "sse"]
Mode = Literal["auto", "legacy", "2026-07-28"]
Action = Literal["allow", "ask", "deny"]
Notify = Literal["auto", "bell", "off"]
_Value = TypeVar("_Value")

DIALECTS: tuple[Dialect, ...] = get_args(Dialect)
_SPOKEN = ("native", "cline", "cherry", "json", "function", "react", "hermes")
# `hub` builds on `native`, and `hub+NAME` on the tool protocol NAME.
PROTOCOLS: tuple[str, ...] = (*_SPOKEN, "hub", *(f"hub+{name}" for name in _SPOKEN[1:]))
LOG_LEVELS: tuple[str, ...] = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")
BUNDLED: tuple[str, ...] = ("math", "weather", "orders")
# The names of Textual's themes stand here, since the settings are read before Textual is imported.
_THEMES = (
    "ansi-dark ansi-light atom-one-dark atom-one-light catppuccin-frappe catppuccin-latte catppuccin-macchiato "
    "catppuccin-mocha dracula flexoki gruvbox monokai nord rose-pine rose-pine-dawn rose-pine-moon solarized-dark "
    "solarized-light textual-dark textual-light tokyo-night"
)
THEMES = tuple(_THEMES.split())
DEMO = "demo"
# A variable's name and its default: None in `${NAME}`, empty in `${NAME:-}`.
REFERENCE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^{}]*))?\}")
SERVER_NAME = r"(?!.*__)[\w-]{1,40}"  # to the model a tool is SERVER__TOOL
LARGEST_NUMBER = 1e9


def setting(  # noqa: PLR0913 - each is a part of the rule
    default: _Value,
    *,
    doc: str,
    low: float = 0,
    high: float = LARGEST_NUMBER,
    choices: tuple[str, ...] = (),  # the only texts; a `Literal` annotation lists its own
    form: str = "",  # the pattern of each text
    names: str = "",  # the pattern of a table's keys
    remedy: str = "use letters, digits and _",  # where a form or a name does not fit
    only: str = "",  # the key that it needs beside it; `a or b`: one of them
    unit: Literal["", "duration", "size"] = "",  # how a number is written: `90d`, `5GB`
    is_secret: bool = False,  # better not written out
    apart: bool = False,  # read by a function of its own, which needs more than the table
) -> _Value:
    """Return a dataclass field that a file can set, with its rule as metadata."""
    rule = {"doc": doc, "low": low, "high": high, "choices": choices, "unit": unit, "apart": apart}
    rule |= {"form": form, "names": names, "remedy": remedy, "only": only, "is_secret": is_secret}

    def given() -> _Value:
        return default

    if isinstance(default, Mapping):  # dataclasses refuse a default that could be changed
        return field(default_factory=given, metadata=rule)
    return field(default=default, metadata=rule)


def _headers(only: str = "") -> Mapping[str, Template]:
    remedy = "a name has letters, digits and -, a value is ASCII on one line"
    names, doc = r"[!#$%&'*+.^_`|~0-9A-Za-z-]+", "headers to send with each request"
    return setting({}, names=names, form=r"[ -~\t]*", remedy=remedy, only=only, is_secret=True, doc=doc)


class Template(Frozen):
    """A string with references `${NAME}` and `${NAME:-default}` to environment variables, filled in when the string is used."""

    text: str
    literal: bool = False  # without references: typed as an argument, which the shell has expanded

    @property
    def references(self) -> tuple[str, ...]:
        """The names of the variables, in order, without repetition."""
        return () if self.literal else tuple(dict.fromkeys(match[1] for match in REFERENCE.finditer(self.text)))


class ModelRef(Frozen):
    """A model of a provider; as text `PROVIDER/MODEL`."""

    provider: str
    model: str

    @override
    def __str__(self) -> str:
        return f"{self.provider}/{self.model}"


class Price(Frozen):
    """What a million of a model's tokens cost, in whatever currency the person counts."""

    input: float = setting(0.0, doc="input tokens")
    output: float = setting(0.0, doc="output tokens")
    cached: float | None = setting(None, doc="input tokens read from the cache; None if they cost as others do")
    cache_written: float | None = setting(None, doc="input tokens written to the cache, likewise")


class Provider(Frozen):
    """An endpoint that serves models."""

    name: str = field(
        metadata={
            "form": rf"(?!{DEMO}$)[A-Za-z0-9_.-]{{1,40}}",
            "remedy": f"use 1 to 40 letters, digits, dots, - and _, and not {DEMO}",
        }
    )
    dialect: str = setting("openai", choices=DIALECTS, doc="the wire format")
    base_url: Template = setting(Template(text=""), doc="the URL before the dialect's path; empty for the demo model")
    api_key: Template | None = setting(None, is_secret=True, doc="the key; None if the preset's variable may hold it")
    headers: Mapping[str, Template] = _headers()
    options: Options = setting(Options(), doc="model options, which profile and session override; with extra_body")
    models: tuple[str, ...] = setting((), doc="the models to offer; if empty, the provider is asked")
    default_model: str | None = setting(None, doc="the model to start with, None if there is no obvious one")
    ca_file: Path | None = setting(None, doc="certificates to trust instead of the system's")
    timeout: float = setting(600.0, low=0.001, doc="longest time between received bytes, in seconds")
    allow_http: bool = setting(False, doc="whether plain http to another machine is permitted")
    api_version: str | None = setting(None, doc="the API's version, for dialects that have one")
    prices: Mapping[str, Price] = setting({}, doc="the price of each model, by its name")
    context: Mapping[str, int] = setting({}, low=1, doc="the tokens that each model's context holds, by its name")
    key_variable: str | None = None  # the environment variable of a preset's key
    preset: bool = False  # from the built-in table alone
    label: str = ""  # a preset's name for people
    embedded: bool = False  # the demo model, whose process the host starts
    file: str = ""
    in_keyring: bool = False  # `api_key` came from the keyring


class ServerSpec(Frozen):
    """The configuration of a server. `file` is where it stands, empty for a bundled or typed server."""

    name: str = field(
        metadata={"form": SERVER_NAME, "remedy": "use 1 to 40 letters of any script, digits, - and _, without __"}
    )
    command: Template | None = setting(None, form=r"(?s:.*\S.*)", remedy="write its name", doc="the program to start")
    args: tuple[Template, ...] = setting((), only="command", is_secret=True, doc="its arguments, without a shell")
    cwd: Template | None = setting(None, only="command", doc="its working directory; None for this program's own")
    url: Template | None = setting(None, doc="the address of a remote server")
    bundled: str | None = setting(None, choices=BUNDLED, doc="the name of a bundled server")
    transport: Transport = setting("stdio", doc="how to connect; http if there is a URL")
    env: Mapping[str, Template] = setting({}, only="command or bundled", names="[^=]+", is_secret=True, doc="variables")
    headers: Mapping[str, Template] = _headers(only="url")
    enabled: bool = setting(True, doc="whether to connect at start")
    timeout: float = setting(60.0, doc="longest time for a request, in seconds; 0 for no limit")
    timeout_max: float = setting(600.0, low=0.001, doc="longest time for a call that reports progress, in seconds")
    mode: Mode = setting("auto", doc="which era of MCP to speak")
    instructions: bool = setting(False, doc="whether the server's instructions are sent to the model")
    sampling: bool = setting(False, doc="whether the server may ask for answers of the model")
    roots: tuple[str, ...] = setting((), form="/.*|~/.*", remedy="write it from / or ~/ on", doc="folders it may know")
    log_level: str = setting("", choices=("", *LOG_LEVELS), doc="least severe log messages to ask for; empty asks none")
    watch: tuple[str, ...] = setting((), doc="patterns of files, relative to cwd or to `file`; a change restarts it")
    allow_http: bool = setting(False, only="url", doc="whether plain http to another machine is permitted")
    client_id: Template | None = setting(None, only="url", doc="the client's id for logins; None to register one")
    client_secret: Template | None = setting(None, only="url", is_secret=True, doc="the secret of `client_id`")
    client_metadata_url: str = setting(
        "", only="url", form="https://.+/.+", remedy="write an https address with a path", doc="where it is described"
    )
    redirect_port: int = setting(0, high=65535, only="url", doc="the port that a login returns to; 0 for any free port")
    file: str = field(default="", compare=False)


class Profile(Frozen):
    """An agent: a system prompt, a model, a tool protocol, servers and options. A field of None changes nothing."""

    name: str = field(metadata={"form": r"[\w.-]{1,40}", "remedy": "use 1 to 40 letters, digits, dots, - and _"})
    system: Template | None = setting(None, doc="the system prompt; places in braces are filled in as a turn begins")
    servers: tuple[str, ...] | None = setting(None, doc="names of the servers whose tools are offered")
    tools: tuple[str, ...] | None = setting(
        None,
        form=r"[^.]*\*[^.]*|[^.]*\..+",
        remedy="write it like time.get_* or math.*",
        doc="patterns of tools to offer",
    )
    model: ModelRef | None = setting(None, apart=True, doc="the model to switch to")
    protocol: str | None = setting(None, choices=PROTOCOLS, doc="the tool protocol to switch to")
    options: Options = setting(Options(), doc="model options over the provider's; the session's override these")
    file: str = ""


class Rule(Frozen):
    """A rule for the calls that match: deny beats ask beats allow. `where` is the file that contains the rule, from `line` on."""

    server: str = setting("", form=r"[\w*-]*", remedy="use letters, digits, -, _ and *", doc="its name, * as wildcard")
    tool: str = setting("", doc="a tool's name, with * as wildcard")
    action: Action = setting("ask", doc="what to do with a call that matches")
    definition: str = setting(
        "", form="[0-9a-f]{64}", remedy="leave it as it was saved, or remove it", doc="the only definition it is for"
    )
    where: str
    line: int = field(default=0, compare=False)  # 0 if not known

    @property
    def place(self) -> str:
        return f"{self.where}, line {self.line}" if self.line else self.where


class TurnLimits(Frozen):
    """What bounds a turn."""

    steps: int = setting(25, low=1, doc="largest number of model exchanges in a turn")
    connect_wait: float = setting(10.0, doc="longest wait of a turn for connecting servers, in seconds")
    retries: int = setting(3, doc="largest number of automatic retries of a request that is refused temporarily")


class StoreLimits(Frozen):
    """How long sessions are stored, and how large the database may grow."""

    keep: float | None = setting(None, unit="duration", doc="seconds to keep a session; None keeps sessions for ever")
    max: int | None = setting(None, unit="size", doc="largest size of the database in bytes; None for no limit")


class Ui(Frozen):
    """The appearance of the app."""

    theme: str | None = setting(None, choices=(*THEMES, "auto"), doc="the theme; auto and None follow the terminal")
    ascii: bool | None = setting(None, doc="draw with ASCII characters only; None decides by the terminal")
    thinking: Literal["open", "folded"] = setting("folded", doc="whether thinking is shown in full until it is closed")
    notify: Notify = setting("auto", doc="how to call a person who looks elsewhere")
    mouse: bool = setting(True, doc="whether the mouse is the app's; without, it is the terminal's own")


class SavedChoices(Frozen):
    """The file `state.toml`: what the program remembers. Each applies only if `config.toml` does not set it."""

    model: str | None = setting(None, doc="the last model, PROVIDER/MODEL")
    protocol: str | None = setting(None, doc="the last tool protocol")
    profile: str | None = setting(None, doc="the last profile")
    theme: str | None = setting(None, doc="the last theme")
    switches: Mapping[str, bool] = setting({}, doc="whether a server, or a tool SERVER.TOOL, is switched on")
    context: Mapping[str, int] = setting({}, doc="the tokens that the context of a chosen PROVIDER/MODEL holds")


class Settings(Frozen):
    """The whole configuration, from files, environment and arguments; its keys are the top of `config.toml`."""

    # The profile is already applied to model and protocol, and the switches to the servers.
    model: ModelRef | None = setting(None, apart=True, doc="the model to start with; None for the demo model")
    protocol: str = setting(PROTOCOLS[0], apart=True, doc="the tool protocol to start with")
    profile: str = setting("", apart=True, doc="the profile to start with")
    # Configured ones first, then presets, then the demo model's.
    providers: Mapping[str, Provider] = setting({}, apart=True, doc="the providers by name")
    servers: Mapping[str, ServerSpec] = setting({}, apart=True, doc="the servers by name")
    profiles: Mapping[str, Profile] = setting({}, apart=True, doc="the profiles by name")
    rules: tuple[Rule, ...] = setting((), apart=True, doc="which calls are decided without asking")
    limits: TurnLimits = setting(TurnLimits(), doc="limits of a turn")
    store: StoreLimits = setting(StoreLimits(), doc="how long sessions are stored")
    ui: Ui = setting(Ui(), doc="the appearance of the app")
    keys: Mapping[str, str] = setting({}, apart=True, doc="the keys of actions of the app, joined by commas")
    config_dir: Path
    data_dir: Path
    config_file: Path | None = None
    allow: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict[str, str])
    notices: tuple[str, ...] = ()
    default_servers: bool = False  # the bundled ones, because none is configured
    fixed: frozenset[str] = frozenset()  # keys of remembered choices that `config.toml` overrides
    switches: Mapping[str, bool] = field(default_factory=dict[str, bool])
    context: Mapping[str, int] = field(default_factory=dict[str, int])  # of the models that were chosen in the app
