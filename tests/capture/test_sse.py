"""An event stream gives the same events however its bytes were cut."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui_host.capture.http.sse import SseDecoder, SseEvent

PIECES = st.sampled_from(
    [
        *(b'data: {"a":1}', b"data:{}", b"data", b"data: ", b"data:  two", b": ping", b":", b"event: done", b"id: 7"),
        *(b"id: a\0b", b"retry: 30", b"retry: x", b"other: field", b"data: [DONE]", b"\xef\xbb\xbf", b"\xff"),
        *("data: \u2028工\x85\x0b\x0c".encode(), b"\n", b"\r", b"\r\n", b"\n\n", b"\r\r", b"\r\n\r\n"),
    ]
)
STREAMS = st.lists(PIECES, max_size=30).map(b"".join)


def events(*chunks: bytes, limit: int = 64 << 20) -> list[SseEvent]:
    decoder = SseDecoder(limit)
    return [event for chunk in chunks for event in decoder.feed(chunk)] + decoder.finish()


def cut_at(stream: bytes, cuts: list[int]) -> list[bytes]:
    bounds = [0, *sorted(min(cut, len(stream)) for cut in cuts), len(stream)]
    return [stream[start:end] for start, end in itertools.pairwise(bounds)]


@given(STREAMS, st.lists(st.integers(0, 200), max_size=20), st.integers(1, 40))
def test_any_cut_of_the_bytes_gives_the_same_events_and_offsets(stream: bytes, cuts: list[int], limit: int) -> None:
    assert events(*cut_at(stream, cuts)) == events(*(bytes([byte]) for byte in stream)) == events(stream)
    limited = events(stream, limit=limit)
    assert events(*cut_at(stream, cuts), limit=limit) == limited
    assert all(len(event.data) <= limit for event in limited)


@given(STREAMS)
def test_offsets_name_the_bytes_of_the_event(stream: bytes) -> None:
    for event in events(stream):
        span = stream[event.start : event.end]
        assert span[-1:] not in {b"\n", b"\r"}
        assert event.start == 0 or stream[: event.start].endswith((b"\n", b"\r", b"\xef\xbb\xbf"))
        if event.kind == "comment":
            assert span.startswith(b":")
        elif event.kind == "event":
            assert all(part in span for part in event.data.split(b"\n"))


ERROR = b'{\n  "error": {"code": 500}\n}'
BREAKS = "a\u2028b\u2029c\x85d\x0be\x0cf\x1cg".encode()


@pytest.mark.parametrize(
    ("stream", "found"),
    [
        (b"data: a\ndata: b\n\ndata: c\n\n", [b"a\nb", b"c"]),
        (b"\xef\xbb\xbfdata: a\n\n", [b"a"]),  # a byte order mark
        (b"data:{}\n\ndata:  x\n\ndata\n\n", [b"{}", b" x", b""]),
        (b"data: a\n{}\n\n", [b"a"]),
        (b"data: " + BREAKS + b"\n\n", [BREAKS]),
        (b"data: a\n: ping\ndata: b\n\n", ["comment", b"ping", b"a\nb"]),
        (b"data: a\n\n" + ERROR, [b"a", "other", ERROR]),
        (ERROR + b"\n\nevent: x\n\n", ["other", ERROR, "other", b""]),
    ],
)
@pytest.mark.parametrize("end", [b"\n", b"\r", b"\r\n"])
def test_a_stream_is_read_by_its_standard(stream: bytes, found: list[bytes | str], end: bytes) -> None:
    read: list[bytes | str] = []
    for event in events(stream.replace(b"\n", end)):
        data = event.data.replace(end, b"\n")
        read += [data] if event.kind == "event" else [event.kind, data]
    assert read == found


def test_crlf_may_be_cut_in_the_middle_and_does_not_delay_the_event() -> None:
    decoder = SseDecoder()
    assert decoder.feed(b"data: a\r\n\r")[0].data == b"a"
    assert decoder.feed(b"\ndata: b\r\n\r\n") == [SseEvent(data=b"b", start=11, end=18)]


@pytest.mark.parametrize(
    ("last", "kind"),
    [
        (b'data: {"a":1}', "event"),
        (b'data: {"a":1}\n', "event"),
        (b"data: [DONE]", "event"),
        (b'data: {"a":', "cut"),
        (b"data: " + b"[" * 100_000, "cut"),
        (b"event: x", "cut"),
    ],
)
def test_a_last_block_without_its_blank_line_counts_if_it_is_complete(last: bytes, kind: str) -> None:
    assert [event.kind for event in events(b"data: 1\n\n", last)] == ["event", kind]
