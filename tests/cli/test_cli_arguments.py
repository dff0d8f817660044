"""The command line's grammar."""

from __future__ import annotations

from pathlib import Path

import pytest

from tui_host.cli.arguments import read_arguments
from tui_host.errors import SettingsError


def test_without_a_word_the_app_starts() -> None:
    assert read_arguments([]).command == ""


@pytest.mark.parametrize(
    "words",
    [
        ["--config", "c.toml", "sessions", "list"],
        ["sessions", "list", "--config", "c.toml"],
        ["sessions", "--config", "c.toml", "list"],
    ],
)
def test_config_may_stand_before_or_after_the_command(words: list[str]) -> None:
    read = read_arguments(words)
    assert (read.command, read.action, read.config) == ("sessions", "list", Path("c.toml"))


def test_a_url_opens_the_app_with_just_that_server() -> None:
    read = read_arguments(["--data-dir", "d", "https://docs.example/mcp"])
    assert (read.command, read.server, read.data_dir) == ("", ("https://docs.example/mcp",), Path("d"))


def test_a_command_after_two_dashes_is_taken_word_by_word() -> None:
    read = read_arguments(["--config", "c", "--", "uvx", "ask", "--json", "; touch x"])
    assert read.server == ("uvx", "ask", "--json", "; touch x")
    assert read.config == Path("c")


@pytest.mark.parametrize(
    "words", [["--header", "X: y", "docs", "https://d"], ["docs", "--header", "X: y", "https://d"]]
)
def test_options_of_a_new_server_stand_before_or_between_its_words(words: list[str]) -> None:
    read = read_arguments(["servers", "add", *words])
    assert (read.words, read.header) == (("docs", "https://d"), ("X: y",))
    with pytest.raises(SettingsError, match="no option --haeder"):
        read_arguments(["servers", "add", "docs", "--haeder", "X: y", "https://d"])


def test_ask_takes_all_its_options() -> None:
    read = read_arguments(
        ["ask", "hi", "--json", "--allow", "a.*", "--allow", "b.c", "--yes", "--max-steps", "3", "--no-record"]
    )
    assert (read.words, read.allow, read.max_steps) == (("hi",), ("a.*", "b.c"), 3)
    assert read.json
    assert read.yes
    assert read.no_record
    assert read_arguments(["--no-record"]).no_record
    assert not read_arguments([]).no_record


def test_the_demo_models_own_arguments_are_its_own() -> None:
    assert read_arguments(["demo-model", "--port", "0"]).words == ("--port", "0")
    common = ["--config", "c", "demo-model", "--data-dir", "d", "--port", "0", "--config=e"]
    assert read_arguments(common).words == ("--port", "0")


@pytest.mark.parametrize(
    "words",
    [
        *(["nonsense"], ["ask"], ["sessions"], ["ask", "x", "--max-steps", "0"], ["--"], ["--frob"], ["servers"]),
        *(["sessions", "export", "last", "--format", "xml"], ["ask", "hi", "--data", "x"]),
    ],
)
def test_what_is_not_in_the_grammar_is_told_with_a_remedy(words: list[str]) -> None:
    with pytest.raises(SettingsError) as caught:
        read_arguments(words)
    assert caught.value.remedy


@pytest.mark.parametrize(
    "words",
    [
        ["--data-dir", "", "ask", "x"],
        ["ask", "x", "--session", ""],
    ],
    ids=str,
)
def test_an_option_that_a_script_left_empty_stands_for_nothing(words: list[str]) -> None:
    with pytest.raises(SettingsError, match=r"found nothing, expected a (path|name)"):
        read_arguments(words)


@pytest.mark.parametrize(
    ("typed", "told"),
    [
        ("tap stdio npx -y x", "no -- before the server's command"),
        ("tap stdio --log l -- npx", "no name before --"),
        ("tap stdio time --", "no command after --"),
        ("sessions list extra", "unrecognized arguments: extra"),
    ],
)
def test_what_a_command_lacks_or_does_not_know_is_told_with_its_own_help(typed: str, told: str) -> None:
    with pytest.raises(SettingsError) as caught:
        read_arguments(typed.split())
    assert caught.value.what == told
    assert caught.value.remedy.startswith(("tui-host tap stdio NAME -- ", f"see tui-host {caught.value.where} --help"))


@pytest.mark.parametrize(
    ("typed", "where", "option", "near"),
    [
        ("--modle demo/openai", "", "--modle", "--model"),
        ("--modle demo/openai ask hi", "", "--modle", "--model"),
        ("ask hi --jsn", "ask", "--jsn", "--json"),
        ("compare hi --wiht=a/b", "compare", "--wiht", "--with"),
        ("sessions list --jsno", "sessions list", "--jsno", "--json"),
        ("-m x", "", "-m", ""),
    ],
)
def test_a_wrong_option_is_named_with_the_nearest_right_one(typed: str, where: str, option: str, near: str) -> None:
    with pytest.raises(SettingsError) as caught:
        read_arguments(typed.split())
    assert (caught.value.where, caught.value.what) == (where, f"there is no option {option}")
    assert caught.value.remedy.startswith(f"did you mean {near}? see tui-host" if near else "see tui-host")


@pytest.mark.parametrize(
    ("typed", "told"),
    [
        ("tap", "tap: no kind of tap given ("),
        (
            "--no-record tap stdio time -- x",
            "tap stdio: --no-record: the purpose of a tap is to record (leave it out; ",
        ),
        ("tap stdio --json time -- x --json", "tap stdio: no such option: --json (the options are --log FILE"),
        ("tap http docs --upstream https://x --host 0.0.0.0", "tap http: --host: a tap listens on this machine only"),
        (
            "tap llm https://api.x/v1?key=k3y",
            "tap llm: no --upstream before the URL (write tui-host tap llm --upstream ",
        ),
        ("tap llm --port 1", "tap llm: no --upstream (write tui-host tap llm --upstream "),
        (
            "tap llm --upstream https://x --allow-origin https://y/",
            "tap llm: argument --allow-origin: found 'https://y/'",
        ),
    ],
)
def test_what_no_tap_does_is_told_with_why_or_what_to_type(typed: str, told: str) -> None:
    with pytest.raises(SettingsError) as caught:
        read_arguments(typed.split())
    assert str(caught.value).startswith(told)
    assert "k3y" not in str(caught.value)


def test_what_a_command_behind_a_tap_takes_is_no_business_of_the_tap() -> None:
    assert read_arguments(["tap", "stdio", "x", "--", "y", "--no-record", "--host"]).server[1:] == (
        "--no-record",
        "--host",
    )
