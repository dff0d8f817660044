"""Fold the life of one tool call, across both wires, out of links and records."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from tui_host.capture.frames.frame_heads import FrameHead, frame_head
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
_RELATIONS: dict[str, Relation] = {**_OF_CALLS, "injected": "injected", "profile": "profile", "cut": "cut"}
_LAYERS: dict[str, Layer] = {"wire": "wire", "decoded": "decoded", "folded": "folded"}
_KNOWN: dict[str, Known] = {"id": "id", "value": "value", "time": "time"}


@dataclass(frozen=True, slots=True, kw_only=True)
class ChainStep:
    """One event in the life of a call.

    Attributes:
        happened: What it was; `during` is a frame between the call and its answer that is neither, `said` the response to a
            request that told the call's result.
        mono_ns: When, on the capture's monotonic clock; None where that is not known.
        span: The bytes it is about: of an exchange's body, or of the record itself.
        known: How it is known to belong to the call.
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
    """The steps of a call in the order of their time.

    Attributes:
        steps: What happened; a result that a provider refused to hear is told again.
    """

    call: str
    server: str = ""
    tool: str = ""
    steps: tuple[ChainStep, ...] = ()

    def of(self, happened: Happened) -> tuple[ChainStep, ...]:
        """Return the steps of one kind."""
        return tuple(step for step in self.steps if step.happened == happened)


def fold_chain(call: str, records: Iterable[Record]) -> Chain:
    """Fold the chain of one call out of the records of a session, in order."""
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
        elif draft.place.call == call and draft.kind == "decision":
            decided = read_object(draft.data)
            words = decided.get("words", decided.get("decision"))
            server = server or _text(decided.get("server"))
            tool = tool or _text(decided.get("tool"))
            steps.append(_step(record, "decided", Span(seq=record.seq), words=_text(words)))
        elif draft.place.call == call and draft.kind == "frame":
            head = frame_head(draft.data)
            happened = _happened(head, draft.direction == "out", sent)
            if happened == "sent":
                server, tool, sent = server or draft.peer, tool or head.name, head.id
            steps.append(_step(record, happened, Span(seq=record.seq), words=head.words))
    return Chain(call=call, server=server, tool=tool, steps=tuple(steps))


def read_link(data: bytes) -> Link | None:
    """Parse the data of a `link` record; None if the data is no link."""
    value = read_object(data)
    relation = _RELATIONS.get(_text(value.get("relation")))
    span = value.get("span")
    if relation is None or not isinstance(span, Mapping):
        return None
    end = span.get("end")
    return Link(
        relation=relation,
        call=_text(value.get("call")),
        span=Span(
            exchange=_text(span.get("exchange")) or None,
            seq=_number(span.get("seq")) or None,
            side="request" if span.get("side") == "request" else "response",
            layer=_LAYERS.get(_text(span.get("layer")), "decoded"),
            start=_number(span.get("start")),
            end=_number(end) if end is not None else None,
            ranges=_ranges(span.get("ranges")),
        ),
        known=_KNOWN.get(_text(value.get("known")), "time"),
        server=_text(value.get("server")),
        tool=_text(value.get("tool")),
        words=_text(value.get("words")),
    )


def read_object(data: bytes) -> Mapping[str, JSON]:
    """Parse the data of a record made by the host as a JSON object; an empty object if the data is none."""
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
    """Return whether a frame in the chain by place is linked as well."""
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
    return tuple((_number(pair[0]), _number(pair[1])) for pair in pairs if isinstance(pair, list) and len(pair) == 2)


def _text(value: JSON) -> str:
    return value if isinstance(value, str) else ""


def _number(value: JSON) -> int:
    return value if isinstance(value, int) else 0
