from __future__ import annotations

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
[providers.mine]
dialect = "openai"
base_url = "http://127.0.0.1:8080/v1"
headers = { "X-Team" = "a" }
options = { temperature = 0.2 }

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
    assert mine.options == Options(temperature=0.2)
    assert mine.headers == {"X-Team": Template(text="a")}
    assert list(settings.servers) == ["time", "docs", "sums"]
    assert settings.servers["time"].args == (Template(text="mcp-server-time"),)
    assert settings.servers["docs"].transport == "http"
    assert not settings.servers["docs"].enabled
    assert settings.servers["sums"].bundled == "math"
    assert settings.rules == (Rule(server="time", tool="get_*", action="allow", where=str(tmp_path / "config.toml")),)
    assert settings.store == StoreLimits(keep=90 * 86400, max=5 * 10**9)
    assert settings.notices == ()
    assert not settings.default_servers


def test_prices_are_read_by_model(tmp_path: Path) -> None:
    prices = '{ "deepseek-chat" = { input = 2, cached = 0.5, output = 8 } }'
    settings = read(tmp_path, f"[providers.deepseek]\nprices = {prices}")
    price = Price(input=2, cached=0.5, output=8)
    assert settings.providers["deepseek"].prices == {"deepseek-chat": price}


def test_an_empty_table_of_servers_says_that_there_are_none(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text("[servers]\n")
    settings = load(Overrides(config=tmp_path / "config.toml"), {})
    assert (dict(settings.servers), settings.default_servers) == ({}, False)


def test_without_any_file_the_demo_model_and_the_bundled_servers_are_there(no_home: Path) -> None:
    settings = load(Overrides(), {})
    assert settings.config_file is None
    assert settings.model is None
    assert settings.default_servers
    assert [spec.bundled for spec in settings.servers.values()] == ["math", "weather", "orders"]
    assert settings.providers["demo"].embedded
    assert settings.providers["demo"].models == DIALECTS
    assert settings.limits == TurnLimits(steps=25, connect_wait=10)
    assert settings.config_dir.is_relative_to(no_home)
    assert settings.data_dir.is_relative_to(no_home)
    assert not settings.config_dir.exists(), "reading makes nothing"


def test_an_argument_wins_over_the_environment_and_that_over_the_default(tmp_path: Path) -> None:
    typed, variable = write(tmp_path / "a", ""), write(tmp_path / "b", "")
    environment = {"TUI_HOST_CONFIG": str(variable), "TUI_HOST_DATA_DIR": str(tmp_path / "d")}
    assert load(Overrides(), environment).config_file == variable
    assert load(Overrides(), environment).data_dir == tmp_path / "d"
    settings = load(Overrides(config=typed, data_dir=tmp_path / "e"), environment)
    assert (settings.config_file, settings.data_dir) == (typed, tmp_path / "e")


def test_what_was_typed_wins_over_the_file(tmp_path: Path) -> None:
    path = write(tmp_path, 'model = "demo/openai"\n[limits]\nsteps = 3')
    settings = load(Overrides(config=path, model="groq/llama/x", steps=7, allow=("time.get_*", "*")), {})
    assert settings.model == ModelRef(provider="groq", model="llama/x")
    assert settings.limits.steps == 7
    assert settings.allow == ("time.get_*", "*")


def test_only_the_server_that_was_typed_is_there(tmp_path: Path) -> None:
    only = ServerSpec(name="it", command=Template(text="x"))
    settings = load(Overrides(config=write(tmp_path, CONTRACT), only_server=only), {})
    assert settings.servers == {"it": only}
    assert not settings.default_servers


def test_files_beside_the_configuration_are_read_too(tmp_path: Path) -> None:
    write(tmp_path, 'command = "x"', "servers.d/saved.toml")
    write(tmp_path, 'base_url = "https://e.example/v1"', "providers.d/mine.toml")
    write(tmp_path, '[[rules]]\nserver = "saved"\ntool = "*"\naction = "deny"', "rules.toml")
    write(tmp_path, 'model = "mine/m"\nprotocol = "native"\ntheme = "nord"', "state.toml")
    write(tmp_path, "half written", "servers.d/.saved.toml.123.new")
    write(tmp_path, "an editor's", "servers.d/saved.toml~")
    settings = read(tmp_path)
    assert list(settings.servers) == ["saved"]
    assert settings.providers["mine"].base_url.text == "https://e.example/v1"
    assert [rule.action for rule in settings.rules] == ["deny"]
    assert settings.model == ModelRef(provider="mine", model="m")
    assert settings.ui.theme == "nord"


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
    assert len(settings.notices) == 2
    assert all("config.toml wins" in notice for notice in settings.notices)


def test_remembered_choices_hold_where_the_file_is_silent_alone(tmp_path: Path) -> None:
    write(tmp_path, 'model = "groq/a"\ntheme = "nord"', "state.toml")
    settings = read(tmp_path, 'model = "demo/openai"\n[ui]\ntheme = "gruvbox"\nascii = true')
    assert str(settings.model) == "demo/openai"
    assert settings.ui == Ui(theme="gruvbox", ascii=True)


def test_a_remembered_choice_that_is_gone_stops_nothing(tmp_path: Path) -> None:
    write(tmp_path, 'model = "gone/a"\nprotocol = "gone"\ntheme = "gone"', "state.toml")
    settings = read(tmp_path)
    assert settings.model is None
    assert settings.protocol == "native"
    assert settings.ui.theme is None
    assert len(settings.notices) == 2


def test_the_themes_are_those_that_textual_has() -> None:
    assert tuple(sorted(BUILTIN_THEMES)) == THEMES


def test_nothing_is_read_from_the_working_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (
        "config.toml",
        "state.toml",
        "rules.toml",
        ".tui-host.toml",
        ".mcp.json",
        "servers.d/evil.toml",
        ".env",
    ):
        write(tmp_path, "not = = toml", name)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", ".")
    monkeypatch.setenv("XDG_DATA_HOME", "relative")
    settings = load(Overrides(), {})
    assert settings.config_file is None
    assert not settings.config_dir.is_relative_to(tmp_path)
    assert not settings.data_dir.is_relative_to(tmp_path)


def test_a_file_with_a_byte_order_mark_is_read(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_bytes(b"\xef\xbb\xbfmodel = 'demo/openai'\r\n")
    assert str(load(Overrides(config=path), {}).model) == "demo/openai"


def test_a_certificates_file_is_relative_to_the_configuration(tmp_path: Path) -> None:
    text = '[providers.a]\nbase_url = "https://e.example"\nca_file = "${NAME:-ca}.pem"'
    assert read(tmp_path, text).providers["a"].ca_file == tmp_path / "ca.pem"
    assert read(tmp_path, text, {"NAME": "/x/y"}).providers["a"].ca_file == Path("/x/y.pem")


@pytest.mark.parametrize(
    ("keep", "most", "store"),
    [
        ("90d", "5GB", StoreLimits(keep=7776000, max=5 * 10**9)),
        ("2w", "1 GiB", StoreLimits(keep=1209600, max=2**30)),
    ],
)
def test_durations_are_read_as_seconds_and_sizes_as_bytes(
    keep: str, most: str, store: StoreLimits, tmp_path: Path
) -> None:
    assert read(tmp_path, f'[store]\nkeep = "{keep}"\nmax = "{most}"').store == store
