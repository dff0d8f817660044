"""What the store tells of taps without reading records. Every function raises `StoreError` if the file cannot be used."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tui_host.capture.store.store import Store

_CAPTURES = """
    SELECT DISTINCT captures.id, captures.key FROM places JOIN captures ON captures.key = places.capture
    WHERE session = ? ORDER BY captures.key
"""
_COUNTS = """
    SELECT session, 'exchanges', count(DISTINCT capture || ' ' || exchange) FROM places
        WHERE wire = 'llm' AND session IN (SELECT id FROM sessions WHERE source IN ('tap', 'import')) GROUP BY 1
    UNION ALL
    SELECT session, 'frames', count(*) FROM places CROSS JOIN records ON records.place = places.key
        WHERE kind = 'frame' AND session IN (SELECT id FROM sessions WHERE source IN ('tap', 'import')) GROUP BY 1
"""
_LINK = "INSERT OR REPLACE INTO tap_links (tap, other, joined) VALUES (?, ?, ?)"


def captures_of(store: Store, session: str) -> Sequence[str]:
    """Return the captures of a session, in the order of beginning."""
    return [str(row[0]) for row in store.read(_CAPTURES, session)]


def passed(store: Store) -> Mapping[str, Counter[str]]:
    """Return how many `exchanges` with models and `frames` of servers each session of another host has, by session."""
    counts: dict[str, Counter[str]] = {}
    for session, what, count in store.read(_COUNTS):
        if isinstance(count, int):
            counts.setdefault(str(session), Counter())[str(what)] = count
    return counts


def tap_links(store: Store) -> Mapping[tuple[str, str], bool]:
    """Return the user's decisions on pairs of taps: True if both are one story, False if not. The smaller id comes first."""
    rows = store.read("SELECT tap, other, joined FROM tap_links")
    return {(str(tap), str(other)): bool(joined) for tap, other, joined in rows}


def save_tap_links(store: Store, pairs: Iterable[tuple[str, str]], *, joined: bool) -> None:
    """Save a decision for pairs of taps, replacing earlier ones. Blocks until it is on the disk."""
    rows = [(*sorted(pair), int(joined)) for pair in pairs]

    def save(connection: sqlite3.Connection) -> None:
        connection.executemany(_LINK, rows)

    store.change(save)
