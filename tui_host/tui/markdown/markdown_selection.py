"""Selections in a document, as characters of the source: stable while the source grows and lines wrap anew."""

from __future__ import annotations

from rich.cells import cell_len

from tui_host.tui.markdown.document import Document
from tui_host.tui.markdown.line_page import Run
from tui_host.tui.markdown.origins import Range, Trace, Wrap
from tui_host.tui.markdown.wrap import character_at


def range_at(document: Document, line: int, cell: int) -> Range:
    """Return the source range of the character at a cell; empty before and behind a line's text."""
    number, inside, lines = document.lines_at(line)
    trace = document.trace(number)
    if inside >= len(lines):
        return document.length, document.length
    runs = lines[inside].runs
    if not runs:
        above = next((candidate.runs[-1] for candidate in reversed(lines[:inside]) if candidate.runs), None)
        place = trace.ranges[above.place + above.length - 1][1] if above and above.length else trace.piece.start
        return place, place
    run = next((candidate for candidate in reversed(runs) if candidate.x <= cell), runs[0])
    if not run.length:
        start = trace.ranges[run.place][0]
        return start, start
    if cell < run.x:
        start = trace.ranges[run.place][0]
        return start, start
    place = _place_at(trace, run, cell)
    if place is None:
        end = trace.ranges[run.place + run.length - 1][1]
        return end, end
    return trace.ranges[place[0]][0], trace.ranges[place[1] - 1][1]


def _place_at(trace: Trace, run: Run, cell: int) -> Range | None:
    """Return the places of the character at a cell; None behind the run."""
    span = character_at(_text(trace, run), cell - run.x)
    return None if span is None else (run.place + span[0], run.place + span[1])


def _text(trace: Trace, run: Run) -> str:
    return "".join(trace.text[run.place : run.place + run.length])


def cells_in(document: Document, line: int, selected: Range) -> tuple[int, int] | None:
    """Return the selected cells of a line."""
    number, inside, lines = document.lines_at(line)
    if inside >= len(lines) or not lines[inside].runs:
        return None
    trace = document.trace(number)
    first, last = selected
    cells: list[int] = []
    for run in lines[inside].runs:
        places = [
            place
            for place, (start, _) in enumerate(trace.ranges[run.place : run.place + run.length])
            if first <= start < last
        ]
        if places:
            text = _text(trace, run)
            cells += [run.x + cell_len(text[: places[0]]), run.x + cell_len(text[: places[-1] + 1])]
    return (cells[0], cells[-1]) if cells else None


def point_of(document: Document, offset: int) -> tuple[int, int]:
    """The line and the cell of a character of the source."""
    number = document.piece_of(offset)
    trace = document.trace(number)
    place = trace.place_of(offset)
    start, lines = document.piece_lines(number)
    point = (start, 0)
    for inside, line in enumerate(lines):
        for run in line.runs:
            if run.place <= place:
                at = min(place - run.place, run.length)
                point = (start + inside, run.x + cell_len(_text(trace, run)[:at]))
    return point


def word_at(document: Document, line: int, cell: int) -> Range | None:
    """Return the word at a cell, or a single non-word character."""
    return _around(document, line, cell, whole=False)


def text_at(document: Document, line: int, cell: int) -> Range | None:
    """Return the paragraph, table cell or code line at a cell, with markers at the beginning of the first line."""
    return _around(document, line, cell, whole=True)


def _around(document: Document, line: int, cell: int, *, whole: bool) -> Range | None:
    number, inside, lines = document.lines_at(line)
    runs = lines[inside].runs if inside < len(lines) else ()
    run = next((candidate for candidate in reversed(runs) if candidate.x <= cell), None)
    if run is None or not run.length:
        return None
    trace = document.trace(number)
    at = _place_at(trace, run, cell)
    if at is None and not whole:
        return None
    first, last = trace.text_at(run.place) if whole else trace.word_at(at[0] if at else run.place)
    if first >= last:
        return None
    start, end = trace.ranges[first][0], trace.ranges[last - 1][1]
    return (_begin_of_line(document.source, trace, start) if whole and len(runs) == 1 else start), end


def copied(document: Document, selected: Range) -> str:
    """Return the source of the selection, with cut markup opened and closed. Never ends with a line end."""
    source = document.source
    first, last = max(0, selected[0]), min(selected[1], len(source))
    if not document.is_text:
        last = first + len(source[first:last].rstrip("\n"))
    if first >= last:
        return ""
    if document.is_text:
        return source[first:last]
    begins = document.trace(document.piece_of(first))
    ends = document.trace(document.piece_of(last - 1))
    last = max((end for start, end in ends.ranges if first <= start < last), default=last)  # no marks of what follows
    around, inside = begins.wraps_at(first), ends.wraps_at(last - 1)
    code = next((wrap for wrap in around if wrap.is_code and wrap.outer in {inner.outer for inner in inside}), None)
    if code is not None:
        return _own_lines(source, begins, first, last) if begins is ends else source[first:last]
    if begins is not ends or begins.text_at(begins.place_of(first)) != ends.text_at(ends.place_of(last - 1)):
        if begins.is_in_table(first):
            first = source.rfind("\n", 0, first) + 1  # tables are copied row by row, if more than a cell is
        if ends.is_in_table(last - 1):
            last = source.find("\n", last - 1) if "\n" in source[last - 1 :] else len(source)
        first = _begin_of_line(source, begins, first)
    return _balanced(source, (first, last), around, inside)


def _balanced(source: str, selected: Range, around: list[Wrap], inside: list[Wrap]) -> str:
    first, last = selected
    shared = {wrap.outer for wrap in around} & {wrap.outer for wrap in inside}
    opening = closing = ""
    for wrap in reversed(around):  # from the innermost on
        if wrap.outer >= first:
            continue  # its mark is among what is selected
        whole = wrap.inner[0] == first and (wrap.outer not in shared or (wrap.inner[1] == last and not wrap.is_code))
        if whole and not opening:
            first = min(first, wrap.outer)
            if wrap.outer in shared:
                last = max(last, wrap.end)
        elif wrap.outer not in shared:
            opening = wrap.opening + opening
    for wrap in reversed(inside):
        if wrap.outer in shared or wrap.end <= last:
            continue
        if wrap.inner[1] == last and not closing:
            last = max(last, wrap.end)
        else:
            closing += wrap.closing
    return opening + source[first:last] + closing


def _begin_of_line(source: str, trace: Trace, first: int) -> int:
    """Return the beginning of the line if only markers stand before `first`, else `first`."""
    begin = source.rfind("\n", 0, first) + 1
    return first if any(begin <= start < first for start, _ in trace.ranges) else begin


def _own_lines(source: str, trace: Trace, first: int, last: int) -> str:
    """Return code lines without the indentation of a list or quote around them."""
    starts = sorted({start for start, end in trace.ranges if first <= start < last and end > start})
    kept: list[str] = []
    place = first
    for line in source[first:last].splitlines(keepends=True):
        end = place + len(line)
        own = next((start for start in starts if place <= start < end), place)
        kept.append(source[place if place == first else own : end])
        place = end
    return "".join(kept)
