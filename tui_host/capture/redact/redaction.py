"""Removes secrets from everything before it is stored.

By value: each known secret of at least eight characters, wherever it stands and however it is spelled there.
By place: what stands in a header or behind a query key named like a credential, or in a URL's userinfo, known or not, whatever its length.
Learned: what stood in such a place of a request is looked for by value from then on, since a peer may say it again.

What it cannot find: a secret in a coding that is not undone here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING
from urllib.parse import unquote_plus

from tui_host.capture.json.reading import load
from tui_host.capture.record import Head, Record, Redaction
from tui_host.capture.redact.by_place import in_header, shown_by
from tui_host.capture.redact.by_value import BY_VALUE_FROM, KnownSecrets, Snapshot, mark, name_in_mark, without
from tui_host.capture.redact.coded import request_without
from tui_host.capture.redact.stream_redactor import StreamRedactor
from tui_host.errors import JSON
from tui_host.settings.credential_places import CredentialSpan, in_url

if TYPE_CHECKING:
    from tui_host.settings.schema import Settings

EXACT_FROM = 4
"""Shortest secret, in characters, that is removed if it is a whole header, query value or path segment."""

REMEMBERED_HEADERS = 500
"""Number of headers without secrets to remember, since clients repeat them."""
_SEGMENT = re.compile(r"[^/?&=#]+")


class Redactor:
    """Removes secrets from drafts and texts. Callable from any thread."""

    def __init__(self, secrets: Iterable[tuple[str, str]] = ()) -> None:
        self._known = KnownSecrets(secrets)
        self._headers: frozenset[str] = frozenset()
        self._in_headers: tuple[Snapshot, dict[tuple[str, str], tuple[str, list[Redaction]]]] = self._known.now, {}
        self._former: tuple[tuple[tuple[str, str], ...], Redactor] | None = None

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
        self._in_headers = self._known.now, {}

    @property
    def learned(self) -> Mapping[str, str]:
        """The credentials of other hosts known now, to pass to `draft` later."""
        return self._known.now.learned

    def draft(self, draft: Record, learned: Mapping[str, str] | None = None) -> Record:
        """Return a draft without secrets; the draft itself if no secret is found."""
        now = self._known.now
        draft = self._draft(draft)
        former = self._before(now, learned)
        return former.draft(draft) if former else draft

    def may_be_in(self, data: bytes, learned: Mapping[str, str] | None = None) -> bool:
        """Return whether the bytes contain a secret known by value, now or when `learned` was read."""
        now = self._known.now
        if now.needles.are_in(data):
            return True
        former = self._before(now, learned)
        return former is not None and former.may_be_in(data)

    def bytes(self, data: bytes) -> tuple[bytes, tuple[Redaction, ...]]:
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

    @property
    def lengths(self) -> Mapping[str, int]:
        """The number of characters of each secret, by the name in marks."""
        return self._known.lengths

    def json_text(self, text: str) -> str:
        """Return JSON without the secrets known by value; the result is JSON, even if a number looks like a secret."""
        redacted = self.text(text)
        if redacted == text:
            return text
        try:
            load(redacted)
        except ValueError:
            try:
                value = load(text)
            except ValueError:
                return redacted  # it was no JSON before either
            return json.dumps(self._strings_without(value), ensure_ascii=False)
        return redacted

    @property
    def is_needed(self) -> bool:
        """Whether any secret is searched for by value."""
        return bool(self._known.needles)

    def stream(self) -> StreamRedactor:
        """Return a stream for a body in pieces, which also finds secrets split between pieces."""
        return StreamRedactor(lambda: self._known.needles)

    stream_by_value = stream

    def _draft(self, draft: Record) -> Record:
        if draft.kind == "request" and self.is_needed:
            draft = request_without(draft, self)
            data, redactions = draft.data, ()
        else:
            data, redactions = self.bytes(draft.data)
        head = draft.head
        if head is not None:
            head, found_in_head = self._head(head)
            redactions += found_in_head
        malformed = self.text(draft.malformed) if draft.malformed else draft.malformed
        if not redactions and malformed == draft.malformed:
            return draft
        return replace(draft, data=data, head=head, malformed=malformed, redacted=draft.redacted + redactions)

    def _before(self, now: Snapshot, learned: Mapping[str, str] | None) -> Redactor | None:
        """Return a redactor for credentials that were known then and dropped since; usually None."""
        forgotten = () if learned is None else self._known.forgotten(learned, now)
        if not forgotten:
            return None
        former = self._former  # of the record before, mostly
        if former is None or former[0] != forgotten:
            self._former = former = forgotten, Redactor(forgotten)
        return former[1]

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
        found: list[Redaction] = []
        url = head.url
        if url is not None:
            url = self._url(url, found)
        headers = tuple((name, self._header(name.lower(), value, found)) for name, value in head.headers)
        return (replace(head, url=url, headers=headers), tuple(found)) if found else (head, ())

    def _header(self, name: str, value: str, found: list[Redaction]) -> str:
        now, results = self._in_headers
        if now is not self._known.now or len(results) > REMEMBERED_HEADERS:
            now, results = self._in_headers = self._known.now, {}
        result = results.get((name, value))
        if result is None:
            taken_out: list[Redaction] = []
            spans = in_header(name, value, self._headers)
            if not spans and self._is_short_secret(value):
                spans = [CredentialSpan(0, len(value), name)]
            text = self._by_value(self._without(value, spans, taken_out), taken_out)
            result = results[name, value] = text, taken_out
        found += result[1]
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
        text, taken = self._text(text)
        found.extend(taken)
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


def redactor_of(settings: Settings) -> Redactor:
    """Return a redactor for all secrets of the settings."""
    from tui_host.settings.environment_references import secret_headers, secrets_of

    redactor = Redactor((secret.name, secret.reveal()) for secret in secrets_of(settings))
    redactor.add_places(headers=secret_headers(settings))
    return redactor
