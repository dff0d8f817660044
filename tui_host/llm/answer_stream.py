"""Reads an answer as it comes: its bytes ahead, its events, and the faults of its connection. Imported late, with httpx."""

from __future__ import annotations

import time
from collections.abc import AsyncIterable, Sequence
from dataclasses import dataclass, field
from typing import Final

import anyio
import httpx

from tui_host.capture import content_codings as codings
from tui_host.capture.http.client_faults import words_of
from tui_host.capture.http.observer import ObservedExchange
from tui_host.capture.redact.redaction import mark
from tui_host.errors import ModelError
from tui_host.llm.body_framing import BodyDecoder
from tui_host.llm.events import CutOff, Failed, ModelEvent, Stopped, TextDelta
from tui_host.llm.messages import Stop
from tui_host.llm.outgoing import Outgoing
from tui_host.llm.protocols.tool_protocol import Reader
from tui_host.settings.schema import Provider

CONNECT_SECONDS: Final = 10.0
LINGER_SECONDS: Final = 2.0  # for the end of a body after the answer has ended
MADE_UP_LIMIT: Final = 8 << 10  # characters behind a call: people want to read some, and usage comes last
CLOSED: Final = "closed by the host"
HOLD_SECONDS: Final = 0.2  # the longest that text which may begin a secret waits for the next piece
ANSWER_LIMIT: Final = 64 << 20  # bytes, after content decoding
MOST_AHEAD: Final = 256  # pieces


@dataclass(eq=False)
class AnswerBody:
    """Turns a response's bytes into events, through content coding, dialect and tool protocol."""

    _encoding: str | None
    _decoder: BodyDecoder
    _reader: Reader
    size: int = 0  # bytes after content decoding
    failure: Failed | None = None
    stop: Stop | None = None
    is_made_up: bool = False  # whether the model has written much text after its call, such as a made-up result
    _made_up: int = 0
    _coding: codings.Decoder | None = None  # an unknown coding is the answer's fault, so it is told in `feed`

    def feed(self, data: bytes) -> Sequence[ModelEvent]:
        """Return the events in these bytes. Raises `CodingError`."""
        self._coding = self._coding or codings.Decoder(self._encoding)
        decoded = self._coding.feed(data)
        self.size += len(decoded)
        if self.size > ANSWER_LIMIT:
            raise codings.CodingError(f"the answer is larger than {ANSWER_LIMIT >> 20} MB")
        return self._read(self._decoder.feed(decoded))

    def finish(self) -> Sequence[ModelEvent]:
        """Return the events at the end of the body, or of an answer that the host ends."""
        if self.is_made_up and self.stop is None:
            return self._read([Stopped(stop="end", vendor=CLOSED, start=self.size, end=self.size)])
        return [*self._read(self._decoder.finish()), *self._reader.finish()]

    def _read(self, events: list[ModelEvent]) -> list[ModelEvent]:
        for event in events:
            if type(event) is TextDelta:  # nearly every event
                continue
            if isinstance(event, Failed):
                self.failure = event
            elif isinstance(event, Stopped):
                self.stop = event.stop
        if type(self._reader) is Reader:  # it leaves all events as they are
            return events
        read = [inner for event in events for inner in self._reader.feed(event)]
        self._made_up += sum(len(event.text) for event in read if isinstance(event, CutOff))
        self.is_made_up = self._made_up > MADE_UP_LIMIT
        return read


@dataclass(eq=False)
class BodyAhead:
    """Reads a response's body ahead in a task, so that everything available can be taken at once.

    Vendors send each event in a chunk of its own. Passing each chunk through every layer costs more than reading it.
    """

    _body: AsyncIterable[bytes]
    heard: float = field(default_factory=time.monotonic)  # when the last byte came
    _pieces: list[bytes] = field(default_factory=list[bytes])
    # Set with the first piece, when pieces were taken, and at the end.
    _changed: anyio.Event = field(default_factory=anyio.Event)
    _has_ended: bool = False
    _fault: Exception | None = None
    _scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)

    async def run(self) -> None:
        """Read to the end; errors are raised in `take`."""
        try:
            with self._scope:
                async for data in self._body:
                    self.heard = time.monotonic()
                    self._pieces.append(data)
                    if len(self._pieces) == 1:
                        self._tell()
                    elif len(self._pieces) > MOST_AHEAD:
                        await self._changed.wait()
        except Exception as error:  # noqa: BLE001 - is raised where it is waited for
            self._fault = error
        finally:
            self._has_ended = True
            self._tell()

    def _tell(self) -> None:
        self._changed.set()
        self._changed = anyio.Event()

    async def take(self) -> bytes:
        """Wait for bytes, and return everything available; empty at the end, or raises what reading raised."""
        data = await self._available()
        if not data and self._fault is not None:
            raise self._fault
        return data

    async def _available(self) -> bytes:
        while not self._pieces and not self._has_ended:
            await self._changed.wait()
        data = b"".join(self._pieces)
        self._pieces.clear()
        self._tell()
        return data

    async def rest_of_secret(self, exchange: ObservedExchange | None) -> bytes:
        """Return what comes while the text so far may begin a secret: nobody sees it before it is known for one."""
        data = b""
        while exchange is not None and exchange.is_open:
            more = b""
            with anyio.move_on_after(HOLD_SECONDS):
                more = await self._available()
            if not more:
                exchange.release()
                break
            data += more
        return data

    async def rest(self, seconds: float) -> None:
        """Read on for at most this many seconds, and drop the bytes."""
        with anyio.move_on_after(seconds):
            while await self.take():
                pass

    async def stop(self) -> None:
        self._scope.cancel()
        with anyio.CancelScope(shield=True):
            while await self._available():
                pass  # the body can be closed only when nobody reads it any more


async def close(response: httpx.Response) -> None:
    """Close the response, within a short time, even when cancelled."""
    with anyio.move_on_after(LINGER_SECONDS, shield=True):
        await response.aclose()


def where(provider: Provider, outgoing: Outgoing) -> str:
    """Return the provider's name with scheme, host and port, to say where an error happened."""
    return f"{provider.name} ({outgoing.origin})"


def redacted(text: str, outgoing: Outgoing) -> str:
    """Remove the key from a provider's message, since some providers repeat the key."""
    secret = outgoing.secret
    return text.replace(secret.reveal(), mark(secret.name)) if secret is not None else text


def fault_of(provider: Provider, outgoing: Outgoing, error: Exception, size: int) -> ModelError:
    """Describe a connection error for the user, after `size` bytes of the answer."""
    words = redacted(words_of(error), outgoing)
    remedy = "try again"
    if isinstance(error, httpx.ConnectTimeout | httpx.PoolTimeout):
        what = f"no connection within {CONNECT_SECONDS:g} s"
    elif isinstance(error, httpx.TimeoutException):
        what = f"no byte for {provider.timeout:g} s, after {size:,} bytes"
        remedy = f"try again, or raise providers.{provider.name}.timeout"
    elif "CERTIFICATE_VERIFY_FAILED" in words:
        what = f"its certificate cannot be verified: {words}"
        remedy = f"set providers.{provider.name}.ca_file to the certificate that signed it, if you trust it"
    elif isinstance(error, httpx.ConnectError):
        what, remedy = f"cannot connect: {words}", "is it running? check base_url"
    elif isinstance(error, httpx.HTTPError) and size:
        what = f"the answer broke off after {size:,} bytes: {words}"
    else:
        what = f"the exchange failed: {words}"
    return ModelError(what, where(provider, outgoing), remedy)
