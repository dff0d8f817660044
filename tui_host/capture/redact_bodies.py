"""Secrets in bodies by their place. Source: DESIGN, Contract, Secrets.

Of a login, and of what asks for a new key, all that is named like a credential. Of a request to a model only what is named as a key to
somebody's door and has a text as its value, what the servers of its tools get as headers, and the credentials in URLs: what else is
called a token there is a word, and what passes is to be seen.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from functools import cached_property
from typing import TypeAlias

from tui_host.capture.digits import load
from tui_host.capture.enclosed import TEXT, Enclosed
from tui_host.capture.record import Redaction
from tui_host.capture.redact_values import Kept, mark
from tui_host.errors import JSON
from tui_host.settings.credentials import SCHEMES, is_credential_header, is_credential_key
from tui_host.settings.credentials_places import in_url, password_in, said

Learn: TypeAlias = Callable[[str, str], None]
"""Takes the name and the value of what was taken out."""

_MARK = "⟨secret:".encode()
_OPAQUE_FROM = 16
_PLAIN = re.compile(r"[\w.-]+", re.ASCII)
_OPAQUE = re.compile(r"[\w.~+=-]+")
_SPACE = rb"[ \t\r\n]*+"
_MEMBER = re.compile(rb'"([\w.-]++)"(' + _SPACE + rb":" + _SPACE + rb")" + TEXT, re.DOTALL)
_LEADS = _SPACE + rb":" + _SPACE
_OBJECT = Enclosed(rb'"((?:\w{1,40}_)?headers|auth(?:entication)?|credentials?)"' + _LEADS + rb"\{", b"{}")
_MEMBER_OF_MANY = Enclosed(rb'"([\w.-]+)"' + _LEADS + rb"\[", b"[]")
_LIST = Enclosed(rb'"(?:\w{1,40}_)?headers"' + _LEADS + rb"\[", b"[]")
"""Headers in another form, as `[{"name": "Authorization", "value": "Bearer X"}]`."""
_ITEM = Enclosed(rb"\{", b"{}")
_ITEMS_NAME = re.compile(rb'"(?:name|key)"[ \t\r\n]*:[ \t\r\n]*"([\w.-]+)"')
_ITEMS_VALUE = re.compile(rb'"(value)"(' + _SPACE + rb":" + _SPACE + rb")" + TEXT, re.DOTALL)
_ONE_TEXT = re.compile(TEXT, re.DOTALL)
_NAME_OF_KEY = re.compile(
    rb"(?=[abceprsxABCEPRSX])((?i:x-)?(?i:(?:api|access|secret|account|subscription|private)[_-]?key"
    rb"|secret[_-]?access[_-]?key|client[_-]?secret"
    rb"|(?:access|refresh|auth|bearer|api|security)[_-]?token|authorization(?:_token)?)"
    rb"|aws_(?:secret_access_key|session_token)|connection_string|encoded_api_key|password)"
)
"""Fewer names than `is_credential_key` knows, since what passes is to be seen: in tools' schemas and arguments, in settings of a model and
in its words, `key`, `token` and the like are anything."""
_KEY = re.compile(rb'"' + _NAME_OF_KEY.pattern + rb'"(' + _SPACE + rb":" + _SPACE + rb")" + TEXT, re.DOTALL)
_URL = re.compile(rb'"([A-Za-z][\w+.-]*+:(?:\\?/){2}[^"\s@=%]*+[@=%][^"\s]*+)"')
_FIELD = re.compile(rb"(?:\A|(?<=&))([^=&]+)=([^&]+)")
_BLANKS = b"\xef\xbb\xbf \t\r\n"
_END_OF_PARTS_HEAD = re.compile(rb"\n\r?\n")
_PARTS_NAME = re.compile(rb'\bname="?([\w.-]+)', re.IGNORECASE)
_ESCAPED_NAME = re.compile(rb'"((?:[\w.-]|\\u00[2-7][0-9A-Fa-f]){1,100})"(?=' + rb"[ \t\r\n]*:)")
_OBJECTS = frozenset(("headers", "auth", "authentication", "credential", "credentials", "value", "name"))
_OF_LOGINS = frozenset(
    ("code", "code_verifier", "device_code", "user_code", "verification_uri_complete", "id_token_hint", "auth_req_id")
) | {"registration_client_uri", "pre-authorized_code", "tx_code", "ticket", "SAMLResponse", "otp"}
"""Source: RFC 6749, 7592, 7636 and 8628; OpenID Connect, RP-Initiated Logout, CIBA and credential issuance; UMA."""
_TO_LOG_IN = frozenset(("grant_type", "client_id", "client_assertion", "assertion", "username", "login", "email"))
"""What a login tells besides its secrets, or has them named by. Source: RFC 6749 and 7521."""
_LAST_WORD = re.compile(r"[A-Z]?[a-z]+(?=\d*$)|[A-Z]+(?=\d*$)")
_OF_SERVERS = ("tools", "mcp_servers", "mcpServers", "session")
_NAME_LIMIT = 100
_IN_SCHEMA = (b'"type"', b'"description"', b'"additionalProperties"')
_DEPTH = 8


class _Taking:
    """Puts marks in the places of credentials, and gathers what stood there."""

    def __init__(self, learn: Learn) -> None:
        self._learn = learn
        self._found: list[Redaction] = []

    @property
    def found(self) -> tuple[Redaction, ...]:
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

    def text(self, name: str, raw: bytes, *, is_sure: bool = True) -> bytes:
        """What stands for a text that is so called, of which a scheme stays."""
        scheme, space, rest = raw.partition(b" ")
        if not space or scheme.lower().decode("latin-1") not in SCHEMES:
            scheme, space, rest = b"", b"", raw
        return b'"%s%s%s"' % (scheme, space, self.value(name, rest, _decoded(rest), is_sure=is_sure))

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
        url = _decoded(hit[1])
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


def without_keys(data: bytes, learn: Learn) -> Kept:
    """A request to a model without what it holds of keys."""
    taking = _Taking(learn)
    data, written = _names_read(data), data
    if data.lstrip(_BLANKS).startswith(b"--"):
        data = _in_parts(data, lambda part: taking.part(part, _is_key))
    # goes on with what is in the parts too: one may be JSON, as requests that are to be asked later
    headers = _Headers(data, taking)
    data = _OBJECT.sub(headers.without, data)
    if b'headers"' in data:
        data = _LIST.sub(headers.without_in_list, data)
    data = _KEY.sub(taking.member, data)
    if b"://" in data or b":\\/\\/" in data:
        data = _URL.sub(taking.url, data)
    return (data, taking.found) if taking.found else (written, ())


class _Headers:
    """Takes the credentials out of headers, and of objects that are about credentials.

    Args:
        whole: The request.
        taking: Puts the marks.
    """

    def __init__(self, whole: bytes, taking: _Taking) -> None:
        self._whole = whole
        self._taking = taking

    @cached_property
    def _theirs(self) -> Collection[JSON]:
        return _headers_of_servers(self._whole)

    def without(self, begin: re.Match[bytes], members: bytes) -> bytes:
        """The members of an object with names and values."""
        is_headers = begin[1].endswith(b"headers")
        is_told = is_headers and members.strip() and not members.lstrip().startswith(_IN_SCHEMA)
        takes_all = bool(is_told) and _read(b"{" + members + b"}") in self._theirs
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
        takes_all = _read(b"[" + items + b"]") in self._theirs

        def of_item(begin: re.Match[bytes], item: bytes) -> bytes:
            del begin
            named = _ITEMS_NAME.search(item)
            name = named[1].decode("latin-1") if named else ""
            sure = is_credential_header(name.lower())
            if not sure and not takes_all:
                return item
            return _ITEMS_VALUE.sub(lambda value: self._taking.member(value, is_sure=sure, name=name), item)

        return _ITEM.sub(of_item, items)


def without_tokens(data: bytes, learn: Learn) -> Kept:
    """A form or a JSON document of a login, or one that tells a new key, without its secrets; what cannot be read goes as a whole."""
    try:
        data.decode()
    except UnicodeDecodeError:
        return mark("body").encode(), (Redaction(where="data", name="body", length=len(data)),)
    taking = _Taking(learn)
    data, written = _names_read(data), data

    def of_json(hit: re.Match[bytes]) -> bytes:
        return taking.member(hit) if _is_token(hit[1].decode("latin-1"), hit[3]) else hit[0]

    def of_form(hit: re.Match[bytes]) -> bytes:
        name = hit[1].decode("utf-8", "replace")
        value = hit[2].decode("utf-8", "replace")
        return b"%s=%s" % (hit[1], taking.value(name, hit[2], password_in(":" + value))) if _is_named(name) else hit[0]

    begin = data.lstrip(_BLANKS)
    if begin[:1] in {b"{", b"["}:
        data = _MEMBER.sub(of_json, data)
    elif begin.startswith(b"--"):
        data = _in_parts(data, lambda part: taking.part(part, _is_named))
    else:
        data = _FIELD.sub(of_form, data)
    return (data, taking.found) if taking.found else (written, ())


def is_json_without_login(data: bytes) -> bool:
    """Whether a body is an object in JSON, and no member of it is named as a login's are, but for what is on or off."""
    told = _read(data)
    if not isinstance(told, dict):
        return False
    return not any(name in _TO_LOG_IN or (_is_named(name) and not isinstance(told[name], bool)) for name in told)


def _in_parts(data: bytes, without: Callable[[bytes], bytes]) -> bytes:
    """A body in parts, each as this makes it. Source: RFC 7578; RFC 2046, section 5.1.1."""
    between = b"\n" + data.lstrip(_BLANKS).partition(b"\n")[0].rstrip()
    return between.join(map(without, data.split(between)))


def _is_key(name: str) -> bool:
    """Whether a field of a request to a model is called like somebody's key."""
    return _NAME_OF_KEY.fullmatch(name.encode()) is not None


def _names_read(data: bytes) -> bytes:
    """JSON in which no name that tells of a credential is written with escapes."""

    def of_name(hit: re.Match[bytes]) -> bytes:
        name = _decoded(hit[1])
        tells = name in _OBJECTS or is_credential_header(name.lower()) or _is_named(name)
        return b'"%s"' % name.encode() if tells and _PLAIN.fullmatch(name) else hit[0]

    return _ESCAPED_NAME.sub(of_name, data) if b"\\u00" in data else data


def _is_token(name: str, raw: bytes) -> bool:
    """Whether a member's value is a credential, also where it is but a value of the answer to who wanted a new key."""
    if name in {"value", "name"}:
        is_opaque = len(raw) >= _OPAQUE_FROM and b" " not in raw
        return is_opaque and (name == "value" or raw.startswith(b"auth_tokens/"))
    return _is_named(name)


def _is_named(name: str) -> bool:
    """Whether a name ends as those of credentials do: what is a key's alias or a token's type does not."""
    if name in _OF_LOGINS or len(name) > _NAME_LIMIT:
        return name in _OF_LOGINS
    last = _LAST_WORD.search(name)
    return last is not None and is_credential_key(last[0]) and is_credential_key(name.rstrip("0123456789"))


def _headers_of_servers(data: bytes) -> Collection[JSON]:
    """The headers that a model's provider is to send to the servers of tools: all that stands in them is for those alone."""
    told = _read(data)
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


def _read(data: bytes) -> JSON:
    try:
        value = load(data)
    except (ValueError, RecursionError):
        return None
    return value


def _decoded(raw: bytes) -> str:
    value = _read(b'"%s"' % raw)
    return value if isinstance(value, str) else raw.decode("utf-8", "replace")
