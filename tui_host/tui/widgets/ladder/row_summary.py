"""A model's request or response in a few words, for its row."""

from __future__ import annotations

from tui_host.capture.ladder.row import Row
from tui_host.tui.widgets.pages.page_steps import PIECE, Steps
from tui_host.tui.widgets.pages.row_source import InspectorSource

MOST = 4 << 20
"""Bytes of a body that are read for its words."""


def describe(source: InspectorSource, row: Row) -> Steps[str]:
    """«3 tools · 2 messages», «asks math.add {"a":1,"b":2}», «12 models»; nothing for what is too large or not known."""
    from tui_host.llm.exchange_summary import ResponseWords, list_words, request_words
    from tui_host.tui.widgets.pages.page_body import head_of, reading

    if row.size > MOST or row.missing:
        return ""
    body = yield from reading(source, row)
    dialect = source.dialect(row)
    if row.kind == "request":
        before = source.before(row)
        in_turn = before is not None and before.turn == row.turn and before.clock == row.clock
        earlier = source.body(before) if before is not None and in_turn else None
        return request_words(body.data, earlier, dialect=dialect)
    if dialect is None:
        return ""
    if row.method == "GET" and row.status < 400:  # nobody asks a model so
        return list_words(body.data, dialect=dialect.name)
    head = head_of(source, row)
    words = ResponseWords(
        dialect=dialect.name,
        status=row.status,
        headers=head.headers if head is not None else (),
        names=source.names(row),
        hide=source.hide,
    )
    for start in range(0, len(body.data), PIECE):
        words.feed(body.data[start : start + PIECE])
        yield f"{start:,} of {len(body.data):,} bytes"
    if row.state != "open":
        words.finish()
    # A tool protocol of plain text reads calls out of what is text to the dialect: the links know of them.
    return words.words if not row.words.startswith("asks ") or "asks " in words.words else row.words
