"""Writes a session as JSON lines, and parses such lines."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime, timedelta
from typing import TypeVar

from tui_host.capture.exports.parts import Records, keyless, keyless_record
from tui_host.capture.json.narrowing import items, mapping
from tui_host.capture.record import DIRECTIONS, KINDS, WIRES, Head, Place, Record, Redaction
from tui_host.capture.session_summary import SessionInfo, own_name, rfc3339
from tui_host.errors import JSON, TuiHostError

FORMAT = 1
_WITH_DATA = frozenset(("request", "chunk", "frame", "line", "decision", "link"))

_ESCAPED = re.compile("[\x7f-\x9f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff]")
"""What a terminal acts on, a reader of lines may split at, or UTF-8 cannot say; JSON's own escapes cover the rest."""

_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_Value = TypeVar("_Value")


def pieces(session: SessionInfo, records: Records, _items: Sequence[str]) -> Iterator[bytes]:
    """Yield a session's lines with line ends."""
    yield session_line(session)
    for record, is_preamble in records:
        yield record_line(record, is_preamble=is_preamble)


def session_line(session: SessionInfo) -> bytes:
    """Return the first line of an export."""
    value: JSON = {
        "id": own_name(session.id),
        "title": keyless(session.title),
        "created": session.created,
        "updated": session.updated,
        "turns": session.turns,
        "source": session.source,
        "model": session.model,
        "protocol": session.protocol,
    }
    return b"{%s}\n" % _members({"tui_host": FORMAT, "session": value})


def record_line(record: Record, *, is_preamble: bool = False) -> bytes:
    """Return one record as a line."""
    record = keyless_record(record)
    place, head = record.place, record.head
    before = _members(
        {
            "capture": own_name(record.capture),
            "seq": record.seq,
            "time": rfc3339(record.time_ns),
            "mono": record.mono_ns,
            "turn": place.turn,
            "step": place.step,
            "wire": record.wire,
            "peer": record.peer or None,
            "connection": record.connection,
            "direction": record.direction,
            "kind": record.kind,
            "exchange": record.exchange,
            "call": place.call,
            "head": None if head is None else _head(head),
        }
    )
    data, text = b"", None
    if record.data or record.kind in _WITH_DATA:
        data = b',"data":"%s"' % base64.b64encode(record.data)  # not searched for what to escape
        text = _text(record.data) if record.encoding is None else None
    behind = _members(
        {
            "text": text,
            "encoding": record.encoding,
            "malformed": record.malformed,
            "redacted": [asdict(item) for item in record.redacted] or None,
            "preamble": is_preamble or None,
        }
    )
    return b"{%s%s%s}\n" % (before, data, behind and b"," + behind)


def _members(value: Mapping[str, JSON]) -> bytes:
    """Return the members of an object that are not null, as JSON without the braces."""
    text = _ENCODER.encode({name: item for name, item in value.items() if item is not None})[1:-1]
    if not text.isascii() or "\x7f" in text:
        text = _ESCAPED.sub(lambda match: f"\\u{ord(match[0]):04x}", text)
    return text.encode()


def _head(head: Head) -> Mapping[str, JSON]:
    members: Mapping[str, JSON] = {
        "method": head.method,
        "url": head.url,
        "status": head.status,
        "headers": head.headers,
    }
    return {name: item for name, item in members.items() if item is not None}


def _text(data: bytes) -> str | None:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return None


def parse(line: bytes, *, session: str | None = None) -> tuple[Record, bool]:
    """Parse a record's line. Returns the record, and whether it belongs to a preamble.

    Args:
        line: A line from `record_line`; unknown fields are ignored.
        session: The session to which records with a turn belong.

    Raises:
        TuiHostError: The line is not a record.
    """
    try:
        value: JSON = json.loads(line)
        if not isinstance(value, Mapping):
            raise TypeError("it is no object")  # noqa: TRY301 - told below, with the line
        return _record(value, session), value.get("preamble") is True
    except (ValueError, TypeError, RecursionError, OverflowError) as error:
        where = line[:60].decode("utf-8", "replace")
        raise TuiHostError(f"this is not a record: {in_words(error)}", where, "export it again") from error


def in_words(error: Exception) -> str:
    """Describe for the user why a line cannot be read."""
    match error:
        case UnicodeDecodeError():
            return "it is no text"
        case json.JSONDecodeError():
            return f"it is no JSON from its character {error.pos + 1} on" if error.pos else "it is no JSON"
        case RecursionError():
            return "it is nested too deeply"
        case _:
            return f"{error}"


def read_time(value: Mapping[str, JSON], name: str) -> int:
    """Read a member with a time as nanoseconds since 1970.

    Raises:
        ValueError: The member is not a time. The text can be shown to the user.
    """
    try:
        moment = datetime.fromisoformat(_required(value, name))
    except ValueError as error:
        raise ValueError(f"its {name} is no time") from error
    if moment.tzinfo is None:
        raise ValueError(f"its {name} has no time zone")
    return (moment - _EPOCH) // timedelta(microseconds=1) * 1000


def _record(value: Mapping[str, JSON], session: str | None) -> Record:
    place = Place(turn=_number(value, "turn"), step=_number(value, "step"), call=_optional(value, "call"))
    try:
        data = base64.b64decode(_optional(value, "data") or "", validate=True)
    except ValueError as error:
        raise ValueError("its data is no base64") from error
    redacted = (mapping(item) for item in items(value.get("redacted")))
    return Record(
        wire=_one_of(WIRES, value, "wire"),
        kind=_one_of(KINDS, value, "kind"),
        peer=_optional(value, "peer") or "",
        direction=_one_of(DIRECTIONS, value, "direction") if _optional(value, "direction") is not None else None,
        place=place if place.turn is None and place.call is None else replace(place, session=session),
        connection=_optional(value, "connection"),
        exchange=_optional(value, "exchange"),
        head=_read_head(value.get("head")),
        data=data,
        encoding=_optional(value, "encoding"),
        malformed=_optional(value, "malformed"),
        redacted=tuple(
            Redaction(
                where="head" if item.get("where") == "head" else "data",
                name=_required(item, "name"),
                length=_number(item, "length") or 0,
            )
            for item in redacted
        ),
        capture=_required(value, "capture"),
        seq=_number(value, "seq") or 0,
        time_ns=read_time(value, "time"),
        mono_ns=_number(value, "mono"),
    )


def _read_head(value: JSON) -> Head | None:
    if not isinstance(value, Mapping):
        return None
    try:
        headers = tuple((str(name), str(item)) for name, item in map(items, items(value.get("headers"))))
    except ValueError as error:
        raise ValueError("a header in it is no name with a value") from error
    url, status = _optional(value, "url"), _number(value, "status")
    return Head(method=_optional(value, "method"), url=url, status=status, headers=headers)


def _one_of(values: Mapping[str, _Value], value: Mapping[str, JSON], name: str) -> _Value:
    text = _required(value, name)
    if text not in values:
        raise ValueError(f"its {name} is none that is known")
    return values[text]


def _required(value: Mapping[str, JSON], name: str) -> str:
    text = value.get(name)
    if not isinstance(text, str):
        raise TypeError(f"its {name} is no text" if name in value else f"it has no {name}")
    return text


def _optional(value: Mapping[str, JSON], name: str) -> str | None:
    text = value.get(name)
    return text if isinstance(text, str) else None


def _number(value: Mapping[str, JSON], name: str) -> int | None:
    number = value.get(name)
    return number if isinstance(number, int) and not isinstance(number, bool) else None
