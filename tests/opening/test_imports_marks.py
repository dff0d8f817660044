"""Logs in which a word names the exchange, whatever it is called, and such in which one only looks as if it did."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from functools import partial
from itertools import count, cycle

import pytest

from tests.capture.captured import WHOLE
from tests.capture.spoken import Talk, asked, in_turn, ollama, openai, talks
from tui_host.capture.json.narrowing import mapping

Word = Callable[[str, str], str]
"""What stands beside something, by its exchange, and by the way that it went."""
Line = Callable[[str, str, str], str]
"""A line, by its exchange, the way, and what was on the wire."""


def beside(word: Word) -> Line:
    return lambda name, way, said: f"2026-11-20 14:02:07,100 INFO {word(name, way)} {said}"


def in_object(member: str, place: str = "") -> Line:
    def line(name: str, way: str, said: str) -> str:
        named = {place: {member: f"{name}x"}} if place else {member: f"{name}x"}
        return json.dumps(
            {"ts": "2026-11-20T14:02:07.100Z", **named, "dir": way, "body": said + "\n\n" * (said[:1] == "d")}
        )

    return line


NAMED: dict[str, Line] = {
    "key": beside(lambda name, way: f"task={name} {way}"),
    "key with a colon": beside(lambda name, way: f"{way} worker: {name} |"),
    "key of letters": beside(lambda name, way: f"agent={'abcdefghi'[int(name)]} {way}"),
    "word": beside(lambda name, way: f"conv-{name} {way}"),
    "parentheses": beside(lambda name, way: f"(Thread-{name}) {way}"),
    "behind the arrow": beside(lambda name, way: f"{way} ({name}{name})"),
    "address": beside(lambda name, way: f"127.0.0.1:5{name}012 {way}"),
    "both ends of a connection": beside(
        lambda name, way: " -> ".join([f"127.0.0.1:5{name}012", "10.0.0.7:443"][:: 1 if way == ">>>" else -1])
    ),
    "key in Chinese": beside(lambda name, way: f"会话={name} {way}"),
    "key in Chinese, its colon too": beside(lambda name, way: f"请求编号：{name} {way}"),
    "value in Chinese": beside(lambda name, way: f"用户={'甲乙丙丁戊己庚辛壬'[int(name)]} {way}"),
    "Chinese brackets": beside(lambda name, way: f"【会话{name}】 {way}"),
    "member": in_object("conn"),
    "member by another name": in_object("traceId"),
    "member within": in_object("peer", "meta"),
}
STREAMS: dict[str, Callable[[str, str], list[str]]] = {
    "no ids": lambda _, text: openai(text),
    "no role": lambda _, text: openai(text, roles="none"),
    "ids": lambda name, text: openai(text, name=f"chatcmpl-{name}"),
    "ollama": lambda _, text: ollama(text),
    "whole": lambda name, text: [
        json.dumps(
            {
                **mapping(WHOLE),
                "id": name + text,
                "choices": [{"index": 0, "message": {"role": "assistant", "content": text}}],
            }
        )
    ],
}


def log(line: Line, stream: Callable[[str, str], list[str]], texts: Iterable[str]) -> list[str]:
    """Twice three exchanges that go on at the same time; the answers begin in another order than they were asked for in."""
    lines: list[str] = []
    for number, text in enumerate(texts):
        lines += [line(name, ">>>", asked(f"{name}{number}")) for name in "123"]
        pieces = ([line(name, "<<<", each) for each in stream(name, name + text)] for name in "213")
        lines += in_turn(*pieces)
    return lines


@pytest.mark.parametrize("stream", STREAMS)
@pytest.mark.parametrize("name", NAMED)
def test_a_word_that_each_request_has_and_all_of_its_answer_joins_them(name: str, stream: str) -> None:
    found, words = talks(log(NAMED[name], STREAMS[stream], ["aa", "bbbb"]))
    texts = {"0": "aa", "1": "bbbb"}
    assert sorted(found) == sorted(
        Talk(f"{each}{number}", each + text) for number, text in texts.items() for each in "123"
    )
    assert not words


def unnamed() -> dict[str, Line]:
    """Words that are other than they look, each counted anew."""
    lines, of_ways = count(), {">>>": count(), "<<<": count()}
    some = cycle((0, 1, 1, 2, 0, 2, 2, 1))
    return {
        "number of the line": beside(lambda _, way: f"line={next(lines)} {way}"),
        "number of that way": beside(lambda _, way: f"n={next(of_ways[way])} {way}"),
        "the same for all": beside(lambda _, way: f"session=7 {way}"),
        "client of several": beside(lambda name, way: f"user={int(name) % 2} {way}"),
        "of the question alone": beside(lambda name, way: f"size={name} {way}" if way == ">>>" else way),
        "of the answer alone": beside(lambda name, way: f"size={name} {way}" if way == "<<<" else way),
        "any": beside(lambda _, way: f"took={next(some)} {way}"),
        "level": beside(lambda _, way: f"[L-{next(some)}] {way}"),
        "member": lambda _, way, said: json.dumps({"n": next(some), "dir": way, "body": said}),
    }


@pytest.mark.parametrize("stream", STREAMS)
@pytest.mark.parametrize("name", unnamed())
def test_a_word_that_only_looks_like_a_name_joins_nothing(name: str, stream: str) -> None:
    found, words = talks(log(unnamed()[name], STREAMS[stream], ["aa", "bbbb"]))
    assert not any(talk.question and talk.answer for talk in found)
    assert words


@pytest.mark.parametrize("stream", STREAMS)
@pytest.mark.parametrize("name", unnamed())
def test_where_one_is_asked_for_at_a_time_words_change_nothing(name: str, stream: str) -> None:
    line = unnamed()[name]
    lines = [
        line(each, *said)
        for each in "12345"
        for said in [(">>>", asked(each)), *(("<<<", piece) for piece in STREAMS[stream](each, each * 3))]
    ]
    assert talks(lines) == ([Talk(each, each * 3) for each in "12345"], [])


def test_whole_answers_that_come_as_they_were_asked_for_may_be_counted_like_their_requests() -> None:
    """A count of answers would be the same, whatever each is to."""
    line = beside(lambda name, way: f"call={name} {way}")
    lines = [line(name, ">>>", asked(name)) for name in "123"]
    found, words = talks([*lines, *(line(name, "<<<", *STREAMS["whole"](name, name)) for name in "123")])
    assert not any(talk.question and talk.answer for talk in found)
    assert any("beyond doubt" in each for each in words)


def test_of_several_words_one_that_names_more_than_exchanges_is_not_heard() -> None:
    line = beside(lambda name, way: f"session id=5 task={name} {way}")
    found, words = talks(log(line, STREAMS["no ids"], ["aa", "bbbb"]))
    assert Talk("10", "1aa") in found
    assert not words


def test_what_is_said_once_more_as_a_whole_speaks_against_no_name() -> None:
    stream = STREAMS["ids"]
    both = partial(log, NAMED["key"], lambda name, text: [*stream(name, text), *STREAMS["whole"](name, text)])
    found, _ = talks(both(["aa", "bbbb"]))
    assert [talk for talk in found if talk.question] == [
        Talk(f"{name}{number}", name + text) for number, text in enumerate(["aa", "bbbb"]) for name in "123"
    ]
