"""Where one exchange asks for calls and tells their results, as `link` records. Source: DESIGN, Correlation."""

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
    """Keeps records, without the secrets in them: the recorder, or what only collects them."""

    @property
    def redactor(self) -> Redactor:
        """What every record passes first."""
        ...

    def append(self, draft: Draft) -> int:
        """Keep one; returns its number."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """Bytes of a request that are linked to a call, or to what put them in.

    Attributes:
        call: None where they belong to no call.
        start: The first of them, as they are kept.
        end: One past the last.
    """

    relation: Relation
    call: ToolCall | None = None
    start: int
    end: int
    words: str


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

    def found(
        self, outgoing: Outgoing, dialect: Dialect, prepared: Prepared, told: Sequence[ToolResult]
    ) -> Sequence[Found]:
        """What of a request is to be linked: each result's bytes where it is told for the first time, and what a tool protocol put in.

        Nothing is recorded. Callable from any thread; a large request takes its time.

        Args:
            outgoing: The request as it is sent.
            dialect: What its body is written in.
            prepared: What it was written from.
            told: The results that it tells for the first time: the last ones in it.
        """
        redactor = self.recorder.redactor
        if prepared.told or prepared.injected or prepared.own is not None:
            kept, _ = redactor.bytes(outgoing.body)
            in_words = _in_words(kept, prepared, {result.call.id: result for result in told}, redactor)
        else:
            in_words = []
        return [*in_words, *(_of_their_own(outgoing, dialect, told, redactor) if told and not prepared.told else ())]

    def prepared(self, exchange: str, found: Sequence[Found]) -> None:
        """Link what was found in a request that is about to be sent as this exchange."""
        for each in found:
            span = Span(exchange=exchange, side="request", layer="wire", start=each.start, end=each.end)
            if each.call is None:
                self._record_bare(each.relation, span, each.words)
            else:
                self._record(each.relation, each.call, span, each.words)

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


def _of_their_own(
    outgoing: Outgoing, dialect: Dialect, told: Sequence[ToolResult], redactor: Redactor
) -> Iterator[Found]:
    """Results that are messages of their own, looked for from the conversation's end: what was told before is not read again.

    Where a person's own options say what the conversation is, there is no guess.
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
                yield Found(relation="told", call=result.call, start=first, end=last, words=_words(result))
            return


def _in_words(kept: bytes, prepared: Prepared, told: Mapping[str, ToolResult], redactor: Redactor) -> list[Found]:
    """Results, and what else a tool protocol put in, that stand in the text of messages."""
    own = () if prepared.own is None else (prepared.own,)
    pieces = sorted((*prepared.told, *prepared.injected, *own), key=lambda piece: (piece.message, piece.start))
    spans = [TextSpan(message=piece.message, start=piece.start, end=piece.end) for piece in pieces]
    found: list[Found] = []
    for piece, place in zip(
        pieces, text_spans(kept, prepared.messages, spans, lambda data: redactor.bytes(data)[0]), strict=True
    ):
        if place is None:
            continue
        start, end = place
        if isinstance(piece, Injected):
            relation: Relation = "profile" if piece is prepared.own else "injected"
            found.append(Found(relation=relation, start=start, end=end, words=piece.words))
        elif piece.call in told:
            words = _words(told[piece.call])
            words = f"({piece.note}) {words}" if piece.note else words
            found.append(Found(relation="told", call=told[piece.call].call, start=start, end=end, words=words))
    return found


def _words(result: ToolResult) -> str:
    return next((block.text for block in result.content if isinstance(block, Text)), "")


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
