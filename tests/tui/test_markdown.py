"""Markdown as lines: what each construct looks like, where lines break, and which of the source each drawn character stands for."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style

from tui_host.capture.visible import hidden
from tui_host.tui.markdown.page import NO_INKS, Inks
from tui_host.tui.text_width import break_lines, cut, fill, fold, joint
from tui_host.tui.widgets.lines.selection import cells_in, stretch_at, word_at
from tui_host.tui.widgets.transcript.blocks import Blocks, Budget, ItemPart


class Document:
    """A text as blocks, which may grow."""

    def __init__(self, width: int, inks: Inks = NO_INKS) -> None:
        self.source, self.is_final = "", False
        self.blocks = Blocks(self._parts, lambda _number, _width: 1, lambda _: self.source)
        self.blocks.fit(width, inks, 1)
        self.blocks.settle(0, 1, Budget(60))

    def _parts(self, _number: int, _width: int, _inks: Inks) -> list[ItemPart]:
        return [ItemPart(7, source=self.source, is_final=self.is_final)]

    def put(self, source: str, *, final: bool = False) -> None:
        self.source, self.is_final = source, final
        self.blocks.update(0, Budget(60))

    def lines(self) -> list[str]:
        self.blocks.settle(1 << 40, 1 << 40, Budget(60))
        drawn = map(self.blocks.line, range(self.blocks.heights.total))
        return ["?" if line is None else line.strip.text.rstrip() for line in drawn]


def document(source: str, width: int = 30, *, final: bool = True) -> Document:
    made = Document(width)
    made.put(source, final=final)
    made.lines()
    return made


def lines(source: str, width: int = 40) -> list[str]:
    return document(source, width).lines()


def test_headings_and_paragraphs() -> None:
    assert lines("# Title\n\nSome *words* and `code`\nin two lines.\n\n## ItemPart\n\nEnd.") == [
        "Title",
        "─────",
        "",
        "Some words and code in two lines.",
        "",
        "ItemPart",
        "",
        "End.",
    ]


def test_nested_lists_with_wrapped_items() -> None:
    source = "- one\n- two words that do not fit on a line\n  1. first\n  2. second\n     - deep\n- [ ] task\n\n3. three\n4. four"
    assert lines(source, 24) == [
        "• one",
        "• two words that do not",
        "  fit on a line",
        "  1. first",
        "  2. second",
        "     ‣ deep",
        "☐ task",
        "",
        "3. three",
        "4. four",
    ]


def test_quotes_keep_their_rule_on_every_line() -> None:
    assert lines("> a quote that is longer than a line\n>\n> > nested", 20) == [
        "│ a quote that is",
        "│ longer than a line",
        "│",
        "│ │ nested",
    ]


def test_tables_take_the_room_they_need_and_fold_where_there_is_none() -> None:
    source = "| Name | Price |\n|:-----|------:|\n| apple | 1 |\n| 苹果 | 23 |\n"
    assert lines(source) == ["Name  │ Price", "──────┼──────", "apple │     1", "苹果  │    23"]
    wide = "| a | b |\n|---|---|\n| one two three four | five six seven |\n"
    assert all(cell_len(line) <= 23 for line in lines(wide, 23))


def test_fences_name_their_language_and_keep_their_spaces() -> None:
    made = document("```python\ndef f():\n    return 'x'\n```\n", 20)
    assert made.lines() == ["  python", "  def f():", "      return 'x'"]
    assert [line and line.strip.cell_length for line in map(made.blocks.line, range(3))] == [20] * 3


def test_links_show_their_address_and_images_are_text() -> None:
    assert lines("[docs](http://a.example/x) <http://b.example> ![cat](http://c.example/cat.png)", 90) == [
        "docs (http://a.example/x) http://b.example [image: cat] (http://c.example/cat.png)"
    ]
    assert lines("see [the page][p]\n\n[p]: http://a.example", 90) == ["see the page (http://a.example)"]


@pytest.mark.parametrize(
    "hostile",
    [
        "\x1b[2J",
        "&#27;[2J",
        "\x9b2J",
        "\u202egnirts",
        "```\n\x1b]0;x\x07\n```",
        "[a](http://b/\x1b]52;c;x)",
        "| a\x1b |\n|--|\n| \x07 |",
    ],
)
def test_nothing_that_a_terminal_obeys_is_drawn(hostile: str) -> None:
    assert not any(hidden(line) for line in lines(hostile, 30))


SOURCE = """# Title

A paragraph of some words, with **strong** and `code`, which is longer than a line is wide.

- one
- two

  in a loose list
- three

1. first
   ```python
   print("in a list")
   ```
2. second

> quoted
> twice

| a | b |
|---|---|
| 1 | 2 |

```json
{"a": 1}
```

中文段落，没有空格。

[docs]: http://docs.example
See [docs].
"""
LONG_FENCE = "Before.\n\n```python\n" + "".join(f"x{number} = {number}\n" for number in range(200)) + "```\n\nAfter."
LONG_TABLE = (
    "| n | square |\n|--:|---|\n" + "".join(f"| {number} | {number * number} |\n" for number in range(200)) + "\nAfter."
)
LONG_LIST = "".join(f"{number}. item {number}\n" for number in range(1, 120)) + "\nAfter."
LONG_PARAGRAPH = "word " * 5000 + "\n\nAfter."


@pytest.mark.parametrize(
    ("source", "step"),
    # Eleven characters at a time end everywhere in the lines of the long ones: their lengths are prime to it.
    [(SOURCE, 1), (SOURCE, 7), (SOURCE, 400), (LONG_FENCE, 11), (LONG_FENCE, 400), (LONG_LIST, 11), (LONG_LIST, 400)],
    ids=["page-1", "page-7", "page-400", "fence-11", "fence-400", "list-11", "list-400"],
)
def test_what_grew_looks_like_what_came_whole(source: str, step: int) -> None:
    assert grown(source, step, 30).lines() == lines(source, 30)


def grown(source: str, step: int, width: int) -> Document:
    made = Document(width)
    for end in range(0, len(source), step):
        made.put(source[:end])
    made.put(source, final=True)
    return made


def test_long_blocks_lose_nothing_where_they_are_cut() -> None:
    assert [line.split()[-1] for line in lines(LONG_FENCE)[3:-2]] == [str(number) for number in range(200)]
    assert lines(LONG_FENCE)[2:4] == ["  python", "  x0 = 0"]
    rows = lines(LONG_TABLE)
    assert len(rows) == 204
    assert rows[2:202] == [f"{number:>3} │ {number * number}" for number in range(200)]
    items = lines(LONG_LIST)
    assert items[:119] == [f"{number}. item {number}" for number in range(1, 120)]
    assert " ".join(lines(LONG_PARAGRAPH)).split() == ["word"] * 5000 + ["After."]


@given(st.text(alphabet=st.sampled_from("-*1.> #`|\n ab_[]()!~"), max_size=200), st.integers(min_value=1, max_value=20))
def test_any_markup_can_be_drawn_and_streamed(source: str, step: int) -> None:
    assert grown(source, step, 20).lines() == lines(source, 20)


def test_a_table_whose_words_would_break_is_told_record_by_record() -> None:
    source = "| Server | When |\n|---|---|\n| weather | 12:00:01 |\n| math | noon |"
    assert lines(source, 18) == ["Server  │ When", "────────┼─────────", "weather │ 12:00:01", "math    │ noon"]
    assert lines(source, 17) == ["Server", "  weather", "When   12:00:01", "", "Server", "  math", "When   noon"]


def test_br_is_the_end_of_a_line_in_a_cell_and_in_a_text() -> None:
    assert lines("one<br>two <BR/> three") == ["one", "two", " three"]
    assert lines("| a | b |\n|---|---|\n| 1<br>2 | 3 |") == ["a │ b", "──┼──", "1 │ 3", "2 │"]
    assert lines("`<br>` and &lt;br&gt; and <b>") == ["<br> and <br> and <b>"]


def test_footnotes_and_mathematics_stay_as_they_are_written() -> None:
    assert lines("See[^1].\n\n[^1]: word") == ["See[^1].", "", "[^1]: word"]
    assert lines(r"\( a_1 * b * c \), $x*y*z$, \[ \frac{1}{2} \] cost $5 and *$10*") == [
        r"\( a_1 * b * c \), $x*y*z$, \[",
        r"\frac{1}{2} \] cost $5 and $10",
    ]
    assert lines("$$\na \\\\\n= b\n$$") == ["$$", "a \\\\", "= b", "$$"]


class Counted(dict[str, Style]):
    """Styles that count how often code was drawn."""

    drawn = 0

    def __missing__(self, key: str) -> Style:
        self.drawn += key == "code"
        return Style.null()


def test_a_late_token_costs_what_an_early_one_costs() -> None:
    styles = Counted()
    document = Document(60, styles)
    source, costs = "", list[int]()
    for number in range(1, 1201):
        source += f"A `paragraph` {number}.\n\n"
        styles.drawn = 0
        document.put(source)
        costs.append(styles.drawn)
    assert max(costs) <= 2


TEXTS = st.text(alphabet=st.sampled_from("ab cdé中文日本語、。（）「」한국 👍🏽👨‍👩‍👧‍👦 x-/"), max_size=120)


def filled(text: str, width: int) -> list[str]:
    return [text[start:end] for start, end in fill(text, width)]


def test_lines_break_between_words_and_chinese_characters_and_never_before_a_closing_mark_or_in_an_emoji() -> None:
    assert filled("the quick brown fox jumps", 10) == ["the quick", "brown fox", "jumps"]
    assert filled("今天天气很好，我们去公园。", 12) == ["今天天气很", "好，我们去公", "园。"]
    assert filled("他说「你好」了", 6) == ["他说", "「你", "好」了"]
    family = "👨‍👩‍👧‍👦"
    assert [(family * 3)[start:end] for start, end in fold(family * 3, 4)] == [family * 2, family]
    assert (joint("中", "文"), joint("a", "b"), joint("中", "b")) == ("", " ", " ")


def test_what_is_cut_keeps_its_styles_and_controls_become_pictures() -> None:
    rows = break_lines([Segment("one\x1b[2J\ntwo"), Segment("\n\x9bthree\tx")])
    assert [[segment.text for segment in row] for row in rows] == [["one␛[2J"], ["two"], ["⟨9b⟩three␉x"]]
    assert [segment.text for segment in cut([Segment("abc"), Segment("def")], 2, 5)] == ["c", "de"]


@given(TEXTS, st.integers(min_value=2, max_value=30))
def test_filled_lines_fit_and_lose_only_spaces(text: str, width: int) -> None:
    found = filled(text, width)
    assert all(cell_len(line) <= width for line in found)
    assert re.sub(" ", "", "".join(found)) == re.sub(" ", "", text)


@given(TEXTS, st.integers(min_value=2, max_value=30))
@example("\u200d\u200da、", 2)
def test_folded_lines_fit_and_lose_nothing(text: str, width: int) -> None:
    found = [text[start:end] for start, end in fold(text, width)]
    assert all(cell_len(line) <= width for line in found)
    assert "".join(found) == text


MARKUP = st.text(alphabet=st.sampled_from("-*1.> #`|\n ab_[]()!~\\&;<中\t\x1b"), max_size=120)


@given(MARKUP, st.integers(1, 20), st.booleans())
@example("`a`b`\t`", 4, False)
def test_any_markup_can_be_selected(source: str, width: int, final: bool) -> None:  # noqa: FBT001 - hypothesis gives it
    made = document(source, width, final=final)
    for line in range(made.blocks.heights.total):
        letters = made.blocks.letters(line)
        for cell in (0, 3, 9):
            start, end = stretch_at(letters, cell)
            assert start <= end
            assert cells_in(letters, (start, start), 20) is None
            word_at(letters, cell)
            made.blocks.copied(start, end)


def copied_all(made: Document) -> str:
    last = made.blocks.heights.total - 1
    first, end = made.blocks.letters(0)[0].spot(0), made.blocks.letters(last)[-1].spot(-1)
    return made.blocks.copied(first, end)[1]


@pytest.mark.parametrize("source", [SOURCE, LONG_FENCE, LONG_TABLE, LONG_LIST], ids=["page", "fence", "table", "list"])
def test_all_that_is_selected_is_the_source(source: str) -> None:
    assert copied_all(document(source)) == source.rstrip("\n")


def selected(source: str, first: str, last: str, width: int = 60) -> str:
    """What is copied from the first cell of some words to the last cell of others."""
    made = document(source, width)
    texts = made.lines()
    begin = next((line, text.index(first)) for line, text in enumerate(texts) if first in text)
    end = next((line, text.index(last) + len(last) - 1) for line, text in enumerate(texts) if last in text)
    (start, _), (_, stop) = (stretch_at(made.blocks.letters(line), cell) for line, cell in (begin, end))
    return made.blocks.copied(start, stop)[1]


@pytest.mark.parametrize(
    ("source", "first", "last", "copy"),
    [
        ("x **bold** y", "old", "y", "old y"),
        ("x **bold** y", "x", "y", "x **bold** y"),
        ("one two three four\n\nb", "two", "four", "two three four"),
        ("x y\n\n## *a* b\n\n- c\n- d", "y", "c", "y\n\n## *a* b\n\nc"),
        ("x\n\n- c `d`\n- e\n\nz", "x", "e", "x\n\n- c `d`\n- e"),
        ("> one\n> two", "one two", "one two", "> one\n> two"),
        ("x\n\n| a | b |\n|---|---|\n| d | e |\n\nz", "x", "z", "x\n\n| a | b |\n|---|---|\n| d | e |\n\nz"),
        ("```\na\n  b\n```\n\nz", "a", "  b", "a\n  b"),
        ("```\na\n  b\n```\n\nz", "  b", "z", "  b\n\nz"),
        (LONG_FENCE, "x30", "= 32", "x30 = 30\nx31 = 31\nx32 = 32"),
    ],
)
def test_whole_blocks_are_copied_as_markdown_and_parts_as_they_are_drawn(
    source: str, first: str, last: str, copy: str
) -> None:
    assert selected(source, first, last) == copy


def test_what_was_selected_of_a_growing_text_is_found_again() -> None:
    made = Document(30)
    text = "one two\n\n- three **four** five\n" + "- more `of` it\n" * 60
    spots = (0, 7, 0, 4), (0, 7, 0, 13)  # while both are its open end, one block
    for end in range(23, 900, 13):
        made.put(text[:end])
        assert made.blocks.copied(*spots)[1].split() == ["two", "three"]
    now = made.blocks.settled(spots[0]), made.blocks.settled(spots[1])
    line = next(n for n, text in enumerate(made.lines()) if "three" in text)
    assert cells_in(made.blocks.letters(0), now, 30) == (4, 7)
    assert cells_in(made.blocks.letters(line), now, 30) == (2, 7)
