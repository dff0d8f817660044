"""Files that tell no times, put among the others: where what they have stood in the order, as far as what belongs together tells.

A call in one file was asked for in another before it was sent, and its result was told after that. No time is made up: what tells none
has a place in the order, and no more.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from tui_host.capture.record import Record
from tui_host.infer.story import Story
from tui_host.opening.drafts import Moment, Seen


def interleaved(
    timed: Sequence[Seen], untimed: Sequence[tuple[str, Sequence[Seen]]]
) -> tuple[Sequence[Seen], Sequence[str]]:
    """What several files have in one order, and the names of those of which nothing tells where they stood: behind the others they are.

    Args:
        timed: What those have that tell their times.
        untimed: What each of the others has, with its name.
    """
    order = timed
    apart: list[str] = []
    for name, file in sorted(untimed, key=lambda each: not _asks(each[1])):  # all others hang on what asks
        if not order:
            order = file
            continue
        places = _places(order, file)
        if places is None:
            apart.append(name)
        order = list(_put(order, file, places or [len(order)] * len(file)))
    return order, apart


def _put(order: Sequence[Seen], file: Sequence[Seen], places: Sequence[int]) -> Iterator[Seen]:
    """Both together; each of a file stands before one of the order, by its number."""
    at, ns = 0, order[0].at.ns
    for seen, place in zip(file, places, strict=True):
        for each in order[at:place]:
            ns = max(ns, each.at.ns)
            yield each
        at = max(at, place)
        yield seen if seen.at.is_told else replace(seen, at=Moment(ns, is_told=False))
    yield from order[at:]


def _places(order: Sequence[Seen], file: Sequence[Seen]) -> Sequence[int] | None:
    """Before which of an order each of a file stood; None where nothing in it belongs to anything there.

    Calls stand behind the answer that asks for them, as soon as may be: their results then stand before they are told. Where the calls are
    the order's, an answer stands before its first call, as late as may be: so it is behind the results that it was told.
    """
    behind, before = _known(order, file)
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


def _known(order: Sequence[Seen], file: Sequence[Seen]) -> tuple[dict[int, int], dict[int, int]]:
    """Behind which of the order some of a file stood, and before which, each by its number there."""
    is_first = _asks(order) or not _asks(file)  # what asks is heard before what was asked for
    lists = (order, file) if is_first else (file, order)
    story = Story()
    ends: dict[str, tuple[bool, int]] = {}
    frames: list[tuple[bool, int]] = []
    for seen in lists:
        for number, each in enumerate(seen):
            frames.append((seen is file, number))
            if each.draft.wire == "llm" and each.draft.exchange is not None:
                ends[each.draft.exchange] = seen is file, number
            story.feed(Record(capture="", seq=len(frames), time_ns=0, mono_ns=None, draft=each.draft))
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


def _asks(seen: Sequence[Seen]) -> bool:
    return any(each.draft.wire == "llm" for each in seen)
