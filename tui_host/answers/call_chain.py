"""The chain of a call: what was asked, decided, sent, answered, told and said, with the bytes of each step."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, Literal, TypeAlias

from tui_host.answers.asked_pieces import StepPiece, asked_pieces, call_of, text_pieces
from tui_host.answers.bodies import Body, first_data, reading
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
from tui_host.answers.outlines import fold_of, marks_of, outlined
from tui_host.answers.value_repeats import earlier_results, later_attempts, later_uses
from tui_host.capture.json.narrowing import items, mapping, short, text_or_empty
from tui_host.capture.json.reading import read_object
from tui_host.capture.short_units import short_time
from tui_host.capture.visible import decode, line, tool_called

if TYPE_CHECKING:
    from tui_host.answers.steps import Steps
    from tui_host.answers.wires import Wires
    from tui_host.capture.ladder.row import Row
    from tui_host.capture.link import Link
    from tui_host.errors import JSON
    from tui_host.llm.events import ModelEvent
    from tui_host.llm.fold import Range

Happened: TypeAlias = Literal["asked", "decided", "sent", "during", "answered", "told", "said", "again"]
ORDER: tuple[Happened, ...] = ("asked", "decided", "sent", "answered", "told", "said")
"""The steps of a call that took its usual way."""
UNSENT = frozenset(("rejected", "invalid", "stopped"))
"""The decisions with which a call is not sent."""
_BY_ORDER = "maybe: by order · "
_SHOWN = 64 << 10  # bytes of a piece that are shown
_DURING = 2000  # rows between a call and its answer that are looked at
_MOST_DURING = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class CallStep:
    """A step in the life of a call."""

    happened: Happened
    milliseconds: float | None = None  # time since the turn began; None if unknown, or if the step is missing
    row: str = ""  # the name of its row: `LLM 2`, `lab #4`; empty if the step is missing
    target: tuple[str, int] | None = None  # the row, by capture and number of its first record
    place: str = ""  # where in the row: `events 14-20`, `messages[4]`
    value: str = ""  # what was said, or why the step is missing
    state: str = ""  # whether the value is the same as in the step before
    repeats: tuple[str, ...] = ()  # values that come again, or that came from an earlier result
    pieces: tuple[StepPiece, ...] = ()  # the bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class CallChain:
    """The steps of a call in order of time, missing ones among them."""

    call: str
    title: str  # `lab.lookup  call 1.1.2 = lab #4, connection 1  19.3 s, of it 11.2 s until decided`
    steps: tuple[CallStep, ...]


def chain_of(wires: Wires, call: str) -> Steps[CallChain | None]:
    """Compute the chain of a call; None if no row belongs to the call."""
    rows = [wires.ladder.rows[number] for number in wires.ladder.rows_of_call(call)]
    yield "looked up"
    return (yield from _Chain(wires, call, rows).made()) if rows else None


class _Chain:
    """Reads the rows of a call in their order, so that each step is compared with what came before."""

    def __init__(self, wires: Wires, call: str, rows: Sequence[Row]) -> None:
        self._wires = wires
        self._call = call
        self._rows = rows
        self._start: int | None = None  # when the turn began
        self._link: Link | None = None  # where the model asked
        self._written = ""  # the arguments as the model wrote them
        self._arguments: JSON = None
        self._edited: JSON = None  # the arguments that were decided on; None for those of the model
        self._verdict = ""
        self._sent: Row | None = None
        self._answer: Row | None = None
        self._result: Sequence[Content] = ()
        self._logs = 0
        self._refused = 0  # the status with which a request that told the result was refused
        self._typed = ""  # what the person wrote

    def made(self) -> Steps[CallChain]:
        ladder, first, happened = self._wires.ladder, self._rows[0], list[CallStep]()
        starts = (number for number, turn in ladder.sections.turns.items() if turn and turn == first.turn)
        begun = (ladder.rows[number] for number in (*starts, ladder.sections.homes[first.number]))
        start = next((row for row in begun if row.clock == first.clock), first)
        self._start = first.mono_ns if start.mono_ns is None else start.mono_ns
        for row in self._with_during():
            step = yield from self._step(row)
            happened += [self._placed(step, row)] if step is not None else []
            partner = ladder.partner(row.number) if step is not None and step.happened == "told" else None
            if partner is not None:
                answer = ladder.rows[partner]
                happened.append(self._placed((yield from self._said(answer)), answer))
            yield f"{len(happened)} steps"

        earlier = yield from earlier_results(self._wires, self._rows, self._arguments, self._typed)
        results = [content.value for content in self._result]
        later = yield from later_uses(self._wires, self._rows, results, self._arguments, self._typed)
        notes = {"asked": earlier, "answered": later}
        steps = [replace(step, repeats=notes.get(step.happened, ())) for step in self._with_missing(happened)]

        sent = self._sent
        owner = next((row for row in self._rows if row.kind == "decision"), sent)
        server, tool = ("", "") if self._link is None else (self._link.server, self._link.tool)
        if owner is not None:
            server, tool = owner.peer, owner.tool
        has_failed = self._answer is None or self._answer.error
        for row, words in later_attempts(
            self._wires, self._rows, f"{server}.{tool}", self._arguments, has_failed=has_failed
        ):
            steps.append(self._placed(CallStep(happened="again", value=words), row))

        title = f"{line(tool_called(server, tool), 200)}  call {line(self._call, 60)}"
        if sent is not None:
            connection = ladder.numbers.connection(sent)
            title += f" = {self._wires.called(sent)}" + (f", connection {connection}" if connection else "")
        times = [step.milliseconds for step in happened if step.milliseconds is not None]
        title += f"  {short_time(max(times) - min(times) if times else 0.0)}"
        at = {step.happened: step.milliseconds or 0.0 for step in happened}
        waited = at["decided"] - at["asked"] if {"asked", "decided"} <= at.keys() else 0.0
        title += f", of it {short_time(waited)} until decided" if waited >= 100 else ""
        return CallChain(call=self._call, title=title, steps=tuple(steps))

    def _with_during(self) -> Sequence[Row]:
        """Return the call's rows, and the server's own messages between the call and its answer."""
        frames = [row for row in self._rows if row.kind == "frame"]
        if not frames:
            return self._rows
        first, rows = frames[0], self._wires.ladder.rows
        between = (rows[at] for at in range(first.number + 1, min(frames[-1].number, first.number + _DURING)))
        during = (
            row
            for row in between
            if row.kind in {"frame", "line"}
            and not row.calls
            and (row.capture, row.connection) == (first.capture, first.connection)
        )
        return sorted([*self._rows, *islice(during, _MOST_DURING)], key=lambda row: row.number)

    def _step(self, row: Row) -> Steps[CallStep | None]:
        match row.kind:
            case "response":
                return (yield from self._asked(row))
            case "request":
                return (yield from self._told(row))
            case "decision":
                return self._decided(row)
            case "frame" if row.method in {"tools/call", "resources/read"} and not row.answer and row.outward:
                return self._sent_step(row)
            case "frame" if row.answer and not row.outward and self._sent and row.rpc_id == self._sent.rpc_id:
                return self._answered(row)
            case "frame" | "line" | "fault":
                return self._during(row)
            case _:
                return None

    def _placed(self, step: CallStep, row: Row) -> CallStep:
        """Return a step with the time and the name of its row, without secrets."""
        time_ns = row.end_mono_ns if step.happened == "asked" else row.mono_ns
        name = "host" if row.kind == "decision" else self._wires.called(row)
        return replace(
            step,
            milliseconds=None if time_ns is None or self._start is None else (time_ns - self._start) / 1e6,
            row=step.row or name,
            target=(row.capture, row.seq),
            value=self._wires.hide(step.value),
            state=self._wires.hide(step.state),
        )

    def _pieces(self, data: bytes, ranges: Iterable[Range], body: Body | None = None) -> tuple[StepPiece, ...]:
        return tuple(StepPiece(start, end, self._text(data[start:end], body)) for start, end in ranges if start < end)

    def _text(self, data: bytes, body: Body | None) -> str:
        text = self._wires.hide(masked(decode(data[:_SHOWN]), () if body is None else body.redacted))
        more = len(data) - _SHOWN
        return f"{text}\n… {more:,} more bytes" if more > 0 else text

    def _links(self, row: Row, relation: str) -> list[Link]:
        return [link for link in marks_of(self._wires, row) if link.call == self._call and link.relation == relation]

    def _asked(self, row: Row) -> Steps[CallStep | None]:
        links = self._links(row, "asked")
        if not links:  # an answer of the model for the server
            words = row.words or "the model's answer"
            return CallStep(happened="during", value=words) if self._sent is not None else None
        self._link = link = links[0]
        body = yield from reading(self._wires, row)
        ranges, dialect = _ranges(links, body.data), self._wires.dialect(row)
        read: list[StepPiece] = []
        cut: list[StepPiece] = []
        states = [] if link.known == "id" else [f"matched by {link.known}"]
        if dialect is not None:
            events: list[ModelEvent] = []
            fold = yield from fold_of(self._wires, row, body, dialect, events)
            number, self._written = call_of(fold, events, link)
            read = asked_pieces(body.data, ranges, events, number)
            marks = [mark for mark in marks_of(self._wires, row) if mark.relation == "cut"]
            cut = text_pieces("cut", body.data, _ranges(marks, body.data), events)
            behind = "".join(piece.text for piece in cut)
            begins = behind.find(marks[0].words[:12]) if marks else 0  # the call may end in an event
            if left_out := len(behind[max(0, begins) :].strip()):
                states.append(f"{left_out:,} characters after the call cut by the tool protocol")
        if self._arguments is None and self._written:
            self._arguments = parsed(self._written)
        size = sum(len(piece.text) for piece in read)
        pieces = [replace(each, text=self._text(body.data[each.start : each.end], body)) for each in (*read, *cut)]
        return CallStep(
            happened="asked",
            place=_events(body.data, ranges, size) if ranges else "",
            value=masked((self._written or link.words)[:400], body.redacted),
            state=" · ".join(states),
            pieces=tuple(pieces) or self._pieces(body.data, ranges, body),
        )

    def _decided(self, row: Row) -> CallStep:
        data = first_data(self._wires, row)
        value = read_object(data)
        self._arguments, self._edited = value.get("asked"), value.get("sent")
        self._verdict = text_or_empty(value.get("decision"))
        state = ""
        if self._edited is not None:
            edited = changes(self._arguments, self._edited)
            state = f"edited {edited}" if edited else "as asked"
        for number in map(mapping, items(value.get("changed_numbers"))):
            state += f" · the number {number.get('written')} becomes {number.get('sent')}"
        person = self._wires.user.lower() if value.get("by") == "person" else ""
        pieces = self._pieces(data, [(0, len(data))])
        return CallStep(happened="decided", row=person, value=row.words, state=state, pieces=pieces)

    def _sent_step(self, row: Row) -> CallStep:
        again = f"{_BY_ORDER * row.maybe}{'again, ' * (self._sent is not None)}"
        self._sent = row
        data, is_read = first_data(self._wires, row), row.method == "resources/read"
        span = member_range(data, "params", "uri" if is_read else "arguments")
        written = data[slice(*span)] if span is not None else b""
        value = parsed(written)
        before = self._arguments if self._edited is None else self._edited
        state = "" if before is None or span is None else "as asked"
        if state and (changed := changes(before, {"uri": value} if is_read else value)):
            state = f"changed {changed}"
        elif state:
            state = "as asked" if self._edited is None else "as decided"
            if self._written and not is_read and self._edited in (None, self._arguments):
                is_same = self._written.encode(errors="replace") == written
                spelled = "; white space or spelling differs from what the model wrote"
                state += ", byte for byte" if is_same else spelled
        if self._arguments is None:
            self._arguments = value
        pieces = self._pieces(data, [span or (0, len(data))])
        return CallStep(happened="sent", value=again + decode(written[:400]), state=state, pieces=pieces)

    def _answered(self, row: Row) -> CallStep:
        data = first_data(self._wires, row)
        error, span = member_range(data, "error"), member_range(data, "result")
        span = error or span
        result = parsed(data[slice(*span)]) if span is not None else None
        self._answer, self._result = row, contents_of(result)
        words = row.words if row.missing else kinds_of(self._result) or short(result, 200)
        if len(data) > MOST_BYTES:
            words = f"{len(data):,} bytes, too large to take apart here"
        elif error is not None:
            words = f"error: {short(result, 200)}"
        elif mapping(result).get("isError") is True:
            words = f"isError: {words}"
        began = None if self._sent is None else self._sent.mono_ns
        took = "" if began is None or row.mono_ns is None else f"after {(row.mono_ns - began) / 1e9:.2f} s"
        pieces = self._pieces(data, [span or (0, len(data))])
        return CallStep(happened="answered", value=words, state=took, pieces=pieces)

    def _during(self, row: Row) -> CallStep:
        data = first_data(self._wires, row)
        what = "stderr" if row.kind == "line" else row.method.removeprefix("notifications/") or row.kind
        if row.method == "notifications/message":
            what = "log"
            self._logs += 1
        words = f"{'answer to ' * row.answer}{what}" + (f": {row.words}" if row.words else "")
        words += f" ({row.events:,} times)" if row.events > 1 else ""
        return CallStep(happened="during", value=words, pieces=self._pieces(data, [(0, len(data))]))

    def _told(self, row: Row) -> Steps[CallStep | None]:
        links = self._links(row, "told")
        if not links:
            asks = CallStep(happened="during", value="the server asks the model")
            return asks if self._sent is not None else None
        body = yield from reading(self._wires, row)
        ranges, dialect = _ranges(links, body.data), self._wires.dialect(row)
        outline = None
        if dialect is not None and len(body.data) <= MOST_BYTES:
            yield "taking the request apart"
            outline = outlined(self._wires, row, body.data, dialect)
        self._typed = self._typed or typed_in(outline, marks_of(self._wires, row))
        messages = (
            (f"{part.key}[{number}]", message)
            for part in (() if outline is None else outline.parts)
            if part.kind == "messages"
            for number, message in enumerate(part.children)
        )
        start = ranges[0][0]
        again = f"again, the request before was refused ({self._refused}) · " if self._refused else ""
        words = words_in(body.data[start:end] for start, end in ranges)
        return CallStep(
            happened="told",
            place=next((name for name, message in messages if message.start <= start < message.end), ""),
            value=masked(links[0].words, body.redacted),
            state=_BY_ORDER * (links[0].known == "maybe") + again + self._told_state(words, body.data),
            pieces=self._pieces(body.data, ranges, body),
        )

    def _told_state(self, words: str, body: bytes) -> str:
        """Return which contents a request tells, and what else the server said."""
        if self._answer is None:
            return "told otherwise: there is no result; the words are the host's"
        if self._answer.size > MOST_BYTES:
            return "not compared with the result, which is too large"
        left, part = not_told(self._result, words, body), told_in_part(self._result, words)
        told = [content for content in self._result if content not in left]
        kinds = kinds_of(content for content in told if not content.name) + (f" ({part})" if part else "")
        members = names_of(content for content in told if content.name)
        logs = f"{self._logs} log line{'s' * (self._logs > 1)}" if self._logs else ""
        given = " with the values of ".join(filter(None, (kinds, members)))
        missing = ", ".join(filter(None, (names_of(left), logs)))
        return " · ".join([f"told: {given}"] * bool(given) + [f"not told: {missing}"] * bool(missing))

    def _said(self, row: Row) -> Steps[CallStep]:
        """Return what the model answered to a request that told the result."""
        self._refused = row.status if row.status >= 400 else 0
        dialect = self._wires.dialect(row)
        if self._refused:
            return CallStep(happened="said", value=f"refused: {row.status} {row.words}")
        if dialect is None:
            return CallStep(happened="said", value="answers" if row.state == "open" else row.words)
        body = yield from reading(self._wires, row)
        fold = yield from fold_of(self._wires, row, body, dialect)
        asks = ", ".join(f"{call.call.name} {call.call.arguments[:80]}" for call in fold.calls)
        words = " · ".join(filter(None, (fold.text[:400], row.words or (asks and f"asks {asks}"))))
        return CallStep(happened="said", value=words, pieces=self._pieces(body.data, [(0, len(body.data))], body))

    def _with_missing(self, steps: Sequence[CallStep]) -> Iterator[CallStep]:
        """Yield the steps, and in place of missing ones before them, and of the next one, why they are missing."""
        sent = self._sent
        unanswered = "no answer"
        if sent is not None and (sent.state == "open" or sent.ending):
            unanswered = "no answer yet" if sent.state == "open" else f"no answer: {sent.ending}"
        unsent = "nothing was recorded" if self._verdict else "not sent yet"
        why: dict[Happened, str] = {
            "asked": "not asked by the model here: the response was not recorded, or a person made the call",
            "decided": "not decided so far" if sent is None else "no decision was recorded",
            "sent": f"not sent: {self._verdict}" if self._verdict in UNSENT else unsent,
            "answered": unanswered,
            "told": "not told yet",
            "said": "nothing yet",
        }
        order: list[Happened] = [name for name in ORDER if name != "answered" or sent is not None]
        present = {step.happened for step in steps}
        for step in steps:
            for earlier in order[: order.index(step.happened)] if step.happened in order else ():
                if earlier not in present:
                    present.add(earlier)
                    yield CallStep(happened=earlier, value=why[earlier])
            yield step
        following = max((order.index(name) + 1 for name in present if name in order), default=len(order))
        yield from (CallStep(happened=name, value=why[name]) for name in order[following : following + 1])


def _ranges(links: Iterable[Link], data: bytes) -> Sequence[Range]:
    """Return the bytes of links, each once."""
    spans = [link.span for link in links]
    whole = [span.ranges or ((span.start, len(data) if span.end is None else span.end),) for span in spans]
    return list(dict.fromkeys(piece for ranges in whole for piece in ranges))


def _events(data: bytes, ranges: Sequence[Range], characters: int) -> str:
    """Return where pieces stand in a response: the events by number, and how much was read of them."""
    words = f"{characters:,} characters" if characters else f"{sum(end - start for start, end in ranges):,} bytes"
    between = b"\n"  # of a stream of JSON lines
    if data.lstrip()[:6] in {b"data: ", b"event:"}:
        between = b"\r\n\r\n" if b"\r\n" in data[:2000] else b"\n\n"
    if data.count(between) < 2 or (between == b"\n" and data[:1] != b"{"):
        return words
    first, last = (data.count(between, 0, at) + 1 for at in (ranges[0][0], max(ranges[-1][1] - 1, 0)))
    return f"event {first}, {words}" if first == last else f"events {first}-{last}, {words}"
