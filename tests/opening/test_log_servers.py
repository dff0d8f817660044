"""The frames of a log: which server each is of, and which way it went."""

from __future__ import annotations

import json

import pytest

from tests.opening.captured import ASK, TELL, seen
from tui_host.errors import JSON
from tui_host.opening.import_types import File
from tui_host.opening.recognition import read


def test_the_lines_of_several_servers_in_one_log_of_claude_desktop_are_of_several_connections() -> None:
    stamp = "2026-05-14T06:30:46.668Z [info]"
    lines = [
        f"{stamp} [{name}] Message from {side}: {json.dumps(frame)} {{ metadata: undefined }}"
        for side, frame in (("client", ASK), ("server", TELL))
        for name in ("math", "weather")
    ]
    drafts = [each.draft for each in seen("\n".join([f"{stamp} [math] Initializing server...", *lines]))]
    assert [(draft.connection, draft.direction) for draft in drafts] == [
        (name, direction) for direction in ("out", "in") for name in ("math#1", "weather#2")
    ]
    assert not any(draft.malformed for draft in drafts)


def test_a_log_that_names_the_server_beside_each_message_is_of_several_connections() -> None:
    lines = [{"server": name, "payload": value} for value in (ASK, TELL) for name in ("math", "weather")]
    found = [each.draft for each in seen("\n".join(map(json.dumps, lines)))]
    assert [(each.peer, each.direction, each.malformed) for each in found] == [
        (name, way, None) for way in ("out", "in") for name in ("math", "weather")
    ]
    assert len({each.connection for each in found}) == 2


@pytest.mark.parametrize("arrows", ["-> <-", "→ ←", ">>> <<<", "==> <=="])
def test_a_log_that_has_the_server_behind_each_arrow_is_of_several_connections(arrows: str) -> None:
    sides = zip(arrows.split(), (ASK, TELL), strict=True)
    lines = [
        f"10:00:01 {arrow} [{name}] {json.dumps(value)}" for arrow, value in sides for name in ("math", "my tools")
    ]
    found = [each.draft for each in seen("\n".join(lines))]
    assert [(each.connection, each.direction, each.malformed) for each in found] == [
        (name, way, None) for way in ("out", "in") for name in ("math#1", "my tools#2")
    ]


@pytest.mark.parametrize("words", ["-> [server] <- [client]", "-> [request] <- [response]", "-> [1] <- [1]"])
def test_what_stands_in_brackets_and_is_no_name_parts_no_connection(words: str) -> None:
    first, second = words.split("] ")
    found = [each.draft for each in seen(f"{first}] {json.dumps(ASK)}\n{second} {json.dumps(TELL)}")]
    assert [(each.direction, each.malformed) for each in found] == [("out", None), ("in", None)]
    assert len({each.connection for each in found}) == 1


def test_frames_of_which_nothing_tells_which_way_they_went_are_told_as_such() -> None:
    frames: list[JSON] = [ASK, TELL, {**ASK, "method": "ping", "id": 2}, {"jsonrpc": "2.0", "id": 7, "result": {}}]
    text = "\n".join(json.dumps(frame) for frame in frames)
    reading = read([File(name="a.log", data=text.encode())])
    assert [each.draft.direction for each in reading.drafts] == ["out", "in", "out", "in"]
    assert reading.notes.messages == [
        "a.log does not tell which way 2 messages went: requests are shown as the host's, answers as a server's."
    ]


@pytest.mark.parametrize("says", ['"dir": "stderr"', '"stream":"stderr"', '"direction" : "STDERR"'])
@pytest.mark.parametrize("name", ["data", "text", "msg"])
def test_an_object_that_says_that_it_has_standard_error_is_lines_of_that(says: str, name: str) -> None:
    lines = [{"dir": "in", "data": json.dumps(ASK)}, {"dir": "out", "data": json.dumps(TELL)}]
    between = f'{{"ts": "2026-11-22T20:00:01Z", {says}, "{name}": "warn: {{x}}\\nready\\n"}}'
    found = [each.draft for each in seen(f"{json.dumps(lines[0])}\n{between}\n{json.dumps(lines[1])}\n")]
    assert [(each.wire, each.data) for each in found if each.wire == "stderr"] == [
        ("stderr", b"warn: {x}\n"),
        ("stderr", b"ready\n"),
    ]
    assert len({each.connection for each in found}) == 1


def test_standard_error_is_of_the_server_that_stands_beside_it() -> None:
    lines: list[JSON] = [{"server": "math", "payload": ASK}, {"server": "time", "dir": "stderr", "line": "up"}]
    found = [each.draft for each in seen("\n".join(map(json.dumps, lines)))]
    assert [(each.wire, each.peer) for each in found] == [("mcp", "math"), ("stderr", "time")]
