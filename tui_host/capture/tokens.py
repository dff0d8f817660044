"""Secrets taken out of bodies by their place. Source: DESIGN, Contract, Secrets.

Of a login all that OAuth calls a secret. Of a request to a model only what is named as a key to somebody's door and has a text as its
value, and credentials in the headers of tools' servers: what else is called a token there is a word, and what passes is to be seen.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from urllib.parse import urlsplit

from tui_host.capture.record import Draft, Head, Redaction
from tui_host.capture.recording import BodyRedactor, Recording
from tui_host.capture.redact_coded import without_in_coded
from tui_host.capture.redact_values import Shift, mark
from tui_host.settings.credentials import SCHEMES, is_credential_header

HELD_LIMIT = 1 << 20
"""Bytes of an answer that are looked through; a larger one is no token's, and is kept as it is from there on."""

_NAMES = (
    rb"access_token|refresh_token|id_token|client_secret|registration_access_token|code|code_verifier|device_code|"
    rb"assertion|client_assertion|subject_token|actor_token|password"
)
_MARK = "⟨secret:".encode()
_IN_JSON = re.compile(rb'"(' + _NAMES + rb')"([ \t\r\n]*:[ \t\r\n]*)"((?:[^"\\]|\\.)+)"')
_IN_FORM = re.compile(rb"((?:\A|(?<=&)))(" + _NAMES + rb")=([^&]+)")
_KEY_IN_JSON = re.compile(
    rb'"(?=[abceprxABCERX])((?i:x-)?(?i:api[_-]?key|client[_-]?secret|(?:access|refresh|auth|bearer)[_-]?token|authorization(?:_token)?)'
    rb'|aws_(?:secret_access_key|session_token)|private_key|connection_string|encoded_api_key|password)"'
    rb'([ \t\r\n]*:[ \t\r\n]*)"([^"\\]*(?:\\.[^"\\]*)*)"'
)
_HEADERS_IN_JSON = re.compile(
    rb'("headers"[ \t\r\n]*+:[ \t\r\n]*+\{)((?:[^{}"]++|"[^"\\]*+(?:\\.[^"\\]*+)*+")*+)\}', re.DOTALL
)
_HEADER_IN_JSON = re.compile(rb'"([\w-]+)"([ \t\r\n]*:[ \t\r\n]*)"((?:[^"\\]|\\.)*)"')
_LOGIN_PATH = re.compile(rb"(?:^|/)(?:oauth2?(?:/(?:device/)?\w+)?|token|login|register|authorize)/?$", re.IGNORECASE)


def is_login(target: bytes, kind: bytes) -> bool:
    """Whether a request with this target and content type is about to get or renew somebody's credential."""
    return (
        kind.strip().lower().startswith(b"application/x-www-form-urlencoded") or _LOGIN_PATH.search(target) is not None
    )


def without_keys(data: bytes) -> tuple[bytes, tuple[Redaction, ...]]:
    """A request to a model without what it holds of keys."""
    found: list[Redaction] = []

    def take_out(hit: re.Match[bytes]) -> bytes:
        name, value = hit[1].decode("ascii", "replace"), hit[3]
        scheme, space, rest = value.partition(b" ")
        if not space or scheme.lower().decode("latin-1") not in SCHEMES:
            scheme, space, rest = b"", b"", value
        if not rest or rest.startswith(_MARK):
            return hit[0]
        found.append(Redaction(where="data", name=name, length=len(rest)))
        return b'"%s"%s"%s%s%s"' % (hit[1], hit[2], scheme, space, mark(name).encode())

    def of_header(hit: re.Match[bytes]) -> bytes:
        return take_out(hit) if is_credential_header(hit[1].decode("ascii", "replace").lower()) else hit[0]

    if b'"headers"' in data:
        data = _HEADERS_IN_JSON.sub(lambda hit: hit[1] + _HEADER_IN_JSON.sub(of_header, hit[2]) + b"}", data)
    return _KEY_IN_JSON.sub(take_out, data), tuple(found)


def without_credentials(draft: Draft) -> Draft:
    """What a host of others sent or got, without the keys in its body that are known by their place."""
    if not draft.data or draft.kind not in {"request", "chunk"}:
        return draft
    if draft.kind == "chunk":
        is_token = draft.encoding is None and b'"access_token"' in draft.data and b'"token_type"' in draft.data
        take_out = without_tokens if is_token else None
    elif draft.head is not None and is_login(_target(draft.head), _content_type(draft.head)):
        take_out = without_tokens
    else:
        take_out = without_keys if draft.wire == "llm" else None
    if take_out is None:
        return draft
    if draft.encoding is None:
        data, found = take_out(draft.data)
    else:
        data, found = without_in_coded(draft.data, draft.encoding, take_out)
    return replace(draft, data=data, redacted=draft.redacted + found) if found else draft


def _target(head: Head) -> bytes:
    return urlsplit(head.url or "").path.encode("utf-8", "replace")


def _content_type(head: Head) -> bytes:
    return next((value for name, value in head.headers if name.lower() == "content-type"), "").encode(
        "utf-8", "replace"
    )


class WithoutKeys:
    """A recorder for the requests of others to a model: what it keeps has none of the keys in it that are known by their place.

    Args:
        recorder: Keeps the records.
    """

    def __init__(self, recorder: Recording) -> None:
        self._recorder = recorder
        self.new_exchange = recorder.new_exchange

    @property
    def redactor(self) -> BodyRedactor:
        """Knows the secrets."""
        return self._recorder.redactor

    def append(self, draft: Draft, /) -> int:
        """Keep a record."""
        return self._recorder.append(without_credentials(draft) if draft.kind == "request" else draft)


def without_tokens(data: bytes) -> tuple[bytes, tuple[Redaction, ...]]:
    """A form or a JSON document of OAuth without its secrets; what cannot be read, because it is compressed, goes as a whole."""
    try:
        data.decode()
    except UnicodeDecodeError:
        return mark("body").encode(), (Redaction(where="data", name="body", length=len(data)),)
    found: list[Redaction] = []

    def take_out(name: bytes, value: bytes) -> bytes:
        found.append(Redaction(where="data", name=name.decode(), length=len(value)))
        return mark(name.decode()).encode()

    if data.lstrip()[:1] in {b"{", b"["}:
        data = _IN_JSON.sub(lambda hit: b'"%s"%s"%s"' % (hit[1], hit[2], take_out(hit[1], hit[3])), data)
    else:
        data = _IN_FORM.sub(lambda hit: b"%s=%s" % (hit[2], take_out(hit[2], hit[3])), data)
    return data, tuple(found)


class _TokenStream:
    """An answer's body, held until its end."""

    def __init__(self, recorder: Recording) -> None:
        self._inner = recorder.redactor.stream()
        self._held = b""
        self._passing = False

    @property
    def shifts(self) -> Sequence[Shift]:
        """What was taken out by value; nothing is looked for by its place in a token's answer."""
        return self._inner.shifts

    def feed(self, data: bytes, /) -> tuple[bytes, tuple[Redaction, ...]]:
        """Nothing, until too much is held."""
        self._held += data
        if len(self._held) <= HELD_LIMIT and not self._passing:
            return b"", ()
        self._passing = True
        held, self._held = self._held, b""
        return self._inner.feed(held)

    def flush(self) -> tuple[bytes, tuple[Redaction, ...]]:
        """All of it, without what is secret."""
        held, self._held = self._held, b""
        held, found = (held, ()) if self._passing or not held else without_tokens(held)
        first, in_first = self._inner.feed(held)
        rest, in_rest = self._inner.flush()
        return first + rest, (*found, *in_first, *in_rest)


class WithoutTokens:
    """A recorder for the exchanges of a login: what it keeps of their bodies has no token in it.

    Args:
        recorder: Keeps the records.
    """

    def __init__(self, recorder: Recording) -> None:
        self._recorder = recorder

    @property
    def redactor(self) -> WithoutTokens:
        """Itself."""
        return self

    def stream(self) -> _TokenStream:
        """For one answer's body."""
        return _TokenStream(self._recorder)

    def append(self, draft: Draft, /) -> int:
        """Keep a record; a request without what is secret in its body."""
        if draft.kind == "request":
            data, found = without_tokens(draft.data)
            draft = replace(draft, data=data, redacted=draft.redacted + found)
        return self._recorder.append(draft)

    def new_exchange(self) -> str:
        """A new id."""
        return self._recorder.new_exchange()
