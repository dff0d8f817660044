"""Makes rows for frames: joins answers to requests, folds repeats, and shows broken lines as faults."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from tui_host.capture.frames.frame_heads import FrameHead, frame_head
from tui_host.capture.ladder.rows import LadderRows, Value
from tui_host.capture.record import Direction, Record

REMEMBERED_REQUESTS = 10_000
"""Number of requests to remember until their answer comes."""
_LISTENING = "subscriptions/listen"
"""The request that is open as long as its connection."""
_RequestKey: TypeAlias = "tuple[str, str, Direction | None, str]"


class FrameRows:
    """Makes rows from `frame` records."""

    def __init__(self, rows: LadderRows) -> None:
        self._rows = rows
        self._asked: dict[_RequestKey, int] = {}  # by capture, connection, direction and id
        self._latest: tuple[int, Record, FrameHead] | None = None  # the row of the last frame, which may repeat

    def take(self, record: Record, carrier: Mapping[str, Value]) -> int | None:
        """Read the next frame; return its row if it has a new one. `carrier` tells of the exchange that carried it."""
        head = frame_head(record.data)
        if self._latest is not None:
            row, before, its_head = self._latest
            if row == len(self._rows.rows) - 1 and _repeats(record, head, before, its_head):
                self._rows.repeat(row, record, head.words)
                return None
        asked = self._question(record, head)
        values = self._values(record, head, asked)
        number = self._rows.add(
            record, "mcp", "fault" if head.kind == "malformed" else "frame", **{**carrier, **values}
        )
        if asked is not None:
            self._rows.pair(asked, number)
            # also one that was cancelled: its answer came all the same
            self._rows.change(asked, state="done", ending="")
        if head.kind == "request":
            key = _key(record, record.direction, head.id)
            self._asked.pop(key, None)
            self._asked[key] = number
            if len(self._asked) > REMEMBERED_REQUESTS:
                del self._asked[next(iter(self._asked))]
        cancelled = self._asked.get(_key(record, record.direction, head.request_id)) if head.request_id else None
        if cancelled is not None and self._is_open(cancelled):
            self._rows.change(cancelled, state="unanswered", ending="cancelled")
        self._latest = number, record, head
        return number

    def close(self, capture: str, connection: str | None = None, ending: str = "") -> None:
        """Leave the open requests of a connection, or of a whole capture, without an answer."""
        for key, number in self._asked.items():
            if key[0] == capture and connection in {None, key[1]} and self._is_open(number):
                is_to_last = self._rows.rows.text("method", number) == _LISTENING
                self._rows.change(number, state="done" if is_to_last else "unanswered", ending=ending)

    def _values(self, record: Record, head: FrameHead, asked: int | None) -> dict[str, Value]:
        first_line = ""
        if head.kind == "malformed" and not head.words:
            first_line = record.data[:800].decode("utf-8", "backslashreplace").strip().partition("\n")[0][:200]
        values: dict[str, Value] = {
            "method": head.method,
            "rpc_id": head.id,
            "answer": head.answers,
            "error": head.is_error,
            "tool": head.name if head.method == "tools/call" else "",
            "words": head.words or first_line,
            "malformed": record.malformed or head.reason,
            "state": "open" if head.kind == "request" else "done",
        }
        if asked is not None:
            question, place = self._rows.rows[asked], record.place
            values |= {name: getattr(question, name) for name in ("method", "tool", "inferred", "maybe")}
            values |= {"turn": place.turn or question.turn, "step": place.step or question.step}
            values |= {} if place.call else {"calls": question.calls}
        return values

    def _question(self, record: Record, head: FrameHead) -> int | None:
        """Return the row of the request that a frame answers, readable or not."""
        is_answer = head.answers or (head.kind == "malformed" and not head.method)
        if not head.id or record.direction is None or not is_answer:
            return None
        opposite: Direction = "out" if record.direction == "in" else "in"
        number = self._asked.get(_key(record, opposite, head.id))
        if number is None:  # some servers answer 1 with "1"
            other_form = head.id[1:-1] if head.id.startswith('"') else f'"{head.id}"'
            number = self._asked.get(_key(record, opposite, other_form))
        return number

    def _is_open(self, number: int) -> bool:
        return self._rows.rows.text("state", number) == "open"


def _key(record: Record, direction: Direction | None, identity: str) -> _RequestKey:
    return record.capture, record.connection or "", direction, identity


def _repeats(record: Record, head: FrameHead, before: Record, its_head: FrameHead) -> bool:
    """Return whether a frame repeats the last one: equal bytes, or more progress for the same token."""
    if (before.connection, before.direction) != (record.connection, record.direction):
        return False
    if head.kind == "notification" and head.method == "notifications/progress":
        return (its_head.method, its_head.progress_token) == (head.method, head.progress_token)
    return head.kind in {"notification", "malformed"} and before.data == record.data
