"""Bodies and messages whose end is not in the file, as loggers cut them: nothing of them is lost without a word, and nothing is made of them."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Callable, Sequence

import pytest

from tests.capture.captured import ASK, NOW_NS, PIECE, TELL, WHOLE, WIRES
from tests.steps import Copied, steps
from tui_host.capture.http.exchange_end import read_ending
from tui_host.errors import JSON, TuiHostError
from tui_host.opening import File, Reading, read
from tui_host.opening.cut_values import CUT, mended, said_before_the_cut
from tui_host.opening.drafts import Seen

LONG: JSON = {"role": "system", "content": 'You are "helpful", {kind} and [brief]. 你好 \\ ' * 8}
ASKED: dict[str, JSON] = {"model": "m", "messages": [LONG, {"role": "user", "content": "hi"}], "stream": False}
BODY, ANSWER = json.dumps(ASKED), json.dumps(WHOLE)
SHORT = BODY[:300]


def reading_of(*texts: str, names: Sequence[str] = ("a.log", "b.log")) -> tuple[Reading, list[Seen]]:
    files = [File(name=name, data=text.encode(), time_ns=NOW_NS) for name, text in zip(names, texts, strict=False)]
    reading = read(files, WIRES)
    found = [*reading.seen, *(each for _, more in reading.untimed for each in more)]
    return reading, found


def bodies(found: Sequence[Seen], kind: str) -> list[bytes]:
    return [each.draft.data for each in found if each.draft.kind == kind]


FORMS: dict[str, tuple[str, str]] = {
    "a path before it": (f"2026-11-23 10:00:01,120 INFO POST /v1/chat/completions body={SHORT}", SHORT),
    "a word before it": (f"request: {SHORT}", SHORT),
    "nothing before it": (SHORT, SHORT),
    "dots behind it": (f"10:00:01 request: {SHORT}... (truncated)", f"{SHORT}... (truncated)"),
    "bytes that Python prints": (f"recv {SHORT.encode()!r}", SHORT),
    "a text that Python prints": (f"recv {SHORT!r}", SHORT),
    "a dictionary of Python's": (f"request: {str(ASKED)[:300]}", str(ASKED)[:300]),
    "written for eyes": (f"request: {json.dumps(ASKED, indent=2)[:300]}", json.dumps(ASKED, indent=2)[:300]),
    "a text of an object": (json.dumps({"level": "info", "path": "/v1/chat/completions", "body": SHORT}), SHORT),
}


@pytest.mark.parametrize("name", FORMS)
def test_a_request_that_a_logger_cut_is_shown_up_to_there_with_its_answer(name: str) -> None:
    line, kept = FORMS[name]
    reading, found = reading_of(f"starting\n{line}\nresponse: {ANSWER}\n")
    assert [(each.draft.data.decode(), each.draft.malformed) for each in found if each.draft.kind == "request"] == [
        (kept, CUT)
    ]
    assert bodies(found, "chunk") == [ANSWER.encode() + b"\n"]
    assert len({each.draft.exchange for each in found}) == 1
    assert reading.notes.told == [f"a.log has a body or message that is {CUT}, in line 2: shown up to there."]
    assert reading.notes.words == "lines that are of neither wire (1, first line 1)"


@pytest.mark.parametrize("indent", [None, 2])
def test_wherever_a_request_is_cut_it_is_shown_or_told(indent: int | None) -> None:
    body = json.dumps(ASKED, indent=indent)
    shown = 0
    for end in range(1, len(body)):
        reading, found = reading_of(f"POST /v1/chat/completions body={body[:end]}\n<- {ANSWER}\n")
        cut = [each.draft for each in found if each.draft.malformed == CUT]
        shown += bool(cut)
        assert bodies(found, "chunk") == [ANSWER.encode() + b"\n"]
        if cut:
            assert [each.data.decode() for each in cut] == [body[:end].rstrip()]
            assert "in line 1" in reading.notes.told[0]
        elif '"' in body[:end]:
            assert "cut off (1, first line 1)" in reading.notes.words
    assert shown > len(body) - 30


@pytest.mark.parametrize(
    "body",
    [
        {"messages": [{"role": "user", "content": "x" * 400}], "model": "m"},
        {"max_tokens": 9, "system": "x" * 400, "messages": [], "model": "m"},
        {"contents": [{"role": "user", "parts": [{"text": "x" * 400}]}]},
        {"instructions": "be brief", "input": "x" * 400, "model": "m"},
    ],
)
def test_the_address_tells_what_a_request_is_that_is_cut_before_it_shows(body: JSON) -> None:
    _, found = reading_of(f"POST /v1/messages {json.dumps(body)[:200]}\n")
    assert [each.draft.malformed for each in found if each.draft.kind == "request"] == [CUT]


def test_an_answer_that_is_cut_ends_so_and_the_next_one_is_whole() -> None:
    _, found = reading_of(f"> {BODY}\n< {ANSWER[:90]}\n> {BODY}\n< {ANSWER}\n")
    assert bodies(found, "chunk") == [f"{ANSWER[:90]}\n".encode(), f"{ANSWER}\n".encode()]
    ends = [each.draft for each in found if each.draft.kind in {"end", "error"}]
    assert [(each.kind, read_ending(each.data).error) for each in ends] == [("error", CUT), ("end", "")]


def test_two_requests_that_begin_alike_and_are_cut_are_not_one_that_is_asked_again() -> None:
    other = BODY.replace('"hi"', '"another"')
    reading, found = reading_of(f"> {BODY[:300]}\n> {other[:300]}\n< {ANSWER}\n")
    asked = [each.draft.exchange for each in found if each.draft.kind == "request" and each.draft.malformed == CUT]
    said = [each.draft.exchange for each in found if each.draft.kind == "chunk"]
    assert len({*asked, *said}) == 3
    assert any("not beyond doubt" in each for each in reading.notes.told)


def test_a_message_of_a_server_that_is_cut_is_malformed_and_the_same_one_whole_is_not() -> None:
    ask, tell = json.dumps(ASK), json.dumps(TELL)
    reading, found = reading_of(f"-> {ask[:-9]}\n-> {ask}\n<- {tell[:-5]}\n<- {tell}\n")
    assert [(each.draft.direction, each.draft.malformed) for each in found] == [
        ("out", CUT),
        ("out", None),
        ("in", CUT),
        ("in", None),
    ]
    assert reading.notes.told == [
        f"a.log has 2 bodies or messages that are {CUT}, the first in line 1: shown up to there."
    ]


@pytest.mark.parametrize(("begin", "end"), [(80, 1), (80, 20), (90, 6)])
def test_a_message_from_whose_middle_something_was_taken_is_told_as_cut(begin: int, end: int) -> None:
    """Claude Desktop writes so of what is long."""
    told = json.dumps({"jsonrpc": "2.0", "id": 2, "result": {"tools": [{"name": "a", "inputSchema": {"a": [1, 2]}}]}})
    _, found = reading_of(f"-> {json.dumps(ASK)}\n<- {told[:begin]}... [80 chars truncated] ...{told[-end:]}\n")
    assert [each.draft.malformed for each in found] == [None, CUT]


def test_the_directions_of_a_connection_are_one_also_where_a_message_is_cut() -> None:
    listed = json.dumps({"jsonrpc": "2.0", "id": 2, "method": "tools/list"})
    _, found = reading_of(
        f"{json.dumps(ASK)}\n{listed}\n",
        f'{json.dumps(TELL)}\n{{"jsonrpc": "2.0", "id": 2, "resu\n',
        names=("time.in.log", "time.out.log"),
    )
    assert len({each.draft.connection for each in found}) == 1
    assert [each.draft.malformed for each in found] == [None, None, None, CUT]


def test_what_is_cut_in_a_line_whose_kind_it_does_not_show_is_left_out_with_a_word_in_which_file() -> None:
    exchange = json.dumps({"level": "info", "request": ASKED})[:300]
    reading, found = reading_of(f"{exchange}\nprose\n> {BODY}\n", f"{json.dumps(ASK)}\nprose\n")
    assert bodies(found, "request") == [BODY.encode()]
    assert reading.notes.words == (
        "in a.log lines that are cut off (1, first line 1), lines that are of neither wire (1, first line 2);"
        " in b.log lines that are of neither wire (1, first line 2)"
    )


@pytest.mark.parametrize("body", [ASKED, WHOLE])
@pytest.mark.parametrize("indent", [None, 2])
def test_a_file_that_is_one_body_without_its_end_is_shown_up_to_there(body: JSON, indent: int | None) -> None:
    text = json.dumps(body, indent=indent)[:-8].rstrip()
    reading, found = reading_of(text)
    assert text.encode() in {*bodies(found, "request"), *(each.rstrip() for each in bodies(found, "chunk"))}
    assert CUT in reading.notes.told[0]


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ('[{"role": "user", "content": "hi"}, {"role": "assistant", "con', "line 1, byte 62"),
        (f'{{"a": 1}}\n{{"b": {{"messages": [{{"role": "user", "content": "{"x" * 99}\n', "line 2, byte 9"),
    ],
)
def test_what_is_cut_before_it_shows_anything_is_refused_with_that_word(text: str, where: str) -> None:
    with pytest.raises(TuiHostError, match="cut off") as error:
        reading_of(text)
    assert error.value.where == f"a.log, {where}"


BEGUN: Sequence[tuple[str, JSON]] = [
    ('{"a": 1, "b": [1, {"c": "', {"a": 1, "b": [1, {}]}),
    ('{"a": {"b": 2}, "c', {"a": {"b": 2}}),
    ('{"a": 1, "b": nonsense, "c": 2', {"a": 1}),
    ("{'a': \"it's\", 'messages': [{'b", {"a": "it's", "messages": [{}]}),
    ('{"a', {}),
    ('{"a": ' * 5000, None),
    ("{a: 1", None),
]


@pytest.mark.parametrize(("text", "said"), BEGUN)
def test_what_is_whole_before_a_cut_is_said(text: str, said: JSON) -> None:
    assert said_before_the_cut(text.encode()) == said


@pytest.mark.parametrize("line", [f"> {SHORT}\n", '{"a": {"b": [{"c": "d' * 9 + "\n", "{\n  'a': {\n"])
def test_four_times_as_many_that_are_cut_take_hardly_more_than_four_times_as_long(line: str) -> None:
    def cost(times: int) -> tuple[int, int]:
        data = Copied(f"{json.dumps(ASK)}\n{line * times}".encode())

        def read_it() -> None:
            list(read([File(name="a.log", data=data)], WIRES).seen)

        return steps(read_it), data.size

    few, many = cost(100), cost(400)
    assert many[0] < 5 * few[0]
    assert many[1] < 5 * few[1]


@pytest.mark.parametrize("lead", ["chunk: ", "data: "])
def test_pieces_of_a_stream_that_are_written_for_eyes_are_a_line_each(lead: str) -> None:
    """Else the first line of each would be taken for all of it."""
    of_ollama = [{"message": {"role": "assistant", "content": text}, "done": text == "b"} for text in "ab"]
    write: Callable[[object], str] = lambda value: f"{lead}{json.dumps(value, indent=2)}\n"  # noqa: E731
    for pieces, form in (
        ([PIECE, PIECE], "data: {}\n\n"),
        (of_ollama, "{}\n" if lead == "chunk: " else "data: {}\n\n"),
    ):
        _, found = reading_of(f"> {BODY}\n{''.join(map(write, pieces))}")
        assert b"".join(bodies(found, "chunk")).decode() == "".join(form.format(json.dumps(each)) for each in pieces)


def test_an_answer_that_its_logger_cut_takes_nothing_in_that_follows_it() -> None:
    """Each body is cut at so many characters; what stands next in the same place is no rest of the one before."""
    lines: list[JSON] = []
    for number in range(3):
        asked = json.dumps({"model": "m", "messages": [{"role": "user", "content": f"question {number} " * 20}]})
        pieces = [
            {"object": "chat.completion.chunk", "id": f"c{number}", "choices": [{"delta": {"content": word}}]}
            for word in ("all", "of", "it")
        ]
        answer = "".join(f"data: {json.dumps(piece)}\n\n" for piece in pieces)
        lines += [{"dir": "request", "body": asked[:200]}, {"dir": "response", "body": answer[:-20]}]
    _, found = reading_of("# model\n" + "\n".join(json.dumps(each) for each in lines))
    requests = [each.draft for each in found if each.draft.kind == "request"]
    assert [f"question {number}".encode() in draft.data for number, draft in enumerate(requests)] == [True] * 3
    said = [
        b"".join(
            each.draft.data for each in found if each.draft.kind == "chunk" and each.draft.exchange == draft.exchange
        )
        for draft in requests
    ]
    assert [[f'"c{other}"'.encode() in data for other in range(3)] for data in said] == [
        [True, False, False],
        [False, True, False],
        [False, False, True],
    ]


@pytest.mark.parametrize("raw", ["\0", "\t", "\x1b[31m", "\x07", "\x0b"])
def test_what_has_control_characters_as_they_are_in_its_texts_is_not_cut(raw: str) -> None:
    body, answer = (text.replace("hi", f"h{raw}i") for text in (BODY, ANSWER.replace("30", "hi")))
    assert raw in body
    reading, found = reading_of(f"asked: {body}\nsaid: {answer}\n")
    assert bodies(found, "request") == [body.encode()]
    assert bodies(found, "chunk") == [answer.encode() + b"\n"]
    assert [each.draft.malformed for each in found if each.draft.kind == "request"] == [None]
    assert not reading.notes.told


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (r"C:\\", "C:\\"),
        (r"C:\\...", "C:\\"),
        (r"the \\u12", r"the \u12"),
        (r"the \u12", "the "),
        (r"the \\\u12", "the \\"),
        (r"a\b", "a\b"),
        ("a\\", "a"),
        (r"a\ud83d", "a"),
        (r"a\ud83d\ude", "a"),
        (r"a\ud83d\ude00", "a\U0001f600"),
        ("a\ufffd", "a"),
        (r"he said \"", 'he said "'),
        ("a... (12 more)  ", "a"),
        ("a… [truncated]", "a"),
        ("a... (b... (c)", "a"),
        ("see (b)", "see (b)"),
        ("a..", "a.."),
    ],
)
def test_of_a_text_that_is_cut_all_is_said_but_half_a_character_and_what_the_logger_put_there(
    text: str, said: str
) -> None:
    found = mended(f'{{"delta": {{"content": "{text}'.encode())
    assert found is not None
    assert json.loads(found[0]) == {"delta": {"content": said}}


@pytest.mark.parametrize(
    "text",
    [f"{'.' * 100_000}x", f"...{' ' * 100_000}x", f"...{' (' * 50_000}x)", "\\\\" * 100_000],
    ids=["dots", "spaces", "brackets", "backslashes"],
)
def test_a_long_text_that_is_cut_is_read_in_one_look(text: str) -> None:
    """In seconds, or this test runs into its time limit."""
    found = mended(f'{{"content": "{text}'.encode())
    assert found is not None
    assert json.loads(found[0]) == {"content": text.replace("\\\\", "\\")}


@pytest.mark.parametrize("piece", ["words ", r"\n", r"\""])
def test_a_long_text_that_is_cut_takes_little_more_memory_than_itself(piece: str) -> None:
    data = f'{{"content": "{piece * (1_000_000 // len(piece))}'.encode()
    tracemalloc.start()
    try:
        assert mended(data) is not None
        assert tracemalloc.get_traced_memory()[1] < 20 * len(data)
    finally:
        tracemalloc.stop()
