"""JSON for reading: where lines break, and that nothing of the source is written anew."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui_host.errors import JSON
from tui_host.tui.widgets.lines.json_lines import highlight, json_lines, plain_lines, raw_lines

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)
marks = st.text(alphabet='{}[],:" \\\n\tab1')


def indented(text: str) -> str:
    return "\n".join("  " * line.depth + text[line.start : line.end] for line in json_lines(text))


@given(values)
def test_lines_break_where_an_indenting_writer_would_break_them(value: JSON) -> None:
    assert indented(json.dumps(value)) == json.dumps(value, indent=2)


@given(marks)
def test_nothing_is_lost_whatever_the_text_is(text: str) -> None:
    kept = "".join(text[line.start : line.end] for line in json_lines(text))
    assert [*"".join(kept.split())] == [*"".join(text.split())]


def test_numbers_escapes_and_doubled_keys_stay_as_they_are_written() -> None:
    text = '{"n":1.50e+03,"n":-0,"s":"\\u00e9\\/"}'
    assert indented(text) == '{\n  "n":1.50e+03,\n  "n":-0,\n  "s":"\\u00e9\\/"\n}'


@pytest.mark.parametrize(
    "text",
    [
        '"a' * 1_000_000,
        '{"' + "\\" * 1_000_001,
        "[" * 300_000,
        "}" * 300_000,
        '{"a":"' + "x" * 5_000_000,
        "," + " " * 5_000_000,
    ],
    ids=["strings", "escapes", "opening", "closing", "a long string", "spaces"],
)
def test_hostile_text_is_read_once(text: str) -> None:
    assert sum(1 for _ in json_lines(text)) >= 1  # quadratic work would meet the test's time limit


def test_raw_lines_end_at_line_feeds_alone_and_keep_them() -> None:
    text = "a\r\nb\u2028c\n\nd"
    assert [text[start:end] for start, end, _ in raw_lines(text)] == ["a\r\n", "b\u2028c\n", "\n", "d"]
    assert [text[start:end] for start, end, _ in plain_lines(text)] == ["a\r", "b\u2028c", "", "d"]


def test_pieces_of_a_line_are_told_apart() -> None:
    pieces = highlight('  "a": "b\\"", 1.5e3 true {')
    assert [(text, name) for text, name in pieces if name] == [
        ('"a"', "key"),
        (":", "mark"),
        ('"b\\""', "string"),
        (",", "mark"),
        ("1.5e3", "number"),
        ("true", "word"),
        ("{", "mark"),
    ]


@given(marks)
def test_highlighting_changes_no_character(text: str) -> None:
    assert "".join(piece for piece, _ in highlight(text)) == text
