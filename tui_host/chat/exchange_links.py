"""Makes the `link` records of an exchange: which bytes ask for calls or report results.

Positions count bytes of the stored body, in which a mark replaces each secret.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tui_host.capture.link import Link, Relation, Span
from tui_host.capture.record import Place, Record
from tui_host.capture.visible import line
from tui_host.chat.result_words import text_of
from tui_host.llm.layout import outline_of
from tui_host.llm.messages import ToolCall, ToolResult
from tui_host.llm.request_writing import text_spans

if TYPE_CHECKING:
    from tui_host.capture.record import Shift
    from tui_host.capture.redact.redaction import Redactor
    from tui_host.chat.next_request import NextRequest
    from tui_host.llm.dialects.dialect import Dialect
    from tui_host.llm.fold import Fold
    from tui_host.llm.outgoing import Outgoing

_WORDS_CHARACTERS = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Links:
    """The links of an exchange, as records at its place; those of a call name the call too."""

    place: Place
    request: NextRequest
    redactor: Redactor

    def find_spans(self, outgoing: Outgoing, dialect: Dialect, new_results: Sequence[ToolResult]) -> Sequence[Link]:
        """Find the bytes of a request to link: results reported for the first time (its last), and what was put in. Slow if large."""
        prepared, adapted = self.request.prepared, self.request.adapted
        spans: list[Link] = []
        if adapted:
            outline = outline_of(self.redactor.bytes(outgoing.body)[0])
            for part in outline.walk() if outline is not None else ():
                if part.kind == "tool" and part.name in adapted:
                    words = f"adapted for {dialect.name}: {'; '.join(adapted[part.name].changes)}"
                    spans.append(self._link("adapted", _in_request(part.start, part.end), words))
        if prepared.places:  # results and tool-protocol text that are part of a message's text
            results = {result.call.id: result for result in new_results}
            kept, _ = self.redactor.bytes(outgoing.body)
            pieces = sorted(prepared.places, key=lambda piece: (piece.message, piece.start))
            places = [(piece.message, piece.start, piece.end) for piece in pieces]
            found = text_spans(kept, prepared.messages, places, lambda data: self.redactor.bytes(data)[0])
            for piece, span in zip(pieces, found, strict=True):
                if span is not None and piece.source != "told":
                    spans.append(self._link(piece.source, _in_request(*span), piece.words))
                elif span is not None and piece.call in results:
                    result = results[piece.call]
                    words = f"({piece.words}) {text_of(result)}" if piece.words else text_of(result)
                    spans.append(self._link("told", _in_request(*span), words, result.call))
        if not new_results or self.request.protocol.name != "native":
            return spans
        # Results that are separate messages; none if the user's own options replace the conversation. From the end: in a
        # long conversation, reading all earlier results again would hold up each request.
        stream = self.redactor.body()
        kept = stream.feed(outgoing.body)[0] + stream.flush()[0]
        begin = b'{"%s":[' % outgoing.growing.encode()
        reported: list[tuple[int, int]] = []
        for span in reversed(outgoing.spans):
            start, end = (_kept_at(offset, stream.shifts) for offset in span)
            outline = outline_of(begin + kept[start:end] + b"]}")
            parts = [part for part in outline.walk() if part.kind == "result"] if outline is not None else []
            reported[:0] = [(start - len(begin) + part.start, start - len(begin) + part.end) for part in parts]
            if len(reported) >= len(new_results):
                for result, place in zip(new_results, reported[-len(new_results) :], strict=True):
                    spans.append(self._link("told", _in_request(*place), text_of(result), result.call))
                break
        return spans

    def of_request(self, exchange: str, links: Sequence[Link]) -> Iterator[Record]:
        for link in links:
            yield self._draft(replace(link, span=replace(link.span, exchange=exchange)))

    def of_answer(self, exchange: str, fold: Fold, shifts: Sequence[Shift]) -> Iterator[Record]:
        """Link the response bytes of calls, of text left out behind a call, and of the vendor's own tools, up to the last received."""
        for folded in fold.calls:
            if folded.spans:
                yield self._draft(
                    self._link("asked", _span(exchange, folded.spans, shifts), folded.call.arguments, folded.call)
                )
        if fold.cut_off:
            ranges = [(piece.start, piece.end) for piece in fold.cut_off]
            words = "".join(piece.text for piece in fold.cut_off)
            yield self._draft(self._link("cut", _span(exchange, ranges, shifts), words))
        for run in fold.vendor_runs:
            yield self._draft(self._link("vendor", _span(exchange, [(run.start, run.end)], shifts), run.words))

    def _link(self, relation: Relation, span: Span, words: str, call: ToolCall | None = None) -> Link:
        link = Link(relation=relation, call="", span=span, words=line(words, _WORDS_CHARACTERS))
        if call is None:
            return link
        server, tool = self.request.offer.table.resolve(call.name) or ("", call.name)
        return replace(link, call=call.id, server=server, tool=tool)

    def _draft(self, link: Link) -> Record:
        place = replace(self.place, call=link.call) if link.call else self.place
        return Record(wire="host", kind="link", place=place, data=link.to_bytes())


def _in_request(start: int, end: int) -> Span:
    return Span(side="request", layer="wire", start=start, end=end)


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
