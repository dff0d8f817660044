"""Logs of others: messages, bodies and frames in lines, which answer is whose, and which way a frame went."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import NamedTuple

import pytest

from tests.opening.captured import ASK, CHAT, NOW_NS, PIECE, TELL, WHOLE, seen, told
from tui_host.capture.json.narrowing import items, mapping
from tui_host.errors import JSON
from tui_host.opening.import_types import File
from tui_host.opening.recognition import read

BOTH = [("mcp", "frame", "out"), ("mcp", "frame", "in")]


def exchanges(text: str) -> list[tuple[str, str]]:
    """What was asked and what was said in each exchange."""
    found: dict[str | None, tuple[str, str]] = {}
    for each in seen(text):
        asked, said = found.get(each.record.exchange, ("", ""))
        data = each.record.data.decode()
        found[each.record.exchange] = (
            (data, said) if each.record.kind == "request" else (asked, said + data * (each.record.kind == "chunk"))
        )
    return list(found.values())


def asked(question: str) -> str:
    return json.dumps({**mapping(CHAT), "messages": [{"role": "user", "content": question}]})


def said(text: str) -> str:
    return json.dumps({**mapping(WHOLE), "id": text})


@pytest.mark.parametrize(
    "form", ["request={} response={}", "12:00:01 > {} < {}", "{} | answer: {}", "out {} in {} (5 ms)"]
)
def test_a_line_with_a_request_and_its_answer_is_an_exchange(form: str) -> None:
    lines = [form.format(asked(name), said(name)) for name in ("one", "two")]
    assert exchanges("\n".join(lines)) == [(asked(name), f"{said(name)}\n") for name in ("one", "two")]


def test_a_stream_may_stand_right_behind_the_request() -> None:
    stream = f"data: {json.dumps(PIECE)}\n\ndata: {json.dumps(PIECE)}\n\ndata: [DONE]\n\n"
    named = 'event: message_start\ndata: {"type": "message_start", "message": {}}\n\n'
    assert exchanges(f"{asked('one')}{stream}{asked('two')}{stream}") == [(asked(n), stream) for n in ("one", "two")]
    assert exchanges(f"# of a proxy\n{asked('one')}\n{named}") == [(asked("one"), named)]


def test_events_around_one_that_is_broken_are_all_there() -> None:
    event = f"data: {json.dumps(PIECE)}\n\n"
    assert exchanges(f"{asked('one')}\n{event * 3}data: {{oops}}\n\n{event * 2}") == [(asked("one"), event * 5)]


@pytest.mark.parametrize("form", ["-> {} <- {}", "{}{}", "[ {}, {} ]", "-> {}   <- {} trailing {{words}}"])
def test_messages_that_follow_each_other_in_a_line_are_all_there(form: str) -> None:
    found = seen(form.format(json.dumps(ASK), json.dumps(TELL)))
    assert told(found) == BOTH
    assert not any(each.record.malformed for each in found)


@pytest.mark.parametrize("before", ["serve{{peer=stdio}}: {}", '{{"level": "info"}} {}', "{{a}} {{b}}: {}"])
def test_something_in_braces_before_a_message_is_passed_over(before: str) -> None:
    text = "\n".join(before.format(f"{way} {json.dumps(said)}") for way, said in (("->", ASK), ("<-", TELL)))
    reading = read([File(name="a.log", data=text.encode(), time_ns=NOW_NS)])
    assert told(list(reading.drafts)) == BOTH
    assert not reading.notes.left_out


@pytest.mark.parametrize(
    "before",
    [
        "10:00:01 POST {} body=",
        "2026-11-22T20:00:01Z INFO --> {} ",
        '"POST {} HTTP/1.1" ',
        "[proxy] url={} request: ",
        "POST {}\n",
    ],
)
@pytest.mark.parametrize("url", ["https://api.deepseek.com/v1/chat/completions", "/v1/chat/completions"])
def test_the_address_before_a_request_is_its_own(before: str, url: str) -> None:
    first, *_ = seen(f"see /docs/chat for more\n{before.format(url)}{asked('one')}\n<- {said('x')}\n")
    assert first.record.head is not None
    assert (first.record.head.method, first.record.head.url) == ("POST", url)


PLAIN: dict[str, JSON] = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "hi"}]}
SAID: dict[str, JSON] = {"type": "message", "role": "assistant", "content": [{"type": "text", "text": "x"}]}
BEGUN: dict[str, JSON] = {"type": "message_start", "message": {"id": "msg_0", **SAID, "content": []}}
OLLAMA: dict[str, JSON] = {"model": "m", "message": {"role": "assistant", "content": "x"}, "done": True}


@pytest.mark.parametrize(
    ("answers", "dialects"),
    [
        ([f"<<< {json.dumps(SAID)}"] * 2, ["anthropic", "anthropic"]),
        ([f"event: message_start\ndata: {json.dumps(BEGUN)}\n"] * 2, ["anthropic", "anthropic"]),
        ([json.dumps(OLLAMA)] * 2, ["ollama", "ollama"]),
        ([json.dumps(WHOLE)] * 2, ["openai", "openai"]),
    ],
)
def test_a_request_that_may_be_of_several_apis_is_of_the_one_in_which_the_log_has_answers(
    answers: list[str], dialects: list[str]
) -> None:
    found = seen("# model\n" + "\n".join(f">>> {json.dumps(PLAIN)}\n{answer}" for answer in answers))
    heads = [each.record.head for each in found if each.record.kind == "request"]
    assert [head and head.url for head in heads] == [f"{dialect}:" for dialect in dialects]


# Which answer is whose.


DONE = "data: [DONE]"


class Talk(NamedTuple):
    """An exchange: what was asked, empty if unknown, and all texts of the answer."""

    question: str
    answer: str


def asked_of(question: str, **more: JSON) -> str:
    return json.dumps({"model": "m", "stream": True, "messages": [{"role": "user", "content": question}], **more})


def openai(text: str, name: str = "") -> list[str]:
    """A stream that says each character by itself; `name` is its id."""

    def chunk(delta: JSON, reason: str | None = None) -> str:
        named: dict[str, JSON] = {"id": name} if name else {}
        choice: JSON = {"index": 0, "delta": delta, "finish_reason": reason}
        return f"data: {json.dumps({**named, 'object': 'chat.completion.chunk', 'choices': [choice]})}"

    return [*[chunk({"content": each}) for each in text], chunk({}, "stop"), DONE]


def anthropic(text: str) -> list[str]:
    events: list[JSON] = [{"type": "message_start", "message": {}}]
    events += [{"type": "content_block_delta", "index": 0, "delta": {"text": each}} for each in text]
    events.append({"type": "message_stop"})
    return [f"data: {json.dumps(event)}" for event in events]


def ollama(text: str) -> list[str]:
    lines = [{"model": "m", "message": {"role": "assistant", "content": each}, "done": False} for each in text]
    return [json.dumps(line) for line in [*lines, {"model": "m", "message": {"content": ""}, "done": True}]]


def whole(text: str) -> str:
    return json.dumps({"object": "chat.completion", "choices": [{"index": 0, "message": {"content": text}}]})


def in_turn(*streams: Sequence[str]) -> list[str]:
    return [stream[at] for at in range(max(map(len, streams))) for stream in streams if at < len(stream)]


def talks(*logs: Sequence[str]) -> tuple[list[Talk], list[str]]:
    """What was asked and said in each exchange, and the messages for a person."""
    reading = read([File(name=f"{n}.log", data="\n".join(log).encode(), time_ns=NOW_NS) for n, log in enumerate(logs)])
    found: dict[str, Talk] = {}
    for each in reading.drafts:
        draft = each.record
        talk = found.setdefault(draft.exchange or "", Talk("", ""))
        if draft.kind == "request" and draft.data:
            (message,) = items(mapping(json.loads(draft.data)).get("messages"))
            talk = talk._replace(question=str(mapping(message)["content"]))
        elif draft.kind == "chunk":
            talk = talk._replace(answer=talk.answer + "".join(map(_said, draft.data.decode().splitlines())))
        found[draft.exchange or ""] = talk
    return [talk for name, talk in found.items() if name], reading.notes.messages


def _said(line: str) -> str:
    text = line.removeprefix("data: ")
    if not text.startswith("{"):
        return ""
    body = mapping(json.loads(text))
    choices = [mapping(each) for each in items(body.get("choices"))] or [body]
    deltas = [mapping(each.get("delta") or each.get("message")) for each in choices]
    return "".join(str(delta.get("content") or delta.get("text") or "") for delta in deltas)


@pytest.mark.parametrize("stream", [openai, anthropic, ollama])
def test_one_request_after_the_other_has_its_own_answer(stream: Callable[[str], list[str]]) -> None:
    lines = [asked_of("one"), *stream("abc"), asked_of("two"), *stream("de")]
    assert talks(lines) == ([Talk("one", "abc"), Talk("two", "de")], [])


@pytest.mark.parametrize("stream", [openai("ab"), anthropic("ab"), ollama("ab")])
def test_a_request_that_is_sent_again_or_got_no_answer_is_no_doubt(stream: list[str]) -> None:
    lines = [asked_of("one"), "timeout", asked_of("one"), *stream, asked_of("two"), *stream, asked_of("three")]
    found, messages = talks(lines)
    assert found == [Talk("one", ""), Talk("one", "ab"), Talk("two", "ab"), Talk("three", "")]
    assert not messages


def test_a_stream_that_began_before_the_next_request_goes_on_by_its_id() -> None:
    one, two = openai("abc", "x1"), openai("de", "x2")
    lines = [asked_of("one"), *one[:1], asked_of("two"), *in_turn(one[1:4], two[:-1])]
    assert talks(lines) == ([Talk("one", "abc"), Talk("two", "de")], [])


def test_streams_that_only_their_own_ids_tell_apart_stand_alone() -> None:
    lines = [
        asked_of("one"),
        asked_of("two"),
        *in_turn(openai("abc", "x1")[:-1], openai("de", "x2")[:-1]),
        asked_of("three"),
    ]
    found, messages = talks(lines)
    assert found == [Talk("one", ""), Talk("two", ""), Talk("", "abc"), Talk("", "de"), Talk("three", "")]
    assert "0.log, line 3: several requests wait, and nothing tells to which this answer belongs" in messages[0]


@pytest.mark.parametrize("streams", [(anthropic("abc"), anthropic("de")), (openai("abc"), openai("de"))])
def test_streams_that_nothing_tells_apart_stand_alone_and_what_follows_has_its_own_answer(
    streams: tuple[list[str], list[str]],
) -> None:
    lines = [asked_of("one"), asked_of("two"), *in_turn(*streams), asked_of("three"), whole("f")]
    found, messages = talks(lines)
    assert (found[:2], found[-1]) == ([Talk("one", ""), Talk("two", "")], Talk("three", "f"))
    assert "events of several answers stand among each other" in messages[1]
    assert "tui-host tap" in messages[1]


@pytest.mark.parametrize("stream", [openai, anthropic, ollama])
def test_streams_mixed_behind_one_request_are_never_glued_silently(stream: Callable[[str], list[str]]) -> None:
    mixed = in_turn(stream("abc"), stream("de"))
    for lines in ([asked_of("one"), *mixed], mixed, [asked_of("one"), *stream("abc")[:2], asked_of("two"), *mixed]):
        assert any("events of several answers stand among each other" in message for message in talks(lines)[1])


# Frames.


def test_the_lines_of_several_servers_in_one_log_of_claude_desktop_are_of_several_connections() -> None:
    stamp = "2026-05-14T06:30:46.668Z [info]"
    lines = [
        f"{stamp} [{name}] Message from {side}: {json.dumps(frame)} {{ metadata: undefined }}"
        for side, frame in (("client", ASK), ("server", TELL))
        for name in ("math", "weather")
    ]
    drafts = [each.record for each in seen("\n".join([f"{stamp} [math] Initializing server...", *lines]))]
    assert [(draft.connection, draft.direction) for draft in drafts] == [
        (name, direction) for direction in ("out", "in") for name in ("math#1", "weather#2")
    ]
    assert not any(draft.malformed for draft in drafts)


def test_frames_of_which_nothing_tells_which_way_they_went_are_told_as_such() -> None:
    frames: list[JSON] = [ASK, TELL, {**ASK, "method": "ping", "id": 2}, {"jsonrpc": "2.0", "id": 7, "result": {}}]
    text = "\n".join(json.dumps(frame) for frame in frames)
    reading = read([File(name="a.log", data=text.encode())])
    assert [each.record.direction for each in reading.drafts] == ["out", "in", "out", "in"]
    assert reading.notes.messages == [
        "a.log does not tell which way 2 messages went: requests are shown as the host's, answers as a server's."
    ]


LIST: JSON = {"jsonrpc": "2.0", "id": 9, "method": "tools/list"}
LISTED: JSON = {"jsonrpc": "2.0", "id": 9, "result": {"tools": []}}
ANSWERED: JSON = {"jsonrpc": "2.0", "id": 3, "result": {}}
LEVEL: JSON = {"jsonrpc": "2.0", "id": 3, "method": "logging/setLevel"}
FAILED: JSON = {"jsonrpc": "2.0", "id": 4, "error": {"code": -1, "message": "no"}}
PING: JSON = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
SAMPLE: JSON = {"jsonrpc": "2.0", "id": 4, "method": "sampling/createMessage"}


def ways(lines: Sequence[tuple[str, JSON]]) -> list[tuple[str, str | None]]:
    text = "".join(f"12:00:{at:02} {word} {json.dumps(value)}\n" for at, (word, value) in enumerate(lines))
    return [(each.record.direction or "", each.record.malformed) for each in seen(text)]


@pytest.mark.parametrize(
    ("lines", "directions"),
    [
        ([("IN", LIST), ("OUT", LISTED)], "out in"),
        ([("IN ", LEVEL), ("OUT", ANSWERED)], "out in"),
        ([("server -> client", PING), ("client -> server", TELL)], "in out"),
        ([("REQUEST", ASK), ("REQUEST", SAMPLE), ("RESPONSE", FAILED), ("RESPONSE", TELL)], "out in out in"),
    ],
)
def test_the_way_of_a_method_and_of_the_answer_to_a_request_is_stronger_than_words(
    lines: Sequence[tuple[str, JSON]], directions: str
) -> None:
    assert ways(lines) == [(direction, None) for direction in directions.split()]
