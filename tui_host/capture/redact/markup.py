"""Secrets in markup by their place: what stands in elements and attributes that are called like credentials, and in forms and links of pages.

A page with a form that a browser is to send on is how some logins answer. Source: OAuth 2.0 Form Post Response Mode, section 2.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable

from tui_host.capture.redact.body_fields import Taking
from tui_host.settings.credential_names import REDIRECT_KEYS
from tui_host.settings.credential_places import in_url

_TAG = re.compile(rb"<(?:[\w.-]+:)?([\w.-]+)((?:[\s/][^<>]*)?)>([^<]*)(<!\[CDATA\[[^<]*)?")
"""An element's beginning, and its text: nothing of it reaches over the next, so that all is looked at once."""
_ATTRIBUTE = re.compile(rb"(?<![\w:.-])([\w:.-]+)(\s*=\s*)(\"[^\"]*\"|'[^']*'|[^\s\"'>]+)")
_CDATA = b"<![CDATA["


def without_values(data: bytes, taking: Taking, is_named: Callable[[str], bool]) -> bytes:
    """Markup without its secrets.

    Args:
        data: It.
        taking: Puts the marks.
        is_named: Whether a name is a credential's.
    """

    def of_tag(hit: re.Match[bytes]) -> bytes:
        name, text, more = hit[1].decode("utf-8", "replace"), hit[3], hit[4] or b""
        attributes = hit[2]
        if b"=" in attributes:
            attributes = _Attributes(attributes, taking, is_named).without()
        if is_named(name) and not attributes.endswith(b"/"):
            text, more = (
                _without_text(name, text, taking),
                _CDATA + _without_text(name, more[9:], taking) if more else b"",
            )
        begin = data[hit.start() : hit.start(2)]
        return b"%s%s>%s%s" % (begin, attributes, text, more)

    return _TAG.sub(of_tag, data)


def _without_text(name: str, text: bytes, taking: Taking) -> bytes:
    end = b"]]>" if text.endswith(b"]]>") else b""
    value = text.removesuffix(end)
    return taking.value(name, value, _told(value)) + end if value.strip() else text


class _Attributes:
    """An element's attributes.

    Args:
        text: As they stand there.
        taking: Puts the marks.
        is_named: Whether a name is a credential's.
    """

    def __init__(self, text: bytes, taking: Taking, is_named: Callable[[str], bool]) -> None:
        self._text = text
        self._taking = taking
        self._is_named = is_named
        named = (each for each in _ATTRIBUTE.finditer(text) if each[1].lower() == b"name")
        self._called = next((_told(each[3]).strip("\"'") for each in named), "")

    def without(self) -> bytes:
        """The same without secrets."""
        return _ATTRIBUTE.sub(self._of_attribute, self._text)

    def _of_attribute(self, hit: re.Match[bytes]) -> bytes:
        name, value = hit[1].decode("utf-8", "replace"), hit[3]
        quote = value[:1] if value[:1] in {b'"', b"'"} else b""
        value = value.removeprefix(quote).removesuffix(quote)
        called = self._called if name.lower() in {"value", "content"} else name
        if self._is_named(called):
            value = self._taking.value(called, value, _told(value))
        elif b"=" in value:
            value = self._in_url(value)
        return b"%s%s%s%s%s" % (hit[1], hit[2], quote, value, quote)

    def _in_url(self, value: bytes) -> bytes:
        url = value.decode("utf-8", "surrogateescape")
        pieces: list[bytes] = []
        end = 0
        for start, stop, name in in_url(url, REDIRECT_KEYS):
            raw = url[start:stop].encode("utf-8", "surrogateescape")
            pieces += (url[end:start].encode("utf-8", "surrogateescape"), self._taking.value(name, raw, _told(raw)))
            end = stop
        return b"".join((*pieces, url[end:].encode("utf-8", "surrogateescape"))) if pieces else value


def _told(raw: bytes) -> str:
    return html.unescape(raw.decode("utf-8", "replace")).strip()
