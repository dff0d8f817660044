"""Credentials known by their place: in HTTP heads, in requests to models, and in the bodies of logins.

What a name means stands in `settings.sensitivity`; here is where in a message it is asked. In what is said to a model, and in what tools
are called with, most names may be anything: there only those count that are nothing but keys to somebody's account.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import lru_cache
from typing import TypeAlias
from urllib.parse import unquote_plus

from tui_host.capture.json.narrowing import items, mapping
from tui_host.capture.json.reading import load
from tui_host.capture.record import Head
from tui_host.capture.redact.known_secrets import Hit, Redacted, merged, without
from tui_host.errors import JSON
from tui_host.settings.credential_places import (
    CredentialSpan,
    credential_in,
    in_url,
    parts_of_credential,
    password_in,
    said,
    several_in,
)
from tui_host.settings.sensitivity import REDIRECT_KEYS, SESSION_KEYS, has_scheme, kinds_of, sensitivity
from tui_host.settings.urls import parts_of

Learn: TypeAlias = Callable[[str, str], None]
"""Called with name and value of a credential that was removed."""
_Span: TypeAlias = tuple[int, int, str, str]
"""Where a credential stands in a body: its first byte, one past its last, name and value."""

# Names in bodies, beside those that `sensitivity` knows.
_ANYWHERE = re.compile(
    r"(?i:x-)?(?i:(?:api|access|secret|account|subscription|private)[_-]?key|secret[_-]?access[_-]?key|client[_-]?secret"
    r"|(?:access|refresh|auth|bearer|api|security)[_-]?token|authorization(?:_token)?)"
    r"|aws_(?:secret_access_key|session_token)|vertex_credentials|connection_string|encoded_api_key|password"
)
"""Keys in any request to a model. In schemas and in a model's words, `key` and `token` may be anything."""
_OBJECTS = frozenset(("auth", "authentication", "credential", "credentials"))
"""Objects of which every member that is named like a key is one."""
_SERVERS = frozenset(("tools", "mcp_servers", "mcpServers"))
"""Members of a request to a model that hold the servers of its tools."""
_OF_MODELS = frozenset(("model", "messages", "input", "inputs", "contents", "prompt", "tools", "jsonrpc"))
"""Members by which a JSON body is none of a login."""
_MODEL_BODY = re.compile(
    rb'\s*\{(?:\s*"\w{1,40}"\s*:\s*(?:"[^"\\]{0,200}"|[\w.+-]{1,40})\s*,){0,8}\s*"(?:%s)"\s*:'
    % "|".join(_OF_MODELS).encode()
)
"""The beginning of a body with such a member, behind short ones."""
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

_BLANKS = b"\xef\xbb\xbf \t\r\n"
_LEADS = rb"[ \t\r\n]*+:[ \t\r\n]*+"
_MEMBER = re.compile(
    rb'"([\w.:\[\]-]{1,100}+)"' + _LEADS + rb'("(?:[^"\\]*+(?:\\.[^"\\]*+)*+)"|\[[^\[\]{}]*+\])', re.DOTALL
)
"""A member of a JSON object with a text or a list of texts."""
_NAME = re.compile(rb'"([\w.-]{1,100}+)"' + _LEADS + rb'(?=["\[{])')
_ONE_TEXT = re.compile(rb'"([^"\\]*+(?:\\.[^"\\]*+)*+)"', re.DOTALL)
_URL = re.compile(rb'"([A-Za-z][\w+.-]*+://[^"\s@=%]*+[@=%][^"\s]*+)"')
_FIELD = re.compile(rb"(?:\A|(?<=&))([^=&]+)=([^&]+)")
_LAST_WORD = re.compile(r"[A-Z]?[a-z]+(?=\d*$)|[A-Z]+(?=\d*$)")
_DEPTH = 16
_LOGIN_LIMIT = 64 << 10
"""Bytes that a login's body has at most."""


# Heads.


def in_header(name: str, value: str, also: Collection[str]) -> list[CredentialSpan]:
    """Return where credentials are in a header's value, without the scheme."""
    if name in also or sensitivity(name, value, "header") == "remove":
        return [CredentialSpan(len(value) - len(credential_in(value)), len(value), name)]
    several = [CredentialSpan(*match.span(), name) for match in several_in(name, value)]
    return several or in_url(value, REDIRECT_KEYS if name == "location" else ())


def shown_by(head: Head) -> Iterator[tuple[str, str]]:
    """Yield names and values of the lasting credentials in a request's head, which may occur elsewhere too."""
    for name, value in (("", head.url or ""), *head.headers):
        yield from _shown(name.lower(), value)


@lru_cache(1 << 8)
def _shown(name: str, value: str) -> tuple[tuple[str, str], ...]:
    if kinds_of(name) & {"session", "one-time"} and not has_scheme(value):
        return ()
    if sensitivity(name, value, "header") != "remove":
        texts = ((key, said(value[start:end])) for start, end, key in in_header(name, value, ()))
        return tuple(
            (key, password_in(text) if key == "userinfo" else text)
            for key, spelled in texts
            for text in (spelled if key.lower() not in SESSION_KEYS else ())
        )
    values = [credential_in(value).strip(), *parts_of_credential(value)]
    if value[:6].lower() == "basic ":
        with suppress(ValueError):  # Source: RFC 7617; RFC 6749, section 2.3.1, for the encoding as in a form.
            password = base64.b64decode(values[0], validate=True).decode().partition(":")[2]
            values += (password, unquote_plus(password))
    return tuple((name, value) for value in values)


# Bodies.


def without_keys(data: bytes, learn: Learn) -> Redacted:
    """Remove the keys from a request to a model, its tools' servers' headers among them, and what URLs in it tell."""
    names = {name.decode("latin-1") for name in set(_NAME.findall(data))}
    has_objects = any(_holds_headers(name) or name in _OBJECTS for name in names)
    spans: list[_Span] = []
    if has_objects or any(map(_may_name_a_key, names)):  # hardly ever: so the body is seldom parsed
        keys = set(_keys(_read(data) if has_objects else None, _DEPTH))
        spans += _members(data, lambda name, text: _ANYWHERE.fullmatch(name) is not None or (name, text) in keys)
    for match in _URL.finditer(data) if b"://" in data else ():
        url = match[1].replace(b"\\u0026", b"&&&&&&").decode("latin-1")  # as Go writes an ampersand
        for start, end, name in in_url(url):
            value = said(url[start:end])[1]
            value = password_in(value) if name == "userinfo" else value
            spans.append((match.start(1) + start, match.start(1) + end, name, value))
    return _marked(data, spans, learn)


def _marked(data: bytes, spans: Iterable[_Span], learn: Learn) -> Redacted:
    hits: list[Hit] = []
    for start, end, name, value in spans:
        if start < end and not data.startswith("⟨secret:".encode(), start):
            hits.append(Hit(start, end, name, end - start))
            if " " not in value:  # words, as headers may have, occur elsewhere by chance
                learn(name, value)
    return without(data, merged(hits)) if hits else (data, ())


def _members(data: bytes, is_key: Callable[[str, str], bool]) -> Iterator[_Span]:
    """Yield where keys stand in JSON, without their scheme: the members that are keys, or texts in a list that is one."""
    for member in _MEMBER.finditer(data):
        name = member[1].decode("latin-1")
        for match in _ONE_TEXT.finditer(data, *member.span(2)):
            text = _string(match[1])
            if is_key(name, text):
                size = len(credential_in(match[1].decode("latin-1")))
                yield match.end(1) - size, match.end(1), name, credential_in(text)


def _fields(data: bytes) -> Iterator[_Span]:
    """Yield where the secrets of a login stand in a form."""
    for field in _FIELD.finditer(data):
        name, value = (unquote_plus(part.decode("utf-8", "replace")) for part in field.groups())
        if is_of_login(name.strip()):
            yield *field.span(2), name.strip(), value


@lru_cache(1 << 10)
def _may_name_a_key(name: str) -> bool:
    return _ANYWHERE.fullmatch(name) is not None or sensitivity(name) == "remove"


def _holds_headers(name: str) -> bool:
    return name == "headers" or name.endswith("_headers")


def _keys(value: JSON, depth: int, *, of_server: bool = False) -> Iterator[tuple[str, str]]:
    """Yield names and values of the credentials in headers, and in objects that are named for them."""
    for item in items(value) if depth else ():
        yield from _keys(item, depth - 1, of_server=of_server)
    members: Mapping[str, JSON] = mapping(value) if depth else {}
    places = [text for text in members.values() if of_server and isinstance(text, str) and "://" in text]
    is_server = of_server and (members.get("type") == "mcp" or bool(places))  # and no schema
    for name, inner in members.items():
        is_headers = _holds_headers(name)
        if not isinstance(inner, Mapping) or not (is_headers or name in _OBJECTS):
            yield from _keys(inner, depth - 1, of_server=of_server or name in _SERVERS)
            continue
        for field, text in mapping(inner).items():
            is_key = sensitivity(field.lower(), place="header" if is_headers else "setting") == "remove"
            if is_key or (is_headers and is_server):  # every header of a server may be a credential
                texts = [text] if isinstance(text, str) else items(text)
                yield from ((field, item) for item in texts if isinstance(item, str))


# Logins.


def is_login(head: Head, body: bytes) -> bool:
    """Return whether a request gets, renews or creates a credential, by path, content type and body."""
    if b'"jsonrpc"' in body[:_LOGIN_LIMIT]:
        return False
    if _LOGIN_PATH.search(parts_of(head.url or "").path) is not None:
        return True
    if not body.lstrip(_BLANKS).startswith((b"{", b"[")):  # curl declares a form where no type was given
        return head.value("content-type").strip().lower().startswith("application/x-www-form-urlencoded")
    if len(body) > _LOGIN_LIMIT or _MODEL_BODY.match(body):  # which most are: so they are seldom parsed
        return False
    login = _read(body)
    if not isinstance(login, Mapping) or not _OF_MODELS.isdisjoint(login):
        return False
    # `key` may be any, and `code` the text of a program.
    names = {name for name, value in login.items() if isinstance(value, str) and is_of_login(name)} - {"key"}
    if "code" in names and not re.fullmatch(r"[\w.~+=-]+", f"{login['code']}"):
        names.remove("code")
    return "grant_type" in login or bool(names)


def without_tokens(data: bytes, learn: Learn) -> Redacted:
    """Remove the secrets from a login's form or JSON, or from the JSON of an answer with a new key."""
    begin = data.lstrip(_BLANKS)[:1]
    if begin in {b"{", b"["}:
        return _marked(data, _members(data, _is_secret), learn)
    return _marked(data, _fields(data) if begin not in {b"<", b"-"} else (), learn)


def _is_secret(name: str, value: str) -> bool:
    """Return whether a member is a secret, also the bare `value` in the answer to a request for a new key."""
    if name == "value":
        return len(value) >= 16 and " " not in value
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
