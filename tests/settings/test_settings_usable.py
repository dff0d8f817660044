"""What keeps a provider from being asked is known before anything is sent, all of it at once."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from tui_host.errors import SettingsError
from tui_host.settings.model_options import Options
from tui_host.settings.presets import DEMO_PROVIDER, PRESETS
from tui_host.settings.provider_check import check_provider
from tui_host.settings.schema import Provider, Template

NOTHING: Mapping[str, str] = {}


def mine(
    base_url: str = "https://a.example/v1", *, headers: str = "", key: str = "", variable: str | None = None
) -> Provider:
    return Provider(
        name="mine",
        base_url=Template(text=base_url),
        api_key=Template(text=key) if key else None,
        key_variable=variable,
        headers={"Authorization": Template(text=headers)} if headers else {},
        options=Options(extra_body={"user": {"id": "${WHO:-me}", "org": "${ORG:-mine}"}}),
        file="config.toml",
    )


@pytest.mark.parametrize(
    "provider",
    [
        DEMO_PROVIDER,
        PRESETS["ollama"],
        mine(),
        mine("http://127.0.0.1:1/v1", variable="KEY"),
        mine(headers="Bearer x", variable="KEY"),
        mine(key="${KEY:-none}"),
    ],
    ids=["demo", "local preset", "no key", "this machine", "a header of its own", "a default"],
)
def test_what_needs_no_variable_can_be_asked(provider: Provider) -> None:
    check_provider(provider, NOTHING)


def test_a_preset_needs_its_key() -> None:
    check_provider(PRESETS["openai"], {"OPENAI_API_KEY": "sk-1"})
    with pytest.raises(SettingsError, match=r"^providers\.openai: OPENAI_API_KEY is not set \(set the environment"):
        check_provider(PRESETS["openai"], NOTHING)


@pytest.mark.parametrize(
    ("provider", "where", "what"),
    [
        (mine("https://${HOST}/v1"), "base_url", "HOST is not set"),
        (mine(key="${KEY}"), "api_key", "the key has a character that is invalid in a header"),
        (mine(headers="Bearer ${TOKEN}"), "headers.Authorization", "TOKEN is not set"),
    ],
)
def test_a_mistake_is_told_with_its_file_and_key(provider: Provider, where: str, what: str) -> None:
    with pytest.raises(SettingsError) as caught:
        check_provider(provider, {"KEY": "clé"})
    assert (caught.value.where, caught.value.what) == (f"config.toml: providers.mine.{where}", what)
