"""Credentials known by their place: in HTTP heads, in requests to models, and in the bodies of logins.

What a name means stands in `settings.sensitivity`; here is where in a message it is asked. In what is said to a model, and in what tools
are called with, most names may be anything: there only those count that are nothing but keys to somebody's account.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from functools import lru_cache
from typing import Literal, NamedTuple, TypeAlias
from urllib.parse import unquote_plus

from tui_host.capture.json.reading import load
from tui_host.capture.record import Head, Redaction
from tui_host.capture.redact.known_secrets import Redacted, mark
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
from tui_host.settings.sensitivity import REDIRECT_KEYS, SCHEMES, SESSION_KEYS, has_scheme, kinds_of, sensitivity
from tui_host.settings.urls import parts_of

Learn: TypeAlias = Callable[[str, str], None]
"""Called with name and value of a credential that was removed."""

# Names in bodies, beside those that `sensitivity` knows.
_ANYWHERE = re.compile(
    r"(?i:x-)?(?i:(?:api|access|secret|account|subscription|private)[_-]?key|secret[_-]?access[_-]?key|client[_-]?secret"
    r"|(?:access|refresh|auth|bearer|api|security)[_-]?token|authorization(?:_token)?)"
    r"|aws_(?:secret_access_key|session_token)|connection_string|encoded_api_key|password"
)
"""Keys in any request to a model. In schemas and in a model's words, `key` and `token` may be anything."""
_OBJECTS = frozenset(("auth", "authentication", "credential", "credentials"))
"""Objects of which every member that a setting may hide is a key."""
_OF_LOGINS = frozenset(
    ("code", "code_verifier", "device_code", "user_code", "verification_uri_complete", "id_token_hint", "auth_req_id")
) | {"registration_client_uri", "pre-authorized_code", "tx_code", "ticket", "SAMLResponse"}
"""Source: RFC 6749, 7592, 7636 and 8628; OpenID Connect, RP-Initiated Logout, CIBA and credential issuance; UMA."""
_ONE_TIME = re.compile(
    r"(?:^|[^A-Za-z]|(?<=[a-z])(?=[A-Z]))"
    r"(?i:[th]?otp|passcode|pin|(?:otp|mfa|2fa|factor|verification|recovery|backup|sms|login|one_?time)[_-]?code)$"
)
"""One-time and backup codes."""
_LOGIN_PATH = re.compile(
    r"(?:^|/)(?:oauth2?(?:/(?:device/)?\w+)?|token|login|register|authorize)/?$"
    r"|(?<!count)(?<!count_)(?:keys?|secrets|tokens)(?:/(?:re)?generate)?/?$"
    r"|/(?:realtime|chatkit)/\w*sessions/?$|/service_accounts/?$|/grant/?$",
    re.IGNORECASE,
)

# What stands where in a request to a model.
_SERVERS = frozenset(("tools", "mcp_servers", "mcpServers"))
_CONVERSATION = frozenset(
    ("messages", "message", "input", "inputs", "contents", "content", "prompt", "prompts", "history", "documents")
) | {"chat_history", "system", "systemInstruction", "system_instruction", "instructions", "suffix", "query", "text"}
_OF_TOOLS = frozenset(
    ("functions", "arguments", "args", "response_format", "format", "schema", "json_schema", "parameters")
) | {"tool_calls", "function_call", "tool_results", "result", "results", "output", "outputs"}
_OF_MODELS = frozenset(("model", "messages", "input", "inputs", "contents", "prompt", "tools", "jsonrpc"))
"""Members by which a JSON body is none of a login."""

_BLANKS = b"\xef\xbb\xbf \t\r\n"
_LEADS = rb"[ \t\r\n]*+:[ \t\r\n]*+"
_TEXT = rb'"([^"\\]*+(?:\\.[^"\\]*+)*+)"'
_MEMBER = re.compile(
    rb'"([\w.:\[\]-]{1,100}+)"(' + _LEADS + rb")(?:" + _TEXT + rb"|(\[[^\[\]{}]*+\])|(\d{6,20}+)(?=[\s,}\]]))",
    re.DOTALL,
)
"""A member of a JSON object with a text, a list of texts, or a number as long as a one-time code."""
_NAME = re.compile(rb'"([\w.-]{1,100}+)"' + _LEADS + rb'(?=["\[])')
_ONE_TEXT = re.compile(_TEXT, re.DOTALL)
_URL = re.compile(rb'"([A-Za-z][\w+.-]*+://[^"\s@=%]*+[@=%][^"\s]*+)"')
_FIELD = re.compile(rb"(?:\A|(?<=&))([^=&]+)=([^&]+)")
_OPAQUE = re.compile(r"[\w.~+=-]+")
_WORDS = re.compile(r"(?!\s*\{|-----BEGIN).*\s.*|.*[^\x00-\x7f].*|[^/?#\s]*://.*", re.DOTALL)
"""Words for a person, in any script, and URLs; no key file in JSON or PEM."""
_LAST_WORD = re.compile(r"[A-Z]?[a-z]+(?=\d*$)|[A-Z]+(?=\d*$)")
_MARK = "⟨secret:".encode()
_DEPTH = 16
_LOGIN_LIMIT = 64 << 10
"""Bytes that a login's body has at most."""


# Heads.


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


# Bodies.


class _Key(NamedTuple):
    """A credential in the JSON of a request: the member that holds it, its value, and the name in its mark.

    A doubtful one is taken out too, but searched for elsewhere only if it looks random.
    """

    member: str
    value: str
    name: str
    is_sure: bool = True


class _Marker:
    """Replaces credentials in a body by marks, and collects the redactions."""

    def __init__(self, learn: Learn) -> None:
        self.found: list[Redaction] = []
        self._learn = learn

    def value(self, name: str, raw: bytes, value: str, *, is_sure: bool = True) -> bytes:
        """Return the mark for a value that is written as `raw`."""
        if not raw or raw.startswith(_MARK):
            return raw
        if is_sure or _OPAQUE.fullmatch(value):
            self._learn(name, value)
        self.found.append(Redaction(where="data", name=name, length=len(raw)))
        return mark(name).encode()

    def members(self, data: bytes, key_of: Callable[[str, str], _Key | None]) -> bytes:
        """Return JSON with marks for the members that are keys; of a list, for the texts that are."""

        def of_text(name: str, raw: bytes) -> bytes:
            key = key_of(name, _string(raw))
            if key is None:
                return b'"%s"' % raw
            scheme, space, rest = raw.partition(b" ")
            if not space or scheme.lower().decode("latin-1") not in SCHEMES:
                scheme, space, rest = b"", b"", raw
            return b'"%s%s%s"' % (scheme, space, self.value(key.name, rest, _string(rest), is_sure=key.is_sure))

        def of_member(match: re.Match[bytes]) -> bytes:
            name = match[1].decode("latin-1")
            if match[3] is not None:
                value = of_text(name, match[3])
            elif match[4] is not None:
                value = _ONE_TEXT.sub(lambda text: of_text(name, text[1]), match[4])
            elif key_of(name, match[5].decode()) is not None:
                # The digits are not searched for: they may occur elsewhere by chance.
                self.found.append(Redaction(where="data", name=name, length=len(match[5])))
                value = b'"%s"' % mark(name).encode()
            else:
                value = match[5]
            return b'"%s"%s%s' % (match[1], match[2], value)

        return _MEMBER.sub(of_member, data)

    def url(self, match: re.Match[bytes]) -> bytes:
        """Return a string with a URL, with marks for the credentials."""
        url = _string(match[1])
        pieces: list[str] = []
        end = 0
        for start, stop, name in in_url(url):
            *_, plain = said(url[start:stop])
            raw = url[start:stop].encode("utf-8", "surrogatepass")
            marked = self.value(name, raw, password_in(plain) if name == "userinfo" else plain)
            pieces += (url[end:start], marked.decode("utf-8", "surrogatepass"))
            end = stop
        if not pieces:
            return match[0]
        return json.dumps("".join((*pieces, url[end:])), ensure_ascii=False).encode("utf-8", "surrogatepass")


def without_keys(data: bytes, learn: Learn) -> Redacted:
    """Remove the keys from a request to a model, its tools' servers' headers among them, and what URLs in it tell."""
    marker = _Marker(learn)
    names = {name for name in set(_NAME.findall(data)) if _may_name_a_key(name)}
    if names or b'headers"' in data:  # hardly ever: so the body is seldom parsed
        keys = {(key.member, key.value): key for key in _keys_in(_read(data))}

        def key_of(name: str, value: str) -> _Key | None:
            return keys.get((name, value)) or (_Key(name, value, name) if _ANYWHERE.fullmatch(name) else None)

        data = marker.members(data, key_of)
    if b"://" in data:
        data = _URL.sub(marker.url, data)
    return data, tuple(marker.found)


@lru_cache(1 << 10)
def _may_name_a_key(name: bytes) -> bool:
    return _ANYWHERE.fullmatch(name.decode("latin-1")) is not None or sensitivity(name.decode("latin-1")) == "remove"


def _keys_in(request: JSON) -> Iterator[_Key]:
    if isinstance(request, Mapping):
        is_to_model = "jsonrpc" not in request and ("model" in request or not _CONVERSATION.isdisjoint(request))
        yield from _keys(request, "settings" if is_to_model else "said", _DEPTH)


def _keys(value: JSON, part: Literal["settings", "servers", "said"], depth: int) -> Iterator[_Key]:
    """Yield the keys in a part of a request: its settings, the servers of its tools, or what is said."""
    if isinstance(value, list) and depth:
        for item in value:
            yield from _keys(item, part, depth - 1)
    if not isinstance(value, Mapping) or not depth:
        return
    for name, inner in value.items():
        if isinstance(inner, str):
            if part == "settings" and _is_key_in_settings(name, inner):
                yield _Key(name, inner, name)
        elif name == "headers" or name.endswith("_headers"):
            yield from _in_headers(inner, takes_all=part == "servers" and _names_a_place(value))
        elif name in _OBJECTS and isinstance(inner, Mapping):
            named = ((key, text) for key, text in inner.items() if isinstance(text, str))
            yield from (_Key(key, text, key) for key, text in named if sensitivity(key) == "remove")
        elif name in _SERVERS:
            yield from _keys(inner, "servers", depth - 1)
        else:
            yield from _keys(inner, "said" if name in _CONVERSATION or name in _OF_TOOLS else part, depth - 1)


def _is_key_in_settings(name: str, value: str) -> bool:
    is_somebodys = sensitivity(name, place="account") == "remove"
    return is_somebodys and is_given(name, value) and not _WORDS.fullmatch(value)


def _names_a_place(server: Mapping[str, JSON]) -> bool:
    return server.get("type") == "mcp" or any(isinstance(item, str) and "://" in item for item in server.values())


def _in_headers(headers: JSON, *, takes_all: bool) -> Iterator[_Key]:
    """Yield the credentials in headers: an object, or a list of objects with name and value. Of a server's, all are taken."""
    for member, name, values in _fields_of(headers):
        is_sure = sensitivity(name.lower(), place="header") == "remove"
        for value in values if isinstance(values, list) else [values]:
            if isinstance(value, str) and (is_sure or takes_all):
                yield _Key(member, value, name, is_sure)


def _fields_of(headers: JSON) -> Iterator[tuple[str, str, JSON]]:
    if isinstance(headers, Mapping):
        yield from ((name, name, value) for name, value in headers.items())
    for item in headers if isinstance(headers, list) else ():
        name = item.get("name", item.get("key")) if isinstance(item, Mapping) else None
        if isinstance(item, Mapping) and isinstance(name, str):
            yield "value", name, item.get("value")


# Logins.


def is_login(head: Head, body: bytes) -> bool:
    """Return whether a request gets, renews or creates a credential, by path, content type and body."""
    begin = body.lstrip(_BLANKS)[:1]
    if b'"jsonrpc"' in body[:_LOGIN_LIMIT]:
        return False
    if _LOGIN_PATH.search(parts_of(head.url or "").path) is not None:
        return True
    if begin in {b"{", b"["}:  # curl declares a form where no type was given
        return _is_json_of_login(body)
    return head.value("content-type").strip().lower().startswith("application/x-www-form-urlencoded")


def _is_json_of_login(data: bytes) -> bool:
    login = _read(data) if len(data) <= _LOGIN_LIMIT else None
    if not isinstance(login, Mapping) or not _OF_MODELS.isdisjoint(login):
        return False
    # `key` may be any, and `code` the text of a program.
    named = [name for name, value in login.items() if isinstance(value, str) and is_of_login(name) and name != "key"]
    return "grant_type" in login or any(name != "code" or _OPAQUE.fullmatch(str(login[name])) for name in named)


def is_token(data: bytes) -> bool:
    """Return whether an answer brings a token, whoever asked for it. Source: RFC 6749, section 5.1."""
    answer = _read(data) if b'"access_token"' in data else None
    return isinstance(answer, Mapping) and isinstance(answer.get("access_token"), str)


def without_tokens(data: bytes, learn: Learn) -> Redacted:
    """Remove the secrets from a login's form or JSON, or from the JSON of an answer with a new key."""
    marker = _Marker(learn)

    def of_field(match: re.Match[bytes]) -> bytes:
        name = unquote_plus(match[1].decode("utf-8", "replace")).strip()
        if not is_of_login(name):
            return match[0]
        value = unquote_plus(match[2].decode("utf-8", "replace"))
        return b"%s=%s" % (match[1], marker.value(name, match[2], value))

    def key_of(name: str, value: str) -> _Key | None:
        return _Key(name, value, name) if _is_secret(name, value) else None

    begin = data.lstrip(_BLANKS)[:1]
    if begin in {b"{", b"["}:
        data = marker.members(data, key_of)
    elif begin not in {b"<", b"-"}:
        data = _FIELD.sub(of_field, data)
    return data, tuple(marker.found)


def _is_secret(name: str, value: str) -> bool:
    """Return whether a member is a secret, also the bare `value` in the answer to a request for a new key."""
    if name in {"value", "name"}:
        is_opaque = len(value) >= 16 and " " not in value
        return is_opaque and (name == "value" or value.startswith("auth_tokens/"))
    return is_of_login(name)


@lru_cache(1 << 10)
def is_of_login(name: str) -> bool:
    """Return whether a name ends like a secret's of a login, as `user[password]` does. A key's alias and a token's type do not."""
    name = name[:100].rstrip("[]0123456789")
    if name.rpartition("[")[2] in _OF_LOGINS or _ONE_TIME.search(name):
        return True
    last = _LAST_WORD.search(name)
    return last is not None and sensitivity(last[0]) == sensitivity(name) == "remove"


def _read(data: bytes) -> JSON:
    """Parse JSON; None for broken JSON too."""
    try:
        return load(data)
    except (ValueError, RecursionError):
        return None


def _string(raw: bytes) -> str:
    """Return the value of a JSON string with the content `raw`."""
    value = _read(b'"%s"' % raw) if b"\\" in raw else None
    return value if isinstance(value, str) else raw.decode("utf-8", "replace")
