"""Wrapping at cells: nothing lost, nothing too wide, nothing that a terminal obeys."""

from __future__ import annotations

import re

from hypothesis import example, given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.segment import Segment

from tui_host.tui.markdown.heights import Heights
from tui_host.tui.markdown.wrap import break_lines, cut, fill, fold, joint

TEXTS = st.text(alphabet=st.sampled_from("ab cdé中文日本語、。（）「」한국 👍🏽👨‍👩‍👧‍👦 x-/"), max_size=120)


def lines(text: str, width: int) -> list[str]:
    return [text[start:end] for start, end in fill(text, width)]


def test_words_go_to_the_next_line_whole() -> None:
    assert lines("the quick brown fox jumps", 10) == ["the quick", "brown fox", "jumps"]


def test_chinese_breaks_between_characters_but_no_line_begins_with_a_closing_mark() -> None:
    assert lines("今天天气很好，我们去公园。", 12) == ["今天天气很", "好，我们去公", "园。"]
    assert lines("他说「你好」了", 6) == ["他说", "「你", "好」了"]


def test_emoji_families_are_not_torn_apart() -> None:
    family = "👨‍👩‍👧‍👦"
    assert [(family * 3)[start:end] for start, end in fold(family * 3, 4)] == [family * 2, family]


def test_a_line_break_between_chinese_lines_is_no_space() -> None:
    assert (joint("中", "文"), joint("a", "b"), joint("中", "b")) == ("", " ", " ")


def test_what_is_cut_keeps_its_styles_and_controls_become_pictures() -> None:
    rows = break_lines([Segment("one\x1b[2J\ntwo"), Segment("\n\x9bthree\tx")])
    assert [[segment.text for segment in row] for row in rows] == [["one␛[2J"], ["two"], ["⟨9b⟩three␉x"]]
    assert [segment.text for segment in cut([Segment("abc"), Segment("def")], 2, 5)] == ["c", "de"]


@given(TEXTS, st.integers(min_value=2, max_value=30))
def test_filled_lines_fit_and_lose_only_spaces(text: str, width: int) -> None:
    found = lines(text, width)
    assert all(cell_len(line) <= width for line in found)
    assert re.sub(" ", "", "".join(found)) == re.sub(" ", "", text)


@given(TEXTS, st.integers(min_value=2, max_value=30))
@example("\u200d\u200da、", 2)
def test_folded_lines_fit_and_lose_nothing(text: str, width: int) -> None:
    found = [text[start:end] for start, end in fold(text, width)]
    assert all(cell_len(line) <= width for line in found)
    assert "".join(found) == text


@given(
    st.lists(st.integers(0, 9), max_size=40), st.lists(st.tuples(st.integers(0, 39), st.integers(0, 9)), max_size=10)
)
def test_heights_find_every_line_whatever_was_added_or_corrected(
    first: list[int], changes: list[tuple[int, int]]
) -> None:
    heights = Heights(first[: len(first) // 2])
    for height in first[len(first) // 2 :]:
        heights.append(height)
    plain = list(first)
    for number, height in changes:
        if number < len(plain):
            plain[number] = height
            heights.put(number, height)
    assert heights.total == sum(plain)
    assert [heights.start(number) for number in range(len(plain))] == [
        sum(plain[:number]) for number in range(len(plain))
    ]
    everything = [(number, line) for number, height in enumerate(plain) for line in range(height)]
    assert [heights.find(line) for line in range(sum(plain))] == everything
