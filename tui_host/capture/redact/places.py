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

from tui_host.capture.json.reading import read_json
from tui_host.capture.record import Head
from tui_host.capture.redact.known_secrets import Hit, Redacted, merged, without
from tui_host.errors import JSON
from tui_host.settings.credential_places import (
    CredentialSpan,
    credential_in,
    in_url,
    password_in,
    said,
)
from tui_host.settings.sensitivity import REDIRECT_KEYS, SESSION_KEYS, has_scheme, kinds_of, sensitivity
from tui_host.settings.urls import parts_of

Learn: TypeAlias = Callable[[str, str], None]
"""Called with name and value of a credential that was removed."""
_Span: TypeAlias = tuple[int, int, str, str]
"""Where a credential stands in a body: its first byte, one past its last, name and value."""

_ONE_OF_SEVERAL = re.compile(r"(?<![\w.~+/-])(?=[^\d\s,;]{0,200}\d)(?=[^A-Za-z\s,;]{0,200}[A-Za-z])[\w.~+/-]{16,}=*")
# A parameter of a header, `name=value`; what only ends with `=` is none.
_PART = re.compile(r'([\w.-]+)=(?!=*(?:[\s,;&]|$))(?:"([^"]*)"|([^\s,;&"]+))')
_BLANKS = b"\xef\xbb\xbf \t\r\n"
_LOGIN_LIMIT = 64 << 10  # bytes that a login's body has at most
_COLON = rb"[ \t\r\n]*+:[ \t\r\n]*+"
_TEXTS = _COLON + rb'("(?:[^"\\]*+(?:\\.[^"\\]*+)*+)"|\[[^\[\]{}]*+\])'
_MEMBER = re.compile(rb'"([\w.:\[\]-]{1,100}+)"' + _TEXTS, re.DOTALL)
"""A member of a JSON object with a text or a list of texts."""
_KEY = re.compile(
    rb'"(?=[\w-]++"[ \t\r\n]*+:)((?i:(?:x-)?(?:(?:api|access|secret|account|subscription|private)[_-]?key|secret[_-]?access[_-]?key|client[_-]?secret'
    rb"|(?:access|refresh|auth|bearer|api|security)[_-]?token|authorization(?:_token)?))"
    rb'|aws_(?:secret_access_key|session_token)|vertex_credentials|connection_string|encoded_api_key|password)"'
    + _TEXTS,
    re.DOTALL,
)
"""A member that is a key in any request to a model. In schemas and in a model's words, `key` and `token` may be anything."""
_OBJECT = re.compile(
    rb'"(?=[\w-]++"[ \t\r\n]*+:[ \t\r\n]*+\{)(auth|authentication|credentials?|(?:\w*_)?headers)"'
    + _COLON
    + rb"\{([^{}]*+)\}"
)
"""An object of which every member that is named like a key is one; in the headers of a tool's server, any may be one."""
_ONE_TEXT = re.compile(rb'"([^"\\]*+(?:\\.[^"\\]*+)*+)"', re.DOTALL)
_URL = re.compile(rb'"([A-Za-z][\w+.-]*+://[^"\s@=%]*+[@=%][^"\s]*+)"')
_FIELD = re.compile(rb"(?:\A|(?<=&))([^=&]+)=([^&]+)")

# Names in the bodies of logins, beside those that `sensitivity` knows.
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
_LAST_WORD = re.compile(r"[A-Z]?[a-z]+(?=\d*$)|[A-Z]+(?=\d*$)")
_LOGIN_PATH = re.compile(
    r"(?:^|/)(?:oauth2?(?:/(?:device/)?\w+)?|token|login|register|authorize)/?$"
    r"|(?<!count)(?<!count_)(?:keys?|secrets|tokens)(?:/(?:re)?generate)?/?$"
    r"|/(?:realtime|chatkit)/\w*sessions/?$|/service_accounts/?$|/grant/?$",
    re.IGNORECASE,
)


def in_header(name: str, value: str, also: Collection[str]) -> list[CredentialSpan]:
    """Return where credentials are in a header's value, without the scheme."""
    if name in also or sensitivity(name, value, "header") == "remove":
        return [CredentialSpan(len(value) - len(credential_in(value)), len(value), name)]
    found = _ONE_OF_SEVERAL.finditer(value) if "several" in kinds_of(name) else ()
    several = [CredentialSpan(*match.span(), name) for match in found]
    return several or in_url(value, REDIRECT_KEYS if name == "location" else ())


def _parts_of_credential(value: str) -> Iterator[str]:
    """Yield the credentials inside a header's value, as in `Token token="X"`, `MyScheme X` or `Key id:X`."""
    if "⟨secret:" in value:
        return
    credential = credential_in(value.strip())
    named = list(_PART.finditer(credential))
    for match in named:
        if sensitivity(match[1]) == "remove":
            text = match[2] or match[3]
            yield from (text, unquote_plus(text))
    # Beside parameters, words are part of a list or a scheme. Of words alone, the first is a scheme.
    words = re.split(r"[\s,;&]+", credential.partition(" ")[2] or credential)
    for word in words if not named else ():
        yield word
        before, _, behind = word.partition(":")
        if before and not behind.startswith("//"):
            yield behind


@lru_cache(1 << 8)
def shown_in(name: str, value: str) -> tuple[tuple[str, str], ...]:
    """Return names and values of the lasting credentials in a request's header, or in its URL, which has no name."""
    if kinds_of(name) & {"session", "one-time"} and not has_scheme(value):
        return ()
    if sensitivity(name, value, "header") != "remove":
        spans = [span for span in in_header(name, value, ()) if span.name.lower() not in SESSION_KEYS]
        return tuple((span.name, text) for span in spans for text in _decoded(value[span.start : span.end], span.name))
    values = [credential_in(value).strip(), *_parts_of_credential(value)]
    if value[:6].lower() == "basic ":
        with suppress(ValueError):  # Source: RFC 7617; RFC 6749, section 2.3.1, for the encoding as in a form.
            password = base64.b64decode(values[0], validate=True).decode().partition(":")[2]
            values += (password, unquote_plus(password))
    return tuple((name, value) for value in values)


def _decoded(value: str, name: str) -> Iterator[str]:
    """Yield the spellings of a credential of a URL that may appear elsewhere."""
    return (password_in(text) if name == "userinfo" else text for text in said(value))


def without_keys(data: bytes, learn: Learn) -> Redacted:
    """Remove the keys from a request to a model, its tools' servers' headers among them, and what URLs in it tell."""
    spans = list(_in_members(_KEY.finditer(data), lambda _name, _text: True))
    has_servers = b'"mcp' in data  # the type of a tool, or the list of servers
    for match in _OBJECT.finditer(data):
        members = _MEMBER.finditer(data, *match.span(2))
        if not match[1].endswith(b"headers"):
            spans += _in_members(members, lambda name, _text: sensitivity(name.lower()) == "remove")
        elif has_servers and b'"type"' not in match[2]:  # else it is a schema
            spans += _in_members(members, lambda _name, _text: True)
        else:
            spans += _in_members(members, lambda name, _text: sensitivity(name.lower(), place="header") == "remove")
    for match in _URL.finditer(data) if b"://" in data else ():
        url = match[1].replace(b"\\u0026", b"&&&&&&").decode("latin-1")  # as Go writes an ampersand
        for start, end, name in in_url(url):
            *_, value = _decoded(url[start:end], name)
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


def _in_members(members: Iterable[re.Match[bytes]], is_key: Callable[[str, str], bool]) -> Iterator[_Span]:
    """Yield where keys stand in members of JSON, without their scheme: in texts, or in texts of a list."""
    for member in members:
        name = member[1].decode("latin-1")
        for match in _ONE_TEXT.finditer(member.string, *member.span(2)):
            value = _read(b'"%s"' % match[1]) if b"\\" in match[1] else None
            text = value if isinstance(value, str) else match[1].decode("utf-8", "replace")
            if is_key(name, text):
                size = len(credential_in(match[1].decode("latin-1")))
                yield match.end(1) - size, match.end(1), name, credential_in(text)


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
        return _marked(data, _in_members(_MEMBER.finditer(data), _is_secret), learn)
    spans: list[_Span] = []
    for field in _FIELD.finditer(data) if begin not in {b"<", b"-"} else ():
        name, value = (unquote_plus(part.decode("utf-8", "replace")) for part in field.groups())
        if is_of_login(name.strip()):
            spans.append((*field.span(2), name.strip(), value))
    return _marked(data, spans, learn)


def _is_secret(name: str, value: str) -> bool:
    """Return whether a member is a secret, also the long bare `value` in the answer to a request for a new key."""
    return is_of_login(name) or (name == "value" and len(value) >= 16 and " " not in value)


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
    with suppress(ValueError, RecursionError):
        return read_json(data, None)
    return None
