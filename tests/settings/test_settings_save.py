"""What the program saves: beside the person's file and never in it, private, whole or not at all; and keys in the system's keyring."""

import json
import subprocess
import sys
from collections.abc import Generator
from dataclasses import replace
from pathlib import Path

import keyring
import pytest
from keyring.backend import KeyringBackend
from keyring.backends import fail, null

from tests.settings import keyrings
from tests.settings.reading import mode, read, write
from tui_host.errors import SettingsError
from tui_host.llm.provider_keys import forget_key, may_have_key, store_key, stored_key, with_stored_key
from tui_host.servers.login_store import LoginStore
from tui_host.settings.environment_references import Secret, credential
from tui_host.settings.load import Overrides, load
from tui_host.settings.presets import DEMO_PROVIDER, PRESETS
from tui_host.settings.save import save_state, write_private
from tui_host.settings.schema import Provider, Template
from tui_host.settings.system_keyring import keyring_name


def test_choices_are_remembered_beside_each_other_and_can_be_forgotten(tmp_path: Path) -> None:
    text = "# mine\nui.ascii = true  # and this\n"
    before = read(tmp_path, text)
    save_state(before, {"model": "groq/a"})
    save_state(before, {"theme": "nord"})
    assert (str(read(tmp_path, text).model), read(tmp_path, text).ui.theme) == ("groq/a", "nord")
    save_state(before, {"model": None})
    assert (read(tmp_path, text).model, read(tmp_path, text).ui.theme) == (None, "nord")
    assert (tmp_path / "config.toml").read_text() == text
    assert sorted(path.name for path in tmp_path.iterdir()) == ["config.toml", "state.toml"]


@pytest.mark.usefixtures("no_umask", "no_home")
def test_the_first_save_makes_a_private_folder_and_file_and_each_makes_it_private_again() -> None:
    save_state(load(Overrides(), {}), {"theme": "nord"})
    folder = load(Overrides(), {}).config_dir
    assert (mode(folder), mode(folder / "state.toml")) == (0o700, 0o600)
    (folder / "state.toml").chmod(0o666)
    save_state(load(Overrides(), {}), {"theme": "dracula"})
    assert (mode(folder / "state.toml"), load(Overrides(), {}).ui.theme) == (0o600, "dracula")


def test_a_save_that_fails_is_told_and_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    before = read(tmp_path)
    write(tmp_path, "model = ", "state.toml")
    with pytest.raises(SettingsError, match=r"state\.toml: not TOML"):
        save_state(before, {"theme": "x"})
    assert (tmp_path / "state.toml").read_text() == "model = "
    (tmp_path / "x.toml").mkdir()
    with pytest.raises(SettingsError, match="cannot be written"):
        write_private(tmp_path / "x.toml", b"new")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["config.toml", "state.toml", "x.toml"]


def test_a_program_killed_while_saving_leaves_old_or_new_never_half(tmp_path: Path) -> None:
    path = write(tmp_path, "a" * 300_000, "x.toml")
    code = (
        "import sys; from pathlib import Path; from tui_host.settings.save import write_private\n"
        "n = 0\n"
        "while True:\n"
        "    n += 1\n"
        "    write_private(Path(sys.argv[1]), b'ab'[n % 2:][:1] * 300_000)\n"
        "    print(n, flush=True)\n"
    )
    for _ in range(3):
        with subprocess.Popen([sys.executable, "-c", code, str(path)], stdout=subprocess.PIPE) as writer:
            assert writer.stdout is not None
            for _line in range(3):
                writer.stdout.readline()
            writer.kill()
        assert path.read_bytes() in {b"a" * 300_000, b"b" * 300_000}


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
    assert store_key("mine", KEY) == keyring_name() == keyrings.Kept().name
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
