"""Answers that hand somebody a token though nothing in what was asked said that it was about one."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from tui_host.capture.record import Shift
from tui_host.capture.recorder_protocol import BodyRedactor, RedactedStream
from tui_host.capture.redact.body_buffer import LIMIT
from tui_host.capture.redact.body_fields import BLANKS, read
from tui_host.capture.redact.by_value import Kept
from tui_host.capture.redact.login_forms import is_named, without_tokens
from tui_host.errors import JSON

_TOKENS = re.compile(r"(?:access|refresh|id|session)_?token", re.IGNORECASE)
_OPAQUE = re.compile(r"[\w.~+/=-]{16,}", re.ASCII)
_MAY_TELL = re.compile(rb'(?i)(?:token|jwt|key|secret|passw\w{1,5}|bearer)"[ \t\r\n]{0,99}:[ \t\r\n]{0,99}"')
_PAGE = re.compile(rb"<(?:!doctype|\?xml|html|head|body|form|input|script|meta)\b", re.IGNORECASE)
_BEGINNING = 512
"""Bytes with which it is known what begins so."""
_DEPTH = 4
_OF_MODELS = ("choices", "candidates", "output", "content")
"""Lists in which models answer."""


def tells_token(data: bytes) -> bool:
    """Whether a body is a page, or an object in JSON that has a token in it by way of objects alone.

    What models say, and what they want to have called, stands in lists in whatever dialect. Beside these stands what the
    request had, such as metadata and variables of a prompt. A message of MCP is none of a login either: what a tool gives is to be
    seen, and is called as it likes. What is larger than any answer of a login is not read for it.
    """
    if len(data) > LIMIT:
        return False
    begin = data[:_BEGINNING].lstrip(BLANKS)
    if begin.startswith(b"<"):
        return _PAGE.match(begin) is not None
    if not begin.startswith(b"{") or _MAY_TELL.search(data) is None:
        return False
    told = read(data)
    if (
        not isinstance(told, Mapping)
        or "jsonrpc" in told
        or any(isinstance(told.get(name), list) for name in _OF_MODELS)
    ):
        return False
    return _has_token(told, _DEPTH)


def _has_token(told: JSON, depth: int) -> bool:
    if not isinstance(told, Mapping) or not depth:
        return False
    return any(_is_token(name, value) or _has_token(value, depth - 1) for name, value in told.items())


def _is_token(name: str, value: JSON) -> bool:
    if not isinstance(value, str) or not value:
        return False
    return _TOKENS.fullmatch(name) is not None or (is_named(name) and _OPAQUE.fullmatch(value) is not None)


class AnswerStream:
    """An answer's body. One that may be found to tell a token is held to its end; of others nothing is, for longer than their beginning takes.

    Args:
        redactor: Knows the secrets.
    """

    left_out = 0

    def __init__(self, redactor: BodyRedactor) -> None:
        self._inner: RedactedStream = redactor.stream()
        self._learn = redactor.learn_value
        self._held = bytearray()
        self._is_passing = False
        self._is_line_seen = False

    @property
    def shifts(self) -> Sequence[Shift]:
        """What was taken out by value, of what is as it came but for that."""
        return self._inner.shifts

    def feed(self, data: bytes, /) -> Kept:
        """All of it, as soon as it is known to tell no token."""
        if self._is_passing:
            return self._inner.feed(data)
        self._held += data
        if len(self._held) <= LIMIT and self._may_tell(data):
            return b"", ()
        self._is_passing = True
        return self._inner.feed(self._taken())

    def flush(self) -> Kept:
        """The rest."""
        held, found = self._taken(), ()
        if held and tells_token(held):
            held, found = without_tokens(held, self._learn)
        first, in_first = self._inner.feed(held)
        rest, in_rest = self._inner.flush()
        return first + rest, (*found, *in_first, *in_rest)

    def _may_tell(self, data: bytes) -> bool:
        begin = bytes(self._held[:_BEGINNING]).lstrip(BLANKS)
        if len(begin) < len(b"<!doctype ") and len(self._held) < _BEGINNING and begin[:1] in {b"", b"<"}:
            return True
        if begin.startswith(b"<"):
            return _PAGE.match(begin) is not None
        if not begin.startswith(b"{"):
            return False
        return self._is_line_seen or b"\n" not in data or not self._is_first_of_lines()

    def _is_first_of_lines(self) -> bool:
        """Whether it is lines that are an object each, as some models' streams are, and the first of them tells no token."""
        line, end, _ = bytes(self._held).lstrip(BLANKS).partition(b"\n")
        self._is_line_seen = bool(end)
        return self._is_line_seen and line.rstrip().endswith(b"}") and read(line) is not None and not tells_token(line)

    def _taken(self) -> bytes:
        held = bytes(self._held)
        self._held.clear()
        return held
