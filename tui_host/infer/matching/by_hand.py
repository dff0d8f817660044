"""Join calls with frames by hand: what a person may choose among, and the choice, which beats all that is inferred."""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass

from tui_host.capture.store.notes_of_people import choose_frame
from tui_host.capture.store.store import Store
from tui_host.capture.visible import line
from tui_host.errors import TuiHostError
from tui_host.infer.call_values import CallFrame
from tui_host.infer.matching.matcher import JoinedCall

MOST = 9  # the most pairs to choose among: a digit each
_ARGUMENTS = 60
_REMEDY = "name a call as 1.1.2, a frame as math#4, or both as the JSON lines of `sessions export` do"


@dataclass(frozen=True, slots=True, kw_only=True)
class Pairing:
    """A call, by its key, and a frame, by capture and record, that may be joined, or parted if they are joined now."""

    call: str
    frame: tuple[str, int]
    words: str
    is_joined: bool


def choose(store: Store, pairing: Pairing) -> None:
    """Join a pair that is not joined, part one that is, and keep the choice."""
    choose_frame(store, pairing.call, pairing.frame, is_joined=not pairing.is_joined)


def pairings(
    joined: Sequence[JoinedCall], frames: Sequence[CallFrame], *, calls: Container[str] = (), record: tuple[str, int]
) -> Sequence[Pairing]:
    """Return the pairs of the frame that a record is or answers, or else of the calls with these keys, the likeliest first."""
    answers = {(frame.key[0], frame.answer.seq): frame.key for frame in frames if frame.answer is not None}
    own = [frame for frame in frames if frame.key in {record, answers.get(record)}]
    asked = joined if own else [call for call in joined if call.key in calls]
    pairs = [(call, frame) for call in asked for frame in own or frames]
    pairs.sort(key=lambda pair: (_rank(*pair), abs(pair[1].at_ns - pair[0].call.at_ns)))
    return [_pairing(*pair) for pair in pairs[:MOST]]


def pairing_named(joined: Sequence[JoinedCall], frames: Iterable[CallFrame], call: str, frame: str) -> Pairing:
    """Return the pair of a call, by its key, and a frame, as `CAPTURE:NUMBER` or `SERVER#ID`; each must be one alone."""
    asked = [asked for asked in joined if asked.key == call]
    sent = [sent for sent in frames if frame in {"{}:{}".format(*sent.key), f"{sent.server}#{sent.rpc_id}"}]
    if len(asked) != 1:
        raise TuiHostError("there is no such call of a model", call, _REMEDY)
    if len(sent) != 1:
        raise TuiHostError(
            "several frames are named so" if sent else "there is no such frame of a call", frame, _REMEDY
        )
    return _pairing(asked[0], sent[0])


def _rank(call: JoinedCall, frame: CallFrame) -> int:
    """Return how likely a pair is: what is joined first, then what may be, then what has the same tool."""
    likely = (frame in call.sent, frame in call.rivals, call.tool == frame.tool, True)
    return likely.index(True)


def _pairing(call: JoinedCall, frame: CallFrame) -> Pairing:
    is_joined = frame in call.sent
    state = f" (joined, {call.known})" if is_joined else ""
    arguments, seconds = line(call.call.arguments, _ARGUMENTS), (frame.at_ns - call.call.at_ns) / 1e9
    words = f"{call.call.name} {arguments} - {frame.server} #{frame.rpc_id} {frame.tool}, {seconds:+.1f} s{state}"
    return Pairing(call=call.key, frame=frame.key, words=words, is_joined=is_joined)
