"""Calls whose arguments a person changed before they were sent, so that they equal those of another call of the same answer."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from tui_host.chat.infer.matching.candidates import Candidate
from tui_host.chat.infer.matching.rivals import Possible
from tui_host.chat.infer.telltale import OTHER, WHOLE
from tui_host.chat.infer.values import FrameKey, Sent


def with_edited(
    possible: Possible, refused: Possible, candidates: Sequence[Candidate], frames: Mapping[FrameKey, Sent]
) -> None:
    """Give frames to the call that is told word for word what they brought, in place of one of its answer that is told something else.

    This is for calls whose results say by ids whose they are, where nothing was sent with the arguments that the model wrote.

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
        others = [call for call in (*calls, *refused[key]) if call.answer in not_sent and _is_told_else(call, frame)]
        edited = {answer: list(_edited(not_sent[answer], frame)) for answer in {call.answer: None for call in others}}
        wrong = {call.asked.key for call in others if edited[call.answer]}
        possible[key] = [call for call in calls if call.asked.key not in wrong]
        possible[key] += (each for found in edited.values() for each in found)


def _is_told_else(call: Candidate, frame: Sent) -> bool:
    """Whether a model was told for sure of a call, and something else than a frame brought."""
    return call.told is not None and call.told.by_id and (call.tells_itself(frame) or OTHER) < WHOLE


def _edited(calls: Sequence[Candidate], frame: Sent) -> Iterator[Candidate]:
    """Those of which the model was told what a frame brought."""
    for each in calls:
        if (frame.server, frame.tool) in each.tools and (each.tells_itself(frame) or OTHER) >= WHOLE:
            yield each
