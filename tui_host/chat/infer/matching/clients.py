"""Which of several hosts that use one server sent a frame, as far as its client says who it is: a host's model may have no tap."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from tui_host.chat.infer.matching.candidates import Candidate
from tui_host.chat.infer.matching.rivals import Possible
from tui_host.chat.infer.telltale import END, OTHER
from tui_host.chat.infer.values import FrameKey, Line, Sent

_OFTEN = 2
"""How many times more calls go over what a conversation uses than over what it seems to use by chance."""


@dataclass(slots=True)
class _Use:
    """What a conversation sent on a connection: which calls, and when the first and the last of them."""

    calls: set[str] = field(default_factory=set[str])
    first_ns: int = 1 << 62
    last_ns: int = 0

    def add(self, call: str, at_ns: int) -> None:
        self.calls.add(call)
        self.first_ns, self.last_ns = min(self.first_ns, at_ns), max(self.last_ns, at_ns)


class Clients:
    """The clients of servers, and whose they were shown to be.

    A host that calls itself otherwise before models than before servers is known by what its calls brought: who was told that is the
    one whose client sent them. Before that a call may be that of any client, where there are several. A conversation is one host's,
    whose client sent the first of its calls to a server: what another one sends that was there already, the host may have kept, and
    tell as well. One that comes later may be its own: conversations are gone on with in other hosts. So it is with connections whose
    clients have one name, as those of one library do: a conversation that went on with some meanwhile does not use others beside them
    for what was brought before, or is elsewhere.

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
        self._are_named_apart = any(len({names[line] for line in lines}) > 1 for lines in self._lines.values())
        self._shown: dict[tuple[object, str], set[str]] = defaultdict(set)
        self._of_talk: dict[tuple[object, str], tuple[str, int]] = {}  # with the time of the last
        self._used: dict[tuple[object, str], dict[Line, _Use]] = defaultdict(lambda: defaultdict(_Use))
        self._brought: dict[tuple[str, str, str], Counter[str | None]] = defaultdict(Counter)

    @property
    def are_several(self) -> bool:
        """Whether any server has some."""
        return any(len(lines) > 1 for lines in self._lines.values())

    def see(self, frames: Iterable[Sent]) -> None:
        """All frames: what several of them brought, a host may have had from either."""
        for frame in frames:
            self._brought[frame.server, frame.tool, frame.arguments][_text(frame)] += 1

    def learn(self, candidates: Iterable[Candidate], joined: Mapping[str, Sequence[Sent]]) -> None:
        """Whose they are, by calls that are joined."""
        for call in candidates:
            for frame in joined.get(call.asked.key, ()):
                is_named = call.asked.wire_id in frame.ids
                if is_named or (call.is_sure_of(frame) and (call.tells_itself(frame) or OTHER) >= END):
                    name = self._names.get(frame.line, "")
                    self._shown[call.agent, frame.server].add(name)
                    self._used[call.talk, frame.server][frame.line].add(call.asked.key, frame.at_ns)
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
        if self._is_brought_elsewhere(frame) and self._is_used_elsewhere(call, frame):
            return False
        if not self._are_named_apart:
            return True
        own = self._names.get(frame.line, "")
        of_talk, last_ns = self._of_talk.get((call.talk, frame.server), ("", 0))
        if own and of_talk and (own == of_talk or frame.since_ns < last_ns):
            return own == of_talk
        shown = self._shown.get((call.agent, frame.server), set[str]())
        if shown:
            return own in shown if len(shown) == 1 and own else None
        lines = (line for line in self._lines[frame.server] if call.connections is None or line in call.connections)
        return True if {self._names[line] for line in lines} <= {own} else None

    def _is_brought_elsewhere(self, frame: Sent) -> bool:
        """Whether another frame that asks for the same brought the same, or may bring it still."""
        brought, text = self._brought[frame.server, frame.tool, frame.arguments], _text(frame)
        return brought.total() > 1 if text is None else brought[text] + brought[None] > 1

    def _is_used_elsewhere(self, call: Candidate, frame: Sent) -> bool:
        """Whether a call's conversation had another connection before a frame's, and used it beside; and this one, but for the call, hardly ever."""
        if frame.since_ns >= call.asked.at_ns:  # it was opened for the call, as some do for each
            return False
        used = self._used.get((call.talk, frame.server), {})
        own = len(used[frame.line].calls - {call.asked.key}) if frame.line in used else 0
        others = (use for line, use in used.items() if line != frame.line)
        return any(
            len(use.calls) > _OFTEN * own and use.first_ns < frame.at_ns and use.last_ns > frame.since_ns
            for use in others
        )

    @staticmethod
    def _is_told(call: Candidate, frame: Sent) -> bool:
        return (call.tells_itself(frame) or OTHER) >= END


def _text(frame: Sent) -> str | None:
    """What a frame brought, in words; None while nothing has come."""
    return None if frame.answer is None else "\n".join(frame.answer.texts)
