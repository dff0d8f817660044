"""Records, as `link` records, which bytes of an exchange ask for calls or report results.

Positions count bytes of the stored body, in which a mark replaces each secret.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

from tui_host.capture.link import Link, Relation, Span, offered_link
from tui_host.capture.record import Draft, Place
from tui_host.capture.visible import line
from tui_host.llm.messages import Text, ToolCall, ToolResult
from tui_host.llm.protocols.tool_protocol import Injected, Prepared
from tui_host.llm.request_writing import TextSpan, text_spans

if TYPE_CHECKING:
    from tui_host.capture.record import Shift
    from tui_host.capture.redact.redaction import Redactor
    from tui_host.llm.dialects.dialect import Dialect
    from tui_host.llm.fold import Fold
    from tui_host.llm.model_request import Outgoing
    from tui_host.llm.schema_adaptation import AdaptedSchema
    from tui_host.llm.tool_names import NameTable

_WORDS_CHARACTERS = 200


class LinkKeeper(Protocol):
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
    """A range of bytes in a request to link to a call, or (without a call) to the tool protocol's text."""

    relation: Relation
    call: ToolCall | None = None
    start: int
    end: int
    words: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Links:
    """Records the links of an exchange.

    Attributes:
        place: The exchange's place. The link of a call also names the call.
        table: Maps the model's tool names to servers and tools.
        adapted: The schemas changed for the dialect, by tool name.
    """

    recorder: LinkKeeper
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
            new_results: The results that this request reports for the first time: the last results in it.
        """
        redactor = self.recorder.redactor
        spans: list[LinkedSpan] = []
        if self.adapted:
            spans += _spans_of_adapted(outgoing, dialect, self.adapted, redactor)
        if prepared.told or prepared.injected or prepared.own or prepared.given:
            results = {result.call.id: result for result in new_results}
            spans += _spans_in_text(outgoing, prepared, results, redactor)
        if new_results and not prepared.told:
            spans += _spans_of_messages(outgoing, dialect, new_results, redactor)
        return spans

    def record_request(self, exchange: str, linked: Sequence[LinkedSpan]) -> None:
        """Record the byte ranges found in a request that is about to be sent as this exchange."""
        for item in linked:
            span = Span(exchange=exchange, side="request", layer="wire", start=item.start, end=item.end)
            self._record(item.relation, span, item.words, item.call)

    def record_answer(self, exchange: str, fold: Fold, shifts: Sequence[Shift]) -> None:
        """Link the response bytes of calls, of text left out behind a call, and of the vendor's own tools.

        Args:
            fold: The answer, up to the last byte received.
            shifts: Positions where secrets were removed from the body.
        """
        for folded in fold.calls:
            if folded.spans:
                self._record("asked", _span(exchange, folded.spans, shifts), folded.call.arguments, folded.call)
        if fold.cut_off:
            ranges = [(piece.start, piece.end) for piece in fold.cut_off]
            self._record("cut", _span(exchange, ranges, shifts), "".join(piece.text for piece in fold.cut_off))
        for run in fold.vendor_runs:
            self._record("vendor", _span(exchange, [(run.start, run.end)], shifts), run.words)

    def _record(self, relation: Relation, span: Span, words: str, call: ToolCall | None = None) -> None:
        link = Link(relation=relation, call="", span=span, words=line(words, _WORDS_CHARACTERS))
        place = self.place
        if call is not None:
            server, tool = self.table.resolve(call.name) or ("", call.name)
            link = replace(link, call=call.id, server=server, tool=tool)
            place = Place(session=place.session, turn=place.turn, step=place.step, call=call.id)
        self.recorder.append(Draft(wire="host", kind="link", place=place, data=link.to_bytes()))


def _spans_of_adapted(
    outgoing: Outgoing, dialect: Dialect, adapted: Mapping[str, AdaptedSchema], redactor: Redactor
) -> Iterator[LinkedSpan]:
    """Find the definitions of tools whose schemas were changed for the dialect."""
    outline = dialect.outline(redactor.bytes(outgoing.body)[0])
    for part in outline.walk() if outline is not None else ():
        if part.kind == "tool" and part.name in adapted:
            words = f"adapted for {dialect.name}: {'; '.join(adapted[part.name].changes)}"
            yield LinkedSpan(relation="adapted", start=part.start, end=part.end, words=words)


def _spans_of_messages(
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


def _spans_in_text(
    outgoing: Outgoing, prepared: Prepared, results: Mapping[str, ToolResult], redactor: Redactor
) -> Iterator[LinkedSpan]:
    """Find results and tool-protocol text that are part of a message's text."""
    kept, _ = redactor.bytes(outgoing.body)
    in_text = (*prepared.told, *prepared.injected, *prepared.own, *prepared.given)
    pieces = sorted(in_text, key=lambda piece: (piece.message, piece.start))
    places = [TextSpan(message=piece.message, start=piece.start, end=piece.end) for piece in pieces]
    found = text_spans(kept, prepared.messages, places, lambda data: redactor.bytes(data)[0])
    for piece, span in zip(pieces, found, strict=True):
        if span is None:
            continue
        if isinstance(piece, Injected):
            relation: Relation = "injected"
            if piece in prepared.given:
                relation = "given"
            elif piece in prepared.own:
                relation = "profile"
            yield LinkedSpan(relation=relation, start=span[0], end=span[1], words=piece.words)
        elif piece.call in results:
            result = results[piece.call]
            words = f"({piece.note}) {_words(result)}" if piece.note else _words(result)
            yield LinkedSpan(relation="told", call=result.call, start=span[0], end=span[1], words=words)


def _words(result: ToolResult) -> str:
    return next((block.text for block in result.content if isinstance(block, Text)), "")


def _span(exchange: str, ranges: Sequence[tuple[int, int]], shifts: Sequence[Shift]) -> Span:
    """Return the span of ranges in the received bytes, in the stored bytes."""
    kept = tuple((_kept_at(start, shifts), _kept_at(end, shifts)) for start, end in ranges)
    return Span(exchange=exchange, start=kept[0][0], end=kept[-1][1], ranges=kept if len(kept) > 1 else ())


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
