"""Markdown as lines: what each construct looks like, where lines break, and which of the source each drawn character stands for."""

import re
from collections.abc import Sequence
from math import inf

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from rich.cells import cell_len
from typing_extensions import override

from tui_host.chat.conversation import Conversation
from tui_host.tui.markdown.page import NO_INKS
from tui_host.tui.text_width import fill, fold, joint
from tui_host.tui.widgets.lines.selection import cells_in, stretch_at
from tui_host.tui.widgets.transcript.blocks import Blocks
from tui_host.tui.widgets.transcript.items import ItemPart, Items


class Growing(Items):
    def __init__(self, width: int, text: str = "", *, final: bool = False) -> None:
        super().__init__(Conversation(), str)
        self.text, self.is_final, self.blocks = text, final, Blocks(self)
        self.blocks.fit(width, NO_INKS)
        self.lines()

    @override
    def parts(self, number: int) -> Sequence[ItemPart]:
        return [ItemPart(7, source=self.text, is_final=self.is_final)]

    def lines(self) -> list[str]:
        self.blocks.settle(1 << 40, 1 << 40, inf)
        return [row.line.strip.text.rstrip() for row in self.blocks.rows(0, 1 << 20) if row.line]


def lines(source: str, width: int = 40) -> list[str]:
    return Growing(width, source, final=True).lines()


RECORDS = "| Server | When |\n|---|---|\n| weather | 12:00:01 |\n| math | noon |"
"""A table that is told record by record where its words would break."""
MATHEMATICS = r"\( a_1 * b * c \), $x*y*z$, \[ \frac{1}{2} \] cost $5 and $10"


@pytest.mark.parametrize(
    ("width", "source", "drawn"),
    [
        (40, "# Title\n\nSome *words* and `code`\nin two lines.\n\n## Part\n\nEnd.", "Title\n─────\n\nSome words and code in two lines.\n\nPart\n\nEnd."),
        (24, "- one\n- two words that do not fit on a line\n  1. first\n     - deep\n- [ ] task\n\n3. three\n4. four",
         "• one\n• two words that do not\n  fit on a line\n  1. first\n     ‣ deep\n• [ ] task\n\n3. three\n4. four"),
        (20, "> a quote that is longer than a line\n>\n> > nested", "│ a quote that is\n│ longer than a line\n│\n│ │ nested"),
        (40, "| Name | Price |\n|:-----|------:|\n| apple | 1 |\n| 苹果 | 23 |\n", "Name  │ Price\n──────┼──────\napple │     1\n苹果  │    23"),
        (18, RECORDS, "Server  │ When\n────────┼─────────\nweather │ 12:00:01\nmath    │ noon"),
        (17, RECORDS, "Server: weather\nWhen: 12:00:01\n\nServer: math\nWhen: noon"),
        (90, "[docs](http://a.example/x) <http://b.example> ![cat](http://c.example/cat.png)",
         "docs (http://a.example/x) http://b.example [image: cat] (http://c.example/cat.png)"),
        (40, "one<br>two <BR/> three", "one\ntwo\n three"),
        (40, "| a | b |\n|---|---|\n| 1<br>2 | 3 |", "a │ b\n──┼──\n1 │ 3\n2 │"),
        (40, "`<br>` and &lt;br&gt; and <b>", "<br> and <br> and <b>"),
        (40, "See[^1] [p].\n\n[^1]: word\n\n[p]: http://a.example", "See[^1] [p].\n\n[^1]: word\n\n[p]: http://a.example"),
        (70, r"\( a_1 * b * c \), $x*y*z$, \[ \frac{1}{2} \] cost $5 and *$10*", MATHEMATICS),
        (40, "$$\na \\\\\n= b\n$$", "$$\na \\\\\n= b\n$$"),
        (20, "```python\ndef f():\n    return 'x'\n```\n", "  python\n  def f():\n      return 'x'"),
        (30, "\x1b[2J &#27;[2J \x9b2J \u202e [a](http://b/\x1b]52;c;x)", "␛[2J \ufffd[2J ⟨9b⟩2J ⟨202e⟩\n[a](http://b/␛]52;c;x)"),
    ],
)  # fmt: skip
def test_each_construct_has_its_look(width: int, source: str, drawn: str) -> None:
    assert lines(source, width) == drawn.split("\n")


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

中文段落，没有空格。

End."""
LONG_FENCE = "Before.\n\n```python\n" + "".join(f"x{number} = {number}\n" for number in range(200)) + "```\n\nAfter."
LONG_LIST = "".join(f"{number}. item {number}\n" for number in range(1, 120)) + "\nAfter."


def test_what_grew_looks_like_what_came_whole() -> None:
    # Eleven characters at a time end everywhere in the lines of the long ones: their lengths are prime to it.
    for source, step in ((SOURCE, 1), (SOURCE, 7), (LONG_FENCE, 11), (LONG_FENCE, 400), (LONG_LIST, 11)):
        assert grown(source, step, 30) == lines(source, 30)


def grown(source: str, step: int, width: int) -> list[str]:
    made = Growing(width)
    for end in (*range(0, len(source), step), len(source)):
        made.text, made.is_final = source[:end], end == len(source)
        made.blocks.update(0, inf)
    return made.lines()


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


@given(TEXTS, st.integers(min_value=2, max_value=30))
@example("\u200d\u200da、", 2)
def test_lines_fit_and_lose_nothing_but_spaces_between_words(text: str, width: int) -> None:
    words = filled(text, width)
    folded = [text[start:end] for start, end in fold(text, width)]
    assert all(cell_len(line) <= width for line in (*words, *folded))
    assert re.sub(" ", "", "".join(words)) == re.sub(" ", "", text)
    assert "".join(folded) == text


MARKUP = st.text(alphabet=st.sampled_from("-*1.> #`|\n ab_[]()!~\\&;<中\t\x1b"), max_size=120)


@given(MARKUP, st.integers(1, 20), st.booleans())
@example("`a`b`\t`", 4, False)
def test_any_markup_can_be_drawn_streamed_and_selected(source: str, width: int, final: bool) -> None:  # noqa: FBT001 - hypothesis gives it
    assert grown(source, width, 20) == lines(source, 20)
    made = Growing(width, source, final=final).blocks
    for line in range(made.start(len(made.blocks))):
        letters = made.letters(line)
        for cell in (0, 3, 9):
            start, end = stretch_at(letters, cell)
            assert start <= end
            assert cells_in(letters, (start, start), 20) is None
            stretch_at(letters, cell, by_words=True)
            made.copied(start, end)
