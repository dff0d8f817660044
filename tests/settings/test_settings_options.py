from __future__ import annotations

import pytest

from tui_host.errors import JSON
from tui_host.settings.model_options import (
    SETTABLE,
    Options,
    option_of,
    options_of,
    options_to_json,
    text_of,
    value_of,
    with_value,
)
from tui_host.tui.screens.field_screen import WORDS

TYPED: list[tuple[str, str, JSON]] = [
    ("temperature", " 0.25 ", 0.25),
    ("max_tokens", "4096", 4096),
    ("reasoning_effort", "high", "high"),
    ("stop", "END, ###", ["END", "###"]),
    ("stop", r'"a, \"b\"\n" , " ","c"', ['a, "b"\n', " ", "c"]),
    ("extra_body", '{"a": {"b": [1, null]}}', {"a": {"b": [1, None]}}),
]


def test_an_option_is_read_as_it_is_typed_and_what_is_no_value_is_told() -> None:
    for name, typed, value in TYPED:
        assert option_of(name, typed) == option_of(name, text_of(value)) == value
    for name, typed, told in (
        ("temperature", "warm", "a number"),
        ("temperature", "nan", "a number"),
        ("max_tokens", "1.5", "a whole number"),
        ("reasoning_effort", " ", "a text"),
        ("stop", ",", "texts"),
        ("extra_body", "[1]", "a JSON object"),
        ("extra_body", '{"a": NaN}', "a JSON object"),
    ):
        with pytest.raises(ValueError, match=told):
            option_of(name, typed)


def test_an_option_is_set_and_taken_away_and_all_others_stay() -> None:
    options = Options(temperature=0.5, top_p=0.9, stop=("END",), others={"k": 1})
    changed = with_value(options, "temperature", 0)
    assert (changed.temperature, changed.top_p, changed.stop, changed.others) == (0, 0.9, ("END",), {"k": 1})
    without = with_value(changed, "temperature", None)
    assert without == Options(top_p=0.9, stop=("END",), others={"k": 1})
    assert tuple(WORDS) == SETTABLE
    assert [value_of(without, name) for name in SETTABLE] == [None, 0.9, None, None, None, ["END"], None]
    whole = with_value(without, "extra_body", {"a": None})
    assert options_of(options_to_json(whole)) == whole
