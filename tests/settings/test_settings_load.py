from pathlib import Path

import pytest
from textual.theme import BUILTIN_THEMES

from tests.settings.reading import read, write
from tui_host.settings.load import Overrides, load
from tui_host.settings.model_options import Options
from tui_host.settings.schema import (
    DIALECTS,
    THEMES,
    ModelRef,
    Price,
    Rule,
    ServerSpec,
    StoreLimits,
    Template,
    TurnLimits,
    Ui,
)

CONTRACT = """
model = "deepseek/deepseek-chat"
protocol = "native"

[providers.deepseek]
api_key = "${DEEPSEEK_API_KEY}"
prices = { "deepseek-chat" = { input = 2, cached = 0.5, output = 8 } }
[providers.mine]
dialect = "openai"
base_url = "http://127.0.0.1:8080/v1"
headers = { "X-Team" = "a" }
options = { temperature = 0.2 }
ca_file = "${NAME:-ca}.pem"

[servers.time]
command = "uvx"
args = ["mcp-server-time"]
env = { TZ = "UTC" }
[servers.docs]
url = "https://docs.example/mcp"
headers = { Authorization = "Bearer ${DOCS_TOKEN}" }
enabled = false
timeout = 60
[servers.sums]
bundled = "math"
env = { STATION = "a" }

[[rules]]
server = "time"
tool = "get_*"
action = "allow"

[limits]
steps = 25
connect_wait = 10
[store]
keep = "90d"
max = "5GB"
"""


def test_the_contracts_example_is_read_whole(tmp_path: Path) -> None:
    settings = read(tmp_path, CONTRACT)
    assert settings.model == ModelRef(provider="deepseek", model="deepseek-chat")
    assert str(settings.model) == "deepseek/deepseek-chat"
    deepseek, mine = settings.providers["deepseek"], settings.providers["mine"]
    assert deepseek.base_url == Template(text="https://api.deepseek.com/v1")
    assert (deepseek.key_variable, deepseek.preset) == ("DEEPSEEK_API_KEY", False)
    assert deepseek.prices == {"deepseek-chat": Price(input=2, cached=0.5, output=8)}
    assert (mine.options, mine.headers) == (Options(temperature=0.2), {"X-Team": Template(text="a")})
    assert mine.ca_file == tmp_path / "ca.pem"  # relative to the configuration
    assert read(tmp_path, CONTRACT, {"NAME": "/x/y"}).providers["mine"].ca_file == Path("/x/y.pem")
    assert list(settings.servers) == ["time", "docs", "sums"]
    assert settings.servers["time"].args == (Template(text="mcp-server-time"),)
    assert (settings.servers["docs"].transport, settings.servers["docs"].enabled) == ("http", False)
    assert settings.servers["sums"].bundled == "math"
    assert settings.rules == (Rule(server="time", tool="get_*", action="allow", where=str(tmp_path / "config.toml")),)
    assert settings.store == StoreLimits(keep=90 * 86400, max=5 * 10**9)
    assert (settings.notices, settings.default_servers) == ((), False)
    weeks = CONTRACT.replace("90d", "2w").replace("5GB", "1 GiB")
    assert read(tmp_path, weeks).store == StoreLimits(keep=1209600, max=2**30)


def test_without_any_file_the_demo_model_and_the_bundled_servers_are_there(no_home: Path, tmp_path: Path) -> None:
    settings = load(Overrides(), {})
    assert (settings.config_file, settings.model, settings.default_servers) == (None, None, True)
    assert [spec.bundled for spec in settings.servers.values()] == ["math", "weather", "orders"]
    assert settings.providers["demo"].embedded
    assert (settings.providers["demo"].models, settings.limits) == (DIALECTS, TurnLimits(steps=25, connect_wait=10))
    assert settings.config_dir.is_relative_to(no_home)
    assert settings.data_dir.is_relative_to(no_home)
    assert not settings.config_dir.exists(), "reading makes nothing"
    assert tuple(sorted(BUILTIN_THEMES)) == THEMES
    none = load(Overrides(config=write(tmp_path, "[servers]\n")), {})
    assert (dict(none.servers), none.default_servers) == ({}, False)


def test_an_argument_wins_over_the_environment_and_that_over_the_default(tmp_path: Path) -> None:
    typed, variable = write(tmp_path / "a", ""), write(tmp_path / "b", "")
    environment = {"TUI_HOST_CONFIG": str(variable), "TUI_HOST_DATA_DIR": str(tmp_path / "d")}
    for overrides, expected in (
        (Overrides(), (variable, tmp_path / "d")),
        (Overrides(config=typed, data_dir=tmp_path / "e"), (typed, tmp_path / "e")),
    ):
        settings = load(overrides, environment)
        assert (settings.config_file, settings.data_dir) == expected


def test_what_was_typed_wins_over_the_file(tmp_path: Path) -> None:
    path = write(tmp_path, 'model = "demo/openai"\n[limits]\nsteps = 3')
    settings = load(Overrides(config=path, model="groq/llama/x", steps=7, allow=("time.get_*", "*")), {})
    assert settings.model == ModelRef(provider="groq", model="llama/x")
    assert (settings.limits.steps, settings.allow) == (7, ("time.get_*", "*"))
    only = ServerSpec(name="it", command=Template(text="x"))
    settings = load(Overrides(config=write(tmp_path, CONTRACT), only_server=only), {})
    assert (settings.servers, settings.default_servers) == ({"it": only}, False)


def test_files_beside_the_configuration_are_read_too(tmp_path: Path) -> None:
    write(tmp_path, 'command = "x"', "servers.d/saved.toml")
    write(tmp_path, 'base_url = "https://e.example/v1"', "providers.d/mine.toml")
    write(tmp_path, '[[rules]]\nserver = "saved"\ntool = "*"\naction = "deny"', "rules.toml")
    write(tmp_path, 'model = "mine/m"\nprotocol = "native"\ntheme = "nord"', "state.toml")
    write(tmp_path, "half written", "servers.d/.saved.toml.123.new")
    write(tmp_path, "an editor's", "servers.d/saved.toml~")
    settings = read(tmp_path)
    assert (list(settings.servers), settings.providers["mine"].base_url.text) == (["saved"], "https://e.example/v1")
    assert [rule.action for rule in settings.rules] == ["deny"]
    assert (str(settings.model), settings.ui.theme) == ("mine/m", "nord")


def test_the_same_thing_in_two_places_is_told_and_the_persons_file_wins(tmp_path: Path) -> None:
    write(tmp_path, 'command = "saved"', "servers.d/time.toml")
    write(tmp_path, "this is not TOML, and is not looked at", "providers.d/mine.toml")
    write(tmp_path, '[[rules]]\nserver = "time"\ntool = "b"\naction = "allow"', "rules.toml")
    text = """
    [servers.time]
    command = "mine"
    [providers.mine]
    base_url = "https://e.example/v1"
    [[rules]]
    server = "time"
    tool = "b"
    action = "deny"
    """
    settings = read(tmp_path, text)
    assert settings.servers["time"].command == Template(text="mine")
    assert [rule.action for rule in settings.rules] == ["deny"]
    assert ["config.toml wins" in notice for notice in settings.notices] == [True, True]


def test_remembered_choices_hold_where_the_file_is_silent_and_one_that_is_gone_stops_nothing(tmp_path: Path) -> None:
    write(tmp_path, 'model = "groq/a"\ntheme = "nord"', "state.toml")
    settings = read(tmp_path, 'model = "demo/openai"\n[ui]\ntheme = "gruvbox"\nascii = true')
    assert (str(settings.model), settings.ui) == ("demo/openai", Ui(theme="gruvbox", ascii=True))
    write(tmp_path, 'model = "gone/a"\nprotocol = "gone"\ntheme = "gone"', "state.toml")
    settings = read(tmp_path)
    assert (settings.model, settings.protocol, settings.ui.theme) == (None, "native", None)
    assert len(settings.notices) == 2
    (tmp_path / "config.toml").write_bytes(b"\xef\xbb\xbfmodel = 'demo/openai'\r\n")
    assert str(load(Overrides(config=tmp_path / "config.toml"), {}).model) == "demo/openai", "with a byte order mark"


def test_nothing_is_read_from_the_working_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = "config.toml state.toml rules.toml .tui-host.toml .mcp.json servers.d/evil.toml .env"
    for name in names.split():
        write(tmp_path, "not = = toml", name)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", ".")
    monkeypatch.setenv("XDG_DATA_HOME", "relative")
    settings = load(Overrides(), {})
    assert settings.config_file is None
    assert not any(folder.is_relative_to(tmp_path) for folder in (settings.config_dir, settings.data_dir))
