"""Which frame carries which call. What is doubtful is joined to nothing.

A frame may carry a call if its name may stand for the frame's tool, the arguments may be sent for each other, it was sent after the
call was asked for and before the conversation went on, and what the model was told of the call may be what the server answered.
Where several are possible on either side, only what leaves no other reading is taken. A host that sends the model's id of the call
along leaves none. The order in which calls were sent tells only of a host that has shown that it sends them as the answer has them.
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
    """What was found.

    Attributes:
        frames: The frames of each call that has any, by the call's key; several where it was sent again because no answer came.
        told: Calls whose result does not stand where it would by the order alone: the call in whose place it stands, None if
            that is doubtful.
        told_otherwise: Calls of which the model is told something else than what their frames brought.
        doubtful: The frames that one of these calls may have carried, where nothing tells which.
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
    # where some frames name their calls, others name calls that nobody saw asked for
    naming = {frame.line for sent in named.values() for frame in sent}
    left = [frame for frame in frames if frame.key not in used and not (frame.ids and frame.line in naming)]
    waiting = [each for each in candidates if each.asked.key not in named]
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
    told, refuted = placed(candidates, joined, as_asked)
    joined = {key: sent for key, sent in joined.items() if key not in refuted}
    otherwise = _told_otherwise(pairs, possible, joined, shared, waiting)
    told |= {call.asked.key: None for call, _ in otherwise if call.places is not None}
    joined |= {call.asked.key: each.frames for call, each in otherwise}
    as_sent = {frame.key: frame for frame in frames}
    found = {key: tuple(as_sent[frame.key] for frame in sent) for key, sent in joined.items()}
    carrying = {frame.key for sent in found.values() for frame in sent}
    rivals = {
        key: [each.asked.key for each in _rivals(calls, pairs.refused[key]) if each.asked.key not in found]
        for key, calls in possible.items()
        if key not in carrying
    }
    return Matched(
        frames=found,
        told=told,
        told_otherwise={call.asked.key for call, _ in otherwise},
        doubtful={key: calls for key, calls in rivals.items() if calls},
    )


def _unasked(candidates: Iterable[Candidate], frames: Iterable[Sent], calls: Possible) -> set[tuple[str, str]]:
    """Server and name of the tools of which a frame carries no call of any host whose model was seen."""
    asking = set[frozenset[Line] | None](each.connections for each in candidates)
    return {
        (frame.server, frame.tool)
        for frame in frames
        if not calls[frame.key] and any(lines is None or frame.line in lines for lines in asking)
    }


def _rivals(calls: list[Candidate], refused: Iterable[Candidate]) -> list[Candidate]:
    """The calls that a frame may carry; where there are none, those of which a host may tell something else than what came."""
    return calls or [call for call in refused if not call.was_denied]


def _told_otherwise(
    pairs: PossiblePairs,
    possible: Possible,
    joined: Mapping[str, Sequence[Sent]],
    shared: SharedServers,
    waiting: Sequence[Candidate],
) -> list[tuple[Candidate, Carried]]:
    """The calls of which a host tells something else than what came: where one call and one frame are left for each other.

    Not where another host may have sent the frame, or the host may have kept what came to the same call before.
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
    often = Counter(call.asked.key for each in frames for call in left[each.key])
    return [
        (call, each)
        for each in frames
        for call in left[each.key]
        if len(left[each.key]) == often[call.asked.key] == 1
        and call in pairs.refused[each.key]
        and call.may_be_told_otherwise(each.last)
        and (each.last.server, each.last.tool) not in unasked
        and each.last.capture in pairs.timed
        and shared.is_own(call, each.last)
        and not pairs.is_repeated(call)
    ]


def _leave_out_edited(
    possible: Possible, refused: Possible, candidates: Iterable[Candidate], frames: Mapping[FrameKey, Sent]
) -> None:
    """Take calls from frames that brought what another call of their answer is told, whose own arguments were not sent.

    A person may have changed these, so that they equal those of the first.
    """
    sent = {call.asked.key for calls in possible.values() for call in calls}
    unsent: dict[tuple[str, str], list[Candidate]] = defaultdict(list)
    for each in candidates:
        if each.told is not None and each.told.by_id and each.asked.key not in sent:
            unsent[each.answer].append(each)
    for key, frame in frames.items() if unsent else ():
        edited = {
            other.answer
            for answer in {call.answer for call in (*possible[key], *refused[key])}
            for other in unsent.get(answer, ())
            if other not in refused[key]
            and (frame.server, frame.tool) in other.tools
            and (other.tells_itself(frame) or OTHER) >= BEGINNING
        }
        for calls in (possible, refused):
            calls[key] = [call for call in calls[key] if call.answer not in edited or call.tells_itself(frame)]


def _competed(
    possible: Possible,
    pairs: PossiblePairs,
    unasked: Container[tuple[str, str]],
    candidates: Sequence[Candidate],
    known: Mapping[str, tuple[Sent, ...]],
) -> tuple[dict[str, tuple[Sent, ...]], set[str]]:
    """What is certain of calls and frames that compete, with what is known; and the calls whose results stand as they were asked for."""
    joined = dict(known)
    sent = {call.asked.key for calls in possible.values() for call in calls}.union(known)
    unclear = {call.alike for call in candidates if _is_told_unsent(call) and call.asked.key not in sent}
    otherwise = {
        frame.key
        for frame in pairs.frames
        if any(call.may_be_told_otherwise(frame) for call in pairs.refused[frame.key] if call.asked.key not in known)
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
            orders.know(candidates, joined)  # which connections are of one host
        size = len(joined)
        for group in filter(Competition.is_open, groups):
            joined.update(group.joined(orders))
    return joined, {key for group in groups for key in group.as_asked}


def _is_told_unsent(call: Candidate) -> bool:
    """Whether a call of which no frame is known was told something, and not that it failed, or was denied."""
    return not (call.may_have_failed or call.was_denied)


def _by_id(candidates: Sequence[Candidate], frames: Sequence[Sent]) -> dict[str, tuple[Sent, ...]]:
    """What hosts say themselves: the model's id of the call stands in the frame, which has its arguments, or its tool's name."""
    owners: dict[str, list[Candidate]] = defaultdict(list)
    for each in candidates:
        if each.asked.wire_id:
            owners[each.asked.wire_id].append(each)
    joined: dict[str, tuple[Sent, ...]] = {}
    for frame in frames:
        found = [each for identity in frame.ids for each in owners.get(identity, ())]
        if len(found) == 1 and _says_the_same(found[0], frame):
            key = found[0].asked.key
            joined[key] = (*joined.get(key, ()), frame)
    return joined


def _says_the_same(call: Candidate, frame: Sent) -> bool:
    """Whether a frame has a call's arguments, or its tool a name for which the call's may stand."""
    name, arguments = meant(call.asked)
    return arguments == frame.arguments or bool(tools_named(name, [(frame.server, frame.tool)]))
