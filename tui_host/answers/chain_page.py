"""The chain of a call: what was asked, decided, sent, answered, told and said, with the bytes of each step."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Literal, TypeAlias

from tui_host.answers.bodies import Body, body_of, first_data
from tui_host.answers.masks import masked
from tui_host.answers.names import call_name
from tui_host.answers.outlines import folded, marks_of, outlined
from tui_host.answers.sheet import Sheet, SheetLine, Style
from tui_host.answers.values import (
    MOST_BYTES,
    Content,
    Values,
    changes,
    contents_of,
    kinds_of,
    later_attempts,
    member_range,
    names_of,
    not_told,
    parsed,
    told_in_part,
    words_in,
)
from tui_host.answers.wires import Wires
from tui_host.capture.json.narrowing import items, mapping, short, text_or_empty
from tui_host.capture.json.reading import read_object
from tui_host.capture.ladder.row import Row
from tui_host.capture.link import Link
from tui_host.capture.short_units import short_time
from tui_host.capture.visible import decode, line, tool_name
from tui_host.errors import JSON
from tui_host.llm.events import CallArguments, CallStarted, ModelEvent, TextDelta
from tui_host.llm.fold import Range

_LITERAL = re.compile(rb'"(?:[^"\\]|\\.)*"', re.DOTALL)


@dataclass(frozen=True, slots=True)
class StepPiece:
    """Bytes that a step of a chain refers to."""

    start: int  # first byte, in the decoded body or in the frame
    end: int  # one past the last byte
    text: str  # what they say; in a chain the bytes as text, secrets masked, of more than 64 KB the beginning
    part: str = ""  # `name`, `arguments`, `text`, or `cut` for text that was left out; empty for the whole of a step


def _said_pieces(
    part: str, data: bytes, ranges: Sequence[Range], events: Sequence[ModelEvent], number: int | None = None
) -> list[StepPiece]:
    """Return what became a call, by its number in the response; without a number the text in some bytes of it."""
    pieces: list[StepPiece] = []
    for event in events:
        if isinstance(event, CallStarted) and event.index == number and event.name:
            pieces += _characters("name", data, (event.start, event.end), event.name)
        elif isinstance(event, CallArguments) and event.index == number and event.text:
            pieces += _characters("arguments", data, (event.start, event.end), event.text)
        elif isinstance(event, TextDelta) and number is None:
            own = [(start, end) for start, end in ranges if event.start < end and start < event.end]
            for start, end in own:
                pieces += _characters(part, data, (max(event.start, start), min(event.end, end)), event.text)
    return pieces


def _characters(part: str, data: bytes, place: Range, text: str) -> Sequence[StepPiece]:
    """Return the inside of the JSON string that says a text, or the text as it stands; else the bytes of its events."""
    for match in _LITERAL.finditer(data, *place):
        if len(match[0]) > len(text) and parsed(match[0]) == text:
            return [StepPiece(match.start() + 1, match.end() - 1, text, part)]
    written = text.encode("utf-8", "replace")
    at = data.find(written, *place)
    return [StepPiece(at, at + len(written), text, part) if at >= 0 else StepPiece(*place, text, part)]


Happened: TypeAlias = Literal["asked", "decided", "sent", "during", "answered", "told", "said", "again"]
ORDER: tuple[Happened, ...] = ("asked", "decided", "sent", "answered", "told", "said")
"""The steps of a call that took its usual way."""
UNSENT = frozenset(("rejected", "invalid", "stopped"))  # the decisions with which a call is not sent
_BY_ORDER = "maybe: by order · "
_SHOWN = 64 << 10  # bytes of a piece that are shown
_LATER = (
    200  # requests behind the one that told a result, in which it is looked for; of several calls in a page together
)
_DURING = 2000  # rows between a call and its answer that are looked at
_MOST_DURING = 200

EMPTY = "The steps of a call stand here: what the model asked, who decided, what was sent, answered, told and said."
_MOST_CALLS = 50
_LABEL = 900


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


def chain_page(wires: Wires, row: Row) -> Sheet:
    """Make the page of a row: the chain of its call, or of each of its calls, the first one open."""
    keyed = (  # in the order of their first rows, then of turn, step and place
        (wires.ladder.calls[call][0], [int(part) if part.isdecimal() else 0 for part in call.split(".")], call)
        for call in row.calls
    )
    calls = [call for *_, call in sorted(keyed)]
    later = _LATER // max(1, len(calls))
    chains = [*filter(None, (ChainReader(wires, call, later).chain() for call in calls[:_MOST_CALLS]))]
    if not chains:
        return Sheet(what="chain", lines=(), empty=EMPTY)
    more = len(row.calls) - _MOST_CALLS
    notes = (f"{more} more calls are not shown",) if more > 0 else ()
    if len(chains) == 1:
        return Sheet(what=chains[0].title, lines=_lines(chains[0]), notes=notes)
    lines = [
        SheetLine(key=chain.call, label=chain.title, style="heading", children=_lines(chain), opened=chain is chains[0])
        for chain in chains
    ]
    return Sheet(what=f"chains of {len(chains)} calls", lines=lines, notes=notes)


def _lines(chain: CallChain) -> tuple[SheetLine, ...]:
    lines: list[SheetLine] = []
    count = 0
    for place, step in enumerate(chain.steps):
        is_main = step.happened not in {"during", "again"}
        count += is_main
        time = "" if step.milliseconds is None else f"{step.milliseconds / 1000:.2f}"
        words = "  ".join(line(part, 400) for part in (step.row, step.place, step.value) if part)
        words += f"  · {line(step.state, 400)}" if step.state else ""
        words += "".join(f"  · {line(repeat, 300)}" for repeat in step.repeats)
        pieces = [
            SheetLine(
                key=f"{number}",
                label=f"{piece.part:<11}bytes {piece.start:,} to {piece.end:,}  {line(piece.text, 120)}",
                style="note" if piece.part == "cut" else "",
                text=lambda piece=piece: piece.text,
                target=step.target,
            )
            for number, piece in enumerate(step.pieces)
        ]
        label = f"{count if is_main else ' '} {step.happened:<8} {time:>7}  {words}"[:_LABEL]
        style: Style = "note" if not step.row or step.happened == "during" else "what"
        text, children = (pieces[0].text, ()) if len(pieces) == 1 else (None, tuple(pieces))
        about = SheetLine(key=f"{place}", label=label, style=style, text=text, children=children, target=step.target)
        lines.append(about)
    return tuple(lines)


@dataclass(slots=True)
class ChainReader:
    """Reads the rows of a call in their order, so that each step is compared with what came before."""

    _wires: Wires
    _call: str
    _later: int = _LATER
    _rows: Sequence[Row] = ()
    _start: int | None = None  # when the turn began
    _link: Link | None = None  # where the model asked
    _written: str = ""  # the arguments as the model wrote them
    _arguments: JSON = None
    _edited: JSON = None  # the arguments that were decided on; None for those of the model
    _verdict: str = ""
    _sent: Row | None = None
    _answer: Row | None = None
    _result: Sequence[Content] = ()
    _placed_rows: dict[tuple[str, int], Row] = field(default_factory=dict[tuple[str, int], Row])  # by their targets
    _logs: int = 0
    _carried: tuple[str, str] = "", ""  # the result as it was told, and in which requests it stands
    _refused: int = 0  # the status with which a request that told the result was refused

    def chain(self) -> CallChain | None:
        """Compute the chain of the call; None if no row belongs to it."""
        ladder, happened = self._wires.ladder, list[CallStep]()
        self._rows = [ladder.rows[number] for number in ladder.calls.get(self._call, ())]
        if not self._rows:
            return None
        first = self._rows[0]
        starts = (number for number, turn in ladder.sections.turns.items() if turn and turn == first.turn)
        begun = (ladder.rows[number] for number in (*starts, ladder.sections.homes[first.number]))
        start = next((row for row in begun if row.clock == first.clock), first)
        self._start = first.mono_ns if start.mono_ns is None else start.mono_ns
        frames, rows = [row for row in self._rows if row.kind == "frame"], self._rows
        if frames:  # the server's own messages between the call and its answer are steps too
            sent, until = frames[0], min(frames[-1].number, frames[0].number + _DURING)
            during = (
                row
                for row in map(ladder.rows.__getitem__, range(sent.number + 1, until))
                if row.kind in {"frame", "line"}
                and not row.calls
                and (row.capture, row.connection) == (sent.capture, sent.connection)
            )
            rows = sorted([*rows, *islice(during, _MOST_DURING)], key=lambda row: row.number)
        for row in rows:
            step = self._step(row)
            happened += [self._placed(step, row)] if step is not None else []
            answer = ladder.partner_of(row) if step is not None and step.happened == "told" else None
            happened += [self._placed(self._said(answer), answer)] if answer is not None else []
        steps = [replace(step, repeats=tuple(self._repeats(step))) for step in self._with_missing(happened)]

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

        title = f"{line(tool_name(server, tool, is_decided=True), 200)}  call {call_name(self._wires, self._call)}"
        if sent is not None:
            connection = ladder.numbers.connection(sent)
            title += f" = {self._wires.called(sent)}" + (f", connection {connection}" if connection else "")
        times = [step.milliseconds for step in happened if step.milliseconds is not None]
        title += f"  {short_time(max(times) - min(times) if times else 0.0)}"
        at = {step.happened: step.milliseconds or 0.0 for step in happened}
        waited = at["decided"] - at["asked"] if {"asked", "decided"} <= at.keys() else 0.0
        title += f", of it {short_time(waited)} until decided" if waited >= 100 else ""
        return CallChain(call=self._call, title=title, steps=tuple(steps))

    def _repeats(self, step: CallStep) -> Iterator[str]:
        values, row = Values(self._wires), self._placed_rows.get(step.target or ("", 0), self._rows[0])
        if step.happened == "asked":
            yield from values.came_from(self._arguments, row)
        elif step.happened == "answered":
            yield from values.comes_again(
                [content.value for content in self._result], self._arguments, row, self._carried
            )
        elif step.happened == "told" and self._carried[1].startswith(f"{step.row} "):  # the first one of several
            yield f"the result stands in {self._carried[1]}"
        elif step.happened == "said" and step.target is not None:
            origins = values.of_answer(row)
            for words in dict.fromkeys(origin.words for origin in origins):
                named = ", ".join(short(origin.value, 60) for origin in origins if origin.words == words)
                yield f"{self._wires.hide(named)} {words}"

    def _step(self, row: Row) -> CallStep | None:
        match row.kind:
            case "response":
                return self._asked(row)
            case "request":
                return self._told(row)
            case "decision":
                return self._decided(row)
            case "frame" if row.method in {"tools/call", "resources/read"} and not row.answer and row.outward:
                return self._sent_step(row)
            case "frame" if row.answer and not row.outward and self._sent and row.rpc_id == self._sent.rpc_id:
                return self._answered(row)
            case "frame" | "line" | "fault":
                data = first_data(self._wires, row)
                what = "stderr" if row.kind == "line" else row.method.removeprefix("notifications/") or row.kind
                if row.method == "notifications/message":
                    what = "log"
                    self._logs += 1
                words = f"{'answer to ' * row.answer}{what}" + (f": {row.words}" if row.words else "")
                words += f" ({row.events:,} times)" if row.events > 1 else ""
                return CallStep(happened="during", value=words, pieces=self._pieces(data, [(0, len(data))]))
            case _:
                return None

    def _placed(self, step: CallStep, row: Row) -> CallStep:
        self._placed_rows[row.capture, row.seq] = row
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

    def _asked(self, row: Row) -> CallStep | None:
        links = [link for link in marks_of(self._wires, row) if (link.call, link.relation) == (self._call, "asked")]
        if not links:  # an answer of the model for the server
            words = row.words or "the model's answer"
            return CallStep(happened="during", value=words) if self._sent is not None else None
        self._link = link = links[0]
        body = body_of(self._wires, row)
        ranges, dialect = _ranges(links, body.data), self._wires.dialect(row)
        read: list[StepPiece] = []
        cut: list[StepPiece] = []
        states = [] if link.known == "id" else [f"matched by {link.known}"]
        if dialect is not None:
            events: list[ModelEvent] = []
            fold = folded(self._wires, row, body, dialect, events)
            numbers = sorted({event.index for event in events if isinstance(event, CallStarted)})
            calls = [
                (number, call.call.arguments)
                for number, call in zip(numbers, fold.calls, strict=False)
                if call.spans and call.spans[0][0] == link.span.start
            ]
            same = (call for call in calls if line(call[1], 200) == link.words)
            number, self._written = next(same, calls[0]) if calls else (None, "")
            read = _said_pieces("text", body.data, ranges, events, number)
            marks = [mark for mark in marks_of(self._wires, row) if mark.relation == "cut"]
            cut = _said_pieces("cut", body.data, _ranges(marks, body.data), events)
            behind = "".join(piece.text for piece in cut)
            begins = behind.find(marks[0].words[:12]) if marks else 0  # the call may end in an event
            if left_out := len(behind[max(0, begins) :].strip()):
                states.append(f"{left_out:,} characters after the call cut by the tool protocol")
        if self._arguments is None and self._written:
            self._arguments = parsed(self._written)
        size = len(self._written) or sum(len(piece.text) for piece in read if piece.part != "name")
        counted = f"{size:,} characters{' of text' * (not self._written)}" * bool(size)
        pieces = [
            replace(piece, text=self._text(piece.text.encode("utf-8", "replace"), body)) for piece in (*read, *cut)
        ]
        return CallStep(
            happened="asked",
            place=_events(body.data, ranges, counted) if ranges else "",
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
            state = f"edited {edited}" if edited else "unchanged"
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
        state = "" if before is None or span is None else "unchanged"
        if state and (changed := changes(before, {"uri": value} if is_read else value)):
            state = f"changed {changed}"
        elif state:
            state = "unchanged" if self._edited is None else "as decided"
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

    def _told(self, row: Row) -> CallStep | None:
        links = [link for link in marks_of(self._wires, row) if (link.call, link.relation) == (self._call, "told")]
        if not links:
            return CallStep(happened="during", value="the server asks the model") if self._sent is not None else None
        body = body_of(self._wires, row)
        ranges, dialect = _ranges(links, body.data), self._wires.dialect(row)
        outline = None
        if dialect is not None and len(body.data) <= MOST_BYTES:
            outline = outlined(self._wires, row, body.data, dialect)
        messages = (
            (f"{part.key}[{number}]", message)
            for part in (() if outline is None else outline.parts)
            if part.kind == "messages"
            for number, message in enumerate(part.children)
        )
        start = ranges[0][0]
        again = f"again, the request before was refused ({self._refused}) · " if self._refused else ""
        if self._answer is None:
            state = "told otherwise: there is no result; the words are the host's"
        elif self._answer.size > MOST_BYTES:
            state = "not compared with the result, which is too large"
        else:
            words = words_in(body.data[start:end] for start, end in ranges)
            left, part = not_told(self._result, words, body.data), told_in_part(self._result, words)
            told = [content for content in self._result if content not in left]
            kinds = kinds_of(content for content in told if not content.name) + (f" ({part})" if part else "")
            members = names_of(content for content in told if content.name)
            logs = f"{self._logs} log line{'s' * (self._logs > 1)}" if self._logs else ""
            given = " with the values of ".join(filter(None, (kinds, members)))
            missing = ", ".join(filter(None, (names_of(left), logs)))
            state = " · ".join([f"told: {given}"] * bool(given) + [f"not told: {missing}"] * bool(missing))
            self._carried = self._carried if again else (words, self._requests(row, body.data[slice(*ranges[0])]))
        return CallStep(
            happened="told",
            place=next((name for name, message in messages if message.start <= start < message.end), ""),
            value=masked(links[0].words, body.redacted),
            state=_BY_ORDER * (links[0].known == "maybe") + again + state,
            pieces=self._pieces(body.data, ranges, body),
        )

    def _requests(self, first: Row, told: bytes) -> str:
        """Return in words in which requests a result stands from the first on: `LLM 2 and 7 later requests (to LLM 9)`."""
        rows, numbers = self._wires.ladder.rows, self._wires.ladder.numbers.requests
        at = bisect_right(numbers, first.number)
        later = (rows[number] for number in numbers[at : at + self._later])
        carry = [row for row in later if row.size <= MOST_BYTES and told in body_of(self._wires, row).data]
        if not carry:
            return self._wires.called(first)
        count = f"{'at least ' * (len(numbers) > at + self._later)}{len(carry)} later request{'s' * (len(carry) > 1)}"
        return f"{self._wires.called(first)} and {count} (to {self._wires.called(carry[-1])})"

    def _said(self, row: Row) -> CallStep:
        self._refused = row.status if row.status >= 400 else 0
        dialect = self._wires.dialect(row)
        if self._refused:
            return CallStep(happened="said", value=f"refused: {row.status} {row.words}")
        if dialect is None:
            return CallStep(happened="said", value="answers" if row.state == "open" else row.words)
        body = body_of(self._wires, row)
        fold = folded(self._wires, row, body, dialect)
        asks = ", ".join(f"{call.call.name} {call.call.arguments[:80]}" for call in fold.calls)
        words = " · ".join(filter(None, (fold.text[:400], row.words or (asks and f"asks {asks}"))))
        return CallStep(happened="said", value=words, pieces=self._pieces(body.data, [(0, len(body.data))], body))

    def _with_missing(self, steps: Sequence[CallStep]) -> Iterator[CallStep]:
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
    spans = [link.span for link in links]
    whole = [span.ranges or ((span.start, len(data) if span.end is None else span.end),) for span in spans]
    return list(dict.fromkeys(piece for ranges in whole for piece in ranges))


def _events(data: bytes, ranges: Sequence[Range], counted: str) -> str:
    """Return where pieces stand in a response: the events by number, and how much was read of them."""
    words = counted or f"{sum(end - start for start, end in ranges):,} bytes"
    between = b"\n"  # of a stream of JSON lines
    if data.lstrip()[:6] in {b"data: ", b"event:"}:
        between = b"\r\n\r\n" if b"\r\n" in data[:2000] else b"\n\n"
    if data.count(between) < 2 or (between == b"\n" and data[:1] != b"{"):
        return words
    first, last = (data.count(between, 0, at) + 1 for at in (ranges[0][0], max(ranges[-1][1] - 1, 0)))
    return f"event {first}, {words}" if first == last else f"events {first}-{last}, {words}"
