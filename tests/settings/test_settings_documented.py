"""The document on the configuration names every setting with its default, and its example is a configuration."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path
from typing import get_args

import pytest

from tui_host.settings import schema
from tui_host.settings.load import Overrides, load
from tui_host.settings.model_options import SETTABLE
from tui_host.settings.presets import PRESETS
from tui_host.settings.table_reader import rules_of

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
ELSEWHERE = {"providers", "servers", "profiles", "rules", "limits", "store", "ui"}
"""Tables of the top, which have parts of their own."""


@pytest.mark.parametrize("record", PARTS, ids=lambda record: record.__name__)
def test_every_setting_is_documented_with_its_default(record: type) -> None:
    part = DOCUMENT[DOCUMENT.index(PARTS[record]) :].partition("\n## ")[0]
    defaults = {field.name: field.default for field in fields(record)}
    for name, rule in rules_of(record).items():
        if record is schema.Settings and name in ELSEWHERE:
            continue
        assert rule.metadata["doc"]
        assert f"`{name}`" in part or f"{name} = " in part, name
        row = re.search(rf"^\|[^|\n]*`{name}`[^|\n]*\| ([^|\n]*) \|", part, re.MULTILINE)
        default = defaults[name]
        if row is not None and isinstance(default, (bool, float, int)) and default != 0:
            assert (f"`{str(default).lower()}`" if isinstance(default, bool) else f"`{default:g}`") in row[1], name


def test_every_word_that_a_key_takes_is_documented() -> None:
    words = [*PRESETS, *SETTABLE, *schema.DIALECTS, *schema.BUNDLED, *schema.PROTOCOLS[:8]]
    words += [word for kind in (schema.Transport, schema.Mode, schema.Action) for word in get_args(kind)]
    assert [word for word in words if not re.search(rf'`"?{re.escape(word)}"?`', DOCUMENT)] == []


def test_the_example_is_a_configuration(tmp_path: Path) -> None:
    example = re.search(r"```toml\n(.*?)```", DOCUMENT, re.DOTALL)
    assert example is not None
    (tmp_path / "config.toml").write_text(example[1])
    settings = load(Overrides(config=tmp_path / "config.toml"), {"DEEPSEEK_API_KEY": "k", "HOME": str(tmp_path)})
    assert set(settings.servers) == {"time", "docs"}
    assert settings.notices == ()
