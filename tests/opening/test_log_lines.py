"""The lines of logs: their times, and the codings of the files."""

from __future__ import annotations

import gzip
import json
import tracemalloc
from datetime import UTC, datetime

import pytest

from tests.opening.captured import ASK, CHAT, NOW_NS, PIECE, TELL, seen, told
from tui_host.errors import TuiHostError
from tui_host.opening.decode_file import in_utf_8
from tui_host.opening.import_types import File, Notes, TimedDraft
from tui_host.opening.log_lines import LogClock
from tui_host.opening.recognition import Reading, read

SECOND_NS = 10**9
LOCAL = datetime(2026, 11, 20, 14, 2, 7)  # noqa: DTZ001 - of this machine's zone
IN_UTC = LOCAL.replace(tzinfo=UTC)


@pytest.mark.parametrize(
    ("words", "at"),
    [
        ("2026-11-20 14:02:07 INFO", LOCAL),
        ("[2026/11/20 14:02:07]", LOCAL),
        ("2026-11-20T14:02:07Z", IN_UTC),
        ("2026-11-20 14:02:07 UTC", IN_UTC),
        ("2026-11-20 22:02:07 +0800", IN_UTC),
        ("2026-11-20T22:02:07.000+08:00", IN_UTC),
        ("at 1795183327 >>>", IN_UTC),
        ("1795183327000 >>>", IN_UTC),
        ("1795183327.000000 >>>", IN_UTC),
    ],
)
def test_a_time_with_its_date_is_read(words: str, at: datetime) -> None:
    moment = LogClock(b"", 0).at(words)
    assert (moment.ns, moment.is_told) == (int(at.timestamp()) * SECOND_NS, True)


@pytest.mark.parametrize(
    "words", ["", "14:02:07", "id 20261399140207", "2026-13-45 14:02:07", "11/20/2026, 2:02:07 PM"]
)
def test_words_in_another_form_tell_no_time(words: str) -> None:
    assert not LogClock(b"", 0).at(words).is_told


def test_a_log_begins_with_its_first_time_and_its_clock_never_goes_back() -> None:
    lines = (
        json.dumps(ASK),
        f"2026-11-20T14:02:07.5Z -> {json.dumps({**ASK, 'id': 2})}",
        f"2026-11-20T14:02:06Z -> {json.dumps({**ASK, 'id': 3})}",
        "2026-11-20T14:02:09Z received:",
        json.dumps(TELL),
        f"2199-01-01T00:00:00Z {json.dumps({**ASK, 'id': 4})}",
    )
    first_ns = int(IN_UTC.timestamp()) * SECOND_NS + SECOND_NS // 2
    assert [((each.at.ns - first_ns) / SECOND_NS, each.at.is_told) for each in seen("\n".join(lines))] == [
        (0, False),
        (0, True),
        (0, True),
        (1.5, True),
        (1.5, False),
    ]


ASKED = '{"model": "m", "messages": [{"role": "user", "content": "六乘以五等于多少?请用工具"}]}'
LOG = f"2026-11-20 10:00:00 请求 {ASKED}\n2026-11-20 10:00:01 响应 data: {json.dumps(PIECE)}\n2026-11-20 10:00:01 响应 data: [DONE]\n"
FRAMES = f"-> {json.dumps(ASK)}\n<- {json.dumps(TELL)}\n"


def reading_of(data: bytes) -> tuple[Reading, list[TimedDraft]]:
    reading = read([File(name="a.log", data=data, time_ns=NOW_NS)])
    return reading, list(reading.drafts)


def words_of(found: list[TimedDraft]) -> list[tuple[str, bytes, str | None]]:
    return [(each.record.kind, each.record.data, each.record.malformed) for each in found]


@pytest.mark.parametrize("coding", ["gbk", "gb18030"])
def test_a_log_in_gbk_is_read_as_its_text_is(coding: str) -> None:
    reading, found = reading_of(LOG.encode(coding))
    assert words_of(found) == words_of(reading_of(LOG.encode())[1])
    assert any(ASKED.encode() == each.record.data for each in found)
    assert reading.notes.messages == ["a.log is in GBK: the bytes shown are those of its text in UTF-8."]
    assert not reading.notes.left_out


def test_a_request_in_gbk_is_a_body() -> None:
    reading, found = reading_of(ASKED.encode("gbk"))
    assert reading.formats == ["a request"]
    assert [each.record.data for each in found if each.record.kind == "request"] == [ASKED.encode()]


@pytest.mark.parametrize("lead", [b"", b"2026-11-20 10:00:00 POST /v1/chat/completions "])
def test_bytes_that_are_no_utf_8_stay_as_they_are(lead: bytes) -> None:
    data = b'{"model":"m","messages":[{"role":"user","content":"caf\xe9 \xff\xfe end"}]}'
    reading, found = reading_of(lead + data + (b"\n" if lead else b""))
    assert [each for each in words_of(found) if each[0] == "request"] == [("request", data, None)]
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
