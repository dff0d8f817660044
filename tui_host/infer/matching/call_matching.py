"""Match frames with calls; doubtful frames stay unmatched.

A frame may carry a call if the call's name may stand for the frame's tool, the arguments are equivalent, the frame was sent
after the call was made and before the conversation continued, and the call's result may repeat the frame's answer. Where
several pairs are possible, only a pair without alternatives is taken. A call id in the frame decides at once. The order of
sending counts only for hosts that have shown that they send calls in the order of the answer.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Container, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from tui_host.infer.call_values import Attempts, CallFrame, FrameKey, Line
from tui_host.infer.matching.candidates import Candidate, Possible, with_twins
from tui_host.infer.matching.competition import Competition, Doubts, SendOrders, competing
from tui_host.infer.matching.possible_pairs import PossiblePairs
from tui_host.infer.matching.resent_calls import Resending, attempts
from tui_host.infer.matching.result_places import placed
from tui_host.infer.same_result import END, OTHER
from tui_host.infer.tool_aliases import meant, tools_named

_EVER_NS = 1 << 62


@dataclass(frozen=True, slots=True, kw_only=True)
class Matches:
    """The outcome of matching.

    Attributes:
        frames: The frames of each matched call, by the call's key; several if the host sent the call again.
        result_places: Calls whose result stands in another place than the order suggests, with the call of that place; None if
            doubtful.
        told_otherwise: Calls whose result differs from their frames' answer.
        doubtful: The possible calls of frames without a certain call.
    """

    frames: Mapping[str, tuple[CallFrame, ...]]
    result_places: Mapping[str, str | None]
    told_otherwise: AbstractSet[str]
    doubtful: Mapping[FrameKey, Sequence[str]]


def match(candidates: Sequence[Candidate], frames: Sequence[CallFrame], connections: Sequence[Connection]) -> Matches:
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
    waiting = [candidate for candidate in candidates if candidate.key not in named]
    pairs = PossiblePairs.on_one_clock(waiting, left)
    possible = pairs.possible()
    on_clock = {frame.key: frame for frame in pairs.frames}
    shared = SharedServers(connections, on_clock, (frame for sent in named.values() for frame in sent))
    kept = {
        (frame.key, call.key)
        for frame in pairs.frames
        for call in possible[frame.key]
        if pairs.may_be_cached(call, frame) and not shared.is_told(call, frame)
    }
    unasked = _unasked(pairs, possible)
    shared.learn(candidates, named)
    own = shared.certain(possible)
    counts = {key: len(calls) for key, calls in own.items()}
    joined, as_asked = _competed(own, pairs, candidates, named, kept, unasked)
    shared.learn(candidates, joined)
    own = shared.certain(possible)
    if counts != {key: len(calls) for key, calls in own.items()}:  # the connections of a host tell more
        joined, as_asked = _competed(own, pairs, candidates, named, kept, unasked)
    told_elsewhere, refuted = placed(candidates, joined, as_asked)
    joined = {key: sent for key, sent in joined.items() if key not in refuted}
    otherwise = _told_otherwise(pairs, possible, joined, shared)
    told_elsewhere |= {call.key: None for call, _ in otherwise if call.places is not None}
    joined |= {call.key: frame.frames for call, frame in otherwise}
    as_sent = {frame.key: frame for frame in frames}
    frames_by_call = {key: tuple(as_sent[frame.key] for frame in sent) for key, sent in joined.items()}
    carrying = {frame.key for sent in frames_by_call.values() for frame in sent}
    rivals = {
        key: [call.key for call in _rivals(calls, pairs.refused[key]) if call.key not in frames_by_call]
        for key, calls in possible.items()
        if key not in carrying
    }
    return Matches(
        frames=frames_by_call,
        result_places=told_elsewhere,
        told_otherwise={call.key for call, _ in otherwise},
        doubtful={key: calls for key, calls in rivals.items() if calls},
    )


def _rivals(calls: list[Candidate], refused: Iterable[Candidate]) -> list[Candidate]:
    """Return the calls that a frame may carry; if none, the refused calls that were not denied."""
    return calls or [call for call in refused if not call.was_denied]


def _unasked(pairs: PossiblePairs, possible: Possible) -> set[tuple[str, str]]:
    """Return server and name of the tools that a host calls by itself: then any frame of the tool may be of no call."""
    return {(frame.server, frame.tool) for frame in pairs.frames if not possible[frame.key]}


def _told_otherwise(
    pairs: PossiblePairs,
    possible: Possible,
    joined: Mapping[str, Sequence[CallFrame]],
    shared: SharedServers,
) -> list[tuple[Candidate, Attempts]]:
    """Pair each remaining call with the only remaining frame, although the result differs.

    Left out are frames that another host may have sent, and calls made before, whose result the host may have kept.
    """
    sendable = {key: _rivals(calls, pairs.refused[key]) for key, calls in possible.items()}
    unasked = _unasked(pairs, sendable)
    carrying = {frame.key for sent in joined.values() for frame in sent}
    left = {
        frame.key: [call for call in (*possible[frame.key], *pairs.refused[frame.key]) if call.key not in joined]
        for frame in pairs.frames
        if frame.key not in carrying
    }
    frames = list(attempts(left, [frame for frame in pairs.frames if frame.key in left], left))
    often = Counter(call.key for frame in frames for call in left[frame.key])
    return [
        (call, frame)
        for frame in frames
        for call in left[frame.key]
        if len(left[frame.key]) == often[call.key] == 1
        and call in pairs.refused[frame.key]
        and call.may_be_reworded(frame.last)
        and (frame.last.server, frame.last.tool) not in unasked
        and frame.last.capture in pairs.timed
        and shared.is_own(call, frame.last)
        and not pairs.is_repeated(call)
    ]


def _competed(
    possible: Possible,
    pairs: PossiblePairs,
    candidates: Sequence[Candidate],
    certain: Mapping[str, tuple[CallFrame, ...]],
    kept: Container[tuple[FrameKey, str]],
    unasked: Container[tuple[str, str]],
) -> tuple[dict[str, tuple[CallFrame, ...]], set[str]]:
    """Return the certain pairs, and the calls whose results stand in the order of the calls."""
    joined = dict(certain)
    sent = {call.key for calls in possible.values() for call in calls}.union(certain)
    unclear = {call.alike for call in candidates if call.key not in sent and not call.may_have_failed}
    otherwise = {
        frame.key
        for frame in pairs.frames
        if any(call.may_be_reworded(frame) for call in pairs.refused[frame.key] if call.key not in certain)
    }
    sendable = {key: _rivals(calls, pairs.refused[key]) for key, calls in possible.items()}
    whole = list(attempts(possible, pairs.frames, sendable))
    doubts = Doubts(
        tries=Resending(whole, sendable),
        unasked=unasked,
        unclear=unclear,
        otherwise=otherwise,
        timed=pairs.timed,
        kept=kept,
    )
    groups = [Competition(members, calls, possible, doubts) for members, calls in competing(whole, possible)]
    for group in groups:
        joined.update(group.joined())
    orders, size = SendOrders(candidates, joined), -1
    while size < len(joined):
        if size >= 0:
            orders.know(candidates, joined)  # learn which connections are of one host
        size = len(joined)
        for group in filter(Competition.is_open, groups):
            joined.update(group.joined(orders))
    return joined, {key for group in groups for key in group.as_asked}


def _by_id(candidates: Sequence[Candidate], frames: Sequence[CallFrame]) -> dict[str, tuple[CallFrame, ...]]:
    """Match frames that contain the model's call id, and the call's arguments or tool."""
    owners: dict[str, list[Candidate]] = defaultdict(list)
    for candidate in candidates:
        if candidate.call.wire_id:
            owners[candidate.call.wire_id].append(candidate)
    joined: dict[str, tuple[CallFrame, ...]] = {}
    for frame in frames:
        namesakes = [owner for identity in frame.ids for owner in owners.get(identity, ())]
        if len(namesakes) == 1 and _says_the_same(namesakes[0], frame):
            key = namesakes[0].key
            joined[key] = (*joined.get(key, ()), frame)
    return joined


def _says_the_same(call: Candidate, frame: CallFrame) -> bool:
    """Return whether a frame has a call's arguments or a tool that the call's name may stand for."""
    name, arguments = meant(call.call)
    return arguments == frame.arguments or bool(tools_named(name, [(frame.server, frame.tool)]))


@dataclass(frozen=True, slots=True, kw_only=True)
class Connection:
    """A connection to a server, with calls or without.

    Attributes:
        line: The connection's key.
        server: The server's name.
        client: The client's name.
        since_ns: When the connection began.
    """

    line: Line
    server: str
    client: str
    since_ns: int


class SharedServers:
    """Learns which connections each host uses, and decides whether another host may have sent a frame.

    Args:
        connections: All connections.
        frames: The frames without a call id, on the model's clock.
        named: The frames with a call id.
    """

    def __init__(
        self, connections: Sequence[Connection], frames: Mapping[FrameKey, CallFrame], named: Iterable[CallFrame]
    ) -> None:
        self._frames = frames
        self._lines: dict[str, dict[Line, tuple[int, int]]] = defaultdict(dict)
        last: dict[Line, int] = defaultdict(int)
        self._brought: dict[tuple[object, ...], list[CallFrame]] = defaultdict(list)
        for frame in (*frames.values(), *named):
            last[frame.line] = max(last[frame.line], frame.at_ns, 0 if frame.over is None else frame.over[0])
            self._brought[_same(frame)].append(frame)
        since = {frame.line: frame.since_ns for frame in frames.values()}
        began = {connection.line: since.get(connection.line, connection.since_ns) for connection in connections}
        newest: dict[tuple[str, str], int] = {}
        for connection in connections:
            client = connection.server, connection.client
            newest[client] = max(newest.get(client, 0), began[connection.line])
        for connection in connections:
            since_ns, until_ns = began[connection.line], last[connection.line]
            is_followed = newest[connection.server, connection.client] >= max(since_ns + 1, until_ns)
            end_ns = max(since_ns, until_ns) if is_followed else _EVER_NS
            self._lines[connection.server][connection.line] = since_ns, end_ns
        self._used: dict[tuple[object, str], set[Line]] = defaultdict(set)

    def learn(self, candidates: Iterable[Candidate], joined: Mapping[str, Sequence[CallFrame]]) -> None:
        """Learn the connections of conversations and agents from calls that are joined for certain."""
        for call in candidates:
            for frame in joined.get(call.key, ()):
                if call.call.wire_id in frame.ids or self.is_told(call, frame):
                    self._used[call.conversation, frame.server].add(frame.line)
                    self._used[call.agent, frame.server].add(frame.line)

    def certain(self, possible: Possible) -> Possible:
        """Remove pairs whose frame another host may have sent, unless no other frame brought the result."""
        return {
            key: [
                call for call in calls if self.is_own(call, self._frames[key]) or self.is_told(call, self._frames[key])
            ]
            for key, calls in possible.items()
        }

    def is_own(self, call: Candidate, frame: CallFrame) -> bool:
        """Return whether only the call's host can have sent a frame."""
        used = self._used.get((call.conversation, frame.server)) or self._used.get(
            (call.agent, frame.server), set[Line]()
        )
        return frame.line in used or not self._others(frame)

    def _others(self, frame: CallFrame) -> Collection[Line]:
        """Return connections beside the frame's that were open and may belong to other hosts."""
        at_ns = frame.at_ns
        return [
            line
            for line, (since, until) in self._lines[frame.server].items()
            if line != frame.line and since <= at_ns + frame.within_ns and until >= at_ns - frame.within_ns
        ]

    def is_told(self, call: Candidate, frame: CallFrame) -> bool:
        """Return whether the call's result repeats the frame's answer, and no earlier frame brought the same."""
        result = call.result
        if result is None or (call.best_grade(frame) or OTHER) < END:
            return False
        return all(rival.key == frame.key or rival.at_ns > result.at_ns for rival in self._brought[_same(frame)])


def _same(frame: CallFrame) -> tuple[object, ...]:
    return frame.server, frame.tool, frame.arguments, None if frame.answer is None else "\n".join(frame.answer.texts)
