"""The chain of a call: what was asked, decided, sent, answered, told and said, with the bytes of each step."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from tui_host.answers.asked_again import later_attempts
from tui_host.answers.asked_pieces import Characters, asked_pieces, call_of, text_pieces
from tui_host.answers.bodies import Body, first_data, reading
from tui_host.answers.chain_steps import CallChain, CallStep, Happened, StepPiece, why_missing, with_missing
from tui_host.answers.chain_values import (
    MOST_BYTES,
    Content,
    changes,
    contents_of,
    kinds_of,
    member_range,
    names_of,
    not_told,
    parsed,
    told_in_part,
    typed_in,
    words_in,
)
from tui_host.answers.masks import masked
from tui_host.answers.outlines import fold_of, marks_of
from tui_host.answers.value_repeats import Repeats
from tui_host.capture.json.narrowing import items, mapping, short, text_or_empty
from tui_host.capture.json.reading import read_object
from tui_host.capture.visible import decode

if TYPE_CHECKING:
    from tui_host.answers.steps import Steps
    from tui_host.answers.wires import Wires
    from tui_host.capture.ladder.row import Row
    from tui_host.capture.link import Link
    from tui_host.errors import JSON
    from tui_host.llm.events import ModelEvent
    from tui_host.llm.outline import Outline

_CALLS = frozenset(("tools/call", "resources/read"))
_BY_ORDER = "maybe: by order · "
_SHOWN = 64 << 10
"""Bytes of a piece that are shown."""
_DURING = 2000
"""Rows between a call and its answer that are looked at."""
_MOST_DURING = 200
_TURN = 5000
"""Rows above a call among which its turn began."""


@dataclass(slots=True)
class _CallFacts:
    """What the steps so far told about the call."""

    server: str = ""
    tool: str = ""
    written: str = ""  # the arguments as the model wrote them
    asked: JSON = None
    decided: JSON = None
    verdict: str = ""
    sent: Row | None = None
    result: Sequence[Content] = ()
    has_result: bool = False
    has_failed: bool = False
    is_large: bool = False
    logs: int = 0
    asked_ns: int | None = None
    waited: float = 0.0
    refused: int = 0  # the status with which a request that told the result was refused
    typed: str = ""  # what the person wrote
    steps: list[CallStep] = field(default_factory=list[CallStep])


def chain_of(wires: Wires, call: str) -> Steps[CallChain | None]:
    """Compute the chain of a call; None if no row belongs to the call."""
    numbers = wires.ladder.rows_of_call(call)
    yield "looked up"
    return (yield from _Chain(wires, call).made(numbers)) if numbers else None


class _Chain:
    def __init__(self, wires: Wires, call: str) -> None:
        self._wires = wires
        self._call = call
        self._names = wires.ladder.numbers
        self._facts = _CallFacts()
        self._start: int | None = None

    def made(self, numbers: Sequence[int]) -> Steps[CallChain]:
        rows = [self._wires.ladder.rows[number] for number in numbers]
        self._start = self._began(rows[0])
        self._read_decision(rows)
        for row in self._with_during(rows):
            yield from self._add(row)
            yield f"{len(self._facts.steps)} steps"
        facts = self._facts
        times = [step.milliseconds for step in facts.steps if step.milliseconds is not None]
        why = why_missing(rows, facts.sent, facts.verdict)
        steps = tuple(with_missing(facts.steps, why))
        steps = yield from Repeats(self._wires, self._names, rows).marked(steps, facts.result, facts.asked, facts.typed)
        sent, tool = facts.sent, f"{facts.server}.{facts.tool}"
        again = later_attempts(
            self._wires, rows, tool, facts.asked, has_failed=facts.has_failed or not facts.has_result
        )
        return CallChain(
            call=self._call,
            server=facts.server,
            tool=facts.tool,
            row="" if sent is None else self._names.name(sent),
            connection=0 if sent is None else self._names.connection(sent),
            milliseconds=max(times) - min(times) if times else 0.0,
            waited=facts.waited,
            steps=(*steps, *(replace(self._step(row, "again"), value=self._wires.hide(words)) for row, words in again)),
        )

    def _began(self, first: Row) -> int | None:
        began, ladder = first.mono_ns, self._wires.ladder
        for number in range(first.number - 1, max(-1, first.number - _TURN), -1):
            row = ladder.rows[number]
            if row.turn not in {0, first.turn}:
                break
            if row.turn == first.turn and row.clock == first.clock and row.mono_ns is not None:
                began = row.mono_ns
        return began

    def _read_decision(self, rows: Iterable[Row]) -> None:
        facts = self._facts
        for row in rows:
            if row.kind == "decision":
                value = read_object(first_data(self._wires, row))
                facts.asked, facts.verdict = value.get("asked"), text_or_empty(value.get("decision"))
                facts.server, facts.tool = text_or_empty(value.get("server")), text_or_empty(value.get("tool"))
                facts.decided = value.get("sent")

    def _with_during(self, rows: Sequence[Row]) -> Iterator[Row]:
        """Yield the call's rows, and the server's own messages between the call and its answer."""
        frames = [row for row in rows if row.kind == "frame"]
        between: dict[int, Row] = {}
        if frames:
            first, last = frames[0], frames[-1]
            for number in range(first.number + 1, min(last.number, first.number + _DURING)):
                row = self._wires.ladder.rows[number]
                is_own = (row.capture, row.connection) == (first.capture, first.connection)
                if is_own and not row.calls and row.kind in {"frame", "line"} and len(between) < _MOST_DURING:
                    between[number] = row
        yield from (row for _, row in sorted({**between, **{row.number: row for row in rows}}.items()))

    def _add(self, row: Row) -> Steps[None]:
        match row.kind:
            case "response":
                yield from self._asked(row)
            case "decision":
                self._decided(row)
            case "request":
                yield from self._told(row)
            case "frame" if row.method in _CALLS and not row.answer and row.outward:
                self._sent(row)
            case "frame" if row.answer and self._is_answer(row):
                self._answered(row)
            case "frame" | "line" | "fault":
                self._during(row)
            case _:
                pass

    def _is_answer(self, row: Row) -> bool:
        sent = self._facts.sent
        return sent is not None and not row.outward and row.rpc_id == sent.rpc_id

    def _step(self, row: Row, happened: Happened, *, time_ns: int | None = None) -> CallStep:
        now = row.mono_ns if time_ns is None else time_ns
        return CallStep(
            happened=happened,
            milliseconds=None if now is None or self._start is None else (now - self._start) / 1e6,
            row="host" if row.kind == "decision" else self._names.name(row),
            target=(row.capture, row.seq),
        )

    def _pieces(
        self, data: bytes, ranges: Iterable[tuple[int, int]], body: Body | None = None
    ) -> tuple[StepPiece, ...]:
        return tuple(
            StepPiece(start=start, end=end, text=self._text(data[start:end], body))
            for start, end in ranges
            if start < end
        )

    def _text(self, data: bytes, body: Body | None) -> str:
        text = masked(decode(data[:_SHOWN]), () if body is None else body.redacted)
        more = len(data) - _SHOWN
        return self._wires.hide(text) + (f"\n… {more:,} more bytes" if more > 0 else "")

    def _links(self, row: Row, relation: str) -> list[Link]:
        return [link for link in marks_of(self._wires, row) if link.call == self._call and link.relation == relation]

    def _asked(self, row: Row) -> Steps[None]:
        links = self._links(row, "asked")
        if not links:
            if self._facts.sent is not None:  # an answer of the model for the server
                self._facts.steps.append(replace(self._step(row, "during"), value=row.words or "the model's answer"))
            return
        facts, link = self._facts, links[0]
        facts.server, facts.tool = facts.server or link.server, facts.tool or link.tool
        body = yield from reading(self._wires, row)
        ranges = list(dict.fromkeys(one for other in links for one in _ranges(other, body.data)))
        dialect = self._wires.dialect(row)
        read: list[Characters] = []
        cut: list[Characters] = []
        left_out = 0
        if dialect is not None:
            events: list[ModelEvent] = []
            fold = yield from fold_of(self._wires, row, body, dialect, events)
            number, facts.written = call_of(fold, events, link)
            read = asked_pieces(body.data, ranges, events, number)
            for mark in marks_of(self._wires, row):
                if mark.relation == "cut":
                    cut += text_pieces("cut", body.data, _ranges(mark, body.data), events)
                    behind = "".join(piece.text for piece in cut)
                    left_out = len(
                        behind[max(0, behind.find(mark.words[:12])) :].strip()
                    )  # the call may end in an event
        if facts.asked is None and facts.written:
            facts.asked = parsed(facts.written)
        facts.asked_ns = row.end_mono_ns
        words = facts.written or link.words
        facts.steps.append(
            replace(
                self._step(row, "asked", time_ns=row.end_mono_ns),
                place=_events(body.data, ranges, sum(len(piece.text) for piece in read)),
                value=self._wires.hide(masked(words[:400], body.redacted)),
                state=_asked_state(link.known, left_out),
                pieces=tuple(
                    replace(piece, part=each.part)
                    for each in (*read, *cut)
                    for piece in self._pieces(body.data, [(each.start, each.end)], body)
                )
                or self._pieces(body.data, ranges, body),
            )
        )

    def _decided(self, row: Row) -> None:
        facts = self._facts
        data = first_data(self._wires, row)
        if facts.asked_ns is not None and row.mono_ns is not None:
            facts.waited = (row.mono_ns - facts.asked_ns) / 1e6
        edited = "" if facts.decided is None else changes(facts.asked, facts.decided)
        state = "" if facts.decided is None else "as asked"
        if edited:
            state = f"edited {edited}"
        numbers = items(read_object(data).get("changed_numbers"))
        written = [(mapping(one).get("written"), mapping(one).get("sent")) for one in numbers]
        state += "".join(f" · the number {before} becomes {after}" for before, after in written)
        step = replace(self._step(row, "decided"), value=row.words, state=self._wires.hide(state))
        if read_object(data).get("by") == "person":
            step = replace(step, row=self._wires.user.lower())
        facts.steps.append(replace(step, pieces=self._pieces(data, [(0, len(data))])))

    def _sent(self, row: Row) -> None:
        facts = self._facts
        facts.server, facts.tool = facts.server or row.peer, facts.tool or row.tool
        again = f"{_BY_ORDER * row.maybe}{'again, ' if facts.sent is not None else ''}"
        facts.sent = row
        data = first_data(self._wires, row)
        span = member_range(data, "params", "uri" if row.method == "resources/read" else "arguments")
        arguments = b"" if span is None else data[slice(*span)]
        facts.steps.append(
            replace(
                self._step(row, "sent"),
                value=again + self._wires.hide(decode(arguments[:400])),
                state="" if span is None else _sent_state(facts, arguments, is_read=row.method == "resources/read"),
                pieces=self._pieces(data, [span or (0, len(data))]),
            )
        )
        facts.asked = parsed(arguments) if facts.asked is None else facts.asked

    def _answered(self, row: Row) -> None:
        facts = self._facts
        data = first_data(self._wires, row)
        name = "error" if member_range(data, "error") is not None else "result"
        span = member_range(data, name)
        result = parsed(data[slice(*span)]) if span is not None else None
        facts.result, facts.has_result, facts.has_failed = contents_of(result), True, row.error
        took = self._took(row)
        words = short(result, 200) if name == "error" else kinds_of(facts.result) or short(result, 200)
        if len(data) > MOST_BYTES:
            words = f"{len(data):,} bytes, too large to take apart here"
            facts.is_large = True
        flag = "error: " if name == "error" else ""
        if mapping(result).get("isError") is True:
            flag = "isError: "
        facts.steps.append(
            replace(
                self._step(row, "answered"),
                value=self._wires.hide(flag + words),
                state=took,
                pieces=self._pieces(data, [span or (0, len(data))]),
            )
        )

    def _took(self, row: Row) -> str:
        sent = self._facts.sent
        if sent is None or sent.mono_ns is None or row.mono_ns is None:
            return ""
        return f"after {(row.mono_ns - sent.mono_ns) / 1e9:.2f} s"

    def _during(self, row: Row) -> None:
        facts, data = self._facts, first_data(self._wires, row)
        if row.method == "notifications/message":
            facts.logs += 1
        what = "stderr" if row.kind == "line" else row.method.removeprefix("notifications/") or row.kind
        what = "log" if row.method == "notifications/message" else what
        if row.answer:
            what = f"answer to {what}"
        words = f"{what}: {row.words}" if row.words else what
        if row.events > 1:
            words += f" ({row.events:,} times)"
        step = replace(self._step(row, "during"), value=self._wires.hide(words))
        facts.steps.append(replace(step, pieces=self._pieces(data, [(0, len(data))])))

    def _told(self, row: Row) -> Steps[None]:
        links, facts = self._links(row, "told"), self._facts
        if not links:
            if facts.sent is not None:
                facts.steps.append(replace(self._step(row, "during"), value="the server asks the model"))
            return
        body = yield from reading(self._wires, row)
        ranges = list(dict.fromkeys(one for link in links for one in _ranges(link, body.data)))
        outline = yield from self._outline(row, body)
        words = words_in(body.data[start:end] for start, end in ranges)
        facts.typed = facts.typed or typed_in(outline, marks_of(self._wires, row))
        again = f"again, the request before was refused ({facts.refused}) · " if facts.refused else ""
        facts.steps.append(
            replace(
                self._step(row, "told"),
                place=_message_at(outline, ranges[0][0]) if ranges else "",
                value=self._wires.hide(masked(links[0].words, body.redacted)),
                state=_BY_ORDER * (links[0].known == "maybe") + again + _told_state(facts, words, body.data),
                pieces=self._pieces(body.data, ranges, body),
            )
        )
        partner = self._wires.ladder.partner(row.number)
        if partner is not None:
            yield from self._said(self._wires.ladder.rows[partner])

    def _outline(self, row: Row, body: Body) -> Steps[Outline | None]:
        dialect = self._wires.dialect(row)
        if dialect is None or len(body.data) > MOST_BYTES:
            return None
        yield "taking the request apart"
        return dialect.outline(body.data, self._wires.names(row))

    def _said(self, row: Row) -> Steps[None]:
        facts = self._facts
        facts.refused = row.status if row.status >= 400 else 0
        words, pieces = row.words, ()
        dialect = self._wires.dialect(row)
        if facts.refused:
            words = f"refused: {row.status} {row.words}"
        elif dialect is not None:
            body = yield from reading(self._wires, row)
            fold = yield from fold_of(self._wires, row, body, dialect)
            asks = ", ".join(f"{call.call.name} {call.call.arguments[:80]}" for call in fold.calls)
            words = " · ".join(filter(None, (fold.text[:400], row.words or (asks and f"asks {asks}"))))
            pieces = self._pieces(body.data, [(0, len(body.data))], body)
        elif row.state == "open":
            words = "answers"
        facts.steps.append(replace(self._step(row, "said"), value=self._wires.hide(words), pieces=pieces))


def _ranges(link: Link, data: bytes) -> Sequence[tuple[int, int]]:
    span = link.span
    return span.ranges or ((span.start, len(data) if span.end is None else span.end),)


def _events(data: bytes, ranges: Sequence[tuple[int, int]], characters: int) -> str:
    """Return where pieces stand in a response: the events by number, and how much was read of them."""
    if not ranges:
        return ""
    words = f"{characters:,} characters" if characters else f"{sum(end - start for start, end in ranges):,} bytes"
    between = b"\n\n" if data.lstrip()[:6] in {b"data: ", b"event:"} else b"\n"
    text = data.replace(b"\r\n", b"\n") if b"\r\n" in data[:2000] else data
    if len(text) != len(data) or data.count(between) < 2 or (between == b"\n" and data[:1] != b"{"):
        return words
    first, last = (data.count(between, 0, at) + 1 for at in (ranges[0][0], max(ranges[-1][1] - 1, 0)))
    return f"event {first}, {words}" if first == last else f"events {first}-{last}, {words}"


def _asked_state(known: str, left_out: int) -> str:
    words = f"{left_out:,} characters after the call cut by the tool protocol" if left_out else ""
    return " · ".join(filter(None, ("" if known == "id" else f"matched by {known}", words)))


def _sent_state(facts: _CallFacts, arguments: bytes, *, is_read: bool) -> str:
    value = parsed(arguments)
    value = {"uri": value} if is_read else value
    before = facts.asked if facts.decided is None else facts.decided
    if before is None:
        return ""
    if changed := changes(before, value):
        return f"changed {changed}"
    same = "as decided" if facts.decided is not None else "as asked"
    if facts.decided is not None and facts.decided != facts.asked:
        return same
    if not facts.written or is_read:
        return same
    return f"{same}, byte for byte" if facts.written.encode(errors="replace") == arguments else _form(facts, same)


def _form(facts: _CallFacts, same: str) -> str:
    return f"{same}; white space or spelling differs from what the model wrote" if facts.written else same


def _told_state(facts: _CallFacts, words: str, body: bytes) -> str:
    """Return which contents a request tells, and what else the server said."""
    if not facts.has_result:
        return "told otherwise: there is no result; the words are the host's"
    if facts.is_large:
        return "not compared with the result, which is too large"
    left, part = not_told(facts.result, words, body), told_in_part(facts.result, words)
    told = [content for content in facts.result if content not in left]
    kinds, values = kinds_of(one for one in told if not one.name), names_of(one for one in told if one.name)
    kinds += f" ({part})" if part else ""
    missing = [words for words in (names_of(left), _log_lines(facts.logs)) if words]
    said = " with the values of ".join(filter(None, (kinds, values)))
    parts = f"told: {said}" if said else "", f"not told: {', '.join(missing)}" if missing else ""
    return " · ".join(filter(None, parts))


def _log_lines(count: int) -> str:
    return f"{count} log line{'s' * (count > 1)}" if count else ""


def _message_at(outline: Outline | None, start: int) -> str:
    """Return the message at a byte of a request: `messages[4]`."""
    for part in outline.parts if outline is not None else ():
        for number, child in enumerate(part.children):
            if part.kind == "messages" and child.start <= start < child.end:
                return f"{part.key}[{number}]"
    return ""
