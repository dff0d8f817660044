"""A stream in the pieces in which whoever wrote a log had it: its lines, what was read at once, or bytes cut anywhere.

What stands between two pieces was lost where each was a line. Where a stream ends is told by what it says: two of them may follow each
other in a file of answers.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from tui_host.capture.json.narrowing import items, mapping
from tui_host.errors import JSON
from tui_host.opening.course import FIRST, LAST, kind_of
from tui_host.opening.drafts import read_value

_FIELD = re.compile(rb"(?:data|event|id|retry):|: ")
_BEGUN = re.compile(
    rb"\s*(?:e|ev|eve|even|event|: [^\n]{0,200}"
    rb"|(?:event:[ \t]*[\w.]{0,80}(?:\r?\n)?)?(?:d|da|dat|data|data:\s*|data:[ \t]*\[[DONE]{0,3})?)\Z"
)
"""An event of a stream that is cut before what it says."""
_NAMED = re.compile(rb"\s*event:[ \t]*([\w.]{1,80})\s*\Z")
_DATA = re.compile(rb"data:[ \t]*")
_SAID = re.compile(rb"(?m)^data:[ \t]?([^\r\n]*)")
_DONE = re.compile(rb"(?m)^data:[ \t]*\[DONE\]")
_MARK = re.compile(rb'\\.?|"|[{}\[\]]', re.DOTALL)
_BREAK, _BREAKS = re.compile(rb"\A\r?\n"), re.compile(rb"\A(?:\r?\n){1,2}")
_LEAVES = re.compile(rb'(?:[^"\\]|\\.)*"\s*[^,:}\]\s]', re.DOTALL)
"""It ends a string, and goes on as no JSON does behind one."""
_FIELDS = re.compile(rb"\s*(?:event|data):")
_OBJECT = re.compile(rb"\s*\{")
_END = 2
"""Line breaks behind an event."""
_BEGINS = re.compile(rb"message_start|response\.created")
_TELLS = re.compile(rb'"finish_?[rR]eason"\s*:\s*"|message_stop|response\.(?:completed|failed|incomplete)')
_HEAD = 64
"""Bytes of a line that are kept: they tell its field, and whether it is `data: [DONE]`."""


class Stream:
    """What came so far of one.

    Attributes:
        at: Where the line begins in which its last piece stands.
        tell_cut: Called with that place of each piece of which the rest did not come.
        is_done: It said that it has ended, in a word.
        is_finished: It said why it ends; more than what it took may not come.
        is_begun: It began with an event of those that alone of its kind say which answer they are of.
    """

    def __init__(self) -> None:
        self.at = 0
        self.tell_cut: Callable[[int], None] = lambda _: None
        self.is_done = self._was_cut = False
        self._head = b""
        self._breaks = self._lent = 0
        self.is_finished = self.is_begun = False
        self._is_heard = self._is_over = False
        self._name = ""
        self._last = b""
        self._brackets = bytearray()
        self._is_object = self._in_string = self._is_escaped = False

    @property
    def name(self) -> str:
        """Its id; empty as long as none was heard."""
        return self._name

    @property
    def is_ended(self) -> bool:
        """Whether it said that nothing more comes."""
        return self.is_done or self._is_over

    @property
    def is_within(self) -> bool:
        """Whether what came last ends within a line, or may."""
        return bool(self._head) and not self._breaks and not self._is_whole

    @property
    def is_cut(self) -> bool:
        """Whether what came is not all, if nothing more comes: it ends within an event, or an event before it was cut off."""
        return self._was_cut or self._ends_within

    @property
    def _ends_within(self) -> bool:
        is_open = self._in_string or bool(self._brackets) or _BEGUN.match(self._head) is not None
        return self.is_within and is_open and not self._head.startswith(b":")

    def end(self) -> None:
        """Nothing more comes."""
        if self._ends_within:
            self.tell_cut(self.at)

    def goes_on(self, data: bytes) -> bool:
        """Whether something that stands where the last piece did is the next one."""
        return self._is_within_with(data) or (bool(self._head) and _BEGUN.match(data) is not None)

    def _is_within_with(self, data: bytes) -> bool:
        """Whether a piece may be the rest of a line: not where what came ended in the middle, as whoever wrote the log cut it off."""
        if self._in_string:
            is_other = _LEAVES.match(data, 1 if self._is_escaped else 0) is not None
        elif self._brackets:
            is_other = _FIELDS.match(data) is not None or (_OBJECT.match(data) is not None and not self._takes_object)
        else:
            is_other = False
        return self.is_within and not is_other

    @property
    def _takes_object(self) -> bool:
        """Whether an object may stand where the line ends that came last: behind a name, or in a list."""
        return self._last in {b":", b"["} or (self._last == b"," and self._brackets.endswith(b"["))

    def value_in(self, data: bytes) -> JSON:
        """What the first event of a piece says, or its name tells of that; None where it goes on within one."""
        is_rest = self._is_within_with(data)
        found = None if is_rest else _SAID.search(data)
        if found is not None:
            return read_value(found[1])
        named = None if is_rest else _NAMED.match(data)
        return None if named is None else {"type": named[1].decode()}

    def begins_anew(self, data: bytes) -> bool:
        """Whether a piece is the first one of another stream."""
        is_asked = self._is_over or self.is_finished or _BEGINS.search(data) is not None
        return is_asked and self._is_heard and self.is_followed_by(self.value_in(data))

    def is_followed_by(self, value: JSON) -> bool:
        """Whether what an event says is the beginning of another stream."""
        if not self._is_heard or not isinstance(value, dict):
            return False
        name = id_of(value)
        return self._is_over or kind_of(value) in FIRST or (self.is_finished and bool(name) and name != self._name)

    def hear(self, value: JSON) -> None:
        """What an event says."""
        body = mapping(value)
        self._is_heard = True
        self._name = self._name or id_of(value)
        kind = kind_of(value)
        self.is_begun = self.is_begun or kind in FIRST
        self._is_over = self._is_over or kind in LAST
        if not self.is_finished:
            several, key = ("choices", "finish_reason") if "choices" in body else ("candidates", "finishReason")
            self.is_finished = any(mapping(each).get(key) for each in items(body.get(several)))

    def put(self, data: bytes, at: int = 0) -> bytes:
        """The next piece, with the ends of lines and events that the log has lost; they are put behind what they end.

        Args:
            data: It.
            at: Where the line begins in which it stands.
        """
        cut = b""
        if self._ends_within and _FIELDS.match(data) and not self._is_within_with(data):
            self.end()
            self._was_cut, self._breaks = True, _END
            cut = b"\n" * _END
        self.at = at
        return cut + self._put(data)

    def _put(self, data: bytes) -> bytes:
        if self._lent:
            rest = _BREAK.sub(b"", data, count=1) if self._lent == 1 else _BREAKS.sub(b"", data, count=1)
            self._lent = 0 if rest else self._lent - data.count(b"\n")
            data = rest
        is_named = self._head and not self._breaks and _DATA.match(self._head) is None
        lost = b"\n" if is_named and _FIELD.match(self._head) and _FIELD.match(data) else b""
        self._take(lost + data)
        is_line = self._breaks == 1 or (not self._breaks and self._is_whole)
        if is_line and not self.is_done and _DATA.match(self._head):
            self._lent = _END - self._breaks
            self._breaks = _END
            return lost + data + b"\n" * self._lent
        return lost + data

    def _take(self, data: bytes) -> None:
        line = data if self._breaks else self._head + data
        self.is_done = _DONE.search(line) is not None
        if not self._is_heard or _TELLS.search(line):  # most say nothing of what is asked here
            for found in _ends(_SAID.search(line), data):
                self.hear(read_value(found))
        kept = data.rstrip(b"\r\n")
        if not kept:
            self._breaks += data.count(b"\n")
            return
        begin = max(kept.rfind(b"\n"), kept.rfind(b"\r")) + 1
        if begin or self._breaks:
            self._head, self._brackets = b"", bytearray()
            self._is_object = self._in_string = self._is_escaped = False
        self._head += kept[begin : begin + _HEAD - len(self._head)]
        self._breaks = data[len(kept) :].count(b"\n")
        if not self._breaks:
            self._count(kept[begin:])

    def _count(self, data: bytes) -> None:
        """The brackets of a line that may go on in the next piece."""
        begin, self._is_escaped = (1 if self._is_escaped else 0), False
        for found in _MARK.finditer(data, begin):
            mark = found[0]
            if mark[:1] == b"\\":
                self._is_escaped = self._in_string and len(mark) == 1  # what it escapes is in the next piece
            elif mark == b'"':
                self._in_string = not self._in_string
            elif not self._in_string:
                if mark in {b"{", b"["}:
                    self._brackets += mark
                elif self._brackets:
                    self._brackets.pop()
                self._is_object = True
        self._last = data.rstrip()[-1:] or self._last

    @property
    def _is_whole(self) -> bool:
        """Whether the line that came last says a whole value, or that nothing more comes."""
        is_value = self._is_object and not self._in_string and not self._brackets
        return is_value or _DONE.match(self._head) is not None


def _ends(first: re.Match[bytes] | None, data: bytes) -> tuple[bytes, ...]:
    """What the first and the last event of a piece say, as far as they stand in it."""
    if first is None:
        return ()
    begin = data.rfind(b"\ndata:")
    last = _SAID.match(data, begin + 1) if begin >= 0 else None
    return (first[1],) if last is None else (first[1], last[1])


def id_of(value: JSON) -> str:
    """The id of the stream that an event is of; empty if it tells none."""
    body = mapping(value)
    name = body.get("id") or body.get("responseId")
    return name if isinstance(name, str) else ""
