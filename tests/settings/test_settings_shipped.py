from __future__ import annotations

import tomllib
from dataclasses import replace
from pathlib import Path

from tests.settings.reading import read
from tui_host.settings.environment_references import resolve
from tui_host.settings.load import Overrides, load
from tui_host.settings.paths import shipped
from tui_host.settings.presets import PRESETS
from tui_host.settings.schema import DIALECTS, ModelRef
from tui_host.settings.urls import check_url, is_loopback, split


def test_the_default_file_says_what_happens_without_any_file(no_home: Path) -> None:
    written = load(Overrides(config=shipped("default.toml")), {})
    nothing = load(Overrides(), {})
    assert written.model == ModelRef(provider="demo", model="openai")
    same = replace(
        written,
        config_file=None,
        config_dir=nothing.config_dir,
        model=None,  # none chosen is the demo model
        default_servers=True,  # the same ones, though they stand in a file
        fixed=frozenset[str](),  # what stands in a file is not remembered beside it
    )
    assert same == nothing


def test_a_shipped_file_can_be_loaded_with_its_examples_and_without(tmp_path: Path) -> None:
    for name in ("default.toml", "providers.toml", "servers.toml", "profiles.toml"):
        text = shipped(name).read_text(encoding="utf-8")
        read(tmp_path, text)
        examples = "\n".join(line.removeprefix("# ") for line in text.splitlines())
        assert read(tmp_path, examples).notices == ()
        assert tomllib.loads(examples), "something was uncommented"


def test_presets_are_safe_addresses_of_a_dialect_that_is_spoken() -> None:
    for name, preset in PRESETS.items():
        assert preset.name == name
        assert preset.dialect in DIALECTS
        url = resolve(preset.base_url, {"AZURE_OPENAI_RESOURCE": "mine"}, where="").text
        check_url(url, allow_http=False)
        local = is_loopback(split(url).hostname or "")
        assert (preset.key_variable is None) == local
        assert preset.label
