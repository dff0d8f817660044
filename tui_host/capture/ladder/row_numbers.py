"""The names of rows that people use: `LLM 3` for a model's request, `lab #4` for a request to a server."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Callable, Sequence

from tui_host.capture.ladder.row import Row
from tui_host.capture.visible import line

_NAME_CHARACTERS = 60


class RowNumbers:
    """Numbers of requests and connections, in the order in which they began."""

    def __init__(self, rows: Sequence[Row], partner: Callable[[int], int | None]) -> None:
        self._rows = rows
        self._partner = partner
        self._connections: dict[str, dict[tuple[str, str], int]] = {}
        self.requests = array("i")  # the rows of all requests to models; the first one is that of `LLM 1`
        self.widest = 0  # characters of the longest `lab` or `lab/2`

    def count(self, peer: str, capture: str, connection: str) -> None:
        """Count the connection of a new row to a server."""
        connections = self._connections.setdefault(peer, {})
        if connection and (capture, connection) not in connections:
            connections[capture, connection] = len(connections) + 1
        self.widest = max(self.widest, len(peer) + 2 * (len(connections) > 1))

    def request(self, number: int) -> Row | None:
        """Return the row of `LLM number`; None if there is none."""
        return self._rows[self.requests[number - 1]] if 1 <= number <= len(self.requests) else None

    def connection(self, row: Row) -> int:
        """Return the number of the connection among those to the row's server; 0 without one."""
        return self._connections.get(row.peer, {}).get((row.capture, row.connection), 0)

    def side(self, row: Row) -> str:
        """Return with whom a row is exchanged: `LLM 3`, `lab`, or `lab/2` on the second connection."""
        if row.lane == "llm":
            request = row.number if row.kind == "request" else self._partner(row.number)
            before = 0 if request is None else bisect_left(self.requests, request)
            is_counted = before < len(self.requests) and self.requests[before] == request
            return f"LLM {before + 1}" if is_counted else "LLM"
        connection = self.connection(row)
        peer = line(row.peer, _NAME_CHARACTERS)
        return f"{peer}/{connection}" if connection > 1 else peer

    def name(self, row: Row) -> str:
        """Return how a row is called: `LLM 3`, `lab #4`, `lab/2 #4`; a row without a number by its side alone."""
        side = self.side(row)
        return f"{side} #{line(row.rpc_id, _NAME_CHARACTERS)}" if row.rpc_id else side
