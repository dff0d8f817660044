"""Which pairs stand in every largest assignment of frames to calls: Hopcroft and Karp's matching, and what no other matching can do without.

Source: J. Hopcroft, R. Karp, "An n^(5/2) algorithm for maximum matchings in bipartite graphs" (1973); a matched pair is in every
largest matching if no alternating path from a free vertex, and no alternating cycle, goes through it (C. Berge, 1957).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import TypeAlias

from tui_host.infer.call_values import FrameKey

Edges: TypeAlias = Mapping[FrameKey, Sequence[str]]
"""The keys of the calls that each frame may carry."""


def necessary_pairs(edges: Edges) -> dict[FrameKey, str]:
    """Return the call of each frame that has the same call in every assignment that joins as many as possible."""
    matched = largest_matching(edges)
    frames_by_call = {call: frame for frame, call in matched.items()}
    callers: dict[str, list[FrameKey]] = {}
    for frame, calls in edges.items():
        for call in calls:
            callers.setdefault(call, []).append(frame)
    # a free frame may take a call, whose frame takes another; a free call may take a frame, whose call takes another
    after = {
        frame: [frames_by_call[call] for call in calls if call in frames_by_call and frames_by_call[call] != frame]
        for frame, calls in edges.items()
    }
    before = {frame: [other for other in callers[call] if other != frame] for frame, call in matched.items()}
    replaced = _reached([frame for frame in edges if frame not in matched], after)
    free_calls = [call for call in callers if call not in frames_by_call]
    replaced |= _reached({frame for call in free_calls for frame in callers[call]}, before)
    exchanged = _on_cycles({frame: after[frame] for frame in matched})
    return {frame: call for frame, call in matched.items() if frame not in replaced and frame not in exchanged}


def largest_matching(edges: Edges) -> dict[FrameKey, str]:
    """Return one assignment that gives as many frames as possible a call of their own."""
    call_of: dict[FrameKey, str] = {}
    frame_of: dict[str, FrameKey] = {}
    while True:
        levels = _levels(edges, call_of, frame_of)
        left = {frame: iter(calls) for frame, calls in edges.items()}
        found = [frame for frame in edges if frame not in call_of and _augment(frame, left, levels, call_of, frame_of)]
        if not found:
            return call_of


def _levels(edges: Edges, call_of: Mapping[FrameKey, str], frame_of: Mapping[str, FrameKey]) -> dict[FrameKey, int]:
    """How many exchanges lead from a frame without a call to each frame."""
    levels = {frame: 0 for frame in edges if frame not in call_of}
    waiting = deque(levels)
    while waiting:
        frame = waiting.popleft()
        for call in edges[frame]:
            other = frame_of.get(call)
            if other is not None and other not in levels:
                levels[other] = levels[frame] + 1
                waiting.append(other)
    return levels


def _augment(
    first: FrameKey,
    left: Mapping[FrameKey, Iterator[str]],
    levels: Mapping[FrameKey, int],
    call_of: dict[FrameKey, str],
    frame_of: dict[str, FrameKey],
) -> bool:
    """Give a frame a call, and those whose calls are taken others; false if that cannot be done."""
    path: list[tuple[FrameKey, str]] = []
    frame = first
    while True:
        for call in left[frame]:
            other = frame_of.get(call)
            if other is None:
                for each, taken in (*path, (frame, call)):
                    call_of[each], frame_of[taken] = taken, each
                return True
            if levels.get(other, -1) == levels[frame] + 1:
                path.append((frame, call))
                frame = other
                break
        else:
            if not path:
                return False
            frame, _ = path.pop()


def _reached(
    first: Iterable[FrameKey], after: Mapping[FrameKey, Sequence[FrameKey]], passed: AbstractSet[FrameKey] = frozenset()
) -> set[FrameKey]:
    """The frames to which steps lead from the first ones, these among them, but for those that were passed before."""
    reached = set(first)
    waiting = list(reached)
    while waiting:
        for other in after.get(waiting.pop(), ()):
            if other not in reached and other not in passed:
                reached.add(other)
                waiting.append(other)
    return reached


def _on_cycles(after: Mapping[FrameKey, Sequence[FrameKey]]) -> set[FrameKey]:
    """The frames from which steps lead back to them: those in a strongly connected component of several (Kosaraju)."""
    order: list[FrameKey] = []
    seen = set[FrameKey]()
    for first in after:
        waiting = [(first, iter(after[first]))] if first not in seen else []
        seen.add(first)
        while waiting:
            frame, left = waiting[-1]
            other = next((each for each in left if each in after and each not in seen), None)
            if other is None:
                order.append(waiting.pop()[0])
            else:
                seen.add(other)
                waiting.append((other, iter(after[other])))
    before: dict[FrameKey, list[FrameKey]] = {frame: [] for frame in after}
    for frame, others in after.items():
        for other in others:
            if other in before:
                before[other].append(frame)
    on_cycles, passed = set[FrameKey](), set[FrameKey]()
    for frame in reversed(order):
        if frame not in passed:
            component = _reached([frame], before, passed)
            passed |= component
            on_cycles |= component if len(component) > 1 else set()
    return on_cycles
