"""Follows one tool call through the records of model and server, by links."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

from tui_host.capture.frames.frame_heads import FrameHead, frame_head
from tui_host.capture.json.narrowing import number_or_zero, text_or_empty
from tui_host.capture.link import Known, Layer, Link, Relation, Span
from tui_host.capture.record import Record
from tui_host.errors import JSON

Happened: TypeAlias = Literal["asked", "decided", "sent", "progress", "during", "answered", "told", "said"]

_OF_CALLS: dict[str, Literal["asked", "sent", "answered", "told"]] = {
    "asked": "asked",
    "sent": "sent",
    "answered": "answered",
    "told": "told",
}
_RELATIONS: dict[str, Relation] = {relation: relation for relation in get_args(Relation)}
_LAYERS: dict[str, Layer] = {layer: layer for layer in get_args(Layer)}
_KNOWN: dict[str, Known] = {known: known for known in get_args(Known)}


@dataclass(frozen=True, slots=True, kw_only=True)
class ChainStep:
    """One event in the life of a tool call.

    Attributes:
        happened: The kind of event. `during` is a frame between the call and its answer that is neither; `said` is the
            response to a request that reported the result.
        mono_ns: The time, on the capture's monotonic clock; None if unknown.
        span: The bytes of the event, in an exchange's body or in the record itself.
        known: How the event is known to belong to the call.
    """

    happened: Happened
    capture: str
    seq: int
    mono_ns: int | None
    span: Span
    known: Known = "id"
    words: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Chain:
    """The events of a call in order of time.

    Attributes:
        steps: The events. A result is reported again if a provider refused the request that reported it.
    """

    call: str
    server: str = ""
    tool: str = ""
    steps: tuple[ChainStep, ...] = ()

    def of(self, happened: Happened) -> tuple[ChainStep, ...]:
        """Return the events of one kind."""
        return tuple(step for step in self.steps if step.happened == happened)


def fold_chain(call: str, records: Iterable[Record]) -> Chain:
    """Make the chain of a call from the records of a session, which come in order."""
    server = tool = sent = ""
    steps: list[ChainStep] = []
    linked: set[tuple[str, str | None]] = set()
    for record in records:
        draft = record.draft
        if draft.kind == "link":
            link = read_link(draft.data)
            relation = _OF_CALLS.get(link.relation) if link is not None and link.call == call else None
            if link is None or relation is None:
                continue
            server, tool = link.server or server, link.tool or tool
            if link.relation == "told":
                linked.add((record.capture, link.span.exchange))
            if not _is_repeated(link, steps):
                steps.append(_step(record, relation, link.span, known=link.known, words=link.words))
        elif draft.kind == "response" and draft.wire == "llm" and (record.capture, draft.exchange) in linked:
            steps.append(_step(record, "said", Span(exchange=draft.exchange)))
        elif draft.place.call == call and draft.wire == "llm" and draft.kind in {"request", "response"}:
            words = "the server asks the model" if draft.kind == "request" else "the model's answer for the server"
            steps.append(_step(record, "during", Span(exchange=draft.exchange), words=words))
        elif draft.place.call == call and draft.kind == "decision":
            decided = read_object(draft.data)
            words = decided.get("words", decided.get("decision"))
            server = server or text_or_empty(decided.get("server"))
            tool = tool or text_or_empty(decided.get("tool"))
            steps.append(_step(record, "decided", Span(seq=record.seq), words=text_or_empty(words)))
        elif draft.place.call == call and draft.kind == "frame":
            head = frame_head(draft.data)
            happened = _happened(head, draft.direction == "out", sent)
            if happened == "sent":
                server, tool, sent = server or draft.peer, tool or head.name, head.id
            steps.append(_step(record, happened, Span(seq=record.seq), words=head.words))
    return Chain(call=call, server=server, tool=tool, steps=tuple(steps))


def read_link(data: bytes) -> Link | None:
    """Parse the data of a `link` record; None if it is not a link."""
    value = read_object(data)
    relation = _RELATIONS.get(text_or_empty(value.get("relation")))
    span = value.get("span")
    if relation is None or not isinstance(span, Mapping):
        return None
    end = span.get("end")
    return Link(
        relation=relation,
        call=text_or_empty(value.get("call")),
        span=Span(
            exchange=text_or_empty(span.get("exchange")) or None,
            seq=number_or_zero(span.get("seq")) or None,
            side="request" if span.get("side") == "request" else "response",
            layer=_LAYERS.get(text_or_empty(span.get("layer")), "decoded"),
            start=number_or_zero(span.get("start")),
            end=number_or_zero(end) if end is not None else None,
            ranges=_ranges(span.get("ranges")),
        ),
        known=_KNOWN.get(text_or_empty(value.get("known")), "time"),
        server=text_or_empty(value.get("server")),
        tool=text_or_empty(value.get("tool")),
        words=text_or_empty(value.get("words")),
    )


def read_object(data: bytes) -> Mapping[str, JSON]:
    """Parse the data of a record made by the host as a JSON object; returns an empty object for anything else."""
    try:
        value: JSON = json.loads(data)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, Mapping) else {}


def _happened(head: FrameHead, outward: bool, sent: str) -> Happened:  # noqa: FBT001 - one function calls it
    if outward and head.method in {"tools/call", "resources/read"}:
        return "sent"
    if head.method == "notifications/progress":
        return "progress"
    return "answered" if head.answers and not outward and head.id == sent else "during"


def _is_repeated(link: Link, steps: Iterable[ChainStep]) -> bool:
    """Return whether a frame that the chain has by its place is also linked."""
    return link.span.seq is not None and any(step.span.seq == link.span.seq for step in steps)


def _step(record: Record, happened: Happened, span: Span, *, known: Known = "id", words: str = "") -> ChainStep:
    return ChainStep(
        happened=happened,
        capture=record.capture,
        seq=record.seq,
        mono_ns=record.mono_ns,
        span=span,
        known=known,
        words=words,
    )


def _ranges(value: JSON) -> tuple[tuple[int, int], ...]:
    pairs = value if isinstance(value, list) else []
    return tuple(
        (number_or_zero(pair[0]), number_or_zero(pair[1]))
        for pair in pairs
        if isinstance(pair, list) and len(pair) == 2
    )
