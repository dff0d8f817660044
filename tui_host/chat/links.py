"""Where one exchange asks for calls and tells their results, as `link` records. Source: DESIGN, Correlation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tui_host.capture.link import Link, Relation, Span, offered_link
from tui_host.capture.record import Draft, Place
from tui_host.capture.visible import line
from tui_host.llm.messages import Text, ToolCall, ToolResult

if TYPE_CHECKING:
    from tui_host.capture.recorder import Recorder
    from tui_host.llm.dialects.dialect import Dialect
    from tui_host.llm.fold import FoldedCall
    from tui_host.llm.names import NameTable

_WORDS = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Links:
    """Records the links of one exchange. Spans count in the bytes as they are kept: with a mark where a secret stood.

    Attributes:
        place: The exchange's place; a link's has the call besides.
        table: What the names that the model used stand for.
    """

    recorder: Recorder
    place: Place
    table: NameTable

    def offer(self, exchange: str, connections: Sequence[str]) -> None:
        """Link a request to the connections whose tools it is the first of the session to offer: these the session uses."""
        for connection in connections:
            self.recorder.append(
                Draft(wire="host", kind="link", place=self.place, connection=connection, data=offered_link(exchange))
            )

    def tell(self, exchange: str, body: bytes, dialect: Dialect, told: Sequence[ToolResult], *, all_told: int) -> None:
        """Link each result to the bytes of the request that tell it for the first time.

        Args:
            exchange: The request's exchange.
            body: Its body as it is sent.
            dialect: What the body is written in.
            told: The results that it tells for the first time: the last ones in it.
            all_told: How many results it tells, old ones too. A body that holds another number of them was changed
                by configured members, and a link would be a guess.
        """
        if not told:
            return
        kept, _ = self.recorder.redactor.bytes(body)
        outline = dialect.outline(kept)
        parts = [part for part in outline.walk() if part.kind == "result"] if outline is not None else []
        if len(parts) != all_told:
            return
        for result, part in zip(told, parts[-len(told) :], strict=True):
            span = Span(exchange=exchange, side="request", layer="wire", start=part.start, end=part.end)
            words = next((block.text for block in result.content if isinstance(block, Text)), "")
            self._record("told", result.call, span, words)

    def ask(self, exchange: str, calls: Sequence[FoldedCall], plain: bytes) -> None:
        """Link the bytes of the response in which each call was asked for, so far as it came.

        Args:
            exchange: The response's exchange.
            calls: What was read out of it.
            plain: Its body, if it came without a content coding: then secrets were taken out of it.
        """
        shifts = [(hit.start, hit.end, len(hit.needle.mark)) for hit in self.recorder.redactor.hits(plain)]
        for folded in calls:
            ranges = [(_kept_at(start, shifts), _kept_at(end, shifts)) for start, end in folded.spans]
            if ranges:
                more = tuple(ranges) if len(ranges) > 1 else ()
                span = Span(exchange=exchange, start=ranges[0][0], end=ranges[-1][1], ranges=more)
                self._record("asked", folded.call, span, folded.call.arguments)

    def _record(self, relation: Relation, call: ToolCall, span: Span, words: str) -> None:
        server, tool = self.table.find(call.name) or ("", call.name)
        link = Link(relation=relation, call=call.id, span=span, server=server, tool=tool, words=line(words, _WORDS))
        place = Place(session=self.place.session, turn=self.place.turn, step=self.place.step, call=call.id)
        self.recorder.append(Draft(wire="host", kind="link", place=place, data=link.to_bytes()))


def _kept_at(offset: int, shifts: Sequence[tuple[int, int, int]]) -> int:
    """Where a byte of what came stands in what is kept, in which marks stand for secrets of another length."""
    moved = 0
    for start, end, size in shifts:
        if offset <= start:
            break
        if offset < end:
            return start + moved
        moved += size - (end - start)
    return offset + moved
