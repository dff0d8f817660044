"""Join the calls that models made with the frames on servers' wires, and with the results in later requests.

Certain is a pair by an id on both sides, by a text that no other frame brought, or the only pair that name, arguments, host and
time leave. Of what remains, the likeliest pairs are joined as «maybe».
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import TypeAlias

from tui_host.capture.link import Known
from tui_host.capture.visible import line
from tui_host.infer.call_values import Call, CallFrame, FrameKey, Line, Result, lean
from tui_host.infer.conversations.host_names import host_named, is_host
from tui_host.infer.matching.reports import DISTINCTIVE, is_failure, repeats
from tui_host.infer.matching.tool_names import Tool, meant, names_server, tools_named
from tui_host.infer.tapped_frames import TappedFrames

REPORTED_DIFFERENTLY = "reported differently"  # the remark on a call whose result differs from the server's answer
_SURE_NS = 20_000_000  # the most by which the clocks of two processes on one machine differ
_PATIENCE_NS = 3000 * 1_000_000_000  # how long after a call its frame may be sent if the conversation does not continue
_NEAR_NS = 300 * 10**9  # so soon a call is sent whose host asks no more
Choices: TypeAlias = Mapping[tuple[str, str, int], bool]
"""A person's choices: whether a call, by its key, is joined with a frame, by capture and record, or parted from it."""
_Kind: TypeAlias = tuple[str, str, str]
"""Server, tool, and arguments in `lean` form."""


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


def match(calls: Sequence[Call], tapped: TappedFrames, choices: Choices | None = None) -> Sequence[JoinedCall]:
    """Return the calls in order, each with its frames and results. A person's choices beat all that is inferred."""
    matching = _Matching(calls, tapped)
    matching.take_told(choices or {})
    while matching.take_certain():
        pass
    matching.take_likeliest()
    return list(matching.joined())


class _Matching:
    def __init__(self, calls: Sequence[Call], tapped: TappedFrames) -> None:
        self._frames = dict(sorted(tapped.sent.items(), key=lambda pair: pair[1].at_ns))
        self._tools = tapped.tools
        self._calls = {call.key: call for call in calls}
        self._texts: dict[str, Sequence[str]] = {}  # the results of which one is the call's
        groups: dict[tuple[str, ...], list[Call]] = defaultdict(list)
        for call in calls:
            if call.results:
                kind = call.name if call.results[0].by_name else ""
                groups[(call.key,) if call.results[0].by_id else (call.capture, call.exchange, kind)].append(call)
        self._groups = list(groups.values())  # of calls whose results only the order tells apart
        for group in self._groups:
            texts = tuple(dict.fromkeys(call.results[0].text for call in group))
            self._texts.update(dict.fromkeys((call.key for call in group), texts))
        self._evidence: dict[tuple[FrameKey, str], bool | None] = {}
        self._named: dict[str, frozenset[Tool]] = {}  # the tools that each call's name may stand for
        self._calls_of: dict[FrameKey, list[str]] = {key: [] for key in self._frames}  # that each frame may carry
        self._frames_of: dict[str, list[FrameKey]] = {call.key: [] for call in calls}
        self._sent: dict[str, list[FrameKey]] = {}  # in the order of time
        self._known: dict[str, Known] = {}
        self._taken: set[FrameKey] = set()
        self._lines = Counter(tapped.peers.values())  # how many connections each server has
        self._used: set[tuple[Hashable, Line]] = set()  # the connections that hosts use for certain
        # What is possible: by name, arguments, host and time.
        alike: dict[_Kind, list[CallFrame]] = defaultdict(list)
        for frame in self._frames.values():
            lean_arguments = lean(frame.arguments, self._tools.get((frame.server, frame.tool), {}))
            alike[frame.server, frame.tool, lean_arguments].append(frame)
        tools: dict[tuple[str, tuple[str, ...]], frozenset[Tool]] = {}
        clients, at_ns = {key: host_named(name) for key, name in tapped.clients.items()}, attrgetter("at_ns")
        for call in self._calls.values():
            name, arguments = meant(call)
            if (name, call.offered) not in tools:
                tools[name, call.offered] = tools_named(name, self._tools, call.offered)
            self._named[call.key] = tools[name, call.offered]
            until_ns = call.at_ns + _PATIENCE_NS if call.until_ns is None else call.until_ns
            for tool in self._named[call.key] if arguments is not None else ():
                frames = alike.get((*tool, lean(arguments or "", self._tools.get(tool, {}))), [])
                first = bisect_left(frames, call.at_ns - _SURE_NS, key=at_ns)
                for frame in frames[first : bisect_right(frames, until_ns + _SURE_NS, key=at_ns)]:
                    client = clients.get(frame.line, "")
                    if client == call.host or not (is_host(client) and is_host(call.host)):
                        self._calls_of[frame.key].append(call.key)
                        self._frames_of[call.key].append(frame.key)

    def _repeats(self, key: FrameKey, call: str) -> bool | None:
        """Return whether a call's result repeats a frame's answer; None if nothing speaks for or against it."""
        if (key, call) not in self._evidence:
            frame, texts = self._frames[key], self._texts.get(call, ())
            if frame.answer is None or frame.is_dropped:
                grades = {None if is_failure(text) else False for text in texts}
            else:
                grades = {repeats(text, frame.answer) for text in texts}
            self._evidence[key, call] = next((grade for grade in (True, None, False) if grade in grades), None)
        return self._evidence[key, call]

    # Certain.

    def take_told(self, choices: Choices) -> None:
        """Take and forget the pairs that a person joined and parted, then take the frames that hold a call's id."""
        for (call, capture, seq), is_joined in choices.items():
            key = capture, seq
            if is_joined and call in self._calls and key in self._frames and key not in self._taken:
                self._take(key, call, "hand")
            elif not is_joined and call in self._calls_of.get(key, ()):
                self._calls_of[key].remove(call)
                self._frames_of[call].remove(key)
        counts = Counter(call.wire_id for call in self._calls.values())
        owners = {call.wire_id: call.key for call in self._calls.values() if counts[call.wire_id] == 1}
        named: set[Line] = set()
        for key, frame in self._frames.items():
            calls = [owners[identity] for identity in frame.ids if identity in owners]
            if len(calls) == 1 and key not in self._taken:
                if self._known.get(calls[0], "id") == "id":
                    self._take(key, calls[0], "id")
                named.add(frame.line)
        # Where some frames hold calls' ids, the ids in others are of calls that were not captured.
        self._taken |= {key for key, frame in self._frames.items() if frame.ids and frame.line in named}

    def take_certain(self) -> bool:
        """Take the pairs whose text nothing else explains; where there are none, those that are the only ones left."""
        possible = {
            key: [call for call in calls if call not in self._sent]
            for key, calls in self._calls_of.items()
            if calls and key not in self._taken
        }
        counts = Counter(call for calls in possible.values() for call in calls)
        pairs: list[tuple[FrameKey, str]] = []
        for key, calls in possible.items():
            telling = [call for call in calls if self._repeats(key, call)]
            if len(telling) != 1:
                continue
            rivals = [rival for rival in self._frames_of[telling[0]] if rival != key]
            answer, rest = self._frames[key].answer, [call for call in calls if call != telling[0]]
            # A short text tells only without other calls.
            is_distinctive = answer is not None and len(next(iter(answer.texts), "")) >= DISTINCTIVE
            is_own = not rest or (is_distinctive and all(self._repeats(key, call) is False for call in rest))
            if is_own and all(self._repeats(rival, telling[0]) is False for rival in rivals):
                pairs.append((key, telling[0]))
        for key, calls in possible.items() if not pairs else ():
            if len(calls) != 1 or counts[calls[0]] != 1:
                continue
            # Where nobody else can have sent the frame, it is enough that the result does not differ. One that comes long
            # after a call that nothing follows may be anybody's.
            frame, asked, is_told = self._frames[key], self._calls[calls[0]], self._repeats(key, calls[0])
            is_late = asked.until_ns is None and frame.at_ns > asked.at_ns + _NEAR_NS
            is_own = not is_late and (self._lines[frame.server] == 1 or (asked.agent, frame.line) in self._used)
            if is_told or (is_told is None and is_own):
                pairs.append((key, calls[0]))
        for key, call in pairs:
            self._take(key, call, "value")
        return bool(pairs)

    # Maybe.

    def take_likeliest(self) -> None:
        """Join what remains in order: first where the result repeats the answer."""
        for is_repeated in (True, False):
            for key, possible in self._calls_of.items():
                calls = [call for call in possible if call not in self._sent and key not in self._taken]
                likely = [call for call in calls if self._repeats(key, call) or not is_repeated]
                if likely:
                    self._take(key, likely[0], "maybe")

    def _take(self, key: FrameKey, call: str, known: Known) -> None:
        sent = self._sent.setdefault(call, [])
        sent.append(key)
        sent.sort(key=lambda frame: self._frames[frame].at_ns)
        self._known[call] = known
        self._taken.add(key)
        if known != "maybe":
            self._used.add((self._calls[call].agent, self._frames[key].line))

    # What was found.

    def joined(self) -> Iterator[JoinedCall]:
        # The places of each call's result, and whether only order says so: by its frame's answer where results have only an
        # order, else by order.
        results: dict[str, tuple[tuple[Result, ...], bool]] = {}
        for group in self._groups:
            fitting: list[Sequence[Call]] = []
            for call in group:
                answer = self._frames[self._sent[call.key][-1]].answer if call.key in self._sent else None
                texts = ((place, place.results[0].text) for place in group)
                fitting.append([place for place, text in texts if answer is not None and repeats(text, answer)])
            is_whole = len({places[0].key for places in fitting if len(places) == 1}) == len(group)
            for call, places in zip(group, fitting, strict=True):
                is_told = len(self._texts[call.key]) == 1 or (is_whole and self._known[call.key] != "maybe")
                results[call.key] = (places[0] if is_whole else call).results, not is_told
        certain = {frame for call, own in self._sent.items() if self._known[call] != "maybe" for frame in own}
        for key, call in self._calls.items():
            own = self._sent.get(key, [])
            sent = tuple(self._frames[frame] for frame in own)
            named = [tool for tool in self._named[key] if names_server(call.name, *tool)]
            server, tool = named[0] if len(named) == 1 else ("", call.name)
            places, is_by_order = results.get(key, ((), False))
            answer = sent[-1].answer if sent and places else None
            rivals = [frame for frame in self._frames_of[key] if frame not in certain and frame not in own]
            yield JoinedCall(
                call=call,
                server=sent[-1].server if sent else server,
                tool=sent[-1].tool if sent else tool,
                sent=sent,
                known=self._known.get(key, "value"),
                results=places,
                is_by_order=is_by_order,
                is_reported_differently=answer is not None and repeats(places[0].text, answer) is False,
                rivals=tuple(self._frames[frame] for frame in rivals),
            )


# By hand: what a person may choose among. A choice beats all that is inferred.


@dataclass(frozen=True, slots=True, kw_only=True)
class Pairing:
    """A call, by its key, and a frame, by capture and record, that may be joined, or parted if they are joined now."""

    call: str
    frame: tuple[str, int]
    words: str
    is_joined: bool


def pairing_of(call: JoinedCall, frame: CallFrame) -> Pairing:
    """Return a pair with its words."""
    is_joined = frame in call.sent
    state = f" (joined, {call.known})" if is_joined else ""
    arguments, seconds = line(call.call.arguments, 60), (frame.at_ns - call.call.at_ns) / 1e9
    words = f"{call.call.name} {arguments} - {frame.server} #{frame.rpc_id} {frame.tool}, {seconds:+.1f} s{state}"
    return Pairing(call=call.call.key, frame=frame.key, words=words, is_joined=is_joined)
