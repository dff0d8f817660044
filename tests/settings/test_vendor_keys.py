"""Keys of vendors, known by their form alone."""

from __future__ import annotations

import pytest

from tui_host.settings.vendor_keys import pieces

HALF = "aB3dE5gH7jK9mN1p"


@pytest.mark.parametrize(
    "key",
    [
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
    ],
)
def test_a_vendors_key_is_recognised_between_other_words(key: str) -> None:
    text = f'the key "{key}", in a text'
    assert list(pieces(text)) == [('the key "', False), (key, True), ('", in a text', False)]


@pytest.mark.parametrize(
    "text",
    [
        "skeleton sk-learn ask-0123456789abcdef0123456789",
        "sk-learn-tutorial-2024-part-01-of-12-introduction",
        "xai-grok-4-fast-non-reasoning-0709-latest",
        "hf_hub_download_with_2_retries ghp_ ghost_story_of_2024",
        "AKIARABLE0 AKIAIOSFODNN7EXAMPLEANDMORE",
        "⟨secret:vendor-key⟩",
        "",
    ],
)
def test_words_and_names_are_no_keys(text: str) -> None:
    assert "".join(piece for piece, is_key in pieces(text) if not is_key) == text
