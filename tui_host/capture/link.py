"""Links between the two wires in the life of a tool call, and their JSON form."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Literal, TypeAlias, get_args

from tui_host.capture.json.narrowing import items, mapping, number_or_zero, text_or_empty
from tui_host.capture.json.reading import read_object

Relation: TypeAlias = Literal[
    "asked", "sent", "answered", "told", "injected", "profile", "given", "cut", "adapted", "vendor"
]
# As transferred, after content decoding, or in the joined text of events.
Layer: TypeAlias = Literal["wire", "decoded", "folded"]
# By an id on both sides, by value for certain, by time, in the likeliest place, or by a person's hand.
Known: TypeAlias = Literal["id", "value", "time", "maybe", "hand"]

_RELATIONS: dict[str, Relation] = {relation: relation for relation in get_args(Relation)}
_LAYERS: dict[str, Layer] = {layer: layer for layer in get_args(Layer)}
_KNOWN: dict[str, Known] = {certainty: certainty for certainty in get_args(Known)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """A range of bytes in the body of an exchange, or in one record."""

    exchange: str | None = None
    seq: int | None = None  # the record's number in the capture; None for a body
    side: Literal["request", "response"] = "response"
    layer: Layer = "decoded"
    start: int = 0
    end: int | None = None  # one past the last byte; None for everything up to the end
    ranges: tuple[tuple[int, int], ...] = ()  # the pieces that are meant, where other things stand between them

    @property
    def size(self) -> int:
        """Number of bytes; 0 for everything up to an unknown end."""
        return sum(end - start for start, end in self.ranges or ((self.start, self.end or self.start),))

    def pieces(self, data: bytes) -> tuple[bytes, ...]:
        """Return the bytes of the span, taken from the whole data."""
        return tuple(data[start:end] for start, end in self.ranges or ((self.start, self.end),))


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """A link from one step of a call's chain to the next.

    Of a call are `asked` (span of a response -> call), `sent` (call -> frame), `answered` (frame -> call) and `told` (call ->
    span of a request that tells its result to the model for the first time). Of none are, in a request, `injected` (put in by
    the tool protocol), `profile` (by a profile), `given` (by a server's prompt or resource) and `adapted` (a tool's definition
    changed for the dialect); in a response, `cut` (left out) and `vendor` (where the vendor ran a tool of its own).
    """

    relation: Relation
    call: str
    span: Span
    known: Known = "id"
    server: str = ""
    tool: str = ""
    words: str = ""  # a summary of the arguments for a row, or the words of a vendor's row; at most 200 characters

    def to_bytes(self) -> bytes:
        """Return the link as the data of a `link` record."""
        span = {name: value for name, value in asdict(self.span).items() if value not in (None, ())}
        # Half a character, which a model may write in a name, becomes the escape that JSON has for it.
        text = json.dumps({**asdict(self), "span": span}, ensure_ascii=False, separators=(",", ":"))
        return text.encode("utf-8", "backslashreplace")


def offered_link(exchange: str) -> bytes:
    """Return the data of a `link` without a call, for the first request of a session that offers the connection's tools."""
    span = {"exchange": exchange, "side": "request", "layer": "wire"}
    return json.dumps({"relation": "offered", "span": span, "known": "id"}, separators=(",", ":")).encode()


def read_link(data: bytes) -> Link | None:
    """Parse the data of a `link` record, perhaps from a file; None if it is not a link."""
    value = read_object(data)
    span = mapping(value.get("span"))
    texts = {name: text_or_empty(value.get(name)) for name in ("call", "server", "tool", "words")}
    relation = _RELATIONS.get(text_or_empty(value.get("relation")))
    if relation is None or not span:
        return None
    pairs = [tuple(map(number_or_zero, items(pair))) for pair in items(span.get("ranges"))]
    where = Span(
        exchange=text_or_empty(span.get("exchange")) or None,
        seq=number_or_zero(span.get("seq")) or None,
        side="request" if span.get("side") == "request" else "response",
        layer=_LAYERS.get(text_or_empty(span.get("layer")), "decoded"),
        start=number_or_zero(span.get("start")),
        end=None if span.get("end") is None else number_or_zero(span.get("end")),
        ranges=tuple(pair for pair in pairs if len(pair) == 2),
    )
    known = _KNOWN.get(text_or_empty(value.get("known")), "time")
    return Link(relation=relation, span=where, known=known, **texts)
