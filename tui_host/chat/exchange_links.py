"""Records where an exchange asks for calls and reports results, as `link` records."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from tui_host.capture.link import Link, Relation, Span, offered_link
from tui_host.capture.record import Draft, Place
from tui_host.capture.visible import line
from tui_host.llm.events import CutOff
from tui_host.llm.messages import Text, ToolCall, ToolResult
from tui_host.llm.protocols.tool_protocol import Injected, Prepared
from tui_host.llm.request_writing import TextSpan, text_spans

if TYPE_CHECKING:
    from tui_host.capture.record import Shift
    from tui_host.capture.redact.redaction import Redactor
    from tui_host.llm.dialects.dialect import Dialect
    from tui_host.llm.fold import FoldedCall
    from tui_host.llm.model_request import Outgoing
    from tui_host.llm.tool_names import NameTable

_WORDS = 200


class Keeper(Protocol):
    """Stores records after redaction: the recorder, or a collector."""

    @property
    def redactor(self) -> Redactor:
        """Redacts every record."""
        ...

    def append(self, draft: Draft) -> int:
        """Store a record; returns its number."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkedSpan:
    """Bytes of a request to link to a call or to the tool protocol's text.

    Attributes:
        call: None if the bytes belong to no call.
        start: First byte, in the stored body.
        end: One past the last byte.
    """

    relation: Relation
    call: ToolCall | None = None
    start: int
    end: int
    words: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Links:
    """Records the links of an exchange. Spans count in the stored bytes, where a mark replaces each secret.

    Attributes:
        place: The exchange's place; a call's link also names the call.
        table: Maps the model's tool names to servers and tools.
    """

    recorder: Keeper
    place: Place
    table: NameTable

    def offer(self, exchange: str, connections: Sequence[str]) -> None:
        """Link a request to connections whose tools it offers for the first time in the session."""
        for connection in connections:
            self.recorder.append(
                Draft(wire="host", kind="link", place=self.place, connection=connection, data=offered_link(exchange))
            )

    def found(
        self, outgoing: Outgoing, dialect: Dialect, prepared: Prepared, told: Sequence[ToolResult]
    ) -> Sequence[LinkedSpan]:
        """Find the spans of a request to link: results reported for the first time, and text added by a tool protocol.

        Records nothing. Callable from any thread; slow for a large request.

        Args:
            outgoing: The request as sent.
            dialect: The dialect of the body.
            prepared: The messages behind the request.
            told: The results reported for the first time: the last ones in the request.
        """
        redactor = self.recorder.redactor
        if prepared.told or prepared.injected or prepared.own is not None:
            kept, _ = redactor.bytes(outgoing.body)
            in_words = _in_words(kept, prepared, {result.call.id: result for result in told}, redactor)
        else:
            in_words = []
        return [*in_words, *(_of_their_own(outgoing, dialect, told, redactor) if told and not prepared.told else ())]

    def prepared(self, exchange: str, found: Sequence[LinkedSpan]) -> None:
        """Record the spans found in a request about to be sent as this exchange."""
        for span_of_call in found:
            span = Span(exchange=exchange, side="request", layer="wire", start=span_of_call.start, end=span_of_call.end)
            if span_of_call.call is None:
                self._record_bare(span_of_call.relation, span, span_of_call.words)
            else:
                self._record(span_of_call.relation, span_of_call.call, span, span_of_call.words)

    def cut(self, exchange: str, pieces: Sequence[CutOff], shifts: Sequence[Shift]) -> None:
        """Link the bytes left out of an answer: text written by the model behind its call."""
        if pieces:
            ranges = tuple((_kept_at(piece.start, shifts), _kept_at(piece.end, shifts)) for piece in pieces)
            span = Span(
                exchange=exchange, start=ranges[0][0], end=ranges[-1][1], ranges=ranges if len(ranges) > 1 else ()
            )
            self._record_bare("cut", span, "".join(piece.text for piece in pieces))

    def ask(self, exchange: str, calls: Sequence[FoldedCall], shifts: Sequence[Shift]) -> None:
        """Link the response bytes of each requested call, as far as received.

        Args:
            exchange: The response's exchange.
            calls: The calls read from the response.
            shifts: Where secrets were removed from the body.
        """
        for folded in calls:
            ranges = [(_kept_at(start, shifts), _kept_at(end, shifts)) for start, end in folded.spans]
            if ranges:
                more = tuple(ranges) if len(ranges) > 1 else ()
                span = Span(exchange=exchange, start=ranges[0][0], end=ranges[-1][1], ranges=more)
                self._record("asked", folded.call, span, folded.call.arguments)

    def _record_bare(self, relation: Relation, span: Span, words: str) -> None:
        """Record a link without a call."""
        link = Link(relation=relation, call="", span=span, words=line(words, _WORDS))
        self.recorder.append(Draft(wire="host", kind="link", place=self.place, data=link.to_bytes()))

    def _record(self, relation: Relation, call: ToolCall, span: Span, words: str) -> None:
        server, tool = self.table.find(call.name) or ("", call.name)
        link = Link(relation=relation, call=call.id, span=span, server=server, tool=tool, words=line(words, _WORDS))
        place = Place(session=self.place.session, turn=self.place.turn, step=self.place.step, call=call.id)
        self.recorder.append(Draft(wire="host", kind="link", place=place, data=link.to_bytes()))


def _of_their_own(
    outgoing: Outgoing, dialect: Dialect, told: Sequence[ToolResult], redactor: Redactor
) -> Iterator[LinkedSpan]:
    """Find results that are messages of their own, from the end of the conversation: earlier results are not read again.

    Yields nothing if the user's own options replace the conversation.
    """
    stream = redactor.stream()
    kept = stream.feed(outgoing.body)[0] + stream.flush()[0]
    begin = b'{"%s":[' % outgoing.growing.name.encode()
    spans: list[tuple[int, int]] = []
    for span in reversed(outgoing.growing.spans):
        start, end = (_kept_at(offset, stream.shifts) for offset in span)
        outline = dialect.outline(begin + kept[start:end] + b"]}")
        parts = [part for part in outline.walk() if part.kind == "result"] if outline is not None else []
        spans[:0] = [(start - len(begin) + part.start, start - len(begin) + part.end) for part in parts]
        if len(spans) >= len(told):
            for result, (first, last) in zip(told, spans[-len(told) :], strict=True):
                yield LinkedSpan(relation="told", call=result.call, start=first, end=last, words=_words(result))
            return


def _in_words(kept: bytes, prepared: Prepared, told: Mapping[str, ToolResult], redactor: Redactor) -> list[LinkedSpan]:
    """Find results and tool-protocol text inside the text of messages."""
    own = () if prepared.own is None else (prepared.own,)
    pieces = sorted((*prepared.told, *prepared.injected, *own), key=lambda piece: (piece.message, piece.start))
    spans = [TextSpan(message=piece.message, start=piece.start, end=piece.end) for piece in pieces]
    spans_found: list[LinkedSpan] = []
    for piece, place in zip(
        pieces, text_spans(kept, prepared.messages, spans, lambda data: redactor.bytes(data)[0]), strict=True
    ):
        if place is None:
            continue
        start, end = place
        if isinstance(piece, Injected):
            relation: Relation = "profile" if piece is prepared.own else "injected"
            spans_found.append(LinkedSpan(relation=relation, start=start, end=end, words=piece.words))
        elif piece.call in told:
            words = _words(told[piece.call])
            words = f"({piece.note}) {words}" if piece.note else words
            spans_found.append(
                LinkedSpan(relation="told", call=told[piece.call].call, start=start, end=end, words=words)
            )
    return spans_found


def _words(result: ToolResult) -> str:
    return next((block.text for block in result.content if isinstance(block, Text)), "")


def _kept_at(offset: int, shifts: Sequence[Shift]) -> int:
    """Map an offset in the received bytes to the stored bytes, where marks of a different length replace secrets."""
    moved = 0
    for start, end, size in shifts:
        if offset <= start:
            break
        if offset < end:
            return start + moved
        moved += size - (end - start)
    return offset + moved
