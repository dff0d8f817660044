"""How an exchange ended: the data of `end` and `error` records.

A JSON object: `{"reason", "bytes", "kept", "error"}`. `reason` is one of `Reason`; `bytes` counts the response's body
as transferred, `kept` how many of them are in the capture; `error` describes a failure. An exchange that is complete,
or that the host closed, has an `end` record, as has one captured elsewhere without the answer's body; any other has an
`error` record.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

from tui_host.capture.record import MISSING, Kind
from tui_host.errors import JSON

Reason: TypeAlias = Literal[
    "complete", "closed by host", "cut by peer", "timed out", "not connected", "failed", "not in the file"
]

_REASONS: dict[str, Reason] = {reason: reason for reason in get_args(Reason)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """How an exchange ended, and how much was recorded.

    Attributes:
        size: Number of bytes of the response's body that were received.
        kept: Number of them that were recorded.
    """

    reason: Reason = "complete"
    error: str = ""
    size: int = 0
    kept: int = 0

    @property
    def kind(self) -> Kind:
        """The kind of record for this end."""
        return "end" if self.reason in {"complete", "closed by host", MISSING} else "error"

    def to_bytes(self) -> bytes:
        """Return the data for the record."""
        value: dict[str, JSON] = {"reason": self.reason, "bytes": self.size, "kept": self.kept}
        if self.error:
            value["error"] = self.error
        return json.dumps(value, ensure_ascii=False).encode("utf-8", "backslashreplace")


def read_ending(data: bytes) -> Ending:
    """Parse the data of an `end` or `error` record. Data in another form becomes the text of a failure."""
    try:
        value: JSON = json.loads(data)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, Mapping):
        return Ending(reason="failed", error=data[:500].decode("utf-8", "backslashreplace"))
    size, kept = value.get("bytes"), value.get("kept")
    return Ending(
        reason=_REASONS.get(str(value.get("reason")), "failed"),
        error=str(value.get("error", "")),
        size=size if isinstance(size, int) else 0,
        kept=kept if isinstance(kept, int) else 0,
    )


def missing_in_words(unasked: int) -> str:
    """Return the text for a captured request without an answer.

    Args:
        unasked: Number of captured answers that surely belong to no request; one may be this request's answer.
    """
    if not unasked:
        return f"the answer is {MISSING}"
    which = "1 that is there belongs" if unasked == 1 else f"{unasked:,} that are there belong"
    return f"no answer is known to be its own: {which} to no request for sure"


def kept_in_words(ending: Ending) -> str:
    """Say how much of a body was recorded; empty if all of it."""
    is_less = ending.kept < ending.size and ending.reason != MISSING
    return f"{ending.kept} of {ending.size} bytes are kept" if is_less else ""
