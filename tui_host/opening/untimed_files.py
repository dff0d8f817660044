"""Merge files without times into the order of the others, by the calls that belong together.

A call in one file was asked for in another before it was sent, and its result was told after it came. No time is made up: a record
without a time gets a place in the order only.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tui_host.capture.record import Record
from tui_host.infer.story import Story
from tui_host.opening.import_types import Moment, TimedDraft


def interleaved(
    timed: Sequence[TimedDraft], untimed: Sequence[tuple[str, Sequence[TimedDraft]]]
) -> tuple[Sequence[TimedDraft], Sequence[str]]:
    """Merge files into one order, and give the names of files with no known place; these stand at the end."""
    order = timed
    apart: list[str] = []
    for name, file in sorted(untimed, key=lambda named: not _asks(named[1])):  # the others depend on the one that asks
        if not order:
            order = file
            continue
        places = _places(order, file)
        if places is None:
            apart.append(name)
        order = list(_put(order, file, places or [len(order)] * len(file)))
    return order, apart


def _put(order: Sequence[TimedDraft], file: Sequence[TimedDraft], places: Sequence[int]) -> Iterator[TimedDraft]:
    """Merge `file` into `order`: `file[i]` comes before `order[places[i]]`."""
    at, ns = 0, order[0].at.ns
    for timed, place in zip(file, places, strict=True):
        for before in order[at:place]:
            ns = max(ns, before.at.ns)
            yield before
        at = max(at, place)
        yield timed if timed.at.is_told else timed._replace(at=Moment(ns, is_told=False))
    yield from order[at:]


def _places(order: Sequence[TimedDraft], file: Sequence[TimedDraft]) -> Sequence[int] | None:
    """The index in `order` before which each draft of `file` stands; None if nothing in the file belongs to the order.

    A call stands right behind the answer that asks for it, so its result stands before the request that tells it. An answer that
    asks for calls of the order stands right before its first call, so it stands behind the results that its request tells.
    """
    behind, before = _limits(order, file)
    if behind:
        last = 0
        places: list[int] = []
        for number in range(len(file)):
            last = max(last, behind.get(number, 0))
            places.append(last)
        return places
    if before:
        next_ = len(order)
        places = []
        for number in reversed(range(len(file))):
            next_ = min(next_, before.get(number, next_))
            places.append(next_)
        return places[::-1]
    return None


def _limits(order: Sequence[TimedDraft], file: Sequence[TimedDraft]) -> tuple[dict[int, int], dict[int, int]]:
    """By the index of a draft in `file`: the index in `order` to stand behind, and the index to stand before."""
    is_first = _asks(order) or not _asks(file)  # the requests to a model come first
    lists = (order, file) if is_first else (file, order)
    story = Story()
    ends: dict[str, tuple[bool, int]] = {}
    frames: list[tuple[bool, int]] = []
    for drafts in lists:
        for number, timed in enumerate(drafts):
            frames.append((drafts is file, number))
            if timed.draft.wire == "llm" and timed.draft.exchange is not None:
                ends[timed.draft.exchange] = drafts is file, number
            story.feed(Record(capture="", seq=len(frames), time_ns=0, mono_ns=None, draft=timed.draft))
    behind: dict[int, int] = {}
    before: dict[int, int] = {}
    for joined in story.joined():
        asked_in_file, end = ends[joined.asked.exchange]
        for sent in joined.sent:
            sent_in_file, number = frames[sent.seq - 1]
            if sent_in_file and not asked_in_file:
                behind[number] = end + 1
            elif asked_in_file and not sent_in_file:
                before[end] = min(number, before.get(end, number))
    return behind, before


def _asks(drafts: Sequence[TimedDraft]) -> bool:
    return any(timed.draft.wire == "llm" for timed in drafts)
