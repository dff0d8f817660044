"""Calls whose arguments a person changed before they were sent, so that they equal those of another call of the same answer."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from tui_host.infer.call_values import FrameKey, Sent
from tui_host.infer.matching.candidates import Candidate
from tui_host.infer.matching.rivals import Possible
from tui_host.infer.same_result import BEGINNING, OTHER, WHOLE


def with_edited(
    possible: Possible, refused: Possible, candidates: Sequence[Candidate], frames: Mapping[FrameKey, Sent]
) -> None:
    """Give frames to the call that is told word for word what they brought, in place of one of its answer that a person denied.

    This is for calls whose results say by ids whose they are, where nothing was sent with the arguments that the model wrote. Where the
    other is told something else that is no denial, neither has the frame: its host may say in words of its own that nothing is new, and
    of the one call what it knew before.

    Args:
        possible: The calls that each frame may carry.
        refused: Those that it would but for what is told of them.
        candidates: All calls.
        frames: The frames.
    """
    sent = {call.asked.key for calls in possible.values() for call in calls}
    not_sent: dict[tuple[str, str], list[Candidate]] = defaultdict(list)
    for each in candidates:
        if each.told is not None and each.told.by_id and each.asked.key not in sent:
            not_sent[each.answer].append(each)
    for key, calls in possible.items() if not_sent else ():
        frame = frames[key]
        alike: dict[tuple[str, str], list[Candidate]] = defaultdict(list)
        for call in (*calls, *refused[key]):
            if call.answer in not_sent:
                alike[call.answer].append(call)
        for answer, same in alike.items():
            edited = list(_edited(not_sent[answer], frame))
            if not edited:
                continue
            others = [call for call in same if _is_told_else(call, frame)]
            possible[key] = [call for call in possible[key] if call not in others]
            if len(others) == len(same) and all(call.was_denied for call in others):
                possible[key] += edited


def _is_told_else(call: Candidate, frame: Sent) -> bool:
    """Whether nothing that a model was told for sure of a call is what a frame brought."""
    return call.told is not None and call.told.by_id and (call.tells_itself(frame) or OTHER) < BEGINNING


def _edited(calls: Sequence[Candidate], frame: Sent) -> Iterator[Candidate]:
    """Those of which the model was told what a frame brought."""
    for each in calls:
        if (frame.server, frame.tool) in each.tools and (each.tells_itself(frame) or OTHER) >= WHOLE:
            yield each
