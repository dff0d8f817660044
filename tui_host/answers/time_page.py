"""Where the time of a turn went: the person, the model, servers, waiting to retry, and the host."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Literal, TypeAlias

from tui_host.answers.bodies import first_data
from tui_host.answers.sheet import Sheet, SheetLine, Value
from tui_host.answers.wires import Section, Wires
from tui_host.capture.json.narrowing import text_or_empty
from tui_host.capture.json.reading import read_object
from tui_host.capture.ladder.row import Row
from tui_host.capture.short_units import short_time
from tui_host.capture.visible import line

Spender: TypeAlias = Literal["you", "first byte", "streaming", "servers", "retry", "host"]
_ORDER: tuple[Spender, ...] = ("you", "first byte", "streaming", "servers", "retry", "host")
"""Who counts where several wait at once: the first of these."""
_NAMES = {"first byte": "model, to the first byte", "streaming": "model, streaming", "retry": "waiting to retry"}
_BAR = 28
_FORM, _CANCELLED = "elicitation/create", "notifications/cancelled"
_CALLS = frozenset(("tools/call", "resources/read", "prompts/get"))
_SINCE = "the time of a decision runs here from when the model had asked; on its row from when the question was shown"
EMPTY = "The time of a turn stands here once the turn has begun: yours, the model's, the servers', and the host's."


@dataclass(frozen=True, slots=True)
class Interval:
    """A stretch of time in which something was waited for."""

    row: Row  # the row it began with
    spender: Spender  # who took the time
    name: str  # what it was: `LLM 2`, `lab #4 lookup`
    start_ns: int  # when it began, on the capture's clock
    end_ns: int  # when it ended


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnTime:
    """The time of a turn, or of several."""

    nanoseconds: int  # from its first byte to its last
    spent: Mapping[Spender, int]  # of each spender, while nobody before it in the order was waited for
    intervals: tuple[Interval, ...]  # what was waited for, in order of their beginnings; these may overlap


def time_of(wires: Wires, section: Section) -> TurnTime | None:
    """Compute where the time of a turn, or of all turns, went; None without times."""
    turns: dict[tuple[str, int], list[Row]] = {}
    for row in section.rows(wires.ladder):
        if row.turn and row.mono_ns is not None:
            turns.setdefault((row.clock, row.turn), []).append(row)
    whole, spent = 0, Counter[Spender]()
    intervals: list[Interval] = []
    for rows in turns.values():
        start = min(row.mono_ns or 0 for row in rows)
        end = max(row.end_mono_ns or row.mono_ns or 0 for row in rows)
        waits = (interval for interval in _intervals(wires, rows, end) if interval.end_ns > interval.start_ns)
        of_turn = sorted(waits, key=lambda interval: interval.start_ns)
        # Who took each stretch: of those that were waited for, the first in the order.
        edges: list[tuple[int, int, Spender]] = []
        for interval in of_turn:
            edges.append((interval.start_ns, 1, interval.spender))
            edges.append((interval.end_ns, -1, interval.spender))
        edges.sort(key=lambda edge: edge[0])
        edges.append((end, 0, "host"))
        waited = Counter[Spender]({"host": 1})  # always, where nobody else is waited for
        before = start
        for time_ns, change, spender in edges:
            until = min(max(time_ns, before), end)
            who: Spender = next(name for name in _ORDER if waited[name])
            spent[who] += until - before
            waited[spender] += change
            before = until
        whole += end - start
        intervals += of_turn
    return TurnTime(nanoseconds=whole, spent=spent, intervals=tuple(intervals)) if turns else None


def time_page(wires: Wires, section: Section) -> Sheet:
    """Make the page `Time`."""
    time = time_of(wires, section)
    if time is None:
        return Sheet(what=f"time of {section.words}", lines=(), empty=EMPTY)
    longest = max(time.spent.values(), default=0) or 1
    names = {"you": f"{wires.user}, since asked", **_NAMES}
    lines: list[SheetLine] = []
    for spender in _ORDER:
        intervals = [interval for interval in time.intervals if interval.spender == spender]
        spent = time.spent.get(spender, 0)
        if intervals or spent:
            bar = "#" * max(1, round(_BAR * spent / longest)) if spent else ""
            share = spent / time.nanoseconds if time.nanoseconds else None
            values: dict[str, Value] = {"time": spent / 1e6, "share": share}
            steps = tuple(_step(number, interval.name, [interval]) for number, interval in enumerate(intervals))
            label = f"{names.get(spender, spender):<25}{bar}"
            lines.append(SheetLine(key=spender, label=label, values=values, style="what", children=steps))
    if len({interval.row.turn for interval in time.intervals}) == 1:
        # From the end back, what ended last before the next began.
        path: list[Interval] = []
        for interval in sorted(time.intervals, key=lambda each: each.end_ns, reverse=True):
            if not path or interval.end_ns <= path[-1].start_ns:
                path.append(interval)
        stations = groupby(
            reversed(path),
            lambda stop: f"{wires.user} ({stop.name.partition(':')[0]})" if stop.spender == "you" else stop.name,
        )
        steps = tuple(_step(number, name, list(intervals)) for number, (name, intervals) in enumerate(stations))
        words = "the turn waited for, one after the other"
        lines.append(SheetLine(key="path", label=words, style="what", opened=True, children=steps))
    notes = [_SINCE] if time.spent.get("you") else []
    return Sheet(what=f"time of {section.words}: {short_time(time.nanoseconds / 1e6)}", notes=notes, lines=lines)


def _step(number: int, name: str, intervals: Sequence[Interval]) -> SheetLine:
    first, took = intervals[0].row, sum((interval.end_ns - interval.start_ns) / 1e6 for interval in intervals)
    values: dict[str, Value] = {"time": took, "share": None}
    return SheetLine(key=str(number), label=line(name, 200), values=values, target=(first.capture, first.seq))


def _intervals(wires: Wires, rows: Sequence[Row], last: int) -> Iterator[Interval]:
    numbers = wires.ladder.numbers
    asked: dict[str, int] = {}  # when the model had asked for a call
    decided = 0  # when the person had last decided, and saw the next call
    failed: dict[int, tuple[Row, int]] = {}  # of each step, an exchange that failed, and when
    for row in rows:
        start, other = row.mono_ns or 0, wires.ladder.partner_of(row)
        if row.kind == "request" and row.lane == "llm":
            name = numbers.name(row)
            if row.step in failed:
                before, since = failed.pop(row.step)
                yield Interval(row, "retry", f"after {before.status or 'no answer'}, before {name}", since, start)
            answered = other.mono_ns if other is not None else row.end_mono_ns
            yield Interval(row, "first byte", name, start, answered or start)
            if other is None or other.status >= 400:
                failed[row.step] = other or row, (other or row).end_mono_ns or start
        elif row.kind == "response" and row.lane == "llm":
            end = row.end_mono_ns or start
            yield Interval(row, "streaming", numbers.name(row), start, end)
            asked |= dict.fromkeys(row.calls, end)
        elif row.kind == "decision" and (since := max((asked.get(call, 0) for call in row.calls), default=0)):
            value = read_object(first_data(wires, row))
            if value.get("by") == "person":
                verdict = text_or_empty(value.get("decision"))
                name = line(f"{row.peer}.{row.tool}: {verdict or row.words}", 120)
                yield Interval(row, "you", name, max(since, decided), start)
                decided = start
        elif row.kind == "frame" and row.method == _FORM and not row.answer and not row.outward and other is not None:
            answered = other.end_mono_ns or other.mono_ns or start
            yield Interval(row, "you", f"{numbers.name(row)}: a question of the server", start, answered)
        elif row.kind == "frame" and row.method in _CALLS and not row.answer and row.outward:
            name = f"{numbers.name(row)} {line(row.tool or row.method, 60)}"
            end = last if other is None else other.end_mono_ns or other.mono_ns or start
            if other is None:
                name += f", no answer{' yet' if row.state == 'open' else ''}"
                # Nobody waited any more once its connection ended, it was cancelled, or the turn ended.
                all_rows, place = wires.ladder.rows, (row.capture, row.connection)
                until = len(all_rows) if row.state == "unanswered" else 0
                later = (all_rows[number] for number in range(row.number + 1, until))
                own = (each for each in later if (each.capture, each.connection) == place)
                ends = (each for each in own if each.kind in {"end", "fault"} or each.method == _CANCELLED)
                end = min(next((each.mono_ns for each in ends), None) or last, last)
            yield Interval(row, "servers", name, start, end)
