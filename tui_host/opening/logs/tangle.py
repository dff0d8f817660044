"""Where in a log the events of several answers stand between each other, and nothing tells of which each is.

That is seen where a stream begins before another has ended, as it also does where that was given up: what follows tells it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from tui_host.capture.http.sse import SseDecoder
from tui_host.capture.json.scan import Data
from tui_host.capture.record import Draft
from tui_host.errors import JSON
from tui_host.opening.course import FIRST, LAST, Course, is_of_a_course, kind_of
from tui_host.opening.drafts import line_of, read_value
from tui_host.opening.logs.mixed import Mixed, mixed_in

LOOKED_AT = 1 << 20
"""Bytes behind the beginning of a stream in which something of another one would be found; they are looked at once, and an eighth of them twice."""
LONGEST = 16 << 20
"""Bytes in which such events end."""
WORDS = "events of several answers at the same time, and nothing tells of which each is"


_EVENT = re.compile(
    rb"""type\\*["']\s*:\s*\\*["'](message_(?:start|stop|delta)|content_block_(?:start|delta|stop)|response\.[a-z_.]{1,60})\\*["']"""
)
_NUMBER = re.compile(rb"""["'](index|sequence_number)\\*["']\s*:\s*(\d{1,9})""")
_NEAR = 300
"""Bytes around the kind of an event in which its number stands."""


class Tangle(NamedTuple):
    """Part of a log, in bytes.

    Attributes:
        begin: Where it begins.
        end: Where it ends; there it begins itself where there is none.
    """

    begin: int
    end: int


class Tangles:
    """Those of one log.

    Args:
        data: The log.
        read_from: Gives what comes from a place on, as if all came after each other, and the place of each.

    Attributes:
        at: The place that was come to.
    """

    def __init__(self, data: Data, read_from: Callable[[int], Iterator[tuple[int, Draft]]]) -> None:
        self.at = 0
        self._data = data
        self._read_from = read_from
        self._last = self._next = Tangle(0, 0)
        self._clear = 0
        self._mixed = Mixed(0, 0)
        self._begins: list[int] = []

    @property
    def end(self) -> int:
        """Where the last one ends that was come to."""
        return self._last.end

    def are_here(self, *, is_sure: bool) -> bool:
        """Whether one is where a stream begins while another has not ended.

        Args:
            is_sure: It is one, and only its end is sought.
        """
        at = self.at
        if not self._last.begin <= at < self._last.end:
            if not is_sure and at >= self._clear:
                self._look(at)
            is_next = self._next.begin <= at < self._next.end
            if is_next or is_sure:
                self._last = self._next if is_next else _tangle_in(self._read_from(at), at, is_found=True)
                self._begins += [self._last.begin] if self._last.end > self._last.begin else []
            if self._last.end > self._clear:  # else what was seen ahead stays as it was seen: it is looked at once
                self._next, self._clear = Tangle(0, 0), at
        return self._last.begin <= at < self._last.end

    def are_mixed_here(self, awaited: int, *, have_ids: bool) -> bool:
        """Whether one is where a stream begins whose pieces name none: theirs stand between those of others.

        Args:
            awaited: How many answers are.
            have_ids: An id of a piece is that of its stream.
        """
        at = self.at
        if self._last.begin <= at < self._last.end:
            return True
        if at >= self._mixed.end:
            self._mixed = mixed_in(self._read_from(at), at, awaited, have_ids=have_ids)
        are_here = 0 <= self._mixed.begin <= at < self._mixed.end
        if are_here:
            self._last = Tangle(at, self._mixed.end)
            self._begins.append(at)
        return are_here

    def _look(self, at: int) -> None:
        """See what is ahead of a place."""
        found = _tangle_in(self._read_from(at), at, is_found=False) if _may_be(self._data, at) else Tangle(at, at)
        is_one = found.end > found.begin
        self._next = found if is_one else Tangle(0, 0)
        self._clear = found.begin if is_one else at + LOOKED_AT * 7 // 8

    def told(self, name: str) -> Iterator[str]:
        """What a person is told of them."""
        if self._begins:
            times = f"{len(self._begins):,} times, first from" if len(self._begins) > 1 else "from"
            line = line_of(self._data, self._begins[0])
            yield f"{name} has {WORDS}, {times} line {line} on: they are shown as they are, and no answer is made of them."


class _Stream:
    """One stream, if all goes on after each other.

    Attributes:
        begin: Where it begins.
        course: What came of it.
    """

    def __init__(self, begin: int) -> None:
        self.begin = begin
        self.course = Course()
        self._decoder = SseDecoder()

    def events(self, data: bytes) -> list[JSON]:
        """What the next bytes say."""
        read = (read_value(event.data) for event in self._decoder.feed(data))
        return [value for value in read if is_of_a_course(value)]


def _may_be(data: Data, at: int) -> bool:
    """Whether something like it is seen at a glance: mostly a stream was given up, and nothing of it comes any more."""
    course = Course()
    for found in _EVENT.finditer(data, at, min(at + LOOKED_AT, len(data))):
        kind = found[1].decode()
        if kind in FIRST:
            course = Course()
        near = _NUMBER.search(data, found.end(), min(found.end() + _NEAR, len(data)))
        near = near or _NUMBER.search(data, max(found.start() - _NEAR, at), found.start())
        if not course.takes({"type": kind, **({near[1].decode(): int(near[2])} if near is not None else {})}):
            return True
    return False


def _tangle_in(drafts: Iterator[tuple[int, Draft]], at: int, *, is_found: bool) -> Tangle:
    """The first tangle from a place on, at which a stream begins while another has not ended.

    Args:
        drafts: What is there, as if all had come after each other, and where each stands.
        at: That place.
        is_found: It begins there; else one is sought.
    """
    streams: dict[str | None, _Stream] = {}
    begin, more = (
        at,
        1,
    )  # how many streams began, and did not end, since the last that did not end before the next began
    last = ""
    quiet = 0
    is_over = False  # a stream ended since then
    for place, draft in drafts:
        if place > (begin + LONGEST if is_found else at + LOOKED_AT):
            break
        if draft.kind == "request" and draft.data and last in LAST:
            quiet = quiet or place
        if draft.kind != "chunk":
            continue
        stream = streams.setdefault(draft.exchange, _Stream(place))
        for event in stream.events(draft.data):
            kind = kind_of(event)
            was_begun = stream.course.is_begun
            is_right = stream.course.takes(event)
            is_first = stream.course.is_begun and not was_begun
            if is_first and is_found and last in LAST:
                return Tangle(begin, quiet or stream.begin)
            if is_first and not is_found and last and last not in LAST and is_over:
                begin, more, is_over = stream.begin, 1, False
            more += is_first
            more -= kind in LAST
            is_over |= kind in LAST
            quiet, last = 0, kind
            is_found = is_found or not is_right
            if is_found and more <= 0:
                return Tangle(begin, place + 1)
    return Tangle(begin, begin + LONGEST) if is_found else Tangle(at, at)
