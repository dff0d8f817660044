"""Which frames cannot be of a call, or may not be, as all that its answer was told others brought, or as they brought what another was told."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

from tui_host.infer.call_values import FrameKey, Sent
from tui_host.infer.clock_offsets import DOUBTFUL_NS
from tui_host.infer.matching.candidates import Candidate
from tui_host.infer.matching.rivals import Possible
from tui_host.infer.same_result import OTHER

_Alike: TypeAlias = tuple[str, str, str]
"""An answer, and the name of calls in it."""


def without_taken(possible: Possible, candidates: Sequence[Candidate], frames: Mapping[FrameKey, Sent]) -> None:
    """Take calls away from frames that brought nothing that is told of any call of that name and answer.

    This is for calls that nothing but the order of their results tells apart, where the results say whose they are by name: whichever
    is whose, what is told of them is what they brought, each a text of its own.

    Args:
        possible: The calls that each frame may carry.
        candidates: All calls.
        frames: The frames.
    """
    told: dict[_Alike, list[Candidate]] = defaultdict(list)
    for each in candidates:
        if each.told is not None and each.told.by_name and not each.told.by_id:
            told[_alike(each)].append(each)
    rivals: dict[_Alike, list[FrameKey]] = defaultdict(list)
    for key, calls in possible.items():
        # what was given up may have been sent again, and the other is what brought it
        for alike in {_alike(call) for call in calls if call.is_twin and not call.is_given_up(frames[key])}:
            rivals[alike].append(key)
    for alike, keys in rivals.items():
        if len(keys) > len(told[alike]) > 0:
            for key in _strangers(told[alike], [frames[key] for key in keys]):
                possible[key] = [call for call in possible[key] if _alike(call) != alike]


def belated(candidates: Sequence[Candidate], joined: Mapping[str, Sequence[Sent]]) -> Iterator[str]:
    """The calls whose frame brought nothing that they are told, but what another was that asks for the same, and has none: clocks may be off.

    Args:
        candidates: All calls.
        joined: The frames of those that have any.
    """
    told: dict[tuple[str, str | None], list[Candidate]] = defaultdict(list)
    for each in candidates:
        if each.told is not None and each.asked.key not in joined:
            told[each.asked.name, each.arguments].append(each)
    for call in candidates:
        rivals = told.get((call.asked.name, call.arguments), ()) if call.asked.key in joined else ()
        frame = joined[call.asked.key][-1] if rivals else None
        if frame is None or call.asked.wire_id in frame.ids or call.tells_itself(frame):
            continue
        if any(_may_have_brought(frame, each) for each in rivals):
            yield call.asked.key


def _may_have_brought(frame: Sent, call: Candidate) -> bool:
    """Whether a frame may have brought what a call was told, if the clocks are as far apart as they may be."""
    if call.told is None or not call.asked.at_ns - DOUBTFUL_NS <= frame.at_ns <= call.told.at_ns + DOUBTFUL_NS:
        return False
    return call.may_be_on(frame) and bool(call.tells_itself(replace(frame, within_ns=DOUBTFUL_NS)))


def _alike(call: Candidate) -> _Alike:
    return (*call.answer, call.asked.name)


def _strangers(calls: Sequence[Candidate], frames: Sequence[Sent]) -> Iterator[FrameKey]:
    """The frames that brought nothing of what is told but what others, as many as it is told of, brought without a doubt."""
    often = Counter(call.told.text for call in calls if call.told is not None)
    grades = {
        frame.key: {call.told.text: call.tells_itself(frame) for call in calls if call.told is not None}
        for frame in frames
    }
    takers: dict[str, set[FrameKey]] = {}
    for text, count in often.items():
        best = max(grade[text] or OTHER for grade in grades.values())
        found = {key for key, grade in grades.items() if grade[text] == best > OTHER}
        if len(found) == count and all(_is_only(grades[key], text) for key in found):
            takers[text] = found
    for key, grade in grades.items():
        open_ones = [text for text, each in grade.items() if each != OTHER and key in takers.get(text, {key})]
        if not open_ones:
            yield key


def _is_only(grades: Mapping[str, int | None], text: str) -> bool:
    """Whether nothing else is told as well of what a frame brought."""
    return all((grade or OTHER) < (grades[text] or OTHER) for other, grade in grades.items() if other != text)
