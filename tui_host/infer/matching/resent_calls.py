"""Recognise calls that a host sent again because no answer came."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice

from tui_host.infer.call_values import Attempts, CallFrame, FrameKey, Line
from tui_host.infer.matching.candidates import Candidate, Possible

_MOST_WAITING = 100
"""The most unanswered frames of one kind that a frame is compared with."""


class Resending:
    """Decides whether an unanswered frame may be the first try of a call with a later frame.

    Hosts also retry on a live connection, and not all cancel the first try.

    Args:
        attempts: The frames.
        possible: The calls that each frame may carry.
    """

    def __init__(self, attempts: Iterable[Attempts], possible: Mapping[FrameKey, Sequence[Candidate]]) -> None:
        self._possible = possible
        self._last: dict[str, dict[Line, Attempts]] = defaultdict(dict)  # the latest may follow what any frame may
        for frame in sorted(attempts, key=lambda frame: frame.sent):
            for call in possible[frame.key]:
                self._last[call.key][frame.first_line] = frame

    def may_be_of_another_call(self, frame: Attempts, call: str, joined: Mapping[str, Sequence[CallFrame]]) -> bool:
        """Return whether a call's possible frame may be an earlier try of another call.

        Args:
            frame: The frame.
            call: The call's key.
            joined: The frames of the joined calls.
        """
        return any(
            _may_take_the_place(later, frame)
            for key in (rival.key for rival in self._possible[frame.key])
            if key != call
            for later in ((Attempts(tuple(joined[key])),) if key in joined else self._last[key].values())
        )


def attempts(possible: Possible, frames: Sequence[CallFrame], sendable: Possible) -> Iterator[Attempts]:
    """Yield the frames, joining an unanswered frame with the only possible retry.

    Args:
        possible: The calls that each frame may carry; retries lose calls that their first try cannot carry.
        frames: The frames.
        sendable: The calls that each frame may carry, including calls with different results.
    """
    alike: dict[tuple[str, str, str], list[CallFrame]] = defaultdict(list)
    for frame in frames:
        alike[frame.server, frame.tool, frame.arguments].append(frame)
    for same in alike.values():
        yield from _sent_again(possible, same, sendable)


def _sent_again(possible: Possible, frames: Sequence[CallFrame], sendable: Possible) -> Iterator[Attempts]:
    """Join frames of one kind with retries on later connections, where no other call may be meant."""
    waiting = deque[Attempts](maxlen=_MOST_WAITING)
    whole: dict[FrameKey, Attempts] = {}
    for frame in frames:
        now = Attempts((frame,))
        earlier = list(islice((old for old in waiting if _may_follow(sendable, frame, old)), 2))
        if len(earlier) == 1:  # with several, nothing tells which one was sent again
            before = earlier[0]
            waiting.remove(before)
            if _is_meant(possible, frame, before, frames, sendable):
                possible[frame.key] = [call for call in possible[before.key] if call in possible[frame.key]]
                del whole[before.key]
                now = Attempts((*before.frames, frame))
        whole[now.key] = now
        if frame.answer is None:
            waiting.append(now)
    yield from whole.values()


def _is_meant(
    possible: Possible, frame: CallFrame, before: Attempts, frames: Sequence[CallFrame], sendable: Possible
) -> bool:
    """Return whether a frame may carry all calls of the earlier frame, or is the only possible retry."""
    if all(call in possible[frame.key] for call in possible[before.key]):
        return True
    return all(rival is frame or not _may_follow(sendable, rival, before) for rival in frames)


def _may_follow(possible: Possible, frame: CallFrame, before: Attempts) -> bool:
    return frame.line != before.line and any(call in possible[frame.key] for call in possible[before.key])


def _may_take_the_place(frame: Attempts, before: Attempts) -> bool:
    """Return whether a frame may retry another: the host gave up waiting, or the connection had ended."""
    last = before.last
    if frame.first_line != last.line:
        return True
    if last.dropped is not None or (last.over is not None and last.over < frame.sent):
        return last.dropped is not None and last.dropped < frame.sent
    return (last.at_ns, last.seq) < frame.sent
