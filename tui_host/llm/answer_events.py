"""A response's bytes as events, through content coding, dialect and tool protocol. Imported late, with httpx."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import anyio
import httpx

from tui_host.capture import content_codings as codings
from tui_host.llm.dialects.dialect_table import dialect
from tui_host.llm.events import CutOff, Failed, ModelEvent, Stopped, Unreadable
from tui_host.llm.messages import Stop
from tui_host.llm.protocols.tool_protocol import Reader
from tui_host.settings.schema import Provider

MADE_UP_LIMIT: Final = 8 << 10
"""Characters behind a call, made up by the model, until its answer is closed: they are what people come to see, and usage comes last."""
MADE_UP_SECONDS: Final = 5.0
"""The same as a time, from the first of them."""
CLOSED: Final = "closed by the host"
ANSWER_LIMIT: Final = 64 << 20
"""Bytes of one answer, after content decoding."""


class Answer:
    """Reads one response.

    Attributes:
        size: Bytes of the body so far, after content decoding.
        stop: Why it ended, None before.
        failure: What the provider ended it with, where that was an error.
    """

    def __init__(self, provider: Provider, response: httpx.Response, reader: Reader | None) -> None:
        self.size = 0
        self.failure: Failed | None = None
        self.stop: Stop | None = None
        self._seen: set[type[ModelEvent]] = set()
        self._has_end = "content-length" in response.headers or "transfer-encoding" in response.headers
        self._encoding = response.headers.get("content-encoding")
        self._coding: codings.Decoder | None = None
        self._decoder = dialect(provider.dialect).decoder(response.headers.get("content-type", ""))
        self._reader = reader
        self._made_up = 0  # characters
        self._made_up_since = 0.0

    @property
    def is_made_up(self) -> bool:
        """The model has gone on long enough behind its call."""
        if not self._made_up:
            return False
        return self._made_up > MADE_UP_LIMIT or anyio.current_time() - self._made_up_since > MADE_UP_SECONDS

    @property
    def is_unreadable(self) -> bool:
        """It came whole, as far as HTTP can tell, and nothing of it could be read."""
        return self._has_end and self._seen - {Stopped} == {Unreadable}

    def feed(self, data: bytes) -> Sequence[ModelEvent]:
        """What these bytes add; raises CodingError."""
        if self._coding is None:
            self._coding = codings.decoder(self._encoding)
        decoded = self._coding.feed(data)
        self.size += len(decoded)
        if self.size > ANSWER_LIMIT:
            raise codings.CodingError(f"the answer is larger than {ANSWER_LIMIT >> 20} MB")
        return self._read(self._decoder.feed(decoded))

    def finish(self) -> Sequence[ModelEvent]:
        """What the end adds."""
        found = self._read(self._decoder.finish())
        return [*found, *self._reader.finish()] if self._reader is not None else found

    def close(self) -> Sequence[ModelEvent]:
        """What the end adds where the host makes it."""
        return self._read([Stopped(stop="end", vendor=CLOSED, start=self.size, end=self.size)])

    def _read(self, events: list[ModelEvent]) -> list[ModelEvent]:
        self._seen.update(map(type, events))
        found: list[ModelEvent] = []
        for event in events:
            if isinstance(event, Failed):
                self.failure = event
            elif isinstance(event, Stopped):
                self.stop = event.stop
            if self._reader is not None:
                found += self._reader.feed(event)
        if self._reader is None:
            return events
        for event in found:
            if isinstance(event, CutOff):
                self._made_up_since = self._made_up_since or anyio.current_time()
                self._made_up += len(event.text)
        return found
