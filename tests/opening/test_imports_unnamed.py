"""Logs of streams whose pieces name none, and that go on at the same time: no answer is made that nobody gave, and none is lost that was."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

import pytest

from tests.capture.spoken import DONE, Talk, asked, in_turn, ollama, openai, talks
from tests.steps import steps
from tui_host.opening.logs.tangle import WORDS

Stream = Callable[[str], list[str]]
SHAPES: Mapping[str, Stream] = {
    f"{roles}, {usage or 'not used'}, {'closed' if is_closed else 'not closed'}": partial(
        openai, roles=roles, usage=usage, is_closed=is_closed
    )
    for roles in ("first", "twice", "every", "none")
    for usage in ("", "apart", "with the end again", "with a role")
    for is_closed in (True, False)
} | {"ollama": ollama, "ollama, counted": partial(ollama, do_count=True)}


def tangles(found: list[Talk]) -> list[str]:
    return [talk.answer for talk in found if talk.is_tangled]


@pytest.mark.parametrize("shape", SHAPES)
def test_of_pieces_of_several_streams_no_answer_is_made(shape: str) -> None:
    one, two, three = (SHAPES[shape](text) for text in ("aaa", "bbb", "ccc"))
    lines = [*map(asked, ("1", "2", "3")), *in_turn(one, two, three), asked("4"), *SHAPES[shape]("ddd")]
    found, words = talks(lines)
    assert tangles(found) == ["abcabcabc"]
    assert [talk for talk in found if not talk.is_tangled] == [
        *(Talk(question, "") for question in "123"),
        Talk("4", "ddd"),
    ]
    assert [WORDS in each and "from line 4 on" in each for each in words] == [True]


@pytest.mark.parametrize("shape", SHAPES)
def test_answers_that_come_after_each_other_stay_answers_though_several_wait(shape: str) -> None:
    lines = [*map(asked, "123"), *(line for text in ("bbb", "a", "cc") for line in SHAPES[shape](text))]
    found, words = talks(lines)
    assert not tangles(found)
    assert [talk.answer for talk in found if talk.answer] == ["bbb", "a", "cc"]
    assert not any(WORDS in each for each in words)


@pytest.mark.parametrize("shape", SHAPES)
def test_where_one_is_asked_for_at_a_time_each_has_its_answer(shape: str) -> None:
    lines = [line for number in range(5) for line in (asked(f"{number}"), *SHAPES[shape]("abc"[: number % 4]))]
    assert talks(lines) == ([Talk(f"{number}", "abc"[: number % 4]) for number in range(5)], [])


@pytest.mark.parametrize("shape", SHAPES)
def test_what_names_a_session_of_several_exchanges_tells_none_of_them_apart(shape: str) -> None:
    one, two = (SHAPES[shape](text) for text in ("aaa", "bbb"))
    lines = [*map(asked, "12"), *in_turn(one, two), asked("3"), *SHAPES[shape]("c")]
    found, words = talks([f"session id=5 {line}" for line in lines])
    assert tangles(found) == ["ababab"]
    assert [talk for talk in found if not talk.is_tangled] == [Talk("1", ""), Talk("2", ""), Talk("3", "c")]
    assert sum(WORDS in each for each in words) == 1


@pytest.mark.parametrize("shape", SHAPES)
def test_who_asks_anew_within_a_session_before_an_answer_came_has_the_next_one(shape: str) -> None:
    lines = [asked("1"), asked("2"), *SHAPES[shape]("aa"), asked("3"), *SHAPES[shape]("b")]
    found, words = talks([f"session id=5 {line}" for line in lines])
    assert (found, words) == ([Talk("1", ""), Talk("2", "aa"), Talk("3", "b")], [])


@pytest.mark.parametrize("ends", ["at once", "before more of the other"])
def test_one_that_ends_before_the_other_goes_on_is_seen_by_that(ends: str) -> None:
    """The first piece tells a role, which no other does: what says more behind an end is none that begins."""
    one, two = openai("aaa"), openai("b")
    lines = [*one[:2], *two, *one[2:]] if ends == "at once" else [*one[:2], *two[:3], *one[2:4], *two[3:], *one[4:]]
    found, _ = talks([asked("1"), asked("2"), *lines])
    assert tangles(found) == ["abaa"]


def test_one_that_says_more_before_a_stream_is_closed_is_seen_by_that() -> None:
    one, two = openai("aa", roles="none"), openai("bb", roles="none")
    found, _ = talks([asked("1"), asked("2"), one[0], two[0], one[1], one[2], two[1], one[3], *two[2:]])
    assert tangles(found) == ["abab"]


def test_objects_of_ollama_s_that_were_made_earlier_than_those_before_them_are_of_several() -> None:
    one, two = ollama("aa", second=1), ollama("bb", second=3)
    found, _ = talks([asked("1"), asked("2"), one[0], two[0], one[1], one[2], two[1], two[2]])
    assert tangles(found) == ["abab"]


def test_objects_of_ollama_s_are_of_several_where_one_has_more_and_one_has_fewer_than_tokens() -> None:
    one, two = ollama("aaaa", do_count=True), ollama("bbbbbbb", do_count=True)
    found, _ = talks([asked("1"), asked("2"), *in_turn(one, two)])
    assert tangles(found) == ["abababab" + "bbb"]


def test_an_answer_of_ollama_s_without_a_word_is_one() -> None:
    counted = ollama("", do_count=True)
    lines = [asked("1"), asked("2"), *ollama("a"), *counted]
    found, _ = talks(lines)
    assert not tangles(found)


def test_a_stream_that_had_not_ended_when_the_next_was_asked_for_goes_on_among_its_pieces() -> None:
    one, two = openai("aaaa"), openai("bbb")
    found, words = talks([asked("1"), *one[:2], asked("2"), *in_turn(two, one[2:]), asked("3"), *openai("c")])
    assert found[0] == Talk("1", "a")
    assert tangles(found) == ["ababab"]
    assert Talk("2", "") in found
    assert Talk("3", "c") in found
    assert sum(WORDS in each for each in words) == 1


def test_a_stream_that_is_given_up_when_the_next_is_asked_for_is_no_doubt() -> None:
    found, words = talks([asked("1"), *openai("aaaa")[:3], asked("2"), *openai("bbb")])
    assert (found, words) == ([Talk("1", "aa"), Talk("2", "bbb")], [])


def test_what_is_asked_for_later_has_its_answer_though_one_of_several_never_came() -> None:
    later = [line for number in "567" for line in (asked(number), *openai(number * 3))]
    found, words = talks([*map(asked, "1234"), *in_turn(*map(openai, ("aa", "bb", "cc"))), *later])
    assert tangles(found) == ["abcabc"]
    assert [talk for talk in found if talk.question in {"5", "6", "7"}] == [
        Talk(number, number * 3) for number in "567"
    ]
    assert sum(WORDS in each for each in words) == 1


def test_each_time_that_several_go_on_is_told() -> None:
    both = [asked("1"), asked("2"), *in_turn(openai("aa"), openai("bb"))]
    found, words = talks([*both, asked("3"), *openai("c"), *both])
    assert tangles(found) == ["abab"] * 2
    assert Talk("3", "c") in found
    assert "2 times, first from line 3 on" in words[0]


def test_a_word_that_a_stream_has_ended_stands_with_what_is_of_several() -> None:
    """No line is left out."""
    _, words = talks([asked("1"), asked("2"), *in_turn(openai("a"), openai("b")), DONE])
    assert len(words) == 1


def test_several_choices_of_one_answer_are_of_one() -> None:
    both = [line.replace('"index": 0', f'"index": {number}') for line in openai("ab")[:-1] for number in (0, 1)]
    found, words = talks([asked("1"), asked("2"), *both, DONE, *openai("c")])
    assert not tangles(found)
    assert not any(WORDS in each for each in words)


def waiting(size: int) -> list[str]:
    """So many answers that several wait for, none of which is mixed with another."""
    return [
        line
        for number in range(size)
        for line in (asked(f"{number}a"), asked(f"{number}b"), *openai("a"), *openai("b"), *ollama("c")[:1])
    ]


def test_what_is_seen_ahead_costs_no_more_for_each_of_many_than_for_each_of_few() -> None:
    few, many = (steps(partial(talks, waiting(size))) for size in (25, 100))
    assert many < 1.5 * 4 * few
