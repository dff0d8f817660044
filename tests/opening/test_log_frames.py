"""The frames of a log: which server each is of, and which way it went."""

from __future__ import annotations

import json

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


def test_frames_of_which_nothing_tells_which_way_they_went_are_told_as_such() -> None:
    frames: list[JSON] = [ASK, TELL, {**ASK, "method": "ping", "id": 2}, {"jsonrpc": "2.0", "id": 7, "result": {}}]
    text = "\n".join(json.dumps(frame) for frame in frames)
    reading = read([File(name="a.log", data=text.encode())])
    assert [each.draft.direction for each in reading.drafts] == ["out", "in", "out", "in"]
    assert reading.notes.messages == [
        "a.log does not tell which way 2 messages went: requests are shown as the host's, answers as a server's."
    ]
