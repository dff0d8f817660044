"""Files in other codings: UTF-16 with its mark, GBK, and text with a few wrong bytes."""

from __future__ import annotations

import gzip
import json
import tracemalloc

import pytest

from tests.opening.captured import ASK, CHAT, NOW_NS, PIECE, TELL, seen, told
from tui_host.errors import TuiHostError
from tui_host.opening.decode_file import in_utf_8
from tui_host.opening.import_types import File, Notes, TimedDraft
from tui_host.opening.recognition import Reading, read

ASKED = '{"model": "m", "messages": [{"role": "user", "content": "六乘以五等于多少?请用工具"}]}'
LOG = f"10:00:00 请求 {ASKED}\n10:00:01 响应 data: {json.dumps(PIECE)}\n10:00:01 响应 data: [DONE]\n"
FRAMES = f"-> {json.dumps(ASK)}\n<- {json.dumps(TELL)}\n"
BOTH = [("mcp", "frame", "out"), ("mcp", "frame", "in")]


def reading_of(data: bytes) -> tuple[Reading, list[TimedDraft]]:
    reading = read([File(name="a.log", data=data, time_ns=NOW_NS)])
    return reading, list(reading.drafts)


def said(found: list[TimedDraft]) -> list[tuple[str, bytes, str | None]]:
    return [(each.draft.kind, each.draft.data, each.draft.malformed) for each in found]


@pytest.mark.parametrize("coding", ["gbk", "gb18030"])
def test_a_log_in_gbk_is_read_as_its_text_is(coding: str) -> None:
    reading, found = reading_of(LOG.encode(coding))
    assert said(found) == said(reading_of(LOG.encode())[1])
    assert any(ASKED.encode() == each.draft.data for each in found)
    assert reading.notes.messages == ["a.log is in GBK: the bytes shown are those of its text in UTF-8."]
    assert not reading.notes.left_out


def test_a_request_in_gbk_is_a_body() -> None:
    reading, found = reading_of(ASKED.encode("gbk"))
    assert reading.formats == ["a request"]
    assert [each.draft.data for each in found if each.draft.kind == "request"] == [ASKED.encode()]


@pytest.mark.parametrize("lead", [b"", b"10:00:00 POST /v1/chat/completions "])
def test_bytes_that_are_no_utf_8_stay_as_they_are(lead: bytes) -> None:
    data = b'{"model":"m","messages":[{"role":"user","content":"caf\xe9 \xff\xfe end"}]}'
    reading, found = reading_of(lead + data + (b"\n" if lead else b""))
    assert [each for each in said(found) if each[0] == "request"] == [("request", data, None)]
    assert reading.notes.messages == [
        "a.log has bytes that are no UTF-8, the first in line 1: what stands around them is read."
    ]
    assert not reading.notes.left_out


def test_what_is_utf_8_is_read_without_a_word_on_it() -> None:
    for data in (LOG.encode(), FRAMES.encode(), LOG.encode()[:-1], b"\xef\xbb\xbf" + FRAMES.encode()):
        assert not reading_of(data)[0].notes.messages


def test_to_know_the_coding_of_a_large_file_takes_no_memory_as_large() -> None:
    line = f"10:00:00 {json.dumps(ASK)} 你好\n".encode()
    data = line * (24 * (1 << 20) // len(line))
    tracemalloc.start()
    try:
        assert in_utf_8(File(name="a.log", data=data), Notes()).data is data
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most < len(data) / 2


def test_a_file_that_is_packed_or_in_utf_16_is_read_as_its_text_is() -> None:
    plain = f"{json.dumps(CHAT)}\ndata: {json.dumps(PIECE)}\n"
    kinds = [told(seen(data)) for data in (plain, gzip.compress(plain.encode()), plain.encode("utf-16"))]
    assert kinds[0] == kinds[1] == kinds[2] != []
    packed = gzip.compress(plain.encode())
    assert told(seen(packed + packed)) == told(seen(plain * 2))
    with pytest.raises(TuiHostError, match="gzip cannot unpack it"):
        seen(packed[:-9])
