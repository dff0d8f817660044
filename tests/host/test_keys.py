"""The keys of the system's keyring as the host knows them: asked once for each provider, told before they are used."""

from collections.abc import Generator
from pathlib import Path

import anyio
import keyring
import pytest
from typing_extensions import override

from tests.settings import keyrings
from tui_host.capture.redact.redaction import Redactor
from tui_host.errors import ModelError
from tui_host.host.keyring_status import KeyringKeys
from tui_host.settings.presets import PRESETS
from tui_host.settings.schema import Provider, Template

MINE = Provider(name="mine", base_url=Template(text="https://a.example/v1"), file="config.toml")


class Counted(keyrings.Kept):
    """One that works, and counts how often it is asked; a person may leave it locked."""

    def __init__(self, *, is_locked: bool = False) -> None:
        super().__init__()
        self.asked = 0
        self.is_locked = is_locked

    @override
    def get_password(self, service: str, username: str) -> str | None:
        self.asked += 1
        backend = keyrings.Locked if self.is_locked else keyrings.Kept
        return backend.get_password(self, service, username)  # pyright: ignore[reportArgumentType] - both keep alike


@pytest.fixture(autouse=True)
def another(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Generator[None]:
    monkeypatch.setenv(keyrings.FILE, str(tmp_path / "keys.json"))
    before = keyring.get_keyring()
    yield
    keyring.set_keyring(before)


async def test_the_keyring_is_asked_once_for_each_provider_and_a_stored_key_is_known_at_once() -> None:
    backend, redactor, notices = Counted(), Redactor(), list[str]()
    keyring.set_keyring(backend)
    keys = KeyringKeys({}, lambda: redactor, notices)
    async with anyio.create_task_group() as group:
        for _ in range(5):
            group.start_soon(keys.filled, MINE)
    assert (backend.asked, await keys.filled(MINE)) == (1, MINE)
    await keys.store(MINE, "sk-0123456789")
    assert redactor.text("sk-0123456789") == "⟨secret:mine.api_key⟩"
    assert (await keys.filled(MINE)).in_keyring
    assert (keys.stored, notices, backend.asked) == ({"mine"}, [], 1)
    assert await keys.forget(MINE)
    assert (keys.stored, await keys.filled(MINE)) == (frozenset(), MINE)


async def test_a_keyring_that_is_left_locked_is_asked_once_and_not_for_each_provider() -> None:
    backend, notices = Counted(is_locked=True), list[str]()
    keyring.set_keyring(backend)
    keys = KeyringKeys({"DEEPSEEK_API_KEY": "from-the-environment"}, Redactor, notices)
    assert await keys.filled(PRESETS["deepseek"]) == PRESETS["deepseek"]
    assert await keys.filled(MINE) == MINE
    for name in ("openai", "groq"):
        with pytest.raises(ModelError, match="keyring is locked") as caught:
            await keys.filled(PRESETS[name])
        assert caught.value.where == f"providers.{name}.api_key"
    assert backend.asked == 1
    assert [notice.partition(";")[2] for notice in notices] == [
        " deepseek is asked without a key from it",
        " mine is asked without a key from it",
    ]
