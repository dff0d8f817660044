"""Answers of which a logger cut each line, or each body: what there is of them is shown, and none is called whole."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest

from tests.capture.captured import CHAT
from tests.opening.test_imports_cut import bodies, reading_of
from tui_host.capture.http.exchange_end import CUT, read_ending
from tui_host.errors import JSON
from tui_host.opening.drafts import Seen

BODY = json.dumps(CHAT)
WORDS = ("It", " is", " 30.")


def pieces_of(number: int = 0) -> list[str]:
    """The events of a stream, as OpenAI sends them."""
    told: list[JSON] = [{"index": 0, "delta": {"content": word}, "finish_reason": None} for word in WORDS]
    last: JSON = {"index": 0, "delta": {}, "finish_reason": "stop"}
    head: dict[str, JSON] = {"id": f"chatcmpl-{number}", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    return [json.dumps({**head, "choices": [choice]}) for choice in (*told, last)]


def ends(found: Sequence[Seen]) -> list[str]:
    """Of each answer why it is not whole, empty where it is."""
    return [read_ending(each.draft.data).error for each in found if each.draft.kind in {"end", "error"}]


@pytest.mark.parametrize("most", [6, 20, 45, 71, 90, 110])
@pytest.mark.parametrize("tail", ["", "...", "…[truncated]"])
def test_events_that_are_cut_before_they_say_anything_are_of_the_answer_that_is_waited_for(
    most: int, tail: str
) -> None:
    cut = [f"{piece[:most]}{tail}" for piece in pieces_of()]
    lines = [f"10:00:01 <<< data: {piece}\n" for piece in (*cut, "[DONE]")]
    reading, found = reading_of(f"10:00:00 >>> {BODY}\n{''.join(lines)}")
    assert b"".join(bodies(found, "chunk")).decode() == "".join(f"data: {piece}\n\n" for piece in (*cut, "[DONE]"))
    assert len({each.draft.exchange for each in found}) == 1
    assert ends(found) == [CUT]
    assert reading.notes.told == [
        f"a.log has {len(cut)} bodies or messages that are {CUT}, the first in line 2: shown up to there."
    ]
    assert not reading.notes.words


def test_an_answer_is_not_whole_of_which_one_event_is_cut_and_its_end_is_there() -> None:
    lines = [f"data: {piece[:-20] if number == 1 else piece}\n\n" for number, piece in enumerate(pieces_of())]
    _, found = reading_of(f"# model\n> {BODY}\n{''.join(lines)}data: [DONE]\n\n> {BODY}\n< data: {pieces_of(1)[0]}\n")
    assert b"".join(bodies(found, "chunk")[: len(lines)]).decode() == "".join(lines)
    assert ends(found) == [CUT, ""]


def test_the_pieces_that_are_cut_of_two_answers_are_told_apart_by_their_ids() -> None:
    lines = [f"<< data: {piece[:60]}\n" for pair in zip(pieces_of(0), pieces_of(1), strict=True) for piece in pair]
    _, found = reading_of("".join(lines))
    said: dict[str | None, bytes] = {}
    for each in found:
        said[each.draft.exchange] = said.get(each.draft.exchange, b"") + each.draft.data
    assert sorted((b'"chatcmpl-0"' in data, b'"chatcmpl-1"' in data) for data in said.values()) == [
        (False, True),
        (True, False),
    ]
    assert ends(found) == [CUT, CUT]


@pytest.mark.parametrize("most", [60, 70])
def test_lines_of_ollama_that_are_cut_before_they_say_anything_are_of_its_answer(most: int) -> None:
    piece = '{"model":"qwen3","created_at":"2026-11-20T14:02:07.1Z","message":{"role":"assistant","content":"hi"},"done":false}'
    _, found = reading_of(f">> {BODY}\n<< {piece[:most]}\n<< {piece[:most]}\n")
    assert bodies(found, "chunk") == [f"{piece[:most]}\n".encode()] * 2
    assert ends(found) == [CUT]


def test_what_is_cut_behind_a_word_with_a_colon_is_left_out_with_a_word() -> None:
    reading, found = reading_of(f'> {BODY}\nresponse: {{"id": "x", "na\ndata: {{"id": "y", "ob\n> {BODY}\n')
    assert len(bodies(found, "request")) == 2
    assert ends(found)[0] == CUT
    assert reading.notes.words == "lines that are cut off (1, first line 2)"


STREAM = "".join(f"data: {piece}\n\n" for piece in pieces_of())
PRINTS: dict[str, str] = {
    "a text that Python prints": "10:00:01 <<< {!r}\n",
    "a text of an object": '{{"dir": "response", "body": {}}}\n',
    "a line for itself": "{}\n",
}


@pytest.mark.parametrize("name", PRINTS)
def test_a_stream_that_ends_within_an_event_is_told_as_cut(name: str) -> None:
    lines: list[str] = []
    for most in range(30, len(STREAM), 37):
        said = STREAM[:most].rstrip("\n")
        written = json.dumps(said) if "body" in PRINTS[name] else said
        lines = [f"10:00:00 >>> {BODY}\n", PRINTS[name].format(written), f"10:00:00 >>> {BODY}\n"]
        reading, found = reading_of("".join(lines))
        is_cut = not said.endswith("}]}") and (name != "a line for itself" or "{" in said.rpartition("\n")[2])
        assert ends(found)[:1] == [CUT if is_cut else ""], said
        if is_cut:
            number = 2 + (said.count("\n") if name == "a line for itself" else 0)
            assert reading.notes.told == [
                f"a.log has a body or message that is {CUT}, in line {number}: shown up to there."
            ]


@pytest.mark.parametrize("most", [60, 81, 150])
def test_each_piece_that_was_cut_as_it_was_printed_is_a_line_of_the_stream(most: int) -> None:
    cut = [f"data: {piece}"[:most] for piece in pieces_of()]
    reading, found = reading_of(f"> {BODY}\n{''.join(f'recv {piece!r}{chr(10)}' for piece in cut)}")
    assert b"".join(bodies(found, "chunk")).decode().rstrip() == "\n\n".join(cut)
    assert ends(found) == [CUT]
    assert reading.notes.told == [
        f"a.log has {len(cut)} bodies or messages that are {CUT}, the first in line 2: shown up to there."
    ]


def test_a_request_behind_a_stream_that_was_cut_between_two_members_is_none_of_its_rest() -> None:
    said = STREAM[: STREAM.index('"created"')]
    lines = [{"dir": way, "body": body} for way, body in (("request", BODY), ("response", said)) * 2]
    _, found = reading_of("".join(f"{json.dumps(line)}\n" for line in lines))
    assert bodies(found, "request") == [BODY.encode()] * 2
    assert bodies(found, "chunk") == [said.encode()] * 2
    assert ends(found) == [CUT, CUT]


@pytest.mark.parametrize("size", [7, 50, 120])
def test_a_stream_in_pieces_cut_anywhere_that_are_all_there_is_whole(size: int) -> None:
    pieces = [STREAM[at : at + size] for at in range(0, len(STREAM), size)]
    reading, found = reading_of(f"> {BODY}\n{''.join(f'recv {piece!r}{chr(10)}' for piece in pieces)}")
    assert b"".join(bodies(found, "chunk")).decode() == STREAM
    assert ends(found) == [""]
    assert not reading.notes.told


def test_a_file_that_is_one_stream_without_its_end_is_told_as_cut() -> None:
    reading, found = reading_of(STREAM[:-30])
    assert ends(found) == [CUT]
    assert reading.notes.told == [f"a.log has a body or message that is {CUT}, in line 7: shown up to there."]
