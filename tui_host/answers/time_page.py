"""Where the time of a turn went: the person, the model, servers, waiting to retry, and the host."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Literal, TypeAlias

from tui_host.answers.sheet import Sheet, SheetLine
from tui_host.capture.json.narrowing import text_or_empty
from tui_host.capture.json.reading import read_object
from tui_host.capture.ladder.row import RowNumbers
from tui_host.capture.short_units import short_time
from tui_host.capture.visible import line

if TYPE_CHECKING:
    from tui_host.answers.section import Section
    from tui_host.answers.steps import Steps
    from tui_host.answers.wires import Wires
    from tui_host.capture.ladder.row import Row

Spender: TypeAlias = Literal["you", "first byte", "streaming", "servers", "retry", "host"]
_ORDER: tuple[Spender, ...] = ("you", "first byte", "streaming", "servers", "retry", "host")
"""Who counts where several wait at once: the first of these."""
_BAR = 28
_CALLS = frozenset(("tools/call", "resources/read", "prompts/get"))
EMPTY = "The time of a turn stands here once the turn has begun: yours, the model's, the servers', and the host's."


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """A stretch of time in which something was waited for."""

    spender: Spender  # who took the time
    name: str  # what it was: `LLM 2`, `lab #4 lookup`
    start_ns: int  # when it began, on the capture's clock
    end_ns: int  # when it ended
    turn: int  # the turn's number
    row: tuple[str, int]  # the row it began with, by capture and number of its first record

    @property
    def milliseconds(self) -> float:
        return (self.end_ns - self.start_ns) / 1e6


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnTime:
    """The time of a turn, or of several."""

    nanoseconds: int  # from its first byte to its last
    spent: Mapping[Spender, int]  # of each spender, while nobody before it in the order was waited for
    intervals: tuple[Interval, ...]  # what was waited for, in order of their beginnings; these may overlap

    @property
    def milliseconds(self) -> float:
        return self.nanoseconds / 1e6


def time_of(wires: Wires, section: Section) -> TurnTime | None:
    """Compute where the time of a turn, or of all turns, went; None without times."""
    times = _times(wires, section)
    spent = Counter[Spender]()
    for time in times:
        spent.update(time.spent)
    whole, intervals = sum(time.nanoseconds for time in times), tuple(each for time in times for each in time.intervals)
    return TurnTime(nanoseconds=whole, spent=spent, intervals=intervals) if times else None


def _times(wires: Wires, section: Section) -> list[TurnTime]:
    turns: dict[tuple[str, int], list[Row]] = {}
    for row in section.rows(wires.ladder):
        if row.turn and row.mono_ns is not None:
            turns.setdefault((row.clock, row.turn), []).append(row)
    numbers = wires.ladder.numbers
    return [_of_turn(wires, numbers, rows) for rows in turns.values()]


def time_page(wires: Wires, section: Section) -> Steps[Sheet]:
    """Make the page `Time`."""
    time = time_of(wires, section)
    yield "measured"
    if time is None:
        return Sheet(what=f"time of {section.words}", lines=(), empty=EMPTY)
    longest = max(time.spent.values(), default=0) or 1
    lines: list[SheetLine] = []
    for spender in _ORDER:
        intervals = [interval for interval in time.intervals if interval.spender == spender]
        if intervals or time.spent.get(spender):
            lines.append(_line(spender, time, longest, intervals, wires.user))
    if len({interval.turn for interval in time.intervals}) == 1:
        stations = groupby(_path(time.intervals), lambda interval: _station(interval, wires.user))
        steps = tuple(_step(number, name, list(intervals)) for number, (name, intervals) in enumerate(stations))
        lines.append(SheetLine(key="path", label="critical path", style="what", opened=True, children=steps))
    return Sheet(what=f"time of {section.words}: {short_time(time.milliseconds)}", lines=lines)


def _station(interval: Interval, user: str) -> str:
    """Return how the critical path names what was waited for."""
    return f"{user} ({interval.name.partition(':')[0]})" if interval.spender == "you" else interval.name


def _line(spender: Spender, time: TurnTime, longest: int, intervals: Sequence[Interval], user: str) -> SheetLine:
    words = {"you": user, "first byte": "model, to the first byte", "streaming": "model, streaming"}
    spent = time.spent.get(spender, 0)
    bar = "#" * max(1, round(_BAR * spent / longest)) if spent else ""
    percent = f"{100 * spent / time.nanoseconds:.0f} %" if time.nanoseconds else ""
    label = words.get(spender, "waiting to retry" if spender == "retry" else spender)
    return SheetLine(
        key=spender,
        label=f"{label:<25}{bar}",
        figures=(short_time(spent / 1e6), percent),
        style="what",
        children=tuple(_step(number, interval.name, [interval]) for number, interval in enumerate(intervals)),
    )


def _step(number: int, name: str, intervals: Sequence[Interval]) -> SheetLine:
    time = short_time(sum(interval.milliseconds for interval in intervals))
    return SheetLine(key=str(number), label=line(name, 200), figures=(time,), target=intervals[0].row)


def _of_turn(wires: Wires, numbers: RowNumbers, rows: Sequence[Row]) -> TurnTime:
    start = min(row.mono_ns or 0 for row in rows)
    end = max(row.end_mono_ns or row.mono_ns or 0 for row in rows)
    found = (interval for interval in _intervals(wires, numbers, rows) if interval.end_ns > interval.start_ns)
    intervals = sorted(found, key=lambda interval: interval.start_ns)
    return TurnTime(nanoseconds=end - start, spent=_spent(intervals, start, end), intervals=tuple(intervals))


def _spent(intervals: Iterable[Interval], start: int, end: int) -> dict[Spender, int]:
    """Return each spender's nanoseconds: a moment counts for the first in the order who is waited for."""
    edges: list[tuple[int, int, Spender]] = []
    for interval in intervals:
        edges.append((interval.start_ns, 1, interval.spender))
        edges.append((interval.end_ns, -1, interval.spender))
    spent: dict[Spender, int] = {}
    waited: dict[Spender, int] = {}
    before = start
    edges.sort(key=lambda edge: edge[0])
    edges.append((end, 0, "host"))
    for time_ns, change, spender in edges:
        who: Spender = "host"
        for name in _ORDER:
            if waited.get(name):
                who = name
                break
        until = min(max(time_ns, before), end)
        spent[who] = spent.get(who, 0) + until - before
        waited[spender] = waited.get(spender, 0) + change
        before = until
    return spent


def _path(intervals: Sequence[Interval]) -> Iterator[Interval]:
    """Yield, from the end back, what ended last before the next began; in the order of time."""
    path: list[Interval] = []
    until = max((interval.end_ns for interval in intervals), default=0) + 1
    for interval in sorted(intervals, key=lambda each: each.end_ns, reverse=True):
        if interval.end_ns <= until:
            path.append(interval)
            until = interval.start_ns
    yield from reversed(path)


def _intervals(wires: Wires, numbers: RowNumbers, rows: Sequence[Row]) -> Iterator[Interval]:
    ladder = wires.ladder
    last = max(row.end_mono_ns or row.mono_ns or 0 for row in rows)
    asked: dict[str, int] = {}  # when the model had asked for a call
    decided = 0  # when the person had last decided, and saw the next call
    failed: dict[int, tuple[Row, int]] = {}  # of each step, an exchange that failed, and when
    for row in rows:
        start, key = row.mono_ns or 0, (row.capture, row.seq)
        partner = ladder.partner(row.number)
        other = None if partner is None else ladder.rows[partner]
        if row.kind == "request" and row.lane == "llm":
            name = numbers.name(row)
            if row.step in failed:
                before, since = failed.pop(row.step)
                words = f"after {before.status or 'no answer'}, before {name}"
                yield Interval(spender="retry", turn=row.turn, name=words, start_ns=since, end_ns=start, row=key)
            answered = other.mono_ns if other is not None else row.end_mono_ns
            yield Interval(
                spender="first byte", turn=row.turn, name=name, start_ns=start, end_ns=answered or start, row=key
            )
            if other is None or other.status >= 400:
                failed[row.step] = other or row, (other or row).end_mono_ns or start
        elif row.kind == "response" and row.lane == "llm":
            end = row.end_mono_ns or start
            yield Interval(
                spender="streaming", turn=row.turn, name=numbers.name(row), start_ns=start, end_ns=end, row=key
            )
            asked |= dict.fromkeys(row.calls, end)
        elif row.kind == "decision" and (since := max((asked.get(call, 0) for call in row.calls), default=0)):
            record = wires.record(key)
            value = read_object(record.data if record is not None else b"")
            if value.get("by") == "person":
                verdict = text_or_empty(value.get("decision"))
                name = line(f"{row.peer}.{row.tool}: {verdict or row.words}", 120)
                yield Interval(
                    spender="you", turn=row.turn, name=name, start_ns=max(since, decided), end_ns=start, row=key
                )
                decided = start
        elif row.kind == "frame" and row.method in _CALLS and not row.answer and row.outward:
            name = f"{numbers.name(row)} {line(row.tool or row.method, 60)}"
            if other is None:
                name, end = f"{name}, no answer{' yet' if row.state == 'open' else ''}", _given_up(wires, row, last)
            else:
                end = other.end_mono_ns or other.mono_ns or start
            yield Interval(spender="servers", turn=row.turn, name=name, start_ns=start, end_ns=end, row=key)


def _given_up(wires: Wires, call: Row, last: int) -> int:
    """Return when nobody waited any more for the answer of a call: its connection ended, it was cancelled, or the turn ended."""
    for number in range(call.number + 1, len(wires.ladder.rows) if call.state == "unanswered" else 0):
        row = wires.ladder.rows[number]
        is_own = (row.capture, row.connection) == (call.capture, call.connection)
        if is_own and (row.kind in {"end", "fault"} or row.method == "notifications/cancelled"):
            return min(row.mono_ns or last, last)
    return last
