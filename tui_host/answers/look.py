"""Which rows deserve a look: errors, missing answers, unread calls, retries, changed definitions, broken prefixes, edits, what was not told."""

from __future__ import annotations

import re
import time
from bisect import insort
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tui_host.answers.bodies import body_of, first_data, reading
from tui_host.answers.chain_values import contents_of, names_of, not_told, parsed, told_in_part, words_in
from tui_host.answers.outlines import fold_of, marks_of
from tui_host.answers.prefix_breaks import breaks_of
from tui_host.answers.sheet import Sheet, SheetLine
from tui_host.answers.wires import partner_of
from tui_host.capture.json.narrowing import items, mapping, text_or_empty
from tui_host.capture.visible import line
from tui_host.errors import TuiHostError
from tui_host.llm.messages import ToolSpec
from tui_host.llm.unread_calls import unread_call

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tui_host.answers.steps import Steps
    from tui_host.answers.wires import Wires
    from tui_host.capture.ladder.row import Row
    from tui_host.errors import JSON

MOST = 2 << 20
"""Bytes of a body that is compared with another one."""
_MARKERS = re.compile(rb"tool_|TOOL_|[|]>|\xef\xbd\x9c|uff5c|function|[Aa]ction|arguments|parameters")
"""What every form of a call holds: most responses hold nothing of it and are not read."""
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
        self._revision = -1
        self._pending: list[int] = []  # the first row last
        self._work: Steps[None] | None = None
        self._reasons: dict[int, str] = {}
        self._definitions: dict[tuple[str, str], JSON] = {}
        self.numbers: list[int] = []  # in the order of the list

    @property
    def is_behind(self) -> bool:
        """Whether rows have not been looked through yet."""
        return self._work is not None or self._revision != self._wires.ladder.revision

    def advance(self, seconds: float = float("inf")) -> bool:
        """Look through new and changed rows for a limited time; returns whether all are done."""
        until, ladder = time.perf_counter() + seconds, self._wires.ladder
        if self._revision != ladder.revision:
            self._pending = sorted({*self._pending, *ladder.changed_since(self._revision)}, reverse=True)
            self._revision = ladder.revision
        self._work = self._work or self._through()
        for _ in self._work:
            if time.perf_counter() >= until:
                return False
        self._work = None
        return True

    def _through(self) -> Steps[None]:
        while self._pending:
            row = self._wires.ladder.rows[self._pending.pop()]
            try:
                reason = _broken(row) or (yield from self._reason(row))
            except TuiHostError as error:  # what cannot be read deserves a look too
                reason = line(str(error), 80)
            self._set(row.number, reason)
            if row.kind == "request" and row.lane == "llm":
                for answer in self._rows_of_calls(row):
                    if answer.answer and answer.method == "tools/call" and not answer.outward:
                        self._set(answer.number, _broken(answer) or self._untold(answer))
            yield "looking"

    def _set(self, number: int, reason: str) -> None:
        was = number in self._reasons
        if reason:
            self._reasons[number] = reason
            if not was:
                insort(self.numbers, number)
        elif was:
            del self._reasons[number]
            self.numbers.remove(number)

    def look(self, number: int) -> Look:
        """Return a row to look at."""
        row = self._wires.ladder.rows[number]
        name = self._wires.ladder.numbers.name(row)
        return Look(row=(row.capture, row.seq), name=name, turn=row.turn, reason=self._reasons[number])

    def _reason(self, row: Row) -> Steps[str]:
        """Return why a row in which nothing went wrong deserves a look; empty if it does not."""
        if row.lane == "llm" and row.kind == "response":
            return (yield from self._unread(row))
        if row.lane == "llm" and row.kind == "request" and row.method != "GET":
            before = self._wires.before(row)
            if row.turn and before is not None and (before.turn, before.step) == (row.turn, row.step):
                response = partner_of(self._wires, before)
                has_failed = response is None or response.status >= 400 or response.state in {"cut", "failed"}
                return f"sent again after {self._wires.ladder.numbers.name(before)}" if has_failed else ""
            breaks = () if row.size > MOST else (yield from breaks_of(self._wires, [row]))
            return line(f"the prefix breaks: {breaks[0].cause}", 200) if breaks else ""
        if row.answer and row.method == "tools/call" and not row.outward:
            return self._untold(row)
        if row.answer and row.method == "tools/list":
            return self._definition(row)
        return line(row.words, 80) if row.kind == "decision" and row.words.startswith("edited") else ""

    def _unread(self, row: Row) -> Steps[str]:
        """Return in which form a response holds a call that nobody read; empty where text may be the agreed form."""
        request, dialect = partner_of(self._wires, row), self._wires.dialect(row)
        if request is None or dialect is None or row.missing or row.size > MOST:
            return ""
        body = yield from reading(self._wires, row)
        if _MARKERS.search(body.data) is None:
            return ""
        if b'"tools"' not in (yield from reading(self._wires, request)).data:
            return ""
        fold = yield from fold_of(self._wires, row, body, dialect)
        tools = [
            ToolSpec(name=name, description="", schema={}, server=server, tool=tool)
            for name, (server, tool) in self._wires.names(row).items()
        ]
        text = fold.text if fold.text.strip() else fold.thinking
        unread = None if fold.calls else unread_call(text, tools, is_thinking=text is fold.thinking)
        return "" if unread is None else line(unread.what, 120)

    def _untold(self, row: Row) -> str:
        """Return what of a result the model was not told; empty before it was told anything."""
        requests = (each for each in self._rows_of_calls(row) if each.kind == "request" and each.lane == "llm")
        told = next(requests, None)
        if told is None or told.missing or max(row.size, told.size) > MOST:
            return ""
        links = [link for link in marks_of(self._wires, told) if link.relation == "told" and link.call in row.calls]
        if not links:
            return ""
        body = body_of(self._wires, told).data
        words = words_in(piece for link in links for piece in link.span.pieces(body))
        contents = contents_of(mapping(parsed(first_data(self._wires, row))).get("result"))
        if left := names_of(not_told(contents, words, body)):
            return f"not told: {line(left, 80)}"
        part = told_in_part(contents, words)
        return f"told in part: {part}" if part else ""

    def _rows_of_calls(self, row: Row) -> Iterator[Row]:
        ladder = self._wires.ladder
        return (ladder.rows[number] for call in row.calls for number in ladder.rows_of_call(call))

    def _definition(self, row: Row) -> str:
        """Return the tools whose definitions changed since the same server listed them last."""
        if row.size > MOST:
            return ""
        changed: list[str] = []
        for tool in items(mapping(mapping(parsed(first_data(self._wires, row))).get("result")).get("tools")):
            name = text_or_empty(mapping(tool).get("name"))
            if self._definitions.setdefault((row.peer, name), tool) != tool:
                changed.append(name)
            self._definitions[row.peer, name] = tool
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


def looks_sheet(wires: Wires) -> Sheet:
    """Return the rows to look at as a page."""
    looks = Looks(wires)
    looks.advance()
    found = [looks.look(number) for number in looks.numbers]
    lines = [
        SheetLine(
            key=f"{look.row[0]} {look.row[1]}",
            label=f"{look.name}  {look.reason}",
            figures=(f"turn {look.turn}" if look.turn else "",),
            target=look.row,
        )
        for look in found
    ]
    return Sheet(what=f"{len(lines)} to look at", lines=lines, empty=EMPTY)
