"""Exchanges as records tell them, and how they ended: the data of `end` and `error` records.

A JSON object: `{"reason", "bytes", "kept", "error"}`. `reason` is one of `Reason`; `bytes` counts the response's body
as transferred, `kept` how many of them are in the capture; `error` describes a failure. An exchange that is complete,
or that the host closed, has an `end` record, as has one captured elsewhere without the answer's body; any other has an
`error` record.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal, TypeAlias, get_args

from tui_host.capture.json.narrowing import number_or_zero, said
from tui_host.capture.json.reading import read_object
from tui_host.capture.record import MISSING, Kind, Record
from tui_host.errors import JSON

Reason: TypeAlias = Literal[
    "complete", "closed by host", "cut by peer", "timed out", "not connected", "failed", "not in the file"
]
EMPTY = "an empty answer"
_REASONS: dict[str, Reason] = {reason: reason for reason in get_args(Reason)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """How an exchange ended, with the numbers of bytes of the response's body that were received and recorded."""

    reason: Reason = "complete"
    error: str = ""
    size: int = 0
    kept: int = 0

    @property
    def kind(self) -> Kind:
        """The kind of record for this end."""
        return "end" if self.reason in {"complete", "closed by host", MISSING} else "error"

    @property
    def missing(self) -> str:
        """Words for a body that is not in a file, with the size that the file states."""
        return f"{MISSING}, {self.size:,} bytes" if self.size else MISSING

    def to_bytes(self) -> bytes:
        """Return the data for the record."""
        value: dict[str, JSON] = {"reason": self.reason, "bytes": self.size, "kept": self.kept}
        if self.error:
            value["error"] = self.error
        return json.dumps(value, ensure_ascii=False).encode("utf-8", "backslashreplace")


def read_ending(data: bytes) -> Ending:
    """Parse the data of an `end` or `error` record. Data in another form becomes the text of a failure."""
    value = read_object(data)
    if not value:
        return Ending(reason="failed", error=data[:500].decode("utf-8", "backslashreplace"))
    reason, error = _REASONS.get(said(value.get("reason")), "failed"), str(value.get("error", ""))
    size, kept = number_or_zero(value.get("bytes")), number_or_zero(value.get("kept"))
    return Ending(reason=reason, error=error, size=size, kept=kept)


def missing_in_words(unasked: int) -> str:
    """Return the text for a request without an answer, beside this many answers that surely belong to no request."""
    if not unasked:
        return f"the answer is {MISSING}"
    which = "1 that is there belongs" if unasked == 1 else f"{unasked:,} that are there belong"
    return f"no answer is known to be its own: {which} to no request for sure"


def kept_in_words(ending: Ending) -> str:
    """Say how much of a body was recorded; empty if all of it."""
    is_less = ending.kept < ending.size and ending.reason != MISSING
    return f"{ending.kept} of {ending.size} bytes are kept" if is_less else ""


@dataclass(slots=True)
class Exchange:
    """An HTTP request with its response, as far as recorded; without an end while it lasts, or if the recording was cut."""

    request: Record | None = None
    response: Record | None = None
    chunks: list[Record] = field(default_factory=list[Record])
    end: Record | None = None


def fold_exchanges(records: Iterable[Record]) -> dict[tuple[str, str], Exchange]:
    """Return the exchanges in some records, by capture and id, in the order of their first records."""
    exchanges: dict[tuple[str, str], Exchange] = {}
    for record in records:
        if record.exchange is None or record.kind in {"frame", "link"}:
            continue
        exchange = exchanges.setdefault((record.capture, record.exchange), Exchange())
        if record.kind == "request":
            exchange.request = record
        elif record.kind == "response":
            exchange.response = record
        elif record.kind == "chunk":
            exchange.chunks.append(record)
        else:
            exchange.end = record
    return exchanges
