"""The store, and its sessions. Calls that save return at once and keep their order; the others block on the disk."""

from __future__ import annotations

import difflib
import os
import sqlite3
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias

from tui_host.capture.session_summary import SessionFields, SessionInfo, SharedPart
from tui_host.capture.store.companion_files import LIVE, is_held
from tui_host.capture.store.rows import TAKE_OVER, SQLValue, storable
from tui_host.capture.store.session_records import line_of
from tui_host.capture.store.writer import WritableStore, Write
from tui_host.errors import TuiHostError

CaptureKind: TypeAlias = Literal["app", "ask", "tap", "import"]

CAME = """(
    SELECT CASE kind WHEN 'import' THEN started END FROM places CROSS JOIN captures ON captures.key = capture
    WHERE session = sessions.id LIMIT 1
)"""
"""When a session of `sessions` was brought by files; NULL for others. Its own times are those that it had there."""
_INFO = f"""
    SELECT owner, {CAME} AS came,
        id, title, source, created, updated, turns, model, protocol, profile, options, facts, draft
    FROM sessions
"""  # noqa: S608 - a constant alone
_LISTED = f"{_INFO} WHERE turns > 0 OR source IN ('tap', 'import') ORDER BY"
_LEFT_OPEN = f"{_INFO} WHERE turns > 0 AND source IN ('chat', 'ask') AND owner IS NOT NULL AND owner != ?"
_LEFT_DRAFT = f"{_INFO} WHERE turns = 0 AND draft <> '' AND source = 'chat' ORDER BY updated DESC"
_INTO = """
    INTO sessions (id, title, source, created, updated, turns, model, protocol, profile, options, facts, draft, owner)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
"""
_SAVE = f"""
    INSERT {_INTO} ON CONFLICT (id) DO UPDATE SET title = excluded.title, updated = max(updated, excluded.updated),
        model = excluded.model, protocol = excluded.protocol, profile = excluded.profile, options = excluded.options,
        draft = excluded.draft, facts = json_patch(facts, excluded.facts)
"""
_SAVE_MESSAGE = "INSERT OR REPLACE INTO messages (session, number, turn, json) VALUES (?, ?, ?, ?)"
_SAVE_ITEM = "INSERT OR REPLACE INTO items (session, number, json) VALUES (?, ?, ?)"
_TOUCH = "UPDATE sessions SET turns = max(turns, ?), updated = max(updated, ?) WHERE id = ?"
_SAVE_TURN = """
    INSERT OR IGNORE INTO turns (session, number, model, protocol)
    SELECT id, ?, model, protocol FROM sessions WHERE id = ?
"""
_MESSAGES = "SELECT number, json FROM messages WHERE session = ? AND number < ? AND turn <= ?"
_ITEMS = (
    "SELECT number, json FROM items WHERE session = ? AND number < ? AND substr(json, 1, ?) = ? ORDER BY number LIMIT ?"
)
_BRANCHES = f"""
    {_INFO} WHERE source IN ('chat', 'ask')
        AND CASE WHEN json_valid(facts) THEN json_extract(facts, '$.parent') END = ? ORDER BY created
"""
_NAMES = {
    "models": "SELECT model || ' ' || protocol FROM turns WHERE session = ? GROUP BY model, protocol ORDER BY min(number)",
    "captures": "SELECT id FROM captures WHERE key IN (SELECT capture FROM places WHERE session = ?) ORDER BY key",
}
_MEMBERS = "coalesce(last + 1 - records.key, 1)"  # how many frames are in a row
_TRAFFIC = f"""
    SELECT peer, sum(wire = 'llm' AND kind = 'request'), sum((wire = 'mcp' AND kind = 'frame') * {_MEMBERS}), sum(length(data))
    FROM places CROSS JOIN records ON records.place = places.key WHERE session = ? GROUP BY peer ORDER BY min(records.key)
"""  # noqa: S608 - constants alone
_PASSED = f"""
    SELECT session, 'exchanges', count(DISTINCT capture || ' ' || exchange) FROM places
        WHERE wire = 'llm' AND session IN (SELECT id FROM sessions WHERE source IN ('tap', 'import')) GROUP BY 1
    UNION ALL
    SELECT session, 'frames', sum({_MEMBERS}) FROM places CROSS JOIN records ON records.place = places.key
        WHERE kind = 'frame' AND session IN (SELECT id FROM sessions WHERE source IN ('tap', 'import')) GROUP BY 1
"""  # noqa: S608 - constants alone


class Traffic(NamedTuple):
    """What passed between a session and a provider or server: requests to a model, frames, and their bytes on the disk."""

    peer: str
    requests: int
    frames: int
    size: int


@dataclass(frozen=True, slots=True)
class StoredSessions:
    """The sessions of one store. All saved text passes the store's redactor. What saves returns at once, and keeps its order."""

    _store: Store

    def save(self, info: SessionInfo, *, is_whole: bool = False) -> None:
        """Create a session owned by this process, or update the session; turns are counted as they are saved.

        An imported session is saved whole, with all original values; owned by this process while live, then by nobody.
        """
        redactor, owner = self._store.redactor, self._store.owner if info.live or not is_whole else None
        title, profile, draft = (storable(redactor.text(text)) for text in (info.title, info.profile, info.draft))
        options, facts = (storable(redactor.json_text(text)) for text in (info.options, info.facts))
        begin = info.id, title, info.source, info.created_ns, info.updated_ns, info.turns if is_whole else 0
        row = (*begin, storable(info.model), storable(info.protocol), profile, options, facts, draft, owner)
        self._store.put(Write(f"REPLACE {_INTO}" if is_whole else _SAVE, row))

    def save_message(self, session: str, number: int, *, turn: int, text: str, time_ns: int) -> None:
        store = self._store  # the writer makes the values: in images secrets are not found soon
        store.put(Write(_SAVE_MESSAGE, lambda: (session, number, turn, storable(store.redactor.json_text(text)))))
        self._store.put(Write(_TOUCH, (turn, time_ns, session)))
        if turn:
            self._store.put(Write(_SAVE_TURN, (turn, session)))

    def save_item(self, session: str, number: int, text: str) -> None:
        """Save one item as JSON of the chat, replacing the item with the number."""
        self._store.put(Write(_SAVE_ITEM, (session, number, storable(self._store.redactor.json_text(text)))))

    def forget_draft(self, session: str) -> None:
        self._store.put(Write("DELETE FROM sessions WHERE id = ? AND turns = 0", (session,)))

    def release(self, session: str) -> None:
        """Let other processes write the session."""
        sql = "UPDATE sessions SET owner = NULL WHERE id = ? AND owner = ?"
        self._store.put(Write(sql, (session, self._store.owner)))

    def claim(self, session: str) -> bool:
        """Become the one process to write this session; False while another running process is the owner."""

        def take(connection: sqlite3.Connection) -> bool:
            sql = "SELECT owner FROM sessions WHERE id = ?"
            row: tuple[str | None] | None = connection.execute(sql, (session,)).fetchone()
            is_free = row is None or row[0] == self._store.owner or not self._store.is_live(row[0])
            if is_free:
                connection.execute("UPDATE sessions SET owner = ? WHERE id = ?", (self._store.owner, session))
            return is_free

        return self._store.run(take, is_change=True)

    def list(self) -> Sequence[SessionInfo]:
        """Return the sessions with a turn, and sessions of taps and imports; the last changed first."""
        return self._infos(f"{_LISTED} updated DESC, id DESC")

    def left(self, *, has_turn: bool) -> Sequence[SessionInfo]:
        """Return the sessions of processes that have ended: with a turn, and never released; or with a draft alone, last one first."""
        infos = self._infos(_LEFT_OPEN, self._store.owner) if has_turn else self._infos(_LEFT_DRAFT)
        return [info for info in infos if not info.live]

    def get(self, session: str) -> SessionInfo | None:
        return next(iter(self._infos(f"{_INFO} WHERE id = ?", session)), None)

    def find(self, name: str) -> SessionInfo:
        """Find a session by id, unique prefix, or `last`, the session last changed or imported here; raises with the nearest ids."""
        exact = self.get(name)
        if exact is not None:
            return exact
        if name == "last" and (last := self._infos(f"{_LISTED} max(updated, coalesce(came, 0)) DESC LIMIT 1")):
            return last[0]
        listed = self.list()
        matches = [info for info in listed if name and info.id.startswith(name)]
        if len(matches) == 1:
            return matches[0]
        if matches:
            ids = ", ".join(info.id for info in matches[:5])
            raise TuiHostError(f"{len(matches)} sessions begin with this: {ids}", name, "type more of the id")
        near = difflib.get_close_matches(name, [info.id for info in listed], n=3, cutoff=0.5)
        ids = f"; the nearest: {', '.join(near)}" if near else ""
        raise TuiHostError(f"there is no such session{ids}", name, "look at `tui-host sessions list`")

    def _infos(self, sql: str, *values: SQLValue) -> Sequence[SessionInfo]:
        def info(owner: str | None, came: int | None, *fields: *SessionFields) -> SessionInfo:
            return SessionInfo(*fields, live=self._store.is_live(owner), imported=came is not None)

        return self._store.read_as(info, sql, *values)

    def count_messages(self, session: str) -> int:
        """Return the number for the next message, 0 for a branch without one of its own."""
        sql = "SELECT coalesce(max(number) + 1, 0) FROM messages WHERE session = ?"
        return self._store.read_as(int, sql, session)[0]

    def messages(
        self, session: str, *, before: int = sys.maxsize, shared: Sequence[SharedPart] | None = None
    ) -> Sequence[str]:
        """Return the JSON of the messages, in order: all, or those with smaller numbers. `shared` as of records."""

        def read(connection: sqlite3.Connection) -> Sequence[str]:
            texts: dict[int, str] = {}
            for part in line_of(connection, session, shared):
                values = part.session, min(before, part.messages), part.turn
                texts.update(connection.execute(_MESSAGES, values))
            return [texts[number] for number in sorted(texts)]

        return self._store.query(read)

    def branches(self, session: str) -> Sequence[SessionInfo]:
        """Return the sessions that share this one's turns, the eldest first."""
        return self._infos(_BRANCHES, session)

    def names(self, session: str, what: Literal["models", "captures"]) -> Sequence[str]:
        """Return the models of the turns with their tool protocols, each pair once, or the captures; in the order of beginning."""
        return self._store.read_as(str, _NAMES[what], session)

    def traffic(self, session: str) -> Sequence[Traffic]:
        """Return what passed each provider and server, in the order of first records."""
        return self._store.read_as(Traffic, _TRAFFIC, session)

    def passed(self) -> Mapping[str, Counter[str]]:
        """Return how many `exchanges` with models and `frames` of servers each session of another host has, by session."""
        counts: dict[str, Counter[str]] = {}
        for session, what, count in self._store.read(_PASSED):
            counts.setdefault(str(session), Counter())[str(what)] = int(count or 0)
        return counts


class Store(WritableStore):
    """An open database with its records and sessions, which several processes may have open."""

    @cached_property
    def sessions(self) -> StoredSessions:
        return StoredSessions(self)

    def is_live(self, owner: str | None) -> bool:
        """Return whether the process with this lock still runs; true for this process."""
        return bool(owner) and (owner == self.owner or is_held(self.path.with_name(f"{self.path.name}{LIVE}{owner}")))

    def owns(self, path: Path) -> bool:
        """Return whether a path is the database or a file of SQLite beside it: nothing else may open these."""
        # Who closes a file gives up all locks that the process has on it. SQLite, How To Corrupt An SQLite Database File, 2.2.
        for ending in ("", "-wal", "-shm"):
            with suppress(OSError):  # one of the two is not there
                if path.samefile(self.path.with_name(self.path.name + ending)):
                    return True
        return False

    def begin_capture(self, capture: str, kind: CaptureKind, time_ns: int) -> None:
        """Begin a capture of this process, or make one that is continued its own."""
        self.put(Write(TAKE_OVER, (capture, kind, time_ns, os.getpid(), self.owner)))

    def end_capture(self, capture: str, time_ns: int) -> None:
        self.put(Write("UPDATE captures SET ended = ? WHERE id = ?", (time_ns, capture)))

    def session_items(
        self, session: str, *, beginning: str = "", most: int = -1, shared: Sequence[SharedPart] | None = None
    ) -> Sequence[str]:
        """Return the JSON of the chat's items, in order; or the first ones that begin so. `shared` as of records."""

        def read(connection: sqlite3.Connection) -> Sequence[str]:
            texts: dict[int, str] = {}
            for part in line_of(connection, session, shared):
                values = part.session, part.items, len(beginning), beginning, most
                texts.update(connection.execute(_ITEMS, values))
            return [texts[number] for number in sorted(texts)[: None if most < 0 else most]]

        return self.query(read)
