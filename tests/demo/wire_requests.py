"""Requests for the wires of the demo model, without sockets, and what they write."""

from __future__ import annotations

import json
from collections.abc import Sequence

from tui_host.demo.model.http_connection import Request
from tui_host.demo.model.plan import Ended, Piece, Plan, pieces, stopped
from tui_host.demo.model.protocols.respond import respond
from tui_host.demo.model.wires.wire import Asked, RequestRefused, ResponseWriter, Wire
from tui_host.errors import JSON


def request(
    path: str, body: dict[str, JSON] | bytes, *, query: str = "", headers: dict[str, str] | None = None
) -> Request:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    return Request(method="POST", path=path, query=query, headers=headers or {}, body=data)


def error_of(wire: Wire, refused: RequestRefused) -> dict[str, JSON]:
    """The error in the body that a wire writes."""
    error = object_of(json.loads(wire.refusal(refused, identity="x")))["error"]
    return {"message": error} if isinstance(error, str) else object_of(error)


def planned(asked: Asked) -> Plan:
    return stopped(respond(asked.conversation), asked.stops)


def _said(asked: Asked, plan: Plan) -> tuple[list[Piece], Ended]:
    said: list[Piece] = []
    for piece in pieces(plan, asked.most_tokens):
        if isinstance(piece, Ended):
            return said, piece
        said.append(piece)
    raise AssertionError("a plan without an end")


def streamed(wire: Wire, asked: Asked, plan: Plan | None = None, *, identity: str = "id01") -> bytes:
    """The whole stream of an answer."""
    said, ended = _said(asked, plan or planned(asked))
    writer: ResponseWriter = wire.writer(asked, identity=identity, created=1)
    return b"".join((writer.begin(), *(writer.piece(piece) for piece in said), writer.end(ended)))


def whole(wire: Wire, asked: Asked, plan: Plan | None = None, *, identity: str = "id01") -> dict[str, JSON]:
    """The same as one body."""
    said, ended = _said(asked, plan or planned(asked))
    return object_of(json.loads(wire.writer(asked, identity=identity, created=1).whole(said, ended)))


def events(data: bytes) -> list[dict[str, JSON]]:
    """The objects in a stream of events; its form, and that names are the events' types, is checked on the way."""
    *blocks, last = data.decode().split("\n\n")
    assert last == ""
    found: list[dict[str, JSON]] = []
    for block in blocks:
        *head, line = block.split("\n")
        value = object_of(json.loads(line.removeprefix("data: ")))
        assert head == ([f"event: {value['type']}"] if head else [])
        found.append(value)
    return found


def lines(data: bytes) -> list[dict[str, JSON]]:
    """The objects of an NDJSON stream."""
    return [object_of(json.loads(line)) for line in data.decode().splitlines()]


def object_of(value: JSON) -> dict[str, JSON]:
    assert isinstance(value, dict)
    return value


def objects(value: JSON) -> list[dict[str, JSON]]:
    assert isinstance(value, Sequence)
    assert not isinstance(value, str)
    return [object_of(item) for item in value]


def schema(*names: str, kind: str = "number") -> dict[str, JSON]:
    return {"type": "object", "properties": {name: {"type": kind} for name in names}, "required": list(names)}
