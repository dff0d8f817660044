"""Logs of home-made proxies: request lines and `data:` lines, JSON-RPC lines, with whatever their authors wrote before them.

Such a script writes what it passed on as lines of text: `>>> {…}`, `[2025-12-01 10:00:00] client -> server: {…}`, `输入: {…}`, or each
message, or each exchange, in an object of its own. What of a line is JSON is what was on the wire; what stands around it tells when and
which way. Hosts' own logs of their servers are written so too. Source: tool-protocols.md, section 7.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

from tui_host.capture.record import Direction
from tui_host.opening.drafts import LATER, File, Notes, Progress, Seen
from tui_host.opening.log_clock import Clock, by_the_last, latest
from tui_host.opening.logs.labels import Habits
from tui_host.opening.logs.linewise import Lines
from tui_host.opening.logs.log import Log, Taught
from tui_host.opening.logs.names import Names, Naming
from tui_host.opening.logs.ways import Ways
from tui_host.opening.unsupported import is_completion
from tui_host.opening.wire_detection import Wires

_LOOKED_AT = 1 << 16
"""Bytes in which the first time is looked for."""
_LEARNT_FROM = 1 << 20
"""Bytes from which the meaning of words is learnt before the first line is given; from there on it is as it is read."""
_SOME_DAY_NS = 2 * 86_400 * 10**9
"""On that day a log's times are counted from whose day is not known yet."""


class Begin(NamedTuple):
    """The first time that a log tells: what stands before it is of the same.

    Attributes:
        ns: That time; without one, the file's.
        is_dated: Its day is told.
        is_of_a_day: Its day is not, and is taken to be such that the last line is of the day on which the file was last changed.
    """

    ns: int
    is_dated: bool = False
    is_of_a_day: bool = False


def recognise(file: File, wires: Wires) -> bool:
    """Whether at least one line is of a wire."""
    log = Log(file, wires, Notes(), "", Clock(0), Taught(Ways(), Habits()))
    return any(seen.draft.wire != "stderr" for line in Lines(file.data) for seen in log.take(line))


def first_cut(file: File) -> int:
    """The place of the first line with a value that is cut off; -1 if there is none."""
    return next((line.at for line in Lines(file.data) if line.cut is not None), -1)


def first_completion(file: File) -> int:
    """The place of the first line with a completion of a text, which is no chat; -1 if there is none."""
    return next((line.at for line in Lines(file.data) if is_completion(line.value)), -1)


def begin_of(file: File, wires: Wires, progress: Progress) -> Begin:
    """The first time that a log tells.

    One without dates is read to its end for it, and so there is no row before that: its last line is of the day on which the file was
    last changed, and each midnight before that is counted from there.

    Args:
        file: The log; its time is that of what tells none.
        wires: The dialects.
        progress: Told how far it is read, where that is to its end.
    """
    clock = Clock(_SOME_DAY_NS, changed_ns=file.changed_ns)
    log = Log(file, wires, Notes(), "", clock, Taught(Ways(), Habits()))
    lines = Lines(file.data)
    at = 0
    for line in lines:
        deque(log.take(line), maxlen=0)
        if clock.is_dated or (not clock.first_ns and lines.at > _LOOKED_AT):
            break
        if lines.at > _LOOKED_AT:
            progress.expected += 0 if at else len(file.data)
            progress.advance(lines.at - at)
            at = lines.at
    if not clock.first_ns:
        return Begin(file.time_ns)
    if clock.is_dated:
        return Begin(clock.first_ns, is_dated=True)
    return Begin(by_the_last(clock.first_ns, clock.now_ns, file.changed_ns), is_of_a_day=True)


def names_in(asked: File, said: File, wires: Wires) -> Names | None:
    """What names the exchanges of a log of requests and of one of answers; None if nothing surely does."""
    naming = Naming()
    for file in (asked, said):
        log = Log(file, wires, Notes(), "", Clock(0), Taught(Ways(), Habits(), naming=naming))
        for line in Lines(file.data):
            deque(log.take(line), maxlen=0)
    return naming.names


def read(
    file: File,
    wires: Wires,
    notes: Notes,
    peer: str,
    begin_ns: int = 0,
    learnt: Direction | Names | None = None,
) -> Iterator[Seen]:
    """What the lines say, in their order; times never go back, nor before it begins.

    Args:
        file: The log.
        wires: The dialects.
        notes: Told what is left out.
        peer: What a server or provider is called that only this log is known of.
        begin_ns: The first time that it tells.
        learnt: What is known of it before: the way that all its frames went, or what names its exchanges; None if nothing is.
    """
    clock = Clock(
        begin_ns,
        later=lambda: notes.leave_out(LATER, file.name),
        latest_ns=latest(begin_ns, file.changed_ns),
        changed_ns=file.changed_ns,
    )
    taught = Taught(Ways(learnt), Habits()) if isinstance(learnt, str) else _learnt(file, wires, learnt)
    log = Log(file, wires, notes, peer, clock, taught._replace(looks_ahead=True))
    lines = Lines(file.data)
    notes.progress.expected += len(file.data)
    at = 0
    for line in lines:
        notes.progress.advance(lines.at - at)
        at = lines.at
        yield from log.take(line)
    yield from log.finish()
    if lines.pythonic:
        notes.told.append(
            f"{file.name} has {lines.pythonic:,} bodies as Python writes them: they are shown as the JSON that says the same."
        )


def _learnt(file: File, wires: Wires, names: Names | None) -> Taught:
    """What the beginning of a log teaches: also of those lines that stand before what teaches it."""
    if names is not None:
        named = Taught(Ways(), Habits(mark=names.mark, elsewhere=names.values))
        heard = _heard(file, wires, named)
        return heard._replace(habits=replace(heard.habits, mark=names.mark, have_keys=True))
    taught = _heard(file, wires, Taught(Ways(), Habits()))
    if taught.habits.have_labels:
        return _heard(file, wires, taught)  # what stands behind these, too
    if not taught.habits.mark:
        return taught
    marked = _heard(file, wires, taught._replace(habits=Habits(mark=taught.habits.mark, spoken=taught.habits.spoken)))
    return marked if marked.habits.have_keys else taught._replace(habits=replace(taught.habits, mark=""))


def _heard(file: File, wires: Wires, taught: Taught) -> Taught:
    log = Log(file, wires, Notes(), "", Clock(0), taught)
    lines = Lines(file.data)
    for line in lines:
        deque(log.take(line), maxlen=0)
        if lines.at > _LEARNT_FROM:
            break
    return taught._replace(habits=log.habits)
