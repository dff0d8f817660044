"""Sessions in the store: listing, content, ownership and deletion.

Calls that save return at once and keep their order, among themselves and with the records; the others block on the disk.
"""

from __future__ import annotations

import difflib
import sqlite3
from collections.abc import Mapping, Sequence

from tui_host.capture.json.narrowing import number_or_zero, text_or_empty
from tui_host.capture.session_summary import SessionInfo, Source
from tui_host.capture.store.access import OpenDatabase
from tui_host.capture.store.deletion import delete_all, delete_empty_captures, delete_session, give_back
from tui_host.capture.store.rows import Row, SQLValue, storable
from tui_host.capture.store.session_records import doomed_keys
from tui_host.capture.store.writer import Write
from tui_host.errors import TuiHostError

_INFO = """
    SELECT id, title, created, updated, turns, source, model, protocol, profile, options, facts, owner,
        id IN (SELECT session FROM captures CROSS JOIN places ON places.capture = captures.key WHERE kind = 'import')
    FROM sessions
"""
_LISTED = f"{_INFO} WHERE turns > 0 OR source IN ('tap', 'import') ORDER BY updated DESC, id DESC"
_LEFT_OPEN = f"{_INFO} WHERE turns > 0 AND source IN ('chat', 'ask') AND owner IS NOT NULL AND owner != ?"
_LEFT_DRAFT = """
    SELECT id, draft, owner FROM sessions
    WHERE turns = 0 AND draft <> '' AND source = 'chat' ORDER BY updated DESC
"""
_INSERT = """
    INSERT INTO sessions
        (id, title, created, updated, turns, source, model, protocol, profile, options, facts, draft, owner)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET title = excluded.title,
"""
_SAVE = f"""{_INSERT}
    updated = max(updated, excluded.updated), model = excluded.model, protocol = excluded.protocol,
    profile = excluded.profile, options = excluded.options, draft = excluded.draft,
    facts = CASE excluded.facts WHEN '{{}}' THEN facts ELSE excluded.facts END
"""
_PUT_BACK = f"""{_INSERT}
    created = excluded.created, updated = excluded.updated, turns = excluded.turns, model = excluded.model,
    protocol = excluded.protocol, facts = excluded.facts, owner = excluded.owner WHERE owner = ?
"""
_CAME = """
    SELECT session, max(started) FROM captures CROSS JOIN places ON places.capture = captures.key
    WHERE kind = 'import' GROUP BY session
"""
"""When what files brought came here; its own times are those that it had there."""
_TRAFFIC = """
    SELECT peer, sum(wire = 'llm' AND kind = 'request'), sum(wire = 'mcp' AND kind = 'frame'), sum(length(data))
    FROM places CROSS JOIN records ON records.place = places.key WHERE session = ? GROUP BY peer ORDER BY min(records.key)
"""
_SAVE_MESSAGE = "INSERT OR REPLACE INTO messages (session, number, turn, json) VALUES (?, ?, ?, ?)"
_SAVE_ITEM = "INSERT OR REPLACE INTO items (session, number, json) VALUES (?, ?, ?)"
_TOUCH = "UPDATE sessions SET turns = max(turns, ?), updated = max(updated, ?) WHERE id = ?"
_SAVE_TURN = """
    INSERT OR IGNORE INTO turns (session, number, model, protocol)
    SELECT id, ?, model, protocol FROM sessions WHERE id = ?
"""
_SOURCES: Mapping[str, Source] = {"ask": "ask", "tap": "tap", "import": "import"}
_LAST = (1 << 63) - 1
_LATEST_NS = 1 << 62


class Sessions:
    """The sessions of one store. All saved text passes the store's redactor."""

    def __init__(self, store: OpenDatabase) -> None:
        self._store = store

    # Saving: at once, in order.

    def save(self, info: SessionInfo, draft: str = "") -> None:
        """Create a session owned by this process, or update the session; turns are counted as they are saved."""
        self._store.put(Write(sql=_SAVE, row=self._row(info, 0, draft, self._store.owner)))

    def put_back(self, info: SessionInfo) -> None:
        """Create an imported session with all original values; owned by this process while live, then by nobody."""
        owner = self._store.owner
        row = self._row(info, info.turns, "", owner if info.live else None)
        self._store.put(Write(sql=_PUT_BACK, row=(*row, owner)))

    def _row(self, info: SessionInfo, turns: int, draft: str, owner: str | None) -> Row:
        text, json_text = self._store.redactor.text, self._store.redactor.json_text
        words = storable(info.model), storable(info.protocol), storable(text(info.profile))
        facts = storable(json_text(info.options)), storable(json_text(info.facts))
        begin = info.id, storable(text(info.title)), info.created_ns, info.updated_ns, turns, info.source
        return (*begin, *words, *facts, storable(text(draft)), owner)

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

    def save_facts(self, session: str, facts: str) -> None:
        """Save what a tap found out about its host, as JSON."""
        row = storable(self._store.redactor.json_text(facts)), session
        self._store.put(Write(sql="UPDATE sessions SET facts = ? WHERE id = ?", row=row))

    def forget_draft(self, session: str) -> None:
        """Remove a session without a turn."""
        self._store.put(Write(sql="DELETE FROM sessions WHERE id = ? AND turns = 0", row=(session,)))

    # Reading.

    def list(self) -> Sequence[SessionInfo]:
        """Return the sessions with a turn, and sessions of taps and imports; the last changed first."""
        return self._infos(_LISTED)

    def left_open(self) -> Sequence[SessionInfo]:
        """Return the sessions with a turn whose process ended without releasing them."""
        return [info for info in self._infos(_LEFT_OPEN, self._store.owner) if not info.live]

    def taps(self) -> Sequence[SessionInfo]:
        """Return the sessions of taps."""
        return self._infos(f"{_INFO} WHERE source = 'tap'")

    def get(self, session: str) -> SessionInfo | None:
        """Return one session by the whole id, with or without a turn."""
        return next(iter(self._infos(f"{_INFO} WHERE id = ?", session)), None)

    def find(self, name: str) -> SessionInfo:
        """Find a session by id, unique prefix, or `last`, the session last changed or imported here.

        Raises:
            TuiHostError: None has this name, or several begin with it; tells the nearest ids.
        """
        exact = self.get(name)
        if exact is not None:
            return exact
        listed = self.list()
        if name == "last" and listed:
            came = {text_or_empty(session): number_or_zero(came) for session, came in self._store.read(_CAME)}
            return max(listed, key=lambda info: max(info.updated_ns, came.get(info.id, 0)))
        matches = [info for info in listed if name and info.id.startswith(name)]
        if len(matches) == 1:
            return matches[0]
        if matches:
            ids = ", ".join(info.id for info in matches[:5])
            raise TuiHostError(f"{len(matches)} sessions begin with this: {ids}", name, "type more of the id")
        near = difflib.get_close_matches(name, [info.id for info in listed], n=3, cutoff=0.5)
        ids = f"; the nearest: {', '.join(near)}" if near else ""
        raise TuiHostError(f"there is no such session{ids}", name, "look at `tui-host sessions list`")

    def draft(self, session: str) -> str:
        """Return the unsent text of the prompt."""
        return "".join(self._texts("SELECT draft FROM sessions WHERE id = ?", session))

    def left_draft(self) -> tuple[str, str] | None:
        """Return id and draft of the last session without a turn whose process has ended."""
        for session, draft, owner in self._store.read(_LEFT_DRAFT):
            if not self._store.is_live(text_or_empty(owner)):
                return text_or_empty(session), text_or_empty(draft)
        return None

    def count_messages(self, session: str) -> int:
        """Return the number for the next message."""
        return number_or_zero(self._store.read("SELECT max(number) + 1 FROM messages WHERE session = ?", session)[0][0])

    def messages(self, session: str, *, before: int = _LAST) -> Sequence[str]:
        """Return the JSON of the messages, in order: all, or those with smaller numbers."""
        return self._texts(
            "SELECT json FROM messages WHERE session = ? AND number < ? ORDER BY number", session, before
        )

    def item_texts(self, session: str) -> Sequence[str]:
        """The JSON of the chat's items, in order."""
        return self._texts("SELECT json FROM items WHERE session = ? ORDER BY number", session)

    def first_items(self, session: str, beginning: str, most: int) -> Sequence[str]:
        """Return the JSON of the first items of the chat that begins so."""
        sql = "SELECT json FROM items WHERE session = ? AND substr(json, 1, ?) = ? ORDER BY number LIMIT ?"
        return self._texts(sql, session, len(beginning), beginning, most)

    def models(self, session: str) -> Sequence[tuple[str, str]]:
        """Return the models of the turns with their tool protocols, in order, each pair once."""
        sql = "SELECT model, protocol FROM turns WHERE session = ? GROUP BY model, protocol ORDER BY min(number)"
        return [(text_or_empty(model), text_or_empty(protocol)) for model, protocol in self._store.read(sql, session)]

    def traffic(self, session: str) -> Sequence[tuple[str, int, int, int]]:
        """Return for each provider and server: the name, the requests to a model, the frames, and the bytes on the disk."""
        return [
            (text_or_empty(peer), number_or_zero(requests), number_or_zero(frames), number_or_zero(size))
            for peer, requests, frames, size in self._store.read(_TRAFFIC, session)
        ]

    # Owning and deleting.

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

    def delete(self, session: str) -> bool:
        """Remove a session from the disk for good, with all records used by no other session.

        Returns:
            Whether nothing of it is left in the log beside the database; while another process reads there, something may be.

        Raises:
            TuiHostError: A running process writes it, or the database cannot be written.
        """
        with self._store.making_room():
            self.remove(session)
            return give_back(self._store)

    def remove(self, session: str) -> None:
        """Remove the rows of a session; freed pages may still hold the content. Recording hardly waits.

        Raises:
            TuiHostError: A running process writes it, or the database cannot be written.
        """
        if not self.claim(session):
            raise TuiHostError("another process writes this session", session, "end it first")
        is_live = self._store.is_live

        def keys(connection: sqlite3.Connection) -> Sequence[int]:
            return doomed_keys(connection, session, is_live)

        def remove(connection: sqlite3.Connection) -> None:
            came = ((key,) for key in keys(connection))  # meanwhile
            connection.executemany("DELETE FROM records WHERE key = ?", came)
            delete_session(connection, session)
            delete_empty_captures(connection, is_live)

        delete_all(self._store, self._store.run(keys, makes_room=True))
        self._store.change(remove)

    def _texts(self, sql: str, *values: SQLValue) -> Sequence[str]:
        return [text_or_empty(row[0]) for row in self._store.read(sql, *values)]

    def _infos(self, sql: str, *values: SQLValue) -> Sequence[SessionInfo]:
        return [self._info(row) for row in self._store.read(sql, *values)]

    def _info(self, row: Sequence[SQLValue]) -> SessionInfo:
        identity, title, _, _, _, source, model, protocol, profile, options, facts, owner = map(text_or_empty, row[:-1])
        created, updated, turns = map(number_or_zero, row[2:5])
        return SessionInfo(
            id=identity,
            title=title,
            created_ns=min(max(created, 0), _LATEST_NS),
            updated_ns=min(max(updated, 0), _LATEST_NS),
            turns=turns,
            source=_SOURCES.get(source, "chat"),
            live=self._store.is_live(owner),
            model=model,
            protocol=protocol,
            profile=profile,
            options=options,
            facts=facts,
            imported=bool(row[-1]),
        )
