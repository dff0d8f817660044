"""Finds credentials in the bodies of logins: forms, JSON, multipart bodies and markup."""

from __future__ import annotations

import html
import re
from urllib.parse import unquote_plus

from tui_host.capture.record import Redaction
from tui_host.capture.redact.body_fields import (
    BLANKS,
    LEADS,
    TEXT,
    Brackets,
    Learn,
    Marker,
    in_parts,
    read,
    string_value,
)
from tui_host.capture.redact.by_value import Kept, mark
from tui_host.settings.credential_places import in_url, password_in
from tui_host.settings.sensitivity import REDIRECT_KEYS, sensitivity

_OPAQUE_FROM = 16
_PLAIN = re.compile(r"[\w.-]+", re.ASCII)
_CODE = re.compile(r"[\w.~+/=%-]+", re.ASCII)
"""The form of a login's code; elsewhere `code` may be the text of a program."""
_FIELD = re.compile(rb"(?:\A|(?<=&))([^=&]+)=([^&]+)")
_FIELD_OF_MORE = re.compile(rb"(?<=[;\r\n])([^=;\r\n]+)=([^;\r\n]*(?:[;\r\n](?![^=;\r\n]+=)[^;\r\n]*)*)")
"""Fields of a form that are separated by `;` or line ends. A separator that no name follows is part of the value."""
_NAME = rb'"([\w.:\[\]-]++)"'
_MEMBER = re.compile(_NAME + b"(" + LEADS + b")" + TEXT, re.DOTALL)
_NUMBER = re.compile(_NAME + b"(" + LEADS + rb")(-?\d[\d.eE+-]*)(?=[\s,}\]])")
_MANY = Brackets(_NAME + LEADS + rb"\[", b"[]")
_ONE_TEXT = re.compile(TEXT, re.DOTALL)
_LONG_CODE = 6
"""Digits from which a number named `code` is a code that was typed, and no status."""
_ESCAPED_NAME = re.compile(rb'"((?:[\w.-]|\\u00[2-7][0-9A-Fa-f]){1,100})"(?=' + rb"[ \t\r\n]*:)")
_OBJECTS = frozenset(("headers", "auth", "authentication", "credential", "credentials", "value", "name"))
_OF_LOGINS = frozenset(
    ("code", "code_verifier", "device_code", "user_code", "verification_uri_complete", "id_token_hint", "auth_req_id")
) | {"registration_client_uri", "pre-authorized_code", "tx_code", "ticket", "SAMLResponse"}
"""Source: RFC 6749, 7592, 7636 and 8628; OpenID Connect, RP-Initiated Logout, CIBA and credential issuance; UMA."""
_TO_LOG_IN = frozenset(("grant_type", "client_id", "client_assertion", "assertion", "username", "login", "email"))
"""What a login's body has beside its secrets. Source: RFC 6749 and 7521."""
_OF_MODELS = frozenset(("model", "messages", "input", "inputs", "contents", "prompt", "tools", "jsonrpc"))
_BEGINS_AS_TO_MODEL = re.compile(rb'\s*\{\s*"(?:%s)"\s*:' % "|".join(sorted(_OF_MODELS)).encode())
"""The usual case, known without parsing."""
_LOGIN_LIMIT = 64 << 10
"""Bytes that a login's body has at most."""
_LAST_WORD = re.compile(r"[A-Z]?[a-z]+(?=\d*$)|[A-Z]+(?=\d*$)")
_ONE_TIME = re.compile(
    r"(?:^|[^A-Za-z]|(?<=[a-z])(?=[A-Z]))"
    r"(?i:[th]?otp|passcode|pin|(?:otp|mfa|2fa|factor|verification|recovery|backup|sms|login|one_?time)[_-]?code)$"
)
"""One-time and backup codes."""
_ENDS = "[]0123456789"
"""What may stand behind the last word of a name, as in `token2` and `user[password]`."""
_NAME_LIMIT = 100


def without_tokens(data: bytes, learn: Learn) -> Kept:
    """Remove the secrets from a login's form or document, or an answer with a new key. Removes a body that is not text."""
    try:
        data.decode()
    except UnicodeDecodeError:
        return mark("body").encode(), (Redaction(where="data", name="body", length=len(data)),)
    marker = Marker(learn)
    data, written = with_plain_names(data), data
    begin = data.lstrip(BLANKS)
    if begin[:1] in {b"{", b"["}:
        data = _without_members(data, marker)
    elif begin.startswith(b"--"):
        data = in_parts(data, lambda part: marker.part(part, is_named))
    elif begin.startswith(b"<"):
        data = _without_markup_values(data, marker)
    else:
        data = _without_fields(data, marker)
    return (data, marker.found) if marker.found else (written, ())


def _without_members(data: bytes, marker: Marker) -> bytes:
    def of_text(match: re.Match[bytes]) -> bytes:
        return marker.member(match) if _is_token(match[1].decode("latin-1"), match[3]) else match[0]

    def of_number(match: re.Match[bytes]) -> bytes:
        name = match[1].decode("latin-1")
        is_one = is_named(name) and (name != "code" or len(match[3]) >= _LONG_CODE)
        return marker.number(match) if is_one else match[0]

    def of_many(begin: re.Match[bytes], items: bytes) -> bytes:
        name = begin[1].decode("latin-1")
        is_one = is_named(name) or sensitivity(name) == "remove"
        if not is_one or b":" in _ONE_TEXT.sub(b"", items):  # an array of objects
            return items
        return _ONE_TEXT.sub(lambda text: marker.text(name, text[1]), items)

    data = _NUMBER.sub(of_number, _MEMBER.sub(of_text, data))
    return _MANY.sub(of_many, data) if b"[" in data else data


def _without_fields(data: bytes, marker: Marker) -> bytes:
    def of_field(match: re.Match[bytes]) -> bytes:
        name = unquote_plus(match[1].decode("utf-8", "replace")).strip()
        if is_named(name):
            raw = match[2].rstrip(b"\r\n")
            taken = marker.value(name, raw, password_in(":" + raw.decode("utf-8", "replace")))
            return b"%s=%s%s" % (match[1], taken, match[2][len(raw) :])
        return match[0] if match.re is _FIELD_OF_MORE else _FIELD_OF_MORE.sub(of_field, match[0])

    return _FIELD.sub(of_field, data)


def is_json_without_login(data: bytes) -> bool:
    """Return whether a body is a JSON object without members of a login, apart from switches."""
    login = read(data)
    if not isinstance(login, dict):
        return False
    return not any(name in _TO_LOG_IN or (is_named(name) and not isinstance(login[name], bool)) for name in login)


def is_json_of_login(data: bytes) -> bool:
    """Return whether a body is a JSON object with credentials and not a request to a model."""
    if len(data) > _LOGIN_LIMIT or not data.lstrip(BLANKS).startswith(b"{") or _BEGINS_AS_TO_MODEL.match(data):
        return False
    login = read(data)
    if not isinstance(login, dict) or not _OF_MODELS.isdisjoint(login):
        return False
    return "grant_type" in login or any(
        isinstance(value, str) and is_named(name) and name != "key" and (name != "code" or _CODE.fullmatch(value))
        for name, value in login.items()
    )


def with_plain_names(data: bytes) -> bytes:
    """Return JSON with the names of credentials written without escapes."""

    def of_name(match: re.Match[bytes]) -> bytes:
        name = string_value(match[1])
        tells = name in _OBJECTS or sensitivity(name.lower(), place="header") == "remove" or is_named(name)
        return b'"%s"' % name.encode() if tells and _PLAIN.fullmatch(name) else match[0]

    return _ESCAPED_NAME.sub(of_name, data) if b"\\u00" in data else data


def _is_token(name: str, raw: bytes) -> bool:
    """Return whether a member's value is a credential, also the bare `value` in the answer to a request for a new key."""
    if name in {"value", "name"}:
        is_opaque = len(raw) >= _OPAQUE_FROM and b" " not in raw
        return is_opaque and (name == "value" or raw.startswith(b"auth_tokens/"))
    return is_named(name)


def is_named(name: str) -> bool:
    """Return whether a name ends like a credential's. A key's alias and a token's type do not."""
    if len(name) > _NAME_LIMIT:
        return False
    name = name.rstrip(_ENDS)  # as in `user[password]`
    if name.rpartition("[")[2] in _OF_LOGINS or _ONE_TIME.search(name):
        return True
    last = _LAST_WORD.search(name)
    return last is not None and sensitivity(last[0]) == sensitivity(name) == "remove"


_TAG = re.compile(rb"<(?:[\w.-]+:)?([\w.-]+)((?:[\s/][^<>]*)?)>([^<]*)(<!\[CDATA\[[^<]*)?")
"""An element's tag with its text, neither of which reaches over the next tag: every byte is looked at once."""
_ATTRIBUTE = re.compile(rb"(?<![\w:.-])([\w:.-]+)(\s*=\s*)(\"[^\"]*\"|'[^']*'|[^\s\"'>]+)")
_CDATA = b"<![CDATA["


def _without_markup_values(data: bytes, marker: Marker) -> bytes:
    """Take credentials out of elements, attributes, forms and links of markup.

    Some logins answer with a page whose form the browser sends on. Source: OAuth 2.0 Form Post Response Mode, section 2.
    """

    def of_tag(match: re.Match[bytes]) -> bytes:
        name, text, more = match[1].decode("utf-8", "replace"), match[3], match[4] or b""
        attributes = match[2]
        if b"=" in attributes:
            attributes = _Attributes(attributes, marker).without()
        if is_named(name) and not attributes.endswith(b"/"):
            text, more = (
                _without_text(name, text, marker),
                _CDATA + _without_text(name, more[9:], marker) if more else b"",
            )
        begin = data[match.start() : match.start(2)]
        return b"%s%s>%s%s" % (begin, attributes, text, more)

    return _TAG.sub(of_tag, data)


def _without_text(name: str, text: bytes, marker: Marker) -> bytes:
    end = b"]]>" if text.endswith(b"]]>") else b""
    value = text.removesuffix(end)
    return marker.value(name, value, _text_of(value)) + end if value.strip() else text


class _Attributes:
    """The attributes of one element, as written."""

    def __init__(self, text: bytes, marker: Marker) -> None:
        self._text = text
        self._marker = marker
        named = (match for match in _ATTRIBUTE.finditer(text) if match[1].lower() == b"name")
        self._called = next((_text_of(match[3]).strip("\"'") for match in named), "")

    def without(self) -> bytes:
        """Return the attributes with marks."""
        return _ATTRIBUTE.sub(self._of_attribute, self._text)

    def _of_attribute(self, match: re.Match[bytes]) -> bytes:
        name, value = match[1].decode("utf-8", "replace"), match[3]
        quote = value[:1] if value[:1] in {b'"', b"'"} else b""
        value = value.removeprefix(quote).removesuffix(quote)
        called = self._called if name.lower() in {"value", "content"} else name
        if is_named(called):
            value = self._marker.value(called, value, _text_of(value))
        elif b"=" in value:
            value = self._in_url(value)
        return b"%s%s%s%s%s" % (match[1], match[2], quote, value, quote)

    def _in_url(self, value: bytes) -> bytes:
        url = value.decode("utf-8", "surrogateescape")
        pieces: list[bytes] = []
        end = 0
        for start, stop, name in in_url(url, REDIRECT_KEYS):
            raw = url[start:stop].encode("utf-8", "surrogateescape")
            pieces += (url[end:start].encode("utf-8", "surrogateescape"), self._marker.value(name, raw, _text_of(raw)))
            end = stop
        return b"".join((*pieces, url[end:].encode("utf-8", "surrogateescape"))) if pieces else value


def _text_of(raw: bytes) -> str:
    return html.unescape(raw.decode("utf-8", "replace")).strip()
