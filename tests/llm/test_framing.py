"""A body that is one list gives its elements as they come, wherever it is cut."""

from __future__ import annotations

import json

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.llm.recorded.gemini import LISTED, chunk, part
from tui_host.capture.http.sse import SseEvent
from tui_host.errors import JSON
from tui_host.llm.body_framing import ListDecoder
from tui_host.llm.dialects.gemini.write import Gemini
from tui_host.llm.events import TextDelta

TEXTS = st.text(st.sampled_from('"\\{}[],: \n\u2028é🙂ab'), max_size=8)
VALUES: st.SearchStrategy[JSON] = st.recursive(
    st.none() | st.integers() | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)
LISTS = st.lists(st.dictionaries(TEXTS, VALUES, max_size=3) | st.lists(VALUES, max_size=3), max_size=4)


def events(*pieces: bytes) -> list[SseEvent]:
    decoder = ListDecoder()
    return [event for piece in pieces for event in decoder.feed(piece)] + decoder.finish()


@settings(max_examples=15)
@given(LISTS, st.booleans(), st.integers(0, 200))
def test_each_element_is_an_event_at_its_bytes(values: list[JSON], indented: bool, cut: int) -> None:  # noqa: FBT001 - drawn
    body = json.dumps(values, ensure_ascii=False, indent=2 if indented else None).encode()

    found = events(body)

    assert [json.loads(one.data) for one in found if one.kind == "event"] == values
    assert all(body[one.start : one.end] == one.data for one in found if one.kind == "event")
    assert events(*(bytes([byte]) for byte in body)) == found
    assert events(body[:cut], body[cut:]) == found


def test_a_list_that_breaks_off_is_cut() -> None:
    for size in range(1, len(LISTED) - 2, 3):
        *whole, last = events(LISTED[:size])

        assert (last.kind, last.end) == ("cut", size)
        assert [one.kind for one in whole] == ["event"] * len(whole)
        assert whole == events(LISTED)[: len(whole)]


def test_elements_are_told_before_the_list_has_ended() -> None:
    decoder = Gemini().decoder("application/json")

    (told,) = decoder.feed(b"[" + chunk(part("hello"))[6:-2] + b",")

    assert isinstance(told, TextDelta)
    assert told.text == "hello"
