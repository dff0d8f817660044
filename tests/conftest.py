"""What every test gets: asyncio as anyio's backend, no home of a person, no inherited keys."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import settings

settings.register_profile("project", deadline=None, max_examples=60)
settings.load_profile("project")

KEYS_OF_PROVIDERS = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY", "DEEPSEEK_API_KEY")


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(autouse=True)
def no_home(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home folder of the test's own, so that nothing of the person at the keyboard is read or written."""
    home = tmp_path_factory.mktemp("home")
    monkeypatch.setenv("HOME", str(home))
    for name in (
        "XDG_CONFIG_HOME",
        "XDG_DATA_HOME",
        "XDG_STATE_HOME",
        "XDG_CACHE_HOME",
        "TUI_HOST_CONFIG",
        "TUI_HOST_DATA_DIR",
    ):
        monkeypatch.delenv(name, raising=False)
    for name in KEYS_OF_PROVIDERS:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TEXTUAL_ANIMATIONS", "none")
    return home
