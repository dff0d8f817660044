"""What a profile and a tool protocol put into a request, and what was read out of a response: parts of texts, by their bytes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from tui_host.capture.chain import read_link
from tui_host.capture.json.reading import read_json
from tui_host.capture.ladder.row import Row
from tui_host.capture.link import Link
from tui_host.capture.visible import decode
from tui_host.llm.outline import Part
from tui_host.tui.masks import masked
from tui_host.tui.widgets.pages.page_body import Body
from tui_host.tui.widgets.pages.row_source import InspectorSource
from tui_host.tui.widgets.pages.tree_page import Entry


def marks_of(source: InspectorSource, row: Row) -> list[Link]:
    """The links that name bytes of a row, in the order of these bytes."""
    side = "request" if row.kind == "request" else "response"
    records = (source.record(key) for key in source.ladder.links(row))
    links = (read_link(record.draft.data) for record in records if record is not None)
    return sorted(
        (link for link in links if link is not None and link.span.side == side), key=lambda each: each.span.start
    )


def put_in(marks: Iterable[Link]) -> Iterator[str]:
    """How much of a request a profile and the tool protocol put in, a line for each that did."""
    sizes: Counter[str] = Counter()
    for mark in marks:
        if mark.relation in {"injected", "profile"}:
            who = "the tool protocol" if mark.relation == "injected" else mark.words
            sizes[who] += (mark.span.end or 0) - mark.span.start
    return (f"put in by {who}: {size:,} bytes, marked «put in» below" for who, size in sizes.items())


def origin_of(part: Part, marks: Sequence[Link]) -> str:
    """The profile whose words a part is all of, empty for none."""
    inside = [mark for mark in marks if part.start <= mark.span.start < (mark.span.end or 0) <= part.end]
    return inside[0].words if len(inside) == 1 and inside[0].relation == "profile" else ""


def within(part: Part, marks: Sequence[Link], body: Body) -> tuple[Entry, ...]:
    """The marked pieces of a part's text. A result that is a part of its own is none."""
    return tuple(
        _piece(mark, body)
        for mark in marks
        if mark.relation in {"injected", "profile", "told"}
        and part.start <= mark.span.start < (mark.span.end or 0) <= part.end
        and (mark.span.start, mark.span.end) != (part.start, part.end)
    )


def _piece(mark: Link, body: Body) -> Entry:
    start, end = mark.span.start, mark.span.end or mark.span.start
    is_told = mark.relation == "told"
    label = f"tells the result of {_called(mark)}  {mark.words}" if is_told else mark.words
    if mark.relation == "profile":
        label = f"the system prompt of {label}"
    return Entry(
        key=f"{mark.relation}/{start}",
        label=masked(label, body.redacted),
        figures=(f"{end - start:,}",),
        mark="result" if is_told else "put in",
        note=_bytes(start, end),
        text=lambda: masked(_said(body.data[start:end]), body.redacted),
        style="what",
    )


def read_out(marks: Iterable[Link], body: Body, *, has_calls: bool) -> list[Entry]:
    """What was read out of a response.

    Args:
        marks: The links of the response.
        body: Its bytes.
        has_calls: The dialect has a place for calls: then they are parts by themselves.
    """
    entries: list[Entry] = []
    for mark in marks:
        is_call = mark.relation == "asked"
        if (is_call and has_calls) or mark.relation not in {"asked", "cut"}:
            continue
        pieces = mark.span.pieces(body.data)
        size = sum(len(piece) for piece in pieces)
        label = (
            f"became the call  {_called(mark)} {mark.words}" if is_call else f"made up behind the call  {mark.words}"
        )
        entries.append(
            Entry(
                key=f"{mark.relation}/{mark.span.start}",
                label=masked(label, body.redacted),
                figures=(f"{size:,}",),
                mark="" if is_call else "cut",
                note=_bytes(mark.span.start, mark.span.end or 0),
                text=lambda pieces=pieces: masked("\n".join(decode(piece) for piece in pieces), body.redacted),
                style="what" if is_call else "note",
                form="plain",
            )
        )
    return entries


def _bytes(start: int, end: int) -> str:
    return f"bytes {start:,} to {end:,}"


def _called(mark: Link) -> str:
    return f"{mark.server}.{mark.tool}" if mark.server else mark.tool or mark.call


def _said(piece: bytes) -> str:
    """The inside of a JSON string as the text that it says."""
    text = decode(piece)
    try:
        value = read_json(f'"{text}"')
    except ValueError:
        return text
    return value if isinstance(value, str) else text
