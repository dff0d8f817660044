"""Calls that were sent again, as no answer came: which frames carried the same."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice

from tui_host.infer.call_values import Carried, FrameKey, Line, Sent
from tui_host.infer.matching.candidates import Candidate, Possible

_SOONEST_NS = 20_000_000
"""Sooner than this no host gives up without a word what it sends again on another connection."""


class Tries:
    """Whether what was not answered may be how a call was sent at first that another frame carried then.

    Hosts send again on a connection that holds, too, and not all cancel what they wait for no longer.

    Args:
        carried: The frames.
        possible: The calls that each may carry.
    """

    def __init__(self, carried: Iterable[Carried], possible: Mapping[FrameKey, Sequence[Candidate]]) -> None:
        self._possible = possible
        self._last: dict[str, dict[Line, Carried]] = defaultdict(dict)  # whatever a frame may follow, the last may
        for each in sorted(carried, key=lambda each: each.sent):
            for call in possible[each.key]:
                self._last[call.asked.key][each.first_line] = each

    def may_be_anothers(self, each: Carried, call: str, joined: Mapping[str, Sequence[Sent]]) -> bool:
        """Whether a frame that a call may have been sent with may be an earlier one of another call.

        Args:
            each: The frame.
            call: The call.
            joined: The frames of the calls that have any.
        """
        return any(
            _may_take_the_place(later, each)
            for key in (other.asked.key for other in self._possible[each.key])
            if key != call
            for later in ((Carried(tuple(joined[key])),) if key in joined else self._last[key].values())
        )

    def are_on_its_line(self, each: Carried) -> bool:
        """Whether a frame may have been sent again on its own connection."""
        lasts = (self._last[call.asked.key].get(each.line) for call in self._possible[each.key])
        return any(last is not None and _may_take_the_place(last, each, _SOONEST_NS) for last in lasts)


def carried(possible: Possible, frames: Sequence[Sent], sendable: Possible) -> Iterator[Carried]:
    """Yield the frames; one that was not answered with the one of its kind that was sent in its place, if one call may have both.

    Args:
        possible: The calls that each frame may carry. Those of a frame that was sent again become fewer.
        frames: The frames.
        sendable: The same, with calls of which a host tells something else.
    """
    alike: dict[tuple[str, str, str], list[Sent]] = defaultdict(list)
    for frame in frames:
        alike[frame.server, frame.tool, frame.arguments].append(frame)
    for same in alike.values():
        yield from _sent_again(possible, same, sendable)


def _sent_again(possible: Possible, frames: Sequence[Sent], sendable: Possible) -> Iterator[Carried]:
    """The same of frames of one kind: the next on a connection that began later, where no call of another may have been meant."""
    waiting, tries = _Waiting(sendable), Tries([Carried((frame,)) for frame in frames], sendable)
    whole: dict[FrameKey, Carried] = {}
    for frame in frames:
        now = Carried((frame,))
        before = waiting.only_before(frame)
        if before is not None:  # else it is doubtful which of them it is
            waiting.remove(before)
            if _is_meant(possible, frame, before, frames, sendable) and not tries.are_on_its_line(before):
                possible[frame.key] = [each for each in possible[before.key] if each in possible[frame.key]]
                del whole[before.key]
                now = Carried((*before.frames, frame))
        whole[now.key] = now
        if frame.answer is None:
            waiting.add(now)
    yield from whole.values()


class _Waiting:
    """Frames of one kind that were not answered, by the calls that they may carry: what carries none is sent again for none.

    Args:
        possible: The calls that each frame may carry.
    """

    def __init__(self, possible: Possible) -> None:
        self._possible = possible
        self._of_call: dict[str, dict[Line, dict[FrameKey, Carried]]] = {}

    def add(self, frame: Carried) -> None:
        """One more."""
        for call in self._possible[frame.key]:
            of_line = self._of_call.setdefault(call.asked.key, {}).setdefault(frame.line, {})
            of_line[frame.key] = frame

    def remove(self, frame: Carried) -> None:
        """One less."""
        for call in self._possible[frame.key]:
            of_call = self._of_call[call.asked.key]
            del of_call[frame.line][frame.key]
            if not of_call[frame.line]:
                del of_call[frame.line]

    def only_before(self, frame: Sent) -> Carried | None:
        """The only one of which a frame may take the place; None also where there are several."""
        found: dict[FrameKey, Carried] = {}
        for call in self._possible[frame.key]:
            for of_line in self._of_call.get(call.asked.key, {}).values():
                # a connection's first is the first to be over; two are as good as all
                found.update((each.key, each) for each in islice(of_line.values(), 2) if _begins_after(frame, each))
                if len(found) > 1:
                    return None
        return next(iter(found.values()), None)


def _is_meant(possible: Possible, frame: Sent, before: Carried, frames: Sequence[Sent], sendable: Possible) -> bool:
    """Whether a frame can be sent for all calls that the one before it was, or is the only one that may follow it."""
    if all(each in possible[frame.key] for each in possible[before.key]):
        return True
    return all(each is frame or not _may_follow(sendable, each, before) for each in frames)


def _may_follow(possible: Possible, frame: Sent, before: Carried) -> bool:
    return _begins_after(frame, before) and any(each in possible[frame.key] for each in possible[before.key])


def _begins_after(frame: Sent, before: Carried) -> bool:
    """Whether a frame's connection took the place of another, as far as its own tap's clock, or two clocks, can tell."""
    last = before.last
    is_one_clock = frame.capture == last.capture
    by_ns = (frame.cut_ns + last.cut_ns) // 2 if is_one_clock else frame.within_ns + last.within_ns
    return before.line != frame.line and frame.since_ns + by_ns > last.at_ns


def _may_take_the_place(frame: Carried, before: Carried, soonest_ns: int = 0) -> bool:
    """Whether a frame may have been sent in place of one, as its host no longer waited for that, or its connection had ended."""
    last = before.last
    if frame.first_line != last.line:
        return _begins_after(frame.frames[0], before)
    if last.dropped is not None or (last.over is not None and last.over < frame.sent):
        return last.dropped is not None and last.dropped < frame.sent
    return (last.at_ns + max(soonest_ns - last.cut_ns, 0), last.seq) < frame.sent
