"""Selecting in a Markdown document: characters of the source, stable while the source grows and lines wrap anew."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from typing_extensions import override

from tui_host.tui.markdown.document import Document
from tui_host.tui.markdown.origins import Range, Trace, Wrap
from tui_host.tui.markdown.wrap import character_at
from tui_host.tui.widgets.lines.selectable import CharacterSelection, Letters, Stretch, run_at


class DocumentSelection(CharacterSelection):
    """Selects in a document that is drawn `indent` cells from the left; copies Markdown."""

    def __init__(self, document: Document, indent: int) -> None:
        self._document = document
        self._indent = indent

    @override
    def letters(self, line: int) -> Sequence[Letters]:
        number, inside, lines = self._document.lines_at(line)
        runs = lines[inside].runs if inside < len(lines) else ()
        if not runs:
            return ()
        trace = self._document.trace(number)
        letters: list[Letters] = []
        for x, place, length in runs:
            ranges = trace.ranges[place : place + length]
            start = trace.ranges[place][0]
            text = "".join(trace.text[place : place + length])
            letters.append(Letters(self._indent + x, text, ranges, start, ranges[-1][1] if ranges else start))
        return letters

    @override
    def place_of(self, line: int) -> int:
        number, inside, lines = self._document.lines_at(line)
        if inside >= len(lines):
            return self._document.length
        trace = self._document.trace(number)
        above = next((drawn.runs[-1] for drawn in reversed(lines[:inside]) if drawn.runs), None)
        return trace.ranges[above.place + above.length - 1][1] if above and above.length else trace.piece.start

    @override
    def lines_near(self, place: int) -> Iterable[int]:
        start, lines = self._document.piece_lines(self._document.piece_of(place))
        return range(start, start + max(1, len(lines)))

    @override
    def around(self, line: int, cell: int, *, whole: bool) -> Stretch | None:
        """Return a word or a single other character; or a paragraph, cell or code line, with markers before its first line."""
        number, inside, lines = self._document.lines_at(line)
        letters = self.letters(line)
        run = run_at(letters, cell)
        if run is None or not run.text:
            return None
        span = character_at(run.text, cell - run.x)
        if span is None and not whole:
            return None
        trace = self._document.trace(number)
        place = lines[inside].runs[letters.index(run)].place
        first, last = trace.text_at(place) if whole else trace.word_at(place + (span[0] if span else 0))
        if first >= last:
            return None
        start, end = trace.ranges[first][0], trace.ranges[last - 1][1]
        return (_begin_of_line(self._document.source, trace, start) if whole and len(letters) == 1 else start,), (end,)

    @override
    def copied(self, selected: Stretch) -> tuple[str, str]:
        return "selection", copied(self._document, (selected[0][0], selected[1][0]))


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
