"""What is selected of Markdown: which character of the source each drawn one stands for, and what is copied."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.tui.test_markdown_document import LONG_FENCE, LONG_LIST, LONG_TABLE, SOURCE
from tui_host.tui.markdown.document import Budget, Document
from tui_host.tui.markdown.markdown_styles import Inks
from tui_host.tui.widgets.lines.markdown_selection import DocumentSelection, copied

INKS = Inks()
MARKUP = st.text(alphabet=st.sampled_from("-*1.> #`|\n ab_[]()!~\\&;<中\t\x1b"), max_size=120)


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
    selection = DocumentSelection(made, 0)
    for line in range(made.height):
        for cell in (0, 3, 9):
            (start,), (end,) = selection.stretch_at(line, cell)
            assert 0 <= start <= end <= made.length
            selection.cells_in(line, ((start,), (made.length,)))
            selection.around(line, cell, whole=False)
            selection.around(line, cell, whole=True)
            selection.point_of((start,))
            copied(made, (start, made.length))
            copied(made, (0, end))


@pytest.mark.parametrize("source", [SOURCE, LONG_FENCE, LONG_TABLE, LONG_LIST], ids=["page", "fence", "table", "list"])
def test_all_that_is_selected_is_the_source(source: str) -> None:
    made = document(source)
    assert copied(made, (0, made.length)) == source.rstrip("\n")


def selected(source: str, part: str, width: int = 60) -> str:
    """What is copied where a drawn part is selected."""
    made = document(source, width)
    for line in range(made.height):
        text = made.line(line).strip.text
        if part in text:
            cell = text.index(part)
            selection = DocumentSelection(made, 0)
            (first,), (_, (last,)) = (
                selection.stretch_at(line, cell)[0],
                selection.stretch_at(line, cell + len(part) - 1),
            )
            return copied(made, (first, last))
    raise AssertionError(part)


@pytest.mark.parametrize(
    ("source", "part", "copy"),
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
def test_markup_at_the_edges_comes_out_balanced(source: str, part: str, copy: str) -> None:
    assert selected(source, part) == copy


def test_what_was_selected_of_a_growing_text_is_found_again() -> None:
    made = Document()
    made.fit(30, INKS)
    made.put("one two\n\n- three **four", final=False)
    made.advance(Budget(60))
    chosen = (4, 16)
    assert copied(made, chosen) == "two\n\n- three"
    for end in range(30, 900, 13):
        made.put(("one two\n\n- three **four** five\n" + "- more `of` it\n" * 60)[:end], final=False)
        made.advance(Budget(60))
        assert copied(made, chosen) == "two\n\n- three"
    assert DocumentSelection(made, 0).cells_in(0, ((4,), (16,))) == (4, 7)
