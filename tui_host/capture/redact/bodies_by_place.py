"""Secrets in bodies by their place. Source: DESIGN, Contract, Secrets.

Of a login, and of what asks for a new key, all that is named like a credential: see `redact_logins`. Of a request to a model only what is
named as a key to somebody's door and has a text as its value, what the servers of its tools get as headers, and the credentials in URLs;
beside what is said more names are, see `redact_settings`. What else is called a token there is a word, and what passes is to be seen.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from functools import cached_property

from tui_host.capture.json.brackets import TEXT, Enclosed
from tui_host.capture.redact.body_fields import BLANKS, LEADS, SPACE, Learn, Taking, in_parts, read
from tui_host.capture.redact.by_value import Kept
from tui_host.capture.redact.login_forms import names_read
from tui_host.capture.redact.request_settings import without_keys_beside
from tui_host.errors import JSON
from tui_host.settings.credential_names import is_credential_header, is_credential_key, is_somebodys_key

_MEMBER = re.compile(rb'"([\w.-]++)"(' + SPACE + rb":" + SPACE + rb")" + TEXT, re.DOTALL)
_OBJECT = Enclosed(rb'"((?:\w{1,40}_)?headers|auth(?:entication)?|credentials?)"' + LEADS + rb"\{", b"{}")
_MEMBER_OF_MANY = Enclosed(rb'"([\w.-]+)"' + LEADS + rb"\[", b"[]")
_LIST = Enclosed(rb'"(?:\w{1,40}_)?headers"' + LEADS + rb"\[", b"[]")
"""Headers in another form, as `[{"name": "Authorization", "value": "Bearer X"}]`."""
_ITEM = Enclosed(rb"\{", b"{}")
_ITEMS_NAME = re.compile(rb'"(?:name|key)"[ \t\r\n]*:[ \t\r\n]*"([\w.-]+)"')
_ITEMS_VALUE = re.compile(rb'"(value)"(' + SPACE + rb":" + SPACE + rb")" + TEXT, re.DOTALL)
_ONE_TEXT = re.compile(TEXT, re.DOTALL)
_NAME_OF_KEY = re.compile(
    rb"(?=[abceprsxABCEPRSX])((?i:x-)?(?i:(?:api|access|secret|account|subscription|private)[_-]?key"
    rb"|secret[_-]?access[_-]?key|client[_-]?secret"
    rb"|(?:access|refresh|auth|bearer|api|security)[_-]?token|authorization(?:_token)?)"
    rb"|aws_(?:secret_access_key|session_token)|connection_string|encoded_api_key|password)"
)
"""Fewer names than `is_credential_key` knows, since what passes is to be seen: in tools' schemas and arguments, in settings of a model and
in its words, `key`, `token` and the like are anything."""
_KEY = re.compile(rb'"' + _NAME_OF_KEY.pattern + rb'"(' + SPACE + rb":" + SPACE + rb")" + TEXT, re.DOTALL)
_URL = re.compile(rb'"([A-Za-z][\w+.-]*+:(?:\\?/){2}[^"\s@=%]*+[@=%][^"\s]*+)"')
_OF_SERVERS = ("tools", "mcp_servers", "mcpServers", "session")
_IN_SCHEMA = (b'"type"', b'"description"', b'"additionalProperties"')
_DEPTH = 8


def without_keys(data: bytes, learn: Learn) -> Kept:
    """A request to a model without what it holds of keys."""
    taking = Taking(learn)
    data, written = names_read(data), data
    if data.lstrip(BLANKS).startswith(b"--"):
        data = in_parts(data, lambda part: taking.part(part, _is_key))
    # goes on with what is in the parts too: one may be JSON, as requests that are to be asked later
    headers = _Headers(data, taking)
    data = _OBJECT.sub(headers.without, data)
    if b'headers"' in data:
        data = _LIST.sub(headers.without_in_list, data)
    data = without_keys_beside(_KEY.sub(taking.member, data), taking)
    if b"://" in data or b":\\/\\/" in data:
        data = _URL.sub(taking.url, data)
    return (data, taking.found) if taking.found else (written, ())


class _Headers:
    """Takes the credentials out of headers, and of objects that are about credentials.

    Args:
        whole: The request.
        taking: Puts the marks.
    """

    def __init__(self, whole: bytes, taking: Taking) -> None:
        self._whole = whole
        self._taking = taking

    @cached_property
    def _theirs(self) -> Collection[JSON]:
        return _headers_of_servers(self._whole)

    def without(self, begin: re.Match[bytes], members: bytes) -> bytes:
        """The members of an object with names and values."""
        is_headers = begin[1].endswith(b"headers")
        is_told = is_headers and members.strip() and not members.lstrip().startswith(_IN_SCHEMA)
        takes_all = bool(is_told) and read(b"{" + members + b"}") in self._theirs
        is_one = is_credential_header if is_headers else is_credential_key

        def is_sure(name: str) -> bool:
            return is_one(name.lower() if is_headers else name)

        def of_member(inner: re.Match[bytes]) -> bytes:
            sure = is_sure(inner[1].decode("latin-1"))
            return self._taking.member(inner, is_sure=sure) if sure or takes_all else inner[0]

        def of_many(inner: re.Match[bytes], items: bytes) -> bytes:
            name = inner[1].decode("latin-1")
            sure = is_sure(name)
            if not sure and not takes_all:
                return items
            return _ONE_TEXT.sub(lambda text: self._taking.text(name, text[1], is_sure=sure), items)

        members = _MEMBER.sub(of_member, members)
        return _MEMBER_OF_MANY.sub(of_many, members) if b"[" in members else members

    def without_in_list(self, begin: re.Match[bytes], items: bytes) -> bytes:
        """A list of such objects, each with one name and its value."""
        del begin
        takes_all = read(b"[" + items + b"]") in self._theirs

        def of_item(begin: re.Match[bytes], item: bytes) -> bytes:
            del begin
            named = _ITEMS_NAME.search(item)
            name = named[1].decode("latin-1") if named else ""
            sure = is_credential_header(name.lower())
            if not sure and not takes_all:
                return item
            return _ITEMS_VALUE.sub(lambda value: self._taking.member(value, is_sure=sure, name=name), item)

        return _ITEM.sub(of_item, items)


def _is_key(name: str) -> bool:
    """Whether a field of a request to a model is called like somebody's key."""
    return _NAME_OF_KEY.fullmatch(name.encode()) is not None or is_somebodys_key(name)


def _headers_of_servers(data: bytes) -> Collection[JSON]:
    """The headers that a model's provider is to send to the servers of tools: all that stands in them is for those alone."""
    told = read(data)
    return (
        []
        if not isinstance(told, dict)
        else [each for name in _OF_SERVERS for each in _headers(told.get(name), _DEPTH)]
    )


def _headers(value: JSON, depth: int) -> Iterator[JSON]:
    if not depth:
        return
    if isinstance(value, Mapping):
        headers = value.get("headers")
        names_a_place = value.get("type") == "mcp" or any(
            isinstance(each, str) and "://" in each for each in value.values()
        )
        if isinstance(headers, Mapping | list) and names_a_place:
            yield headers
    inner = value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ()
    for each in inner:
        yield from _headers(each, depth - 1)
