"""Join the calls that models made with the frames on servers' wires, and with the results in later requests.

Certain is a pair by an id on both sides, by a text that no other frame brought, or where no largest matching of calls and
frames can do without it. Of what remains, the likeliest pairs are joined as «maybe».
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from tui_host.capture.link import Known
from tui_host.capture.wall_clock import WallClock
from tui_host.infer.call_values import Call, CallFrame, FrameKey, Line, Result
from tui_host.infer.matching.assignment import largest_matching, necessary_pairs
from tui_host.infer.matching.pairs import EVER_NS, SURE_NS, Candidate, PossiblePairs, result_groups, text_of
from tui_host.infer.matching.reports import DISTINCTIVE, repeats
from tui_host.infer.matching.tool_names import names_server, tools_named
from tui_host.infer.tapped_frames import TappedFrames

REPORTED_DIFFERENTLY = "reported differently"
"""The remark on a call whose result differs from the server's answer."""
Choices: TypeAlias = Mapping[tuple[str, str, int], bool]
"""A person's choices: whether a call, by its key, is joined with a frame, by capture and record, or parted from it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinedCall:
    """A call with the frames that carried it and the places where the model is told its result.

    Attributes:
        call: The call.
        server: The server's name in the tap; empty if unknown.
        tool: The tool's own name, else the name as the model wrote it.
        sent: The frames that carried the call, earlier tries first.
        known: How the frames are known.
        results: The places of the result in requests.
        is_by_order: Whether only their order says that the results are this call's.
        is_reported_differently: Whether the result differs from the server's answer.
        rivals: The other frames that may have carried the call.
    """

    call: Call
    server: str
    tool: str
    sent: tuple[CallFrame, ...] = ()
    known: Known = "value"
    results: tuple[Result, ...] = ()
    is_by_order: bool = False
    is_reported_differently: bool = False
    rivals: tuple[CallFrame, ...] = ()

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
    """Return the calls in order, each with its frames and results.

    Args:
        calls: The calls.
        tapped: The servers' side.
        clock: The clock that all captures share.
        choices: What a person decided, which beats all.
    """
    matching = _Matching(calls, tapped, clock)
    matching.take_chosen(choices or {})
    matching.take_named()
    while matching.take_by_text() or matching.take_necessary():
        pass
    matching.take_earlier_tries()
    matching.take_likeliest()
    matching.take_earlier_tries()
    return list(matching.joined())


class _Matching:
    def __init__(self, calls: Sequence[Call], tapped: TappedFrames, clock: WallClock) -> None:
        self._frames = tapped.sent
        self._pairs = PossiblePairs(calls, tapped, clock)
        self._lines = _Lines(tapped)
        self._calls = self._pairs.candidates
        self._sent: dict[str, list[FrameKey]] = {}
        self._known: dict[str, Known] = {}
        self._taken: set[FrameKey] = set()

    # Certain.

    def take_chosen(self, choices: Choices) -> None:
        """Take and forget the pairs that a person joined and parted."""
        for (call, capture, seq), is_joined in choices.items():
            for key in [key for key in self._frames if key[:2] == (capture, seq)]:
                if not is_joined:
                    self._pairs.part(key, call)
                elif call in self._calls and key not in self._taken:
                    self._take(key, call, "hand")

    def take_named(self) -> None:
        """Take the frames that hold a call's id, with the call's arguments or tool."""
        owners: dict[str, list[Candidate]] = defaultdict(list)
        for candidate in self._calls.values():
            if candidate.call.wire_id:
                owners[candidate.call.wire_id].append(candidate)
        named: set[Line] = set()
        for key, frame in self._frames.items():
            of_ids = [owner for identity in frame.ids for owner in owners.get(identity, ())]
            if len(of_ids) == 1 and _means_the_same(of_ids[0], frame) and key not in self._taken:
                if self._known.get(of_ids[0].call.key, "id") == "id":
                    self._take(key, of_ids[0].call.key, "id")
                named.add(frame.line)
        # Where some frames hold calls' ids, the ids in others are of calls that were not captured.
        self._taken |= {key for key, frame in self._frames.items() if frame.ids and frame.line in named}

    def take_by_text(self) -> bool:
        """Take each pair whose text no other frame brought and no other call was told."""
        pairs: list[tuple[FrameKey, str]] = []
        for key in self._open_frames():
            calls = self._open_calls(key)
            telling = [call for call in calls if self._pairs.evidence(key, call)]
            if len(telling) == 1 and self._is_told(key, telling[0], calls):
                pairs.append((key, telling[0]))
        return self._take_all(pairs)

    def _is_told(self, key: FrameKey, call: str, calls: Sequence[str]) -> bool:
        """Return whether a call's result can only be a frame's answer; a short text is so only without other calls."""
        rivals = [rival for rival in self._pairs.frames[call] if rival != key]
        if any(self._pairs.evidence(rival, call) is not False for rival in rivals):
            return False
        if not self._pairs.is_first_with_text(key, call):
            return False
        if len(text_of(self._frames[key])) >= DISTINCTIVE:
            return all(self._pairs.evidence(key, rival) is False for rival in calls if rival != call)
        return len(calls) == 1

    def take_necessary(self) -> bool:
        """Take the pairs that every largest matching has, both with the frames that got no answer and without them."""
        edges = {key: self._open_calls(key) for key in self._open_frames()}
        answered = {
            key: [call for call in calls if self._pairs.answer(key, call) is not None] for key, calls in edges.items()
        }
        with_answer = necessary_pairs(answered)
        return self._take_all(
            (key, call)
            for key, call in necessary_pairs(edges).items()
            if (with_answer.get(key) == call or self._is_alone(key, call)) and self._is_credible(key, call)
        )

    def _is_alone(self, key: FrameKey, call: str) -> bool:
        """Return whether nothing else was ever possible for a frame and a call."""
        return self._pairs.calls[key] == [call] and self._pairs.frames[call] == [key]

    def _is_credible(self, key: FrameKey, call: str) -> bool:
        """Return whether the result does not speak against a pair, and nobody else can have sent the frame."""
        frame, candidate, evidence = self._frames[key], self._calls[call], self._pairs.evidence(key, call)
        if evidence is False or not self._lines.is_own(candidate.call, frame):
            return False
        is_asked = (frame.server, frame.tool) not in self._pairs.unasked
        return evidence is True or bool(candidate.texts) or is_asked

    def take_earlier_tries(self) -> None:
        """Take the frames without an answer that only a call with a later frame may have sent."""
        for key in list(self._open_frames()):
            calls = self._pairs.calls[key]
            frame, call = self._frames[key], calls[0] if len(calls) == 1 else ""
            last = self._frames[self._sent[call][-1]] if call in self._sent else frame
            is_tried = frame.at_ns < last.at_ns and self._pairs.answer(key, call) is None
            if is_tried and self._known[call] != "hand" and self._lines.is_own(self._calls[call].call, frame):
                self._take(key, call, self._known[call])

    # Maybe.

    def take_likeliest(self) -> None:
        """Join what remains in order: first where the result repeats the answer, last where it speaks against it."""
        frames = sorted(self._open_frames(), key=lambda key: self._frames[key].at_ns)
        for accepted in ((True,), (True, None), (True, None, False)):
            edges = {
                key: [call for call in self._open_calls(key) if self._pairs.evidence(key, call) in accepted]
                for key in frames
                if key not in self._taken
            }
            for key, call in largest_matching(edges).items():
                self._take(key, call, "maybe")

    # Taking.

    def _take_all(self, pairs: Iterable[tuple[FrameKey, str]]) -> bool:
        taken = list(pairs)
        for key, call in taken:
            self._take(key, call, "value")
            self._lines.learn(self._calls[call].call, self._frames[key])
        return bool(taken)

    def _take(self, key: FrameKey, call: str, known: Known) -> None:
        self._sent.setdefault(call, []).append(key)
        self._known[call] = known
        self._taken.add(key)

    def _open_frames(self) -> Iterator[FrameKey]:
        return (key for key, calls in self._pairs.calls.items() if calls and key not in self._taken)

    def _open_calls(self, key: FrameKey) -> list[str]:
        frame = self._frames[key]
        return [
            call
            for call in self._pairs.calls[key]
            if call not in self._sent and self._lines.may_be_own(self._calls[call].call, frame)
        ]

    # What was found.

    def joined(self) -> Iterator[JoinedCall]:
        """Yield the calls with what was found."""
        results = dict(self._results())
        certain = {frame for call, own in self._sent.items() if self._known[call] != "maybe" for frame in own}
        for key, candidate in self._calls.items():
            own = self._sent.get(key, ())
            sent = tuple(sorted((self._frames[frame] for frame in own), key=lambda frame: frame.at_ns))
            server, tool = (sent[-1].server, sent[-1].tool) if sent else _named(candidate)
            places, is_by_order = results.get(key, ((), False))
            answer = sent[-1].answer if sent else None
            yield JoinedCall(
                call=candidate.call,
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

    def _results(self) -> Iterator[tuple[str, tuple[tuple[Result, ...], bool]]]:
        """Yield the places of each call's result: by its frame's answer where results have only an order, else by order."""
        for group in result_groups(candidate.call for candidate in self._calls.values()):
            if len(group) == 1:
                yield group[0].key, (group[0].results, False)
                continue
            fitting = {call.key: [place for place in group if self._reports(place, call.key)] for call in group}
            wanted = Counter(place.key for places in fitting.values() for place in places)
            sure = {key: own[0] for key, own in fitting.items() if len(own) == 1 and wanted[own[0].key] == 1}
            left = [place for place in group if place not in sure.values()]
            is_whole, is_same = len(sure) == len(group), len({place.results[0].text for place in group}) == 1
            for call in group:
                place = sure.get(call.key) or (call if call in left else left[0])
                left = [free for free in left if free is not place]
                is_told = call.key in sure and self._known[call.key] != "maybe" and is_whole
                yield call.key, (place.results, not (is_same or is_told))

    def _reports(self, place: Call, call: str) -> bool:
        """Return whether the result in one call's place repeats the answer that another call got."""
        answer = self._frames[self._sent[call][-1]].answer if call in self._sent else None
        return answer is not None and repeats(place.results[0].text, answer) is True


class _Lines:
    """Which connections each host is known to use, and which others were open beside one.

    Args:
        tapped: The servers' side.
    """

    def __init__(self, tapped: TappedFrames) -> None:
        self._used: dict[tuple[tuple[object, ...], str], set[Line]] = defaultdict(set)
        self._open: dict[str, dict[Line, tuple[int, int]]] = defaultdict(dict)
        last = dict(tapped.since)
        for frame in tapped.sent.values():
            last[frame.line] = max(last[frame.line], frame.at_ns, 0 if frame.answer is None else frame.answer.at_ns)
        newest: dict[tuple[str, str], int] = {}
        for line, server in tapped.peers.items():
            client = server, tapped.clients.get(line, "")
            newest[client] = max(newest.get(client, 0), tapped.since[line])
        for line, server in tapped.peers.items():
            # Nothing else tells that a connection ended than the same client's next one.
            is_followed = newest[server, tapped.clients.get(line, "")] > last[line]
            self._open[server][line] = tapped.since[line], last[line] if is_followed else EVER_NS

    def learn(self, call: Call, frame: CallFrame) -> None:
        """Learn that a call's host uses a frame's connection."""
        self._used[_host(call), frame.server].add(frame.line)

    def is_own(self, call: Call, frame: CallFrame) -> bool:
        """Return whether only the call's host can have sent a frame."""
        return frame.line in self._used[_host(call), frame.server] or not self._has_others(frame)

    def may_be_own(self, call: Call, frame: CallFrame) -> bool:
        """Return whether a frame's connection is not known to be another host's."""
        return self.is_own(call, frame) or not self._used[_host(call), frame.server]

    def _has_others(self, frame: CallFrame) -> bool:
        """Return whether other connections to the server were open when a frame was sent."""
        return any(
            line != frame.line and since <= frame.at_ns + SURE_NS and until >= frame.at_ns - SURE_NS
            for line, (since, until) in self._open[frame.server].items()
        )


def _host(call: Call) -> tuple[object, ...]:
    """Return what tells a call's host from others."""
    return call.capture, call.host, call.agent


def _named(candidate: Candidate) -> tuple[str, str]:
    """Return server and tool that a call's name states; the name as it is if it states no server for certain."""
    name = candidate.call.name
    named = [tool for tool in candidate.tools if names_server(name, *tool)]
    return named[0] if len(named) == 1 else ("", name)


def _means_the_same(candidate: Candidate, frame: CallFrame) -> bool:
    tool = frame.server, frame.tool
    return candidate.arguments == frame.arguments or bool(tools_named(candidate.call.name, [tool]))
