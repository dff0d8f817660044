"""What requests and responses consist of: the parts of a request, the assembled response, and the links into their bytes."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping
from typing import TypeAlias
from weakref import WeakKeyDictionary

from tui_host.answers.bodies import Body, body_of, head_of, missing_words
from tui_host.answers.wires import TakenRequest, Wires
from tui_host.capture.ladder.ladder import Ladder
from tui_host.capture.ladder.row import Row
from tui_host.capture.link import Link, read_link
from tui_host.llm.dialects.dialect import Dialect
from tui_host.llm.events import ModelEvent
from tui_host.llm.fold import Fold
from tui_host.llm.layout import outline_of
from tui_host.llm.outline import Outline

_Outlined: TypeAlias = "tuple[Dialect, Mapping[str, tuple[str, str]], bytes, Outline | None]"
_LAST: deque[_Outlined] = deque(maxlen=6)
"""The requests taken apart last: several pages ask for the same ones, one after the other."""
_LOOK_BACK = 400  # number of requests whose results are looked for in a later one
HOST = "tui-host"
FRAMES = "frames a result"  # what the links of a tool protocol of plain text say about the words around a result
_NOTE = re.compile(
    r"\[(?:The user stopped|No answer followed|The host ended|The connection broke off) |In your answer .{,200} stood behind a call"
    r"|You have made the same call with the same arguments \d+ times"
)
"""How a message begins that the host itself writes into a conversation."""
_TOLD: WeakKeyDictionary[Ladder, dict[int, list[Link]]] = WeakKeyDictionary()
"""The results that each request tells for the first time, as long as the rows are kept."""
MOST = 8 << 20  # bytes of a request that is taken apart for an answer


def outlined(wires: Wires, row: Row, body: bytes, dialect: Dialect) -> Outline | None:
    """Take a request apart; None if it is no JSON object."""
    names = wires.names(row)
    for spoken, known, data, outline in _LAST.copy():
        if spoken is dialect and known is names and data == body:
            return outline
    outline = outline_of(body, names)
    _LAST.append((dialect, names, body, outline))
    return outline


def compared_with(wires: Wires, row: Row, earlier: Row | TakenRequest) -> str:
    """Name the request that one is compared with: `LLM 2, the request before`."""
    name = earlier.name if isinstance(earlier, TakenRequest) else wires.called(earlier)
    if earlier == wires.before(row):
        return f"{name}, the request before"
    return name if row.number in wires.chosen else f"{name}, which is marked"


def read_body(wires: Wires, row: Row) -> tuple[Body, Dialect] | str:
    """Read a request or an answer whose dialect is known; returns a sentence if that cannot be done."""
    dialect = wires.dialect(row)
    if dialect is None:
        return "Unknown dialect; see Raw."
    if row.missing:
        return missing_words(row)
    body = body_of(wires, row)
    return f"{len(body.data):,} bytes are too many; see Raw." if len(body.data) > MOST else (body, dialect)


def taken_apart(wires: Wires, row: Row) -> tuple[Body, Outline] | str:
    """Read a request and take it apart; returns a sentence if that cannot be done."""
    read = read_body(wires, row)
    if isinstance(read, str):
        return read
    outline = outlined(wires, row, read[0].data, read[1])
    return "The body is not a JSON object; see Raw." if outline is None else (read[0], outline)


def earlier_apart(wires: Wires, row: Row, earlier: Row | TakenRequest) -> tuple[Body, Outline] | str:
    """Take apart what a request is compared with; returns a sentence if that cannot be done."""
    if not isinstance(earlier, TakenRequest):
        return taken_apart(wires, earlier)
    outline = outline_of(earlier.data, wires.names(row))
    body = Body(wire=earlier.data, data=earlier.data, redacted=earlier.redacted)
    return "The other request is not a JSON object." if outline is None else (body, outline)


def taken(wires: Wires, row: Row, session: str) -> TakenRequest | None:
    """Take a request out of its session; None if it is missing, too large or of an unknown dialect."""
    read = read_body(wires, row)
    if isinstance(read, str):
        return None
    body, dialect = read
    name = f"{wires.called(row)} of {session}"
    return TakenRequest(name=name, data=body.data, redacted=body.redacted, dialect=dialect)


def folded(wires: Wires, row: Row, body: Body, dialect: Dialect, events: list[ModelEvent] | None = None) -> Fold:
    """Assemble the response from its events, which are added to a list."""
    head = head_of(wires, row)
    decoder = dialect.decoder(head.value("content-type") if head is not None else "")
    fold = Fold(provider=row.peer, model="", call_id=str)
    for event in (*decoder.feed(body.data), *(decoder.finish() if row.state != "open" else ())):
        fold.add(event)
        if events is not None:
            events.append(event)
    return fold


def marks_of(wires: Wires, row: Row) -> list[Link]:
    """Return the links into a row's bytes, in the order of bytes."""
    seqs = wires.ladder.links.get((row.capture, row.exchange), ())
    links = (read_link(record.data) for seq in seqs if (record := wires.record((row.capture, seq))) is not None)
    side = "request" if row.kind == "request" else "response"
    return sorted((link for link in links if link and link.span.side == side), key=lambda link: link.span.start)


def told_until(wires: Wires, row: Row) -> Mapping[int, str]:
    """Return where the requests up to one began to tell results, in bytes, and whose: `math.add`, or `HOST` for a call without one.

    A result stands at its place in all later requests too, as long as what is before it does not change.
    """
    told: dict[int, str] = {}
    whole = wires.whole or wires
    ladder, kept = whole.ladder, _TOLD.setdefault(whole.ladder, {})
    numbers = ladder.numbers.requests
    until = bisect_left(numbers, row.number) if whole is wires else len(numbers)
    links: list[Link] = []
    for number in numbers[max(0, until - _LOOK_BACK) : until]:
        if number not in kept:
            kept[number] = [mark for mark in marks_of(whole, ladder.rows[number]) if mark.relation == "told"]
        links += kept[number]
    for mark in (*links, *marks_of(wires, row)):
        if mark.relation == "told":
            frames = (ladder.rows[at] for at in ladder.calls.get(mark.call, ()))
            is_answered = any(frame.answer and not frame.outward for frame in frames)
            is_other = (
                wires.user != "you" or mark.known != "id"
            )  # another host's call may have gone where nobody saw it
            name = ".".join(filter(None, (mark.server, mark.tool)))
            told[mark.span.start] = name if is_answered or is_other else HOST
    return told


def host_parts(wires: Wires, row: Row, outline: Outline) -> Mapping[str, str]:
    """Return the parts of a request that the host itself wrote in the place of a result, or as a note, by their keys."""
    told = [place for place, who in told_until(wires, row).items() if who == HOST]
    parts: dict[str, str] = {}
    for part in outline.walk() if wires.user == "you" else ():
        is_note = part.kind in {"message", "text"} and _NOTE.match(part.preview)
        is_told = part.kind in {"result", "message"} and any(part.start <= place < part.end for place in told)
        has_more = part.kind == "message" and sum(child.kind != "text" for child in part.children) > 1
        if is_note or (is_told and not has_more):
            parts[part.key] = HOST
    return parts


def put_in(marks: Iterable[Link]) -> Iterator[str]:
    """Yield the sizes added by a profile and the tool protocol, and how many schemas were adapted."""
    sizes: Counter[str] = Counter()
    adapted: Counter[str] = Counter()
    for mark in marks:
        if mark.relation == "adapted":
            adapted[mark.words.partition(":")[0]] += 1
        if mark.relation in {"injected", "profile"}:
            who = "the tool protocol" if mark.relation == "injected" else mark.words
            sizes[who] += (mark.span.end or 0) - mark.span.start
    yield from (f"added by {who}: {size:,} bytes, marked «added» below" for who, size in sizes.items())
    yield from (f"{words}: {count:,} of the tools, which say how" for words, count in adapted.items())
