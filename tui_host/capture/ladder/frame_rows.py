"""Rows for frames: an answer is joined to the request, repeats are folded, and a broken line is shown as a fault."""

from __future__ import annotations

from dataclasses import dataclass, replace

from tui_host.capture.frames.frame_heads import FrameHead, frame_head
from tui_host.capture.ladder.row_table import LadderRows
from tui_host.capture.record import Direction, Record

REMEMBERED = 10_000
"""Requests whose answer is still looked for."""

_Key = tuple[str, str, Direction, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Latest:
    """The frame of the last row, which the next frame may repeat."""

    number: int
    connection: str
    direction: Direction | None
    method: str
    token: str
    data: bytes


class LadderFrames:
    """Folds `frame` records into rows."""

    def __init__(self, rows: LadderRows) -> None:
        self._rows = rows
        self._asked: dict[_Key, int] = {}
        self._latest: _Latest | None = None

    def add(self, record: Record) -> None:
        """Take in the next frame."""
        draft = record.draft
        head = frame_head(draft.data)
        latest = _Latest(
            number=len(self._rows),
            connection=draft.connection or "",
            direction=draft.direction,
            method=head.method,
            token=head.progress_token,
            data=draft.data,
        )
        before = self._latest
        if before is not None and before.number == latest.number - 1 and _repeats(head, before, latest):
            self._rows.repeat(before.number, record, head.words)
            self._latest = replace(latest, number=before.number)
            return
        self._latest = latest
        self._row(record, head)

    def _row(self, record: Record, head: FrameHead) -> None:
        draft = record.draft
        is_broken = head.kind == "malformed"
        row = replace(
            self._rows.row_for(record, "mcp", "fault" if is_broken else "frame"),
            method=head.method,
            rpc_id=head.id,
            answer=head.answers,
            error=head.is_error,
            tool=head.name if head.method == "tools/call" else "",
            words=head.words or (_first_line(draft.data) if is_broken else ""),
            malformed=draft.malformed or head.reason,
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
        if head.kind == "request" and draft.direction is not None:
            self._remember((record.capture, draft.connection or "", draft.direction, head.id), number)

    def _question(self, record: Record, head: FrameHead) -> int | None:
        """Return the row of the request answered by a frame, readable or not."""
        draft = record.draft
        if (
            not head.id
            or draft.direction is None
            or not (head.answers or (head.kind == "malformed" and not head.method))
        ):
            return None
        opposite: Direction = "out" if draft.direction == "in" else "in"
        for form in (head.id, head.id[1:-1] if head.id.startswith('"') else f'"{head.id}"'):
            number = self._asked.get((record.capture, draft.connection or "", opposite, form))
            if number is not None:
                return number
        return None

    def _remember(self, key: _Key, number: int) -> None:
        self._asked.pop(key, None)
        self._asked[key] = number
        if len(self._asked) > REMEMBERED:
            del self._asked[next(iter(self._asked))]


def _repeats(head: FrameHead, before: _Latest, latest: _Latest) -> bool:
    """Return whether a frame repeats the frame before: with equal bytes, or more progress of an equal token."""
    if (before.connection, before.direction) != (latest.connection, latest.direction):
        return False
    if head.kind == "notification" and head.method == "notifications/progress":
        return (before.method, before.token) == (latest.method, latest.token)
    return head.kind in {"notification", "malformed"} and before.data == latest.data


def _first_line(data: bytes) -> str:
    return data[:800].decode("utf-8", "backslashreplace").strip().partition("\n")[0][:200]
