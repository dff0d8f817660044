"""What stands in the places of credentials in bodies, and how bodies are read to find them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import TypeAlias

from tui_host.capture.json.long_numbers import load
from tui_host.capture.record import Redaction
from tui_host.capture.redact.by_value import mark
from tui_host.errors import JSON
from tui_host.settings.credential_names import SCHEMES
from tui_host.settings.credential_places import in_url, password_in, said

BLANKS = b"\xef\xbb\xbf \t\r\n"
"""What may stand before all else in a body."""
SPACE = rb"[ \t\r\n]*+"
LEADS = SPACE + rb":" + SPACE
"""What stands between a name and its value in JSON, as a pattern."""
Learn: TypeAlias = Callable[[str, str], None]
"""Takes the name and the value of what was taken out."""

_MARK = "⟨secret:".encode()
_OPAQUE = re.compile(r"[\w.~+=-]+")
_END_OF_PARTS_HEAD = re.compile(rb"\n\r?\n")
_PARTS_NAME = re.compile(rb'\bname="?([\w.\[\]-]+)', re.IGNORECASE)


class Taking:
    """Puts marks in the places of credentials, and gathers what stood there."""

    def __init__(self, learn: Learn) -> None:
        self._learn = learn
        self._found: list[Redaction] = []

    @property
    def found(self) -> tuple[Redaction, ...]:
        """What stood there, in order."""
        return tuple(self._found)

    def value(self, name: str, raw: bytes, value: str, *, is_sure: bool = True) -> bytes:
        """What stands for a value that is written so; one that is not sure to be a credential may be said by others too."""
        if not raw or raw.startswith(_MARK):
            return raw
        if is_sure or _OPAQUE.fullmatch(value):
            self._learn(name, value)
        self._found.append(Redaction(where="data", name=name, length=len(raw)))
        return mark(name).encode()

    def member(self, hit: re.Match[bytes], *, is_sure: bool = True, name: str = "") -> bytes:
        """A member of an object without its value, which may go by another name."""
        taken = self.text(name or hit[1].decode("latin-1"), hit[3], is_sure=is_sure)
        return b'"%s"%s%s' % (hit[1], hit[2], taken)

    def number(self, hit: re.Match[bytes]) -> bytes:
        """A member whose value is a number, without it; what has digits alone stands elsewhere by chance, so that it is not sought there."""
        name = hit[1].decode("latin-1")
        self._found.append(Redaction(where="data", name=name, length=len(hit[3])))
        return b'"%s"%s"%s"' % (hit[1], hit[2], mark(name).encode())

    def text(self, name: str, raw: bytes, *, is_sure: bool = True) -> bytes:
        """What stands for a text that is so called, of which a scheme stays."""
        scheme, space, rest = raw.partition(b" ")
        if not space or scheme.lower().decode("latin-1") not in SCHEMES:
            scheme, space, rest = b"", b"", raw
        return b'"%s%s%s"' % (scheme, space, self.value(name, rest, decoded(rest), is_sure=is_sure))

    def part(self, part: bytes, is_one: Callable[[str], bool]) -> bytes:
        """One of several parts without its content, if it is one by its name."""
        head = _END_OF_PARTS_HEAD.search(part)
        named = _PARTS_NAME.search(part, 0, head.end()) if head else None
        name = named[1].decode("latin-1") if named else ""
        if head is None or not is_one(name):
            return part
        value = part[head.end() :].removesuffix(b"\r")
        end = part[head.end() + len(value) :]
        return part[: head.end()] + self.value(name, value, value.decode("utf-8", "replace")) + end

    def url(self, hit: re.Match[bytes]) -> bytes:
        """A text that is a URL, without the credentials in it."""
        url = decoded(hit[1])
        pieces: list[str] = []
        end = 0
        for start, stop, name in in_url(url):
            value = url[start:stop]
            *_, plain = said(value)
            plain = password_in(plain) if name == "userinfo" else plain
            taken = self.value(name, value.encode("utf-8", "surrogatepass"), plain)
            pieces += (url[end:start], taken.decode("utf-8", "surrogatepass"))
            end = stop
        if not pieces:
            return hit[0]
        return json.dumps("".join((*pieces, url[end:])), ensure_ascii=False).encode("utf-8", "surrogatepass")


def in_parts(data: bytes, without: Callable[[bytes], bytes]) -> bytes:
    """A body in parts, each as this makes it. Source: RFC 7578; RFC 2046, section 5.1.1."""
    between = b"\n" + data.lstrip(BLANKS).partition(b"\n")[0].rstrip()
    return between.join(map(without, data.split(between)))


def read(data: bytes) -> JSON:
    """What JSON says; None also of what is none."""
    try:
        value = load(data)
    except (ValueError, RecursionError):
        return None
    return value


def decoded(raw: bytes) -> str:
    """What a text says that stands so in JSON."""
    value = read(b'"%s"' % raw) if b"\\" in raw else None
    return value if isinstance(value, str) else raw.decode("utf-8", "replace")
