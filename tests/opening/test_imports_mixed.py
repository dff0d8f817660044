"""Text logs of proxies that pass on several exchanges at the same time: no answer is made of two, and none is given to another's request."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from tests.capture.captured import CHAT, NOW_NS, WHOLE, WIRES
from tui_host.capture.json.narrowing import items, mapping
from tui_host.errors import JSON
from tui_host.opening import File, read

DONE = "data: [DONE]"


def asked(question: str) -> str:
    return json.dumps({**mapping(CHAT), "stream": True, "messages": [{"role": "user", "content": question}]})


def chunk(name: str, text: str) -> str:
    delta: JSON = {"index": 0, "delta": {"content": text}}
    return "data: " + json.dumps({"id": name, "object": "chat.completion.chunk", "choices": [delta]})


def whole(text: str) -> str:
    message: JSON = {"role": "assistant", "content": text}
    return json.dumps({**mapping(WHOLE), "id": text, "choices": [{"index": 0, "message": message}]})


def exchanges(text: str) -> tuple[list[tuple[str, str]], list[str]]:
    """What was asked and said in each exchange, and what a person is told."""
    reading = read([File(name="llm.log", data=text.encode(), time_ns=NOW_NS)], WIRES)
    found: dict[str, tuple[str, str]] = {}
    for each in reading.seen:
        question, answer = found.get(each.draft.exchange or "", ("", ""))
        if each.draft.kind == "request" and each.draft.data:
            (message,) = items(mapping(json.loads(each.draft.data)).get("messages"))
            question = str(mapping(message)["content"])
        elif each.draft.kind == "chunk":
            for line in each.draft.data.decode().splitlines():
                said = line.removeprefix("data: ")
                if said.startswith("{"):
                    for choice in map(mapping, items(mapping(json.loads(said)).get("choices"))):
                        answer += str(mapping(choice.get("delta") or choice.get("message"))["content"])
        found[each.draft.exchange or ""] = question, answer
    return list(found.values()), reading.notes.told


MIXED = [
    (7, ">>", asked("first?")),
    (8, ">>", asked("second?")),
    (8, "<<", chunk("b", "BBB")),
    (7, "<<", chunk("a", "AAA")),
    (8, "<<", chunk("b", " two")),
    (7, "<<", chunk("a", " one")),
    (7, "<<", DONE),
    (8, "<<", DONE),
]
NAMED: dict[str, Callable[[int, str], str]] = {
    "brackets": lambda n, arrow: f"[req-{n}] {arrow}",
    "number": lambda n, arrow: f"[{n}] {arrow}",
    "sharp": lambda n, arrow: f"#{n} {arrow}",
    "word": lambda n, arrow: f"req-{n} {arrow}",
    "hex": lambda n, arrow: f"[{n}f3a9c1{n}] {arrow}",
    "thread": lambda n, arrow: f"[Thread-{n}] {arrow}",
    "behind the arrow": lambda n, arrow: f"{arrow} [{n}]",
    "level before": lambda n, arrow: f"[INFO] [req-{n}] {arrow}",
    "id": lambda n, arrow: f"{arrow} id={n}",
    "one word": lambda n, arrow: f"{arrow} requestId={n}",
}
UNNAMED: dict[str, Callable[[int, str], str]] = {
    "arrow": lambda _, arrow: arrow,
    "level": lambda _, arrow: f"[INFO] {arrow}",
    "process": lambda _, arrow: f"[4711] {arrow}",
    "session": lambda _, arrow: f"{arrow} session id=5",
}


def log(form: Callable[[int, str], str], lines: list[tuple[int, str, str]]) -> str:
    return "".join(f"20:00:{at:02}.5 {form(n, arrow)} {said}\n" for at, (n, arrow, said) in enumerate(lines, 1))


@pytest.mark.parametrize("name", NAMED)
def test_what_names_the_exchange_before_each_line_joins_it(name: str) -> None:
    found, notes = exchanges(log(NAMED[name], MIXED))
    assert sorted(found) == [("first?", "AAA one"), ("second?", "BBB two")]
    assert not notes


@pytest.mark.parametrize("name", UNNAMED)
def test_streams_are_told_apart_by_their_own_ids_and_given_to_no_request_of_several(name: str) -> None:
    found, notes = exchanges(log(UNNAMED[name], MIXED))
    assert sorted(found) == [("", "AAA one"), ("", "BBB two"), ("first?", ""), ("second?", "")]
    assert sum("beyond doubt" in note for note in notes) == 1


def test_what_names_a_client_of_several_names_none_of_its_exchanges() -> None:
    lines = [
        ("10.0.0.1", [asked("first?"), chunk("a", "A")]),
        ("10.0.0.2", [asked("second?"), chunk("b", "B")]),
        ("10.0.0.1", [asked("third?"), chunk("a", "A"), chunk("c", "C"), chunk("a", "A"), chunk("c", "C")]),
    ]
    found, notes = exchanges("\n".join(f"[{name}] {line}" for name, said in lines for line in said))
    assert (found, notes) == ([("first?", "AAA"), ("second?", "B"), ("third?", "CC")], [])


def test_a_stream_goes_on_behind_the_next_request() -> None:
    lines = [asked("first?"), chunk("a", "A"), asked("second?"), chunk("a", "A"), DONE, chunk("b", "B"), DONE]
    found, notes = exchanges("\n".join(lines))
    assert (sorted(found), notes) == ([("first?", "AA"), ("second?", "B")], [])


def test_what_a_stream_used_is_its_own_behind_the_next_request() -> None:
    used = chunk("a", "").split("choices")[0] + 'choices": [], "usage": {"prompt_tokens": 1}}'
    ended = chunk("a", "A").replace('"index": 0', '"index": 0, "finish_reason": "stop"')
    lines = [asked("first?"), chunk("a", "A"), ended, asked("second?"), used, DONE, chunk("b", "B"), DONE]
    found, notes = exchanges("\n".join(lines))
    assert (sorted(found), notes) == ([("first?", "AA"), ("second?", "B")], [])


@pytest.mark.parametrize("name", NAMED)
def test_whole_answers_go_to_what_is_called_the_same(name: str) -> None:
    lines = [(7, ">>", asked("first?")), (8, ">>", asked("second?")), (8, "<<", whole("B")), (7, "<<", whole("A"))]
    found, _ = exchanges(log(NAMED[name], lines))
    assert sorted(found) == [("first?", "A"), ("second?", "B")]


def test_whole_answers_to_one_of_several_requests_are_given_to_none() -> None:
    """Also those that come while others wait, which the rest of the log tells."""
    lines = ["one", "two", whole("1"), "three", whole("2"), "four", whole("3"), whole("4")]
    found, notes = exchanges("\n".join(asked(line) if line.isalpha() else line for line in lines))
    assert all(not question or not answer for question, answer in found)
    assert sum("beyond doubt" in note for note in notes) == 1


def test_a_request_that_is_asked_again_is_no_doubt() -> None:
    found, notes = exchanges("\n".join([asked("hi"), asked("hi"), chunk("a", "A"), DONE]))
    assert (found, notes) == ([("hi", ""), ("hi", "A")], [])


def test_answers_whose_pieces_have_an_id_each_or_all_the_same_are_whole() -> None:
    each = [chunk(str(n), str(n)) for n in range(9)]
    assert exchanges("\n".join([asked("hi"), *each, DONE]))[0] == [("hi", "012345678")]
    same = [asked("one"), chunk("c", "1"), DONE, asked("two"), chunk("c", "2"), asked("three"), chunk("c", "3")]
    assert exchanges("\n".join(same))[0] == [("one", "1"), ("two", "2"), ("three", "3")]


def test_many_streams_at_the_same_time_are_bounded() -> None:
    pieces = [chunk(str(n), "x") for _ in range(2) for n in range(50)]
    found, _ = exchanges("\n".join([asked("hi"), *pieces]))
    assert sorted(found) == [*[("", "xx")] * 49, ("hi", "xx")]


EVENTS = ["message_start", "content_block_delta", "content_block_delta", "message_stop"]
"""Of a stream of Anthropic's: what stands in it is told by its beginning alone."""


def claude(question: str) -> str:
    return json.dumps({**mapping(json.loads(asked(question))), "system": "s", "max_tokens": 9})


def events(name: str) -> list[str]:
    """The data of such a stream, whose second and third events say a text each."""
    said: list[dict[str, JSON]] = [
        {"message": {"id": name}},
        {"delta": {"text": "one"}},
        {"delta": {"text": "two"}},
        {},
    ]
    said = [{**each, **({"index": 0} if "delta" in each else {})} for each in said]
    return ["data: " + json.dumps({"type": kind, **each, "of": name}) for kind, each in zip(EVENTS, said, strict=True)]


def records(text: str) -> list[tuple[str, list[bytes], list[str]]]:
    """Of each exchange its question, the lines of its answer, and the kinds of its records."""
    found: dict[str, tuple[list[str], list[bytes], list[str]]] = {}
    for each in read([File(name="llm.log", data=text.encode(), time_ns=NOW_NS)], WIRES).seen:
        questions, lines, kinds = found.setdefault(each.draft.exchange or "", ([], [], []))
        kinds.append(each.draft.kind)
        if each.draft.kind == "request" and each.draft.data:
            (message,) = items(mapping(json.loads(each.draft.data)).get("messages"))
            questions.append(str(mapping(message)["content"]))
        elif each.draft.kind == "chunk":
            lines += [line for line in each.draft.data.splitlines() if line]
    return [("".join(questions), lines, kinds) for questions, lines, kinds in found.values()]


@pytest.mark.parametrize("name", NAMED)
def test_an_error_in_a_word_goes_to_what_is_called_the_same(name: str) -> None:
    error = '{"error": "model not found"}'
    lines = [*MIXED[:3], (7, "<<", error), (8, "<<", chunk("b", " two")), (8, "<<", DONE)]
    first, second = records(log(NAMED[name], lines))
    assert first[:2] == ("first?", [error.encode()])
    assert second[0] == "second?"
    assert len(second[1]) == 3  # its two pieces, and that it is over


@pytest.mark.parametrize("form", ["a line each", "one of both"])
@pytest.mark.parametrize("name", NAMED)
def test_lines_of_events_go_where_their_data_go(name: str, form: str) -> None:
    pieces = [
        (n, part)
        for kind, *data in zip(EVENTS, events("7"), events("8"), strict=True)
        for n, said in zip((7, 8), data, strict=True)
        for part in ([f"event: {kind}", said] if form == "a line each" else [f"event: {kind}\n{said}\n"])
    ]
    asking = [(7, ">>", claude("first?")), (8, ">>", claude("second?"))]
    found = records(log(NAMED[name], [*asking, *((n, "<<", part) for n, part in pieces)]))
    assert [(question, lines) for question, lines, _ in found] == [
        (question, [line.encode() for n, part in pieces if n == which for line in part.split("\n") if line])
        for which, question in ((7, "first?"), (8, "second?"))
    ]


@pytest.mark.parametrize("name", NAMED)
def test_what_is_said_once_more_of_an_exchange_that_is_over_makes_no_doubt_of_others(name: str) -> None:
    """Many a proxy writes the whole answer behind its pieces."""
    lines = [*MIXED[:4], MIXED[5], MIXED[4], MIXED[6], (7, "<<", whole("AAA one")), MIXED[7]]
    others = [(n + 2, arrow, said.replace("first", "third").replace("second", "fourth")) for n, arrow, said in MIXED]
    found, notes = exchanges(log(NAMED[name], [*lines, *others]))
    assert [each for each in found if each[0]] == [
        ("first?", "AAA one"),
        ("second?", "BBB two"),
        ("third?", "AAA one"),
        ("fourth?", "BBB two"),
    ]
    assert not notes


@pytest.mark.parametrize("name", ["brackets", "id"])
def test_names_are_heard_after_thousands_of_them(name: str) -> None:
    over = [(n, arrow, said) for n in range(100, 4300) for arrow, said in ((">>", asked("x")), ("<<", whole("x")))]
    lines = [f"{NAMED[name](n, arrow)} {said}" for n, arrow, said in [*over, *MIXED]]
    assert exchanges("\n".join(lines))[0][-2:] == [("first?", "AAA one"), ("second?", "BBB two")]


def test_answers_that_are_told_once_more_with_their_id_are_not_mixed() -> None:
    again = [whole(said).replace(f'"id": "{said}"', f'"id": "{said[0].lower()}"') for said in ("AAA one", "BBB two")]
    lines = [said for _, _, said in MIXED] + again
    found, _ = exchanges("\n".join(lines))
    assert sorted(each for each in found if each[1]) == [*[("", "AAA one")] * 2, *[("", "BBB two")] * 2]


def test_what_comes_late_of_a_stream_that_is_over_answers_nothing_else() -> None:
    ended = chunk("b", " two").replace('"index": 0', '"index": 0, "finish_reason": "stop"')
    lines = [asked("first?"), chunk("a", "AAA"), asked("second?"), chunk("b", "BBB"), ended, DONE, chunk("a", " one")]
    found, _ = exchanges("\n".join([*lines, asked("third?"), chunk("b", " more"), chunk("c", "C"), DONE]))
    assert ("third?", "C") in found


def test_ids_that_come_again_later_are_of_other_answers() -> None:
    """Some servers make them of few digits."""
    each = [(asked(f"{n}?"), chunk(f"{n % 7}", f"{n}"), DONE) for n in range(20)]
    found, notes = exchanges("\n".join(line for lines in each for line in lines))
    assert (found, notes) == ([(f"{n}?", f"{n}") for n in range(20)], [])


def test_a_request_that_nothing_answers_ends_with_the_log() -> None:
    found = records("\n".join([asked("first?"), chunk("a", "A"), asked("second?"), chunk("a", "A")]))
    assert [kinds for _, _, kinds in found] == [["request", "response", "chunk", "chunk", "end"], ["request", "end"]]


@pytest.mark.parametrize("form", ["data", "events"])
def test_what_tells_no_id_goes_on_with_the_only_stream_that_may(form: str) -> None:
    def lines(name: str) -> list[str]:
        written = (f"event: {kind}\n{said}" for kind, said in zip(EVENTS, events(name), strict=True))
        return events(name) if form == "data" else list(written)

    text = "\n".join([claude("first?"), *lines("a")[:2], claude("second?"), *lines("a")[2:], *lines("b")])
    found = records(text)
    assert [
        (question, sum(name in line for line in said)) for question, said, _ in found for name in (b'"a"', b'"b"')
    ] == [
        ("first?", 4),
        ("first?", 0),
        ("second?", 0),
        ("second?", 4),
    ]


def test_what_may_be_of_several_streams_is_given_to_none() -> None:
    pieces = [said for both in zip(events("a"), events("b"), strict=True) for said in both]
    text = "\n".join([claude("first?"), pieces[0], claude("second?"), *pieces[1:]])
    found = records(text)
    assert [(question, len(said)) for question, said, _ in found if question] == [("first?", 1), ("second?", 0)]
    assert "several answers" in exchanges(text)[1][0]
