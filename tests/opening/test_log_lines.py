"""Lines of a log that have more in them than one thing that was on a wire, or something else in braces before it: nothing of it is lost."""

from __future__ import annotations

import json

import pytest

from tests.opening.captured import ASK, CHAT, NOW_NS, PIECE, TELL, WHOLE, seen, told
from tests.steps import Copied, steps
from tui_host.capture.json.narrowing import mapping
from tui_host.errors import JSON
from tui_host.opening.import_types import File
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


def test_the_answer_in_a_requests_line_is_to_that_whatever_else_waits() -> None:
    text = f"{asked('one')}\n{asked('two')}\nrequest={asked('three')} response={said('three')}\n"
    assert (asked("three"), f"{said('three')}\n") in exchanges(text)


def test_a_stream_may_stand_right_behind_the_request() -> None:
    stream = f"data: {json.dumps(PIECE)}\n\ndata: {json.dumps(PIECE)}\n\ndata: [DONE]\n\n"
    named = 'event: message_start\ndata: {"type": "message_start", "message": {}}\n\n'
    assert exchanges(f"{asked('one')}{stream}{asked('two')}{stream}") == [(asked(n), stream) for n in ("one", "two")]
    assert exchanges(f"# of a proxy\n{asked('one')}{named}") == [(asked("one"), named)]


@pytest.mark.parametrize("form", ["-> {} <- {}", "{}{}", "[ {}, {} ]", "-> {}   <- {} trailing {{words}}"])
def test_messages_that_follow_each_other_in_a_line_are_all_there(form: str) -> None:
    found = seen(form.format(json.dumps(ASK), json.dumps(TELL)))
    assert told(found) == BOTH
    assert not any(each.draft.malformed for each in found)


def test_what_tells_time_and_way_before_the_first_value_of_a_line_does_for_the_others() -> None:
    second: JSON = {**ASK, "id": 2, "method": "ping"}
    first, other = seen(f"2026-11-22 20:00:01Z client -> server: {json.dumps(ASK)} {json.dumps(second)}\n")
    assert (first.at, first.draft.direction) == (other.at, other.draft.direction)
    assert first.at.is_told


@pytest.mark.parametrize("before", ["serve{{peer=stdio}}: {}", '{{"level": "info"}} {}', "{{a}} {{b}}: {}"])
def test_something_in_braces_before_a_message_is_passed_over(before: str) -> None:
    text = "\n".join(before.format(f"{way} {json.dumps(said)}") for way, said in (("->", ASK), ("<-", TELL)))
    reading = read([File(name="a.log", data=text.encode(), time_ns=NOW_NS)])
    assert told(list(reading.drafts)) == BOTH
    assert not reading.notes.left_out


@pytest.mark.exhaustive
@pytest.mark.parametrize("what", [json.dumps(ASK), "{}", "{x}", '{"a":{}}'])
def test_four_times_as_many_values_in_a_line_take_hardly_more_than_four_times_as_much(what: str) -> None:
    def cost(times: int) -> tuple[int, int]:
        data = Copied(f"{json.dumps(ASK)}\n{' '.join([what] * times)} {json.dumps(ASK)}\n".encode())
        return steps(lambda: seen(data)), data.size

    few, many = cost(500), cost(2_000)
    assert many[0] < 5 * few[0]
    assert many[1] < 5 * few[1]


def test_a_line_of_a_text_ends_where_a_line_does() -> None:
    """Python takes more for the end of a line than a file has; JSON has it in its texts as it is."""
    pieces = [{"message": {"content": f"a\u2028b\x85{n}"}, "done": n == 1} for n in range(2)]
    answer = "\n".join(json.dumps(each, ensure_ascii=False) for each in pieces)
    text = json.dumps({"url": "http://h/api/chat", "request": asked("one"), "response": answer})
    ((request, came),) = exchanges(text)
    assert request == asked("one")
    assert [json.loads(line) for line in came.split("\n") if line] == pieces


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
