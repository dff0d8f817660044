"""The turns at work: each begins once the host is open, runs beside the others, and a defect in one ends it alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from anyio.abc import TaskGroup

    from tui_host.chat.session import Session
    from tui_host.chat.turn import Turn
    from tui_host.chat.turn_result import TurnResult
    from tui_host.chat.turn_services import Services
    from tui_host.errors import TuiHostError

END_SECONDS = 1.0


class Turns:
    """Runs turns: at most one of a session, and none before `open`.

    Args:
        defect: What a person is told of a mistake of ours that ends a turn.
    """

    def __init__(self, defect: Callable[[Exception], TuiHostError]) -> None:
        self._defect = defect
        self._at_work: dict[str, tuple[Session, Turn]] = {}
        self._results: dict[str, TurnResult] = {}
        self._waiting: list[Session] = []
        self._open: tuple[TaskGroup, Callable[[], Services]] | None = None

    def __iter__(self) -> Iterator[Session]:
        """The sessions whose turns are at work."""
        return (session for session, _ in list(self._at_work.values()))

    def open(self, group: TaskGroup, services: Callable[[], Services]) -> None:
        """Begin what has waited, and from now on at once.

        Args:
            group: Owns the turns' tasks.
            services: Gives what a turn works with, as it is when the turn begins.
        """
        self._open = group, services
        for session in self._waiting:
            self._start(session, group, services())
        self._waiting.clear()

    def begin(self, session: Session) -> None:
        """Take the turn that was begun in the session to its end."""
        session.wait_for("servers")
        if self._open is None:
            self._waiting.append(session)
        else:
            group, services = self._open
            self._start(session, group, services())

    def _start(self, session: Session, group: TaskGroup, services: Services) -> None:
        from tui_host.chat.turn import Turn

        turn = Turn(services, session)
        self._at_work[session.id] = session, turn
        group.start_soon(self._run, session, turn)

    async def _run(self, session: Session, turn: Turn) -> None:
        try:
            self._results[session.id] = await turn.run()
        except Exception as error:  # noqa: BLE001 - the one boundary: a defect met in a turn ends that turn and nothing else
            self._results[session.id] = turn.broke(self._defect(error))
        finally:
            self._at_work.pop(session.id, None)

    def stop(self, session: Session) -> bool:
        """End the session's turn; False if there is none."""
        found = self._at_work.get(session.id)
        if found is None:
            return False
        found[1].stop()
        return True

    async def end(self) -> None:
        """Stop them all, and wait for a moment until they have said so; none begins any more."""
        import anyio

        self._open = None
        for _, turn in list(self._at_work.values()):
            turn.stop()
        with anyio.move_on_after(END_SECONDS):
            while self._at_work:
                await anyio.sleep(0.01)

    def result(self, session: Session) -> TurnResult | None:
        """How the session's last turn of this process ended, None while it is at work."""
        return None if session.busy else self._results.get(session.id)
