"""Summarises taps without reading records. Every function raises `StoreError` if the file cannot be used."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tui_host.capture.store.deletion import in_transaction
from tui_host.capture.store.schema import SEQ_BITS

if TYPE_CHECKING:
    from tui_host.capture.store.store import Store

_CAPTURES = """
    SELECT DISTINCT captures.id, captures.key FROM places JOIN captures ON captures.key = places.capture
    WHERE session = ? ORDER BY captures.key
"""
_WIRE = """
    SELECT wire, peer, exchange IS NOT NULL FROM captures JOIN places ON places.capture = captures.key
    WHERE captures.id = ? AND wire != 'host' ORDER BY places.key LIMIT 1
"""
# Not with `?1`: Python 3.12 up to 3.12.3 warns of it, as of a parameter that has a name.
_REQUESTS = f"""
    SELECT records.key - (captures.key << {SEQ_BITS}) FROM captures
        CROSS JOIN records ON records.key > (captures.key << {SEQ_BITS}) + ? AND records.key < (captures.key + 1) << {SEQ_BITS}
        CROSS JOIN places ON places.key = records.place
    WHERE captures.id = ? AND records.kind = 'request' AND wire = 'llm' ORDER BY records.key
"""  # noqa: S608 - constants alone
_OPENED = f"""
    SELECT min(records.key) - (captures.key << {SEQ_BITS}) AS first FROM captures
        CROSS JOIN (SELECT DISTINCT capture, connection FROM places WHERE connection IS NOT NULL) AS each
            ON each.capture = captures.key
        CROSS JOIN places ON places.key IN (
            SELECT key FROM places AS own WHERE own.capture = each.capture AND own.connection = each.connection
            ORDER BY key LIMIT 4
        )
        CROSS JOIN records ON records.place = places.key
    WHERE captures.id = ? AND records.kind = 'frame' AND direction = 'out' GROUP BY each.connection ORDER BY first
"""  # noqa: S608 - constants alone
_OF_TAPS = "session IN (SELECT id FROM sessions WHERE source IN ('tap', 'import'))"
_EXCHANGES = f"""
    SELECT session, count(DISTINCT capture || ' ' || exchange) FROM places WHERE wire = 'llm' AND {_OF_TAPS} GROUP BY 1
"""  # noqa: S608 - constants alone
_FRAMES = f"""
    SELECT session, count(*) FROM places CROSS JOIN records ON records.place = places.key
    WHERE kind = 'frame' AND {_OF_TAPS} GROUP BY 1
"""  # noqa: S608 - constants alone
_LINK = "INSERT OR REPLACE INTO tap_links (tap, other, joined) VALUES (?, ?, ?)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Passed:
    """How much traffic passed a tap."""

    exchanges: int = 0
    frames: int = 0


NOTHING = Passed()


def captures_of(store: Store, session: str) -> Sequence[str]:
    """Return the captures of a session, in the order of beginning."""
    return [str(row[0]) for row in store.read(_CAPTURES, session)]


def wire_of(store: Store, capture: str) -> tuple[str, str]:
    """Return the kind of a tap (`llm`, `stdio` or `http`) and the peer behind the tap; both empty while nothing has passed."""
    for wire, peer, has_exchange in store.read(_WIRE, capture):
        return "llm" if wire == "llm" else "http" if has_exchange else "stdio", str(peer)
    return "", ""


def requests_of(store: Store, capture: str, after: int = 0) -> Sequence[int]:
    """Return the numbers of a capture's requests to a model after a number, in order."""
    rows = store.read(_REQUESTS, after, capture)
    return [seq for (seq,) in rows if isinstance(seq, int)]


def connections_of(store: Store, capture: str) -> Sequence[int]:
    """Return the numbers of the first frames of a capture's connections, in order."""
    rows = store.read(_OPENED, capture)
    return [seq for (seq,) in rows if isinstance(seq, int)]


def passed(store: Store) -> Mapping[str, Passed]:
    """Return how much passed each tap, by session, counted in the file."""
    exchanges, frames = (_counts(store, sql) for sql in (_EXCHANGES, _FRAMES))
    return {
        session: Passed(exchanges=exchanges.get(session, 0), frames=frames.get(session, 0))
        for session in {*exchanges, *frames}
    }


def total(counts: Iterable[Passed]) -> Passed:
    """Return the sum of several counts."""
    parts = list(counts)
    return Passed(exchanges=sum(part.exchanges for part in parts), frames=sum(part.frames for part in parts))


def _counts(store: Store, sql: str) -> Mapping[str, int]:
    return {str(session): count for session, count in store.read(sql) if isinstance(count, int)}


def tap_links(store: Store) -> Mapping[tuple[str, str], bool]:
    """Return the user's decisions on pairs of taps: True if both are one story, False if not. The smaller id comes first."""
    rows = store.read("SELECT tap, other, joined FROM tap_links")
    return {(str(tap), str(other)): bool(joined) for tap, other, joined in rows}


def save_tap_links(store: Store, pairs: Iterable[tuple[str, str]], *, joined: bool) -> None:
    """Save a decision for pairs of taps, replacing earlier ones. Blocks until it is on the disk."""
    rows = [(*sorted(pair), int(joined)) for pair in pairs]

    def save(connection: sqlite3.Connection) -> None:
        connection.executemany(_LINK, rows)

    store.run(in_transaction(save), makes_room=True)
