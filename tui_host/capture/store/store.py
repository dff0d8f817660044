"""The store, and its sessions. Calls that save return at once and keep their order; the others block on the disk."""

from __future__ import annotations

import difflib
import sqlite3
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from tui_host.capture.session_summary import SessionFields, SessionInfo
from tui_host.capture.store.access import OpenDatabase
from tui_host.capture.store.companion_files import Lock
from tui_host.capture.store.rows import Row, SQLValue, storable
from tui_host.capture.store.writer import Write, Writer
from tui_host.errors import TuiHostError

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
    INTO sessions (id, title, created, updated, turns, source, model, protocol, profile, options, facts, draft, owner)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
"""
_SAVE = f"""
    INSERT {_INTO} ON CONFLICT (id) DO UPDATE SET title = excluded.title, updated = max(updated, excluded.updated),
        model = excluded.model, protocol = excluded.protocol, profile = excluded.profile, options = excluded.options,
        draft = excluded.draft, facts = CASE excluded.facts WHEN '{{}}' THEN facts ELSE excluded.facts END
"""
_SAVE_MESSAGE = "INSERT OR REPLACE INTO messages (session, number, turn, json) VALUES (?, ?, ?, ?)"
_SAVE_ITEM = "INSERT OR REPLACE INTO items (session, number, json) VALUES (?, ?, ?)"
_TOUCH = "UPDATE sessions SET turns = max(turns, ?), updated = max(updated, ?) WHERE id = ?"
_SAVE_TURN = """
    INSERT OR IGNORE INTO turns (session, number, model, protocol)
    SELECT id, ?, model, protocol FROM sessions WHERE id = ?
"""
_TRAFFIC = """
    SELECT peer, sum(wire = 'llm' AND kind = 'request'), sum(wire = 'mcp' AND kind = 'frame'), sum(length(data))
    FROM places CROSS JOIN records ON records.place = places.key WHERE session = ? GROUP BY peer ORDER BY min(records.key)
"""
_CAPTURES = "SELECT id FROM captures WHERE key IN (SELECT capture FROM places WHERE session = ?) ORDER BY key"
_PASSED = """
    SELECT session, 'exchanges', count(DISTINCT capture || ' ' || exchange) FROM places
        WHERE wire = 'llm' AND session IN (SELECT id FROM sessions WHERE source IN ('tap', 'import')) GROUP BY 1
    UNION ALL
    SELECT session, 'frames', count(*) FROM places CROSS JOIN records ON records.place = places.key
        WHERE kind = 'frame' AND session IN (SELECT id FROM sessions WHERE source IN ('tap', 'import')) GROUP BY 1
"""
_LAST = (1 << 63) - 1


class Traffic(NamedTuple):
    """What passed between a session and a provider or server: requests to a model, frames, and their bytes on the disk."""

    peer: str
    requests: int
    frames: int
    size: int


class StoredSessions:
    """The sessions of one store. All saved text passes the store's redactor."""

    def __init__(self, store: OpenDatabase) -> None:
        self._store = store

    # Saving: at once, in order.

    def save(self, info: SessionInfo) -> None:
        """Create a session owned by this process, or update the session; turns are counted as they are saved."""
        self._store.put(Write(sql=_SAVE, row=self._row(info, 0, self._store.owner)))

    def put_back(self, info: SessionInfo) -> None:
        """Save an imported session with all original values; owned by this process while live, then by nobody."""
        row = self._row(info, info.turns, self._store.owner if info.live else None)
        self._store.put(Write(sql=f"REPLACE {_INTO}", row=row))

    def _row(self, info: SessionInfo, turns: int, owner: str | None) -> Row:
        text, json_text = self._store.redactor.text, self._store.redactor.json_text
        texts = text(info.title), info.model, info.protocol, text(info.profile), text(info.draft)
        title, model, protocol, profile, draft = map(storable, texts)
        options, facts = storable(json_text(info.options)), storable(json_text(info.facts))
        begin = info.id, title, info.created_ns, info.updated_ns, turns, info.source
        return (*begin, model, protocol, profile, options, facts, draft, owner)

    def save_message(self, session: str, number: int, *, turn: int, text: str, time_ns: int) -> None:
        """Save one message as JSON of the chat."""

        def row() -> Row:  # there may be images in it, in which secrets are not found soon
            return session, number, turn, storable(self._store.redactor.json_text(text))

        self._store.put(Write(sql=_SAVE_MESSAGE, row=row))
        self._store.put(Write(sql=_TOUCH, row=(turn, time_ns, session)))
        if turn:
            self._store.put(Write(sql=_SAVE_TURN, row=(turn, session)))

    def save_item(self, session: str, number: int, text: str) -> None:
        """Save one item as JSON of the chat, replacing the item with the number."""
        row = session, number, storable(self._store.redactor.json_text(text))
        self._store.put(Write(sql=_SAVE_ITEM, row=row))

    def forget_draft(self, session: str) -> None:
        """Remove a session without a turn."""
        self._store.put(Write(sql="DELETE FROM sessions WHERE id = ? AND turns = 0", row=(session,)))

    # Listing.

    def list(self) -> Sequence[SessionInfo]:
        """Return the sessions with a turn, and sessions of taps and imports; the last changed first."""
        return self._infos(f"{_LISTED} updated DESC, id DESC")

    def left_draft(self) -> SessionInfo | None:
        """Return the last session without a turn that has a draft and whose process has ended."""
        return next((info for info in self._infos(_LEFT_DRAFT) if not info.live), None)

    def left_open(self) -> Sequence[SessionInfo]:
        """Return the sessions with a turn whose process ended without releasing them."""
        return [info for info in self._infos(_LEFT_OPEN, self._store.owner) if not info.live]

    def get(self, session: str) -> SessionInfo | None:
        """Return one session by the whole id, with or without a turn."""
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
        return self._store.read_as(self._info, sql, *values)

    def _info(self, owner: str | None, came: int | None, *fields: *SessionFields) -> SessionInfo:
        return SessionInfo(*fields, live=self._store.is_live(owner), imported=came is not None)

    # Content.

    def count_messages(self, session: str) -> int:
        """Return the number for the next message."""
        return self._store.read_as(int, "SELECT coalesce(max(number) + 1, 0) FROM messages WHERE session = ?", session)[
            0
        ]

    def messages(self, session: str, *, before: int = _LAST) -> Sequence[str]:
        """Return the JSON of the messages, in order: all, or those with smaller numbers."""
        return self._texts(
            "SELECT json FROM messages WHERE session = ? AND number < ? ORDER BY number", session, before
        )

    def item_texts(self, session: str, *, beginning: str = "", most: int = -1) -> Sequence[str]:
        """The JSON of the chat's items, in order; or the first ones that begin so."""
        sql = "SELECT json FROM items WHERE session = ? AND substr(json, 1, ?) = ? ORDER BY number LIMIT ?"
        return self._texts(sql, session, len(beginning), beginning, most)

    def models(self, session: str) -> Sequence[str]:
        """Return the models of the turns with their tool protocols, in order, each pair once."""
        sql = (
            "SELECT model || ' ' || protocol FROM turns WHERE session = ? GROUP BY model, protocol ORDER BY min(number)"
        )
        return self._texts(sql, session)

    def traffic(self, session: str) -> Sequence[Traffic]:
        """Return what passed each provider and server, in the order of first records."""
        return self._store.read_as(Traffic, _TRAFFIC, session)

    def captures(self, session: str) -> Sequence[str]:
        """Return the captures of a session, in the order of beginning."""
        return self._texts(_CAPTURES, session)

    def passed(self) -> Mapping[str, Counter[str]]:
        """Return how many `exchanges` with models and `frames` of servers each session of another host has, by session."""
        counts: dict[str, Counter[str]] = {}
        for session, what, count in self._store.read(_PASSED):
            counts.setdefault(str(session), Counter())[str(what)] = int(count or 0)
        return counts

    def _texts(self, sql: str, *values: SQLValue) -> Sequence[str]:
        return self._store.read_as(str, sql, *values)

    # Owning.

    def claim(self, session: str) -> bool:
        """Become the one process to write this session; False while another running process is the owner."""

        def take(connection: sqlite3.Connection) -> bool:
            sql = "SELECT owner FROM sessions WHERE id = ?"
            row: tuple[str | None] | None = connection.execute(sql, (session,)).fetchone()
            is_free = row is None or row[0] == self._store.owner or not self._store.is_live(row[0])
            if is_free:
                connection.execute("UPDATE sessions SET owner = ? WHERE id = ?", (self._store.owner, session))
            return is_free

        return self._store.change(take)

    def release(self, session: str) -> None:
        """Let other processes write the session."""
        sql = "UPDATE sessions SET owner = NULL WHERE id = ? AND owner = ?"
        self._store.put(Write(sql=sql, row=(session, self._store.owner)))


class Store(OpenDatabase):
    """An open database with its records and sessions."""

    def __init__(self, path: Path, writer: Writer | None, lock: Lock | None, notices: list[str]) -> None:
        super().__init__(path, writer, lock, notices)
        self.sessions = StoredSessions(self)

    def session_items(self, session: str) -> Sequence[str]:
        """The JSON of the items of a session's chat, in order."""
        return self.sessions.item_texts(session)
