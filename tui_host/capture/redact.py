"""Secrets taken out of everything before it is kept. Source: DESIGN, Contract, Secrets.

By value: each known secret of at least eight characters, wherever it stands, in plain, base64, percent and JSON-escaped form.
By place: what stands in a header or behind a query key named like a credential, or in a URL's userinfo, known or not, whatever its length.
Learned: what stood in such a place of a request is looked for by value from then on, since a peer may say it again.

What it cannot find: a secret in the compressed body of a response that is no refusal, in a coding that is not undone here, or one that a
model spells in several events of its stream.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Literal, TypeAlias
from urllib.parse import unquote_plus

from tui_host.capture.record import Draft, Head, Redaction
from tui_host.capture.redact_coded import without_in_coded
from tui_host.capture.redact_values import Hit, Needle, Shift, forms_of, hits_in, mark, name_in_mark, without
from tui_host.errors import JSON
from tui_host.settings.credentials import (
    LONG_KEYS,
    PROTOCOLS,
    REDIRECT_KEYS,
    SCHEMES,
    URL_HEADERS,
    credential_in,
    credentials_in_protocols,
    is_credential_header,
    is_credential_key,
    is_lasting,
)

if TYPE_CHECKING:
    from tui_host.settings.schema import Settings

BY_VALUE_FROM = 8
EXACT_FROM = 4
"""Characters from which a short secret is taken out where it is all of a header's or query key's value or a path's segment."""
PLAIN_FROM = 20
"""Characters from which a word without a digit is learned: what hosts send where no key is wanted is a short word that texts have too."""
LEARNED_MOST, LEARNED_LENGTH = 16, 8192
"""Credentials of others that are remembered, those used last, and the characters of one."""

Where: TypeAlias = Literal["data", "head"]
_PARAMETER = re.compile(r"([?&;#])([^=&;#?]+)=([^&#]+)")
_USERINFO = re.compile(r"^([A-Za-z][A-Za-z0-9+.-]*://)([^/?#]*)@")
_SEGMENT = re.compile(r"[^/?&=#]+")


class Redactor:
    """Takes secrets out of drafts and texts. Callable from any thread.

    Args:
        secrets: Names and values.
    """

    def __init__(self, secrets: Iterable[tuple[str, str]] = ()) -> None:
        self._lock = threading.Lock()
        self._known: tuple[Needle, ...] = ()
        self._needles: tuple[Needle, ...] = ()  # of those that are known, and of those that were learned
        self._names: dict[str, str] = {}
        self._learned: dict[str, str] = {}
        self._headers: frozenset[str] = frozenset()
        for name, value in secrets:
            self.add(name, value)

    def add(self, name: str, value: str) -> None:
        """Know one more secret, from now on."""
        value = value.strip()
        with self._lock:
            if not value or value in self._names:
                return
            self._names = {**self._names, value: name}
            if len(value) >= BY_VALUE_FROM:
                self._known = (*self._known, *_needles(name, value))
                self._arrange()

    def learn(self, head: Head) -> None:
        """Know the credentials in a request's head too: those of somebody else's host, which are not configured here."""
        for name, value in head.headers:
            key = name.lower()
            if is_credential_header(key) and is_lasting(key):
                self._learn(key, credential_in(value).strip())
            elif key == PROTOCOLS:
                for place, credential in credentials_in_protocols(value):
                    self._learn(place, credential)
        for _, key, value in _PARAMETER.findall(head.url or ""):
            if is_credential_key(unquote_plus(key)):
                self._learn(key, unquote_plus(value))

    def _learn(self, name: str, value: str) -> None:
        if not BY_VALUE_FROM <= len(value) <= LEARNED_LENGTH or value.startswith("⟨secret:"):
            return
        if len(value) < PLAIN_FROM and value.isascii() and not any(map(str.isdigit, value)):
            return
        with self._lock:
            if value in self._names or next(reversed(self._learned), None) == value:
                return
            if hits_in(value.encode("utf-8", "surrogatepass"), self._known):
                return
            is_new = value not in self._learned
            self._learned = {**{key: item for key, item in self._learned.items() if key != value}, value: name}
            if is_new:
                for oldest in list(self._learned)[:-LEARNED_MOST]:
                    del self._learned[oldest]
                self._arrange()

    def _arrange(self) -> None:
        """Have the needles of all in the order in which they are looked for, each form once."""
        found = {needle.data: needle for value, name in self._learned.items() for needle in _needles(name, value)}
        found |= {needle.data: needle for needle in reversed(self._known)}
        self._needles = tuple(sorted(found.values(), key=lambda needle: -len(needle.data)))

    def add_places(self, *, headers: Iterable[str]) -> None:
        """Take out whatever stands in these headers too: configured ones with a reference in them."""
        self._headers = self._headers.union(name.lower() for name in headers)

    def draft(self, draft: Draft) -> Draft:
        """The draft without secrets; the same object where there is none."""
        if draft.kind == "request" and draft.encoding is not None:
            data, found = without_in_coded(draft.data, draft.encoding, self.bytes)
        else:
            data, found = self.bytes(draft.data)
        head = draft.head
        if head is not None:
            head, found_in_head = self._head(head)
            found += found_in_head
        malformed = self.text(draft.malformed) if draft.malformed else draft.malformed
        if not found and malformed == draft.malformed:
            return draft
        return replace(draft, data=data, head=head, malformed=malformed, redacted=draft.redacted + found)

    def may_be_in(self, data: bytes) -> bool:
        """Whether a secret known by value stands in the bytes."""
        return any(needle.data in data for needle in self._needles)

    def bytes(self, data: bytes) -> tuple[bytes, tuple[Redaction, ...]]:
        """Bytes without the secrets known by value, and what was taken out."""
        hits = hits_in(data, self._needles)
        return without(data, hits) if hits else (data, ())

    def text(self, text: str) -> str:
        """A text without the secrets known by value."""
        return self._text(text)[0]

    def pieces(self, text: str) -> list[tuple[str, str]]:
        """A text cut where secrets known by value stand in it: each piece with the secret's name, empty for what is none."""
        data = text.encode("utf-8", "surrogatepass")
        hits = hits_in(data, self._needles) if self._needles else []
        if not hits:
            return [(text, "")] if text else []
        found: list[tuple[str, str]] = []
        end = 0
        for hit in hits:
            found.append((data[end : hit.start].decode("utf-8", "surrogatepass"), ""))
            found.append((data[hit.start : hit.end].decode("utf-8", "surrogatepass"), name_in_mark(hit.needle.name)))
            end = hit.end
        found.append((data[end:].decode("utf-8", "surrogatepass"), ""))
        return [piece for piece in found if piece[0]]

    @property
    def lengths(self) -> Mapping[str, int]:
        """How many characters each secret has, by its name as marks have it."""
        return {name_in_mark(name): len(value) for value, name in (*self._learned.items(), *self._names.items())}

    def json_text(self, text: str) -> str:
        """JSON without the secrets known by value; still JSON, even where a number looks like a secret."""
        redacted = self.text(text)
        if redacted == text:
            return text
        try:
            json.loads(redacted)
        except ValueError:
            try:
                value: JSON = json.loads(text)
            except ValueError:
                return redacted  # it was no JSON before either
            return json.dumps(self._strings_without(value), ensure_ascii=False)
        return redacted

    def stream(self) -> StreamRedactor:
        """For a body that comes in pieces, so that a secret cut in two is found."""
        return StreamRedactor(self)

    def hits(self, data: bytes) -> list[Hit]:
        """Where secrets stand in the bytes, in order, without overlap."""
        return hits_in(data, self._needles)

    def open_end(self, data: bytes) -> int:
        """Where the longest end of the bytes begins that could be the beginning of a secret; their length if none could."""
        first = len(data)
        for needle in self._needles:
            wanted = needle.data
            at = data.find(wanted[:1], max(0, len(data) - len(wanted) + 1))
            while 0 <= at < first:
                if wanted.startswith(data[at:]):
                    first = at
                at = data.find(wanted[:1], at + 1)
        return first

    def _text(self, text: str) -> tuple[str, tuple[Redaction, ...]]:
        if not self._needles:
            return text, ()
        hits = hits_in(text.encode("utf-8", "surrogatepass"), self._needles)
        if not hits:
            return text, ()
        data, found = without(text.encode("utf-8", "surrogatepass"), hits)
        return data.decode("utf-8", "surrogatepass"), tuple(replace(each, where="head") for each in found)

    def _strings_without(self, value: JSON) -> JSON:
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, dict):
            return {self.text(key): self._strings_without(item) for key, item in value.items()}
        if isinstance(value, list):
            return [self._strings_without(item) for item in value]
        if isinstance(value, int | float) and not isinstance(value, bool):
            redacted = self.text(number := json.dumps(value))
            return value if redacted == number else redacted
        return value

    def _head(self, head: Head) -> tuple[Head, tuple[Redaction, ...]]:
        found: list[Redaction] = []
        url = head.url
        if url is not None:
            url = self._url(url, found)
        headers = tuple((name, self._header(name.lower(), value, found)) for name, value in head.headers)
        return (replace(head, url=url, headers=headers), tuple(found)) if found else (head, ())

    def _header(self, name: str, value: str, found: list[Redaction]) -> str:
        if name in self._headers or is_credential_header(name):
            scheme, space, rest = value.partition(" ")
            if space and scheme.lower() in SCHEMES:
                return f"{scheme} {self._taken_out(name, rest, found)}"
            return self._taken_out(name, value, found)
        if name in URL_HEADERS:
            return self._url(value, found, REDIRECT_KEYS if name == "location" else frozenset())
        if name == PROTOCOLS:
            for place, credential in credentials_in_protocols(value):
                value = value.replace(credential, self._taken_out(place, credential, found))
        if EXACT_FROM <= len(value) < BY_VALUE_FROM and value in self._names:
            return self._taken_out(name, value, found)
        return self._by_value(value, found)

    def _url(self, url: str, found: list[Redaction], keys: frozenset[str] = frozenset()) -> str:
        def userinfo(match: re.Match[str]) -> str:
            return f"{match[1]}{self._taken_out('userinfo', match[2], found)}@"

        def parameter(match: re.Match[str]) -> str:
            separator, key, value = match[1], match[2], match[3]
            name = unquote_plus(key)
            is_long = name.lower() in LONG_KEYS and len(value) >= PLAIN_FROM
            if not is_long and name.lower() not in keys and not is_credential_key(name):
                return match[0]
            return f"{separator}{key}={self._taken_out(key, value, found)}"

        def segment(match: re.Match[str]) -> str:
            is_short = EXACT_FROM <= len(match[0]) < BY_VALUE_FROM
            return self._taken_out("url", match[0], found) if is_short and match[0] in self._names else match[0]

        url = _USERINFO.sub(userinfo, url, count=1)
        url = _PARAMETER.sub(parameter, url)
        if any(len(value) < BY_VALUE_FROM for value in self._names):
            url = _SEGMENT.sub(segment, url)
        return self._by_value(url, found)

    def _by_value(self, text: str, found: list[Redaction]) -> str:
        text, taken = self._text(text)
        found.extend(taken)
        return text

    def _taken_out(self, place: str, value: str, found: list[Redaction]) -> str:
        """The mark for all of a value, under the name of the secret in it if that is known."""
        if not value.strip() or (value.startswith("⟨secret:") and value.endswith("⟩")):
            return value
        name = self._names.get(value.strip()) or self._names.get(unquote_plus(value))
        if name is None:
            hits = self.hits(value.encode("utf-8", "surrogatepass"))
            name = hits[0].needle.name if hits else place
        found.append(Redaction(where="head", name=name, length=len(value)))
        return mark(name)


def _needles(name: str, value: str) -> list[Needle]:
    return [Needle(name, data, mark(name).encode()) for data in forms_of(value)]


def redactor_of(settings: Settings) -> Redactor:
    """One that knows all secrets of these settings."""
    from tui_host.settings.secrets import secret_headers, secrets_of

    redactor = Redactor((secret.name, secret.reveal()) for secret in secrets_of(settings))
    redactor.add_places(headers=secret_headers(settings))
    return redactor


class StreamRedactor:
    """Redacts bytes that come in pieces; holds back only an end that could be the beginning of a secret.

    One for each body; not for several threads at once.

    Attributes:
        shifts: What was taken out so far, in order.
    """

    def __init__(self, redactor: Redactor) -> None:
        self.shifts: list[Shift] = []
        self._redactor = redactor
        self._held = b""
        self._settled = 0  # bytes of the body before what is held back

    def feed(self, data: bytes) -> tuple[bytes, tuple[Redaction, ...]]:
        """What can be kept by now, and what was taken out of it; may be empty."""
        data = self._held + data
        cut = self._redactor.open_end(data)
        hits = self._redactor.hits(data)
        for hit in reversed(hits):  # a hit that reaches over the cut may be part of a longer secret
            if hit.start < cut < hit.end:
                cut = hit.start
        self._held = data[cut:]
        return self._settle(data[:cut], [hit for hit in hits if hit.end <= cut])

    def flush(self) -> tuple[bytes, tuple[Redaction, ...]]:
        """What was held back; nothing follows."""
        data, self._held = self._held, b""
        return self._settle(data, self._redactor.hits(data))

    def _settle(self, data: bytes, hits: list[Hit]) -> tuple[bytes, tuple[Redaction, ...]]:
        at = self._settled
        self._settled += len(data)
        if not hits:
            return data, ()
        self.shifts += [(at + hit.start, at + hit.end, len(hit.needle.mark)) for hit in hits]
        return without(data, hits)
