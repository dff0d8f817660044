"""Lines of a log that have more in them than one thing that was on a wire, or something else in braces before it: nothing of it is lost."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from tests.capture.captured import ASK, CHAT, NOW_NS, PIECE, TELL, WHOLE, WIRES, seen, told
from tests.steps import Copied, steps
from tui_host.capture.json.narrowing import mapping
from tui_host.errors import JSON
from tui_host.opening import File, read
from tui_host.opening.cut_values import CUT
from tui_host.opening.logs import linewise
from tui_host.opening.pythonic import pythonic_end

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


def test_a_request_and_its_answer_may_be_written_by_python() -> None:
    (both,) = exchanges(f"request={json.loads(asked('one'))!r} response={json.loads(said('one'))!r}")
    assert [json.loads(each) for each in both] == [json.loads(asked("one")), json.loads(said("one"))]


@pytest.mark.parametrize("encoded", [str, str.encode], ids=["texts", "bytes"])
@pytest.mark.parametrize("form", ["req={!r} resp={!r}", "{!r} -> {!r}\nbye"])
def test_both_may_stand_there_as_texts_or_bytes_that_python_prints(form: str, encoded: Callable[[str], object]) -> None:
    lines = [form.format(encoded(asked(name)), encoded(said(name))) for name in ("it's one", "two")]
    found = exchanges("\n".join(lines))
    assert [[each.rstrip("\n") for each in both] for both in found] == [
        [asked(name), said(name)] for name in ("it's one", "two")
    ]


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("lead", ["", "event: message{}", ": ping{0}{0}event: message{0}id: 3{0}"])
def test_a_servers_event_stream_may_be_printed_by_python(lead: str, end: str) -> None:
    stream = f"{lead.format(end)}data: {json.dumps(TELL)}{end}{end}".encode()
    assert told(seen(f">>> {json.dumps(ASK).encode()!r}\n<<< {stream!r}\n")) == BOTH


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


def test_messages_for_eyes_may_begin_and_end_in_one_line() -> None:
    assert told(seen(f"-> {json.dumps(ASK, indent=2)} <- {json.dumps(TELL, indent=2)}\n")) == BOTH


def test_what_tells_time_and_way_before_the_first_value_of_a_line_does_for_the_others() -> None:
    second: JSON = {**ASK, "id": 2, "method": "ping"}
    first, other = seen(f"2026-11-22 20:00:01Z client -> server: {json.dumps(ASK)} {json.dumps(second)}\n")
    assert (first.at, first.draft.direction) == (other.at, other.draft.direction)
    assert first.at.is_told


@pytest.mark.parametrize(
    "before", ["serve{{peer=stdio}}: {}", '{{"level": "info"}} {}', "{{a}} {{b}}: {}", "{{'a': 1}} {}"]
)
def test_something_in_braces_before_a_message_is_passed_over(before: str) -> None:
    text = "\n".join(before.format(f"{way} {json.dumps(said)}") for way, said in (("->", ASK), ("<-", TELL)))
    reading = read([File(name="a.log", data=text.encode(), time_ns=NOW_NS)], WIRES)
    assert told(list(reading.seen)) == BOTH
    assert not reading.notes.words


def test_what_a_value_that_is_cut_off_has_in_it_is_no_message() -> None:
    cut = json.dumps({"jsonrpc": "2.0", "id": 2, "result": {"said": [ASK, ASK]}})[:-9]
    first, last = seen(f"-> {json.dumps(ASK)}\n<- {cut}\n")
    assert (first.draft.malformed, last.draft.malformed) == (None, CUT)
    assert last.draft.data.decode() == f"{cut}\n"


def test_what_is_cut_off_behind_a_value_is_told() -> None:
    text = f'{{"a": 1}} {json.dumps(ASK)[:-5]}\n{{"a": 1}} {{"b": {{"model\n{json.dumps(ASK)}'
    reading = read([File(name="a.log", data=text.encode())], WIRES)
    assert [each.draft.malformed for each in reading.seen] == [CUT, None]
    assert "line 1" in reading.notes.told[0]
    assert "cut off (1, first line 2)" in reading.notes.words


@pytest.mark.parametrize("what", [json.dumps(ASK), "{}", "{x}", '{"a":{}}', "b'{\"model\":1}'", 'b\'{"model":1}'])
def test_four_times_as_many_values_in_a_line_take_hardly_more_than_four_times_as_much(
    what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(linewise, "_LOOK", 64)

    def cost(times: int) -> tuple[int, int]:
        data = Copied(f"{json.dumps(ASK)}\n{' '.join([what] * times)} {json.dumps(ASK)}\n".encode())
        return steps(lambda: seen(data)), data.size

    few, many = cost(500), cost(2_000)
    assert many[0] < 5 * few[0]
    assert many[1] < 5 * few[1]


def test_the_end_of_what_python_wrote_is_found_at_once_where_a_text_in_it_has_none() -> None:
    assert pythonic_end(b"{'model': '" + b"\\'" * 200_000) == 0  # it took ten minutes


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
        ([json.dumps(SAID), json.dumps(WHOLE)], ["openai", "openai"]),  # nothing tells beforehand which is which
    ],
)
def test_a_request_that_may_be_of_several_apis_is_of_the_one_in_which_the_log_has_answers(
    answers: list[str], dialects: list[str]
) -> None:
    found = seen("# model\n" + "\n".join(f">>> {json.dumps(PLAIN)}\n{answer}" for answer in answers))
    heads = [each.draft.head for each in found if each.draft.kind == "request"]
    assert [head and head.url for head in heads] == [f"{dialect}:" for dialect in dialects]
