"""Finds fields of JSON, forms and multipart bodies in linear time, and replaces credentials by marks."""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Callable
from typing import TypeAlias

from tui_host.capture.json.reading import load
from tui_host.capture.record import Redaction
from tui_host.capture.redact.by_value import mark
from tui_host.errors import JSON
from tui_host.settings.credential_places import in_url, password_in, said
from tui_host.settings.sensitivity import SCHEMES

BLANKS = b"\xef\xbb\xbf \t\r\n"
"""What may stand before everything else in a body."""
SPACE = rb"[ \t\r\n]*+"
LEADS = SPACE + rb":" + SPACE
"""The pattern of what stands between a name and its value in JSON."""
TEXT = rb'"([^"\\]*+(?:\\.[^"\\]*+)*+)"'
"""The pattern of a string in JSON, for `re.DOTALL`; its content is a group."""
Learn: TypeAlias = Callable[[str, str], None]
"""Called with name and value of a credential that was removed."""
ReplaceContent: TypeAlias = Callable[[re.Match[bytes], bytes], bytes]
"""Takes the match that ends with the first bracket, and what stands between the brackets; returns what is to stand there."""

_ONE_TEXT = re.compile(TEXT, re.DOTALL)
_MARK = "⟨secret:".encode()
_OPAQUE = re.compile(r"[\w.~+=-]+")
_END_OF_PARTS_HEAD = re.compile(rb"\n\r?\n")
_PARTS_NAME = re.compile(rb'\bname="?([\w.\[\]-]+)', re.IGNORECASE)


class Brackets:
    """Finds pairs of brackets that contain strings but no brackets of the same kind, except inside strings.

    Takes linear time. One regular expression would follow each beginning without an end to the end of the body.

    Args:
        begin: Pattern of what comes before a pair, including the first bracket.
        brackets: The two brackets.
    """

    def __init__(self, begin: bytes, brackets: bytes) -> None:
        self._begin = re.compile(begin)
        self._between = re.compile(rb'[^"%s]*' % re.escape(brackets))
        self._last = brackets[1:]

    def sub(self, replace: ReplaceContent, data: bytes) -> bytes:
        """Replace the content of every pair by the return value of `replace`."""
        pieces: list[bytes] = []
        strings, kept = _Strings(data), 0
        begin = self._begin.search(data)
        while begin is not None:
            end = self._end(begin.end(), strings)
            if end is not None:
                pieces += (data[kept : begin.end()], replace(begin, data[begin.end() : end]))
                kept = end
            begin = self._begin.search(data, begin.start() + 1 if end is None else end + 1)
        return b"".join((*pieces, data[kept:])) if pieces else data

    def _end(self, at: int, strings: _Strings) -> int | None:
        """Return the place of the last bracket, None where a first bracket comes before."""
        data, passed = strings.data, list[int]()
        while at not in strings.endless:
            passed.append(at)
            match = self._between.match(data, at)
            at = at if match is None else match.end()
            if data[at : at + 1] == self._last:
                return at
            if data[at : at + 1] != b'"':
                break
            at = strings.end_of(at)
        strings.endless.update(passed)
        return None


class _Strings:
    """The strings of a body, as far as scanned.

    Attributes:
        endless: Places between two strings from which no last bracket follows.
    """

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.endless: set[int] = set()
        self._spans: list[tuple[int, int]] = []

    def end_of(self, at: int) -> int:
        """Return the end of the string at `at`; the end of the body for an unfinished string.

        A quotation mark inside of another string has a backslash before it, so what begins there ends where that string does.
        """
        place = bisect_right(self._spans, (at, len(self.data)))
        if place and at < self._spans[place - 1][1] - 1:
            return self._spans[place - 1][1]
        text = _ONE_TEXT.match(self.data, at)
        end = len(self.data) if text is None else text.end()
        self._spans.insert(place, (at, end))
        return end


class Marker:
    """Replaces credentials by marks, and collects the redactions."""

    def __init__(self, learn: Learn) -> None:
        self._learn = learn
        self._found: list[Redaction] = []

    @property
    def found(self) -> tuple[Redaction, ...]:
        """The removed credentials, in order."""
        return tuple(self._found)

    def value(self, name: str, raw: bytes, value: str, *, is_sure: bool = True) -> bytes:
        """Return the mark for a value that is written as `raw`. A doubtful credential is learned only if it looks random."""
        if not raw or raw.startswith(_MARK):
            return raw
        if is_sure or _OPAQUE.fullmatch(value):
            self._learn(name, value)
        self._found.append(Redaction(where="data", name=name, length=len(raw)))
        return mark(name).encode()

    def member(self, match: re.Match[bytes], *, is_sure: bool = True, name: str = "") -> bytes:
        """Return a member (groups: key, colon, string) with a mark as its value, named by the key or by `name`."""
        marked = self.text(name or match[1].decode("latin-1"), match[3], is_sure=is_sure)
        return b'"%s"%s%s' % (match[1], match[2], marked)

    def number(self, match: re.Match[bytes]) -> bytes:
        """Return a member with a mark in place of its number. The digits are not learned: they occur elsewhere by chance."""
        name = match[1].decode("latin-1")
        self._found.append(Redaction(where="data", name=name, length=len(match[3])))
        return b'"%s"%s"%s"' % (match[1], match[2], mark(name).encode())

    def text(self, name: str, raw: bytes, *, is_sure: bool = True) -> bytes:
        """Return the mark for a string; a scheme such as `Bearer` stays."""
        scheme, space, rest = raw.partition(b" ")
        if not space or scheme.lower().decode("latin-1") not in SCHEMES:
            scheme, space, rest = b"", b"", raw
        return b'"%s%s%s"' % (scheme, space, self.value(name, rest, string_value(rest), is_sure=is_sure))

    def part(self, part: bytes, is_credential: Callable[[str], bool]) -> bytes:
        """Return a part of a multipart body, with a mark for content under the name of a credential."""
        head = _END_OF_PARTS_HEAD.search(part)
        named = _PARTS_NAME.search(part, 0, head.end()) if head else None
        name = named[1].decode("latin-1") if named else ""
        if head is None or not is_credential(name):
            return part
        value = part[head.end() :].removesuffix(b"\r")
        end = part[head.end() + len(value) :]
        return part[: head.end()] + self.value(name, value, value.decode("utf-8", "replace")) + end

    def url(self, match: re.Match[bytes]) -> bytes:
        """Return a string with a URL, with marks for the credentials."""
        url = string_value(match[1])
        pieces: list[str] = []
        end = 0
        for start, stop, name in in_url(url):
            value = url[start:stop]
            *_, plain = said(value)
            plain = password_in(plain) if name == "userinfo" else plain
            marked = self.value(name, value.encode("utf-8", "surrogatepass"), plain)
            pieces += (url[end:start], marked.decode("utf-8", "surrogatepass"))
            end = stop
        if not pieces:
            return match[0]
        return json.dumps("".join((*pieces, url[end:])), ensure_ascii=False).encode("utf-8", "surrogatepass")


def in_parts(data: bytes, without: Callable[[bytes], bytes]) -> bytes:
    """Apply a function to each part of a multipart body. Source: RFC 7578; RFC 2046, section 5.1.1."""
    between = b"\n" + data.lstrip(BLANKS).partition(b"\n")[0].rstrip()
    return between.join(map(without, data.split(between)))


def read(data: bytes) -> JSON:
    """Parse JSON; None for broken JSON too."""
    try:
        value = load(data)
    except (ValueError, RecursionError):
        return None
    return value


def string_value(raw: bytes) -> str:
    """Return the value of a JSON string with the content `raw`."""
    value = read(b'"%s"' % raw) if b"\\" in raw else None
    return value if isinstance(value, str) else raw.decode("utf-8", "replace")
