"""Makes exchanges from records: the request, the chunks of the response's body, and the end."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal

from tui_host.capture.http.exchange_end import Ending, read_ending
from tui_host.capture.record import Record


@dataclass(slots=True)
class Exchange:
    """An HTTP request with its response, as far as recorded.

    Attributes:
        end: The record of the end; None while the exchange lasts, or if the recording was cut.
    """

    request: Record | None = None
    response: Record | None = None
    chunks: list[Record] = field(default_factory=list[Record])
    end: Record | None = None

    @property
    def ending(self) -> Ending | None:
        """How the exchange ended; None while it lasts."""
        return read_ending(self.end.data) if self.end is not None else None

    def body(self, side: Literal["request", "response"] = "response") -> bytes:
        """Return a body's bytes after removing transfer framing and before content decoding."""
        if side == "request":
            return self.request.data if self.request is not None else b""
        return b"".join(chunk.data for chunk in self.chunks)


def fold_exchanges(records: Iterable[Record]) -> dict[tuple[str, str], Exchange]:
    """Return the exchanges in some records, by capture and id, in the order of their first records."""
    exchanges: dict[tuple[str, str], Exchange] = {}
    for record in records:
        kind, identity = record.kind, record.exchange
        if identity is None or kind in {"frame", "link"}:
            continue
        exchange = exchanges.setdefault((record.capture, identity), Exchange())
        match kind:
            case "request":
                exchange.request = record
            case "response":
                exchange.response = record
            case "chunk":
                exchange.chunks.append(record)
            case "end" | "error":
                exchange.end = record
            case _:
                pass
    return exchanges
