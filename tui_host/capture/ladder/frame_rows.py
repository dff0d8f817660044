"""Makes rows for frames: joins answers to requests, folds repeats, and shows broken lines as faults."""

from __future__ import annotations

from dataclasses import dataclass, replace

from tui_host.capture.frames.frame_heads import FrameHead, frame_head
from tui_host.capture.ladder.row_table import LadderRows
from tui_host.capture.record import Direction, Record

REMEMBERED = 10_000
"""Number of requests to remember until their answer comes."""

_LISTENING = "subscriptions/listen"
"""The request that is open as long as its connection."""

_Key = tuple[str, str, Direction, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Latest:
    """The frame of the last row, to compare with the next frame."""

    number: int
    connection: str
    direction: Direction | None
    method: str
    token: str
    data: bytes


class LadderFrames:
    """Makes rows from `frame` records."""

    def __init__(self, rows: LadderRows) -> None:
        self._rows = rows
        self._asked: dict[_Key, int] = {}
        self._latest: _Latest | None = None

    def add(self, record: Record) -> None:
        """Read the next frame."""
        head = frame_head(record.data)
        latest = _Latest(
            number=len(self._rows),
            connection=record.connection or "",
            direction=record.direction,
            method=head.method,
            token=head.progress_token,
            data=record.data,
        )
        before = self._latest
        if before is not None and before.number == latest.number - 1 and _repeats(head, before, latest):
            self._rows.repeat(before.number, record, head.words)
            self._latest = replace(latest, number=before.number)
            return
        self._latest = latest
        self._row(record, head)

    def close(self, capture: str, connection: str | None = None, ending: str = "") -> None:
        """Leave the open requests of a connection, or of a whole capture, without an answer."""
        for key, number in self._asked.items():
            if key[0] == capture and connection in {None, key[1]} and self._rows.is_open(number):
                is_to_last = self._rows.table[number].method == _LISTENING
                self._rows.end(number, "done" if is_to_last else "unanswered", ending)

    def _row(self, record: Record, head: FrameHead) -> None:
        is_broken = head.kind == "malformed"
        row = replace(
            self._rows.row_for(record, "mcp", "fault" if is_broken else "frame"),
            method=head.method,
            rpc_id=head.id,
            answer=head.answers,
            error=head.is_error,
            tool=head.name if head.method == "tools/call" else "",
            words=head.words or (_first_line(record.data) if is_broken else ""),
            malformed=record.malformed or head.reason,
            state="open" if head.kind == "request" else "done",
        )
        asked = self._question(record, head)
        if asked is not None:
            question = self._rows.table[asked]
            row = replace(
                row,
                method=question.method,
                tool=question.tool,
                turn=row.turn or question.turn,
                step=row.step or question.step,
                calls=row.calls or question.calls,
                inferred=question.inferred,
            )
        number = self._rows.add(row)
        if asked is not None:
            self._rows.pair(asked, number)
            self._rows.end(asked, "done")
        if head.kind == "request" and record.direction is not None:
            self._remember((record.capture, record.connection or "", record.direction, head.id), number)
        if head.request_id and record.direction is not None:
            cancelled = self._asked.get((record.capture, record.connection or "", record.direction, head.request_id))
            if cancelled is not None and self._rows.is_open(cancelled):
                self._rows.end(cancelled, "unanswered", "cancelled")

    def _question(self, record: Record, head: FrameHead) -> int | None:
        """Return the row of the request that a frame answers, readable or not."""
        if (
            not head.id
            or record.direction is None
            or not (head.answers or (head.kind == "malformed" and not head.method))
        ):
            return None
        opposite: Direction = "out" if record.direction == "in" else "in"
        for form in (head.id, head.id[1:-1] if head.id.startswith('"') else f'"{head.id}"'):
            number = self._asked.get((record.capture, record.connection or "", opposite, form))
            if number is not None:
                return number
        return None

    def _remember(self, key: _Key, number: int) -> None:
        self._asked.pop(key, None)
        self._asked[key] = number
        if len(self._asked) > REMEMBERED:
            del self._asked[next(iter(self._asked))]


def _repeats(head: FrameHead, before: _Latest, latest: _Latest) -> bool:
    """Return whether a frame repeats the last one: equal bytes, or more progress for the same token."""
    if (before.connection, before.direction) != (latest.connection, latest.direction):
        return False
    if head.kind == "notification" and head.method == "notifications/progress":
        return (before.method, before.token) == (latest.method, latest.token)
    return head.kind in {"notification", "malformed"} and before.data == latest.data


def _first_line(data: bytes) -> str:
    return data[:800].decode("utf-8", "backslashreplace").strip().partition("\n")[0][:200]
