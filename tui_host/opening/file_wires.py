"""What a file's reader reports to: the same observers and lines as for traffic that passes, with the file's own times."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from tui_host.capture.http.observer import Observer
from tui_host.capture.record import Place
from tui_host.capture.stdio.lines import Lines
from tui_host.capture.store.imported_records import Intake

_LATEST_NS = 4_102_444_800 * 10**9  # the end of the year 2099: a later time counts as a mistake


@dataclass(slots=True, eq=False)
class FileWires:
    """The models and servers of one file."""

    intake: Intake
    place: Place  # in the session
    messages: list[str] = field(default_factory=list[str])  # what to tell a person of the file
    _models: dict[str, Observer] = field(default_factory=dict[str, Observer])
    _pipes: dict[str, Lines] = field(default_factory=dict[str, Lines])
    left_out: dict[str, tuple[int, str]] = field(default_factory=dict[str, tuple[int, str]])  # counts, first places

    def at(self, time_ns: int | None) -> None:
        """Set the time of what is reported next; None if the file does not tell it."""
        if time_ns is not None and time_ns > _LATEST_NS:
            self.leave_out("times after the year 2099")
            time_ns = None
        self.intake.at(time_ns)

    def model(self, peer: str) -> Observer:
        """Return the observer of a provider of models."""
        if peer not in self._models:
            self._models[peer] = Observer(self.intake, wire="llm", peer=peer, logins="some", is_decoded=True)
        return self._models[peer]

    def pipe(self, peer: str) -> Lines:
        """Return what records the lines of a server."""
        if peer not in self._pipes:
            connection = self.intake.new_connection(peer)
            self._pipes[peer] = Lines(self.intake, peer=peer, connection=connection, place=self.place, is_whole=False)
        return self._pipes[peer]

    def leave_out(self, what: str, where: Callable[[], str] = str) -> None:
        """Count something that is not read, and remember where the first stands."""
        times, first = self.left_out.get(what) or (0, where())
        self.left_out[what] = times + 1, first
