"""Tell apart the hosts that share a server, by answers that only one frame brought."""

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
        began = {connection.line: since.get(connection.line, connection.since_ns) for connection in connections}
        newest: dict[tuple[str, str], int] = {}
        for connection in connections:
            client = connection.server, connection.client
            newest[client] = max(newest.get(client, 0), began[connection.line])
        for connection in connections:
            since_ns, until_ns = began[connection.line], last[connection.line]
            is_followed = newest[connection.server, connection.client] >= max(since_ns + 1, until_ns)
            self._lines[connection.server][connection.line] = (
                since_ns,
                max(since_ns, until_ns) if is_followed else _EVER_NS,
            )
        self._used: dict[tuple[object, str], set[Line]] = defaultdict(set)

    def learn(self, candidates: Iterable[Candidate], joined: Mapping[str, Sequence[Sent]]) -> None:
        """Learn the connections of conversations and agents from calls that are joined for certain."""
        for call in candidates:
            for frame in joined.get(call.asked.key, ()):
                if call.asked.wire_id in frame.ids or self._is_told(call, frame):
                    self._used[call.talk, frame.server].add(frame.line)
                    self._used[call.agent, frame.server].add(frame.line)

    def certain(self, possible: Possible) -> Possible:
        """Remove pairs whose frame another host may have sent, unless no other frame brought the result."""
        return {
            key: [
                call for call in calls if self.is_own(call, self._frames[key]) or self._is_told(call, self._frames[key])
            ]
            for key, calls in possible.items()
        }

    def is_own(self, call: Candidate, frame: Sent) -> bool:
        """Return whether only the call's host can have sent a frame."""
        used = self._used.get((call.talk, frame.server)) or self._used.get((call.agent, frame.server), set[Line]())
        is_opened_for_it = frame.since_ns >= call.asked.at_ns
        return is_opened_for_it or frame.line in used or not self._others(call, frame)

    def _others(self, call: Candidate, frame: Sent) -> Collection[Line]:
        """Return connections beside the frame's that were open and may belong to other hosts."""
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
        """Return whether the call's result repeats the frame's answer, and no earlier frame brought the same."""
        result = call.told
        if result is None or (call.own_grade(frame) or OTHER) < END:
            return False
        return all(rival.key == frame.key or rival.at_ns > result.at_ns for rival in self._brought[_same(frame)])


def _same(frame: Sent) -> tuple[object, ...]:
    return frame.server, frame.tool, frame.arguments, None if frame.answer is None else "\n".join(frame.answer.texts)
