"""Secrets in the bodies of logins by their place: in forms, in JSON, in parts and in markup. Source: DESIGN, Contract, Secrets."""

from __future__ import annotations

import re
from urllib.parse import unquote_plus

from tui_host.capture.json.brackets import TEXT, Enclosed
from tui_host.capture.record import Redaction
from tui_host.capture.redact.body_fields import BLANKS, LEADS, Learn, Taking, decoded, in_parts, read
from tui_host.capture.redact.by_value import Kept, mark
from tui_host.capture.redact.markup import without_values
from tui_host.settings.credential_names import is_credential_header, is_credential_key
from tui_host.settings.credential_places import password_in

_OPAQUE_FROM = 16
_PLAIN = re.compile(r"[\w.-]+", re.ASCII)
_CODE = re.compile(r"[\w.~+/=%-]+", re.ASCII)
"""What a login calls a code: others call a program so."""
_FIELD = re.compile(rb"(?:\A|(?<=&))([^=&]+)=([^&]+)")
_FIELD_OF_MORE = re.compile(rb"(?<=[;\r\n])([^=;\r\n]+)=([^;\r\n]*(?:[;\r\n](?![^=;\r\n]+=)[^;\r\n]*)*)")
"""Of a form whose fields stand apart by something else; which is also part of a value where no name follows."""
_NAME = rb'"([\w.:\[\]-]++)"'
_MEMBER = re.compile(_NAME + b"(" + LEADS + b")" + TEXT, re.DOTALL)
_NUMBER = re.compile(_NAME + b"(" + LEADS + rb")(-?\d[\d.eE+-]*)(?=[\s,}\]])")
_MANY = Enclosed(_NAME + LEADS + rb"\[", b"[]")
_ONE_TEXT = re.compile(TEXT, re.DOTALL)
_LONG_CODE = 6
"""Digits from which a number that is called a code is what somebody typed, and not how it went."""
_ESCAPED_NAME = re.compile(rb'"((?:[\w.-]|\\u00[2-7][0-9A-Fa-f]){1,100})"(?=' + rb"[ \t\r\n]*:)")
_OBJECTS = frozenset(("headers", "auth", "authentication", "credential", "credentials", "value", "name"))
_OF_LOGINS = frozenset(
    ("code", "code_verifier", "device_code", "user_code", "verification_uri_complete", "id_token_hint", "auth_req_id")
) | {"registration_client_uri", "pre-authorized_code", "tx_code", "ticket", "SAMLResponse"}
"""Source: RFC 6749, 7592, 7636 and 8628; OpenID Connect, RP-Initiated Logout, CIBA and credential issuance; UMA."""
_TO_LOG_IN = frozenset(("grant_type", "client_id", "client_assertion", "assertion", "username", "login", "email"))
"""What a login tells besides its secrets, or has them named by. Source: RFC 6749 and 7521."""
_OF_MODELS = frozenset(("model", "messages", "input", "inputs", "contents", "prompt", "tools", "jsonrpc"))
_LOGIN_LIMIT = 64 << 10
"""Bytes of the longest that somebody logs in with."""
_LAST_WORD = re.compile(r"[A-Z]?[a-z]+(?=\d*$)|[A-Z]+(?=\d*$)")
_ONE_TIME = re.compile(
    r"(?:^|[^A-Za-z]|(?<=[a-z])(?=[A-Z]))"
    r"(?i:[th]?otp|passcode|pin|(?:otp|mfa|2fa|factor|verification|recovery|backup|sms|login|one_?time)[_-]?code)$"
)
"""What is typed once, or instead."""
_ENDS = "[]0123456789"
"""What stands behind the last word of a name where there are several of it, or it is a member of something."""
_NAME_LIMIT = 100


def without_tokens(data: bytes, learn: Learn) -> Kept:
    """A form or a document of a login, or one that tells a new key, without its secrets; what cannot be read goes as a whole."""
    try:
        data.decode()
    except UnicodeDecodeError:
        return mark("body").encode(), (Redaction(where="data", name="body", length=len(data)),)
    taking = Taking(learn)
    data, written = names_read(data), data
    begin = data.lstrip(BLANKS)
    if begin[:1] in {b"{", b"["}:
        data = _without_members(data, taking)
    elif begin.startswith(b"--"):
        data = in_parts(data, lambda part: taking.part(part, is_named))
    elif begin.startswith(b"<"):
        data = without_values(data, taking, is_named)
    else:
        data = _without_fields(data, taking)
    return (data, taking.found) if taking.found else (written, ())


def _without_members(data: bytes, taking: Taking) -> bytes:
    def of_text(hit: re.Match[bytes]) -> bytes:
        return taking.member(hit) if _is_token(hit[1].decode("latin-1"), hit[3]) else hit[0]

    def of_number(hit: re.Match[bytes]) -> bytes:
        name = hit[1].decode("latin-1")
        is_one = is_named(name) and (name != "code" or len(hit[3]) >= _LONG_CODE)
        return taking.number(hit) if is_one else hit[0]

    def of_many(begin: re.Match[bytes], items: bytes) -> bytes:
        name = begin[1].decode("latin-1")
        is_one = is_named(name) or is_credential_key(name)
        if not is_one or b":" in _ONE_TEXT.sub(b"", items):  # it is of objects
            return items
        return _ONE_TEXT.sub(lambda text: taking.text(name, text[1]), items)

    data = _NUMBER.sub(of_number, _MEMBER.sub(of_text, data))
    return _MANY.sub(of_many, data) if b"[" in data else data


def _without_fields(data: bytes, taking: Taking) -> bytes:
    def of_field(hit: re.Match[bytes]) -> bytes:
        name = unquote_plus(hit[1].decode("utf-8", "replace")).strip()
        if is_named(name):
            raw = hit[2].rstrip(b"\r\n")
            taken = taking.value(name, raw, password_in(":" + raw.decode("utf-8", "replace")))
            return b"%s=%s%s" % (hit[1], taken, hit[2][len(raw) :])
        return hit[0] if hit.re is _FIELD_OF_MORE else _FIELD_OF_MORE.sub(of_field, hit[0])

    return _FIELD.sub(of_field, data)


def is_json_without_login(data: bytes) -> bool:
    """Whether a body is an object in JSON, and no member of it is named as a login's are, but for what is on or off."""
    told = read(data)
    if not isinstance(told, dict):
        return False
    return not any(name in _TO_LOG_IN or (is_named(name) and not isinstance(told[name], bool)) for name in told)


def is_json_of_login(data: bytes) -> bool:
    """Whether a body is an object in JSON that asks no model, and has what somebody logs in with."""
    told = read(data) if len(data) <= _LOGIN_LIMIT and data.lstrip(BLANKS).startswith(b"{") else None
    if not isinstance(told, dict) or not _OF_MODELS.isdisjoint(told):
        return False
    return "grant_type" in told or any(
        isinstance(value, str) and is_named(name) and name != "key" and (name != "code" or _CODE.fullmatch(value))
        for name, value in told.items()
    )


def names_read(data: bytes) -> bytes:
    """JSON in which no name that tells of a credential is written with escapes."""

    def of_name(hit: re.Match[bytes]) -> bytes:
        name = decoded(hit[1])
        tells = name in _OBJECTS or is_credential_header(name.lower()) or is_named(name)
        return b'"%s"' % name.encode() if tells and _PLAIN.fullmatch(name) else hit[0]

    return _ESCAPED_NAME.sub(of_name, data) if b"\\u00" in data else data


def _is_token(name: str, raw: bytes) -> bool:
    """Whether a member's value is a credential, also where it is but a value of the answer to who wanted a new key."""
    if name in {"value", "name"}:
        is_opaque = len(raw) >= _OPAQUE_FROM and b" " not in raw
        return is_opaque and (name == "value" or raw.startswith(b"auth_tokens/"))
    return is_named(name)


def is_named(name: str) -> bool:
    """Whether a name ends as those of credentials do: what is a key's alias or a token's type does not."""
    if len(name) > _NAME_LIMIT:
        return False
    name = name.rstrip(_ENDS)  # as in `user[password]`
    if name.rpartition("[")[2] in _OF_LOGINS or _ONE_TIME.search(name):
        return True
    last = _LAST_WORD.search(name)
    return last is not None and is_credential_key(last[0]) and is_credential_key(name)
