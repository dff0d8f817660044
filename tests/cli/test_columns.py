"""Columns of text on a terminal: as wide as it is, whatever is written in them."""

from __future__ import annotations

import re

import pytest

from tui_host.cli.columns import cells, laid_out, padded, wrapped


@pytest.mark.parametrize(
    ("text", "width"), [("abc", 3), ("天气", 4), ("é", 1), ("e\u0301", 1), ("ｶﾞ", 2), ("", 0), ("🙂", 2)]
)
def test_a_text_is_as_wide_as_a_terminal_draws_it(text: str, width: int) -> None:
    assert cells(text) == width
    assert cells(padded(text, 9)) == 9


@pytest.mark.parametrize(
    ("text", "width", "lines"),
    [
        ("one two three", 7, ["one two", "three"]),
        ("abcdefgh ij", 5, ["abcde", "fgh", "ij"]),
        ("天气很好", 5, ["天气", "很好"]),
        ("a天气", 4, ["a天", "气"]),
        ("  - point", 40, ["  - point"]),
        ("one\n\ntwo", 9, ["one", "", "two"]),
    ],
)
def test_lines_are_broken_at_spaces_and_within_what_is_longer(text: str, width: int, lines: list[str]) -> None:
    assert wrapped(text, width) == lines


def test_columns_stand_side_by_side_where_there_is_room_for_them() -> None:
    table = laid_out(["one", "two"], [{"steps": "3", "answer": "天" * 20}, {"steps": "4", "error": "no"}], 80)
    assert [line.split("│")[0].strip() for line in table if "┼" not in line] == ["", "steps", "answer", "", "error"]
    assert max(map(cells, table)) <= 80
    bars = {tuple(cells(line[:place]) for place, letter in enumerate(line) if letter in "│┼") for line in table}
    assert len(bars) == 1


def test_columns_stand_under_each_other_where_there_is_none() -> None:
    table = laid_out(["one", "two"], [{"steps": "3"}, {"steps": "4", "error": "no, no, no"}], 56)
    assert table == ["── one", "steps  3", "", "── two", "steps  4", "error  no, no, no"]


def test_figures_stand_side_by_side_and_texts_below_where_there_is_room_for_figures_alone() -> None:
    columns = [{"ended": "done", "sent": "1,200 B", "answer": "a long answer"}] * 3
    table = laid_out(["demo/openai:native", "demo/gemini:cline", "three"], columns, 60, {"answer"})
    assert [re.split(r" *│ *", line) for line in table if "│" in line][-2:] == [
        ["ended", "done", "done", "done"],
        ["sent", "1,200 B", "1,200 B", "1,200 B"],
    ]
    assert table[-2:] == ["── three", "answer  a long answer"]
    assert max(map(cells, table)) <= 60


def test_what_is_foreign_acts_on_nothing_and_takes_no_more_than_its_room() -> None:
    table = laid_out(["\x1b[2Jone"], [{"answer": "\x1b]0;title\x07" + "line\n" * 900}], 80)
    assert not any(letter in line for line in table for letter in "\x1b\x07")
    assert len(table) == 60 + 2
    assert table[-1].endswith(f"… {901 - 60 + 1} more lines")
