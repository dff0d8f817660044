"""Records, as `link` records, which bytes of an exchange ask for calls or report results."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from tui_host.capture.link import Link, Relation, Span, offered_link
from tui_host.capture.record import Draft, Place
from tui_host.capture.visible import line
from tui_host.llm.events import CutOff, VendorToolUsed
from tui_host.llm.messages import Text, ToolCall, ToolResult
from tui_host.llm.protocols.tool_protocol import Injected, Prepared
from tui_host.llm.request_writing import TextSpan, text_spans

if TYPE_CHECKING:
    from tui_host.capture.record import Shift
    from tui_host.capture.redact.redaction import Redactor
    from tui_host.llm.dialects.dialect import Dialect
    from tui_host.llm.fold import FoldedCall
    from tui_host.llm.model_request import Outgoing
    from tui_host.llm.schema_adaptation import AdaptedSchema
    from tui_host.llm.tool_names import NameTable

_WORDS = 200


class Keeper(Protocol):
    """Stores records after redacting secrets: the recorder, or a collector for previews."""

    @property
    def redactor(self) -> Redactor:
        """The redactor applied to every record."""
        ...

    def append(self, draft: Draft) -> int:
        """Store a record; returns its number."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkedSpan:
    """A range of bytes in a request to link to a call or to the tool protocol's text.

    Attributes:
        call: The call's id, None if the bytes belong to no call.
        start: First byte, in the stored body.
        end: One past the last byte, in the stored body.
    """

    relation: Relation
    call: ToolCall | None = None
    start: int
    end: int
    words: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Links:
    """Records the links of an exchange. Positions count bytes of the stored body, in which a mark replaces each secret.

    Attributes:
        place: The exchange's place. The link of a call also names the call.
        table: Maps the model's tool names to servers and tools.
        adapted: The schemas changed for the dialect, by tool name.
    """

    recorder: Keeper
    place: Place
    table: NameTable
    adapted: Mapping[str, AdaptedSchema]

    def record_offer(self, exchange: str, connections: Sequence[str]) -> None:
        """Link a request to the connections whose tools the request offers for the first time in the session."""
        for connection in connections:
            self.recorder.append(
                Draft(wire="host", kind="link", place=self.place, connection=connection, data=offered_link(exchange))
            )

    def find_spans(
        self, outgoing: Outgoing, dialect: Dialect, prepared: Prepared, new_results: Sequence[ToolResult]
    ) -> Sequence[LinkedSpan]:
        """Find the byte ranges of a request to link: results reported for the first time, and text added by a tool protocol.

        Records nothing. May be called from any thread; slow for a large request.

        Args:
            outgoing: The request as sent.
            dialect: The dialect of the body.
            prepared: The messages from which the request was built.
            new_results: The results that this request reports for the first time: the last results in it.
        """
        redactor = self.recorder.redactor
        if prepared.told or prepared.injected or prepared.own or prepared.given:
            kept, _ = redactor.bytes(outgoing.body)
            in_words = _in_words(kept, prepared, {result.call.id: result for result in new_results}, redactor)
        else:
            in_words = []
        return [
            *(_of_adapted(outgoing, dialect, self.adapted, redactor) if self.adapted else ()),
            *in_words,
            *(_of_their_own(outgoing, dialect, new_results, redactor) if new_results and not prepared.told else ()),
        ]

    def record_request(self, exchange: str, linked: Sequence[LinkedSpan]) -> None:
        """Record the byte ranges found in a request that is about to be sent as this exchange."""
        for linked_span in linked:
            span = Span(exchange=exchange, side="request", layer="wire", start=linked_span.start, end=linked_span.end)
            if linked_span.call is None:
                self._record_bare(linked_span.relation, span, linked_span.words)
            else:
                self._record(linked_span.relation, linked_span.call, span, linked_span.words)

    def record_cut(self, exchange: str, pieces: Sequence[CutOff], shifts: Sequence[Shift]) -> None:
        """Link the bytes left out of an answer: text that the model wrote after its call."""
        if pieces:
            ranges = tuple((_kept_at(piece.start, shifts), _kept_at(piece.end, shifts)) for piece in pieces)
            span = Span(
                exchange=exchange, start=ranges[0][0], end=ranges[-1][1], ranges=ranges if len(ranges) > 1 else ()
            )
            self._record_bare("cut", span, "".join(piece.text for piece in pieces))

    def record_calls(self, exchange: str, calls: Sequence[FoldedCall], shifts: Sequence[Shift]) -> None:
        """Link the response bytes of each requested call, up to the last byte received.

        Args:
            exchange: Id of the exchange with the response.
            calls: The calls read from the response.
            shifts: Positions where secrets were removed from the body.
        """
        for folded in calls:
            ranges = [(_kept_at(start, shifts), _kept_at(end, shifts)) for start, end in folded.spans]
            if ranges:
                more = tuple(ranges) if len(ranges) > 1 else ()
                span = Span(exchange=exchange, start=ranges[0][0], end=ranges[-1][1], ranges=more)
                self._record("asked", folded.call, span, folded.call.arguments)

    def record_vendor_runs(self, exchange: str, runs: Sequence[VendorToolUsed], shifts: Sequence[Shift]) -> None:
        """Link the bytes where the vendor ran tools of its own."""
        for run in runs:
            span = Span(exchange=exchange, start=_kept_at(run.start, shifts), end=_kept_at(run.end, shifts))
            self._record_bare("vendor", span, run.words)

    def _record_bare(self, relation: Relation, span: Span, words: str) -> None:
        """Record a link that names no call."""
        link = Link(relation=relation, call="", span=span, words=line(words, _WORDS))
        self.recorder.append(Draft(wire="host", kind="link", place=self.place, data=link.to_bytes()))

    def _record(self, relation: Relation, call: ToolCall, span: Span, words: str) -> None:
        server, tool = self.table.resolve(call.name) or ("", call.name)
        link = Link(relation=relation, call=call.id, span=span, server=server, tool=tool, words=line(words, _WORDS))
        place = Place(session=self.place.session, turn=self.place.turn, step=self.place.step, call=call.id)
        self.recorder.append(Draft(wire="host", kind="link", place=place, data=link.to_bytes()))


def _of_adapted(
    outgoing: Outgoing, dialect: Dialect, adapted: Mapping[str, AdaptedSchema], redactor: Redactor
) -> Iterator[LinkedSpan]:
    """Find the definitions of tools whose schemas were changed for the dialect."""
    outline = dialect.outline(redactor.bytes(outgoing.body)[0])
    for part in outline.walk() if outline is not None else ():
        if part.kind == "tool" and part.name in adapted:
            words = f"adapted for {dialect.name}: {'; '.join(adapted[part.name].changes)}"
            yield LinkedSpan(relation="adapted", start=part.start, end=part.end, words=words)


def _of_their_own(
    outgoing: Outgoing, dialect: Dialect, new_results: Sequence[ToolResult], redactor: Redactor
) -> Iterator[LinkedSpan]:
    """Find results that are separate messages. Searches from the end, so that earlier results are not read again.

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
        if len(spans) >= len(new_results):
            for result, (first, last) in zip(new_results, spans[-len(new_results) :], strict=True):
                yield LinkedSpan(relation="told", call=result.call, start=first, end=last, words=_words(result))
            return


def _in_words(
    kept: bytes, prepared: Prepared, results: Mapping[str, ToolResult], redactor: Redactor
) -> list[LinkedSpan]:
    """Find results and tool-protocol text that are part of a message's text."""
    in_text = (*prepared.told, *prepared.injected, *prepared.own, *prepared.given)
    pieces = sorted(in_text, key=lambda piece: (piece.message, piece.start))
    spans = [TextSpan(message=piece.message, start=piece.start, end=piece.end) for piece in pieces]
    linked: list[LinkedSpan] = []
    for piece, place in zip(
        pieces, text_spans(kept, prepared.messages, spans, lambda data: redactor.bytes(data)[0]), strict=True
    ):
        if place is None:
            continue
        start, end = place
        if isinstance(piece, Injected):
            own: Relation = "profile" if piece in prepared.own else "injected"
            relation: Relation = "given" if piece in prepared.given else own
            linked.append(LinkedSpan(relation=relation, start=start, end=end, words=piece.words))
        elif piece.call in results:
            words = _words(results[piece.call])
            words = f"({piece.note}) {words}" if piece.note else words
            linked.append(LinkedSpan(relation="told", call=results[piece.call].call, start=start, end=end, words=words))
    return linked


def _words(result: ToolResult) -> str:
    return next((block.text for block in result.content if isinstance(block, Text)), "")


def _kept_at(offset: int, shifts: Sequence[Shift]) -> int:
    """Convert an offset in the received bytes to the stored bytes, in which marks of a different length replace secrets."""
    moved = 0
    for start, end, size in shifts:
        if offset <= start:
            break
        if offset < end:
            return start + moved
        moved += size - (end - start)
    return offset + moved
