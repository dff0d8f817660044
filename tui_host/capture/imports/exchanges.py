"""Exchanges with a model put together from what is at hand of them: a body, an answer, pieces of a stream."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tui_host.capture.ending import Ending, Reason
from tui_host.capture.http import BODY_LIMIT
from tui_host.capture.imports.seen import Notes, Seen
from tui_host.capture.imports.wires import Wires
from tui_host.capture.record import Draft, Head, Kind

NOT_KNOWN = "(not in the file)"
"""Stands among the headers, where no header has such a name, and says what is taken for granted."""
NO_HEAD = "method, path and headers: the file has the body alone"
NO_HEADERS = "headers: the file has the body and the address alone"
NO_REQUEST = "the request: the file has the answer alone"
NO_STATUS = "status and headers: the file has the body alone"

TYPES = {"sse": "text/event-stream", "ndjson": "application/x-ndjson", "json": "application/json"}


@dataclass(slots=True)
class _Open:
    draft: Draft
    is_answered: bool = False
    size: int = 0


class Exchanges:
    """One model's lane, in which an exchange is over when the next begins.

    Args:
        wires: The dialects.
        notes: Gives the ids.
        peer: What the provider is called.
    """

    def __init__(self, wires: Wires, notes: Notes, peer: str) -> None:
        self._wires = wires
        self._notes = notes
        self._peer = peer
        self._open: _Open | None = None

    def request(self, body: bytes, at_ns: int, *, dialect: str, url: str = "") -> Iterator[Seen]:
        """A request's body.

        Args:
            body: Its bytes.
            at_ns: When it was sent.
            dialect: In which it is written.
            url: Where it was sent to; empty if that is not known.
        """
        yield from self.finish(at_ns)
        yield self._begin(body, at_ns, url or self._wires.url_of(dialect), NO_HEADERS if url else NO_HEAD)

    def answer(self, data: bytes, at_ns: int, *, dialect: str, form: str) -> Iterator[Seen]:
        """Bytes of an answer: all, or the next ones of a stream."""
        if self._open is None:
            yield self._begin(b"", at_ns, self._wires.url_of(dialect), NO_REQUEST)
        opened = self._open
        assert opened is not None  # noqa: S101 - just begun
        if not opened.is_answered:
            opened.is_answered = True
            head = Head(status=200, headers=((NOT_KNOWN, NO_STATUS), ("content-type", TYPES[form])))
            yield Seen(at_ns=at_ns, draft=_after(opened.draft, "response", head=head))
        kept = data[: max(BODY_LIMIT - opened.size, 0)]
        opened.size += len(data)
        if kept:
            yield Seen(at_ns=at_ns, draft=_after(opened.draft, "chunk", data=kept))

    @property
    def is_open(self) -> bool:
        """Whether an exchange has begun and not ended."""
        return self._open is not None

    def finish(self, at_ns: int) -> Iterator[Seen]:
        """Nothing more comes of the exchange that has begun, if one has."""
        opened, self._open = self._open, None
        if opened is None:
            return
        reason: Reason = "complete" if opened.is_answered else "closed by host"
        ending = Ending(reason=reason, size=opened.size, kept=min(opened.size, BODY_LIMIT))
        yield Seen(at_ns=at_ns, draft=_after(opened.draft, ending.kind, data=ending.to_bytes()))

    def _begin(self, body: bytes, at_ns: int, url: str, not_known: str) -> Seen:
        headers = (("content-type", "application/json"),)
        draft = Draft(
            wire="llm",
            kind="request",
            peer=self._peer,
            direction="out",
            exchange=self._notes.new_exchange(),
            head=Head(method="POST", url=url, headers=((NOT_KNOWN, not_known), *headers)),
            data=body,
        )
        self._open = _Open(draft)
        return Seen(at_ns=at_ns, draft=draft)


def _after(request: Draft, kind: Kind, *, data: bytes = b"", head: Head | None = None) -> Draft:
    return Draft(
        wire="llm",
        kind=kind,
        peer=request.peer,
        direction="in",
        exchange=request.exchange,
        head=head,
        data=data,
    )
