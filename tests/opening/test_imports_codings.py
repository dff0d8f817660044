"""Files in another coding than UTF-8: what Chinese programs write is read, and of what is nearly UTF-8 nothing is made that it is not."""

from __future__ import annotations

import json
import tracemalloc

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.capture.captured import ASK, NOW_NS, PIECE, TELL, WIRES
from tui_host.opening import File, Reading, read
from tui_host.opening.decode_file import plain
from tui_host.opening.drafts import Notes, Seen

ASKED = '{"model": "m", "messages": [{"role": "user", "content": "六乘以五等于多少?请用工具"}]}'
LOG = f"10:00:00 请求 {ASKED}\n10:00:01 响应 data: {json.dumps(PIECE)}\n10:00:01 响应 data: [DONE]\n"


def reading_of(data: bytes) -> tuple[Reading, list[Seen]]:
    reading = read([File(name="a.log", data=data, time_ns=NOW_NS)], WIRES)
    return reading, list(reading.seen)


def said(found: list[Seen]) -> list[tuple[str, bytes, str | None]]:
    return [(each.draft.kind, each.draft.data, each.draft.malformed) for each in found]


@pytest.mark.parametrize("coding", ["gbk", "gb18030"])
def test_a_log_in_gbk_is_read_as_its_text_is(coding: str) -> None:
    reading, found = reading_of(LOG.encode(coding))
    assert said(found) == said(reading_of(LOG.encode())[1])
    assert any(ASKED.encode() == each.draft.data for each in found)
    assert reading.notes.told == ["a.log is in GBK: the bytes shown of it are those of its text in UTF-8."]
    assert not reading.notes.words


def test_a_log_in_gbk_that_ends_within_a_character_is_read_up_to_there() -> None:
    reading, found = reading_of(f"{LOG}再来".encode("gbk")[:-1])
    assert said(found) == said(reading_of(LOG.encode())[1])
    assert "is in GBK" in reading.notes.told[0]


def test_a_request_in_gbk_is_a_body() -> None:
    reading, found = reading_of(ASKED.encode("gbk"))
    assert reading.formats == ["a request"]
    assert [each.draft.data for each in found if each.draft.kind == "request"] == [ASKED.encode()]


@pytest.mark.parametrize(
    "data",
    [
        b'{"model":"m","messages":[{"role":"user","content":"caf\xe9 \xff\xfe end"}]}',
        '{"model":"m","messages":[{"role":"user","content":"Prüfer, größer, à côté, café"}]}'.encode("latin-1"),
        ASKED.encode().replace("五".encode(), "五".encode()[:2]),
        ASKED.encode()[:-9].replace("等".encode(), b"\xe7\xad") + ASKED.encode()[-9:],
    ],
)
@pytest.mark.parametrize("lead", [b"", b"10:00:00 POST /v1/chat/completions "])
def test_bytes_that_are_no_utf_8_stay_as_they_are_and_nothing_is_called_cut_off(data: bytes, lead: bytes) -> None:
    reading, found = reading_of(lead + data + (b"\n" if lead else b""))
    assert [each for each in said(found) if each[0] == "request"] == [("request", data, None)]
    assert reading.notes.told == [
        "a.log has bytes that are no UTF-8, the first in line 1: what stands around them is read."
    ]
    assert not reading.notes.words


def test_what_is_utf_8_is_read_without_a_word_on_it() -> None:
    for data in (LOG.encode(), f"{json.dumps(ASK)}\n{json.dumps(TELL)}\n".encode(), LOG.encode()[:-1]):
        assert not reading_of(data)[0].notes.told


def test_to_know_the_coding_of_a_large_file_takes_no_memory_as_large() -> None:
    line = f"10:00:00 {json.dumps(ASK)} 你好\n".encode()
    data = line * (24 * (1 << 20) // len(line))
    tracemalloc.start()
    try:
        assert plain(File(name="a.log", data=data), Notes()).data is data
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most < len(data) / 2


@pytest.mark.parametrize("coding", ["utf-16-le", "utf-16-be"])
def test_a_log_in_utf_16_is_read_without_a_byte_order_mark_also_where_characters_have_a_zero_on_the_other_side(
    coding: str,
) -> None:
    log = f"第一次　一 {LOG}"
    reading, found = reading_of(log.encode(coding))
    assert said(found) == said(reading_of(log.encode())[1])
    assert any(ASKED.encode() == each.draft.data for each in found)
    assert not reading.notes.told


def test_a_log_with_zeros_in_it_is_no_utf_16() -> None:
    log = LOG.replace("六", "a\0b").encode() + b"\0" * 9
    assert plain(File(name="a.log", data=log), Notes()).data == log


CHINESE = "全部都是中文的日志行没有别的什么东西在这里\n“第一行”，服务已经启动……\n"


@pytest.mark.parametrize("coding", ["utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("end", [b"", b"\x0a"])
def test_a_log_in_utf_16_without_a_byte_order_mark_may_begin_with_many_lines_of_chinese(
    coding: str, end: bytes
) -> None:
    log = f"{CHINESE * 150}{LOG}"
    reading, found = reading_of(log.encode(coding) + end)
    assert said(found) == said(reading_of(log.encode())[1])
    assert any(ASKED.encode() == each.draft.data for each in found)
    assert len(reading.notes.told) == len(end)


@pytest.mark.parametrize("coding", ["utf-8", "gbk", "latin-1", "big5", "shift_jis"])
@pytest.mark.parametrize("text", [CHINESE, "Prüfer, größer, à côté, café\n", "plain words in a line\n"])
@pytest.mark.parametrize("zeros", [b"\n\0", b"\0\n", b"\0", b"\n\0\n\0"])
@pytest.mark.parametrize("lead", [b"", b"a"])
def test_text_in_another_coding_with_zeros_in_it_is_no_utf_16(
    coding: str, text: str, zeros: bytes, lead: bytes
) -> None:
    line = text.encode(coding, "replace").replace(b"\n", b"") + zeros
    line += b" " * (len(line) % 2)  # else the zeros stand on either side
    data = lead + line * 100
    found = plain(File(name="a.log", data=data), Notes()).data
    assert found == data


@pytest.mark.parametrize("zero", [b"\0\n", b"\n\0", b" \0 \0"])
@pytest.mark.parametrize("lead", [b"", b"a"])
def test_utf_8_with_zeros_and_bytes_that_are_wrong_in_it_is_no_utf_16(zero: bytes, lead: bytes) -> None:
    data = lead + (CHINESE.encode()[:-1] + zero + b"\xff") * 50
    assert plain(File(name="a.log", data=data), Notes()).data == data


@given(st.binary(min_size=400, max_size=4000))
def test_no_bytes_at_random_are_utf_16(data: bytes) -> None:
    assume(data[:2] not in {b"\xff\xfe", b"\xfe\xff", b"\x1f\x8b"} and data[:3] != b"\xef\xbb\xbf")
    assume(max(data[::2].count(0), data[1::2].count(0)) < 60)
    assert plain(File(name="a.log", data=data), Notes()).data == data
