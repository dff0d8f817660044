"""The document on the configuration names every setting with its default; its example and the shipped files are configurations."""

import re
import tomllib
from dataclasses import fields, replace
from pathlib import Path
from typing import get_args

import pytest

from tests.settings.reading import read
from tui_host.settings import schema
from tui_host.settings.environment_references import resolve
from tui_host.settings.key_names import DEFAULT_KEYS
from tui_host.settings.load import Overrides, load
from tui_host.settings.model_options import SETTABLE
from tui_host.settings.paths import shipped
from tui_host.settings.presets import PRESETS
from tui_host.settings.schema import DIALECTS, ModelRef
from tui_host.settings.table_reader import rules_of
from tui_host.settings.urls import check_url, is_loopback, split

DOCUMENT = (Path(__file__).parents[2] / "tui_host/docs/configuration.md").read_text("utf-8")
PARTS = {
    schema.Settings: "## Top of",
    schema.Provider: "## `[providers.NAME]`",
    schema.Price: "## `[providers.NAME]`",
    schema.ServerSpec: "## `[servers.NAME]`",
    schema.Rule: "## `[[rules]]`",
    schema.Profile: "## `[profiles.NAME]`",
    schema.TurnLimits: "## `[limits]",
    schema.StoreLimits: "## `[limits]",
    schema.Ui: "## `[limits]",
}
ELSEWHERE = {"providers", "servers", "profiles", "rules", "limits", "store", "ui", "keys"}
"""Tables of the top, which have parts of their own."""


@pytest.mark.parametrize("record", PARTS, ids=lambda record: record.__name__)
def test_every_setting_is_documented_with_its_default(record: type) -> None:
    part = DOCUMENT[DOCUMENT.index(PARTS[record]) :].partition("\n## ")[0]
    defaults = {field.name: field.default for field in fields(record)}
    for name, (rule, _) in rules_of(record).items():
        if record is schema.Settings and name in ELSEWHERE:
            continue
        assert rule.metadata["doc"]
        assert f"`{name}`" in part or f"{name} = " in part, name
        row = re.search(rf"^\|[^|\n]*`{name}`[^|\n]*\| ([^|\n]*) \|", part, re.MULTILINE)
        default = defaults[name]
        if row is not None and isinstance(default, (bool, float, int)) and default != 0:
            assert (f"`{str(default).lower()}`" if isinstance(default, bool) else f"`{default:g}`") in row[1], name


def test_every_word_that_a_key_takes_is_documented() -> None:
    words = [*DEFAULT_KEYS, *PRESETS, *SETTABLE, *schema.DIALECTS, *schema.BUNDLED, *schema.PROTOCOLS[:8]]
    words += [word for kind in (schema.Transport, schema.Mode, schema.Action) for word in get_args(kind)]
    assert [word for word in words if not re.search(rf'`"?{re.escape(word)}"?`', DOCUMENT)] == []


def test_the_example_is_a_configuration(tmp_path: Path) -> None:
    example = re.search(r"```toml\n(.*?)```", DOCUMENT, re.DOTALL)
    assert example is not None
    (tmp_path / "config.toml").write_text(example[1])
    settings = load(Overrides(config=tmp_path / "config.toml"), {"DEEPSEEK_API_KEY": "k", "HOME": str(tmp_path)})
    assert (set(settings.servers), settings.notices) == ({"time", "docs"}, ())


def test_the_default_file_says_what_happens_without_any_file(no_home: Path) -> None:
    written, nothing = load(Overrides(config=shipped("default.toml")), {}), load(Overrides(), {})
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
        assert (preset.key_variable is None) == is_loopback(split(url).hostname or "")
        assert preset.label
