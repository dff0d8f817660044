"""What the store says of taps without a look into their records: which captures are theirs, and how much passed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tui_host.capture.store.migrations import SEQ_BITS

if TYPE_CHECKING:
    from tui_host.capture.store.store import Store

_CAPTURES = """
    SELECT DISTINCT captures.id, captures.key FROM places JOIN captures ON captures.key = places.capture
    WHERE session = ? ORDER BY captures.key
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
        CROSS JOIN connections ON connections.capture = captures.key
        CROSS JOIN places ON places.key IN (
            SELECT key FROM places AS own WHERE own.connection = connections.key ORDER BY key LIMIT 4
        )
        CROSS JOIN records ON records.place = places.key
    WHERE captures.id = ? AND records.kind = 'frame' AND direction = 'out' GROUP BY connections.key ORDER BY first
"""  # noqa: S608 - constants alone
_OF_TAPS = "session IN (SELECT id FROM sessions WHERE source = 'tap')"
_EXCHANGES = f"""
    SELECT session, count(DISTINCT capture || ' ' || exchange) FROM places WHERE wire = 'llm' AND {_OF_TAPS} GROUP BY 1
"""  # noqa: S608 - constants alone
_FRAMES = f"""
    SELECT session, count(*) FROM places CROSS JOIN records ON records.place = places.key
    WHERE kind = 'frame' AND {_OF_TAPS} GROUP BY 1
"""  # noqa: S608 - constants alone


@dataclass(frozen=True, slots=True, kw_only=True)
class Passed:
    """How much passed a tap.

    Attributes:
        exchanges: Requests to a model.
        frames: Messages to and from servers.
    """

    exchanges: int = 0
    frames: int = 0


NOTHING = Passed()


def captures_of(store: Store, session: str) -> Sequence[str]:
    """The captures of a session, in the order in which they were begun: a tap's own, and of what was brought here several.

    Raises:
        StoreError: The file cannot be read.
    """
    return [str(row[0]) for row in store.read(_CAPTURES, session)]


def requests_of(store: Store, capture: str, after: int = 0) -> Sequence[int]:
    """The numbers of a capture's requests to a model behind one, in order.

    Raises:
        StoreError: The file cannot be read.
    """
    found = store.read(_REQUESTS, after, capture)
    return [seq for (seq,) in found if isinstance(seq, int)]


def connections_of(store: Store, capture: str) -> Sequence[int]:
    """The numbers of the frames by which clients opened a capture's connections, in order.

    Raises:
        StoreError: The file cannot be read.
    """
    found = store.read(_OPENED, capture)
    return [seq for (seq,) in found if isinstance(seq, int)]


def passed(store: Store) -> Mapping[str, Passed]:
    """How much passed each tap, by its session. Counted from the file, whatever has passed in a whole life of taps.

    Raises:
        StoreError: The file cannot be read.
    """
    exchanges, frames = (_counts(store, sql) for sql in (_EXCHANGES, _FRAMES))
    return {
        session: Passed(exchanges=exchanges.get(session, 0), frames=frames.get(session, 0))
        for session in {*exchanges, *frames}
    }


def passed_in_all(store: Store, sessions: Sequence[str]) -> Passed:
    """How much passed several taps together.

    Raises:
        StoreError: The file cannot be read.
    """
    counts = passed(store)
    return total(counts.get(session, NOTHING) for session in sessions)


def total(each: Iterable[Passed]) -> Passed:
    """How much it is together."""
    found = list(each)
    return Passed(exchanges=sum(part.exchanges for part in found), frames=sum(part.frames for part in found))


def _counts(store: Store, sql: str) -> Mapping[str, int]:
    return {str(session): count for session, count in store.read(sql) if isinstance(count, int)}
