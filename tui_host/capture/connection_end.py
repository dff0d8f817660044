"""The end of a connection to a server: an `end` record without an exchange, whose data is `{"reason": …}`."""

from __future__ import annotations

import json

from tui_host.capture.json.narrowing import WORDS, text_or_empty
from tui_host.capture.json.reading import read_object
from tui_host.capture.record import NOWHERE, Place, Record

CLOSED = "closed by tui-host"  # the reason where the host disconnected
ORDERLY = frozenset((CLOSED, "exited 0", "ended by SIGTERM", "ended by SIGINT"))  # as hosts end connections


def connection_end(peer: str, connection: str, reason: str, place: Place = NOWHERE) -> Record:
    """Make the record of a connection's end."""
    data = json.dumps({"reason": reason}, ensure_ascii=False).encode("utf-8", "backslashreplace")
    return Record(wire="mcp", kind="end", peer=peer, place=place, connection=connection or None, data=data)


def reason_of_end(draft: Record) -> str:
    """Return why a connection ended, in one line; foreign text as it came."""
    return " ".join(text_or_empty(read_object(draft.data).get("reason")).split())[:WORDS] or "ended"
