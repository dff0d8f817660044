"""Removes secrets from everything before it is stored.

By value: each known secret of at least eight characters, wherever it stands, in the spellings of `known_secrets`.
By place: what stands in a header or behind a query key named like a credential, or in a URL's userinfo, known or not, whatever its length.
Learned: what stood in such a place of a request is looked for by value from then on, since a peer may say it again.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING
from urllib.parse import unquote_plus

from tui_host.capture.content_codings import decode_records, is_known
from tui_host.capture.json.reading import load
from tui_host.capture.record import Head, Record, Redaction, decoded_mark
from tui_host.capture.redact.body_redactor import BodyRedactor
from tui_host.capture.redact.known_secrets import Needles, Redacted, mark, name_in_mark, without
from tui_host.capture.redact.places import in_header, is_login, shown_by, without_keys, without_tokens
from tui_host.capture.redact.text_stream import TextStream
from tui_host.errors import JSON
from tui_host.settings.credential_places import CredentialSpan, in_url
from tui_host.settings.sensitivity import is_telling

if TYPE_CHECKING:
    from collections.abc import Callable

    from tui_host.settings.schema import Settings

BY_VALUE_FROM = 8
"""Shortest secret, in characters, that is searched for everywhere."""
LEARNED_MOST, LEARNED_LENGTH = 64, 8192
"""Largest number of other hosts' credentials to remember (the last ones used), and largest length of one."""
EXACT_FROM = 4
"""Shortest secret, in characters, that is removed if it is a whole header, query value or path segment."""

REMEMBERED_HEADERS = 500
"""Number of headers without secrets to remember, since clients repeat them."""
_SEGMENT = re.compile(r"[^/?&=#]+")


class Redactor:
    """Removes secrets from records and texts: those configured, and those learned from other hosts. Callable from any thread."""

    def __init__(self, secrets: Iterable[tuple[str, str]] = ()) -> None:
        self._lock = threading.Lock()
        self._names: dict[str, str] = {}  # by value, however short
        self._learned: dict[str, str] = {}
        self._given = self._needles = Needles()  # never changed, but replaced
        self._short = frozenset[str]()
        self._headers: frozenset[str] = frozenset()
        self._in_headers: tuple[Needles, dict[tuple[str, str], tuple[str, tuple[Redaction, ...]]]] = self._needles, {}
        for name, value in secrets:
            self.add(name, value)

    def add(self, name: str, value: str) -> None:
        """Search for one more secret, from now on."""
        with self._lock:
            if value.strip() and value.strip() not in self._names:
                self._names = {**self._names, value.strip(): name}
                self._collect()

    def learn(self, head: Head) -> None:
        """Search from now on for the credentials in the head of another host's request."""
        for name, value in shown_by(head):
            self.learn_value(name, value)

    def learn_value(self, name: str, value: str) -> None:
        """Search from now on for a credential of another host, unless it may occur in a text by chance."""
        value = value.strip()
        if not BY_VALUE_FROM <= len(value) <= LEARNED_LENGTH or value.startswith("⟨secret:") or not is_telling(value):
            return
        with self._lock:
            if next(reversed(self._learned), None) == value:
                return
            is_new = value not in self._learned
            if is_new and self._given.are_in(value.encode("utf-8", "surrogatepass")):
                return
            learned = [item for item in self._learned.items() if item[0] != value]
            self._learned = dict([*learned, (value, name)][-LEARNED_MOST:])
            if is_new:
                self._collect()

    def _collect(self) -> None:
        given = [(name, value) for value, name in self._names.items() if len(value) >= BY_VALUE_FROM]
        learned = [(name, value) for value, name in self._learned.items()]
        self._given = Needles(given)
        self._short = frozenset(value for value in self._names if EXACT_FROM <= len(value) < BY_VALUE_FROM)
        self._needles = Needles((*given, *learned)) if learned else self._given

    def add_places(self, *, headers: Iterable[str]) -> None:
        """Remove the whole value of these headers too: headers configured with a reference."""
        self._headers = self._headers.union(name.lower() for name in headers)
        self._in_headers = self._needles, {}

    @property
    def lengths(self) -> Mapping[str, int]:
        """The number of characters of each secret, by the name in marks."""
        return {name_in_mark(name): len(value) for value, name in (*self._learned.items(), *self._names.items())}

    def may_be_in(self, data: bytes) -> bool:
        """Return whether the bytes contain a secret known by value."""
        return self._needles.are_in(data)

    def record(self, record: Record) -> Record:
        """Return a record without secrets; the record itself if no secret is found."""
        if record.kind == "request" and record.encoding is not None and self._needles:
            record = _with_text(record, self.bytes)
        data, redactions = self.bytes(record.data)
        head = record.head
        if head is not None:
            head, in_head = self._head(head)
            redactions += in_head
        malformed = self.text(record.malformed) if record.malformed else record.malformed
        if not redactions and malformed == record.malformed:
            return record
        return replace(record, data=data, head=head, malformed=malformed, redacted=record.redacted + redactions)

    def by_place(self, record: Record, *, of_login: bool | None = None) -> Record:
        """Return another host's request without the credentials that stand in known places of its body; None examines it for a login."""
        if record.kind != "request" or record.head is None:
            return record
        if is_login(record.head, record.data) if of_login is None else of_login:
            record = _with_text(record, lambda data: without_tokens(data, self.learn_value))
        if record.wire == "llm":
            record = _with_text(record, lambda data: without_keys(data, self.learn_value))
        return record

    def body(self, encoding: str | None = None, *, of_login: bool = False) -> BodyRedactor:
        """Return a redactor for the body of one answer, which comes in pieces."""
        return BodyRedactor(lambda: self._needles, encoding, self.learn_value if of_login else None)

    def stream(self) -> TextStream:
        """Return a redactor for a text in pieces, which also finds secrets split between pieces."""
        return TextStream(lambda: self._needles)

    def bytes(self, data: bytes) -> Redacted:
        """Return bytes without the secrets known by value, and the redactions."""
        hits = self._needles.hits(data)
        return without(data, hits) if hits else (data, ())

    def text(self, text: str) -> str:
        """Return a text without the secrets known by value."""
        return self._text(text)[0]

    def pieces(self, text: str) -> list[tuple[str, str]]:
        """Split a text at secrets known by value: each piece with the secret's name, empty for plain text."""
        data = text.encode("utf-8", "surrogatepass")
        pieces: list[tuple[bytes, str]] = []
        end = 0
        for hit in self._needles.hits(data):
            pieces += ((data[end : hit.start], ""), (data[hit.start : hit.end], name_in_mark(hit.name)))
            end = hit.end
        pieces.append((data[end:], ""))
        return [(piece.decode("utf-8", "surrogatepass"), name) for piece, name in pieces if piece]

    def json_text(self, text: str) -> str:
        """Return JSON without the secrets known by value; the result is JSON, even if a number looks like a secret."""
        redacted = self.text(text)
        if redacted == text:
            return text
        try:
            return json.dumps(self._strings_without(load(text)), ensure_ascii=False)
        except ValueError:
            return redacted  # it was no JSON before either

    def _text(self, text: str) -> tuple[str, tuple[Redaction, ...]]:
        if not self._needles:
            return text, ()
        data, redactions = self.bytes(text.encode("utf-8", "surrogatepass"))
        in_head = tuple(replace(redaction, where="head") for redaction in redactions)
        return (data.decode("utf-8", "surrogatepass") if redactions else text), in_head

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
        url, redactions = head.url, ()
        if url is not None:
            url, redactions = self._in_places(url, [*in_url(url), *self._short_in(url)])
        headers: list[tuple[str, str]] = []
        for name, value in head.headers:
            text, in_value = self._header(name.lower(), value)
            headers.append((name, text))
            redactions += in_value
        return (replace(head, url=url, headers=tuple(headers)), redactions) if redactions else (head, ())

    def _header(self, name: str, value: str) -> tuple[str, tuple[Redaction, ...]]:
        needles, results = self._in_headers
        if needles is not self._needles or len(results) > REMEMBERED_HEADERS:
            _, results = self._in_headers = self._needles, {}
        if (name, value) not in results:
            spans = in_header(name, value, self._headers) or self._short_in(value)
            results[name, value] = self._in_places(value, spans)
        return results[name, value]

    def _short_in(self, text: str) -> list[CredentialSpan]:
        """Return where a secret that is too short to be searched for everywhere is all of a header, a query value or a segment."""
        parts = _SEGMENT.finditer(text) if self._short else ()
        return [CredentialSpan(*part.span(), "") for part in parts if part[0] in self._short]

    def _in_places(self, text: str, spans: Iterable[CredentialSpan]) -> tuple[str, tuple[Redaction, ...]]:
        """Put marks in these places, with the names of the known secrets there, and in those that are known by value."""
        redactions: list[Redaction] = []
        for start, end, name in sorted({span.start: span for span in spans}.values(), reverse=True):
            value = text[start:end]
            if value.strip() and not (value.startswith("⟨secret:") and value.endswith("⟩")):
                hits = self._needles.hits(value.encode("utf-8", "surrogatepass"))
                known_as = self._names.get(value.strip()) or self._names.get(unquote_plus(value))
                redactions.insert(
                    0, Redaction(where="head", name=known_as or (hits[0].name if hits else name), length=end - start)
                )
                text = text[:start] + mark(redactions[0].name) + text[end:]
        text, by_value = self._text(text)
        return text, (*redactions, *by_value)


def _with_text(record: Record, take_out: Callable[[bytes], Redacted]) -> Record:
    """Remove secrets from a whole body; a coded body is kept as it came where its text has none."""
    text, problem = decode_records([record]) if is_known(record.encoding) else (record.data, "")
    data, redactions = take_out(text)
    if text == record.data:  # it is not coded, or was sent plain, whatever its head says
        return replace(record, data=data, redacted=record.redacted + redactions) if redactions else record
    if not redactions and not problem:
        return record
    redactions = (decoded_mark(record.encoding or "", len(record.data)), *redactions)
    malformed = record.malformed or (f"{problem}; what cannot be read is not kept" if problem else None)
    return replace(record, data=data, encoding=None, malformed=malformed, redacted=record.redacted + redactions)


def redactor_of(settings: Settings) -> Redactor:
    """Return a redactor for all secrets of the settings."""
    from tui_host.settings.environment_references import secret_headers, secrets_of

    redactor = Redactor((secret.name, secret.reveal()) for secret in secrets_of(settings))
    redactor.add_places(headers=secret_headers(settings))
    return redactor
