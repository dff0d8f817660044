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
