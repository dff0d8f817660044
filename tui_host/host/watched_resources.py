"""Resources that the person watches: their server announces changes, and each change is a line in the chat."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tui_host.capture.visible import line
from tui_host.chat.conversation import NoteItem

if TYPE_CHECKING:
    from tui_host.chat.session import Session
    from tui_host.servers.pool import Pool

_URI = 200


@dataclass(slots=True)
class _Watch:
    """A watched resource.

    Attributes:
        session: The session whose chat tells of changes.
        seen: Number of changes told so far.
        note: Number of the last note about it in the chat, None before the first.
        noted: Number of changes that the last note stands for.
    """

    session: Session
    server: str
    uri: str
    seen: int = 0
    note: int | None = None
    noted: int = 0


class Watches:
    """The watched resources of a host."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._watches: list[_Watch] = []

    async def run(self) -> None:
        """Tell of changes until cancelled."""
        while True:
            for watch in self._watches:
                self._tell(watch)
            await self._pool.changed()

    def is_watched(self, session: Session, server: str, uri: str) -> bool:
        """Whether a session's chat tells of changes of a resource."""
        return self._find(session, server, uri) is not None

    async def begin(self, session: Session, server: str, uri: str) -> None:
        """Watch a resource for a session.

        Raises:
            ServerError: The server does not announce changes of resources.
        """
        if self._find(session, server, uri) is None:
            await self._pool.request(server, lambda connection: connection.subscribe(uri))
            self._watches.append(_Watch(session, server, uri, seen=self._updates(server, uri)))

    async def end(self, session: Session, server: str, uri: str) -> None:
        """Watch a resource no more.

        Raises:
            ServerError: The server did not answer; the chat tells of no more changes anyway.
        """
        watch = self._find(session, server, uri)
        if watch is None:
            return
        self._watches.remove(watch)
        if not any((other.server, other.uri) == (server, uri) for other in self._watches):
            await self._pool.request(server, lambda connection: connection.unsubscribe(uri))

    def _find(self, session: Session, server: str, uri: str) -> _Watch | None:
        wanted = (session.id, server, uri)
        return next((watch for watch in self._watches if (watch.session.id, watch.server, watch.uri) == wanted), None)

    def _updates(self, server: str, uri: str) -> int:
        status = self._pool.status_of(server)
        subscriptions = status.subscriptions if status is not None else ()
        return dict(subscriptions).get(uri, 0)

    def _tell(self, watch: _Watch) -> None:
        """Add a note about new changes, or count them in the last note if the chat still ends with it."""
        updates = self._updates(watch.server, watch.uri)
        new, watch.seen = updates - watch.seen, updates
        if new <= 0:
            return
        conversation = watch.session.conversation
        is_last = watch.note is not None and watch.note == len(conversation) - 1
        watch.noted = watch.noted + new if is_last else new
        times = "" if watch.noted == 1 else f" {watch.noted:,} times"
        note = NoteItem(
            turn=watch.session.turn,
            kind="note",
            what=f"{watch.server} says that {line(watch.uri, _URI)} changed{times}",
            remedy="@ attaches it anew",
            server=watch.server,
        )
        if is_last and watch.note is not None:
            conversation.put(watch.note, note)
        else:
            watch.note = conversation.add(note)
