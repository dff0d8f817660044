"""Depth is known before a parser recurses, whatever was written."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui_host.capture.json.reading import DEPTH, is_deeper
from tui_host.errors import JSON

VALUES = st.recursive(
    st.text(alphabet='[]{}\\",a') | st.integers(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(alphabet='[{\\"'), inner, max_size=4),
    max_leaves=40,
)


def depth_of(value: JSON) -> int:
    """The same by walking through what was parsed."""
    if isinstance(value, dict):
        return 1 + max(map(depth_of, value.values()), default=0)
    return 1 + max(map(depth_of, value), default=0) if isinstance(value, list) else 0


@pytest.mark.exhaustive
@given(VALUES, st.integers(0, 8))
def test_it_is_the_depth_that_a_parser_would_reach(value: object, limit: int) -> None:
    text = json.dumps(value)
    assert is_deeper(text, limit) == (depth_of(json.loads(text)) > limit)


@pytest.mark.parametrize(
    ("text", "deeper"),
    [
        ("[" * DEPTH + "]" * DEPTH, False),
        ("[" * (DEPTH + 1) + "]" * (DEPTH + 1), True),
        ("[" * 900, True),
        ("[[]," * 900, True),
        ('{"a":"' + '\\\\\\"[' * 900 + '"}', False),
        ('{"a":["\\\\",' * 60 + "0" + "]}" * 60, True),
    ],
)
def test_open_ends_and_escapes_do_not_mislead(text: str, deeper: bool) -> None:  # noqa: FBT001 - parametrized
    assert is_deeper(text) is deeper
