"""What requests and responses consist of: the parts of a request, the assembled response, and the links into their bytes."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TypeAlias, TypeVar

from tui_host.answers.bodies import Body, body_of, head_of, missing_words, reading
from tui_host.answers.steps import PIECE, Steps, in_thread
from tui_host.answers.wires import TakenRequest, Wires
from tui_host.capture.ladder.row import Row
from tui_host.capture.link import Link, read_link
from tui_host.llm.dialects.dialect import Dialect
from tui_host.llm.events import ModelEvent
from tui_host.llm.fold import Fold
from tui_host.llm.outline import Comparison, Outline

T = TypeVar("T")
_Names: TypeAlias = "Mapping[str, tuple[str, str]]"
_Outlined: TypeAlias = "tuple[Dialect, _Names, bytes, Outline | None]"
_LAST: deque[_Outlined] = deque(maxlen=6)
"""The requests taken apart last: several pages ask for the same ones, one after the other."""
_LARGE = 1 << 19
"""Bytes of a body from which taking it apart takes more than a few milliseconds."""
MOST = 8 << 20
"""Bytes of a request that is taken apart for an answer."""


def outlined(wires: Wires, row: Row, body: bytes, dialect: Dialect) -> Outline | None:
    """Take a request apart; None if it is no JSON object."""
    return _outlined(wires.names(row), body, dialect)


def _outlined(names: _Names, body: bytes, dialect: Dialect) -> Outline | None:
    for spoken, known, data, outline in _LAST.copy():
        if spoken is dialect and known is names and data == body:
            return outline
    outline = dialect.outline(body, names)
    _LAST.append((dialect, names, body, outline))
    return outline


def outline_of(wires: Wires, row: Row, body: Body, dialect: Dialect) -> Steps[tuple[Outline | None, Comparison | None]]:
    """Return the request as a tree, compared with another request if readable."""
    names = wires.names(row)
    now = yield from _in_steps(lambda: _outlined(names, body.data, dialect), body.data)
    before = wires.compared(row)
    if now is None or before is None:
        return now, None
    old = before.data if isinstance(before, TakenRequest) else (yield from reading(wires, before)).data
    earlier = yield from _in_steps(lambda: _outlined(names, old, dialect), old)
    if earlier is None:
        return now, None
    return now, (yield from _in_steps(lambda: Comparison(earlier, now), now.body))


def _in_steps(work: Callable[[], T], data: bytes) -> Steps[T]:
    """Do something with a body: at once, or in a thread where it is large."""
    words = f"{len(data):,} bytes"
    if len(data) > _LARGE:
        return (yield from in_thread(work, words))
    made = work()
    yield words
    return made


def taken_apart(wires: Wires, row: Row) -> Steps[tuple[Body, Outline] | str]:
    """Read a request and take it apart; returns a sentence if that cannot be done."""
    dialect = wires.dialect(row)
    if dialect is None:
        return "Unknown dialect; see Raw."
    if row.missing:
        return missing_words(row)
    body = yield from reading(wires, row)
    if len(body.data) > MOST:
        return f"{len(body.data):,} bytes are too many to take apart; see Raw."
    outline = outlined(wires, row, body.data, dialect)
    yield "taken apart"
    return "The body is not a JSON object; see Raw." if outline is None else (body, outline)


def taken(wires: Wires, row: Row, session: str) -> TakenRequest | None:
    """Take a request out of its session; None if it is missing, too large or of an unknown dialect."""
    dialect = wires.dialect(row)
    if dialect is None or row.missing or row.size > MOST:
        return None
    body = body_of(wires, row)
    name = f"{wires.called(row)} of {session}"
    return TakenRequest(name=name, data=body.data, redacted=body.redacted, dialect=dialect)


def fold_of(
    wires: Wires, row: Row, body: Body, dialect: Dialect, events: list[ModelEvent] | None = None
) -> Steps[Fold]:
    """Assemble the response from its events, which are added to a list."""
    head = head_of(wires, row)
    decoder = dialect.decoder(head.value("content-type") if head is not None else "")
    fold = Fold(provider=row.peer, model="", call_id=str)
    read = [] if events is None else events
    for start in range(0, len(body.data), PIECE):
        for event in decoder.feed(body.data[start : start + PIECE]):
            fold.add(event)
            read.append(event)
        yield f"{start:,} of {len(body.data):,} bytes read"
    if row.state != "open":
        for event in decoder.finish():
            fold.add(event)
            read.append(event)
    return fold


def marks_of(wires: Wires, row: Row) -> list[Link]:
    """Return the links into a row's bytes, in the order of bytes."""
    side = "request" if row.kind == "request" else "response"
    records = filter(None, map(wires.record, wires.ladder.links(row)))
    links = filter(None, (read_link(record.data) for record in records))
    return sorted((link for link in links if link.span.side == side), key=lambda link: link.span.start)


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
