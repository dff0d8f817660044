"""The document on the configuration names every key that the readers know, and its example is one."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from tui_host.settings.load import Overrides, load
from tui_host.settings.model_options import SETTABLE
from tui_host.settings.presets import PRESETS
from tui_host.settings.schema import ACTIONS, BUNDLED, DIALECTS, MODES, PROTOCOLS, TRANSPORTS
from tui_host.settings.table_reader import Table

SETTINGS = Path(__file__).parents[2] / "tui_host/settings"
DOCUMENT = (SETTINGS.parent / "docs/configuration.md").read_text("utf-8")
METHODS = {name for name in vars(Table) if not name.startswith("_")} - {"where", "mistake"}


def keys_read() -> set[str]:
    """The literal keys that the code asks tables for."""
    return {
        node.args[0].value
        for file in SETTINGS.glob("*.py")
        for node in ast.walk(ast.parse(file.read_text("utf-8")))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in METHODS
        if node.args and isinstance(node.args[0], ast.Constant) and isinstance(node.args[0].value, str)
    }


def test_every_key_is_documented() -> None:
    keys = {key for key in keys_read() if re.fullmatch(r"[a-z_]+", key)}
    assert {"model", "base_url", "enabled", "connect_wait", "theme"} <= keys
    tables = {key for key in ("rules", "limits", "store", "ui") if f"[{key}]" in DOCUMENT}
    assert sorted(key for key in keys - tables if f"`{key}`" not in DOCUMENT) == []


@pytest.mark.parametrize("words", [PRESETS, SETTABLE, DIALECTS, TRANSPORTS, MODES, ACTIONS, BUNDLED, PROTOCOLS[:8]])
def test_every_word_that_a_key_takes_is_documented(words: tuple[str, ...]) -> None:
    assert [word for word in words if not re.search(rf'`"?{re.escape(word)}"?`', DOCUMENT)] == []


def test_the_example_is_a_configuration(tmp_path: Path) -> None:
    example = re.search(r"```toml\n(.*?)```", DOCUMENT, re.DOTALL)
    assert example is not None
    (tmp_path / "config.toml").write_text(example[1])
    settings = load(Overrides(config=tmp_path / "config.toml"), {"DEEPSEEK_API_KEY": "k", "HOME": str(tmp_path)})
    assert set(settings.servers) == {"time", "docs"}
    assert settings.notices == ()
