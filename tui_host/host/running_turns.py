"""Runs turns concurrently once the host is open. An unexpected error in a turn ends only that turn."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from anyio.abc import TaskGroup

    from tui_host.chat.session import Session
    from tui_host.chat.step import Services
    from tui_host.chat.turn import Turn
    from tui_host.chat.turn_result import TurnResult
    from tui_host.errors import TuiHostError

END_SECONDS = 1.0


@dataclass(slots=True, eq=False)
class Turns:
    """Runs turns: at most one per session, and none before `open` is called."""

    _defect: Callable[[Exception], TuiHostError]
    sends_queue: bool = True  # whether what is queued goes out behind a turn: never behind that of a command
    results: dict[str, TurnResult] = field(default_factory=dict[str, "TurnResult"])  # of the last turns, by session
    _at_work: dict[str, tuple[Session, Turn]] = field(default_factory=dict[str, "tuple[Session, Turn]"])
    _waiting: list[Session] = field(default_factory=list["Session"])
    _open: tuple[TaskGroup, Callable[[], Services]] | None = None

    def __iter__(self) -> Iterator[Session]:
        """Iterate over the sessions in which a turn is running."""
        return (session for session, _ in list(self._at_work.values()))

    def open(self, group: TaskGroup, services: Callable[[], Services]) -> None:
        """Start the turns that waited for the host; later turns start at once."""
        self._open = group, services
        waiting, self._waiting = self._waiting, []
        for session in waiting:
            self.begin(session)

    def begin(self, session: Session) -> None:
        """Run the session's new turn to its end, or queue the turn until `open` is called."""
        if not session.busy:  # one that waited for the host goes on waiting
            session.wait_for("servers")
        if self._open is None:
            self._waiting.append(session)
            return
        from tui_host.chat.turn import Turn

        group, services = self._open
        turn = Turn(services(), session)
        self._at_work[session.id] = session, turn
        group.start_soon(self._run, session, turn)

    async def _run(self, session: Session, turn: Turn) -> None:
        try:
            self.results[session.id] = await turn.run()
        except Exception as error:  # noqa: BLE001 - the one boundary: a defect met in a turn ends that turn and nothing else
            self.results[session.id] = turn.broke(self._defect(error))
        finally:
            self._at_work.pop(session.id, None)
        if self.sends_queue and self.results[session.id].stop == "done" and self._open is not None:
            self.send_queued(session)

    def send_queued(self, session: Session) -> None:
        """Begin a turn with the message that has waited longest; does nothing without one, or while a turn is running."""
        if session.queued and not session.busy:
            message = session.queued[0]
            session.begin_turn(message.text, message.attached)
            del session.queued[0]  # only now, so that a killed program has it twice rather than not at all
            session.save()
            self.begin(session)

    def stop(self, session: Session) -> bool:
        """Stop the session's turn; returns False if no turn is running."""
        running = self._at_work.get(session.id)
        if running is None:
            return False
        running[1].stop()
        return True

    async def end(self) -> None:
        """Stop all turns and wait briefly for them to end. No turn can begin afterwards."""
        import anyio

        self._open = None
        for _, turn in list(self._at_work.values()):
            turn.stop()
        with anyio.move_on_after(END_SECONDS):
            while self._at_work:
                await anyio.sleep(0.01)

    def result(self, session: Session) -> TurnResult | None:
        """Return how the session's last turn in this process ended, None while a turn is running."""
        return None if session.busy else self.results.get(session.id)
