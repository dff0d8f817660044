"""Removes secrets from everything before it is stored.

By value: each known secret of at least eight characters, wherever it stands, in the spellings of `known_secrets`.
By place: what stands in a header or behind a query key named like a credential, or in a URL's userinfo, known or not, whatever its length.
Learned: what stood in such a place of a request is looked for by value from then on, since a peer may say it again.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING

from tui_host.capture.content_codings import decode_records, is_known
from tui_host.capture.record import Head, Record, Redaction
from tui_host.capture.redact.known_secrets import Needles, Redacted, mark, name_in_mark, without
from tui_host.capture.redact.places import in_header, is_login, shown_in, without_keys, without_tokens
from tui_host.capture.redact.text_stream import BodyRedactor
from tui_host.settings.credential_places import in_url
from tui_host.settings.sensitivity import is_telling

if TYPE_CHECKING:
    from tui_host.settings.schema import Settings

BY_VALUE_FROM = 8  # characters of a secret that is searched for everywhere, at least
# other hosts' credentials to remember, the last ones used, and the length of one, at most
LEARNED_MOST, LEARNED_LENGTH = 64, 8192

_STRING_OR_NUMBER = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"|([\w.+-]*⟨secret:[\w.-]+⟩[\w.+-]*)')


class Redactor:
    """Removes secrets from records and texts: those configured, and those learned from other hosts. Callable from any thread."""

    def __init__(self, secrets: Iterable[tuple[str, str]] = ()) -> None:
        self._lock = threading.Lock()
        self._names: dict[str, str] = {}  # by value, however short
        self._learned: dict[str, str] = {}
        self._headers: frozenset[str] = frozenset()
        self.add(*secrets)

    def add(self, *secrets: tuple[str, str], headers: Iterable[str] = ()) -> None:
        """From now on, search for these secrets too, and remove the whole value of these headers: those configured with a reference."""
        with self._lock:
            for name, value in secrets:
                if value.strip():
                    self._names.setdefault(value.strip(), name)
            self._headers = self._headers.union(name.lower() for name in headers)
            self._collect()

    def learn(self, head: Head) -> None:
        """Search from now on for the credentials in the head of another host's request."""
        for name, value in (("", head.url or ""), *head.headers):
            for shown in shown_in(name.lower(), value):
                self.learn_value(*shown)

    def learn_value(self, name: str, value: str) -> None:
        """Search from now on for a credential of another host, unless it may occur in a text by chance."""
        value = value.strip()
        if not BY_VALUE_FROM <= len(value) <= LEARNED_LENGTH or value.startswith("⟨secret:") or not is_telling(value):
            return
        with self._lock:
            is_new = value not in self._learned
            if is_new and self._given.hits(value.encode("utf-8", "surrogatepass")):
                return
            self._learned[value] = self._learned.pop(value, name)  # to the end, as the one that was used last
            if is_new:
                self._learned = dict([*self._learned.items()][-LEARNED_MOST:])
                self._collect()

    def _collect(self) -> None:
        """Make anew what is searched for, under the lock; what another thread searches with never changes."""
        given = [(name, value) for value, name in self._names.items() if len(value) >= BY_VALUE_FROM]
        learned = [(name, value) for value, name in self._learned.items()]
        self._given = Needles(given)
        self._needles = Needles((*given, *learned)) if learned else self._given
        self._header = lru_cache(500)(self._in_place)  # clients repeat their headers

    @property
    def lengths(self) -> Mapping[str, int]:
        """The number of characters of each secret, by the name in marks."""
        with self._lock:
            return {name_in_mark(name): len(value) for value, name in (*self._learned.items(), *self._names.items())}

    def record(self, record: Record, *, is_searched: bool = False) -> Record:
        """Return a record without secrets, or the record itself. Data that was searched has none known by value."""
        if record.kind == "request" and record.encoding is not None and self._needles:
            record = _with_text(record, self.bytes)
        data, redactions = (record.data, ()) if is_searched else self.bytes(record.data)
        head = record.head
        if head is not None:
            url, in_head = self._in_place(None, head.url or "")
            headers: list[tuple[str, str]] = []
            for name, value in head.headers:
                text, in_value = self._header(name.lower(), value)
                headers.append((name, text))
                in_head += in_value
            head = replace(head, url=url or head.url, headers=tuple(headers)) if in_head else head
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
        """Return a redactor for a text or body in pieces, which also finds secrets split between pieces."""
        return BodyRedactor(lambda: self._needles, encoding, self.learn_value if of_login else None)

    def bytes(self, data: bytes) -> Redacted:
        """Return bytes without the secrets known by value, and the redactions."""
        hits = self._needles.hits(data)
        return without(data, hits) if hits else (data, ())

    def text(self, text: str) -> str:
        """Return a text without the secrets known by value."""
        data, redactions = self.bytes(text.encode("utf-8", "surrogatepass"))
        return data.decode("utf-8", "surrogatepass") if redactions else text

    def json_text(self, text: str) -> str:
        """Return JSON without the secrets known by value; a number that is one becomes a string, so that the result is JSON."""
        redacted = self.text(text)
        if redacted == text:
            return text
        return _STRING_OR_NUMBER.sub(lambda match: f'"{match[1]}"' if match[1] else match[0], redacted)

    def pieces(self, text: str) -> list[tuple[str, str]]:
        """Split a text at secrets known by value: each piece with the secret's name, empty for plain text."""
        data = text.encode("utf-8", "surrogatepass")
        hits = self._needles.hits(data)
        edges = [0, *(edge for hit in hits for edge in (hit.start, hit.end)), len(data)]
        names = ["", *(name for hit in hits for name in (name_in_mark(hit.name), ""))]
        pieces = [data[start:end].decode("utf-8", "surrogatepass") for start, end in pairwise(edges)]
        return [pair for pair in zip(pieces, names, strict=True) if pair[0]]

    def _in_place(self, header: str | None, text: str) -> tuple[str, tuple[Redaction, ...]]:
        """Put marks for the credentials in a header or, without one, in a URL, with the names of known secrets, and for those known by value."""
        spans = in_url(text) if header is None else in_header(header, text, self._headers)
        redactions: list[Redaction] = []
        for start, end, place in sorted(spans, reverse=True):
            value = text[start:end]
            if value.strip() and not (value.startswith("⟨secret:") and value.endswith("⟩")):
                hits = self._needles.hits(value.encode("utf-8", "surrogatepass"))
                name = hits[0].name if hits else self._names.get(value, place)
                redactions.insert(0, Redaction(where="head", name=name, length=end - start))
                text = text[:start] + mark(name) + text[end:]
        data, by_value = self.bytes(text.encode("utf-8", "surrogatepass"))
        redactions += [replace(redaction, where="head") for redaction in by_value]
        return data.decode("utf-8", "surrogatepass"), tuple(redactions)


def _with_text(record: Record, take_out: Callable[[bytes], Redacted]) -> Record:
    """Remove secrets from a whole body; a coded body is kept as it came where its text has none."""
    text, problem = decode_records([record]) if is_known(record.encoding) else (record.data, "")
    data, redactions = take_out(text)
    if text == record.data:  # it is not coded, or was sent plain, whatever its head says
        return replace(record, data=data, redacted=record.redacted + redactions) if redactions else record
    if not redactions and not problem:
        return record
    redactions = (Redaction(where="data", name=f"was {record.encoding}", length=len(record.data)), *redactions)
    malformed = record.malformed or (f"{problem}; what cannot be read is not kept" if problem else None)
    return replace(record, data=data, encoding=None, malformed=malformed, redacted=record.redacted + redactions)


def redactor_of(settings: Settings) -> Redactor:
    """Return a redactor for all secrets of the settings."""
    from tui_host.settings.environment_references import secret_headers, secrets_of

    redactor = Redactor((secret.name, secret.reveal()) for secret in secrets_of(settings))
    redactor.add(headers=secret_headers(settings))
    return redactor
