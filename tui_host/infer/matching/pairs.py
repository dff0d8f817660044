"""Find the calls that each frame may carry, by name, arguments, host and time."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import TypeAlias

from tui_host.capture.wall_clock import WallClock
from tui_host.infer.call_values import Answer, Call, CallFrame, FrameKey, lean
from tui_host.infer.conversations.host_names import host_named, is_host
from tui_host.infer.matching.reports import is_denial, is_failure, repeats
from tui_host.infer.matching.tool_names import meant, tools_named
from tui_host.infer.tapped_frames import TappedFrames

SURE_NS = 20_000_000
"""The most by which the clocks of two processes on one machine differ."""
EVER_NS = 1 << 62
_PATIENCE_NS = 3000 * 1_000_000_000
"""How long after a call its frame may be sent if the conversation does not continue."""
_SAME_BOOT_NS = 1_000_000_000
_MOST_UNTIMED = 100
"""The most frames of one kind among which a call's frame is looked for without times."""
_Kind: TypeAlias = tuple[str, str, str]
"""Server, tool, and arguments in `lean` form."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Candidate:
    """A call with what matching needs to know.

    Attributes:
        call: The call.
        arguments: The arguments in canonical form; None if not JSON.
        tools: Server and own name of the tools that the call's name may stand for.
        texts: The reported results of which one is the call's; several where only their order says which.
    """

    call: Call
    arguments: str | None
    tools: AbstractSet[tuple[str, str]]
    texts: tuple[str, ...]

    @property
    def told_ns(self) -> int:
        """When the model was told the result."""
        return self.call.results[0].at_ns if self.call.results else EVER_NS

    @property
    def until_ns(self) -> int:
        """Until when a frame may be sent for the call."""
        return self.call.at_ns + _PATIENCE_NS if self.call.until_ns is None else self.call.until_ns

    @property
    def is_denied(self) -> bool:
        """Whether the result states that the call was never sent."""
        return bool(self.texts) and all(map(is_denial, self.texts))

    def is_in_time(self, frame: CallFrame) -> bool:
        """Return whether a frame was sent after the call was made and before the conversation continued."""
        return self.call.at_ns - SURE_NS <= frame.at_ns <= self.until_ns + SURE_NS

    def evidence(self, answer: Answer | None) -> bool | None:
        """Return whether the result repeats an answer; None if nothing speaks for or against it."""
        if not self.texts:
            return None
        if answer is None:
            return None if any(map(is_failure, self.texts)) else False
        grades = {repeats(text, answer) for text in self.texts}
        if True in grades:
            return True
        return None if None in grades else False


class PossiblePairs:
    """Frames with the calls that each may carry.

    Args:
        calls: The calls.
        tapped: The servers' side.
        clock: The clock that all captures share.

    Attributes:
        candidates: The calls by key.
        calls: The keys of the calls that each frame may carry.
        frames: The frames that may carry each call.
        unasked: Server and name of the tools that a host also calls without a captured model.
    """

    def __init__(self, calls: Sequence[Call], tapped: TappedFrames, clock: WallClock) -> None:
        self._sent = tapped.sent
        self._clock = clock
        self._clients = {line: host_named(name) for line, name in tapped.clients.items()}
        self._defaults = {(frame.server, frame.tool): dict(frame.defaults) for frame in self._sent.values()}
        self._by_kind: dict[_Kind, list[CallFrame]] = defaultdict(list)
        self._by_text: dict[tuple[_Kind, str], list[CallFrame]] = defaultdict(list)
        for frame in sorted(self._sent.values(), key=lambda frame: frame.at_ns):
            kind = self._kind((frame.server, frame.tool), frame.arguments)
            self._by_kind[kind].append(frame)
            self._by_text[kind, text_of(frame)].append(frame)
        self._times = {kind: [frame.at_ns for frame in frames] for kind, frames in self._by_kind.items()}
        self.candidates = {candidate.call.key: candidate for candidate in _candidates(calls, tapped.tools)}
        self._evidence: dict[tuple[FrameKey, str], bool | None] = {}
        self._untimed = self._with_other_clocks()
        self.calls: dict[FrameKey, list[str]] = {key: [] for key in self._sent}
        self.frames: dict[str, list[FrameKey]] = {key: [] for key in self.candidates}
        for key, candidate in self.candidates.items():
            for frame in self._near(candidate):
                if self._may_carry(frame, candidate):
                    self.calls[frame.key].append(key)
                    self.frames[key].append(frame.key)
        self.unasked = {(self._sent[key].server, self._sent[key].tool) for key, own in self.calls.items() if not own}

    def part(self, frame: FrameKey, call: str) -> None:
        """Forget a pair."""
        if call in self.calls.get(frame, ()):
            self.calls[frame].remove(call)
            self.frames[call].remove(frame)

    def answer(self, frame: FrameKey, call: str) -> Answer | None:
        """Return a frame's answer, None if there was none when the model was told the call's result."""
        sent = self._sent[frame]
        if sent.answer is None or sent.is_dropped:
            return None
        is_late = sent.answer.at_ns > self.candidates[call].told_ns + SURE_NS and sent.capture not in self._untimed
        return None if is_late else sent.answer

    def evidence(self, frame: FrameKey, call: str) -> bool | None:
        """Return whether a call's result repeats a frame's answer; None if nothing speaks for or against it."""
        pair = frame, call
        if pair not in self._evidence:
            self._evidence[pair] = self.candidates[call].evidence(self.answer(frame, call))
        return self._evidence[pair]

    def is_first_with_text(self, frame: FrameKey, call: str) -> bool:
        """Return whether no other frame like the call's brought a frame's text before the call's result was told."""
        sent, candidate = self._sent[frame], self.candidates[call]
        by_ns = EVER_NS if sent.capture in self._untimed else candidate.told_ns
        return not any(
            rival.key != frame and rival.at_ns <= by_ns
            for kind in self._kinds(candidate)
            for rival in self._by_text.get((kind, text_of(sent)), ())
        )

    def _kind(self, tool: tuple[str, str], arguments: str) -> _Kind:
        return *tool, lean(arguments, self._defaults.get(tool, {}))

    def _kinds(self, candidate: Candidate) -> Iterator[_Kind]:
        if candidate.arguments is not None:
            yield from (
                kind for tool in candidate.tools if (kind := self._kind(tool, candidate.arguments)) in self._by_kind
            )

    def _near(self, candidate: Candidate) -> Iterator[CallFrame]:
        """Yield the frames of a call's kinds at the call's time, and those whose time says nothing, if they are few."""
        for kind in self._kinds(candidate):
            frames, times = self._by_kind[kind], self._times[kind]
            first = bisect_left(times, candidate.call.at_ns - SURE_NS)
            last = bisect_right(times, candidate.until_ns + SURE_NS)
            if self._untimed and len(frames) <= _MOST_UNTIMED:
                first, last = 0, len(frames)
            yield from (frame for frame in frames[first:last] if self._is_comparable(frame, len(frames)))

    def _is_comparable(self, frame: CallFrame, alike: int) -> bool:
        return alike <= _MOST_UNTIMED or frame.capture not in self._untimed

    def _may_carry(self, frame: CallFrame, candidate: Candidate) -> bool:
        call, client = candidate.call, self._clients.get(frame.line, "")
        if client != call.host and is_host(client) and is_host(call.host):
            return False
        if frame.capture not in self._untimed and not candidate.is_in_time(frame):
            return False
        return not candidate.is_denied or self.evidence(frame.key, call.key) is True

    def _with_other_clocks(self) -> frozenset[str]:
        """Return the captures whose times say nothing beside the models', as of logs of two machines.

        Captures of one machine since it booted have one clock, and so have those of one file.
        """
        captures = {frame.capture for frame in self._sent.values()}
        models = {candidate.call.capture for candidate in self.candidates.values()}
        boots = [self._clock.boot_ns(capture) for capture in models]
        alike = {capture for capture in captures if _is_near(self._clock.boot_ns(capture), boots)}
        return frozenset(captures - alike - (models if len(models) == 1 else set()))


def text_of(frame: CallFrame) -> str:
    """Return the text of a frame's answer; empty if there is none."""
    return next(iter(frame.answer.texts), "") if frame.answer is not None else ""


def _candidates(calls: Sequence[Call], tools: AbstractSet[tuple[str, str]]) -> Iterator[Candidate]:
    named: dict[tuple[str, tuple[str, ...]], AbstractSet[tuple[str, str]]] = {}
    texts = _texts_of(calls)
    for call in calls:
        name, arguments = meant(call)
        if (name, call.offered) not in named:
            named[name, call.offered] = tools_named(name, tools, call.offered)
        tools_of_call = named[name, call.offered]
        yield Candidate(call=call, arguments=arguments, tools=tools_of_call, texts=texts.get(call.key, ()))


def _texts_of(calls: Iterable[Call]) -> dict[str, tuple[str, ...]]:
    """Return the texts of which one is a call's result: all of one answer's where neither an id nor a name says which."""
    texts: dict[str, tuple[str, ...]] = {}
    for group in result_groups(calls):
        together = tuple(dict.fromkeys(call.results[0].text for call in group))
        texts.update({call.key: together for call in group})
    return texts


def result_groups(calls: Iterable[Call]) -> Iterable[Sequence[Call]]:
    """Return the calls with results, those together whose results only the order tells apart."""
    groups: dict[tuple[str, ...], list[Call]] = defaultdict(list)
    for call in calls:
        if call.results and call.results[0].by_id:
            groups[call.key,].append(call)
        elif call.results:
            groups[call.capture, call.exchange, call.name if call.results[0].by_name else ""].append(call)
    return groups.values()


def _is_near(boot_ns: int | None, boots: Iterable[int | None]) -> bool:
    """Return whether a machine's boot is the same as all of several; unknown where times came with a file."""
    if boot_ns is None or boot_ns <= _SAME_BOOT_NS:
        return False
    return all(begun is not None and abs(begun - boot_ns) < _SAME_BOOT_NS for begun in boots)
