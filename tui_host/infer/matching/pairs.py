"""Find the calls that each frame may carry, by name, arguments, host and time, and what the reported results say of a pair."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from operator import attrgetter
from typing import TypeAlias

from tui_host.capture.wall_clock import WallClock
from tui_host.infer.call_values import Call, CallFrame, FrameKey, lean
from tui_host.infer.conversations.host_names import host_named, is_host
from tui_host.infer.matching.reports import is_failure, repeats
from tui_host.infer.matching.tool_names import Tool, meant, tools_named
from tui_host.infer.tapped_frames import TappedFrames

_SURE_NS = 20_000_000
"""The most by which the clocks of two processes on one machine differ."""
_PATIENCE_NS = 3000 * 1_000_000_000
"""How long after a call its frame may be sent if the conversation does not continue."""
_SAME_BOOT_NS = 1_000_000_000
_MOST_UNTIMED = 100
"""The most frames of one kind among which a call's frame is looked for without times."""
_Kind: TypeAlias = tuple[str, str, str]
"""Server, tool, and arguments in `lean` form."""


class PossiblePairs:
    """Frames with the calls that each may carry.

    Attributes:
        calls: The keys of the calls that each frame may carry.
        frames: The frames that may carry each call.
        tools: Server and own name of the tools that each call's name may stand for.
    """

    def __init__(self, calls: Sequence[Call], tapped: TappedFrames, clock: WallClock) -> None:
        self._sent = tapped.sent
        self._texts = {call.key: _texts(group) for group in result_groups(calls) for call in group}
        self._evidence: dict[tuple[FrameKey, str], bool | None] = {}
        self._defaults = tapped.tools
        self._timed: Mapping[_Kind, list[CallFrame]] = defaultdict(list)
        self._untimed: Mapping[_Kind, list[CallFrame]] = defaultdict(list)
        untimed = _with_other_clocks({frame.capture for frame in self._sent.values()}, calls, clock)
        for frame in sorted(self._sent.values(), key=attrgetter("at_ns")):
            by_kind = self._untimed if frame.capture in untimed else self._timed
            by_kind[self._kind((frame.server, frame.tool), frame.arguments)].append(frame)
        self.calls: dict[FrameKey, list[str]] = {key: [] for key in self._sent}
        self.frames: dict[str, list[FrameKey]] = {call.key: [] for call in calls}
        self.tools: dict[str, frozenset[Tool]] = {}
        named: dict[tuple[str, tuple[str, ...]], frozenset[Tool]] = {}
        clients = {line: host_named(name) for line, name in tapped.clients.items()}
        for call in calls:
            name, arguments = meant(call)
            if (name, call.offered) not in named:
                named[name, call.offered] = tools_named(name, tapped.tools, call.offered)
            self.tools[call.key] = named[name, call.offered]
            for frame in () if arguments is None else self._near(call, arguments):
                client = clients.get(frame.line, "")
                if client == call.host or not (is_host(client) and is_host(call.host)):
                    self.calls[frame.key].append(call.key)
                    self.frames[call.key].append(frame.key)

    def evidence(self, frame: FrameKey, call: str) -> bool | None:
        """Return whether a call's result repeats a frame's answer; None if nothing speaks for or against it."""
        pair = frame, call
        if pair not in self._evidence:
            self._evidence[pair] = self._grade(self._sent[frame], self._texts.get(call, ()))
        return self._evidence[pair]

    def _grade(self, frame: CallFrame, texts: Sequence[str]) -> bool | None:
        answer = None if frame.is_dropped else frame.answer
        if not texts:
            return None
        if answer is None:
            return None if any(map(is_failure, texts)) else False
        grades = {repeats(text, answer) for text in texts}
        if True in grades:
            return True
        return None if None in grades else False

    def _kind(self, tool: Tool, arguments: str) -> _Kind:
        return *tool, lean(arguments, self._defaults.get(tool, {}))

    def _near(self, call: Call, arguments: str) -> Iterator[CallFrame]:
        """Yield the frames of a call's kinds at the call's time, and those whose time says nothing, if they are few."""
        until_ns = call.at_ns + _PATIENCE_NS if call.until_ns is None else call.until_ns
        at_ns = attrgetter("at_ns")
        for tool in self.tools[call.key]:
            kind = self._kind(tool, arguments)
            timed, untimed = self._timed.get(kind, []), self._untimed.get(kind, [])
            first = bisect_left(timed, call.at_ns - _SURE_NS, key=at_ns)
            yield from timed[first : bisect_right(timed, until_ns + _SURE_NS, key=at_ns)]
            yield from untimed if len(untimed) <= _MOST_UNTIMED else ()


def result_groups(calls: Iterable[Call]) -> Iterable[Sequence[Call]]:
    """Return the calls with results, those together whose results only the order tells apart."""
    groups: dict[tuple[str, ...], list[Call]] = defaultdict(list)
    for call in calls:
        if call.results and call.results[0].by_id:
            groups[call.key,].append(call)
        elif call.results:
            groups[call.capture, call.exchange, call.name if call.results[0].by_name else ""].append(call)
    return groups.values()


def _texts(group: Iterable[Call]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(call.results[0].text for call in group))


def _with_other_clocks(captures: set[str], calls: Iterable[Call], clock: WallClock) -> frozenset[str]:
    """Return the captures of frames whose times say nothing beside the models', as of logs of two machines.

    Captures of one machine since it booted have one clock, and so have those of one file.
    """
    models = {call.capture for call in calls}
    boots = [clock.boot_ns(capture) for capture in models]
    alike = {capture for capture in captures if _is_near(clock.boot_ns(capture), boots)}
    return frozenset(captures - alike - (models if len(models) == 1 else set()))


def _is_near(boot_ns: int | None, boots: Iterable[int | None]) -> bool:
    """Return whether a machine's boot is the same as all of several; unknown where times came with a file."""
    if boot_ns is None or boot_ns <= _SAME_BOOT_NS:
        return False
    return all(begun is not None and abs(begun - boot_ns) < _SAME_BOOT_NS for begun in boots)
