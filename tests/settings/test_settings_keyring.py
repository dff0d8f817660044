"""The system's keyring: asked for what names no key, said where it fails, and nothing in its place."""

from __future__ import annotations

import json
from collections.abc import Generator
from dataclasses import replace
from pathlib import Path

import keyring
import pytest
from keyring.backend import KeyringBackend
from keyring.backends import fail, null

from tests.settings import keyrings
from tui_host.errors import SettingsError
from tui_host.settings.environment_references import Secret, credential
from tui_host.settings.presets import DEMO_PROVIDER, PRESETS
from tui_host.settings.schema import Provider, Template
from tui_host.settings.system_keyring import (
    LoginStore,
    forget_key,
    keyring_name,
    may_have_key,
    store_key,
    stored_key,
    with_stored_key,
)

KEY = "sk-canary-${HOME}-4713"
MINE = Provider(name="mine", base_url=Template(text="https://a.example/v1"), file="config.toml")


@pytest.fixture
def file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Generator[Path]:
    """Where the keyrings of tests have their keys; afterwards the one from before is back."""
    monkeypatch.setenv(keyrings.FILE, str(tmp_path / "keys.json"))
    before = keyring.get_keyring()
    keyring.set_keyring(keyrings.Kept())
    yield tmp_path / "keys.json"
    keyring.set_keyring(before)


def test_a_key_is_kept_under_the_provider_s_name_found_again_and_forgotten(file: Path) -> None:
    assert (stored_key("mine"), with_stored_key(MINE)) == (None, MINE)

    place = store_key("mine", KEY)

    assert place == keyring_name() == keyrings.Kept().name
    assert json.loads(file.read_text()) == {"tui-host mine": KEY}
    provider = with_stored_key(MINE)
    assert credential(provider, {"HOME": "nowhere"}) == Secret("mine.api_key", KEY), "no reference is read in it"
    assert "canary" not in repr(provider)
    assert (forget_key("mine"), forget_key("mine"), stored_key("mine")) == (True, False, None)


def test_where_there_is_no_keyring_but_one_in_clear_nothing_is_kept(file: Path) -> None:
    backends: tuple[KeyringBackend, ...] = (fail.Keyring(), null.Keyring(), keyrings.PlaintextKeyring())
    for backend in backends:
        keyring.set_keyring(backend)
        assert (keyring_name(), stored_key("mine"), forget_key("mine")) == ("", None, False)
        with pytest.raises(SettingsError, match="this system has no keyring"):
            store_key("mine", KEY)
    assert not file.exists()


@pytest.mark.usefixtures("file")
def test_a_locked_keyring_is_told_without_the_key_and_asked_for_nobody_who_names_a_key_or_needs_none() -> None:
    keyring.set_keyring(keyrings.Locked())
    for work in (lambda: stored_key("mine"), lambda: store_key("mine", KEY)):
        with pytest.raises(SettingsError, match="keyring is locked") as caught:
            work()
        assert (KEY in str(caught.value), caught.value.where) == (False, "providers.mine.api_key")
    assert may_have_key(MINE)
    assert may_have_key(PRESETS["openai"])
    for provider in (DEMO_PROVIDER, PRESETS["ollama"], replace(MINE, api_key=Template(text="${K}"))):
        assert not may_have_key(provider)
        assert with_stored_key(provider) is provider


def test_logins_are_kept_there_and_the_file_only_lists_them(file: Path, tmp_path: Path) -> None:
    logins, url = LoginStore(tmp_path), "https://a.example/mcp"
    assert logins.save(url, {"tokens": KEY}) == ""
    assert KEY not in (tmp_path / "logins.json").read_text()
    assert logins.load(url) == {"tokens": KEY}
    assert (logins.forget(url), logins.forget(url), logins.load(url)) == (True, False, {})
    assert json.loads(file.read_text()) == {}
