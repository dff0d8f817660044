"""Files that end in the midst of something, times that are not the log's, and words that look like another format."""

from __future__ import annotations

import gzip
import json
from datetime import UTC, datetime

import pytest

from tests.capture.captured import ASK, NOW_NS, TELL, WIRES, told
from tui_host.errors import JSON, TuiHostError
from tui_host.opening import File, Reading, read

ASKED, ANSWERED = f"-> {json.dumps(ASK)}\n", f"<- {json.dumps(TELL)}\n"
BOTH = [("mcp", "frame", "out"), ("mcp", "frame", "in")]


def reading_of(data: bytes | str) -> Reading:
    return read([File(name="a.log", data=data if isinstance(data, bytes) else data.encode(), time_ns=NOW_NS)], WIRES)


def moments(text: str) -> list[str]:
    return [
        f"{datetime.fromtimestamp(each.at.ns // 10**9, UTC).astimezone():%H:%M:%S}" for each in reading_of(text).seen
    ]


def test_a_time_after_a_files_last_change_is_of_something_that_a_line_speaks_of() -> None:
    lines = ["2026-11-01 10:00:00", "[stderr] the token expires 2027-06-01 00:00:00\n2026-11-01 10:00:02"]
    found = list(
        reading_of("".join(f"{time} {said}" for time, said in zip(lines, (ASKED, ANSWERED), strict=True))).seen
    )
    assert [each.draft.wire for each in found] == ["mcp", "stderr", "mcp"]
    assert (found[2].at.ns - found[0].at.ns) // 10**9 == 2


def test_the_times_of_a_file_that_seems_older_than_all_of_them_are_as_they_are_told() -> None:
    text = f"2027-11-01 10:00:00Z {ASKED}2028-11-01 10:00:00Z {ANSWERED}"
    first, last = reading_of(text).seen
    assert (last.at.ns - first.at.ns) // 10**9 == 366 * 86_400


@pytest.mark.parametrize("before", ["", "11/1/2026, "])
@pytest.mark.parametrize("half", [" {}M", "{}m", " {}.M.", "\u202f{}M"])
def test_a_day_may_have_two_halves_of_twelve_hours(before: str, half: str) -> None:
    times = [("12:00:01", "A"), ("11:59:59", "A"), ("12:00:01", "P"), ("1:00:01", "P")]
    lines = [f"{before}{clock}{half.format(which)} {ASKED}" for clock, which in times]
    assert moments("".join(lines)) == ["00:00:01", "11:59:59", "12:00:01", "13:00:01"]


def test_a_time_before_all_times_is_none() -> None:
    """Go writes so of a time that was never set."""
    (seen,) = reading_of(f"0001-01-01T00:00:00Z {ASKED}").seen
    assert (seen.at.ns, seen.at.is_told) == (NOW_NS, False)


def test_what_speaks_of_this_program_is_no_session_of_its() -> None:
    named: JSON = {**ASK, "params": {"name": "tui_host", "arguments": {"tui_host": 1}}}
    assert told(list(reading_of(f"{json.dumps(named)}\n{json.dumps(TELL)}\n").seen)) == BOTH


@pytest.mark.parametrize("first", ['{"tui_host":1', '{"tui_host":1,"session":{"created":"' + "x" * 10**6 + '"}}'])
def test_a_session_whose_line_is_broken_is_none_and_told_in_few_words(first: str) -> None:
    with pytest.raises(TuiHostError, match="line 1") as caught:
        reading_of(f'{first}\n{{"tui_host":1}}\n')
    assert len(str(caught.value)) < 500


def test_utf_16_that_ends_within_a_character_is_read_up_to_there() -> None:
    whole = f"{ASKED}{ANSWERED}\n".encode("utf-16")
    reading = reading_of(whole[:-1])
    assert told(list(reading.seen)) == BOTH
    assert "within a character" in reading.notes.told[0]


def test_what_gzip_packed_and_is_broken_behind_its_first_part_is_told() -> None:
    first, second = (gzip.compress(each.encode()) for each in (f"{ASKED}{ANSWERED}", ANSWERED * 20))
    broken = second[:20] + bytes([second[20] ^ 255]) + second[21:]
    reading = reading_of(first + broken)
    assert told(list(reading.seen)) == BOTH
    assert "broken within what gzip packed" in reading.notes.told[0]
    assert not reading_of(first + bytes(512)).notes.told


PRINTED = (
    "POST {\n  model: 'm',\n  messages: [\n    { role: 'user', content: \"it's\" }\n  ],\n  tools: [ { function: [Object] } ]\n}\n",
    "up\n-> { model: 'm', stream: false, messages: [ [Object] ] }\n",
    "{\n  id: 'c1',\n  object: 'chat.completion',\n  choices: [ [Object] ]\n}\n",
    "{ jsonrpc: '2.0', id: 1, result: { content: [ [Object] ] } }\n",
)


@pytest.mark.parametrize("text", PRINTED)
def test_objects_as_javascript_prints_them_are_refused_with_what_to_do_instead(text: str) -> None:
    with pytest.raises(TuiHostError, match="as JavaScript prints them") as error:
        reading_of(text)
    assert error.value.where == f"a.log, line {1 + text.startswith('up')}"
    assert "JSON.stringify" in error.value.remedy


def test_what_is_json_beside_objects_as_javascript_prints_them_is_read() -> None:
    reading = reading_of(f"{PRINTED[3]}{ASKED}{ANSWERED}")
    assert told(list(reading.seen)) == BOTH
    assert reading.notes.words == "lines that are of neither wire (1, first line 1)"


def test_what_is_left_out_as_javascript_prints_it_is_told_with_what_to_do_instead() -> None:
    for text in PRINTED:
        reading = reading_of(f"{ASKED}{ANSWERED}{text}")
        assert told(list(reading.seen)) == BOTH
        assert len(reading.notes.told) == 1
        assert "as JavaScript prints them" in reading.notes.told[0]
        assert "JSON.stringify" in reading.notes.told[0]
        assert f"from line {3 + text.startswith('up')} on" in reading.notes.told[0]


@pytest.mark.parametrize("text", ["", ASKED + ANSWERED])
def test_of_objects_that_javascript_prints_whole_it_is_not_said_that_something_is_left_out(text: str) -> None:
    whole = "{\n  model: 'm',\n  messages: [\n    { role: 'user', content: 'is [Object] nested?' }\n  ]\n}\n"
    if text:
        reading = reading_of(text + whole)
        assert told(list(reading.seen)) == BOTH
        words = reading.notes.told[0]
    else:
        with pytest.raises(TuiHostError) as error:
            reading_of(whole)
        words = f"{error.value.what} {error.value.remedy}"
    assert "as JavaScript prints them, which are not read here: they are no JSON" in words
    assert "left out" not in words
    assert "JSON.stringify" in words


def test_code_in_what_a_person_says_is_no_print() -> None:
    said = json.dumps({"jsonrpc": "2.0", "id": 1, "result": {"text": "{ model: 'm', messages: [ [Object] ] }"}})
    reading = reading_of(f"up {{ and running\n{ASKED}{said}\n")
    list(reading.seen)
    assert not reading.notes.told


COMPLETIONS = (
    '{"model": "llama3", "prompt": "why is the sky blue?", "stream": false}\n',
    'POST /api/generate {"model": "llama3", "prompt": "why?"}\n{"model": "llama3", "response": "so", "done": true}\n',
    '{"request": {"model": "llama3", "prompt": "why?"}, "response": {"model": "llama3", "response": "so", "done": true}}\n',
)


@pytest.mark.parametrize("text", COMPLETIONS)
def test_completions_of_a_text_are_refused_or_left_out_with_a_word(text: str) -> None:
    with pytest.raises(TuiHostError, match="completions of a text") as error:
        reading_of(text)
    assert error.value.where == "a.log, line 1"
    assert "/api/chat" in error.value.remedy
    reading = reading_of(f"{ASKED}{ANSWERED}{text}")
    assert told(list(reading.seen)) == BOTH
    assert "a.log, from line 3 on: these are completions of a text" in reading.notes.told[0]
