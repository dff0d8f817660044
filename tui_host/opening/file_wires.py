"""What a file's reader reports to: the same observers and taps as for traffic that passes, with the file's own times."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING

from tui_host.capture.http.observer import Observer
from tui_host.capture.record import NOT_KNOWN, Place
from tui_host.capture.stdio.stdio_tap import StdioTap
from tui_host.opening.files import LATEST_NS

if TYPE_CHECKING:
    from tui_host.capture.store.imported_records import Intake

TOO_LATE = "times after the year 2099"


class FileWires:
    """The models and servers of one file.

    Args:
        intake: Records what is reported.
        session: The session of the records.

    Attributes:
        messages: What to tell a person of the file.
    """

    def __init__(self, intake: Intake, session: str) -> None:
        self.messages: list[str] = []
        self._intake = intake
        self.place = Place(session=session)
        self._models: dict[str, Observer] = {}
        self._pipes: dict[str, StdioTap] = {}
        self._left_out: Counter[str] = Counter()
        self._first_places: dict[str, str] = {}

    def at(self, time_ns: int | None) -> None:
        """Set the time of what is reported next; None if the file does not tell it."""
        if time_ns is not None and time_ns > LATEST_NS:
            self.leave_out(TOO_LATE)
            time_ns = None
        self._intake.at(time_ns)

    def model(self, peer: str) -> Observer:
        """Return the observer of a provider of models."""
        if peer not in self._models:
            self._models[peer] = Observer(self._intake, wire="llm", peer=peer, logins="some", is_decoded=True)
        return self._models[peer]

    def server(self, peer: str, *, is_whole: bool) -> Observer:
        """Return the observer of a new connection to a server over HTTP."""
        connection = self._intake.new_connection(peer)
        return Observer(self._intake, wire="mcp", peer=peer, connection=connection, is_whole=is_whole, is_decoded=True)

    def pipe(self, peer: str) -> StdioTap:
        """Return the tap of a server whose messages stand in lines."""
        if peer not in self._pipes:
            connection = self._intake.new_connection(peer)
            self._pipes[peer] = StdioTap(
                self._intake, peer=peer, connection=connection, place=self.place, is_whole=False
            )
        return self._pipes[peer]

    def now(self) -> int:
        """Return the time that was set last."""
        return self._intake.now()

    def leave_out(self, what: str, where: Callable[[], str] = str) -> None:
        """Count something that is not read, and remember where the first stands."""
        if what not in self._left_out:
            self._first_places[what] = where()
        self._left_out[what] += 1

    @property
    def left_out(self) -> str:
        """What was left out: counts by kind, each with the first place; empty if nothing was."""
        counted: list[str] = []
        for what, times in self._left_out.items():
            place = self._first_places[what]
            counted.append(f"{what} ({times:,}{f', first {place}' if place else ''})")
        return ", ".join(counted)


def lacks(what: str) -> tuple[str, str]:
    """Return the header that says which parts of a head are not in the file."""
    return NOT_KNOWN, what
