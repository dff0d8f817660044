"""An export as any program of somebody else would read it: JSON lines, base64. Nothing of tui_host but a type."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tests.interop.rawhttp import Headers
from tui_host.errors import JSON


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
    data: bytes
    method: str
    url: str
    status: int
    headers: Headers
    malformed: str


def read_export(text: bytes) -> list[Line]:
    """The records of an export."""
    first, *rest = text.splitlines()
    assert object_of(json.loads(first))["tui_host"] == 1
    return [_line(object_of(json.loads(line))) for line in rest]


def chosen(lines: Sequence[Line], **fields: object) -> list[Line]:
    """Those whose fields have these values."""
    return [line for line in lines if all(getattr(line, name) == value for name, value in fields.items())]


def object_of(value: JSON) -> Mapping[str, JSON]:
    assert isinstance(value, Mapping), value
    return value


def array_of(value: JSON) -> Sequence[JSON]:
    assert isinstance(value, Sequence), value
    assert not isinstance(value, str), value
    return value


def text_of(value: JSON) -> str:
    assert value is None or isinstance(value, str), value
    return value or ""


def _line(fields: Mapping[str, JSON]) -> Line:
    data = base64.b64decode(text_of(fields.get("data")), validate=True)
    assert "text" not in fields or text_of(fields["text"]).encode() == data
    head = object_of(fields.get("head", {}))
    status = head.get("status", 0)
    assert isinstance(status, int)
    pairs = [array_of(pair) for pair in array_of(head.get("headers", []))]
    return Line(
        capture=text_of(fields["capture"]),
        kind=text_of(fields["kind"]),
        wire=text_of(fields["wire"]),
        peer=text_of(fields.get("peer")),
        direction=text_of(fields.get("direction")),
        connection=text_of(fields.get("connection")),
        exchange=text_of(fields.get("exchange")),
        call=text_of(fields.get("call")),
        data=data,
        method=text_of(head.get("method")),
        url=text_of(head.get("url")),
        status=status,
        headers=tuple((text_of(name), text_of(value)) for name, value in pairs),
        malformed=text_of(fields.get("malformed")),
    )
