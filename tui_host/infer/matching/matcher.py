"""Join the calls that models made with the frames on servers' wires, and with the results in later requests.

Certain is a pair by an id on both sides, by a text that no other frame brought, or the only pair that name, arguments, host and
time leave. Of what remains, the likeliest pairs are joined as «maybe».
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from tui_host.capture.link import Known
from tui_host.capture.wall_clock import WallClock
from tui_host.infer.call_values import Call, CallFrame, FrameKey, Line, Result
from tui_host.infer.matching.pairs import PossiblePairs, result_groups
from tui_host.infer.matching.reports import DISTINCTIVE, repeats
from tui_host.infer.matching.tool_names import names_server
from tui_host.infer.tapped_frames import TappedFrames

REPORTED_DIFFERENTLY = "reported differently"
"""The remark on a call whose result differs from the server's answer."""
Choices: TypeAlias = Mapping[tuple[str, str, int], bool]
"""A person's choices: whether a call, by its key, is joined with a frame, by capture and record, or parted from it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinedCall:
    """A call with the frames that carried it and the places where the model is told its result."""

    call: Call
    server: str  # its name in the tap; empty if unknown
    tool: str  # the tool's own name, else the name as the model wrote it
    sent: tuple[CallFrame, ...] = ()  # earlier tries first
    known: Known = "value"  # how the frames are known
    results: tuple[Result, ...] = ()
    is_by_order: bool = False  # only their order says that the results are this call's
    is_reported_differently: bool = False  # than the server answered
    rivals: tuple[CallFrame, ...] = ()  # other frames that may have carried the call

    @property
    def key(self) -> str:
        """The call's key."""
        return self.call.key

    def result_known(self, result: Result) -> Known:
        """Return how a place of the result is known."""
        if result.by_id:
            return "id"
        return "maybe" if self.is_by_order else "value"


def match(
    calls: Sequence[Call], tapped: TappedFrames, clock: WallClock, choices: Choices | None = None
) -> Sequence[JoinedCall]:
    """Return the calls in order, each with its frames and results. A person's choices beat all that is inferred."""
    matching = _Matching(calls, tapped, clock)
    matching.take_chosen(choices or {})
    matching.take_named()
    while matching.take_certain():
        pass
    matching.take_likeliest()
    matching.take_earlier_tries()
    return list(matching.joined())


class _Matching:
    def __init__(self, calls: Sequence[Call], tapped: TappedFrames, clock: WallClock) -> None:
        self._frames = tapped.sent
        self._calls = {call.key: call for call in calls}
        self._pairs = PossiblePairs(calls, tapped, clock)
        self._sent: dict[str, list[FrameKey]] = {}
        self._known: dict[str, Known] = {}
        self._taken: set[FrameKey] = set()
        self._lines = Counter(tapped.peers.values())  # how many connections each server has
        self._used: set[tuple[object, ...]] = set()  # the connections that hosts are known to use

    # Certain.

    def take_chosen(self, choices: Choices) -> None:
        """Take and forget the pairs that a person joined and parted."""
        for (call, capture, seq), is_joined in choices.items():
            for key in [key for key in self._frames if key[:2] == (capture, seq)]:
                if is_joined and call in self._calls and key not in self._taken:
                    self._take(key, call, "hand")
                elif not is_joined and call in self._pairs.calls[key]:
                    self._pairs.calls[key].remove(call)
                    self._pairs.frames[call].remove(key)

    def take_named(self) -> None:
        """Take the frames that hold a call's id."""
        counts = Counter(call.wire_id for call in self._calls.values())
        owners = {call.wire_id: call.key for call in self._calls.values() if counts[call.wire_id] == 1}
        named: set[Line] = set()
        for key, frame in self._frames.items():
            of_ids = [owners[identity] for identity in frame.ids if identity in owners]
            if len(of_ids) == 1 and key not in self._taken:
                if self._known.get(of_ids[0], "id") == "id":
                    self._take(key, of_ids[0], "id")
                named.add(frame.line)
        # Where some frames hold calls' ids, the ids in others are of calls that were not captured.
        self._taken |= {key for key, frame in self._frames.items() if frame.ids and frame.line in named}

    def take_certain(self) -> bool:
        """Take the pairs whose text nothing else explains; where there are none, those that are the only ones left."""
        possible = self._open_pairs()
        counts = Counter(call for calls in possible.values() for call in calls)
        repeated = [(key, call) for key, calls in possible.items() if (call := self._told(key, calls))]
        alone = [
            (key, calls[0])
            for key, calls in possible.items()
            if len(calls) == 1 and counts[calls[0]] == 1 and self._is_credible(key, calls[0])
        ]
        for key, call in repeated or alone:
            self._take(key, call, "value")
        return bool(repeated or alone)

    def _told(self, key: FrameKey, calls: Sequence[str]) -> str:
        """Return the call whose result can only be a frame's answer; a short text is so only without other calls."""
        telling = [call for call in calls if self._pairs.evidence(key, call)]
        if len(telling) != 1:
            return ""
        rivals = [rival for rival in self._pairs.frames[telling[0]] if rival != key]
        if any(self._pairs.evidence(rival, telling[0]) is not False for rival in rivals):
            return ""
        answer = self._frames[key].answer
        is_distinctive = answer is not None and len(next(iter(answer.texts), "")) >= DISTINCTIVE
        rest = [call for call in calls if call != telling[0]]
        if rest and not (is_distinctive and all(self._pairs.evidence(key, call) is False for call in rest)):
            return ""
        return telling[0]

    def _is_credible(self, key: FrameKey, call: str) -> bool:
        """Return whether the result repeats an answer, or at least does not differ where nobody else can have sent a frame."""
        frame, evidence = self._frames[key], self._pairs.evidence(key, call)
        is_own = self._lines[frame.server] == 1 or (*_host(self._calls[call]), frame.line) in self._used
        return evidence is True or (evidence is None and is_own)

    # Maybe.

    def take_likeliest(self) -> None:
        """Join what remains in order: first where the result repeats the answer."""
        for is_repeated in (True, False):
            for key in sorted(self._open_pairs(), key=lambda key: self._frames[key].at_ns):
                calls = [call for call in self._pairs.calls[key] if call not in self._sent]
                likely = [call for call in calls if self._pairs.evidence(key, call) or not is_repeated]
                if likely:
                    self._take(key, likely[0], "maybe")

    def take_earlier_tries(self) -> None:
        """Take the frames without an answer that only a call with a later frame may have sent."""
        for key, calls in self._pairs.calls.items():
            if key in self._taken or len(calls) != 1 or calls[0] not in self._sent:
                continue
            frame, last = self._frames[key], self._frames[self._sent[calls[0]][-1]]
            degree = self._known[calls[0]]
            if (frame.answer is None or frame.is_dropped) and frame.at_ns < last.at_ns and degree != "hand":
                self._take(key, calls[0], degree)

    def _take(self, key: FrameKey, call: str, known: Known) -> None:
        self._sent.setdefault(call, []).append(key)
        self._known[call] = known
        self._taken.add(key)
        self._used.add((*_host(self._calls[call]), self._frames[key].line))

    def _open_pairs(self) -> dict[FrameKey, list[str]]:
        """Return the frames and calls that are not joined yet."""
        return {
            key: [call for call in calls if call not in self._sent]
            for key, calls in self._pairs.calls.items()
            if calls and key not in self._taken
        }

    # What was found.

    def joined(self) -> Iterator[JoinedCall]:
        """Yield the calls with what was found."""
        results = dict(self._results())
        certain = {frame for call, own in self._sent.items() if self._known[call] != "maybe" for frame in own}
        for key, call in self._calls.items():
            own = self._sent.get(key, ())
            sent = tuple(sorted((self._frames[frame] for frame in own), key=lambda frame: frame.at_ns))
            server, tool = (sent[-1].server, sent[-1].tool) if sent else self._named(call)
            places, is_by_order = results.get(key, ((), False))
            answer = sent[-1].answer if sent else None
            yield JoinedCall(
                call=call,
                server=server,
                tool=tool,
                sent=sent,
                known=self._known.get(key, "value"),
                results=places,
                is_by_order=is_by_order,
                is_reported_differently=bool(places)
                and answer is not None
                and repeats(places[0].text, answer) is False,
                rivals=tuple(
                    self._frames[frame] for frame in self._pairs.frames[key] if frame not in certain.union(own)
                ),
            )

    def _named(self, call: Call) -> tuple[str, str]:
        """Return server and tool that a call's name states; the name as it is if it states no server for certain."""
        named = [tool for tool in self._pairs.tools[call.key] if names_server(call.name, *tool)]
        return named[0] if len(named) == 1 else ("", call.name)

    def _results(self) -> Iterator[tuple[str, tuple[tuple[Result, ...], bool]]]:
        """Yield the places of each call's result: by its frame's answer where results have only an order, else by order."""
        for group in result_groups(self._calls.values()):
            fitting = {call.key: [place for place in group if self._reports(place, call.key)] for call in group}
            is_whole = len({places[0].key for places in fitting.values() if len(places) == 1}) == len(group)
            is_same = len({call.results[0].text for call in group}) == 1
            for call in group:
                place = fitting[call.key][0] if is_whole else call
                is_told = is_same or (is_whole and self._known[call.key] != "maybe")
                yield call.key, (place.results, not is_told)

    def _reports(self, place: Call, call: str) -> bool:
        """Return whether the result in one call's place repeats the answer that another call got."""
        answer = self._frames[self._sent[call][-1]].answer if call in self._sent else None
        return answer is not None and repeats(place.results[0].text, answer) is True


def _host(call: Call) -> tuple[object, ...]:
    """Return what tells a call's host from others."""
    return call.capture, call.host, call.agent
