"""Which frames are on a connection that a call's conversation does not use: its host may have had the result already, while others asked too."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from tui_host.infer.call_values import FrameKey, Line, Sent
from tui_host.infer.matching.candidates import Candidate
from tui_host.infer.matching.rivals import Possible
from tui_host.infer.same_result import END, OTHER

_OFTEN = 2
"""How many times more calls go over what a conversation uses than over what it seems to use by chance."""
_Same: TypeAlias = tuple[str, str, str, str | None]
"""Server, tool and arguments, and what was brought; None while nothing has come."""


@dataclass(slots=True)
class _Use:
    """What a conversation sent on a connection: which calls, and when the first and the last of them."""

    calls: set[str] = field(default_factory=set[str])
    first_ns: int = 1 << 62
    last_ns: int = 0

    def add(self, call: str, at_ns: int) -> None:
        self.calls.add(call)
        self.first_ns, self.last_ns = min(self.first_ns, at_ns), max(self.last_ns, at_ns)


_Used: TypeAlias = dict[tuple[object, object, str], dict[Line, _Use]]
"""By the conversation, who asks, and the server."""


def without_elsewhere(
    possible: Possible,
    candidates: Iterable[Candidate],
    joined: Mapping[str, Sequence[Sent]],
    frames: Mapping[FrameKey, Sent],
) -> Possible:
    """What is possible, but for calls whose conversation used another connection than a frame's before, and not that one, or hardly.

    Clients of one library all have one name. So a frame of somebody else may fit a call that its host answered by itself, with what it
    had kept. Something had brought that before: a result that no other frame brought came with this one, whatever it came over. What
    was opened for a call is that call's, as some hosts do for each. A conversation may go over to what comes later, if another of its
    calls went over that, too.

    Args:
        possible: The calls that each frame may carry.
        candidates: The calls.
        joined: The frames of those that seem to have any.
        frames: The frames, on the model's clock.
    """
    used: _Used = defaultdict(lambda: defaultdict(_Use))
    for call in candidates:
        for frame in joined.get(call.asked.key, ()):
            is_named = call.asked.wire_id in frame.ids
            if is_named or (call.is_sure_of(frame) and (call.tells_itself(frame) or OTHER) >= END):
                used[call.talk, call.agent, frame.server][frame.line].add(call.asked.key, frame.at_ns)
    often = Counter(map(_same, frames.values()))
    often.update(_same(frame) for sent in joined.values() for frame in sent if frame.key not in frames)
    return {
        key: [call for call in calls if not _is_elsewhere(call, frames[key], used)]
        if _is_brought_by_others(frames[key], often)
        else calls
        for key, calls in possible.items()
    }


def _same(frame: Sent) -> _Same:
    return frame.server, frame.tool, frame.arguments, None if frame.answer is None else "\n".join(frame.answer.texts)


def _is_brought_by_others(frame: Sent, often: Mapping[_Same, int]) -> bool:
    """Whether another frame that asks for the same brought the same, or may bring it still."""
    same = _same(frame)
    waiting = (*same[:3], None)
    return sum(often.get(each, 0) for each in {same, waiting}) > 1


def _is_elsewhere(call: Candidate, frame: Sent, used: _Used) -> bool:
    """Whether a conversation used others before a frame: and this one, but for the call, hardly ever beside them, or never at all."""
    if frame.since_ns >= call.asked.at_ns:
        return False
    lines = used.get((call.talk, call.agent, frame.server), {})
    own = len(lines[frame.line].calls - {call.asked.key}) if frame.line in lines else 0
    others = (use for line, use in lines.items() if line != frame.line)
    return any(
        use.first_ns < frame.at_ns and len(use.calls) > _OFTEN * own and (use.last_ns > frame.since_ns or not own)
        for use in others
    )
