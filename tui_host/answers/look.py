"""Which rows deserve a look: errors, missing answers, unread calls, retries, changed definitions, broken prefixes, edits, what was not told."""

from __future__ import annotations

import re
import time
from bisect import insort
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tui_host.answers.bodies import body_of, first_data
from tui_host.answers.chain_values import contents_of, names_of, not_told, parsed, told_in_part, words_in
from tui_host.answers.changes_page import path_of
from tui_host.answers.outlines import fold_of, marks_of
from tui_host.answers.sheet import Sheet, SheetLine
from tui_host.answers.steps import made
from tui_host.capture.json.narrowing import items, mapping, text_or_empty
from tui_host.capture.visible import line
from tui_host.errors import TuiHostError
from tui_host.llm.messages import ToolSpec
from tui_host.llm.outline import Comparison, common_prefix
from tui_host.llm.unread_calls import unread_call

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tui_host.answers.wires import Wires
    from tui_host.capture.ladder.row import Row
    from tui_host.llm.outline import Part

MOST = 2 << 20
"""Bytes of a body that is compared with another one."""
_MARKERS = re.compile(rb"tool_|TOOL_|[|]>|\xef\xbd\x9c|uff5c|function|[Aa]ction|arguments|parameters")
"""What every form of a call holds: most responses hold nothing of it and are not read."""
_EDITED = "edited"
_PROBE = "server/discover"
"""What this host asks each server first, to learn its era."""
EMPTY = (
    "Nothing here needs a look: no errors, cut answers, unread calls, retries, changed definitions, broken prefixes, edited calls,"
    " or results that the model was not told."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """A row to look at, by capture and number of its first record: its name (`LLM 3`), its turn, and why."""

    row: tuple[str, int]
    name: str
    turn: int  # 0 without one
    reason: str


class Looks:
    """Finds the rows to look at, as rows come and change."""

    def __init__(self, wires: Wires) -> None:
        self._wires = wires
        self._numbers = wires.ladder.numbers
        self._revision = -1
        self._pending: list[int] = []
        self._reasons: dict[int, str] = {}
        self._definitions: dict[tuple[str, str], str] = {}
        self.numbers: list[int] = []  # in the order of the list

    @property
    def is_behind(self) -> bool:
        """Whether rows have not been looked through yet."""
        return bool(self._pending) or self._revision != self._wires.ladder.revision

    def advance(self, seconds: float = float("inf")) -> bool:
        """Look through new and changed rows for a limited time; returns whether all are done."""
        until = time.perf_counter() + seconds
        ladder = self._wires.ladder
        if self._revision != ladder.revision:
            changed = ladder.changed_since(self._revision)
            self._pending = sorted({*self._pending, *changed})
            self._revision = ladder.revision
        done = 0
        for number in self._pending:
            try:
                reason = self._reason(ladder.rows[number])
            except TuiHostError as error:  # what cannot be read deserves a look too
                reason = line(str(error), 80)
            self._set(number, reason)
            for answer in self._answers(ladder.rows[number]):
                self._set(answer.number, _broken(answer) or self._untold(answer))
            done += 1
            if time.perf_counter() >= until:
                break
        del self._pending[:done]
        return not self._pending

    def _set(self, number: int, reason: str) -> None:
        was = number in self._reasons
        if reason:
            self._reasons[number] = reason
            if not was:
                insort(self.numbers, number)
        elif was:
            del self._reasons[number]
            self.numbers.remove(number)

    def reason(self, number: int) -> str:
        """Return why a row deserves a look; empty if it does not."""
        return self._reasons.get(number, "")

    def look(self, number: int) -> Look:
        """Return a row to look at."""
        row = self._wires.ladder.rows[number]
        return Look(
            row=(row.capture, row.seq),
            name=self._numbers.name(row),
            turn=row.turn,
            reason=self._reasons.get(number, ""),
        )

    # Why.

    def _reason(self, row: Row) -> str:
        if broken := _broken(row):
            return broken
        if row.lane == "llm":
            return self._of_model(row)
        if row.answer and row.method == "tools/call" and not row.outward:
            return self._untold(row)
        if row.kind == "decision" and row.words.startswith(_EDITED):
            return line(row.words, 80)
        return self._definition(row) if row.answer and row.method == "tools/list" else ""

    def _of_model(self, row: Row) -> str:
        if row.kind == "response":
            return self._unread(row)
        if row.kind != "request" or row.method == "GET":
            return ""
        before = self._wires.before(row)
        if row.turn and before is not None and (before.turn, before.step) == (row.turn, row.step):
            return f"sent again after {self._numbers.name(before)}" if self._has_failed(before) else ""
        return self._prefix(row, before)

    def _unread(self, row: Row) -> str:
        """Return in which form a response holds a call that nobody read; empty where text may be the agreed form."""
        request, dialect = self._wires.ladder.partner(row.number), self._wires.dialect(row)
        if request is None or dialect is None or row.missing or row.size > MOST:
            return ""
        body = body_of(self._wires, row)
        if _MARKERS.search(body.data) is None:
            return ""
        if b'"tools"' not in body_of(self._wires, self._wires.ladder.rows[request]).data:
            return ""
        fold = made(fold_of(self._wires, row, body, dialect))
        tools = [
            ToolSpec(name=name, description="", schema={}, server=server, tool=tool)
            for name, (server, tool) in self._wires.names(row).items()
        ]
        text = fold.text if fold.text.strip() else fold.thinking
        unread = None if fold.calls else unread_call(text, tools, is_thinking=text is fold.thinking)
        return "" if unread is None else line(unread.what, 120)

    def _has_failed(self, request: Row) -> bool:
        partner = self._wires.ladder.partner(request.number)
        response = None if partner is None else self._wires.ladder.rows[partner]
        return response is None or response.status >= 400 or response.state in {"cut", "failed"}

    def _prefix(self, row: Row, before: Row | None) -> str:
        """Return where the prefix of the request before is broken; empty where something was only added."""
        if before is None or before.missing or row.missing or max(row.size, before.size) > MOST:
            return ""
        earlier, now = body_of(self._wires, before).data, body_of(self._wires, row).data
        if is_only_added(earlier, now):
            return ""
        dialect = self._wires.dialect(row)
        outlines = None if dialect is None else (dialect.outline(earlier, {}), dialect.outline(now, {}))
        if outlines is None or outlines[0] is None or outlines[1] is None:
            return ""
        marks = Comparison(outlines[0], outlines[1])
        kinds = {"message", "tool"}
        changed = [part for part in outlines[1].walk() if part.kind in kinds and marks.marks.get(part.key) == "~"]
        gone = [part for part in marks.removed if part.kind in kinds]
        if changed:
            return f"the prefix breaks at {self._called(row, changed[0])}"
        return f"the prefix breaks: {self._called(row, gone[0])} is gone" if gone else ""

    def _called(self, row: Row, part: Part) -> str:
        """Return the name of a part; of a tool that of the server."""
        server, tool = self._wires.names(row).get(part.name, ("", ""))
        return line(f"{server}.{tool}", 60) if part.kind == "tool" and tool else path_of(part.key)

    def _answers(self, row: Row) -> Iterator[Row]:
        if row.kind == "request" and row.lane == "llm":
            rows = (self._wires.ladder.rows[number] for call in row.calls for number in self._of_call(call))
            yield from (each for each in rows if each.answer and each.method == "tools/call" and not each.outward)

    def _untold(self, row: Row) -> str:
        """Return what of a result the model was not told; empty before it was told anything."""
        requests = (self._wires.ladder.rows[number] for call in row.calls for number in self._of_call(call))
        told = next((each for each in requests if each.kind == "request" and each.lane == "llm"), None)
        if told is None or told.missing or max(row.size, told.size) > MOST:
            return ""
        links = [link for link in marks_of(self._wires, told) if link.relation == "told" and link.call in row.calls]
        if not links:
            return ""
        body = body_of(self._wires, told).data
        words = words_in(piece for link in links for piece in link.span.pieces(body))
        result = mapping(parsed(first_data(self._wires, row))).get("result")
        contents = contents_of(result)
        left, part = names_of(not_told(contents, words, body)), told_in_part(contents, words)
        if left:
            return f"not told: {line(left, 80)}"
        return f"told in part: {part}" if part else ""

    def _of_call(self, call: str) -> Sequence[int]:
        return self._wires.ladder.rows_of_call(call)

    def _definition(self, row: Row) -> str:
        """Return the tools whose definitions changed since the same server listed them last."""
        if row.size > MOST:
            return ""
        changed: list[str] = []
        for name, definition in _definitions(first_data(self._wires, row)).items():
            before = self._definitions.get((row.peer, name))
            if before is not None and before != definition:
                changed.append(name)
            self._definitions[row.peer, name] = definition
        return f"changed: {line(', '.join(changed), 80)}" if changed else ""


def _broken(row: Row) -> str:
    """Return what went wrong in a row; empty if nothing did."""
    if row.answer and row.method == _PROBE:  # older servers refuse it
        return ""
    if row.malformed:
        return f"malformed: {line(row.malformed, 80)}"
    if row.kind == "fault" or (row.kind == "end" and row.error):
        return line(row.words, 80) or "failed"
    if row.state == "cut":
        return "cut"
    if row.state == "unanswered":
        return f"no answer{f': {line(row.ending, 60)}' if row.ending else ''}"
    if row.status >= 400 and row.kind != "request":
        return f"refused with {row.status}"
    return f"error: {line(row.words, 60)}" if row.error else ""


def is_only_added(earlier: bytes, now: bytes) -> bool:
    """Whether one byte string is the other with something put in at one place, as an added message is."""
    kept = common_prefix(earlier, now)
    rest = earlier[kept:]
    return len(now) >= len(earlier) and now.endswith(rest)


def _definitions(data: bytes) -> Mapping[str, str]:
    tools = items(mapping(mapping(parsed(data)).get("result")).get("tools"))
    return {text_or_empty(mapping(tool).get("name")): repr(tool) for tool in tools}


def looks_of(wires: Wires) -> Sequence[Look]:
    """Return all rows to look at."""
    looks = Looks(wires)
    looks.advance()
    return [looks.look(number) for number in looks.numbers]


def looks_sheet(looks: Sequence[Look]) -> Sheet:
    """Return the rows to look at as a page."""
    lines = [
        SheetLine(
            key=f"{look.row[0]} {look.row[1]}",
            label=f"{look.name}  {look.reason}",
            figures=(f"turn {look.turn}" if look.turn else "",),
            target=look.row,
        )
        for look in looks
    ]
    return Sheet(what=f"{len(lines)} to look at", lines=lines, empty=EMPTY)
