"""The names of rows that people use: `LLM 3` for a model's request, `lab #4` for a request to a server."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tui_host.capture.visible import line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tui_host.capture.ladder.row import Row

_NAME = 60


class RowNumbers:
    """Numbers of requests and connections, in the order in which they began.

    Args:
        rows: The rows; more of them may come.
    """

    def __init__(self, rows: Sequence[Row]) -> None:
        self._rows = rows
        self._seen = 0
        self._requests: list[int] = []
        self._numbers: dict[tuple[str, str], int] = {}
        self._connections: dict[str, dict[tuple[str, str], int]] = {}

    def _look(self) -> None:
        rows = self._rows
        for number in range(self._seen, len(rows)):
            row = rows[number]
            if row.lane == "llm" and row.kind == "request" and row.method != "GET":  # GET lists models
                self._requests.append(number)
                self._numbers[row.capture, row.exchange] = len(self._requests)
            elif row.lane == "mcp" and row.connection:
                of_peer = self._connections.setdefault(row.peer, {})
                of_peer.setdefault((row.capture, row.connection), len(of_peer) + 1)
        self._seen = len(rows)

    @property
    def requests(self) -> list[int]:
        """The rows of all requests to models; the first one is that of `LLM 1`."""
        self._look()
        return self._requests

    def request(self, number: int) -> Row | None:
        """Return the row of `LLM number`; None if there is none."""
        requests = self.requests
        return self._rows[requests[number - 1]] if 1 <= number <= len(requests) else None

    def number(self, row: Row) -> int | None:
        """Return the number of a model's exchange, by either half; None for other rows."""
        self._look()
        return self._numbers.get((row.capture, row.exchange)) if row.lane == "llm" and row.exchange else None

    def connection(self, row: Row) -> int:
        """Return the number of the connection among those to the row's server; 0 without one."""
        self._look()
        return self._connections.get(row.peer, {}).get((row.capture, row.connection), 0)

    def name(self, row: Row) -> str:
        """Return how a row is called: `LLM 3`, `lab #4`, or `lab/2 #4` on the second connection; else its server or lane."""
        if row.lane == "llm":
            number = self.number(row)
            return "LLM" if number is None else f"LLM {number}"
        connection = self.connection(row)
        peer = f"{line(row.peer, _NAME)}/{connection}" if connection > 1 else line(row.peer, _NAME)
        return f"{peer} #{line(row.rpc_id, _NAME)}" if row.rpc_id else peer
