"""Which frame carries which call. What is doubtful is joined to nothing.

A frame may carry a call if its name may stand for the frame's tool, the arguments may be sent for each other, it was sent after the
call was asked for and before the conversation went on, and what the model was told of the call may be what the server answered.
Where several are possible on either side, only what leaves no other reading is taken. A host that sends the model's id of the call
along leaves none. The order in which calls were sent tells only of a host that has shown that it sends them as the answer has them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from tui_host.infer.call_values import FrameKey, Line, Sent
from tui_host.infer.matching.again import carried
from tui_host.infer.matching.candidates import Candidate, with_twins
from tui_host.infer.matching.clients import Clients
from tui_host.infer.matching.courses import Courses, crossing
from tui_host.infer.matching.edited import with_edited
from tui_host.infer.matching.elsewhere import without_elsewhere
from tui_host.infer.matching.field import Field
from tui_host.infer.matching.groups import Group, groups
from tui_host.infer.matching.places import placed
from tui_host.infer.matching.rivals import Possible
from tui_host.infer.matching.send_order import Orders
from tui_host.infer.matching.taken import belated, without_taken
from tui_host.infer.tool_aliases import meant, tools_named


@dataclass(frozen=True, slots=True, kw_only=True)
class Matched:
    """What was found.

    Attributes:
        frames: The frames of each call that has any, by the call's key; several where it was sent again because no answer came.
        told: Calls whose result does not stand where it would by the order alone: the call in whose place it stands, None if
            that is doubtful.
        doubtful: The frames that one of these calls may have carried, where nothing tells which.
    """

    frames: Mapping[str, tuple[Sent, ...]]
    told: Mapping[str, str | None]
    doubtful: Mapping[FrameKey, Sequence[str]]


def match(candidates: Sequence[Candidate], frames: Sequence[Sent], clients: Clients) -> Matched:
    """The frames of each call.

    Args:
        candidates: The calls.
        frames: The frames.
        clients: Who sent these, as far as that is known.
    """
    candidates = with_twins(candidates)
    joined = _by_id(candidates, frames)
    used = {frame.key for sent in joined.values() for frame in sent}
    # where some frames name their calls, others name calls that nobody saw asked for
    naming = {frame.line for sent in joined.values() for frame in sent}
    left = [frame for frame in frames if frame.key not in used and not (frame.ids and frame.line in naming)]
    waiting = [each for each in candidates if each.asked.key not in joined]
    field = Field.on_one_clock(waiting, left)
    possible = field.possible()
    asking = set[frozenset[Line] | None]({each.connections for each in waiting})
    unasked = {
        (frame.server, frame.tool)
        for frame in field.frames
        if not possible[frame.key] and any(lines is None or frame.line in lines for lines in asking)
    }
    on_clock = {frame.key: frame for frame in field.frames}
    with_edited(possible, field.refused, waiting, on_clock)
    without_taken(possible, waiting, on_clock)
    sure = possible
    if clients.are_several:
        clients.learn(candidates, joined)
        first, _ = _competed(clients.known(possible, on_clock), field.frames, unasked, candidates, joined)
        clients.learn(candidates, first)
        possible = clients.without_others(possible, on_clock)
        sure = clients.known(possible, on_clock)
    named = joined
    joined, as_asked = _competed(sure, field.frames, unasked, candidates, named)
    kept = without_elsewhere(sure, candidates, joined, on_clock)
    if kept != sure:  # what is certain is so whether conversations keep to their connections or not
        held, _ = _competed(kept, field.frames, unasked, candidates, named)
        joined = {key: sent for key, sent in joined.items() if held.get(key) == sent}
    for key in {*belated(waiting, joined), *crossing(candidates, joined)}:
        del joined[key]
    told, refuted = placed(candidates, joined, as_asked)
    as_sent = {frame.key: frame for frame in frames}
    found = {key: tuple(as_sent[frame.key] for frame in sent) for key, sent in joined.items() if key not in refuted}
    carrying = {frame.key for sent in found.values() for frame in sent}
    open_ones = {
        key: [*calls, *(() if calls else _told_otherwise(field.refused[key]))]
        for key, calls in possible.items()
        if key not in carrying
    }
    rivals = {
        key: [each.asked.key for each in calls if each.asked.key not in found] for key, calls in open_ones.items()
    }
    return Matched(frames=found, told=told, doubtful={key: calls for key, calls in rivals.items() if calls})


def _told_otherwise(calls: Iterable[Candidate]) -> Iterator[Candidate]:
    """Those of which a host may tell something else than what came, in words of its own: by all else they carry a frame."""
    return (call for call in calls if not call.was_denied)


def _competed(
    possible: Possible,
    frames: Sequence[Sent],
    unasked: Container[tuple[str, str]],
    candidates: Sequence[Candidate],
    known: Mapping[str, tuple[Sent, ...]],
) -> tuple[dict[str, tuple[Sent, ...]], set[str]]:
    """What is certain of calls and frames that compete, with what is known; and the calls whose results stand as they were asked for."""
    joined = dict(known)
    courses = Courses(frames, possible)
    sent = {call.asked.key for calls in possible.values() for call in calls}.union(known)
    unclear = {call.alike for call in candidates if _is_told_unsent(call) and call.asked.key not in sent}
    competing = [
        Group(members, calls, possible, courses, unasked, unclear)
        for members, calls in groups(list(carried(possible, frames)), possible)
    ]
    for group in competing:
        joined.update(group.joined())
    orders, size = Orders(candidates, joined), -1
    while size < len(joined):
        if size >= 0:
            orders.know(candidates, joined)  # which connections are of one host
        size = len(joined)
        for group in filter(Group.is_open, competing):
            joined.update(group.joined(orders))
    return joined, {key for group in competing for key in group.as_asked}


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
