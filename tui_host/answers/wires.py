"""What answers are made from: the rows of a session, and the records behind them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from tui_host.answers.recorded_tools import RecordedTools
    from tui_host.capture.ladder.ladder import Ladder
    from tui_host.capture.ladder.row import Row
    from tui_host.capture.record import Record, Redaction
    from tui_host.llm.dialects.dialect import Dialect
    from tui_host.settings.schema import Price


@dataclass(frozen=True, slots=True, kw_only=True)
class TakenRequest:
    """A request to a model taken out of its session, to be compared with requests of other sessions."""

    name: str  # the request and its session: `LLM 3 of 20261128-150121-5nhyc`
    data: bytes  # its body, decoded
    redacted: Sequence[Redaction]
    dialect: Dialect


class Wires(Protocol):
    """Both wires of a session. The sources of the inspector are such wires, and so are the stored records of a session."""

    @property
    def ladder(self) -> Ladder: ...

    @property
    def recorded(self) -> RecordedTools:
        """What was taken from the records as they came."""
        ...

    @property
    def user(self) -> str:
        """Who asks the model: `you`, or the user of another host."""
        ...

    def record(self, key: tuple[str, int]) -> Record | None:
        """Return a record by its capture and number."""
        ...

    def pages_of(self, row: Row) -> Iterator[Sequence[Record]]:
        """Yield the records of a row, and of its other half, page by page."""
        ...

    def dialect(self, row: Row) -> Dialect | None:
        """Return the dialect of a row's exchange; None if unknown."""
        ...

    def price(self, row: Row, model: str) -> Price | None:
        """Return the price of a request's model; None if none is configured. `model` is empty if the body names none."""
        ...

    def before(self, row: Row) -> Row | None:
        """Return the previous request of a request's conversation; None without one."""
        ...

    def called(self, row: Row) -> str:
        """Return how a row is called: `LLM 3`, `lab #4`."""
        ...

    def compared(self, row: Row) -> Row | TakenRequest | None:
        """Return the request that a request is compared with: the one marked last in any session, else the previous one."""
        ...

    def names(self, row: Row) -> Mapping[str, tuple[str, str]]:
        """Return server and tool for each tool name, as servers listed them when the row was recorded."""
        ...

    def hide(self, text: str) -> str:
        """Mask the secrets that the host knows."""
        ...


def partner_of(wires: Wires, row: Row) -> Row | None:
    """Return the other half of an exchange: a request's response, an answer's question; None if it is not there."""
    number = wires.ladder.partner(row.number)
    return None if number is None else wires.ladder.rows[number]
