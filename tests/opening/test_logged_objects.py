"""Objects that loggers write a line, their times, and the codings of files."""

from __future__ import annotations

import gzip
import json
import tracemalloc
from collections.abc import Callable
from datetime import UTC, datetime

import pytest

from tests.opening.captured import ASK, CHAT, NOW_NS, PIECE, TELL, WHOLE, seen, told
from tui_host.capture.json.narrowing import mapping
from tui_host.errors import JSON, TuiHostError
from tui_host.opening.decode_file import in_utf_8
from tui_host.opening.exchange_assembly import NO_ANSWER_BUT, NOT_KNOWN
from tui_host.opening.import_types import File, Notes, TimedDraft
from tui_host.opening.logs.log_time import LogClock
from tui_host.opening.recognition import Reading, read

PING = {**ASK, "method": "ping"}
EVENT = f"data: {json.dumps({'type': 'message_start', 'message': {}})}"
TEXTS: dict[str, list[str]] = {
    "arrows": [f"--> {json.dumps(ASK)}", f"<-- {json.dumps(TELL)}"],
    "who to whom": [f"server -> client: {json.dumps(PING)}", f"client -> server: {json.dumps(TELL)}"],
    "bare arrows": [f"<- {json.dumps(PING)}", f"-> {json.dumps(TELL)}"],
    "words": [f"INFO request {json.dumps(CHAT)}", f"INFO response {json.dumps(WHOLE)}"],
    "a stream": [f">>> {json.dumps(CHAT)}", *[f"<<< data: {json.dumps(PIECE)}"] * 2, "<<< data: [DONE]"],
    "a stream of named events": [f">>> {json.dumps(CHAT)}", "event: message_start", EVENT, ""],
    "exchanges with names": [
        *(f"[req-{n}] >> {json.dumps({**mapping(CHAT), 'seed': n})}" for n in (1, 2)),
        *(f"[req-{n}] << {json.dumps({**mapping(WHOLE), 'id': f'c{n}'})}" for n in (2, 1)),
    ],
}
OBJECTS: dict[str, Callable[[str, int], str]] = {
    "pino": lambda text, n: json.dumps(
        {"level": 30, "time": 1764583200000 + n, "pid": 7, "hostname": "h", "msg": text}
    ),
    "winston": lambda text, n: json.dumps(
        {"level": "info", "message": text, "timestamp": f"2025-12-01T10:00:00.{n:03}Z"}
    ),
    "bunyan": lambda text, n: json.dumps(
        {"v": 0, "msg": text, "time": f"2025-12-01T10:00:00.{n:03}Z", "name": "proxy"}
    ),
    "structlog": lambda text, n: json.dumps({"event": text, "timestamp": f"2025-12-01T10:00:00.{n:03}Z"}),
    "Google's": lambda text, n: json.dumps({"textPayload": text, "timestamp": f"2025-12-01T10:00:00.{n:03}Z"}),
    "within another's": lambda text, n: json.dumps({"fields": {"app": "p"}, "message": OBJECTS["pino"](text, n)}),
    "Loguru": lambda text, n: json.dumps(
        {
            "text": f"2025-12-01 10:00:00.{n:03} | INFO | {text}\n",
            "record": {"level": {"name": "INFO", "no": 20}, "message": text},
        }
    ),
    "Docker": lambda text, n: json.dumps(
        {"log": f"{text}\n", "stream": "stdout", "time": f"2025-12-01T10:00:00.{n:03}000000Z"}
    ),
    "Docker, of pino": lambda text, n: OBJECTS["Docker"](OBJECTS["pino"](text, n), n),
}


def said(found: list[TimedDraft]) -> list[tuple[str, str, object, object, str]]:
    return [
        (each.draft.wire, each.draft.kind, each.draft.direction, each.draft.exchange, each.draft.data.decode().rstrip())
        for each in found
        if each.draft.kind != "end"
    ]


def text_of(found: list[tuple[str, str, object, object, str]]) -> list[tuple[object, ...]]:
    """The same with the pieces of each stream as one."""
    answers = {each[3]: "" for each in found}
    for each in found:
        answers[each[3]] += "".join(each[4].split()) if each[1] == "chunk" else ""
    return [(*each[:4], answers[each[3]] if each[1] == "response" else each[4]) for each in found if each[1] != "chunk"]


@pytest.mark.parametrize("logger", OBJECTS)
@pytest.mark.parametrize("name", TEXTS)
def test_a_text_in_an_object_of_a_logger_is_the_line_that_it_would_be_alone(logger: str, name: str) -> None:
    texts = TEXTS[name]
    found = seen("\n".join(OBJECTS[logger](text, n) for n, text in enumerate(texts)))
    assert text_of(said(found)) == text_of(said(seen("\n".join(texts))))
    assert found[0].at.is_told
    assert found[0].at.ns == 1764583200 * 10**9


def test_what_a_line_does_not_tell_its_object_does() -> None:
    way = [
        json.dumps({"ts": 1764583200.5 + n, "dir": way, "reqId": "a", "msg": f"passed on: {json.dumps(PING)}"})
        for n, way in enumerate(("client -> server", "server -> client"))
    ]
    found = seen("\n".join(way))
    assert [each.draft.direction for each in found] == ["out", "in"]
    names = [("a", CHAT), ("b", CHAT), ("b", WHOLE), ("a", WHOLE)]
    found = seen("\n".join(json.dumps({"reqId": name, "msg": f"seen {json.dumps(value)}"}) for name, value in names))
    told = [each.draft.exchange for each in found if each.draft.kind in {"request", "chunk"}]
    assert told == ["x1", "x2", "x2", "x1"]
    server = json.dumps({"server": "files", "msg": f"--> {json.dumps(ASK)}"})
    assert [each.draft.peer for each in seen(server)] == ["files"]


# Exchanges.


CHAT_OF = mapping(CHAT)
STREAMED = f"data: {json.dumps(PIECE)}\n\ndata: [DONE]\n\n"
AT = "2026-11-22T20:00:01Z"
EVENTS: JSON = [PIECE, PIECE]
EXCHANGES: dict[str, JSON] = {
    "each in a member": {"request": CHAT, "response": WHOLE},
    "other names": {"timestamp": AT, "body": CHAT, "reply": WHOLE},
    "short names": {"timestamp": AT, "req": CHAT, "res": WHOLE},
    "answer first": {"completion": WHOLE, "payload": CHAT},
    "events": {"payload": CHAT, "output": EVENTS},
    "within": {**CHAT_OF, "response": WHOLE},
    "within, with what is told of both": {"id": "r1", "timestamp": AT, **CHAT_OF, "output": WHOLE, "duration_ms": 12},
    "within, with its status": {**CHAT_OF, "response": {"status": 200, "body": WHOLE}},
    "within, as text": {**CHAT_OF, "response": json.dumps(WHOLE)},
    "within, a stream": {**CHAT_OF, "response": STREAMED},
    "within, events": {**CHAT_OF, "chunks": EVENTS},
    "within, within": {"ts": 1795377601.5, "data": {**CHAT_OF, "response": WHOLE}},
    "within, as a logger's text": {"level": 30, "msg": f"done: {json.dumps({**CHAT_OF, 'response': WHOLE})}"},
}
ANSWERS: dict[str, JSON] = {"text": "hi there", "message": {"role": "assistant", "content": "hi there"}}


def exchange(text: str) -> tuple[JSON, str, list[tuple[str, str]]]:
    """The request, the answer's bytes, and what is known of its head."""
    found = [each.draft for each in read([File(name="a", data=text.encode(), time_ns=NOW_NS)]).drafts]
    assert {each.exchange for each in found} == {"x1"}
    assert [each.kind for each in found if each.kind != "chunk"] == ["request", "response", "end"]
    asked = next(each.data for each in found if each.kind == "request")
    head = next(each.head for each in found if each.kind == "response")
    said = b"".join(each.data for each in found if each.kind == "chunk")
    return json.loads(asked), said.decode(), list(head.headers if head is not None else ())


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize("name", EXCHANGES)
def test_an_object_that_holds_both_is_one_exchange(name: str, indent: int | None) -> None:
    asked, said, _ = exchange(json.dumps(EXCHANGES[name], indent=indent) + "\n")
    assert asked == CHAT
    assert said.strip() == json.dumps(WHOLE) or said.startswith(f"data: {json.dumps(PIECE)}\n\n")


@pytest.mark.parametrize("form", ANSWERS)
@pytest.mark.parametrize("is_within", [True, False])
@pytest.mark.parametrize(
    ("asked", "whole"),
    [
        (CHAT, {"choices": [{"index": 0, "message": {"role": "assistant", "content": "hi there"}}]}),
        ({**CHAT_OF, "options": {}}, {"message": {"role": "assistant", "content": "hi there"}, "done": True}),
        (
            {**CHAT_OF, "max_tokens": 1, "system": "s"},
            {"type": "message", "role": "assistant", "content": [{"type": "text", "text": "hi there"}]},
        ),
    ],
)
def test_the_text_of_an_answer_is_shown_as_its_message_with_what_is_not_known(
    form: str, asked: JSON, whole: JSON, *, is_within: bool
) -> None:
    answer = ANSWERS[form]
    value: JSON = {**mapping(asked), "response": answer} if is_within else {"request": asked, "response": answer}
    got, said, head = exchange(json.dumps(value))
    assert got == asked
    assert json.loads(said) == whole
    assert (NOT_KNOWN, NO_ANSWER_BUT) in head


# Times.


CHANGED = datetime(2026, 11, 23, 12, tzinfo=UTC)
LOCAL = datetime(2026, 11, 20, 14, 2, 7).astimezone()
NOON_NS = int(datetime(2026, 11, 22, 12).astimezone().timestamp()) * 10**9
SECOND_NS = 10**9
FRAME = json.dumps(ASK)


def told_in(words: str) -> int | None:
    """The time that words tell; None if they tell none."""
    at = LogClock(0, changed_ns=int(CHANGED.timestamp()) * SECOND_NS).at(words)
    return at.ns if at.is_told else None


def times(changed_ns: int, *texts: str) -> list[float]:
    """The seconds after the noon of a day of all that is read, in order."""
    files = [File(name="a.log", data=text.encode(), time_ns=changed_ns) for text in texts]
    return [(each.at.ns - NOON_NS) / 1e9 for each in read(files).drafts if each.at.is_told]


@pytest.mark.parametrize(
    "words",
    [
        "2026-11-20 14:02:07 INFO",
        "2026-11-20T14:02:07",
        "2026-11-20 14:02:07 1234 of line 5",
        "[2026/11/20 14:02:07]",
        "2026.11.20 14:02:07",
        "2026-11-20_14:02:07",
        "[GIN] 2026/11/20 - 14:02:07 | 200 |",
        "Nov 20 14:02:07 host proxy[7]:",
        "20 Nov 2026 14:02:07 >>>",
    ],
)
def test_a_time_with_its_date_is_read(words: str) -> None:
    assert told_in(words) == int(LOCAL.timestamp()) * SECOND_NS


@pytest.mark.parametrize(
    "words",
    [
        "2026-11-20T14:02:07Z",
        "2026-11-20 14:02:07 UTC",
        "2026-11-20 22:02:07 +0800",
        "2026-11-20T22:02:07.000+08:00",
        "Fri, 20 Nov 2026 14:02:07 GMT",
        "[20/Nov/2026:22:02:07 +0800] POST",
        '{"time": 1795183327}',
        "1795183327000 >>>",
        "1795183327.000000 >>>",
        "1795183327000000000 >>>",
    ],
)
def test_a_time_with_its_zone_is_of_that_zone(words: str) -> None:
    assert told_in(words) == int(LOCAL.replace(tzinfo=UTC).timestamp()) * SECOND_NS


@pytest.mark.parametrize(
    "words",
    [
        "",
        "took 1:02:03:04",
        "id 20261399140207",
        "version 2.11.2026",
        "2026-13-45 14:02:07",
        "20.11.2026 14:02:07",
        "11/20/2026, 2:02:07 PM",
        "2:02:07 PM",
        "下午2:02:07",
        "2026年11月20日 14:02:07",
    ],
)
def test_words_in_another_form_tell_no_time(words: str) -> None:
    assert told_in(words) is None


@pytest.mark.parametrize(("words", "year"), [("Dec 31 23:59:59", 2025), ("Nov 24 01:00:00", 2026)])
def test_a_date_without_a_year_is_of_the_last_one_in_which_it_was(words: str, year: int) -> None:
    told_ns = told_in(words)
    assert told_ns is not None
    assert datetime.fromtimestamp(told_ns / 1e9).astimezone().year == year


def test_times_without_a_date_are_of_the_day_on_which_the_file_was_last_changed_or_of_the_day_before() -> None:
    assert times(NOON_NS + SECOND_NS, f"8:00:00,5 > {FRAME}\n7:59:59.9 late {FRAME}\n[12:00:01.25] {FRAME}") == [
        -4 * 3600 + 0.5,
        -4 * 3600 + 0.5,
        1.25,
    ]
    assert times(NOON_NS, f"23:59:59 {FRAME}\n00:00:01 {FRAME}") == [-12 * 3600 - 1, -12 * 3600 + 1]


def test_a_log_begins_with_its_first_time_and_each_part_of_an_exchange_has_its_own() -> None:
    value = {"logged": 1750000009, "request": {"timestamp": 1750000001, "body": CHAT}}
    found = seen(
        f"up\n{json.dumps(ASK)}\n{json.dumps({**value, 'response': {'timestamp': 1750000002.5, 'body': WHOLE}})}"
    )
    assert [(each.at.ns / 1e9 - 1750000000, each.at.is_told) for each in found[:3]] == [
        (1, False),
        (1, True),
        (2.5, True),
    ]


def test_a_time_is_of_the_line_that_tells_it_or_of_the_next_and_of_no_other() -> None:
    stamp = "2025-12-01 10:00:0"
    lines = (
        f"--- {stamp}0Z ---",
        json.dumps(CHAT),
        f"{stamp}1Z data: {json.dumps(PIECE)}",
        f"{stamp}2Z data: {json.dumps(PIECE)}",
        f"data: {json.dumps(PIECE)}",
    )
    found = seen("\n".join(lines))
    assert [each.at.is_told for each in found] == [True] * 5
    assert [each.at.ns // SECOND_NS % 10 for each in found] == [0, 1, 1, 2, 2]
    assert found[3].draft.data.count(b"data:") == 2  # a piece without a time of its own came with the one before


def test_a_time_within_what_was_on_the_wire_is_not_the_log_s() -> None:
    piece = json.dumps({**mapping(PIECE), "created": NOON_NS // SECOND_NS - 1000})
    found = seen(f"{json.dumps(CHAT)}\ndata: {piece}\n", json.dumps(ASK))
    assert {each.at for each in found} == {(NOW_NS, False)}


def test_a_time_after_the_last_change_of_a_file_is_of_something_that_a_line_speaks_of() -> None:
    lines = (
        f"2026-11-01 10:00:00 -> {json.dumps(ASK)}",
        "[stderr] the token expires 2027-06-01 00:00:00",
        f"2026-11-01 10:00:02 <- {json.dumps(TELL)}",
    )
    found = seen("\n".join(lines))
    assert [each.draft.wire for each in found] == ["mcp", "stderr", "mcp"]
    assert found[2].at.ns - found[0].at.ns == 2 * SECOND_NS


# Codings.


ASKED = '{"model": "m", "messages": [{"role": "user", "content": "六乘以五等于多少?请用工具"}]}'
LOG = f"10:00:00 请求 {ASKED}\n10:00:01 响应 data: {json.dumps(PIECE)}\n10:00:01 响应 data: [DONE]\n"
FRAMES = f"-> {json.dumps(ASK)}\n<- {json.dumps(TELL)}\n"


def reading_of(data: bytes) -> tuple[Reading, list[TimedDraft]]:
    reading = read([File(name="a.log", data=data, time_ns=NOW_NS)])
    return reading, list(reading.drafts)


def words_of(found: list[TimedDraft]) -> list[tuple[str, bytes, str | None]]:
    return [(each.draft.kind, each.draft.data, each.draft.malformed) for each in found]


@pytest.mark.parametrize("coding", ["gbk", "gb18030"])
def test_a_log_in_gbk_is_read_as_its_text_is(coding: str) -> None:
    reading, found = reading_of(LOG.encode(coding))
    assert words_of(found) == words_of(reading_of(LOG.encode())[1])
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
