"""Find the pairs in every largest assignment of frames to calls.

A matched pair is in every largest matching if no alternating path from a free vertex, and no alternating cycle, goes through
the pair (C. Berge, 1957).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import TypeAlias

from tui_host.infer.call_values import FrameKey

Edges: TypeAlias = Mapping[FrameKey, Sequence[str]]
"""The keys of the calls that each frame may carry."""


def necessary_pairs(edges: Edges) -> dict[FrameKey, str]:
    """Return the frames with their calls that are pairs in every largest assignment."""
    matched = largest_matching(edges)
    frames_by_call = {call: frame for frame, call in matched.items()}
    callers: dict[str, list[FrameKey]] = {}
    for frame, calls in edges.items():
        for call in calls:
            callers.setdefault(call, []).append(frame)
    # a free frame may displace a matched frame, and a free call may displace a matched call, along a path
    after = {
        frame: [frames_by_call[call] for call in calls if call in frames_by_call and frames_by_call[call] != frame]
        for frame, calls in edges.items()
    }
    before = {frame: [rival for rival in callers[call] if rival != frame] for frame, call in matched.items()}
    replaced = _reached([frame for frame in edges if frame not in matched], after)
    free_calls = [call for call in callers if call not in frames_by_call]
    replaced |= _reached({frame for call in free_calls for frame in callers[call]}, before)
    exchanged = _on_cycles({frame: after[frame] for frame in matched})
    return {frame: call for frame, call in matched.items() if frame not in replaced and frame not in exchanged}


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
        holder = frame_of.get(call)
        if holder is None:
            for (taker, _), own in zip(path, taken, strict=True):
                call_of[taker], frame_of[own] = own, taker
            return True
        path.append((holder, iter(edges[holder])))
    return False


def _reached(
    first: Iterable[FrameKey], after: Mapping[FrameKey, Sequence[FrameKey]], passed: AbstractSet[FrameKey] = frozenset()
) -> set[FrameKey]:
    """Return the frames reachable from the first frames, without the passed frames."""
    reached = set(first)
    waiting = list(reached)
    while waiting:
        for next_frame in after.get(waiting.pop(), ()):
            if next_frame not in reached and next_frame not in passed:
                reached.add(next_frame)
                waiting.append(next_frame)
    return reached


def _on_cycles(after: Mapping[FrameKey, Sequence[FrameKey]]) -> set[FrameKey]:
    """Return the frames on cycles, from strongly connected components (Kosaraju)."""
    order: list[FrameKey] = []
    seen = set[FrameKey]()
    for first in after:
        waiting = [(first, iter(after[first]))] if first not in seen else []
        seen.add(first)
        while waiting:
            frame, left = waiting[-1]
            next_frame = next((follower for follower in left if follower in after and follower not in seen), None)
            if next_frame is None:
                order.append(waiting.pop()[0])
            else:
                seen.add(next_frame)
                waiting.append((next_frame, iter(after[next_frame])))
    before: dict[FrameKey, list[FrameKey]] = {frame: [] for frame in after}
    for frame, next_frames in after.items():
        for next_frame in next_frames:
            if next_frame in before:
                before[next_frame].append(frame)
    on_cycles, passed = set[FrameKey](), set[FrameKey]()
    for frame in reversed(order):
        if frame not in passed:
            component = _reached([frame], before, passed)
            passed |= component
            on_cycles |= component if len(component) > 1 else set()
    return on_cycles
