"""What deserves a look: errors, retries, edited and rejected calls, what a model made up or was not told, and what costs."""

from __future__ import annotations

import json
import re
import time
from bisect import bisect_left
from dataclasses import dataclass, field
from threading import Lock
from typing import NamedTuple
from weakref import WeakKeyDictionary

from tui_host.answers.bodies import body_of, first_data
from tui_host.answers.changes_page import breaks_of
from tui_host.answers.outlines import folded, marks_of
from tui_host.answers.request_weights import weigh
from tui_host.answers.sheet import Sheet, SheetLine
from tui_host.answers.values import contents_of, names_of, not_told, parsed, told_in_part, words_in
from tui_host.answers.wires import Section, Wires
from tui_host.capture.json.narrowing import items, mapping, text_or_empty
from tui_host.capture.json.reading import read_object
from tui_host.capture.ladder.ladder import Ladder
from tui_host.capture.ladder.row import Row
from tui_host.capture.visible import line
from tui_host.errors import JSON, TuiHostError
from tui_host.llm.messages import ToolSpec
from tui_host.llm.outline import estimate_tokens, size_words

MOST = 2 << 20  # bytes of a body that is compared with another one
_MARKERS = re.compile(rb"tool_|TOOL_|[|]>|\xef\xbd\x9c|uff5c|function|[Aa]ction|arguments|parameters")
"""What every form of a call holds: most responses hold nothing of it and are not read."""
_PROBE = "server/discover"  # what this host asks each server first, to learn its era
_OPTIONAL = re.compile(r"(tools|prompts|resources|resources/templates)/list|logging/setLevel|completion/complete")
_NOT_FOUND = "-32601 "  # how the words of an answer begin whose method the server does not offer
_INTRODUCTIONS = frozenset(("initialize", _PROBE))
_LARGE, _COSTLY, _OFTEN = 1000, 2000, 3
"""Bytes of a result whose repeats are counted; tokens that its repeats cost, and how often it is sent, until they are told."""
_NEEDLE = 60  # characters of a server's instructions that are looked for in requests
_TEACHES = "teaches the tool protocol"
EMPTY = (
    "Nothing here needs a look: no errors, cut answers, retries, edited or rejected calls, changed definitions, broken prefixes,"
    " made-up text, or results that the model was not told."
)


class _Sent(NamedTuple):
    answer: int  # the row of the result's frame
    data: bytes  # its bytes in the request that told it first
    requests: set[int]  # the rows of the requests that have them


@dataclass(eq=False, slots=True)
class _Kept:
    """What was found in the rows of one ladder, for the list, its heading and the page alike."""

    lock: Lock = field(default_factory=Lock)
    revision: int = -1
    pending: list[int] = field(default_factory=list[int])  # the first row last
    numbers: list[int] = field(default_factory=list[int])  # the rows with reasons, in order
    own: dict[int, str] = field(default_factory=dict[int, str])  # the reasons that rows have by themselves
    later: dict[int, str] = field(default_factory=dict[int, str])  # those that later rows gave them
    definitions: dict[tuple[str, str], JSON] = field(default_factory=dict[tuple[str, str], JSON])
    # The tokens of each tool by the row of a request.
    offered: dict[tuple[str, str], dict[int, int]] = field(default_factory=dict[tuple[str, str], dict[int, int]])
    called: set[tuple[str, str]] = field(default_factory=set[tuple[str, str]])
    sent: dict[str, _Sent] = field(default_factory=dict[str, _Sent])  # by call
    # By server, in two spellings, with the row that introduced it.
    instructions: dict[str, tuple[int, tuple[bytes, ...]]] = field(
        default_factory=dict[str, tuple[int, tuple[bytes, ...]]]
    )


_KEPT: WeakKeyDictionary[Ladder, _Kept] = WeakKeyDictionary()


class Looks:
    """Finds the rows to look at, as rows come and change; all `Looks` of the same rows share what they found."""

    def __init__(self, wires: Wires) -> None:
        self._wires = wires
        self._kept = _KEPT.setdefault(wires.ladder, _Kept())
        self.numbers = self._kept.numbers  # the rows to look at, in the order of the list

    @property
    def is_behind(self) -> bool:
        """Whether rows have not been looked through yet."""
        return bool(self._kept.pending) or self._kept.revision != self._wires.ladder.revision

    def advance(self, seconds: float = float("inf")) -> bool:
        """Look through new and changed rows for a limited time; returns whether all are done."""
        until, ladder, kept = time.perf_counter() + seconds, self._wires.ladder, self._kept
        if not kept.lock.acquire(blocking=seconds == float("inf")):
            return False  # a page is being made of them in another thread
        try:
            if kept.revision != ladder.revision:
                kept.pending = sorted({*kept.pending, *ladder.changed_since(kept.revision)}, reverse=True)
                kept.revision = ladder.revision
            while kept.pending and time.perf_counter() < until:
                row = ladder.rows[kept.pending.pop()]
                try:
                    reason = _broken(row) or self._reason(row)
                    self._note(row)
                except TuiHostError as error:  # what cannot be read deserves a look too
                    reason = line(str(error), 80)
                self._put(kept.own, row.number, reason)
        finally:
            kept.lock.release()
        return not kept.pending

    def look(self, row: Row) -> tuple[str, str]:
        """Return how a row is called, and why it deserves a look; no reason if it does not."""
        name = self._wires.called(row) if row.kind != "decision" else f"{row.peer}.{row.tool}"
        return name, self._words(row.number)

    def _put(self, reasons: dict[int, str], number: int, words: str) -> None:
        """Set a reason of a row, and whether the row is one to look at."""
        reasons[number] = words
        numbers = self._kept.numbers
        place = bisect_left(numbers, number)
        was = numbers[place : place + 1] == [number]
        if bool(self._words(number)) != was:
            numbers[place : place + was] = [] if was else [number]

    def _words(self, number: int) -> str:
        return "; ".join(filter(None, (self._kept.own.get(number, ""), self._kept.later.get(number, ""))))

    def _reason(self, row: Row) -> str:
        if row.lane == "llm" and row.kind == "response":
            made_up = [mark for mark in marks_of(self._wires, row) if mark.relation == "cut"] if row.calls else []
            if not made_up:
                return self._unread(row)
            size = sum(mark.span.size for mark in made_up)
            words = line(" ".join(mark.words for mark in made_up), 60)
            return f"the model made up what follows its call, which was left out ({size:,} bytes): {words}"
        if row.lane == "llm" and row.kind == "request" and row.method != "GET":
            before, reasons = self._wires.before(row), [setup_change(self._wires, row)]
            if row.turn and before is not None and (before.turn, before.step) == (row.turn, row.step):
                response, name = self._wires.ladder.partner_of(before), self._wires.called(before)
                if response is None or response.status >= 400 or response.state in {"cut", "failed"}:
                    reasons.append(f"the request was sent again after {name} had failed")
            elif row.size <= MOST and (breaks := breaks_of(self._wires, [row])):
                reasons.append(line(f"the cached beginning breaks: {breaks[0].cause}", 240))
            return "; ".join(filter(None, reasons))
        if row.answer and row.method == "tools/list":
            changed: list[str] = []
            data = b"" if row.size > MOST else first_data(self._wires, row)
            for tool in items(mapping(mapping(parsed(data)).get("result")).get("tools")):
                key = row.peer, text_or_empty(mapping(tool).get("name"))
                if self._kept.definitions.setdefault(key, tool) != tool:
                    changed.append(key[1])
                self._kept.definitions[key] = tool
            return f"the definition changed of {line(', '.join(changed), 80)}" if changed else ""
        if row.kind == "decision":
            verdict = text_or_empty(read_object(first_data(self._wires, row)).get("decision"))
            if verdict in {"rejected", "invalid", "stopped"}:
                return f"the call was not run: {line(row.words, 120)}"
            return line(f"the call was {row.words}", 120) if row.words.startswith("edited") else ""
        return ""

    def _unread(self, row: Row) -> str:
        """Return in which form a response holds a call that nobody read; empty where text may be the agreed form."""
        request, dialect = self._wires.ladder.partner_of(row), self._wires.dialect(row)
        is_growing = row.state == "open"  # it would be read anew with each piece
        if is_growing or row.calls or request is None or dialect is None or row.missing or row.size > MOST:
            return ""
        body = body_of(self._wires, row)
        if _MARKERS.search(body.data) is None or b'"tools"' not in body_of(self._wires, request).data:
            return ""
        from tui_host.llm.unread_calls import unread_call  # the forms of all text protocols

        fold = folded(self._wires, row, body, dialect)
        tools = [
            ToolSpec(name=name, description="", schema={}, server=server, tool=tool)
            for name, (server, tool) in self._wires.names(row).items()
        ]
        text = fold.text if fold.text.strip() else fold.thinking
        unread = None if fold.calls else unread_call(text, tools, is_thinking=text is fold.thinking)
        return "" if unread is None else line(unread.what, 120)

    # What a row tells about others.

    def _note(self, row: Row) -> None:
        kept = self._kept
        is_call = row.method == "tools/call" and row.outward and not row.answer
        is_request = row.kind == "request" and row.lane == "llm" and row.method != "GET" and row.size <= MOST
        if is_request:
            self._note_request(row)
        elif is_call:
            kept.called.add((row.peer, row.tool))
        elif row.method == "tools/call" and row.answer and not row.outward:
            self._put(kept.later, row.number, self._untold(row))
        elif row.method in _INTRODUCTIONS and row.answer and not row.outward and row.size <= MOST:
            result = mapping(mapping(parsed(first_data(self._wires, row))).get("result"))
            words = text_or_empty(result.get("instructions")).strip().splitlines()
            if words and row.peer not in kept.instructions:
                spellings = (json.dumps(words[0][:_NEEDLE], ensure_ascii=is_ascii) for is_ascii in (True, False))
                needles = tuple(text[1:-1].encode("utf-8", "replace") for text in spellings)
                kept.instructions[row.peer] = row.number, needles
        if kept.offered and (is_request or is_call):  # on the first request: how many tools were never called
            unused = [offer for tool, offer in kept.offered.items() if tool not in kept.called]
            most, tokens = max(map(len, kept.offered.values())), sum(sum(rows.values()) for rows in unused)
            words = f"{len(unused)} of {len(kept.offered)} tools of the session were never called: ~{tokens:,} tokens"
            first = min(map(min, kept.offered.values()))
            self._put(kept.later, first, words if unused and most >= _OFTEN else "")

    def _note_request(self, row: Row) -> None:
        kept, body = self._kept, body_of(self._wires, row).data
        weight = weigh(self._wires, [row])[0]
        for tool in weight.tools:
            kept.offered.setdefault((tool.server, tool.tool), {})[row.number] = tool.tokens
        kept.called.update(weight.calls)
        for mark in marks_of(self._wires, row):
            for number in self._wires.ladder.calls.get(mark.call, ()) if mark.relation == "told" else ():
                answer = self._wires.ladder.rows[number]
                if not answer.answer or answer.method != "tools/call" or answer.outward:
                    continue
                self._put(kept.later, number, self._untold(answer))
                if mark.span.size >= _LARGE and mark.call not in kept.sent:
                    kept.sent[mark.call] = _Sent(number, b"".join(mark.span.pieces(body)), set())
        for sent in kept.sent.values():
            if sent.data in body:
                sent.requests.add(row.number)
            tokens = estimate_tokens(sent.data) * len(sent.requests)
            if len(sent.requests) >= _OFTEN and tokens >= _COSTLY:
                size, untold = size_words(len(sent.data)), self._untold(self._wires.ladder.rows[sent.answer])
                words = f"this {size} result was sent {len(sent.requests)} times: ~{tokens:,} tokens"
                self._put(kept.later, sent.answer, "; ".join(filter(None, (untold, words))))
        for server, (number, needles) in [*kept.instructions.items()]:
            is_offered = any(tool.server == server for tool in weight.tools)
            if any(needle in body for needle in needles):
                self._put(kept.later, number, "")
                del kept.instructions[server]
            elif is_offered:
                self._put(kept.later, number, f"the model was not told the instructions of {line(server, 60)}")

    def _untold(self, row: Row) -> str:
        ladder = self._wires.ladder
        rows = (ladder.rows[number] for call in row.calls for number in ladder.calls[call])
        told = next((request for request in rows if request.kind == "request" and request.lane == "llm"), None)
        if _broken(row) or told is None or told.missing or max(row.size, told.size) > MOST:
            return ""
        links = [link for link in marks_of(self._wires, told) if link.relation == "told" and link.call in row.calls]
        if not links:
            return ""
        body = body_of(self._wires, told).data
        words = words_in(piece for link in links for piece in link.span.pieces(body))
        contents = contents_of(mapping(parsed(first_data(self._wires, row))).get("result"))
        if left := names_of(not_told(contents, words, body)):
            return f"the model was not told: {line(left, 80)}"
        part = told_in_part(contents, words)
        return f"the model was told a part: {part}" if part else ""


def setup_change(wires: Wires, request: Row) -> str:
    """Return what changed of model, tool protocol and servers since the request before; empty if nothing did."""
    numbers = wires.ladder.numbers.requests
    place = bisect_left(numbers, request.number) if wires.user == "you" else 0
    before = wires.ladder.rows[numbers[place - 1]] if place else wires.before(request)
    if before is None or before.missing or request.missing or max(before.size, request.size) > MOST:
        return ""
    setups: list[dict[str, str]] = []
    for row in (before, request):
        facts, weight = wires.recorded.requests.get((row.capture, row.exchange)), weigh(wires, [row])[0]
        in_text = any(tool.in_text for tool in weight.tools)
        taught = sum(size for words, size in weight.put_in.items() if words == _TEACHES)
        protocol = f"in the prompt, {taught:,} bytes" if in_text or taught else "native" * bool(weight.tools)
        model = "" if facts is None or not facts.model else f"{row.peer}/{facts.model}"
        servers = ", ".join(sorted({tool.server for tool in weight.tools if tool.server}))
        setups.append({"model": model, "tool protocol": protocol, "servers": servers})
    old, new = setups
    words = [
        f"{what} {line(new[what], 80)}, was {line(old[what], 80)}"
        for what in new
        if old[what] and new[what] and old[what] != new[what]
    ]
    return f"changed: {'; '.join(words)}" if words else ""


def _broken(row: Row) -> str:
    if row.answer and (row.method == _PROBE or _is_unoffered(row)):  # older servers refuse the probe
        return ""
    if row.malformed:
        return f"this is malformed: {line(row.malformed, 80)}"
    if row.kind == "fault" or (row.kind == "end" and row.error):
        return line(row.words, 80) or "it failed"
    if row.state == "cut":
        return "the answer was cut off before its end"
    if row.state == "unanswered":
        return f"no answer came{f': {line(row.ending, 60)}' if row.ending else ''}"
    if row.status >= 400 and row.kind != "request":
        return f"it was refused with {row.status}"
    return f"this is an error: {line(row.words, 60)}" if row.error else ""


def _is_unoffered(row: Row) -> bool:
    """Whether a server refuses a method that it need not offer: hosts ask for it to learn that."""
    return row.error and not row.outward and row.words.startswith(_NOT_FOUND) and bool(_OPTIONAL.fullmatch(row.method))


def look_page(wires: Wires, section: Section) -> Sheet:
    """Make the page of a heading: all that deserves a look in its turn, or in the session."""
    looks = Looks(wires)
    looks.advance()
    rows, turn_of = wires.ladder.rows, wires.ladder.sections.turn_of
    numbers = [number for number in looks.numbers if section.is_session or turn_of(number) == section.turn]
    lines: list[SheetLine] = []
    for row in map(rows.__getitem__, numbers):
        key, label, target = f"{row.capture} {row.seq}", "  ".join(looks.look(row)), (row.capture, row.seq)
        style, values = "failed" if _broken(row) else "", {"turn": row.turn or turn_of(row.number) or None}
        lines.append(SheetLine(key=key, label=label, values=values, target=target, style=style, is_wrapped=True))
    # What servers do not offer is no error: one line at the end.
    failed = (rows[number] for number, is_error in enumerate(rows.columns["error"]) if is_error)
    of_section = (row for row in failed if section.is_session or turn_of(row.number) == section.turn)
    if unoffered := [row for row in of_section if _is_unoffered(row)]:
        servers, methods = (dict.fromkeys(getattr(row, name) for row in unoffered) for name in ("peer", "method"))
        label = f"not offered by {', '.join(servers)}: {', '.join(methods)} (asked at the start, no error)"
        target = unoffered[0].capture, unoffered[0].seq
        lines.append(SheetLine(key="unoffered", label=label, style="note", target=target, is_wrapped=True))
    notes = () if numbers or not lines else (EMPTY,)
    return Sheet(what=f"{len(numbers)} to look at in {section.words}", lines=lines, notes=notes, empty=EMPTY)
