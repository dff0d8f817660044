"""Removes secrets from everything before it is stored.

By value: each known secret of at least eight characters, wherever it stands, in the spellings of `known_secrets`.
By place: what stands in a header or behind a query key named like a credential, or in a URL's userinfo, known or not, whatever its length.
Learned: what stood in such a place of a request is looked for by value from then on, since a peer may say it again.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING
from urllib.parse import unquote_plus

from tui_host.capture.content_codings import decode_records, is_known
from tui_host.capture.json.reading import load
from tui_host.capture.record import Head, Record, Redaction, decoded_mark
from tui_host.capture.redact.body_redactor import BodyRedactor
from tui_host.capture.redact.known_secrets import (
    BY_VALUE_FROM,
    KnownSecrets,
    Needles,
    Redacted,
    mark,
    name_in_mark,
    without,
)
from tui_host.capture.redact.places import in_header, is_login, is_token, shown_by, without_keys, without_tokens
from tui_host.capture.redact.text_stream import TextStream
from tui_host.errors import JSON
from tui_host.settings.credential_places import CredentialSpan, in_url

if TYPE_CHECKING:
    from collections.abc import Callable

    from tui_host.settings.schema import Settings

EXACT_FROM = 4
"""Shortest secret, in characters, that is removed if it is a whole header, query value or path segment."""

REMEMBERED_HEADERS = 500
"""Number of headers without secrets to remember, since clients repeat them."""
_SEGMENT = re.compile(r"[^/?&=#]+")


class Redactor:
    """Removes secrets from records and texts. Callable from any thread."""

    def __init__(self, secrets: Iterable[tuple[str, str]] = ()) -> None:
        self._known = KnownSecrets(secrets)
        self._headers: frozenset[str] = frozenset()
        self._in_headers: tuple[Needles, dict[tuple[str, str], tuple[str, list[Redaction]]]] = self._known.needles, {}

    def add(self, name: str, value: str) -> None:
        """Search for one more secret, from now on."""
        self._known.add([(name, value)])

    def learn(self, head: Head) -> None:
        """Search from now on for the credentials in the head of another host's request."""
        for name, value in shown_by(head):
            self._known.learn(name, value)

    def learn_value(self, name: str, value: str) -> None:
        """Search from now on for a credential of another host that was found elsewhere."""
        self._known.learn(name, value)

    def add_places(self, *, headers: Iterable[str]) -> None:
        """Remove the whole value of these headers too: headers configured with a reference."""
        self._headers = self._headers.union(name.lower() for name in headers)
        self._in_headers = self._known.needles, {}

    @property
    def lengths(self) -> Mapping[str, int]:
        """The number of characters of each secret, by the name in marks."""
        return self._known.lengths

    def may_be_in(self, data: bytes) -> bool:
        """Return whether the bytes contain a secret known by value."""
        return self._known.needles.are_in(data)

    def record(self, record: Record) -> Record:
        """Return a record without secrets; the record itself if no secret is found."""
        if record.kind == "request" and record.encoding is not None and self._known.needles:
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
        """Return a request of another host, or a body of an answer, without the credentials that stand in known places of it.

        Args:
            record: What another host sent or got.
            of_login: Whether it is known to be a login's; None to examine it.
        """
        if record.kind == "chunk":
            of_login = of_login or (record.encoding is None and is_token(record.data))
        elif record.kind == "request" and of_login is None:
            of_login = record.head is not None and is_login(record.head, record.data)
        if of_login:
            record = _with_text(record, lambda data: without_tokens(data, self._known.learn))
        if record.kind == "request" and record.wire == "llm":
            record = _with_text(record, lambda data: without_keys(data, self._known.learn))
        return record

    def body(self, encoding: str | None = None, *, of_login: bool = False) -> BodyRedactor:
        """Return a redactor for the body of one answer, which comes in pieces."""
        return BodyRedactor(self._known, encoding, is_login=of_login)

    def stream(self) -> TextStream:
        """Return a redactor for a text in pieces, which also finds secrets split between pieces."""
        return TextStream(lambda: self._known.needles)

    def bytes(self, data: bytes) -> Redacted:
        """Return bytes without the secrets known by value, and the redactions."""
        hits = self._known.needles.hits(data)
        return without(data, hits) if hits else (data, ())

    def text(self, text: str) -> str:
        """Return a text without the secrets known by value."""
        return self._text(text)[0]

    def pieces(self, text: str) -> list[tuple[str, str]]:
        """Split a text at secrets known by value: each piece with the secret's name, empty for plain text."""
        data = text.encode("utf-8", "surrogatepass")
        hits = self._known.needles.hits(data)
        if not hits:
            return [(text, "")] if text else []
        pieces: list[tuple[str, str]] = []
        end = 0
        for hit in hits:
            pieces.append((data[end : hit.start].decode("utf-8", "surrogatepass"), ""))
            pieces.append((data[hit.start : hit.end].decode("utf-8", "surrogatepass"), name_in_mark(hit.needle.name)))
            end = hit.end
        pieces.append((data[end:].decode("utf-8", "surrogatepass"), ""))
        return [piece for piece in pieces if piece[0]]

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
        if not self._known.needles:
            return text, ()
        data, redactions = self.bytes(text.encode("utf-8", "surrogatepass"))
        if not redactions:
            return text, ()
        return data.decode("utf-8", "surrogatepass"), tuple(
            replace(redaction, where="head") for redaction in redactions
        )

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
        redactions: list[Redaction] = []
        url = None if head.url is None else self._url(head.url, redactions)
        headers = tuple((name, self._header(name.lower(), value, redactions)) for name, value in head.headers)
        return (replace(head, url=url, headers=headers), tuple(redactions)) if redactions else (head, ())

    def _header(self, name: str, value: str, found: list[Redaction]) -> str:
        needles, results = self._in_headers
        if needles is not self._known.needles or len(results) > REMEMBERED_HEADERS:
            _, results = self._in_headers = self._known.needles, {}
        result = results.get((name, value))
        if result is None:
            taken_out: list[Redaction] = []
            spans = in_header(name, value, self._headers)
            if not spans and self._is_short_secret(value):
                spans = [CredentialSpan(0, len(value), name)]
            text = self._by_value(self._without(value, spans, taken_out), taken_out)
            result = results[name, value] = text, taken_out
        found.extend(result[1])
        return result[0]

    def _url(self, url: str, found: list[Redaction]) -> str:
        url = self._without(url, in_url(url), found)
        if any(len(value) < BY_VALUE_FROM for value in self._known.names):
            short = [match for match in _SEGMENT.finditer(url) if self._is_short_secret(match[0])]
            url = self._without(url, [CredentialSpan(*match.span(), "url") for match in short], found)
        return self._by_value(url, found)

    def _is_short_secret(self, text: str) -> bool:
        return EXACT_FROM <= len(text) < BY_VALUE_FROM and text in self._known.names

    def _without(self, text: str, spans: Iterable[CredentialSpan], found: list[Redaction]) -> str:
        pieces: list[str] = []
        end = 0
        for span in sorted(spans):
            if span.start >= end:
                pieces += (text[end : span.start], self._taken_out(span.name, text[span.start : span.end], found))
                end = span.end
        return "".join((*pieces, text[end:]))

    def _by_value(self, text: str, found: list[Redaction]) -> str:
        text, in_text = self._text(text)
        found.extend(in_text)
        return text

    def _taken_out(self, place: str, value: str, found: list[Redaction]) -> str:
        """Return the mark for a whole value, with the name of the known secret in the value."""
        if not value.strip() or (value.startswith("⟨secret:") and value.endswith("⟩")):
            return value
        name = self._known.names.get(value.strip()) or self._known.names.get(unquote_plus(value))
        if name is None:
            hits = self._known.needles.hits(value.encode("utf-8", "surrogatepass"))
            name = hits[0].needle.name if hits else place
        found.append(Redaction(where="head", name=name, length=len(value)))
        return mark(name)


def _with_text(record: Record, take_out: Callable[[bytes], Redacted]) -> Record:
    """Remove secrets from a whole body; a coded body is kept as it came where its text has none."""
    if not is_known(record.encoding):
        data, redactions = take_out(record.data)
        return replace(record, data=data, redacted=record.redacted + redactions) if redactions else record
    text, problem = decode_records([record])
    data, redactions = take_out(text)
    if text == record.data:  # it was sent plain, whatever its head says
        return replace(record, data=data, redacted=record.redacted + redactions) if redactions else record
    if not redactions and not problem:
        return record
    return replace(
        record,
        data=data,
        encoding=None,
        malformed=record.malformed or (f"{problem}; what cannot be read is not kept" if problem else None),
        redacted=(*record.redacted, decoded_mark(record.encoding or "", len(record.data)), *redactions),
    )


def redactor_of(settings: Settings) -> Redactor:
    """Return a redactor for all secrets of the settings."""
    from tui_host.settings.environment_references import secret_headers, secrets_of

    redactor = Redactor((secret.name, secret.reveal()) for secret in secrets_of(settings))
    redactor.add_places(headers=secret_headers(settings))
    return redactor
