"""An export compared, byte by byte, with what the peers' side of the wires received and sent."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from typing_extensions import override

from tests.interop.exported import Line, chosen
from tests.interop.rawhttp import Headers, Message, RawExchange, exchanges_in
from tests.interop.relay import Relay


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """How much was compared, and found the same.

    Attributes:
        heads: Heads of requests and responses.
        bodies: Bodies of requests and responses.
        frames: `frame` records.
        lines: `line` records.
        size: Bytes of bodies, frames and lines.
    """

    heads: int = 0
    bodies: int = 0
    frames: int = 0
    lines: int = 0
    size: int = 0

    def __add__(self, other: Figures) -> Figures:
        return Figures(
            heads=self.heads + other.heads,
            bodies=self.bodies + other.bodies,
            frames=self.frames + other.frames,
            lines=self.lines + other.lines,
            size=self.size + other.size,
        )

    @override
    def __str__(self) -> str:
        return (
            f"{self.heads} heads, {self.bodies} bodies, {self.frames} frames, {self.lines} lines: {self.size:,} bytes"
        )


def compare_pipes(lines: Sequence[Line], server: str, folder: Path, *, goes_on: bool = False) -> Figures:
    """A stdio server: each line of its three streams is a record, and each record is such a line.

    Args:
        lines: The export.
        server: The server's name.
        folder: What `tee.py` has written: a folder for each start.
        goes_on: It writes after the session's last record.
    """
    connections = _connections(lines, server)
    starts = sorted((entry for entry in folder.iterdir()), key=lambda entry: int(entry.name))
    assert len(connections) == len(starts) > 0
    figures = Figures()
    for (capture, connection), start in zip(connections, starts, strict=True):
        records = chosen(lines, peer=server, capture=capture, connection=connection)
        given = [line.data for line in chosen(records, kind="frame", direction="out")]
        taken = [line.data for line in chosen(records, kind="frame", direction="in")]
        said = [line.data for line in chosen(records, kind="line", direction="in")]
        written = _lines((start / "stdin").read_bytes())
        assert given == written, f"{server}, stdin: {_difference(given, written)}"
        for records_of_one, name in ((taken, "stdout"), (said, "stderr")):
            logged = _lines((start / name).read_bytes())
            told = logged[: len(records_of_one) if goes_on else None]
            assert records_of_one == told, f"{server}, {name}: {_difference(records_of_one, told)}"
        size = sum(map(len, [*given, *taken, *said]))
        figures += Figures(frames=len(given) + len(taken), lines=len(said), size=size)
    return figures


def _connections(lines: Sequence[Line], peer: str) -> list[tuple[str, str]]:
    """Each connection of each process."""
    return list(dict.fromkeys((line.capture, line.connection) for line in chosen(lines, peer=peer)))


def _difference(exported: Sequence[bytes], logged: Sequence[bytes]) -> str:
    """How often what is not in both as often stands in each, and else that the order is another: for whoever reads of a failure."""
    only, missing = Counter(exported) - Counter(logged), Counter(logged) - Counter(exported)
    return f"too much in the export {dict(only)}, not in it {dict(missing)}" if only or missing else "in another order"


def _lines(data: bytes) -> list[bytes]:
    *whole, rest = data.split(b"\n")
    return [line + b"\n" for line in whole] + ([rest] if rest else [])


def compare_exchanges(lines: Sequence[Line], peer: str, relay: Relay, *, after: Sequence[str] = ()) -> Figures:
    """An HTTP peer: each exchange on its sockets is one in the export, heads and bodies, and the frames are in the bodies.

    Args:
        lines: The export.
        peer: The server's or provider's name.
        relay: What stood before it.
        after: Methods of requests that each connection makes after the session's last record.
    """
    raw = [one for kept in relay.connections for one in exchanges_in(bytes(kept.sent), bytes(kept.answered))]
    figures = Figures()
    for request in chosen(lines, peer=peer, kind="request"):
        records = chosen(lines, peer=peer, capture=request.capture, exchange=request.exchange)
        asked = [one for one in raw if _is_same(request, one.request)]
        match = next((one for one in asked if _has_head(records, one)), next(iter(asked), None))
        if match is None:
            kinds = [line.kind for line in records if line.kind != "frame"]
            assert kinds == ["request", "error"], f"never received: {request}"
            continue
        raw.remove(match)
        figures += _compare_one(records, match)
    unseen = [(one.request.start.split(" ")[0], one.request.body) for one in raw]
    assert [method for method, _ in unseen] == [*after] * len(_connections(lines, peer)), (
        f"not in the export, where {[*after]} is not to be: {unseen}"
    )
    return figures


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


def _compare_one(records: Sequence[Line], raw: RawExchange) -> Figures:
    """One exchange; a request's body was compared when its match was sought."""
    sent = raw.request.body
    heads = chosen(records, kind="response")
    figures = Figures(heads=1, bodies=1, size=len(sent)) + _compare_frames(records, raw)
    if not heads:
        return figures
    assert len(heads) == 1
    assert raw.response is not None
    assert raw.response.start.split(" ")[1] == str(heads[0].status)
    assert _are_same(heads[0].headers, raw.response.headers)
    body = b"".join(line.data for line in chosen(records, kind="chunk"))
    end = chosen(records, kind="end")
    if end and json.loads(end[0].data)["reason"] == "complete":
        assert raw.response.is_whole
    if raw.request.start.startswith("GET "):
        assert raw.response.body.startswith(body)  # a stream that goes on after the session's last record
    else:
        assert body == raw.response.body
    return figures + Figures(heads=1, bodies=1, size=len(body))


def _compare_frames(records: Sequence[Line], raw: RawExchange) -> Figures:
    """Frames are what the bodies carry: a request's whole, a response's events, or its JSON whole."""
    out = [line.data for line in chosen(records, kind="frame", direction="out")]
    into = [line.data for line in chosen(records, kind="frame", direction="in")]
    if records[0].wire != "mcp":
        assert not out
        assert not into
        return Figures()
    assert out == ([raw.request.body] if raw.request.body else [])
    response = raw.response
    if response is None:
        assert not into
        return Figures(frames=len(out), size=sum(map(len, out)))
    kind = response.value("content-type") or ""
    if kind.startswith("text/event-stream"):
        told = _events(response.body)
    else:
        told = [response.body] if kind.startswith("application/json") and response.body else []
    assert into == told[: len(into)]
    if response.is_whole:
        assert len(into) == len(told)
    return Figures(frames=len(out) + len(into), size=sum(map(len, [*out, *into])))


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
