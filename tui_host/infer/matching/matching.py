"""Match frames with calls; doubtful frames stay unmatched.

A frame may carry a call if the call's name may stand for the frame's tool, the arguments are equivalent, the frame was sent
after the call was made and before the conversation continued, and the call's result may repeat the frame's answer. Where
several pairs are possible, only a pair without alternatives is taken. A call id in the frame decides at once. The order of
sending counts only for hosts that have shown that they send calls in the order of the answer.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Container, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from tui_host.infer.call_values import Carried, FrameKey, Line, Sent
from tui_host.infer.matching.candidates import Candidate, Possible, with_twins
from tui_host.infer.matching.competition import Competition, Doubts, competing
from tui_host.infer.matching.possible_pairs import PossiblePairs
from tui_host.infer.matching.result_places import placed
from tui_host.infer.matching.retries import Tries, carried
from tui_host.infer.matching.send_order import Orders, crossing
from tui_host.infer.matching.shared_servers import Connection, SharedServers
from tui_host.infer.same_result import BEGINNING, OTHER
from tui_host.infer.tool_aliases import meant, tools_named


@dataclass(frozen=True, slots=True, kw_only=True)
class Matched:
    """The outcome of matching.

    Attributes:
        frames: The frames of each matched call, by the call's key; several if the host sent the call again.
        told: Calls whose result stands in another place than the order suggests, with the call of that place; None if
            doubtful.
        told_otherwise: Calls whose result differs from their frames' answer.
        doubtful: The possible calls of frames without a certain call.
    """

    frames: Mapping[str, tuple[Sent, ...]]
    told: Mapping[str, str | None]
    told_otherwise: AbstractSet[str]
    doubtful: Mapping[FrameKey, Sequence[str]]


def match(candidates: Sequence[Candidate], frames: Sequence[Sent], connections: Sequence[Connection]) -> Matched:
    """Find the frames of each call.

    Args:
        candidates: The calls.
        frames: The frames.
        connections: All connections to servers.
    """
    candidates = with_twins(candidates)
    named = _by_id(candidates, frames)
    used = {frame.key for sent in named.values() for frame in sent}
    # where some frames contain call ids, other frames' ids are of calls that were not captured
    naming = {frame.line for sent in named.values() for frame in sent}
    left = [frame for frame in frames if frame.key not in used and not (frame.ids and frame.line in naming)]
    waiting = [candidate for candidate in candidates if candidate.asked.key not in named]
    pairs = PossiblePairs.on_one_clock(waiting, left)
    possible = pairs.possible()
    on_clock = {frame.key: frame for frame in pairs.frames}
    _leave_out_edited(possible, pairs.refused, waiting, on_clock)
    unasked = _unasked(waiting, pairs.frames, possible)
    shared = SharedServers(connections, on_clock, (frame for sent in named.values() for frame in sent))
    shared.learn(candidates, named)
    joined, _ = _competed(shared.certain(possible), pairs, unasked, candidates, named)
    shared.learn(candidates, joined)
    joined, as_asked = _competed(shared.certain(possible), pairs, unasked, candidates, named)
    for call in crossing(candidates, joined):
        del joined[call]
    told_elsewhere, refuted = placed(candidates, joined, as_asked)
    joined = {key: sent for key, sent in joined.items() if key not in refuted}
    otherwise = _told_otherwise(pairs, possible, joined, shared, waiting)
    told_elsewhere |= {call.asked.key: None for call, _ in otherwise if call.places is not None}
    joined |= {call.asked.key: frame.frames for call, frame in otherwise}
    as_sent = {frame.key: frame for frame in frames}
    frames_by_call = {key: tuple(as_sent[frame.key] for frame in sent) for key, sent in joined.items()}
    carrying = {frame.key for sent in frames_by_call.values() for frame in sent}
    rivals = {
        key: [
            candidate.asked.key
            for candidate in _rivals(calls, pairs.refused[key])
            if candidate.asked.key not in frames_by_call
        ]
        for key, calls in possible.items()
        if key not in carrying
    }
    return Matched(
        frames=frames_by_call,
        told=told_elsewhere,
        told_otherwise={call.asked.key for call, _ in otherwise},
        doubtful={key: calls for key, calls in rivals.items() if calls},
    )


def _unasked(candidates: Iterable[Candidate], frames: Iterable[Sent], calls: Possible) -> set[tuple[str, str]]:
    """Return server and name of the tools that somebody calls without a captured model asking."""
    asking = set[frozenset[Line] | None](candidate.connections for candidate in candidates)
    return {
        (frame.server, frame.tool)
        for frame in frames
        if not calls[frame.key] and any(lines is None or frame.line in lines for lines in asking)
    }


def _rivals(calls: list[Candidate], refused: Iterable[Candidate]) -> list[Candidate]:
    """Return the calls that a frame may carry; if none, the refused calls that were not denied."""
    return calls or [call for call in refused if not call.was_denied]


def _told_otherwise(
    pairs: PossiblePairs,
    possible: Possible,
    joined: Mapping[str, Sequence[Sent]],
    shared: SharedServers,
    waiting: Sequence[Candidate],
) -> list[tuple[Candidate, Carried]]:
    """Pair each remaining call with the only remaining frame, although the result differs.

    Left out are frames that another host may have sent, and calls made before, whose result the host may have kept.
    """
    all_calls = {key: _rivals(calls, pairs.refused[key]) for key, calls in possible.items()}
    unasked = _unasked(waiting, pairs.frames, all_calls)
    carrying = {frame.key for sent in joined.values() for frame in sent}
    left = {
        frame.key: [call for call in (*possible[frame.key], *pairs.refused[frame.key]) if call.asked.key not in joined]
        for frame in pairs.frames
        if frame.key not in carrying
    }
    frames = list(carried(left, [frame for frame in pairs.frames if frame.key in left], left))
    often = Counter(call.asked.key for frame in frames for call in left[frame.key])
    return [
        (call, frame)
        for frame in frames
        for call in left[frame.key]
        if len(left[frame.key]) == often[call.asked.key] == 1
        and call in pairs.refused[frame.key]
        and call.may_be_reported_differently(frame.last)
        and (frame.last.server, frame.last.tool) not in unasked
        and frame.last.capture in pairs.timed
        and shared.is_own(call, frame.last)
        and not pairs.is_repeated(call)
    ]


def _leave_out_edited(
    possible: Possible, refused: Possible, candidates: Iterable[Candidate], frames: Mapping[FrameKey, Sent]
) -> None:
    """Remove calls from frames whose answer belongs to a call with edited arguments.

    A person may have edited the arguments of a call so that they equal those of another call in the same answer.
    """
    sent = {call.asked.key for calls in possible.values() for call in calls}
    unsent: dict[tuple[str, str], list[Candidate]] = defaultdict(list)
    for candidate in candidates:
        if candidate.told is not None and candidate.told.by_id and candidate.asked.key not in sent:
            unsent[candidate.answer].append(candidate)
    for key, frame in frames.items() if unsent else ():
        edited = {
            rival.answer
            for answer in {call.answer for call in (*possible[key], *refused[key])}
            for rival in unsent.get(answer, ())
            if rival not in refused[key]
            and (frame.server, frame.tool) in rival.tools
            and (rival.own_grade(frame) or OTHER) >= BEGINNING
        }
        for calls in (possible, refused):
            calls[key] = [call for call in calls[key] if call.answer not in edited or call.own_grade(frame)]


def _competed(
    possible: Possible,
    pairs: PossiblePairs,
    unasked: Container[tuple[str, str]],
    candidates: Sequence[Candidate],
    certain: Mapping[str, tuple[Sent, ...]],
) -> tuple[dict[str, tuple[Sent, ...]], set[str]]:
    """Return the certain pairs, and the calls whose results stand in the order of the calls."""
    joined = dict(certain)
    sent = {call.asked.key for calls in possible.values() for call in calls}.union(certain)
    unclear = {call.alike for call in candidates if _is_told_unsent(call) and call.asked.key not in sent}
    otherwise = {
        frame.key
        for frame in pairs.frames
        if any(
            call.may_be_reported_differently(frame)
            for call in pairs.refused[frame.key]
            if call.asked.key not in certain
        )
    }
    sendable = {key: _rivals(calls, pairs.refused[key]) for key, calls in possible.items()}
    whole = list(carried(possible, pairs.frames, sendable))
    tries = Tries(whole, sendable)
    doubts = Doubts(tries=tries, unasked=unasked, unclear=unclear, otherwise=otherwise, timed=pairs.timed)
    groups = [Competition(members, calls, possible, doubts) for members, calls in competing(whole, possible)]
    for group in groups:
        joined.update(group.joined())
    orders, size = Orders(candidates, joined), -1
    while size < len(joined):
        if size >= 0:
            orders.know(candidates, joined)  # learn which connections are of one host
        size = len(joined)
        for group in filter(Competition.is_open, groups):
            joined.update(group.joined(orders))
    return joined, {key for group in groups for key in group.as_asked}


def _is_told_unsent(call: Candidate) -> bool:
    """Return whether a call has a result that is neither failure nor denial."""
    return not (call.may_have_failed or call.was_denied)


def _by_id(candidates: Sequence[Candidate], frames: Sequence[Sent]) -> dict[str, tuple[Sent, ...]]:
    """Match frames that contain the model's call id, and the call's arguments or tool."""
    owners: dict[str, list[Candidate]] = defaultdict(list)
    for candidate in candidates:
        if candidate.asked.wire_id:
            owners[candidate.asked.wire_id].append(candidate)
    joined: dict[str, tuple[Sent, ...]] = {}
    for frame in frames:
        namesakes = [owner for identity in frame.ids for owner in owners.get(identity, ())]
        if len(namesakes) == 1 and _says_the_same(namesakes[0], frame):
            key = namesakes[0].asked.key
            joined[key] = (*joined.get(key, ()), frame)
    return joined


def _says_the_same(call: Candidate, frame: Sent) -> bool:
    """Return whether a frame has a call's arguments or a tool that the call's name may stand for."""
    name, arguments = meant(call.asked)
    return arguments == frame.arguments or bool(tools_named(name, [(frame.server, frame.tool)]))
