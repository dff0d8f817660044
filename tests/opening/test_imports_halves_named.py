"""Requests in one file and answers in another, where a word in both names the exchange: whatever the times are, and where there are none."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence

import pytest

from tests.capture.captured import NOW_NS, WHOLE, WIRES
from tests.capture.spoken import asked, in_turn, ollama, openai
from tui_host.capture.json.narrowing import items, mapping
from tui_host.opening import File, read
from tui_host.opening.drafts import Seen
from tui_host.opening.logs.lines import names_in

IDS = ("9b9658cd", "79018d84", "ab8e01ef", "bddb8427")
QUESTIONS = ("one", "two", "three", "four")
ORDER = (1, 0, 3, 2)
"""In which the answers begin."""


def whole(text: str) -> list[str]:
    message = {"index": 0, "message": {"role": "assistant", "content": text}}
    return [json.dumps({**mapping(WHOLE), "id": text, "choices": [message]})]


STREAMS: dict[str, Callable[[str], list[str]]] = {
    "ids": lambda text: openai(text, name=f"chatcmpl-{text}"),
    "no ids": openai,
    "ollama": ollama,
    "whole": whole,
}
WORDS: dict[str, Callable[[int], str]] = {
    "word": lambda number: f"{IDS[number]} |",
    "key": lambda number: f"request_id={number + 1}",
    "brackets": lambda number: f"[req-{number + 1}]",
    "thread": lambda number: f"(Thread-{number + 1})",
    "Chinese": lambda number: f"【请求编号：{IDS[number]}】",
    "number": lambda number: f"trace={17954418360012 + number}",
}


def at(second: float | None, word: str, said: str) -> str:
    return f"2026-11-20 14:02:{second:06.3f} INFO {word} {said}" if second is not None else f"{word} {said}"


def text_of(line: str) -> str:
    event = line.removeprefix("data: ")
    value = mapping(json.loads(event) if event[:1] == "{" else None)
    choice = mapping(next(iter(items(value.get("choices"))), None))
    message = mapping(choice.get("delta") or choice.get("message") or value.get("message"))
    return str(message.get("content") or "")


def log_of(lines: Sequence[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


def taken(requests: str, answers: str) -> tuple[list[Seen], list[str]]:
    files = [File(name=f"{n}.log", data=text.encode(), time_ns=NOW_NS) for n, text in enumerate((answers, requests))]
    reading = read(files, WIRES)
    return [*reading.seen, *(seen for _, more in reading.untimed for seen in more)], reading.notes.told


def talks(found: Sequence[Seen]) -> list[tuple[str, str]]:
    """What was asked in each exchange, and what was answered."""
    texts: dict[str, list[str]] = {}
    for draft in (each.draft for each in found if each.draft.wire == "llm"):
        said = texts.setdefault(draft.exchange or "", ["", ""])
        if draft.kind == "request" and draft.data:
            said[0] = str(mapping(items(mapping(json.loads(draft.data))["messages"])[0])["content"])
        said[1] += "".join(map(text_of, draft.data.decode().splitlines())) if draft.kind == "chunk" else ""
    return [(asked, said) for asked, said in texts.values()]


@pytest.mark.parametrize("stream", STREAMS)
@pytest.mark.parametrize("word", WORDS)
@pytest.mark.parametrize("times", [(None, None), (1, 20), (20, 1), (None, 1)])
def test_each_answer_is_to_the_request_of_its_name_however_the_times_are(
    stream: str, word: str, times: tuple[float | None, float | None]
) -> None:
    named, (asking, answering) = WORDS[word], times
    requests = [at(asking, named(number), asked(text)) for number, text in enumerate(QUESTIONS)]
    pieces = [
        [at(answering, named(number), each) for each in STREAMS[stream](f"to {QUESTIONS[number]}")] for number in ORDER
    ]
    found, told = taken(log_of(requests), log_of(in_turn(*pieces)))
    assert sorted(talks(found)) == sorted((text, f"to {text}") for text in QUESTIONS)
    assert not told
    assert sorted(each.at.ns for each in found) == [each.at.ns for each in found]


def test_ids_join_what_is_there_where_some_requests_or_answers_are_not() -> None:
    requests = [at(None, WORDS["word"](number), asked(QUESTIONS[number])) for number in (0, 1, 2)]
    answers = [at(None, WORDS["word"](number), whole(f"to {QUESTIONS[number]}")[0]) for number in (3, 1, 2)]
    found, told = taken(log_of(requests), log_of(answers))
    assert sorted(talks(found)) == [("", "to four"), ("one", ""), ("three", "to three"), ("two", "to two")]
    assert "it belongs" in told[0]


@pytest.mark.parametrize("stream", STREAMS)
@pytest.mark.parametrize("lost", range(len(QUESTIONS)))
def test_an_answer_whose_request_was_lost_stands_alone_and_keeps_none_from_its_own(stream: str, lost: int) -> None:
    there = [number for number in range(len(QUESTIONS)) if number != lost]
    requests = [at(1, WORDS["word"](number), asked(QUESTIONS[number])) for number in there]
    pieces = [[at(1, WORDS["word"](n), each) for each in STREAMS[stream](f"to {QUESTIONS[n]}")] for n in ORDER]
    found, told = taken(log_of(requests), log_of(in_turn(*pieces)))
    joined = [(QUESTIONS[number], f"to {QUESTIONS[number]}") for number in there]
    assert sorted(talks(found)) == sorted([*joined, ("", f"to {QUESTIONS[lost]}")])
    assert "it belongs" in told[0]


COUNTS: tuple[Callable[[int], str], ...] = (
    lambda number: f"#{number + 1}",  # the lines of each file are counted
    lambda number: f"proxy.py:{40 + number}",
    lambda number: f"id=session7 {number}",
    lambda _: "host-10-0-0-7",
)


@pytest.mark.parametrize("word", COUNTS)
def test_what_may_count_lines_or_is_the_same_for_all_joins_nothing(word: Callable[[int], str]) -> None:
    requests = [at(None, word(number), asked(text)) for number, text in enumerate(QUESTIONS)]
    answers = [at(None, word(number), whole(text)[0]) for number, text in enumerate(("two", "three", "four"))]
    found, _ = taken(log_of(requests), log_of(answers))
    assert not [each for each in talks(found) if all(each)]


@pytest.mark.parametrize("time", ["2026-11-20 14:02:0{}", "2026-11-20T14:0{}", "2026-11-1{}", "2026111{}", "10.2{}"])
def test_a_time_is_no_name_where_an_answer_came_when_another_was_asked_for(time: str) -> None:
    lines = [{"at": time.format(n), "body": asked(text)} for n, text in enumerate(QUESTIONS)]
    answers = [{"at": time.format(n + 1), "body": whole(f"to {QUESTIONS[n]}")[0]} for n in range(3)]
    one, other = (
        File(name="a.log", data=log_of([json.dumps(each) for each in half]).encode(), time_ns=NOW_NS)
        for half in (lines, answers)
    )
    assert names_in(one, other, WIRES) is None
