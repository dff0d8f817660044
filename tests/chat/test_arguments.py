"""A call's arguments are read strictly, once."""

import contextlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui_host.chat.call_arguments import canonical, changed_numbers, pretty, read_arguments
from tui_host.errors import TuiHostError

WORDS = st.text(st.characters(exclude_categories=["Cs"]))
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | WORDS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(WORDS, inner, max_size=4),
    max_leaves=12,
)


@given(st.dictionaries(WORDS, VALUES, max_size=4))
def test_what_is_shown_is_what_is_sent(value: dict[str, object]) -> None:
    read = read_arguments(json.dumps(value))
    assert (read, read_arguments(canonical(read).decode()), read_arguments(pretty(read))) == (value, read, read)


@given(st.text(alphabet='[]{}",:1a \\', max_size=60))
def test_nothing_that_a_model_writes_does_more_than_fail(text: str) -> None:
    with contextlib.suppress(TuiHostError):  # to be refused is fine: any other error is not
        value = read_arguments(text)
        assert read_arguments(canonical(value).decode()) == value


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"p":"a","p":"b"}', 'the key "p" stands twice'),
        ('{"a":NaN}', "NaN is not JSON"),
        ('{"a":1e400}', "1e400 is too large"),
        ('{"a":"\\ud800"}', "a lone surrogate"),
        ("[1]", "not a JSON object"),
        ("{'a': 1}", "line 1, column 2"),
        ('{"a":' + "9" * 5000 + "}", "cannot be read"),
        ('{"a":' + "[" * 5000 + "]" * 5000 + "}", "deeper than 100"),
        ('{"a":"' + "x" * (5 << 20) + '"}', "characters long"),
    ],
)
def test_what_two_readers_could_take_differently_is_refused(text: str, words: str) -> None:
    with pytest.raises(TuiHostError, match=words):
        read_arguments(text)


def test_nothing_is_no_arguments_and_what_is_as_deep_as_is_allowed_is_read() -> None:
    assert [read_arguments(text) for text in ("", "  ", "{}", "null")] == [{}] * 4
    text = '{"a":"' + '[\\"' * 200 + '","b":' + "[" * 99 + '"' + "{" * 200 + '"' + "]" * 99 + ',"c":[[],{}]}'
    assert set(read_arguments(text)) == {"a", "b", "c"}


@pytest.mark.parametrize(
    ("text", "changed"),
    [
        ('{"a": 1.0000000000000000001, "b": [-1e-400]}', [("1.0000000000000000001", "1.0"), ("-1e-400", "-0.0")]),
        ('{"a": 1e-9999999999999999999999}', [("1e-9999999999999999999999", "0.0")]),
        ('{"a": 1e2, "b": 100.0, "c": 0.10, "d": -0, "e": 12345678901234567890, "f": "1.0000000000000000001"}', []),
        ("", []),
    ],
)
def test_numbers_whose_value_changes_on_the_way_are_told(text: str, changed: list[tuple[str, str]]) -> None:
    assert changed_numbers(text) == changed
