"""Finds credentials by their place: in HTTP heads, and in requests to models.

In a request to a model, a string under a name that is a key to somebody's account is taken out, with the headers for the servers of its
tools and the credentials in URLs. In the request's settings, beside the conversation, more names count: a `key` or `token` there is
taken out where its value can be nothing else. In what is said, and in what tools are called with, such names may be anything.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Collection, Iterator, Mapping
from functools import cached_property, lru_cache
from urllib.parse import unquote_plus

from tui_host.capture.record import Head
from tui_host.capture.redact.body_fields import (
    BLANKS,
    LEADS,
    SPACE,
    TEXT,
    Brackets,
    Learn,
    Marker,
    in_parts,
    read,
    string_value,
)
from tui_host.capture.redact.by_value import Kept
from tui_host.capture.redact.login_bodies import with_plain_names
from tui_host.errors import JSON
from tui_host.settings.credential_places import (
    CredentialSpan,
    credential_in,
    in_url,
    is_given,
    parts_of_credential,
    password_in,
    said,
    several_in,
)
from tui_host.settings.sensitivity import (
    REDIRECT_KEYS,
    SCHEMES,
    SESSION_KEYS,
    TELLING_FROM,
    has_scheme,
    is_random,
    kinds_of,
    sensitivity,
)

_MEMBER = re.compile(rb'"([\w.-]++)"(' + SPACE + rb":" + SPACE + rb")" + TEXT, re.DOTALL)
_OBJECT = Brackets(rb'"((?:\w{1,40}_)?headers|auth(?:entication)?|credentials?)"' + LEADS + rb"\{", b"{}")
_NAMES_OF_OBJECTS = (b'headers"', b'auth"', b'authentication"', b'credential"', b'credentials"')
_MEMBER_OF_MANY = Brackets(rb'"([\w.-]+)"' + LEADS + rb"\[", b"[]")
_LIST = Brackets(rb'"(?:\w{1,40}_)?headers"' + LEADS + rb"\[", b"[]")
"""Headers as a list: `[{"name": "Authorization", "value": "Bearer X"}]`."""
_ITEM = Brackets(rb"\{", b"{}")
_ITEMS_NAME = re.compile(rb'"(?:name|key)"[ \t\r\n]*:[ \t\r\n]*"([\w.-]+)"')
_ITEMS_VALUE = re.compile(rb'"(value)"(' + SPACE + rb":" + SPACE + rb")" + TEXT, re.DOTALL)
_ONE_TEXT = re.compile(TEXT, re.DOTALL)
_NAME_OF_KEY = re.compile(
    rb"(?=[abceprsxABCEPRSX])((?i:x-)?(?i:(?:api|access|secret|account|subscription|private)[_-]?key"
    rb"|secret[_-]?access[_-]?key|client[_-]?secret"
    rb"|(?:access|refresh|auth|bearer|api|security)[_-]?token|authorization(?:_token)?)"
    rb"|aws_(?:secret_access_key|session_token)|connection_string|encoded_api_key|password)"
)
"""Fewer names than `sensitivity` removes in a setting: in schemas and arguments of tools and in a model's words, `key` and `token` may be anything."""
_KEY = re.compile(rb'"' + _NAME_OF_KEY.pattern + rb'"(' + SPACE + rb":" + SPACE + rb")" + TEXT, re.DOTALL)
_URL = re.compile(rb'"([A-Za-z][\w+.-]*+:(?:\\?/){2}[^"\s@=%]*+[@=%][^"\s]*+)"')
_OF_SERVERS = ("tools", "mcp_servers", "mcpServers", "session")
_IN_SCHEMA = (b'"type"', b'"description"', b'"additionalProperties"')
_DEPTH = 8

_NAME = re.compile(rb'"([\w.-]{1,100}+)"' + SPACE + b":" + SPACE + b'(?=")')
"""The name of each text. Where none may name a key, no body is searched further."""
_SETTING = re.compile(rb'"([\w.-]{1,100}+)"(' + SPACE + b":" + SPACE + b")" + TEXT, re.DOTALL)
_CONVERSATION = frozenset(
    ("messages", "message", "input", "inputs", "contents", "content", "prompt", "prompts", "history", "documents")
) | {"chat_history", "system", "systemInstruction", "system_instruction", "instructions", "suffix", "query", "text"}
"""The members that hold the conversation, in all dialects."""
_OF_TOOLS = frozenset(
    ("tools", "functions", "arguments", "args", "response_format", "format", "schema", "json_schema", "parameters")
) | {"tool_calls", "function_call", "tool_results", "result", "results", "output", "outputs"}
"""The members that hold calls, results and schemas."""
_ALONE = frozenset(("key", "token", "pw", "pwd"))
"""Names that may be anything unless a word stands before them."""
_DOUBTFUL = re.compile(r".*(?:account|subscription)[_.-]?key", re.IGNORECASE)
"""Names that may as well be those of ids."""
_KEY_LIKE = re.compile(r"(?=.*\d)(?=.*[A-Za-z])[\w.~+-]+=*", re.ASCII)
_RUN = re.compile(r"[A-Za-z0-9]{16,}")
_HEX = re.compile(r"[0-9A-Fa-f-]+|.*[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}.*")
"""UUIDs, also without hyphens or within a longer id, and digests."""
_ULID = re.compile(r"[0-7][0-9A-HJKMNP-TV-Z]{25}")
_WORDS = re.compile(r"(?!\s*\{|-----BEGIN).*\s.*|.*[^\x00-\x7f].*|[^/?#\s]*://.*", re.DOTALL)
"""Words for a person, in any script, and URLs; no key file in JSON or PEM."""


def without_keys(data: bytes, learn: Learn) -> Kept:
    """Remove the keys from a request to a model."""
    marker = Marker(learn)
    data, written = with_plain_names(data), data
    if data.lstrip(BLANKS).startswith(b"--"):
        data = in_parts(data, lambda part: marker.part(part, _is_key))
    # the parts are searched too: one may be JSON, as in a batch of requests
    if any(name in data for name in _NAMES_OF_OBJECTS):
        headers = _Headers(data, marker)
        data = _OBJECT.sub(headers.without, data)
        data = _LIST.sub(headers.without_in_list, data)
    names = {name for name in set(_NAME.findall(data)) if _may_name_a_key(name)}
    if names:  # hardly ever: so the slower patterns are seldom run
        data = without_keys_beside(_KEY.sub(marker.member, data), marker, names)
    if b"://" in data or b":\\/\\/" in data:
        data = _URL.sub(marker.url, data)
    return (data, marker.found) if marker.found else (written, ())


class _Headers:
    """Take the credentials out of the headers in a request, and out of objects named for credentials."""

    def __init__(self, whole: bytes, marker: Marker) -> None:
        self._whole = whole
        self._marker = marker

    @cached_property
    def _for_servers(self) -> Collection[JSON]:
        return _headers_of_servers(self._whole)

    def without(self, begin: re.Match[bytes], members: bytes) -> bytes:
        """Return the members of an object with marks."""
        is_headers = begin[1].endswith(b"headers")
        has_values = is_headers and members.strip() and not members.lstrip().startswith(_IN_SCHEMA)
        takes_all = bool(has_values) and read(b"{" + members + b"}") in self._for_servers

        def is_sure(name: str) -> bool:
            return sensitivity(name.lower(), place="header" if is_headers else "setting") == "remove"

        def of_member(inner: re.Match[bytes]) -> bytes:
            sure = is_sure(inner[1].decode("latin-1"))
            return self._marker.member(inner, is_sure=sure) if sure or takes_all else inner[0]

        def of_many(inner: re.Match[bytes], items: bytes) -> bytes:
            name = inner[1].decode("latin-1")
            sure = is_sure(name)
            if not sure and not takes_all:
                return items
            return _ONE_TEXT.sub(lambda text: self._marker.text(name, text[1], is_sure=sure), items)

        members = _MEMBER.sub(of_member, members)
        return _MEMBER_OF_MANY.sub(of_many, members) if b"[" in members else members

    def without_in_list(self, begin: re.Match[bytes], items: bytes) -> bytes:
        """Return a list of objects with name and value, with marks."""
        del begin
        takes_all = read(b"[" + items + b"]") in self._for_servers

        def of_item(begin: re.Match[bytes], item: bytes) -> bytes:
            del begin
            named = _ITEMS_NAME.search(item)
            name = named[1].decode("latin-1") if named else ""
            sure = sensitivity(name.lower(), place="header") == "remove"
            if not sure and not takes_all:
                return item
            return _ITEMS_VALUE.sub(lambda value: self._marker.member(value, is_sure=sure, name=name), item)

        return _ITEM.sub(of_item, items)


def _is_key(name: str) -> bool:
    """Return whether a field of a request to a model is named like a key."""
    return _NAME_OF_KEY.fullmatch(name.encode()) is not None or sensitivity(name, place="account") == "remove"


def _headers_of_servers(data: bytes) -> Collection[JSON]:
    """Return the headers for the servers of tools, of which all values are taken out."""
    request = read(data)
    if not isinstance(request, dict):
        return []
    return [headers for name in _OF_SERVERS for headers in _headers(request.get(name), _DEPTH)]


def _headers(value: JSON, depth: int) -> Iterator[JSON]:
    if not depth:
        return
    if isinstance(value, Mapping):
        headers = value.get("headers")
        names_a_place = value.get("type") == "mcp" or any(
            isinstance(item, str) and "://" in item for item in value.values()
        )
        if isinstance(headers, Mapping | list) and names_a_place:
            yield headers
    inner = value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ()
    for item in inner:
        yield from _headers(item, depth - 1)


@lru_cache(1 << 10)
def _may_name_a_key(name: bytes) -> bool:
    return _NAME_OF_KEY.fullmatch(name) is not None or sensitivity(name.decode("latin-1")) == "remove"


def without_keys_beside(data: bytes, marker: Marker, names: Collection[bytes]) -> bytes:
    """Remove the keys with these names from a request's settings, but not from its conversation."""
    request = read(data)
    if (
        not isinstance(request, dict)
        or "jsonrpc" in request
        or not ("model" in request or _CONVERSATION.intersection(request))
    ):
        return data
    keys = set(_keys(request, _DEPTH))
    if not keys:
        return data  # the usual case: arguments of tools may have thousands of such names
    pieces: list[bytes] = []
    end = 0
    for begin in _NAME.finditer(data):
        member = _SETTING.match(data, begin.start()) if begin[1] in names else None
        if member is not None and (member[1].decode("latin-1"), string_value(member[3])) in keys:
            pieces += (data[end : member.start()], marker.member(member))
            end = member.end()
    return b"".join((*pieces, data[end:]))


def _keys(value: JSON, depth: int) -> Iterator[tuple[str, str]]:
    """Yield names and values of keys, outside of the conversation."""
    if isinstance(value, Mapping):
        for name, inner in value.items():
            if isinstance(inner, str):
                if _is_key_in_settings(name, inner):
                    yield name, inner
            elif depth and name not in _CONVERSATION and name not in _OF_TOOLS:
                yield from _keys(inner, depth - 1)
    elif isinstance(value, list):
        for item in value if depth else ():
            yield from _keys(item, depth - 1)


def _is_key_in_settings(name: str, value: str) -> bool:
    if name.lower() in _ALONE or _DOUBTFUL.fullmatch(name):
        return sensitivity(name) == "remove" and _is_by_form(value)
    is_somebodys = sensitivity(name, place="account") == "remove"
    return is_somebodys and is_given(name, value) and not _WORDS.fullmatch(value)


def _is_by_form(value: str) -> bool:
    """Return whether a value is a key by form: long, random letters and digits, and no id or digest."""
    if len(value) < TELLING_FROM or not _KEY_LIKE.fullmatch(value) or _HEX.fullmatch(value) or _ULID.fullmatch(value):
        return False
    return any(map(is_random, _RUN.findall(value)))


def in_header(name: str, value: str, also: Collection[str]) -> list[CredentialSpan]:
    """Return where credentials are in a header's value, without the scheme."""
    if name in also or sensitivity(name, value, "header") == "remove":
        scheme, space, _ = value.partition(" ")
        start = len(scheme) + 1 if space and scheme.lower() in SCHEMES else 0
        return [CredentialSpan(start, len(value), name)]
    several = [CredentialSpan(*match.span(), name) for match in several_in(name, value)]
    return several or in_url(value, REDIRECT_KEYS if name == "location" else ())


def shown_by(head: Head) -> Iterator[tuple[str, str]]:
    """Yield names and values of the lasting credentials in a request's head, which may occur elsewhere too."""
    for name, value in head.headers:
        yield from _shown_by_header(name.lower(), value)
    yield from _in_urls(head.url or "")


@lru_cache(1 << 8)
def _shown_by_header(name: str, value: str) -> tuple[tuple[str, str], ...]:
    is_one = sensitivity(name, value, "header") == "remove"
    if has_scheme(value) or (is_one and not kinds_of(name) & {"session", "one-time"}):
        credential = credential_in(value).strip()
        parts = ((name, part) for part in parts_of_credential(value))
        return ((name, credential), *parts, *_in_basic(value, credential))
    if is_one:
        return ()
    return (*_in_urls(value), *((name, match[0]) for match in several_in(name, value)))


def _in_urls(text: str) -> Iterator[tuple[str, str]]:
    for span in in_url(text):
        if span.name.lower() in SESSION_KEYS:
            continue
        value = text[span.start : span.end]
        for decoded in said(value):
            yield span.name, password_in(decoded) if span.name == "userinfo" else decoded


def _in_basic(value: str, credential: str) -> Iterator[tuple[str, str]]:
    """Yield the password of Basic authentication. Source: RFC 7617; RFC 6749, section 2.3.1, for the encoding as in a form."""
    if value[:6].lower() != "basic ":
        return
    try:
        password = base64.b64decode(credential, validate=True).decode().partition(":")[2]
    except (binascii.Error, UnicodeDecodeError):
        return
    yield "basic", password
    yield "basic", unquote_plus(password)
