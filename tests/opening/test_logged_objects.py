"""Logs of which each line is an object of a logger, or of what runs a program, with what was written as a text in it."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from tests.opening.captured import ASK, CHAT, NOW_NS, PIECE, TELL, WHOLE, seen
from tui_host.capture.json.narrowing import mapping
from tui_host.opening.import_types import File, TimedDraft
from tui_host.opening.recognition import read

PING = {**ASK, "method": "ping"}
STREAM = f"data: {json.dumps(PIECE)}\n\n"
EVENT = f"data: {json.dumps({'type': 'message_start', 'message': {}})}"
TEXTS: dict[str, list[str]] = {
    "arrows": [f"--> {json.dumps(ASK)}", f"<-- {json.dumps(TELL)}"],
    "who to whom": [f"server -> client: {json.dumps(PING)}", f"client -> server: {json.dumps(TELL)}"],
    "bare arrows": [f"<- {json.dumps(PING)}", f"-> {json.dumps(TELL)}"],
    "words": [f"INFO request {json.dumps(CHAT)}", f"INFO response {json.dumps(WHOLE)}"],
    "a stream": [f">>> {json.dumps(CHAT)}", *[f"<<< data: {json.dumps(PIECE)}"] * 2, "<<< data: [DONE]"],
    "a stream of named events": [f">>> {json.dumps(CHAT)}", "event: message_start", EVENT, ""],
    "exchanges with names": [
        *(f"[req-{n}] >> {json.dumps({**mapping(CHAT), 'seed': n})}" for n in (1, 2)),
        *(f"[req-{n}] << {json.dumps({**mapping(WHOLE), 'id': f'c{n}'})}" for n in (2, 1)),
    ],
}
OBJECTS: dict[str, Callable[[str, int], str]] = {
    "pino": lambda text, n: json.dumps(
        {"level": 30, "time": 1764583200000 + n, "pid": 7, "hostname": "h", "msg": text}
    ),
    "winston": lambda text, n: json.dumps(
        {"level": "info", "message": text, "timestamp": f"2025-12-01T10:00:00.{n:03}Z"}
    ),
    "bunyan": lambda text, n: json.dumps(
        {"v": 0, "msg": text, "time": f"2025-12-01T10:00:00.{n:03}Z", "name": "proxy"}
    ),
    "structlog": lambda text, n: json.dumps({"event": text, "timestamp": f"2025-12-01T10:00:00.{n:03}Z"}),
    "Google's": lambda text, n: json.dumps({"textPayload": text, "timestamp": f"2025-12-01T10:00:00.{n:03}Z"}),
    "within another's": lambda text, n: json.dumps({"fields": {"app": "p"}, "message": OBJECTS["pino"](text, n)}),
    "Loguru": lambda text, n: json.dumps(
        {
            "text": f"2025-12-01 10:00:00.{n:03} | INFO | {text}\n",
            "record": {"level": {"name": "INFO", "no": 20}, "message": text},
        }
    ),
    "Docker": lambda text, n: json.dumps(
        {"log": f"{text}\n", "stream": "stdout", "time": f"2025-12-01T10:00:00.{n:03}000000Z"}
    ),
    "Docker, of pino": lambda text, n: OBJECTS["Docker"](OBJECTS["pino"](text, n), n),
}


def said(found: list[TimedDraft]) -> list[tuple[str, str, object, object, str]]:
    return [
        (each.draft.wire, each.draft.kind, each.draft.direction, each.draft.exchange, each.draft.data.decode().rstrip())
        for each in found
        if each.draft.kind != "end"
    ]


def text_of(found: list[tuple[str, str, object, object, str]]) -> list[tuple[object, ...]]:
    """The same with the pieces of each stream as one."""
    answers = {each[3]: "" for each in found}
    for each in found:
        answers[each[3]] += "".join(each[4].split()) if each[1] == "chunk" else ""
    return [(*each[:4], answers[each[3]] if each[1] == "response" else each[4]) for each in found if each[1] != "chunk"]


@pytest.mark.parametrize("logger", OBJECTS)
@pytest.mark.parametrize("name", TEXTS)
def test_a_text_in_an_object_of_a_logger_is_the_line_that_it_would_be_alone(logger: str, name: str) -> None:
    texts = TEXTS[name]
    found = seen("\n".join(OBJECTS[logger](text, n) for n, text in enumerate(texts)))
    assert text_of(said(found)) == text_of(said(seen("\n".join(texts))))
    assert found[0].at.is_told
    assert found[0].at.ns == 1764583200 * 10**9


def test_what_a_line_does_not_tell_its_object_does() -> None:
    way = [
        json.dumps({"ts": 1764583200.5 + n, "dir": way, "reqId": "a", "msg": f"passed on: {json.dumps(PING)}"})
        for n, way in enumerate(("client -> server", "server -> client"))
    ]
    found = seen("\n".join(way))
    assert [each.draft.direction for each in found] == ["out", "in"]
    names = [("a", CHAT), ("b", CHAT), ("b", WHOLE), ("a", WHOLE)]
    found = seen("\n".join(json.dumps({"reqId": name, "msg": f"seen {json.dumps(value)}"}) for name, value in names))
    told = [each.draft.exchange for each in found if each.draft.kind in {"request", "chunk"}]
    assert told == ["x1", "x2", "x2", "x1"]
    server = json.dumps({"server": "files", "msg": f"--> {json.dumps(ASK)}"})
    assert [each.draft.peer for each in seen(server)] == ["files"]


def test_lines_of_prose_in_objects_are_left_out_each_once() -> None:
    texts = ["{not} json", "a {\nb {\nc", "stderr: an error", '{"cost": 1}', "it's data: x"]
    lines = [json.dumps({"level": 30, "msg": text}) for text in texts]
    reading = read(
        [File(name="a", data="\n".join([OBJECTS["pino"](TEXTS["arrows"][0], 1), *lines]).encode(), time_ns=NOW_NS)]
    )
    assert [each.draft.kind for each in reading.drafts] == ["frame"]
    assert reading.notes.left_out == "lines that are of neither wire (5, first line 2)"
