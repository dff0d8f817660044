"""How many events an answer has, which people count by, and not by the pieces in which it came."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.opening.captured import CHAT, NOW_NS, PIECE
from tui_host.capture.http.sse import SseDecoder
from tui_host.capture.json.narrowing import mapping
from tui_host.capture.ladder.exchange_rows import EventCount
from tui_host.capture.record import Head
from tui_host.opening.import_types import File
from tui_host.opening.recognition import read

STREAM = (
    ": waiting\n\nevent: ping\ndata: {}\n\n"
    + "".join(f"data: {json.dumps({**mapping(PIECE), 'n': n})}\r\n\r\n" for n in range(3))
    + "id: 7\n\ndata: the word data: in a text\n\ndata: [DONE]\n\n"
).encode()


def count_of(kind: str, pieces: Sequence[bytes], coding: str = "") -> int:
    count = EventCount(Head(headers=(("Content-Type", kind), ("Content-Encoding", coding))))
    return sum(count.feed(piece) for piece in pieces)


@given(st.lists(st.integers(1, 60), max_size=30))
def test_events_are_as_many_wherever_they_were_cut(sizes: Sequence[int]) -> None:
    pieces: list[bytes] = []
    rest = STREAM
    for size in sizes:
        pieces, rest = [*pieces, rest[:size]], rest[size:]
    decoded = sum(event.kind == "event" for event in SseDecoder().feed(STREAM))
    assert count_of("text/event-stream; charset=utf-8", [*pieces, rest]) == decoded == 6


@pytest.mark.parametrize(
    ("kind", "coding", "events"),
    [
        ("application/x-ndjson", "", 2),
        ("application/json", "", 0),
        ("text/event-stream", "gzip", 0),
        ("text/event-stream", "identity", 1),
    ],
)
def test_lines_are_events_where_they_are_values_and_what_is_coded_shows_none(
    kind: str, coding: str, events: int
) -> None:
    assert count_of(kind, [b'data: {"a":1}\n{"b"', b":2}\n"], coding) == events


def test_a_stream_without_a_head_has_none() -> None:
    assert EventCount(None).feed(STREAM) == 0


def test_events_of_a_log_are_counted() -> None:
    said = [f"data: {json.dumps(PIECE)}"] * 3 + ["data: [DONE]"]
    lines = [f">> {json.dumps(CHAT)}", *(f"<< {event}" for event in said)]
    drafts = [each.draft for each in read([File(name="a", data="\n".join(lines).encode(), time_ns=NOW_NS)]).drafts]
    count = EventCount(next(draft.head for draft in drafts if draft.kind == "response"))
    assert sum(count.feed(draft.data) for draft in drafts if draft.kind == "chunk") == len(said)
