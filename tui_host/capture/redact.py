"""Secrets taken out of everything before it is kept. Source: DESIGN, Contract, Secrets.

By value: each known secret of at least eight characters, wherever it stands, in plain, base64, percent and JSON-escaped form.
By place: what stands in a known credential header, query key or a URL's userinfo, known or not, whatever its length.

What it cannot find: a secret in a compressed body, or one that a model spells in several events of its stream.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, TypeAlias
from urllib.parse import quote, quote_plus, unquote_plus

from tui_host.capture.record import Draft, Head, Redaction
from tui_host.errors import JSON

if TYPE_CHECKING:
    from tui_host.settings.schema import Settings

CREDENTIAL_HEADERS = frozenset(
    [
        "authorization",
        "proxy-authorization",
        "x-api-key",
        "x-goog-api-key",
        "api-key",
        "cookie",
        "set-cookie",
        "mcp-session-id",
    ]
)
CREDENTIAL_QUERY_KEYS = frozenset(
    [
        "key",
        "api_key",
        "apikey",
        "api-key",
        "access_token",
        "refresh_token",
        "id_token",
        "token",
        "auth_token",
        "auth",
        "client_secret",
        "secret",
        "password",
        "sig",
        "signature",
        "subscription-key",
    ]
)
URL_HEADERS = frozenset(("location", "content-location", "referer"))
SCHEMES = frozenset(("bearer", "basic", "token", "digest", "apikey", "key", "negotiate", "dpop"))
BY_VALUE_FROM = 8
EXACT_FROM = 4
"""Characters from which a short secret is taken out where it is all of a header's or query key's value or a path's segment."""

Where: TypeAlias = Literal["data", "head"]
Shift: TypeAlias = tuple[int, int, int]
"""Where a secret stood in a body: its first byte, one past its last, and how many bytes stand there instead."""

_PARAMETER = re.compile(r"([?&;#])([^=&;#?]+)=([^&#]+)")
_USERINFO = re.compile(r"^([A-Za-z][A-Za-z0-9+.-]*://)([^/?#]*)@")
_SEGMENT = re.compile(r"[^/?&=#]+")
_NOT_IN_A_NAME = re.compile(r"[^\w.\-]")


@dataclass(frozen=True, slots=True)
class _Needle:
    """One form of one secret: what to look for, and what to put in its place."""

    name: str
    data: bytes
    mark: bytes


@dataclass(frozen=True, slots=True)
class _Hit:
    start: int
    end: int
    needle: _Needle


def mark(name: str) -> str:
    """What stands where a secret was; nothing in it needs escaping in JSON."""
    return f"⟨secret:{name_in_mark(name)}⟩"


def name_in_mark(name: str) -> str:
    """A secret's name as its mark has it."""
    return _NOT_IN_A_NAME.sub("_", name)


class Redactor:
    """Takes secrets out of drafts and texts. Callable from any thread.

    Args:
        secrets: Names and values.
    """

    def __init__(self, secrets: Iterable[tuple[str, str]] = ()) -> None:
        self._needles: tuple[_Needle, ...] = ()
        self._names: dict[str, str] = {}
        self._headers = CREDENTIAL_HEADERS
        for name, value in secrets:
            self.add(name, value)

    def add(self, name: str, value: str) -> None:
        """Know one more secret, from now on."""
        value = value.strip()
        if not value or value in self._names:
            return
        self._names = {**self._names, value: name}
        if len(value) < BY_VALUE_FROM:
            return
        known = {needle.data for needle in self._needles}
        new = [_Needle(name, data, mark(name).encode()) for data in _forms(value) if data not in known]
        self._needles = tuple(sorted((*self._needles, *new), key=lambda needle: -len(needle.data)))

    def add_places(self, *, headers: Iterable[str]) -> None:
        """Take out whatever stands in these headers too: configured ones with a reference in them."""
        self._headers = self._headers.union(name.lower() for name in headers)

    def draft(self, draft: Draft) -> Draft:
        """The draft without secrets; the same object where there is none."""
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
        hits = _hits(data, self._needles)
        return _without(data, hits) if hits else (data, ())

    def text(self, text: str) -> str:
        """A text without the secrets known by value."""
        return self._text(text)[0]

    def pieces(self, text: str) -> list[tuple[str, str]]:
        """A text cut where secrets known by value stand in it: each piece with the secret's name, empty for what is none."""
        data = text.encode("utf-8", "surrogatepass")
        hits = _hits(data, self._needles) if self._needles else []
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
        return {name_in_mark(name): len(value) for value, name in self._names.items()}

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

    def hits(self, data: bytes) -> list[_Hit]:
        """Where secrets stand in the bytes, in order, without overlap."""
        return _hits(data, self._needles)

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
        hits = _hits(text.encode("utf-8", "surrogatepass"), self._needles)
        if not hits:
            return text, ()
        data, found = _without(text.encode("utf-8", "surrogatepass"), hits)
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
        if name in self._headers:
            scheme, space, rest = value.partition(" ")
            if space and scheme.lower() in SCHEMES:
                return f"{scheme} {self._taken_out(name, rest, found)}"
            return self._taken_out(name, value, found)
        if name in URL_HEADERS:
            return self._url(value, found)
        if EXACT_FROM <= len(value) < BY_VALUE_FROM and value in self._names:
            return self._taken_out(name, value, found)
        return self._by_value(value, found)

    def _url(self, url: str, found: list[Redaction]) -> str:
        def userinfo(match: re.Match[str]) -> str:
            return f"{match[1]}{self._taken_out('userinfo', match[2], found)}@"

        def parameter(match: re.Match[str]) -> str:
            separator, key, value = match[1], match[2], match[3]
            if unquote_plus(key).lower() not in CREDENTIAL_QUERY_KEYS:
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

    def _settle(self, data: bytes, hits: list[_Hit]) -> tuple[bytes, tuple[Redaction, ...]]:
        at = self._settled
        self._settled += len(data)
        if not hits:
            return data, ()
        self.shifts += [(at + hit.start, at + hit.end, len(hit.needle.mark)) for hit in hits]
        return _without(data, hits)


def _hits(data: bytes, needles: tuple[_Needle, ...]) -> list[_Hit]:
    hits: list[_Hit] = []
    for needle in needles:
        if needle.data in data:
            hits.extend(_occurrences(data, needle))
    if len(hits) < 2:
        return hits
    hits.sort(key=lambda hit: (hit.start, -hit.end))
    merged = [hits[0]]
    for hit in hits[1:]:
        last = merged[-1]
        if hit.start >= last.end:
            merged.append(hit)
        elif hit.end > last.end:
            merged[-1] = _Hit(last.start, hit.end, last.needle)
    return merged


def _occurrences(data: bytes, needle: _Needle) -> Iterator[_Hit]:
    at = data.find(needle.data)
    while at >= 0:
        end = at + len(needle.data)
        yield _Hit(at, end, needle)
        at = data.find(needle.data, end)


def _without(data: bytes, hits: list[_Hit]) -> tuple[bytes, tuple[Redaction, ...]]:
    pieces: list[bytes] = []
    end = 0
    for hit in hits:
        pieces += (data[end : hit.start], hit.needle.mark)
        end = hit.end
    pieces.append(data[end:])
    found = tuple(Redaction(where="data", name=hit.needle.name, length=hit.end - hit.start) for hit in hits)
    return b"".join(pieces), found


def _forms(value: str) -> set[bytes]:
    """Every form in which a secret is looked for."""
    raw = value.encode("utf-8", "surrogateescape")
    forms = {raw}
    for safe in ("", "/", "/:@!$&'()*,;=+~", "-_.!~*'()"):
        percent = quote(raw, safe=safe)
        forms |= {percent.encode(), _lower_hex(percent).encode()}
    percent = quote_plus(raw)
    forms |= {percent.encode(), _lower_hex(percent).encode()}
    for ascii_only in (True, False):
        once = json.dumps(value, ensure_ascii=ascii_only)[1:-1]
        twice = json.dumps(once, ensure_ascii=ascii_only)[1:-1]  # a call's arguments are JSON in JSON
        slashes = once.replace("/", "\\/")
        forms |= {form.encode("utf-8", "surrogateescape") for form in (once, twice, slashes)}
    for offset in (0, 1, 2):
        forms |= set(_base64_inside(raw, offset))
    return forms


def _base64_inside(raw: bytes, offset: int) -> tuple[bytes, bytes]:
    """The characters that the secret alone determines, where it stands at some offset of three in what is encoded."""
    encoded = base64.b64encode(b"\0" * offset + raw)
    first, last = -(-8 * offset // 6), 8 * (offset + len(raw)) // 6
    inside = encoded[first:last]
    return inside, inside.translate(bytes.maketrans(b"+/", b"-_"))


def _lower_hex(percent: str) -> str:
    return re.sub(r"%[0-9A-F]{2}", lambda match: match[0].lower(), percent)
