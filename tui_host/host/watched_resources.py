"""Resources that the person watches: their server announces changes, and each change is a line in the chat."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tui_host.capture.visible import line
from tui_host.chat.conversation import NoteItem

if TYPE_CHECKING:
    from tui_host.chat.session import Session
    from tui_host.servers.pool import Pool

_URI = 200


@dataclass(slots=True)
class _Watch:
    """A watched resource: how many changes were told, and the last note about it with the changes that it stands for."""

    session: Session
    seen: int
    note: int | None = None
    noted: int = 0


@dataclass(slots=True, eq=False)
class Watches:
    """The watched resources of a host's servers."""

    _pool: Pool
    # By session, server and URI.
    _watches: dict[tuple[str, str, str], _Watch] = field(default_factory=dict[tuple[str, str, str], _Watch])

    async def run(self) -> None:
        """Tell of changes until cancelled."""
        while True:
            for (_, server, uri), watch in self._watches.items():
                updates = self._updates(server, uri)
                new, watch.seen = updates - watch.seen, updates
                if new <= 0:
                    continue
                # Count them in the last note if the chat still ends with it.
                conversation = watch.session.conversation
                is_last = watch.note is not None and watch.note == len(conversation) - 1
                watch.noted = watch.noted + new if is_last else new
                times = "" if watch.noted == 1 else f" {watch.noted:,} times"
                what = f"{server} says that {line(uri, _URI)} changed{times}"
                note = NoteItem(
                    turn=watch.session.turn, kind="note", what=what, remedy="@ attaches it anew", server=server
                )
                if is_last and watch.note is not None:
                    conversation.put(watch.note, note)
                else:
                    watch.note = conversation.add(note)
            await self._pool.changed()

    def is_watched(self, session: Session, server: str, uri: str) -> bool:
        """Whether a session's chat tells of changes of a resource."""
        return (session.id, server, uri) in self._watches

    async def begin(self, session: Session, server: str, uri: str) -> None:
        """Watch a resource for a session. Raises ServerError if its server does not announce changes of resources."""
        if not self.is_watched(session, server, uri):
            await self._pool.request(server, lambda connection: connection.subscribe(uri, is_on=True))
            self._watches[session.id, server, uri] = _Watch(session, seen=self._updates(server, uri))

    async def end(self, session: Session, server: str, uri: str) -> None:
        """Watch a resource no more. Raises ServerError if the server did not answer; the chat tells of no more changes anyway."""
        watch = self._watches.pop((session.id, server, uri), None)
        if watch is not None and not any(place[1:] == (server, uri) for place in self._watches):
            await self._pool.request(server, lambda connection: connection.subscribe(uri, is_on=False))

    def _updates(self, server: str, uri: str) -> int:
        owner = self._pool.servers.get(server)
        return 0 if owner is None else dict(owner.status.subscriptions).get(uri, 0)
