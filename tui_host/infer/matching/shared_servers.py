"""Servers that several hosts reach: which connections a host uses, by what nobody else's frame can have brought."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from tui_host.infer.call_values import FrameKey, Line, Sent
from tui_host.infer.matching.candidates import Candidate, Possible
from tui_host.infer.same_result import END, OTHER

_EVER_NS = 1 << 62


@dataclass(frozen=True, slots=True, kw_only=True)
class Connection:
    """A connection to a server, whether calls were sent on it or not.

    Attributes:
        line: Names it.
        server: The server's name.
        client: What its client calls itself.
        since_ns: When it began.
    """

    line: Line
    server: str
    client: str
    since_ns: int


class SharedServers:
    """Knows where another host may have sent a frame, and on which connections hosts send.

    Args:
        connections: All connections.
        frames: The frames that name no call, on the model's clock.
        named: The frames that name theirs.
    """

    def __init__(
        self, connections: Sequence[Connection], frames: Mapping[FrameKey, Sent], named: Iterable[Sent]
    ) -> None:
        self._frames = frames
        self._lines: dict[str, dict[Line, tuple[int, int]]] = defaultdict(dict)
        last: dict[Line, int] = defaultdict(int)
        self._brought: dict[tuple[object, ...], list[Sent]] = defaultdict(list)
        for frame in (*frames.values(), *named):
            last[frame.line] = max(last[frame.line], frame.at_ns, 0 if frame.over is None else frame.over[0])
            self._brought[_same(frame)].append(frame)
        since = {frame.line: frame.since_ns for frame in frames.values()}
        began = {each.line: since.get(each.line, each.since_ns) for each in connections}
        newest: dict[tuple[str, str], int] = {}
        for each in connections:
            client = each.server, each.client
            newest[client] = max(newest.get(client, 0), began[each.line])
        for each in connections:
            since_ns, until_ns = began[each.line], last[each.line]
            is_followed = newest[each.server, each.client] >= max(since_ns + 1, until_ns)
            self._lines[each.server][each.line] = since_ns, max(since_ns, until_ns) if is_followed else _EVER_NS
        self._used: dict[tuple[object, str], set[Line]] = defaultdict(set)

    def learn(self, candidates: Iterable[Candidate], joined: Mapping[str, Sequence[Sent]]) -> None:
        """Learn from calls that are joined for sure which connections their conversations and agents use."""
        for call in candidates:
            for frame in joined.get(call.asked.key, ()):
                if call.asked.wire_id in frame.ids or self._is_told(call, frame):
                    self._used[call.talk, frame.server].add(frame.line)
                    self._used[call.agent, frame.server].add(frame.line)

    def certain(self, possible: Possible) -> Possible:
        """Leave out the pairs in which another host may have sent the frame, but for what no other frame brought."""
        return {
            key: [
                call for call in calls if self.is_own(call, self._frames[key]) or self._is_told(call, self._frames[key])
            ]
            for key, calls in possible.items()
        }

    def is_own(self, call: Candidate, frame: Sent) -> bool:
        """Whether a call's host alone can have sent a frame: nobody else was connected, or it is known to use the connection."""
        used = self._used.get((call.talk, frame.server)) or self._used.get((call.agent, frame.server), set[Line]())
        is_opened_for_it = frame.since_ns >= call.asked.at_ns
        return is_opened_for_it or frame.line in used or not self._others(call, frame)

    def _others(self, call: Candidate, frame: Sent) -> Collection[Line]:
        """The connections beside a frame's that were open then, and that may be of other hosts."""
        at_ns = frame.at_ns
        return [
            line
            for line, (since, until) in self._lines[frame.server].items()
            if line != frame.line
            and since <= at_ns + frame.within_ns
            and until >= at_ns - frame.within_ns
            and (call.connections is None or line in call.connections)
        ]

    def _is_told(self, call: Candidate, frame: Sent) -> bool:
        """Whether a call is told what a frame brought, and no other frame had brought that by then."""
        told = call.told
        if told is None or (call.tells_itself(frame) or OTHER) < END:
            return False
        return all(other.key == frame.key or other.at_ns > told.at_ns for other in self._brought[_same(frame)])


def _same(frame: Sent) -> tuple[object, ...]:
    return frame.server, frame.tool, frame.arguments, None if frame.answer is None else "\n".join(frame.answer.texts)
