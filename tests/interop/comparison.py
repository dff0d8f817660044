"""An export compared, byte by byte, with what the peers' side of the wires received and sent."""

import base64
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from tests.interop.rawhttp import Headers, Message, RawExchange, exchanges_in
from tests.interop.relay import Relay
from tui_host.errors import JSON

# An export as any program of somebody else would read it: JSON lines, base64.


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One record, as far as it is compared; `tui_host/docs/usage.md` names the fields."""

    capture: str
    kind: str
    wire: str
    peer: str
    direction: str
    connection: str
    exchange: str
    call: str
    method: str
    url: str
    status: str
    data: bytes
    headers: Headers


TEXTS = ("capture", "kind", "wire", "peer", "direction", "connection", "exchange", "call", "method", "url", "status")


def read_export(text: bytes) -> list[Line]:
    first, *rest = text.splitlines()
    assert object_of(json.loads(first))["tui_host"] == 1
    return [_line(object_of(json.loads(line))) for line in rest]


def chosen(lines: Sequence[Line], **fields: object) -> list[Line]:
    return [line for line in lines if all(getattr(line, name) == value for name, value in fields.items())]


def object_of(value: JSON) -> Mapping[str, JSON]:
    assert isinstance(value, Mapping), value
    return value


def array_of(value: JSON) -> Sequence[JSON]:
    assert isinstance(value, Sequence), value
    assert not isinstance(value, str), value
    return value


def _line(fields: Mapping[str, JSON]) -> Line:
    data = base64.b64decode(str(fields.get("data", "")), validate=True)
    assert "text" not in fields or str(fields["text"]).encode() == data
    head = object_of(fields.get("head", {}))
    pairs = [array_of(pair) for pair in array_of(head.get("headers", []))]
    values = {**fields, **head}
    texts = {name: str(values.get(name) or "") for name in TEXTS}
    return Line(**texts, data=data, headers=tuple((str(name), str(value)) for name, value in pairs))


# Compared.

_LINE = re.compile(rb"[^\n]*\n|[^\n]+")
_LATE = re.compile(rb'"method": ?"(?:[\w/]+/list|notifications/cancelled)"')
"""What a host asks by itself when a server's lists have changed, and takes back at its end: on a busy machine it comes after
the session's last record, and belongs to no turn, so that no export has it."""


def compare_pipes(lines: Sequence[Line], server: str, folder: Path, *, goes_on: bool = False) -> None:
    """A stdio server: each line of its three streams, as `tee.py` wrote them, is a record, and each record is such a line."""
    # With `goes_on` it writes after the session's last record.
    connections = _connections(lines, server)
    starts = sorted(folder.iterdir(), key=lambda entry: int(entry.name))
    assert len(connections) == len(starts) > 0
    for (capture, connection), start in zip(connections, starts, strict=True):
        records = chosen(lines, peer=server, capture=capture, connection=connection)
        for name, kind, direction in (("stdin", "frame", "out"), ("stdout", "frame", "in"), ("stderr", "line", "in")):
            exported = [line.data for line in chosen(records, kind=kind, direction=direction)]
            logged = _LINE.findall((start / name).read_bytes())
            if goes_on and direction == "in":
                logged = logged[: len(exported)]
            if direction == "out":
                late = logged[len(exported) :]
                logged = [*logged[: len(exported)], *(line for line in late if not _LATE.search(line))]
            assert exported == logged, f"{server}, {name}"


def _connections(lines: Sequence[Line], peer: str) -> list[tuple[str, str]]:
    return list(dict.fromkeys((line.capture, line.connection) for line in chosen(lines, peer=peer)))


def compare_exchanges(lines: Sequence[Line], peer: str, relay: Relay, *, after: Sequence[str] = ()) -> None:
    """An HTTP peer: each exchange on its sockets is one in the export, heads and bodies, and the frames are in the bodies."""
    # `after` are the methods of requests that each connection makes after the session's last record.
    raw = [one for kept in relay.connections for one in exchanges_in(bytes(kept.sent), bytes(kept.answered))]
    for request in chosen(lines, peer=peer, kind="request"):
        records = chosen(lines, peer=peer, capture=request.capture, exchange=request.exchange)
        asked = [one for one in raw if _is_same(request, one.request)]
        match = next((one for one in asked if _has_head(records, one)), next(iter(asked), None))
        if match is None:
            kinds = [line.kind for line in records if line.kind != "frame"]
            assert kinds == ["request", "error"], f"never received: {request}"
            continue
        raw.remove(match)
        if chosen(records, kind="end") or not _LATE.search(request.data):
            _compare_one(records, match)
    late = [one for one in raw if _LATE.search(one.request.body)]
    assert len(late) <= 3, f"not in the export: {late}"
    unseen = [(one.request.start.split(" ")[0], one.request.body) for one in raw if one not in late]
    assert [method for method, _ in unseen] == [*after] * len(_connections(lines, peer)), (
        f"not in the export, where {[*after]} is not to be: {unseen}"
    )


def _is_same(record: Line, request: Message) -> bool:
    url = urlsplit(record.url)
    target = url.path + (f"?{url.query}" if url.query else "")
    return (
        re.fullmatch(_pattern(f"{record.method} {target} HTTP/1.1"), request.start) is not None
        and _are_same(record.headers, request.headers)
        and request.body == record.data
    )


def _are_same(exported: Headers, received: Headers) -> bool:
    """Names, values, order; what the export has a mark for must have been something, and something else."""
    return len(exported) == len(received) and all(
        name == name_received and re.fullmatch(_pattern(value), value_received, re.DOTALL) is not None
        for (name, value), (name_received, value_received) in zip(exported, received, strict=True)
    )


def _has_head(records: Sequence[Line], raw: RawExchange) -> bool:
    """Whether this is how it was answered: what is asked twice in the same words comes over sockets in any order."""
    head, answer = next(iter(chosen(records, kind="response")), None), raw.response
    return head is not None and answer is not None and _are_same(head.headers, answer.headers)


def _pattern(value: str) -> str:
    return "[^⟨]+".join(re.escape(part) for part in re.split("⟨secret:[^⟩]+⟩", value))


def _compare_one(records: Sequence[Line], raw: RawExchange) -> None:
    _compare_frames(records, raw)
    heads = chosen(records, kind="response")
    if not heads:
        return
    assert len(heads) == 1
    assert raw.response is not None
    assert raw.response.start.split(" ")[1] == heads[0].status
    assert _are_same(heads[0].headers, raw.response.headers)
    body = b"".join(line.data for line in chosen(records, kind="chunk"))
    end = chosen(records, kind="end")
    if end and json.loads(end[0].data)["reason"] == "complete":
        assert raw.response.is_whole
    if raw.request.start.startswith("GET "):
        assert raw.response.body.startswith(body)  # a stream that goes on after the session's last record
    else:
        assert body == raw.response.body


def _compare_frames(records: Sequence[Line], raw: RawExchange) -> None:
    """Frames are what the bodies carry: a request's whole, a response's events, or its JSON whole."""
    out = [line.data for line in chosen(records, kind="frame", direction="out")]
    into = [line.data for line in chosen(records, kind="frame", direction="in")]
    is_mcp = records[0].wire == "mcp"
    assert out == ([raw.request.body] if is_mcp and raw.request.body else [])
    told: list[bytes] = []
    response = raw.response
    if response is not None and is_mcp:
        kind = response.value("content-type") or ""
        if kind.startswith("text/event-stream"):
            told = _events(response.body)
        elif kind.startswith("application/json") and response.body:
            told = [response.body]
        if not response.is_whole:
            told = told[: len(into)]
    assert into == told


def _events(body: bytes) -> list[bytes]:
    """The data of each event that has some. Source: HTML Living Standard, Server-sent events."""
    found: list[bytes] = []
    for block in body.replace(b"\r\n", b"\n").split(b"\n\n")[:-1]:
        fields = [
            (name, value.removeprefix(b" ")) for name, _, value in (line.partition(b":") for line in block.split(b"\n"))
        ]
        data = b"\n".join(value for name, value in fields if name == b"data")
        if data and dict(fields).get(b"event", b"message") == b"message":
            found.append(data)
    return found
