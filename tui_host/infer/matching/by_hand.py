"""Calls and frames that a person may join by hand: that choice beats all that is inferred."""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass

from tui_host.capture.visible import line
from tui_host.infer.call_values import CallFrame
from tui_host.infer.matching.matcher import JoinedCall

MOST = 9  # the most pairs to choose among: a digit each
_ARGUMENTS = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Pairing:
    """A call, by its key, and a frame, by capture and record, that may be joined, or parted if they are joined now."""

    call: str
    frame: tuple[str, int]
    words: str
    is_joined: bool


def pairings(
    joined: Sequence[JoinedCall], frames: Sequence[CallFrame], *, calls: Container[str] = (), record: tuple[str, int]
) -> Sequence[Pairing]:
    """Return the pairs of the frame that a record is or answers, or else of the calls with these keys, the likeliest first."""
    answers = {(frame.key[0], frame.answer.seq): frame.key for frame in frames if frame.answer is not None}
    own = [frame for frame in frames if frame.key in {record, answers.get(record)}]
    pairs = [(call, frame) for call in joined if own or call.key in calls for frame in own or frames]

    def rank(pair: tuple[JoinedCall, CallFrame]) -> tuple[int, int]:
        call, frame = pair  # what is joined first, then what may be, then what has the same tool
        likely = (frame in call.sent, frame in call.rivals, call.tool == frame.tool, True)
        return likely.index(True), abs(frame.at_ns - call.call.at_ns)

    return [pairing_of(*pair) for pair in sorted(pairs, key=rank)[:MOST]]


def pairing_of(call: JoinedCall, frame: CallFrame) -> Pairing:
    """Return a pair with its words."""
    is_joined = frame in call.sent
    state = f" (joined, {call.known})" if is_joined else ""
    arguments, seconds = line(call.call.arguments, _ARGUMENTS), (frame.at_ns - call.call.at_ns) / 1e9
    words = f"{call.call.name} {arguments} - {frame.server} #{frame.rpc_id} {frame.tool}, {seconds:+.1f} s{state}"
    return Pairing(call=call.key, frame=frame.key, words=words, is_joined=is_joined)
