"""Lists of the lines or chunks of a stream, as Python prints them into a log."""

from __future__ import annotations

import json
import pprint
from collections.abc import Callable, Sequence

import pytest

from tests.capture.captured import CHAT, PIECE, WIRES, seen
from tests.steps import steps
from tui_host.capture.json.narrowing import mapping
from tui_host.opening import File, read
from tui_host.opening.logs.printed import printed

SAID = [json.dumps({**mapping(PIECE), "n": number, "text": "it's 😀"}, ensure_ascii=False) for number in range(9)]
STREAM = "".join(f"data: {each}\n\n" for each in (*SAID, "[DONE]"))
CHUNKS = [STREAM[at : at + 41] for at in range(0, len(STREAM), 41)]


def answer(written: str) -> str:
    """What the answer is that a log tells, which has all of it."""
    log = f"asked {json.dumps(CHAT)}\nsaid {written}\nasked {json.dumps(CHAT)}\n"
    reading = read([File(name="a.log", data=log.encode())], WIRES)
    found = list(reading.seen)
    assert [each.draft.kind for each in found if each.draft.exchange == "x1"][-1] == "end"
    assert not [told for told in reading.notes.told if "cut off" in told]
    return b"".join(each.draft.data for each in found if each.draft.kind == "chunk").decode()


@pytest.mark.parametrize("ends", [[], [""], ["", ""]])
@pytest.mark.parametrize("write", [repr, json.dumps], ids=["Python", "JSON"])
def test_a_list_of_lines_with_the_empty_ones_among_them_is_their_stream(
    ends: Sequence[str], write: Callable[[Sequence[str]], str]
) -> None:
    """As `iter_lines()` of an HTTP client gives them."""
    assert answer(write([*STREAM.splitlines(), *ends])).rstrip() == STREAM.rstrip()


def test_a_list_of_lines_as_bytes_is_their_stream() -> None:
    assert answer(repr(STREAM.encode().splitlines())).rstrip() == STREAM.rstrip()


def test_a_list_whose_first_say_nothing_is_the_stream_of_the_others() -> None:
    assert answer(repr([b"", *(each.encode() for each in CHUNKS), b""])) == STREAM
    assert answer(repr(["", "", *CHUNKS])) == STREAM


def test_a_tuple_of_chunks_is_their_stream() -> None:
    assert answer(f"chunks={tuple(CHUNKS)!r}") == STREAM


@pytest.mark.parametrize("kind", [list, tuple])
@pytest.mark.parametrize("width", [20, 80])
def test_chunks_that_were_printed_over_several_lines_are_their_stream(
    kind: Callable[[Sequence[bytes]], Sequence[bytes]], width: int
) -> None:
    written = pprint.pformat(kind([each.encode() for each in CHUNKS]), width=width)
    assert written.count("\n") >= len(CHUNKS) - 1
    assert answer("\n" + written) == STREAM


def test_a_text_that_was_printed_over_several_lines_is_whole() -> None:
    assert answer("\n" + pprint.pformat(STREAM.encode())) == STREAM


def test_what_is_given_to_a_function_is_no_tuple() -> None:
    line = b"send('data: x', 'utf-8')"
    found = printed(line, len(line))
    assert found is not None
    assert found.data == b"data: x"


def test_a_list_over_lines_that_has_no_end_is_what_its_lines_say_each() -> None:
    log = f"asked {json.dumps(CHAT)}\nsaid ['data: {json.dumps(PIECE)}',\n 'more',\n'none'\n"
    reading = read([File(name="a.log", data=log.encode())], WIRES)
    said = [each.draft.data for each in reading.seen if each.draft.kind == "chunk"]
    assert said[0].strip() == f"data: {json.dumps(PIECE)}".encode()


@pytest.mark.parametrize("line", [" 'a', ['data: x',\n", "['data: x',\n", " 'a', ('data: x'\n"])
def test_lists_over_lines_that_never_end_cost_by_their_number(line: str) -> None:
    few, many = (steps(lambda count=count: seen(f"{json.dumps(CHAT)}\n{line * count}")) for count in (200, 800))
    assert many < 4.4 * few
