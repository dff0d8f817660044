"""Requests in one log and answers in another, joined by an id in both."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from tui_host.capture.record import MISSING
from tui_host.opening.import_types import VALUE_LIMIT, File, Moment, Notes, TimedDraft
from tui_host.opening.logs.log_reader import read_log


class Half(NamedTuple):
    """One of the two files, with the drafts of each exchange, in order."""

    file: File
    exchanges: list[list[TimedDraft]]
    keys: list[str]
    is_asked: bool
    notes: Notes


def halves_in(files: Sequence[File], notes: Notes) -> tuple[Half, Half] | None:
    """Find the log with only requests and the log with only answers; None without both."""
    if len(files) < 2:
        return None
    halves = [half for file in files if (half := _half_of(file, notes)) is not None]
    asked = [half for half in halves if half.is_asked]
    answering = [half for half in halves if not half.is_asked]
    if len(asked) != 1 or len(answering) != 1:
        return None
    shared = set(filter(None, asked[0].keys)) & set(answering[0].keys)
    if shared:
        return asked[0], answering[0]
    notes.messages.append(
        f"{asked[0].file.name} has requests and {answering[0].file.name} has answers, but no id of a request stands in both: each is"
        " shown alone. Log an id (request_id) with both."
    )
    return None


def joined(asked: Half, said: Half, notes: Notes) -> Iterator[TimedDraft]:
    """Merge both files: each answer with the request of the same id."""
    notes.add(asked.notes)
    notes.add(said.notes)
    is_unique = Counter(key for key in asked.keys if key), Counter(key for key in said.keys if key)
    answers = {key: number for number, key in enumerate(said.keys) if is_unique[0][key] == is_unique[1][key] == 1}
    parts: list[tuple[int, int, TimedDraft]] = []
    for number, (key, drafts) in enumerate(zip(asked.keys, asked.exchanges, strict=True)):
        answer = said.exchanges[answers[key]] if key in answers else None
        parts += ((draft.at.ns, number, draft) for draft in (drafts if answer is None else _both(drafts, answer)))
    taken = {number for key, number in answers.items() if key}
    alone = [drafts for number, drafts in enumerate(said.exchanges) if number not in taken]
    parts += ((draft.at.ns, len(asked.keys), draft) for drafts in alone for draft in drafts)
    if alone:
        what = "1 answer" if len(alone) == 1 else f"{len(alone):,} answers"
        notes.messages.append(
            f"{said.file.name} has {what} of which {asked.file.name} has no request of the same id: shown alone."
        )
    is_timed = all(draft.at.is_told for drafts in (*asked.exchanges, *said.exchanges) for draft in drafts[:1])
    yield from (draft for _, _, draft in (sorted(parts, key=lambda part: part[:2]) if is_timed else parts))


def _half_of(file: File, notes: Notes) -> Half | None:
    if len(file.data) > VALUE_LIMIT:
        return None
    own = notes.apart()
    exchanges: dict[str, list[TimedDraft]] = {}
    answered: set[bool] = set()
    for timed in read_log(file, own, "") or ():
        draft = timed.draft
        if draft.wire != "llm" or draft.exchange is None:
            return None
        exchanges.setdefault(draft.exchange, []).append(timed)
        if draft.kind == "request":
            answered.add(draft.malformed == MISSING)
        elif draft.kind == "response" and exchanges[draft.exchange][0].draft.malformed != MISSING:
            return None
        if len(answered) > 1:
            return None
    keys = [own.exchange_keys.get(name, "") for name in exchanges]
    return Half(file, list(exchanges.values()), keys, False in answered, own) if exchanges else None


def _both(asked: Sequence[TimedDraft], said: Sequence[TimedDraft]) -> Iterator[TimedDraft]:
    """A request with its answer, as one exchange, and no draft before the request."""
    request = asked[0]
    answer_head, head = said[0].draft.head, request.draft.head
    if head is not None and answer_head is not None and head.method is None:  # the answer shows the dialect for certain
        request = request._replace(draft=replace(request.draft, head=replace(head, url=answer_head.url)))
    yield request
    begin = Moment(request.at.ns, is_told=False)
    for timed in said[1:]:
        at = begin if timed.at.ns < begin.ns else timed.at
        yield TimedDraft(at, replace(timed.draft, exchange=request.draft.exchange, peer=request.draft.peer))
