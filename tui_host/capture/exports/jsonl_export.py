"""Writes a session as JSON lines, and parses such lines."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from typing import TypeVar

from tui_host.capture.exports.parts import Records, keyless, keyless_record, present
from tui_host.capture.json.narrowing import items, mapping
from tui_host.capture.record import DIRECTIONS, KINDS, WIRES, Head, Place, Record, Redaction
from tui_host.capture.session_summary import LOCAL_MARK, SessionInfo, rfc3339
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
    """Return the first line of an export. What was imported has its original name in exports."""
    value: JSON = {
        "id": session.id.partition(LOCAL_MARK)[0],
        "title": keyless(session.title),
        "created": rfc3339(session.created_ns),
        "updated": rfc3339(session.updated_ns),
        "turns": session.turns,
        "source": session.source,
        "model": session.model,
        "protocol": session.protocol,
        "parent": session.parent and session.parent.parent,
        "parent_turn": session.parent and session.parent.parent_turn,
    }
    return b"{%s}\n" % _members({"tui_host": FORMAT, "session": present(value)})


def record_line(record: Record, *, is_preamble: bool = False) -> bytes:
    """Return one record as a line."""
    record = keyless_record(record)
    place, head, bare = record.place, record.head, None
    if head is not None:
        bare = present({"method": head.method, "url": head.url, "status": head.status, "headers": head.headers})
    before = _members(
        {
            "capture": record.capture.partition(LOCAL_MARK)[0],
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
            "head": bare,
        }
    )
    data, text = b"", None
    if record.data or record.kind in _WITH_DATA:
        data = b',"data":"%s"' % base64.b64encode(record.data)  # not searched for what to escape
        with suppress(UnicodeDecodeError):
            text = record.data.decode() if record.encoding is None else None
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
    text = _ENCODER.encode(present(value))[1:-1]
    if not text.isascii() or "\x7f" in text:
        text = _ESCAPED.sub(lambda match: f"\\u{ord(match[0]):04x}", text)
    return text.encode()


def parse(line: bytes, *, session: str | None = None) -> tuple[Record, bool]:
    """Return the record of a line, and whether it belongs to a preamble; raises TuiHostError where the line is no record.

    Unknown members are ignored. Records with a turn belong to the session.
    """
    try:
        value = mapping(json.loads(line))
        return _record(value, session), value.get("preamble") is True
    except (ValueError, RecursionError, OverflowError) as error:
        where = line[:60].decode("utf-8", "replace")
        raise TuiHostError(f"this is not a record: {error}", where, "export it again") from error


def read_time(value: Mapping[str, JSON], name: str) -> int:
    """Read a member with a time as nanoseconds since 1970; the text of its ValueError can be shown to the user."""
    try:
        return (datetime.fromisoformat(_required(value, name)) - _EPOCH) // timedelta(microseconds=1) * 1000
    except (ValueError, TypeError) as error:  # the second for one without a time zone
        raise ValueError(f"its {name} is no time with a zone") from error


def _record(value: Mapping[str, JSON], session: str | None) -> Record:
    turn, step, call = _optional(value, "turn", int), _optional(value, "step", int), _optional(value, "call", str)
    head, written = None, value.get("head")
    try:
        data = base64.b64decode(_optional(value, "data", str) or "", validate=True)
        if isinstance(written, Mapping):
            headers = tuple((str(name), str(item)) for name, item in map(items, items(written.get("headers"))))
            url, status = _optional(written, "url", str), _optional(written, "status", int)
            head = Head(method=_optional(written, "method", str), url=url, status=status, headers=headers)
    except ValueError as error:
        raise ValueError("its data is no base64, or a header in it is no name with a value") from error
    redacted = (
        Redaction(
            where="head" if item.get("where") == "head" else "data",
            name=_required(item, "name"),
            length=_optional(item, "length", int) or 0,
        )
        for item in map(mapping, items(value.get("redacted")))
    )
    return Record(
        wire=_one_of(WIRES, value, "wire"),
        kind=_one_of(KINDS, value, "kind"),
        peer=_optional(value, "peer", str) or "",
        direction=None if value.get("direction") is None else _one_of(DIRECTIONS, value, "direction"),
        place=Place(session=None if turn is None and call is None else session, turn=turn, step=step, call=call),
        connection=_optional(value, "connection", str),
        exchange=_optional(value, "exchange", str),
        head=head,
        data=data,
        encoding=_optional(value, "encoding", str),
        malformed=_optional(value, "malformed", str),
        redacted=tuple(redacted),
        capture=_required(value, "capture"),
        seq=_optional(value, "seq", int) or 0,
        time_ns=read_time(value, "time"),
        mono_ns=_optional(value, "mono", int),
    )


def _one_of(choices: Mapping[str, _Value], value: Mapping[str, JSON], name: str) -> _Value:
    text = _required(value, name)
    if text not in choices:
        raise ValueError(f"its {name} is none that is known")
    return choices[text]


def _required(value: Mapping[str, JSON], name: str) -> str:
    text = _optional(value, name, str)
    if text is None:
        raise ValueError(f"its {name} is missing, or no text")
    return text


def _optional(value: Mapping[str, JSON], name: str, kind: type[_Value]) -> _Value | None:
    member = value.get(name)
    if isinstance(member, bool):  # which Python takes for a number
        return None
    return member if isinstance(member, kind) else None
