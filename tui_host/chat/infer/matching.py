"""Which frame carries which call. What is doubtful is joined to nothing.

A frame may carry a call if its name may stand for the frame's tool, the arguments may be sent for each other, it was sent after the
call was asked for and before the conversation went on, and what the model was told of the call may be what the server answered.
Where several are possible on either side, only what leaves no other reading is taken. A host that sends the model's id of the call
along leaves none. The order in which calls were sent tells only of a host that has shown that it sends them as the answer has them.
"""

from __future__ import annotations

import heapq
from collections import Counter, defaultdict
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TypeAlias

from tui_host.chat.infer.candidates import Candidate, with_twins
from tui_host.chat.infer.clients import Clients
from tui_host.chat.infer.clocks import Shift, shift_of
from tui_host.chat.infer.edited import with_edited
from tui_host.chat.infer.groups import Group, Possible, groups
from tui_host.chat.infer.names import meant, names_server, tools_named
from tui_host.chat.infer.orders import Orders
from tui_host.chat.infer.places import placed
from tui_host.chat.infer.taken import belated, without_taken
from tui_host.chat.infer.telltale import OTHER, SAME
from tui_host.chat.infer.values import Carried, FrameKey, Line, Sent, lean

_FEW = 32
"""Calls of one kind among which all are looked at to find out how far clocks are off."""
_EVER_NS = 1 << 62
"""How exact times are before it is known how far clocks are off."""
_PATIENCE_NS = 3600 * 1_000_000_000
"""So long after it was asked for may a call be sent whose conversation does not go on."""
_Kind: TypeAlias = tuple[str, str, str]
"""Server, tool, and arguments in the form that those have which may be sent for each other."""


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


def match(candidates: Sequence[Candidate], frames: Sequence[Sent], clients: Clients | None = None) -> Matched:
    """The frames of each call.

    Args:
        candidates: The calls.
        frames: The frames.
        clients: Who sent these, as far as that is known; nothing for one host's.
    """
    candidates = with_twins(candidates)
    joined = _by_id(candidates, frames)
    used = {frame.key for sent in joined.values() for frame in sent}
    # where some frames name their calls, others name calls that nobody saw asked for
    naming = {frame.line for sent in joined.values() for frame in sent}
    left = [frame for frame in frames if frame.key not in used and not (frame.ids and frame.line in naming)]
    waiting = [each for each in candidates if each.asked.key not in joined]
    field = _Field(waiting, left)
    shifts = field.shifts()
    field = _Field(waiting, [_on_clock(frame, shifts[frame.capture]) for frame in left])
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
    if clients is not None and clients.are_several:
        clients.learn(candidates, joined)
        first, _ = _competed(clients.known(possible, on_clock), field.frames, unasked, candidates, joined)
        clients.learn(candidates, first)
        possible = clients.without_others(possible, on_clock)
        sure = clients.known(possible, on_clock)
    joined, as_asked = _competed(sure, field.frames, unasked, candidates, joined)
    for key in [*belated(waiting, joined)]:
        del joined[key]
    told, refuted = placed(candidates, joined, as_asked)
    as_sent = {frame.key: frame for frame in frames}
    found = {key: tuple(as_sent[frame.key] for frame in sent) for key, sent in joined.items() if key not in refuted}
    carrying = {frame.key for sent in found.values() for frame in sent}
    open_ones = {key: [each.asked.key for each in calls] for key, calls in possible.items() if key not in carrying}
    rivals = {key: [call for call in calls if call not in found] for key, calls in open_ones.items()}
    return Matched(frames=found, told=told, doubtful={key: calls for key, calls in rivals.items() if calls})


def _competed(
    possible: Possible,
    frames: Sequence[Sent],
    unasked: Container[tuple[str, str]],
    candidates: Sequence[Candidate],
    known: Mapping[str, tuple[Sent, ...]],
) -> tuple[dict[str, tuple[Sent, ...]], set[str]]:
    """What is certain of calls and frames that compete, with what is known; and the calls whose results stand as they were asked for."""
    joined = dict(known)
    competing = [
        Group(members, calls, possible, unasked)
        for members, calls in groups(list(_carried(possible, frames)), possible)
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


def _on_clock(frame: Sent, shift: Shift) -> Sent:
    """A frame and its answer on the model's clock."""
    answer = frame.answer and replace(frame.answer, at_ns=frame.answer.at_ns + shift.ns)
    dropped = frame.dropped and (frame.dropped[0] + shift.ns, frame.dropped[1])
    at_ns, since_ns = frame.at_ns + shift.ns, frame.since_ns + shift.ns
    return replace(frame, at_ns=at_ns, since_ns=since_ns, within_ns=shift.within_ns, dropped=dropped, answer=answer)


def _by_id(candidates: Sequence[Candidate], frames: Sequence[Sent]) -> dict[str, tuple[Sent, ...]]:
    """What hosts say themselves: the model's id of the call stands in the frame."""
    owners: dict[str, list[Candidate]] = defaultdict(list)
    for each in candidates:
        if each.asked.wire_id:
            owners[each.asked.wire_id].append(each)
    joined: dict[str, tuple[Sent, ...]] = {}
    for frame in frames:
        found = [each for identity in frame.ids for each in owners.get(identity, ())]
        if len(found) == 1 and tools_named(meant(found[0].asked)[0], [(frame.server, frame.tool)]):
            key = found[0].asked.key
            joined[key] = (*joined.get(key, ()), frame)
    return joined


class _Field:
    """Calls and frames by kind.

    Attributes:
        frames: The frames in the order of time.
        refused: The calls that each frame might carry but for what is told of them, as far as was looked.
    """

    def __init__(self, candidates: Sequence[Candidate], frames: Sequence[Sent]) -> None:
        self.frames = sorted(frames, key=lambda frame: frame.at_ns)
        defaults = {(frame.server, frame.tool): frame.defaults for frame in frames}
        self._frames: dict[_Kind, list[Sent]] = defaultdict(list)
        for frame in self.frames:
            tool = (frame.server, frame.tool)
            self._frames[*tool, _lean(frame.arguments, defaults[tool])].append(frame)
        self.refused: Possible = {}
        self._calls: dict[_Kind, list[Candidate]] = defaultdict(list)
        for each in candidates:
            for tool in each.tools if each.arguments is not None else ():
                kind = (*tool, _lean(each.arguments or "", defaults.get(tool, ())))
                if kind in self._frames:
                    self._calls[kind].append(each)

    def shifts(self) -> dict[str, Shift]:
        """How far each tap's clock is off, by what can be nothing else; a tap of which too little tells is as the others are."""
        telling = {
            frame.key: list(self._telling(replace(frame, within_ns=_EVER_NS), kind))
            for kind, frames in self._frames.items()
            for frame in frames
        }
        wanted = Counter(each.asked.key for found in telling.values() for each in found)
        bounds: dict[str, list[tuple[int, int | None]]] = defaultdict(list)
        for frame in (frame for frames in self._frames.values() for frame in frames):
            found = telling[frame.key]
            if len(found) == 1 and found[0].told is not None and wanted[found[0].asked.key] == 1:
                call, last = found[0], frame.answer.at_ns if frame.answer is not None else frame.at_ns
                high = None if call.until_ns is None else call.until_ns - (frame.at_ns if frame.dropped else last)
                is_sure = call.is_told_much and call.tells(frame) == SAME
                bounds[frame.capture] += [(call.asked.at_ns - frame.at_ns, high)] * (2 if is_sure else 1)
        usual = shift_of([bound for found in bounds.values() for bound in found])
        captures = {frame.capture for frames in self._frames.values() for frame in frames}
        return {capture: shift_of(bounds[capture], usual) for capture in captures}

    def _telling(self, frame: Sent, kind: _Kind) -> Iterator[Candidate]:
        """The calls that a frame seems to carry by what it says alone; of many of its kind, those that are told just that."""
        calls = [each for each in self._calls.get(kind, ()) if each.may_be_on(frame)]
        if len(calls) > _FEW:
            texts = {text.strip() for text in frame.answer.texts} if frame.answer is not None else set[str]()
            yield from (each for each in calls if each.told is not None and each.told.text.strip() in texts)
            return
        grades = [(each, each.tells(frame)) for each in calls]
        best = [each for each, grade in grades if grade]
        if not any(each.is_told_much for each in best):
            best = [each for each, grade in grades if grade or each.told is None]  # what is told nothing may be it
        yield from best or (each for each, grade in grades if grade is None)

    def possible(self) -> Possible:
        """The calls that each frame may carry."""
        found: Possible = {}
        for kind, frames in self._frames.items():
            calls = self._calls.get(kind, [])
            for frame, alive in _in_time(calls, frames):
                own = [each for each in alive if each.may_be_on(frame)]
                able = [each for each in own if each.tells(frame) != OTHER]
                self.refused[frame.key] = [each for each in own if each not in able]
                found[frame.key] = _naming(_told(able, frame), frame)
        return found


@lru_cache(maxsize=1 << 12)
def _lean(arguments: str, defaults: tuple[tuple[str, str], ...]) -> str:
    return lean(arguments, dict(defaults))


def _in_time(calls: Sequence[Candidate], frames: Sequence[Sent]) -> Iterator[tuple[Sent, list[Candidate]]]:
    """Each frame with the calls that were asked for before it, and whose conversations had not gone on yet."""
    widest = max((frame.within_ns for frame in frames), default=0)
    coming = sorted(calls, key=lambda each: each.asked.at_ns, reverse=True)
    alive: dict[str, Candidate] = {}
    ends: list[tuple[int, str]] = []
    for frame in frames:
        while coming and coming[-1].asked.at_ns - widest <= frame.at_ns:
            call = coming.pop()
            alive[call.asked.key] = call
            heapq.heappush(ends, (_until(call) + widest, call.asked.key))
        while ends and ends[0][0] < frame.at_ns:
            alive.pop(heapq.heappop(ends)[1], None)
        least, most = frame.at_ns - frame.within_ns, frame.at_ns + frame.within_ns
        yield frame, [each for each in alive.values() if each.asked.at_ns <= most and least <= _until(each)]


def _until(call: Candidate) -> int:
    return call.asked.at_ns + _PATIENCE_NS if call.until_ns is None else call.until_ns


def _told(calls: list[Candidate], frame: Sent) -> list[Candidate]:
    """Without those that are told nothing, where others are told just what a frame brought: of these each had a frame that did."""
    told = [each for each in calls if each.told is not None]
    if 0 < len(told) < len(calls) and any(each.tells_itself(frame) and each.is_sure_of(frame) for each in told):
        return told
    return calls


def _naming(calls: list[Candidate], frame: Sent) -> list[Candidate]:
    """Without those that name another server than one of the same answer does: that server has no tap."""
    if len(calls) < 2:
        return calls
    naming = {each.answer for each in calls if names_server(each.asked.name, frame.server, frame.tool)}
    return [
        each for each in calls if each.answer not in naming or names_server(each.asked.name, frame.server, frame.tool)
    ]


def _carried(possible: Possible, frames: Sequence[Sent]) -> Iterator[Carried]:
    """The frames; one that was not answered with the one of its kind that was sent in its place, if one call may have both."""
    alike: dict[tuple[str, str, str], list[Sent]] = defaultdict(list)
    for frame in frames:
        alike[frame.server, frame.tool, frame.arguments].append(frame)
    for same in alike.values():
        yield from _sent_again(possible, same)


def _sent_again(possible: Possible, frames: Sequence[Sent]) -> Iterator[Carried]:
    """The same of frames of one kind: the next on a connection that began later, where no call of another may have been meant."""
    waiting: list[Carried] = []
    whole: dict[FrameKey, Carried] = {}
    for frame in frames:
        now = Carried((frame,))
        again = [before for before in waiting if _may_follow(possible, frame, before)]
        if len(again) == 1:  # else it is doubtful which of them it is
            before = again[0]
            waiting.remove(before)
            if _is_meant(possible, frame, before, frames):
                possible[frame.key] = [each for each in possible[before.key] if each in possible[frame.key]]
                del whole[before.key]
                now = Carried((*before.frames, frame))
        whole[now.key] = now
        if frame.answer is None:
            waiting.append(now)
    yield from whole.values()


def _is_meant(possible: Possible, frame: Sent, before: Carried, frames: Sequence[Sent]) -> bool:
    """Whether a frame can be sent for all calls that the one before it was, or is the only one that may follow it."""
    if all(each in possible[frame.key] for each in possible[before.key]):
        return True
    return all(each is frame or not _may_follow(possible, each, before) for each in frames)


def _may_follow(possible: Possible, frame: Sent, before: Carried) -> bool:
    return _begins_after(frame, before) and any(each in possible[frame.key] for each in possible[before.key])


def _begins_after(frame: Sent, before: Carried) -> bool:
    """Whether a frame's connection took the place of another, as far as its own tap's clock, or two clocks, can tell."""
    is_one_clock = frame.capture == before.last.capture
    return (
        before.line != frame.line
        and frame.since_ns + (0 if is_one_clock else frame.within_ns + before.last.within_ns) > before.last.at_ns
    )
