"""The model screen in the real app: what providers report, keys that are asked for and forgotten, options for a session."""

from __future__ import annotations

import json
import tomllib
from collections.abc import AsyncIterator, Generator
from pathlib import Path

import keyring
import pytest
from keyring.backend import KeyringBackend
from textual.widgets import Input

from tests.kit.app import OFF, SMALL, Running, fast, running
from tests.settings import keyrings
from tui_host.tui.screens.field_screen import KeyScreen, OptionScreen
from tui_host.tui.screens.model_screen import ModelScreen

KEY = "sk-nobody-may-see-this-4712"
CONFIG = """
[providers.deepseek]
base_url = "https://nowhere.invalid/v1"
[servers.off]
command = "true"
enabled = false
[profiles.calculator]
system = "Use the tools."
protocol = "json"
"""


@pytest.fixture(scope="module")
async def shared(tmp_path_factory: pytest.TempPathFactory, model_url: str) -> AsyncIterator[Running]:
    folder = tmp_path_factory.mktemp("model")
    async with running(folder, config=fast(model_url) + CONFIG, size=SMALL) as app:
        yield app


@pytest.fixture
async def app(shared: Running) -> Running:
    await shared.renew()
    return shared


@pytest.fixture
def system(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Generator[Path]:
    """A keyring that works; its file."""
    file = tmp_path / "keys.json"
    monkeypatch.setenv(keyrings.FILE, str(file))
    yield from having(keyrings.Kept(), file)


@pytest.fixture
def locked(tmp_path: Path) -> Generator[Path]:
    yield from having(keyrings.Locked(), tmp_path / "keys.json")


def having(backend: KeyringBackend, file: Path) -> Generator[Path]:
    before = keyring.get_keyring()
    keyring.set_keyring(backend)
    try:
        yield file
    finally:
        keyring.set_keyring(before)


def kept(file: Path) -> dict[str, str]:
    """What a keyring has."""
    found: dict[str, str] = json.loads(file.read_text()) if file.exists() else {}
    return found


async def on_model_screen(app: Running, words: str) -> None:
    await app.press("f4")
    await app.until(lambda: isinstance(app.app.screen, ModelScreen) and app.app.screen.query(Input))
    await app.type(words)


async def until_on(app: Running, kind: type[object]) -> None:
    await app.until(lambda: isinstance(app.app.screen, kind) and app.app.screen.query(Input))
    await app.pilot.pause()


async def test_a_missing_key_is_asked_for_unseen_kept_in_the_keyring_and_forgotten(app: Running, system: Path) -> None:
    await on_model_screen(app, "deepseek/d")
    await app.until_shown("> ○ deepseek/deepseek-chat")
    await app.press("enter")
    await until_on(app, KeyScreen)
    await app.until_shown("Key of DeepSeek", "under tui-host and deepseek; into no file")
    await app.press("enter")
    await app.until_shown("the field is empty")
    await app.type(KEY)
    await app.until_shown("•" * len(KEY))
    assert KEY not in app.text
    await app.press("enter")
    await app.until_shown("deepseek/deepseek-chat · native")

    assert kept(system) == {"tui-host deepseek": KEY}
    assert app.host.redacted(f"it is {KEY}") == "it is ⟨secret:deepseek.api_key⟩"
    folder = app.host.settings.config_dir
    assert not [each for each in folder.rglob("*") if each.is_file() and KEY.encode() in each.read_bytes()]

    await on_model_screen(app, "delete")
    await app.until_shown("> ", "delete the key of deepseek", "in the system's keyring")
    await app.press("enter")
    await app.until_told("the key of deepseek was deleted")
    assert kept(system) == {}
    field = app.app.screen.query_one(Input)
    field.value = "deepseek/"
    await app.until_shown("> ● deepseek/deepseek-chat  no key")
    await app.press("tab")
    await app.until_shown("Providers", "no key", "DEEPSEEK_API_KEY is not set; press enter to type the key")


async def test_without_a_keyring_the_screen_names_the_variable_and_takes_no_key(app: Running) -> None:
    await on_model_screen(app, "mistral/")
    await app.until_shown("Mistral: MISTRAL_API_KEY is not set")
    await app.press("enter")
    await app.until_shown(
        "This system has no keyring", "Set the environment variable MISTRAL_API_KEY, then start tui-host again."
    )
    assert not app.app.screen.query_one(Input).display
    await app.press("escape")
    await until_on(app, ModelScreen)


async def test_a_locked_keyring_is_told_and_nothing_is_kept(app: Running, locked: Path) -> None:
    await on_model_screen(app, "groq/")
    await app.until_shown("GROQ_API_KEY is not set")
    await app.press("enter")
    await app.until_shown("Key of Groq", "into no file")
    await app.type(KEY)
    await app.press("enter")
    await app.until_shown("not saved: ", "the system's keyring is locked (KeyringLocked")
    assert KEY not in app.text
    assert kept(locked) == {}


async def test_an_option_is_set_for_this_session_shown_and_sent(app: Running) -> None:
    await on_model_screen(app, "temp")
    await app.until_shown("Options", "temperature", "not sent: the provider's own default")
    await app.press("enter")
    await until_on(app, OptionScreen)
    await app.type("warm")
    await app.press("enter")
    await app.until_shown("not a number")
    app.app.screen.query_one(Input).value = "0.25"
    await app.press("enter")
    await until_on(app, ModelScreen)
    await app.until_shown("for this session", "0.25")
    await app.press("escape")
    await app.send("hello")
    await app.until_idle()
    assert json.loads(app.bodies("llm", "out")[-1])["temperature"] == 0.25

    await on_model_screen(app, "temp")
    await app.press("enter")
    await until_on(app, OptionScreen)
    app.app.screen.query_one(Input).value = ""
    await app.press("enter")
    await app.until_shown("not sent: the provider's own default")
    assert app.session.options.temperature is None
    assert app.host.sessions.new().options.temperature is None


async def test_a_profile_is_chosen_with_what_it_names_and_stands_in_the_header(app: Running) -> None:
    await app.send("/profile")
    await app.until_shown("no profile", "calculator", "json", "Use the tools.")
    await app.press("enter")
    await app.until_shown("fast/openai · json · calculator")
    assert (app.session.profile, app.session.protocol, app.host.sessions.profile) == (
        "calculator",
        "json",
        "calculator",
    )
    assert read_state(app).get("profile") == "calculator"

    await app.send("/profile")
    await app.until_shown("no profile")
    await app.press("down", "enter")
    await app.until(lambda: app.session.profile == "")
    await app.until(lambda: "calculator" not in app.text)
    assert "profile" not in read_state(app)


def read_state(app: Running) -> dict[str, object]:
    return tomllib.loads((app.host.settings.config_dir / "state.toml").read_text())


async def test_each_group_has_a_column_where_there_is_room_else_tab_goes_through_one_list(tmp_path: Path) -> None:
    async with running(tmp_path, config=OFF, size=(140, 45)) as app:
        await on_model_screen(app, "")
        await app.until_shown("> ● demo/openai ", "demo/openai (in use): built in")
        first = next(line for line in app.text.splitlines() if line.startswith("> ● demo/openai "))
        assert [words in first for words in ("● native", "○ temperature", "demo/ ")] == [True] * 3
        assert all(f"○ hub+{name} " in app.text for name in ("cline", "cherry", "json", "function", "react", "hermes"))
        assert "…" not in app.text
        await app.press("right", "down")
        await app.until_shown("> ○ cline ", "an explicit end")
        await app.type("hub+re")
        await app.until_shown("> ○ hub+react", "hub+react: hub, called as in react")
        await app.press("left")  # in the field, as something is written there
        await app.until(lambda: app.app.screen.query_one(Input).cursor_position == len("hub+re") - 1)
        await app.press("enter")
        await app.until_shown("demo/openai · hub+react")
        await app.pilot.resize_terminal(80, 24)
        await on_model_screen(app, "")
        for group, chosen in (
            ("Tool protocol", "> ● hub+react"),
            ("Options", "> ○ temperature"),
            ("Providers", ">   demo/"),
        ):
            await app.press("tab")
            await app.until_shown(group, chosen)
        await app.press("tab", "tab", "shift+tab")
        await app.until_shown("> ● demo/openai")
