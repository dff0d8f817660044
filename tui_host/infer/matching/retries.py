"""Recognise calls that a host sent again because no answer came."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice

from tui_host.infer.call_values import Carried, FrameKey, Line, Sent
from tui_host.infer.matching.candidates import Candidate, Possible

_SOONEST_NS = 20_000_000
"""The least time before a host silently gives up a try and sends another on a new connection."""


class Tries:
    """Decides whether an unanswered frame may be the first try of a call with a later frame.

    Hosts also retry on a live connection, and not all cancel the first try.

    Args:
        carried: The frames.
        possible: The calls that each frame may carry.
    """

    def __init__(self, carried: Iterable[Carried], possible: Mapping[FrameKey, Sequence[Candidate]]) -> None:
        self._possible = possible
        self._last: dict[str, dict[Line, Carried]] = defaultdict(
            dict
        )  # the latest frame may follow whatever any frame may follow
        for frame in sorted(carried, key=lambda frame: frame.sent):
            for call in possible[frame.key]:
                self._last[call.asked.key][frame.first_line] = frame

    def may_be_of_another_call(self, frame: Carried, call: str, joined: Mapping[str, Sequence[Sent]]) -> bool:
        """Return whether a call's possible frame may be an earlier try of another call.

        Args:
            frame: The frame.
            call: The call's key.
            joined: The frames of the joined calls.
        """
        return any(
            _may_take_the_place(later, frame)
            for key in (rival.asked.key for rival in self._possible[frame.key])
            if key != call
            for later in ((Carried(tuple(joined[key])),) if key in joined else self._last[key].values())
        )

    def may_be_resent_on_line(self, frame: Carried) -> bool:
        """Return whether a frame may have been sent again on its own connection."""
        lasts = (self._last[call.asked.key].get(frame.line) for call in self._possible[frame.key])
        return any(last is not None and _may_take_the_place(last, frame, _SOONEST_NS) for last in lasts)


def carried(possible: Possible, frames: Sequence[Sent], sendable: Possible) -> Iterator[Carried]:
    """Yield the frames, joining an unanswered frame with the only possible retry.

    Args:
        possible: The calls that each frame may carry; retries lose calls that their first try cannot carry.
        frames: The frames.
        sendable: The calls that each frame may carry, including calls with different results.
    """
    alike: dict[tuple[str, str, str], list[Sent]] = defaultdict(list)
    for frame in frames:
        alike[frame.server, frame.tool, frame.arguments].append(frame)
    for same in alike.values():
        yield from _sent_again(possible, same, sendable)


def _sent_again(possible: Possible, frames: Sequence[Sent], sendable: Possible) -> Iterator[Carried]:
    """Join frames of one kind with retries on later connections, where no other call may be meant."""
    waiting, tries = _Waiting(sendable), Tries([Carried((frame,)) for frame in frames], sendable)
    whole: dict[FrameKey, Carried] = {}
    for frame in frames:
        now = Carried((frame,))
        before = waiting.only_before(frame)
        if before is not None:  # with several, nothing tells which one was sent again
            waiting.remove(before)
            if _is_meant(possible, frame, before, frames, sendable) and not tries.may_be_resent_on_line(before):
                possible[frame.key] = [call for call in possible[before.key] if call in possible[frame.key]]
                del whole[before.key]
                now = Carried((*before.frames, frame))
        whole[now.key] = now
        if frame.answer is None:
            waiting.add(now)
    yield from whole.values()


class _Waiting:
    """Unanswered frames of one kind, by possible call.

    Args:
        possible: The calls that each frame may carry.
    """

    def __init__(self, possible: Possible) -> None:
        self._possible = possible
        self._of_call: dict[str, dict[Line, dict[FrameKey, Carried]]] = {}

    def add(self, frame: Carried) -> None:
        """Add a frame."""
        for call in self._possible[frame.key]:
            of_line = self._of_call.setdefault(call.asked.key, {}).setdefault(frame.line, {})
            of_line[frame.key] = frame

    def remove(self, frame: Carried) -> None:
        """Remove a frame."""
        for call in self._possible[frame.key]:
            of_call = self._of_call[call.asked.key]
            del of_call[frame.line][frame.key]
            if not of_call[frame.line]:
                del of_call[frame.line]

    def only_before(self, frame: Sent) -> Carried | None:
        """Return the only unanswered frame that a frame may replace; None if none or several."""
        candidates: dict[FrameKey, Carried] = {}
        for call in self._possible[frame.key]:
            for of_line in self._of_call.get(call.asked.key, {}).values():
                # a connection's first is the first to be over; two are as good as all
                candidates.update(
                    (waiting.key, waiting) for waiting in islice(of_line.values(), 2) if _begins_after(frame, waiting)
                )
                if len(candidates) > 1:
                    return None
        return next(iter(candidates.values()), None)


def _is_meant(possible: Possible, frame: Sent, before: Carried, frames: Sequence[Sent], sendable: Possible) -> bool:
    """Return whether a frame may carry all calls of the earlier frame, or is the only possible retry."""
    if all(call in possible[frame.key] for call in possible[before.key]):
        return True
    return all(rival is frame or not _may_follow(sendable, rival, before) for rival in frames)


def _may_follow(possible: Possible, frame: Sent, before: Carried) -> bool:
    return _begins_after(frame, before) and any(call in possible[frame.key] for call in possible[before.key])


def _begins_after(frame: Sent, before: Carried) -> bool:
    """Return whether a frame's connection replaced an earlier frame's connection, as far as the clocks tell."""
    last = before.last
    is_one_clock = frame.capture == last.capture
    by_ns = (frame.cut_ns + last.cut_ns) // 2 if is_one_clock else frame.within_ns + last.within_ns
    return before.line != frame.line and frame.since_ns + by_ns > last.at_ns


def _may_take_the_place(frame: Carried, before: Carried, soonest_ns: int = 0) -> bool:
    """Return whether a frame may retry another: the host gave up waiting, or the connection had ended."""
    last = before.last
    if frame.first_line != last.line:
        return _begins_after(frame.frames[0], before)
    if last.dropped is not None or (last.over is not None and last.over < frame.sent):
        return last.dropped is not None and last.dropped < frame.sent
    return (last.at_ns + max(soonest_ns - last.cut_ns, 0), last.seq) < frame.sent
