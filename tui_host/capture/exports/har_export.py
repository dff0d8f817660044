"""Exports the exchanges of a session as an HTTP archive. Source: HAR 1.2.

Both lanes are in it. Frames of stdio servers had no HTTP: they stand in `log._frames`, which other programs pass over, as they do
all names with an underscore. A redacted or compressed body stands there as text, decoded.
"""

from __future__ import annotations

import base64
import importlib.metadata
import json
from collections.abc import Iterator, Mapping, Sequence
from http import HTTPStatus
from urllib.parse import parse_qsl, urlsplit

from tui_host.capture.content_codings import decode_records
from tui_host.capture.exports.parts import Records, keyless_bytes, keyless_record, present
from tui_host.capture.http.exchange_end import Exchange, fold_exchanges, read_ending
from tui_host.capture.record import MISSING, Head, Record, lasted
from tui_host.capture.session_summary import SessionInfo, rfc3339
from tui_host.errors import JSON


def pieces(_session: SessionInfo, records: Records, _items: Sequence[str]) -> Iterator[bytes]:
    """Yield an archive, entry by entry, in the order in which the exchanges began."""
    listed = [record for record, _ in records]
    version = importlib.metadata.version("tui-host")
    yield _json({"log": {"version": "1.2", "creator": {"name": "tui-host", "version": version}, "entries": []}})[:-3]
    for number, exchange in enumerate(fold_exchanges(listed).values()):
        first = exchange.request or exchange.response
        if first is not None:
            yield (b",\n" if number else b"\n") + _json(_entry(exchange, first))
    frames: list[JSON] = []
    for record in listed:
        if record.kind == "frame" and record.exchange is None:
            place, text = record.place, keyless_record(record).data.decode("utf-8", "backslashreplace")
            where = {"connection": record.connection, "direction": record.direction}
            where |= {"turn": place.turn, "call": place.call}
            frames.append({"time": rfc3339(record.time_ns), "peer": record.peer, "text": text, **present(where)})
    yield b'\n],"_frames":%s}}\n' % _json(frames)


def _json(value: JSON) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "backslashreplace")


def _entry(exchange: Exchange, first: Record) -> JSON:
    last = exchange.end or (exchange.chunks[-1] if exchange.chunks else exchange.response or first)
    head_at = exchange.response or (exchange.chunks[0] if exchange.chunks else last)
    whole, wait = (
        round(max(lasted(first.mono_ns, record.mono_ns) or 0, 0) / 1e6, 3)  # milliseconds
        for record in (last, head_at)
    )
    asked = (exchange.request.head if exchange.request is not None else None) or Head()
    url, size, body = asked.url or "", -1, None
    if exchange.request is not None and exchange.request.malformed != MISSING:
        size = len(exchange.request.data)
        if exchange.request.data:
            text = _decoded([exchange.request]).decode("utf-8", "backslashreplace")
            body = {"mimeType": asked.value("content-type"), "text": text}
    place = first.place
    where = {"_turn": place.turn, "_step": place.step, "_call": place.call, "_exchange": first.exchange}
    query = parse_qsl(urlsplit(url).query, keep_blank_values=True)
    return {
        "startedDateTime": rfc3339(first.time_ns),
        "time": whole,
        "request": {
            "method": asked.method or "",
            "url": url,
            **_common(asked),
            "queryString": [{"name": name, "value": value} for name, value in query],
            "bodySize": size,
            **present({"postData": body}),
        },
        "response": _response(exchange),
        "cache": {},
        "timings": {"send": 0, "wait": wait, "receive": round(whole - wait, 3)},
        "_wire": first.wire,
        "_peer": first.peer,
        **present(where),
    }


def _response(exchange: Exchange) -> JSON:
    head = (exchange.response.head if exchange.response is not None else None) or Head()
    ending = read_ending(exchange.end.data) if exchange.end is not None else None
    status, fault = head.status or 0, None
    body = _decoded(exchange.chunks)
    content: dict[str, JSON] = {"size": len(body), "mimeType": head.value("content-type")}
    if ending is not None and ending.reason == MISSING:
        content["size"] = ending.size
    else:
        try:
            content["text"] = body.decode()
        except UnicodeDecodeError:
            content |= {"text": base64.b64encode(body).decode(), "encoding": "base64"}
        if ending is not None and ending.reason != "complete":
            fault = f"{ending.reason} {ending.error}".strip()
    return {
        "status": status,
        "statusText": next((code.phrase for code in HTTPStatus if code == status), ""),
        **_common(head),
        "content": content,
        "redirectURL": head.value("location"),
        "bodySize": sum(len(chunk.data) for chunk in exchange.chunks),
        **present({"_error": fault}),
    }


def _common(head: Head) -> Mapping[str, JSON]:
    # The version of HTTP is not recorded.
    headers: JSON = [{"name": name, "value": value} for name, value in head.headers]
    return {"httpVersion": "unknown", "cookies": [], "headers": headers, "headersSize": -1}


def _decoded(records: Sequence[Record]) -> bytes:
    """Return a body decoded and without vendors' keys; a body that cannot be decoded is returned as it was sent."""
    body, problem = decode_records(records)
    return keyless_bytes(b"".join(record.data for record in records) if problem and not body else body)[0]
