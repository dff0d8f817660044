"""Deletes the oldest sessions, and captures without sessions, by age and by size."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, TypeAlias

from tui_host.capture.json.narrowing import number_or_zero, text_or_empty
from tui_host.capture.store.deletion import delete_all, delete_capture, give_back
from tui_host.capture.store.schema import SEQ_BITS
from tui_host.errors import StoreError, TuiHostError

if TYPE_CHECKING:
    from tui_host.capture.store.store import Store

Thing: TypeAlias = Literal["session", "capture"]
ROW = 100
"""Bytes that a record takes besides its data, roughly; for telling beforehand how much would go."""

_SESSIONS = """
    SELECT sessions.id, title, max(updated, coalesce(came, 0)), sessions.owner FROM sessions LEFT JOIN (
        SELECT session, max(started) AS came FROM captures CROSS JOIN places ON places.capture = captures.key
        WHERE kind = 'import' GROUP BY session
    ) AS brought ON brought.session = sessions.id
"""  # what was brought here is as old as it is here
_CAPTURES = """
    SELECT key, id, coalesce(ended, started), ended, owner FROM captures WHERE NOT EXISTS
        (SELECT 1 FROM places JOIN sessions ON sessions.id = places.session WHERE places.capture = captures.key)
"""
_SIZE = f"SELECT coalesce(sum(length(data) + {ROW}), 0) FROM records WHERE"  # noqa: S608 - a constant alone
_OF_SESSION = "place IN (SELECT key FROM places WHERE session = ?)"
_OF_CAPTURE = "key BETWEEN ? AND ?"


@dataclass(frozen=True, slots=True, order=True)
class Old:
    """A session or capture that may be deleted.

    Attributes:
        time_ns: Its last change, wall clock.
        thing: A session, or a capture that no session is left of.
        key: The capture's key.
    """

    time_ns: int
    thing: Thing
    name: str
    title: str = ""
    key: int = 0

    @property
    def keys(self) -> tuple[int, int]:
        """First and last key of the capture's records."""
        return self.key << SEQ_BITS, (self.key + 1 << SEQ_BITS) - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The limits of age and size.

    Attributes:
        before_ns: What did not change since then goes; None lets age alone.
        max_bytes: The oldest goes until the rest takes no more; None lets size alone.
    """

    before_ns: int | None = None
    max_bytes: int | None = None


@dataclass(slots=True, kw_only=True)
class Pruned:
    """What was deleted.

    Attributes:
        freed: Bytes, roughly.
        is_whole: Whether nothing of it is left in the log beside the database.
    """

    gone: list[Old] = field(default_factory=list[Old])
    freed: int = 0
    is_whole: bool = True


def prune(store: Store, limits: Limits, *, dry: bool = False, stopped: Callable[[], bool] = lambda: False) -> Pruned:
    """Delete what exceeds the limits, the oldest first; nothing that a running process writes. Blocks.

    With `dry`, only count what would be deleted. `stopped` is asked before each deletion; True leaves the rest for another time.
    Raises `StoreError` if the database cannot be read or written.
    """
    pruned = Pruned()
    with nullcontext() if dry else store.making_room():
        before = size = used_bytes(store)
        for old in sorted(_candidates(store)):
            is_old = limits.before_ns is not None and old.time_ns < limits.before_ns
            is_much = limits.max_bytes is not None and size > limits.max_bytes
            if stopped() or not (is_old or is_much):
                break
            if dry:
                size -= _size_of(store, old)
            elif _remove(store, old):
                size = used_bytes(store)
            else:
                continue
            pruned.gone.append(old)
        pruned.freed = max(before - size, 0)
        if pruned.gone and not dry:
            pruned.is_whole = give_back(store)
    return pruned


def used_bytes(store: Store) -> int:
    """Return the bytes that the database takes, without free pages."""
    names = ("page_count", "freelist_count", "page_size")
    pages, free, size = (number_or_zero(store.read(f"PRAGMA {name}")[0][0]) for name in names)
    return (pages - free) * size


def _candidates(store: Store) -> Iterator[Old]:
    for session, title, updated, owner in store.read(_SESSIONS):
        if not store.is_live(text_or_empty(owner)):
            yield Old(number_or_zero(updated), "session", text_or_empty(session), text_or_empty(title))
    for key, capture, time, ended, owner in store.read(_CAPTURES):
        if ended is not None or not store.is_live(text_or_empty(owner)):
            yield Old(number_or_zero(time), "capture", text_or_empty(capture), key=number_or_zero(key))


def _remove(store: Store, old: Old) -> bool:
    if old.thing == "capture":
        rows = store.read(f"SELECT key FROM records WHERE {_OF_CAPTURE} ORDER BY key DESC", *old.keys)  # noqa: S608 - a constant alone
        delete_all(store, [number_or_zero(row[0]) for row in rows])
        store.change(lambda connection: delete_capture(connection, old.key))
        return True
    try:
        store.sessions.remove(old.name)
    except StoreError:
        raise
    except TuiHostError:
        return False  # another process has it open since
    return True


def _size_of(store: Store, old: Old) -> int:
    if old.thing == "session":
        rows = store.read(f"{_SIZE} {_OF_SESSION}", old.name)
    else:
        rows = store.read(f"{_SIZE} {_OF_CAPTURE}", *old.keys)
    return number_or_zero(rows[0][0])
