"""Lines of a log that have more in them than one thing that was on a wire, or something else in braces before it: nothing of it is lost."""

from __future__ import annotations

import json

import pytest

from tests.opening.captured import ASK, CHAT, NOW_NS, PIECE, TELL, WHOLE, seen, told
from tui_host.capture.json.file_values import read_value
from tui_host.capture.json.narrowing import mapping
from tui_host.errors import JSON
from tui_host.opening.import_types import File
from tui_host.opening.logs import log_lines
from tui_host.opening.recognition import read

BOTH = [("mcp", "frame", "out"), ("mcp", "frame", "in")]


def exchanges(text: str) -> list[tuple[str, str]]:
    """What was asked and what was said in each exchange."""
    found: dict[str | None, tuple[str, str]] = {}
    for each in seen(text):
        asked, said = found.get(each.draft.exchange, ("", ""))
        data = each.draft.data.decode()
        found[each.draft.exchange] = (
            (data, said) if each.draft.kind == "request" else (asked, said + data * (each.draft.kind == "chunk"))
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
    assert exchanges(f"# of a proxy\n{asked('one')}{named}") == [(asked("one"), named)]


def test_events_around_one_that_is_broken_are_all_there() -> None:
    event = f"data: {json.dumps(PIECE)}\n\n"
    assert exchanges(f"{asked('one')}\n{event * 3}data: {{oops}}\n\n{event * 2}") == [(asked("one"), event * 5)]


def test_of_streams_among_each_other_no_event_is_read_many_times(monkeypatch: pytest.MonkeyPatch) -> None:
    events = [f"data: {json.dumps({**mapping(PIECE), 'id': name})}\n\n" for name in "ab"]
    text = "".join(events) * 200
    sizes: list[int] = []

    def counted(data: bytes, *, is_shallow: bool = False) -> JSON:
        sizes.append(len(data))
        return read_value(data, is_shallow=is_shallow)

    monkeypatch.setattr(log_lines, "read_value", counted)
    assert sum(each.draft.data.count(b"data:") for each in seen(text) if each.draft.kind == "chunk") == 400
    assert sum(sizes) < 2 * len(text)


@pytest.mark.parametrize("form", ["-> {} <- {}", "{}{}", "[ {}, {} ]", "-> {}   <- {} trailing {{words}}"])
def test_messages_that_follow_each_other_in_a_line_are_all_there(form: str) -> None:
    found = seen(form.format(json.dumps(ASK), json.dumps(TELL)))
    assert told(found) == BOTH
    assert not any(each.draft.malformed for each in found)


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
    assert first.draft.head is not None
    assert (first.draft.head.method, first.draft.head.url) == ("POST", url)


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
    heads = [each.draft.head for each in found if each.draft.kind == "request"]
    assert [head and head.url for head in heads] == [f"{dialect}:" for dialect in dialects]
