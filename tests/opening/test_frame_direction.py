"""Which way the frames of a log went: what its words mean is learnt from the messages that can go one way only."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest

from tests.opening.captured import ASK, TELL, seen
from tui_host.errors import JSON

LIST: JSON = {"jsonrpc": "2.0", "id": 9, "method": "tools/list"}
LISTED: JSON = {"jsonrpc": "2.0", "id": 9, "result": {"tools": []}}
DONE: JSON = {"jsonrpc": "2.0", "id": 3, "result": {}}
LEVEL: JSON = {"jsonrpc": "2.0", "id": 3, "method": "logging/setLevel"}
FAILED: JSON = {"jsonrpc": "2.0", "id": 4, "error": {"code": -1, "message": "no"}}
PING: JSON = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
PONG: JSON = {"jsonrpc": "2.0", "id": 1, "result": {}}
LONG: JSON = {"jsonrpc": "2.0", "id": 4, "error": {"code": -1, "message": "x" * 1000}}
SAMPLE: JSON = {"jsonrpc": "2.0", "id": 4, "method": "sampling/createMessage"}

TO_SERVER_AND_BACK = ["IN OUT", "<< >>", "<<< >>>", "recv send", "< >", "<- ->", "received sent", "incoming outgoing"]


def ways(lines: Sequence[tuple[str, JSON]]) -> list[tuple[str, str | None]]:
    text = "".join(f"12:00:{at:02} {word} {json.dumps(value)}\n" for at, (word, value) in enumerate(lines))
    return [(each.draft.direction or "", each.draft.malformed) for each in seen(text)]


@pytest.mark.parametrize("words", [*TO_SERVER_AND_BACK, *(" ".join(w.split()[::-1]) for w in TO_SERVER_AND_BACK)])
def test_words_mean_what_the_messages_behind_them_tell_from_whichever_side_they_are_written(
    words: str,
) -> None:
    """Also what goes both ways: pings of both sides with one id, an error."""
    to, back = words.split()
    told = [(to, LIST), (back, LISTED), (to, LEVEL), (back, DONE)]
    asked = [(back, PING), (to, PONG), (to, PING), (back, PONG), (back, SAMPLE), (to, FAILED)]
    lines = [*told, *asked]
    assert ways(lines) == [("out" if word == to else "in", None) for word, _ in lines]


def test_an_answer_is_the_servers_in_a_log_of_two_lines_that_is_written_from_its_side() -> None:
    assert ways([("IN", LIST), ("OUT", LISTED)]) == [("out", None), ("in", None)]
    assert ways([("IN ", LEVEL), ("OUT", DONE)]) == [("out", None), ("in", None)]


def test_words_that_name_who_sends_hold_for_a_result_that_looks_as_if_of_the_other() -> None:
    assert ways([("server -> client", PING), ("client -> server", TELL)]) == [("in", None), ("out", None)]


def test_requests_and_responses_go_both_ways_and_an_answer_goes_back_to_who_asked() -> None:
    """A word that is heard both ways says nothing."""
    lines: list[tuple[str, JSON]] = [
        ("REQUEST", ASK),
        ("REQUEST", SAMPLE),
        ("RESPONSE", FAILED),
        ("RESPONSE", TELL),
    ]
    assert ways(lines) == [("out", None), ("in", None), ("out", None), ("in", None)]
