"""What is selected of Markdown: which character of the source each drawn one stands for, and what is copied."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.tui.test_markdown_document import LONG_FENCE, LONG_LIST, LONG_TABLE, SOURCE
from tui_host.tui.markdown import markdown_selection as selecting
from tui_host.tui.markdown.document import Budget, Document
from tui_host.tui.markdown.markdown_styles import Inks
from tui_host.tui.markdown.parser import load

INKS = Inks()
MARKUP = st.text(alphabet=st.sampled_from("-*1.> #`|\n ab_[]()!~\\&;<中\t\x1b"), max_size=120)


@pytest.fixture(autouse=True, scope="module")
def parser() -> None:
    load()


def document(source: str, width: int = 30, *, final: bool = True) -> Document:
    made = Document()
    made.put(source, final=final)
    made.fit(width, INKS)
    made.advance(Budget(60))
    made.settle(0, 0, 1 << 40, Budget(60))
    return made


def check(made: Document) -> None:
    """Every run of every line is what its trace says, in order, within the source."""
    for number in range(made.height):
        piece, inside, lines = made.lines_at(number)
        trace = made.trace(piece)
        drawn = lines[inside].strip.text if inside < len(lines) else ""
        assert len(trace.ranges) == len(trace.text)
        for run in lines[inside].runs if inside < len(lines) else ():
            said = "".join(trace.text[run.place : run.place + run.length])
            assert said in drawn
            for start, end in trace.ranges[run.place : run.place + run.length]:
                assert 0 <= start <= end <= made.length


@pytest.mark.parametrize("source", [SOURCE, LONG_FENCE, LONG_TABLE, LONG_LIST], ids=["page", "fence", "table", "list"])
@pytest.mark.parametrize("width", [12, 60])
def test_every_drawn_character_stands_for_one_of_the_source(source: str, width: int) -> None:
    made = document(source, width)
    check(made)
    for number in range(0, made.height, 7):
        piece, inside, lines = made.lines_at(number)
        trace = made.trace(piece)
        for run in lines[inside].runs:
            for place in range(run.place, run.place + run.length):
                start, end = trace.ranges[place]
                alone = (start, end) not in {trace.ranges[place - 1], trace.ranges[place + 1]}
                if end - start == 1 and alone and not source[start].isspace():
                    assert source[start] == trace.text[place]


@given(MARKUP, st.integers(1, 20), st.booleans())
@example("`a`b`\t`", 4, False)
def test_any_markup_can_be_selected(source: str, width: int, final: bool) -> None:  # noqa: FBT001 - hypothesis gives it
    made = document(source, width, final=final)
    check(made)
    for line in range(made.height):
        for cell in (0, 3, 9):
            start, end = selecting.range_at(made, line, cell)
            assert 0 <= start <= end <= made.length
            selecting.cells_in(made, line, (start, made.length))
            selecting.word_at(made, line, cell)
            selecting.text_at(made, line, cell)
            selecting.point_of(made, start)
            selecting.copied(made, (start, made.length))
            selecting.copied(made, (0, end))


@pytest.mark.parametrize("source", [SOURCE, LONG_FENCE, LONG_TABLE, LONG_LIST], ids=["page", "fence", "table", "list"])
def test_all_that_is_selected_is_the_source(source: str) -> None:
    made = document(source)
    assert selecting.copied(made, (0, made.length)) == source.rstrip("\n")


def selected(source: str, part: str, width: int = 60) -> str:
    """What is copied where a drawn part is selected."""
    made = document(source, width)
    for line in range(made.height):
        text = made.line(line).strip.text
        if part in text:
            cell = text.index(part)
            first = selecting.range_at(made, line, cell)[0]
            return selecting.copied(made, (first, selecting.range_at(made, line, cell + len(part) - 1)[1]))
    raise AssertionError(part)


@pytest.mark.parametrize(
    ("source", "part", "copied"),
    [
        ("a **bold** b", "bold", "**bold**"),
        ("a **bold** b", "old b", "**old** b"),
        ("a **bold words** b", "a bold", "a **bold**"),
        ("a `code` b", "code", "code"),
        ("a `code` b", "a code", "a `code`"),
        ("~~*x* y~~ z", "x y z", "~~*x* y~~ z"),
        ("AT&amp;T \\*x\\*", "&T *x*", "&amp;T \\*x\\*"),
        ("[a](http://b.c/(d) 'e)') f", "a (http://b.c/(d)) f", "[a](http://b.c/(d) 'e)') f"),
        ("> one\n> two", "one two", "one\n> two"),
        ("- a\tb", "a␉b", "a\tb"),
        ("one<br>two", "two", "two"),
        ("- [x] done", "done", "done"),
        ("| a\\|b | c |\n|---|---|\n| d | e |", "a|b", "a\\|b"),
        ("> ```\n> a\n>   b\n> ```", "  b", "  b"),
    ],
)
def test_markup_at_the_edges_comes_out_balanced(source: str, part: str, copied: str) -> None:
    assert selected(source, part) == copied


def test_code_in_a_list_comes_without_the_lists_indentation() -> None:
    made = document("1. see\n\n   ```py\n   if a:\n       b\n   ```\n")
    first = selecting.range_at(made, 3, 5)[0]
    last = selecting.range_at(made, 4, 60)[1]
    assert selecting.copied(made, (first, last)) == "if a:\n    b"


def test_what_was_selected_of_a_growing_text_is_found_again() -> None:
    made = Document()
    made.fit(30, INKS)
    made.put("one two\n\n- three **four", final=False)
    made.advance(Budget(60))
    chosen = (4, 16)
    assert selecting.copied(made, chosen) == "two\n\n- three"
    for end in range(30, 900, 13):
        made.put(("one two\n\n- three **four** five\n" + "- more `of` it\n" * 60)[:end], final=False)
        made.advance(Budget(60))
        assert selecting.copied(made, chosen) == "two\n\n- three"
    assert selecting.cells_in(made, 0, chosen) == (4, 7)
