"""Find the pairs in every largest assignment of frames to calls.

A matched pair is in every largest matching if no alternating path from a free vertex, and no alternating cycle, goes through
the pair (C. Berge, 1957).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

from tui_host.infer.call_values import FrameKey

Edges: TypeAlias = Mapping[FrameKey, Sequence[str]]
"""The keys of the calls that each frame may carry."""
_Steps: TypeAlias = Mapping[FrameKey, Sequence[FrameKey]]


def necessary_pairs(edges: Edges) -> dict[FrameKey, str]:
    """Return frames with their calls that are pairs in every largest assignment."""
    matched = largest_matching(edges)
    holders = {call: frame for frame, call in matched.items()}
    after: dict[FrameKey, list[FrameKey]] = defaultdict(list)  # the frames whose calls a frame could take
    before: dict[FrameKey, list[FrameKey]] = defaultdict(list)
    movable: list[FrameKey] = []  # the matched frames that could have a free call
    for frame, calls in edges.items():
        for call in calls:
            if call not in holders:
                movable.append(frame)
            elif holders[call] != frame:
                after[frame].append(holders[call])
                before[holders[call]].append(frame)
    free = [frame for frame in edges if frame not in matched]
    changeable = _reached(free, after) | _reached(movable, before) | _on_cycles(after)
    return {frame: call for frame, call in matched.items() if frame not in changeable}


def largest_matching(edges: Edges) -> dict[FrameKey, str]:
    """Return one assignment of calls to frames with as many pairs as possible."""
    call_of: dict[FrameKey, str] = {}
    frame_of: dict[str, FrameKey] = {}
    is_growing = True
    while is_growing:
        tried = set[str]()  # a call from which no path went on leads nowhere until the next round
        free = [frame for frame in edges if frame not in call_of]
        is_growing = sum(_augment(frame, edges, tried, call_of, frame_of) for frame in free) > 0
    return call_of


def _augment(
    first: FrameKey, edges: Edges, tried: set[str], call_of: dict[FrameKey, str], frame_of: dict[str, FrameKey]
) -> bool:
    """Give a frame a call along an augmenting path; return False if there is no path."""
    path, taken = [(first, iter(edges[first]))], list[str]()
    while path:
        call = next((call for call in path[-1][1] if call not in tried), None)
        if call is None:
            path.pop()
            del taken[-1:]
            continue
        tried.add(call)
        taken.append(call)
        if call not in frame_of:
            for (taker, _), own in zip(path, taken, strict=True):
                call_of[taker], frame_of[own] = own, taker
            return True
        path.append((frame_of[call], iter(edges[frame_of[call]])))
    return False


def _reached(first: Iterable[FrameKey], steps: _Steps) -> set[FrameKey]:
    """Return the frames reachable from the first frames, with these."""
    reached = set(first)
    waiting = list(reached)
    while waiting:
        new = [frame for frame in steps.get(waiting.pop(), ()) if frame not in reached]
        reached.update(new)
        waiting += new
    return reached


def _on_cycles(steps: _Steps) -> set[FrameKey]:
    """Return the frames on cycles, and those on ways from one cycle to another: what is left without the ends of all ways."""
    frames, before = set(steps), set[FrameKey]()
    while frames != before:
        before = frames
        entered = {frame for start in frames for frame in steps[start]}
        frames = {frame for frame in frames & entered if not frames.isdisjoint(steps[frame])}
    return frames
