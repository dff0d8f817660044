"""Which of several hosts that use one server sent a frame, as far as its client says who it is: a host's model may have no tap."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from tui_host.infer.call_values import FrameKey, Line, Sent
from tui_host.infer.matching.candidates import Candidate
from tui_host.infer.matching.rivals import Possible
from tui_host.infer.same_result import END, OTHER


class Clients:
    """The clients of servers, and whose they were shown to be.

    A host that calls itself otherwise before models than before servers is known by what its calls brought: who was told that is the
    one whose client sent them. Before that a call may be that of any client, where there are several. A conversation is one host's,
    whose client sent the first of its calls to a server: what another one sends that was there already, the host may have kept, and
    tell as well. One that comes later may be its own: conversations are gone on with in other hosts.

    Args:
        names: What the client of each connection calls itself.
        peers: The server of each connection.
    """

    def __init__(self, names: Mapping[Line, str], peers: Mapping[Line, str]) -> None:
        self._names = names
        self._lines: dict[str, list[Line]] = defaultdict(list)
        for line, server in peers.items():
            if names.get(line):
                self._lines[server].append(line)
        self._shown: dict[tuple[object, str], set[str]] = defaultdict(set)
        self._of_talk: dict[tuple[object, str], tuple[str, int]] = {}  # with the time of the last

    @property
    def are_several(self) -> bool:
        """Whether any server has some that call themselves differently."""
        return any(len({self._names[line] for line in lines}) > 1 for lines in self._lines.values())

    def learn(self, candidates: Iterable[Candidate], joined: Mapping[str, Sequence[Sent]]) -> None:
        """Whose they are, by calls that are joined."""
        for call in candidates:
            for frame in joined.get(call.asked.key, ()):
                is_named = call.asked.wire_id in frame.ids
                if is_named or (call.is_sure_of(frame) and (call.tells_itself(frame) or OTHER) >= END):
                    name = self._names.get(frame.line, "")
                    self._shown[call.agent, frame.server].add(name)
                    known, last_ns = self._of_talk.get((call.talk, frame.server), (name, 0))
                    if name == known:
                        self._of_talk[call.talk, frame.server] = name, max(last_ns, frame.at_ns)

    def without_others(self, possible: Possible, frames: Mapping[FrameKey, Sent]) -> Possible:
        """What is possible, but for calls of hosts that are known to be others than those whose clients sent the frames."""
        return {
            key: [call for call in calls if self._whose(call, frames[key]) is not False]
            for key, calls in possible.items()
        }

    def known(self, possible: Possible, frames: Mapping[FrameKey, Sent]) -> Possible:
        """The same, without calls either of which nothing tells that the client is their host's."""
        return {
            key: [call for call in calls if self._whose(call, frames[key]) or self._is_told(call, frames[key])]
            for key, calls in possible.items()
        }

    def _whose(self, call: Candidate, frame: Sent) -> bool | None:
        """Whether a client that sent a frame is the host's that asked for a call; None where that is not known."""
        own = self._names.get(frame.line, "")
        of_talk, last_ns = self._of_talk.get((call.talk, frame.server), ("", 0))
        if own and of_talk and (own == of_talk or frame.since_ns < last_ns):
            return own == of_talk
        shown = self._shown.get((call.agent, frame.server), set[str]())
        if shown:
            return own in shown if len(shown) == 1 and own else None
        lines = (line for line in self._lines[frame.server] if call.connections is None or line in call.connections)
        return True if {self._names[line] for line in lines} <= {own} else None

    @staticmethod
    def _is_told(call: Candidate, frame: Sent) -> bool:
        return (call.tells_itself(frame) or OTHER) >= END
