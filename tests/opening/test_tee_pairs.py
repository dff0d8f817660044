"""Two files that each hold one direction of a server's connection, as `tee in.log | server | tee out.log` writes them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import permutations

import pytest

from tests.opening.captured import NOW_NS
from tui_host.errors import JSON
from tui_host.opening.import_types import File, TimedDraft
from tui_host.opening.recognition import read

INIT: JSON = {"jsonrpc": "2.0", "id": 0, "method": "initialize"}
READY: JSON = {"jsonrpc": "2.0", "method": "notifications/initialized"}
LIST: JSON = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
SAMPLE: JSON = {"jsonrpc": "2.0", "id": 0, "method": "sampling/createMessage"}
SAMPLED: JSON = {"jsonrpc": "2.0", "id": 0, "result": {"role": "assistant", "content": {}, "model": "m"}}
PROGRESS: JSON = {"jsonrpc": "2.0", "method": "notifications/progress"}
ODD = "an answer to nothing that was asked"


def call(tool: str, number: int = 2) -> JSON:
    return {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": {"name": tool, "arguments": {}}}


def begun(name: str) -> JSON:
    return {"jsonrpc": "2.0", "id": 0, "result": {"serverInfo": {"name": name, "version": "1"}}}


def listed(*tools: str) -> JSON:
    return {"jsonrpc": "2.0", "id": 1, "result": {"tools": [{"name": tool} for tool in tools]}}


def done(text: str, number: int = 2) -> JSON:
    return {"jsonrpc": "2.0", "id": number, "result": {"content": [{"type": "text", "text": text}]}}


def asked_of(tool: str) -> list[JSON]:
    return [INIT, READY, LIST, call(tool)]


def said_by(server: str, tool: str) -> list[JSON]:
    return [begun(server), listed(tool), done(f"of {server}")]


def lines(messages: Sequence[JSON], seconds: Sequence[float] = ()) -> str:
    stamps = [f"2026-11-22T20:00:{second:06.3f} " for second in seconds] or [""] * len(messages)
    return "".join(f"{stamp}{json.dumps(each)}\n" for stamp, each in zip(stamps, messages, strict=True))


def taken(*named: tuple[str, str]) -> tuple[list[TimedDraft], list[str]]:
    files = [File(name=name, data=text.encode(), time_ns=NOW_NS) for name, text in named]
    reading = read(files)
    found = [*reading.drafts, *(each for _, more in reading.untimed for each in more)]
    return found, reading.notes.messages


def order(found: Sequence[TimedDraft]) -> list[JSON]:
    return [json.loads(each.draft.data) for each in found]


def woven(asked: Sequence[JSON], said: Sequence[JSON]) -> list[JSON]:
    return [asked[0], said[0], asked[1], asked[2], said[1], asked[3], said[2]]


def test_times_tell_the_order_but_no_answer_comes_before_its_request_where_clocks_differ() -> None:
    asked, said = asked_of("now"), said_by("clock", "now")
    late = lines(said, [1.5, 3.5, 3.999])
    found, _ = taken(("time.in.log", lines(asked, [1, 2, 3, 4])), ("time.out.log", late))
    assert order(found) == woven(asked, said)
    assert all(each.at.is_told and not each.draft.malformed for each in found)


def test_what_a_server_asks_and_says_in_a_call_stands_in_it() -> None:
    asked: list[JSON] = [call("a", 7), SAMPLED, call("a", 8), call("a", 9)]
    said: list[JSON] = [PROGRESS, SAMPLE, done("x", 7), PROGRESS, done("z", 9), done("y", 8), PROGRESS]
    found, _ = taken(("a.in", lines(asked)), ("a.out", lines(said)))
    assert order(found) == [
        *(asked[0], said[0], said[1], asked[1], said[2]),
        *(asked[2], asked[3], said[3], said[4], said[5], said[6]),
    ]


@pytest.mark.parametrize("tools", [("add", "now"), ("add", "add")])
def test_the_directions_of_several_servers_with_the_same_ids_are_told_apart(tools: tuple[str, str]) -> None:
    named = [
        (f"{name}.{side}", lines(messages))
        for name, tool in zip("ab", tools, strict=True)
        for side, messages in (("in", asked_of(tool)), ("out", said_by(name, tool)))
    ]
    for several in permutations(named):
        found, words = taken(*several)
        assert not words
        for name, tool in zip("ab", tools, strict=True):
            own = [each for each in found if each.draft.peer == name]
            assert order(own) == woven(asked_of(tool), said_by(name, tool))
            assert len({each.draft.connection for each in own}) == 1
        assert not any(each.draft.malformed for each in found)


def test_where_another_file_fits_as_well_each_is_shown_alone_with_a_word() -> None:
    named = [("in.log", asked_of("now")), ("out.log", said_by("x", "now")), ("out.log", said_by("y", "now"))]
    found, words = taken(*((name, lines(messages)) for name, messages in named))
    assert len({each.draft.connection for each in found}) == len(named)
    assert any("other files fit as well" in each for each in words)
    assert {each.draft.malformed for each in found if each.draft.direction == "in"} == {ODD}


@pytest.mark.parametrize(
    "said",
    [
        [begun("a"), listed("other"), done("x")],
        [begun("a"), done("x", 1)],
        [begun("a"), done("x", 5)],
        [begun("a"), begun("a")],
    ],
    ids=["a tool that is not listed is called", "another kind", "another id", "two answers to one"],
)
def test_what_cannot_be_of_one_connection_is_shown_apart(said: Sequence[JSON]) -> None:
    found, words = taken(("a.in", lines(asked_of("now"))), ("a.out", lines(said)))
    assert len({each.draft.connection for each in found}) == 2
    assert not any("other files fit as well" in each for each in words)
