"""Requests in one file and their answers in another, as a proxy writes them that has a log for each way.

They are joined where there is no doubt: by what names an exchange in both, by their times, or, without any, each with the one of its
number where there are as many of both, and nothing speaks against it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from tui_host.capture.record import MISSING, Draft
from tui_host.opening.drafts import File, Moment, Notes, Seen, read_value
from tui_host.opening.exchange_assembly import TYPES, address_of
from tui_host.opening.logs.doubts import Answer, may_be_otherwise
from tui_host.opening.logs.lines import names_in
from tui_host.opening.logs.lines import read as read_log
from tui_host.opening.logs.names import Names
from tui_host.opening.single_body import Body
from tui_host.opening.wire_detection import Wires, dialect_of_request, dialects_of_request

MOST = 64 << 20
"""Bytes of both; what they say is held for it."""


class Halves(NamedTuple):
    """A file with requests alone, and one with answers alone.

    Attributes:
        asked: That with the requests.
        said: That with the answers.
        names: What names the exchanges in both; None if nothing surely does.
    """

    asked: File
    said: File
    names: Names | None


@dataclass(slots=True)
class _Exchange:
    """What one of the files has of an exchange.

    Attributes:
        seen: All of it.
        begin: Where its first piece stands among all of the file.
        end: Where its last one does.
    """

    seen: list[Seen]
    begin: int = 0
    end: int = 0

    @property
    def at(self) -> Moment:
        """When it begins."""
        return self.seen[0].at

    @property
    def answer(self) -> Answer:
        """What was said in it."""
        drafts = [each.draft for each in self.seen]
        heads = [header for each in drafts if each.head is not None for header in each.head.headers]
        data = b"".join(each.data for each in drafts if each.kind == "chunk")
        return Answer(self.begin, self.end, data, is_streamed=("content-type", TYPES["json"]) not in heads)


def halves_of(logs: Sequence[File], bodies: Sequence[tuple[File, Body]], wires: Wires) -> Halves | None:
    """The two halves among several files; None if there are none, more than two, or nothing but one body and another."""
    if len(logs) + len(bodies) < 2 or not logs:
        return None
    asked = [file for file, body in bodies if body.is_request]
    said = [file for file, body in bodies if not body.is_request]
    for file in logs:
        match _half(file, wires) if len(file.data) <= MOST else "":
            case "asked":
                asked.append(file)
            case "said":
                said.append(file)
            case _:
                pass
    is_one = len(asked) == len(said) == 1 and len(asked[0].data) + len(said[0].data) <= MOST
    if not is_one or not any(file in (asked[0], said[0]) for file in logs):
        return None
    are_logs = asked[0] in logs and said[0] in logs
    return Halves(asked[0], said[0], names_in(asked[0], said[0], wires) if are_logs else None)


def _half(file: File, wires: Wires) -> str:
    """Whether a log has nothing but requests (`asked`), or nothing but answers (`said`)."""
    found = ""
    answers: set[str | None] = set()
    for draft in (seen.draft for seen in read_log(file, wires, Notes(), "")):
        if draft.wire == "mcp" or (draft.kind == "response" and draft.exchange not in answers):
            return ""
        if draft.kind != "request":
            continue
        half = "said" if draft.malformed == MISSING else "asked"
        if half == "said":
            answers.add(draft.exchange)
        if found not in {"", half}:
            return ""
        found = half
    return found


def joined(halves: Halves, asked: Iterator[Seen], said: Iterator[Seen], notes: Notes) -> Iterator[Seen]:
    """What both say, in one order.

    Args:
        halves: The files.
        asked: What the one says.
        said: What the other says.
        notes: Told which answers belong to nothing for sure.
    """
    requests, answers = _exchanges(asked), _exchanges(said)
    are_named = halves.names is not None
    asked_by, said_by = ([_name(each, notes) for each in exchanges] for exchanges in (requests, answers))
    times = ([each.at for each in requests], [each.at for each in answers])
    found = _by_names(asked_by, said_by) if are_named else _pairs(*times)
    pairs = {answer: request for answer, request in found.items() if _fit(requests[request], answers[answer])}
    is_timed = all(seen.at.is_told for exchange in (*requests, *answers) for seen in exchange.seen[:1])
    if not is_timed and not are_named and pairs:
        bodies = [each.seen[0].draft.data for each in requests]
        pairs = {} if may_be_otherwise(bodies, [each.answer for each in answers], pairs) else pairs
    alone = len(answers) - len(pairs)
    if alone:
        which = "it belongs" if alone == 1 else f"{alone:,} of them belong"
        notes.told.append(
            f"{halves.asked.name} has {_count(len(requests), 'request')}, {halves.said.name} {_count(len(answers), 'answer')}:"
            f" to which {which} is not beyond doubt, and that stands alone."
        )
    answered = {request: answers[answer] for answer, request in pairs.items()}
    parts = [
        (number, seen)
        for number, request in enumerate(requests)
        for seen in (_asked(request, answered[number]) if number in answered else request.seen)
    ]
    for number, answer in enumerate(answers):
        to = pairs.get(number)
        of = answer.seen if to is None else _to(requests[to], answer)
        parts += [(number if to is None else to, seen) for seen in of]
    if is_timed:
        yield from (seen for _, seen in sorted(parts, key=lambda each: (each[1].at.ns, each[0])))
        return
    ns = min((seen.at.ns for _, seen in parts if seen.at.is_told), default=parts[0][1].at.ns if parts else 0)
    for _, seen in sorted(parts, key=lambda each: each[0]):
        ns = max(ns, seen.at.ns) if seen.at.is_told else ns
        yield seen if seen.at.is_told else replace(seen, at=Moment(ns, is_told=False))


def _exchanges(seen: Iterator[Seen]) -> list[_Exchange]:
    """Each exchange, with the lines of standard error behind its beginning."""
    found: dict[str | None, _Exchange] = {}
    others: list[Seen] = []
    last = others
    for number, each in enumerate(seen):
        if each.draft.wire == "llm":
            exchange = found.setdefault(each.draft.exchange, _Exchange([], number))
            exchange.end = number if each.draft.kind == "chunk" else exchange.end
            last = exchange.seen
        last.append(each)
        if others and last is not others:
            last += others
            others.clear()
    return list(found.values())


def _name(exchange: _Exchange, notes: Notes) -> str:
    return notes.names.get(exchange.seen[0].draft.exchange or "", "")


def _by_names(asked: Sequence[str], said: Sequence[str]) -> dict[int, int]:
    """By the number of each answer that of the request of its name; of one that was made several times the last ones have them."""
    found: dict[int, int] = {}
    requests: dict[str, list[int]] = {}
    answers = Counter(name for name in said if name)
    for number, name in enumerate(asked):
        requests.setdefault(name, []).append(number)
    for number, name in enumerate(said):
        if name and (waiting := requests.get(name)):
            found[number] = waiting.pop(max(len(waiting) - answers[name], 0))
            answers[name] -= 1
    return found


def _pairs(asked: Sequence[Moment], said: Sequence[Moment]) -> dict[int, int]:
    """By the number of each answer that belongs to a request beyond doubt the number of that."""
    by_number = {number: number for number in range(len(said))} if len(asked) == len(said) else {}
    if not all(at.is_told for at in (*asked, *said)):
        return by_number
    if by_number and all(
        at.ns <= said[number].ns and (number + 1 == len(asked) or said[number].ns <= asked[number + 1].ns)
        for number, at in enumerate(asked)
    ):
        return by_number
    order = [(at.ns, 0, number) for number, at in enumerate(asked)] + [
        (at.ns, 1, number) for number, at in enumerate(said)
    ]
    found, is_mixed = _by_times(sorted(order), is_mixed=False)
    return _by_times(sorted(order), is_mixed=True)[0] if is_mixed else found


def _by_times(order: Iterable[tuple[int, int, int]], *, is_mixed: bool) -> tuple[dict[int, int], bool]:
    """The same by the order of requests and answers; and whether some that were passed over had answers of their own, later.

    Of several that wait nobody knows whose an answer was. In most files the others were asked in vain; else they wait still.
    """
    found: dict[int, int] = {}
    waiting: list[int] = []
    answers = 0
    has_more = is_passed_over = False
    for _, is_answer, number in order:
        if not is_answer:
            waiting.append(number)
            answers += 1
            continue
        has_more |= not answers and is_passed_over
        if len(waiting) == 1:
            found[number] = waiting[0]
        is_passed_over |= len(waiting) > 1
        answers = max(answers - 1, 0) if is_mixed else 0
        waiting = waiting if answers else []
    return found, has_more


def _fit(request: _Exchange, answer: _Exchange) -> bool:
    """Whether both are of one API."""
    asked = request.seen[0].draft
    value = read_value(asked.data)
    spoken = dialects_of_request(value, dialect_of_request(value))
    return any(_is_of(dialect, answer.seen[0].draft) for dialect in spoken)


def _is_of(dialect: str, draft: Draft) -> bool:
    return draft.head is not None and draft.head.url == address_of(dialect)


def _asked(request: _Exchange, answer: _Exchange) -> Iterator[Seen]:
    """A request that is answered, in the dialect of that where nothing else tells its own."""
    first, *others = request.seen
    head, said = first.draft.head, answer.seen[0].draft.head
    if head is not None and said is not None and head.method is None:
        first = replace(first, draft=replace(first.draft, head=replace(head, url=said.url)))
    yield first
    yield from (each for each in others if each.draft.wire != "llm")


def _to(request: _Exchange, answer: _Exchange) -> Iterator[Seen]:
    """An answer's own records, as those of the request's exchange: none is before that, however the clocks stand."""
    asked, begin = request.seen[0].draft, Moment(request.at.ns, is_told=False)
    for each in answer.seen[1:]:
        at = begin if each.at.is_told and each.at.ns < begin.ns else each.at
        is_its = each.draft.wire == "llm"
        draft = replace(each.draft, exchange=asked.exchange, peer=asked.peer) if is_its else each.draft
        yield replace(each, at=at, draft=draft)


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"
