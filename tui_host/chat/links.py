"""Where one exchange asks for calls and tells their results, as `link` records. Source: DESIGN, Correlation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from tui_host.capture.link import Link, Relation, Span, offered_link
from tui_host.capture.record import Draft, Place
from tui_host.capture.visible import line
from tui_host.llm.located import TextSpan, located
from tui_host.llm.messages import CutOff, Text, ToolCall, ToolResult
from tui_host.llm.protocols.protocol import Injected, Prepared

if TYPE_CHECKING:
    from tui_host.capture.redact import Redactor, Shift
    from tui_host.llm.dialects.dialect import Dialect
    from tui_host.llm.fold import FoldedCall
    from tui_host.llm.names import NameTable

_WORDS = 200


class Keeper(Protocol):
    """Keeps records, without the secrets in them: the recorder, or what only collects them."""

    @property
    def redactor(self) -> Redactor:
        """What every record passes first."""
        ...

    def append(self, draft: Draft) -> int:
        """Keep one; returns its number."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Links:
    """Records the links of one exchange. Spans count in the bytes as they are kept: with a mark where a secret stood.

    Attributes:
        place: The exchange's place; a link's has the call besides.
        table: What the names that the model used stand for.
    """

    recorder: Keeper
    place: Place
    table: NameTable

    def offer(self, exchange: str, connections: Sequence[str]) -> None:
        """Link a request to the connections whose tools it is the first of the session to offer: these the session uses."""
        for connection in connections:
            self.recorder.append(
                Draft(wire="host", kind="link", place=self.place, connection=connection, data=offered_link(exchange))
            )

    def prepared(
        self, exchange: str, body: bytes, dialect: Dialect, prepared: Prepared, told: Sequence[ToolResult]
    ) -> None:
        """Link each result to the bytes of the request that tell it for the first time, and what a tool protocol put in.

        Args:
            exchange: The request's exchange.
            body: Its body as it is sent.
            dialect: What the body is written in.
            prepared: What it was written from.
            told: The results that it tells for the first time: the last ones in it.
        """
        kept, _ = self.recorder.redactor.bytes(body)
        if prepared.told or prepared.injected or prepared.own is not None:
            self._tell_in_words(exchange, kept, prepared, {result.call.id: result for result in told})
        if told and not prepared.told:
            self._tell(exchange, kept, dialect, prepared, told)

    def _tell(
        self, exchange: str, kept: bytes, dialect: Dialect, prepared: Prepared, told: Sequence[ToolResult]
    ) -> None:
        """Results that are messages of their own. A body with another number of them was changed by configuration: no guess."""
        outline = dialect.outline(kept)
        parts = [part for part in outline.walk() if part.kind == "result"] if outline is not None else []
        if len(parts) != sum(isinstance(part, ToolResult) for message in prepared.messages for part in message.parts):
            return
        for result, part in zip(told, parts[-len(told) :], strict=True):
            self._told(exchange, result, part.start, part.end)

    def _tell_in_words(self, exchange: str, kept: bytes, prepared: Prepared, told: Mapping[str, ToolResult]) -> None:
        """Results, and what else a tool protocol put in, that stand in the text of messages."""

        def as_kept(data: bytes) -> bytes:
            return self.recorder.redactor.bytes(data)[0]

        own = () if prepared.own is None else (prepared.own,)
        pieces = sorted((*prepared.told, *prepared.injected, *own), key=lambda piece: (piece.message, piece.start))
        spans = [TextSpan(message=piece.message, start=piece.start, end=piece.end) for piece in pieces]
        for piece, place in zip(pieces, located(kept, prepared.messages, spans, as_kept), strict=True):
            if place is None:
                continue
            if isinstance(piece, Injected):
                span = Span(exchange=exchange, side="request", layer="wire", start=place[0], end=place[1])
                self._record_bare("profile" if piece is prepared.own else "injected", span, piece.words)
            elif piece.call in told:
                self._told(exchange, told[piece.call], *place, note=piece.note)

    def _told(self, exchange: str, result: ToolResult, start: int, end: int, *, note: str = "") -> None:
        span = Span(exchange=exchange, side="request", layer="wire", start=start, end=end)
        words = next((block.text for block in result.content if isinstance(block, Text)), "")
        self._record("told", result.call, span, f"({note}) {words}" if note else words)

    def cut(self, exchange: str, pieces: Sequence[CutOff], shifts: Sequence[Shift]) -> None:
        """Link the bytes of a response that are left out of the answer: what the model wrote behind its call."""
        if pieces:
            ranges = tuple((_kept_at(piece.start, shifts), _kept_at(piece.end, shifts)) for piece in pieces)
            span = Span(
                exchange=exchange, start=ranges[0][0], end=ranges[-1][1], ranges=ranges if len(ranges) > 1 else ()
            )
            self._record_bare("cut", span, "".join(piece.text for piece in pieces))

    def ask(self, exchange: str, calls: Sequence[FoldedCall], shifts: Sequence[Shift]) -> None:
        """Link the bytes of the response in which each call was asked for, so far as it came.

        Args:
            exchange: The response's exchange.
            calls: What was read out of it.
            shifts: Where secrets were taken out of its body.
        """
        for folded in calls:
            ranges = [(_kept_at(start, shifts), _kept_at(end, shifts)) for start, end in folded.spans]
            if ranges:
                more = tuple(ranges) if len(ranges) > 1 else ()
                span = Span(exchange=exchange, start=ranges[0][0], end=ranges[-1][1], ranges=more)
                self._record("asked", folded.call, span, folded.call.arguments)

    def _record_bare(self, relation: Relation, span: Span, words: str) -> None:
        """A link of no call."""
        link = Link(relation=relation, call="", span=span, words=line(words, _WORDS))
        self.recorder.append(Draft(wire="host", kind="link", place=self.place, data=link.to_bytes()))

    def _record(self, relation: Relation, call: ToolCall, span: Span, words: str) -> None:
        server, tool = self.table.find(call.name) or ("", call.name)
        link = Link(relation=relation, call=call.id, span=span, server=server, tool=tool, words=line(words, _WORDS))
        place = Place(session=self.place.session, turn=self.place.turn, step=self.place.step, call=call.id)
        self.recorder.append(Draft(wire="host", kind="link", place=place, data=link.to_bytes()))


def _kept_at(offset: int, shifts: Sequence[Shift]) -> int:
    """Where a byte of what came stands in what is kept, in which marks stand for secrets of another length."""
    moved = 0
    for start, end, size in shifts:
        if offset <= start:
            break
        if offset < end:
            return start + moved
        moved += size - (end - start)
    return offset + moved
