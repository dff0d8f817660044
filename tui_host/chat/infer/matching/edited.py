"""Calls whose arguments a person changed before they were sent, so that they equal those of another call of the same answer."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from tui_host.chat.infer.matching.candidates import Candidate
from tui_host.chat.infer.matching.groups import Possible
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
    of_answer: dict[tuple[str, str], list[Candidate]] = defaultdict(list)
    for each in candidates:
        if each.told is not None and each.told.by_id:
            of_answer[each.answer].append(each)
    sent = {call.asked.key for calls in possible.values() for call in calls}
    for key, calls in possible.items():
        edited: dict[str, Candidate] = {}
        for call in (*calls, *refused[key]):
            own = [each for each in of_answer.get(call.answer, ()) if each.asked.key not in sent]
            found = list(_edited(call, own, frames[key])) if own else []
            edited.update((each.asked.key, each) for each in found)
            if found and call in calls:
                calls.remove(call)
        calls.extend(edited.values())


def _edited(call: Candidate, others: Sequence[Candidate], frame: Sent) -> Iterator[Candidate]:
    """Those of which the model was told what a frame brought, if it was told something else of a call."""
    if call.told is None or not call.told.by_id or (call.tells_itself(frame) or OTHER) >= WHOLE:
        return
    for each in others:
        if (frame.server, frame.tool) in each.tools and (each.tells_itself(frame) or OTHER) >= WHOLE:
            yield each
