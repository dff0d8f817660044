"""What keeps a provider from being asked is known before anything is sent; vendors' keys are known by their form."""

from __future__ import annotations

import pytest

from tests.settings.reading import NOTHING
from tui_host.errors import SettingsError
from tui_host.settings.environment_references import check_provider
from tui_host.settings.model_options import Options
from tui_host.settings.presets import DEMO_PROVIDER, PRESETS
from tui_host.settings.schema import Provider, Template
from tui_host.settings.sensitivity import pieces

HALF = "aB3dE5gH7jK9mN1p"


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


def test_what_needs_no_variable_can_be_asked() -> None:
    for provider in (
        DEMO_PROVIDER,
        PRESETS["ollama"],
        mine(),
        mine("http://127.0.0.1:1/v1", variable="KEY"),
        mine(headers="Bearer x", variable="KEY"),
        mine(key="${KEY:-none}"),
    ):
        check_provider(provider, NOTHING)
    check_provider(PRESETS["openai"], {"OPENAI_API_KEY": "sk-1"})


def test_all_mistakes_are_told_with_file_and_key() -> None:
    wrong = mine("https://${HOST}/v1", headers="Bearer ${TOKEN}", key="${KEY}")
    again = "is not set (set the environment variable {} and start again"
    told = [
        f".headers.Authorization: TOKEN {again.format('TOKEN')})",
        f".base_url: HOST {again.format('HOST')})",
        ".api_key: the key has a character that is invalid in a header (check the environment variable KEY)",
    ]
    other = [f": OTHER {again.format('OTHER')}, or choose a model with f4, which asks for the key)"]
    for provider, lines in ((wrong, told), (mine(variable="OTHER"), other)):
        with pytest.raises(SettingsError) as caught:
            check_provider(provider, {"KEY": "clé"})
        found = [str(one) for one in (caught.value, *caught.value.more)]
        assert found == [f"config.toml: providers.mine{line}" for line in lines]


def test_a_vendors_key_is_recognised_between_other_words_and_words_are_no_keys() -> None:
    for key in (
        f"sk-{HALF}{HALF}",
        f"sk-proj-{HALF}_{HALF}-{HALF}",
        f"sk-ant-api03-{HALF}{HALF}-AA",
        f"ghp_{HALF}{HALF}0123",
        f"github_pat_11ABC{HALF}_{HALF}",
        f"glpat-{HALF}2345",
        f"xoxb-123456789012-{HALF}",
        f"sk_live_{HALF}",
        "AKIAIOSFODNN7EXAMPLE",
        f"AIza{HALF}{HALF}123",
        f"hf_{HALF}{HALF}",
    ):
        text = f'the key "{key}", in a text'
        assert list(pieces(text)) == [('the key "', False), (key, True), ('", in a text', False)]
    for text in (
        "skeleton sk-learn ask-0123456789abcdef0123456789 sk-learn-tutorial-2024-part-01-of-12-introduction",
        "xai-grok-4-fast-non-reasoning-0709-latest hf_hub_download_with_2_retries ghp_ ghost_story_of_2024",
        "AKIARABLE0 AKIAIOSFODNN7EXAMPLEANDMORE ⟨secret:vendor-key⟩",
        "",
    ):
        assert "".join(piece for piece, is_key in pieces(text) if not is_key) == text
