"""Searches sessions by looking through all texts, so that short words, as in Chinese, are found too."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple, TypeAlias

from tui_host.capture.content_codings import decode_records
from tui_host.capture.json.narrowing import number_or_zero
from tui_host.capture.json.reading import read_object
from tui_host.capture.ladder.ladder import Ladder
from tui_host.capture.ladder.row_filter import TOKENS, Reading, Term, WantedTexts, read_filter, row_test, terms
from tui_host.capture.record import Head, Record
from tui_host.capture.session_summary import SessionInfo
from tui_host.capture.store.store import Store
from tui_host.errors import JSON

MOST_BYTES = 256 << 20  # of records, in which a search looks unless it is told to look everywhere
_STEP_RECORDS = 200  # between two looks at whether to go on
_AROUND_CHARACTERS = 40
_NOT_SAID = frozenset(
    (
        *("id", "wire_id", "role", "part", "stop", "source", "media_type", "data", "echo", "provider", "model"),
        *("item", "state", "call", "decision", "by", "words", "kind", "progress"),
    )
)
"""Fields of messages and chat items that are not part of what was said."""

AnswerReader: TypeAlias = Callable[[str, Head, bytes], tuple[str, int]]
"""Returns what a model's answer says, put together from its events, and its tokens; from URL, head and body."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A session that contains all words."""

    session: SessionInfo
    excerpt: str = ""  # foreign text around the first word, one line; empty where the title alone has it
    turn: int = 0  # of the excerpt
    rows: int = 0  # that match, for a filter with conditions on rows
    where: Literal["title", "chat", "records"] = "title"  # `records` where neither title nor messages match


def search_chats(store: Store, words: str) -> Iterator[Found]:
    """Yield sessions with every word and quoted text in title or messages, the last changed first; none for other filters."""
    needles = WantedTexts(read_filter(words).whole_texts)
    for session in store.sessions.list() if needles.texts else ():
        match = _with_all(session, needles, _said(store, session.id, needles))
        if match is not None:
            yield match


def _with_all(session: SessionInfo, needles: WantedTexts, bodies: Iterable[tuple[bytes, int]]) -> Found | None:
    """Return a session whose title and bodies, each with its turn, have all texts together."""
    missing = needles.texts
    if session.parent is None:  # a branch has its title from there, and is found by its own words
        missing -= needles.contained(session.title.encode("utf-8", "replace"))
    excerpt, turn = "", 0
    for data, turn_of_it in bodies if missing else ():
        here = needles.contained(data)
        if here and not excerpt:
            text, turn = data.decode("utf-8", "replace"), turn_of_it
            folded = text.casefold()
            places = [(at, needle) for needle in here if (at := folded.find(needle.casefold())) >= 0]
            at, needle = min(places, default=(0, ""))
            start, end = max(0, at - _AROUND_CHARACTERS), at + len(needle) + _AROUND_CHARACTERS
            around = " ".join(text[start:end].split())
            excerpt = f"{'…' if start else ''}{around}{'…' if end < len(text) else ''}"
        missing -= here
        if not missing:
            break
    where = "chat" if excerpt else "title"
    return None if missing else Found(session=session, excerpt=excerpt, turn=turn, where=where)


def _said(store: Store, session: str, needles: WantedTexts) -> Iterator[tuple[bytes, int]]:
    # what came from a file was told to no model of ours: its chat has what was said
    for text in store.sessions.messages(session, shared=()) or store.session_items(session, shared=()):
        data = text.encode("utf-8", "replace")
        if needles.contained(data):  # only what may match is parsed
            value = read_object(data)
            yield " ".join(_strings(value)).encode("utf-8", "replace"), number_or_zero(value.get("turn"))


def _strings(value: JSON) -> Iterator[str]:
    if isinstance(value, Mapping):
        value = [item for name, item in value.items() if name not in _NOT_SAID]
    if isinstance(value, str):
        yield value
    elif isinstance(value, Sequence):
        for item in value:
            yield from _strings(item)


class _StoppedError(Exception): ...


class _Body(NamedTuple):
    """A body, with the key of its first record; an answer's is its head."""

    key: tuple[str, int]
    turn: int
    data: bytes
    tokens: int


@dataclass(slots=True)
class RecordSearch:
    """Searches the records of sessions one by one, within a limit for all of them."""

    store: Store
    reading: Reading
    answer: AnswerReader
    estimate: Callable[[bytes], int]  # the tokens of a request's body
    bytes_left: float = MOST_BYTES  # of records to look in; infinite for all
    goes_on: Callable[[], bool] = lambda: True  # asked now and then
    looked: int = 0  # sessions that were searched to the end

    def in_session(self, session: SessionInfo) -> Found | None:
        """Search one session; None without a match, or if the limit was reached before."""
        query = self.reading.query
        if query is None or self.bytes_left <= 0:
            return None
        needles = WantedTexts(term.value for term in terms(query, negated=True) if term.is_text)
        try:
            if self.reading.whole_texts:
                match = _with_all(session, needles, ((body.data, body.turn) for body in self._bodies(session, None)))
            else:
                match = self._with_rows(session, needles)
        except _StoppedError:
            return None
        self.looked += 1
        return match and replace(match, where="records")

    def _with_rows(self, session: SessionInfo, needles: WantedTexts) -> Found | None:
        ladder = Ladder()
        bodies = [(body.key, needles.contained(body.data), body.tokens) for body in self._bodies(session, ladder)]
        ladder.close()
        by_row = {ladder.row_of(key): (texts, tokens) for key, texts, tokens in bodies if texts or tokens}

        def read(term: Term, number: int) -> int:
            texts, tokens = by_row.get(number, (frozenset[str](), 0))
            return tokens if term.field == TOKENS else term.value in texts

        matches = [*filter(row_test(self.reading.query, ladder, read), range(len(ladder.rows)))]
        if not matches:
            return None
        first = ladder.rows[matches[0]]
        excerpt = " ".join(filter(None, (first.peer, first.method, first.words)))
        return Found(session=session, excerpt=excerpt, turn=first.turn, rows=len(matches))

    def _bodies(self, session: SessionInfo, ladder: Ladder | None) -> Iterator[_Body]:
        """Yield the bodies of a session, without the preamble, which repeats in every session; feed a ladder."""
        counts = any(term.field == TOKENS for term in terms(self.reading.query, negated=True))
        answers: dict[tuple[str, str | None], list[Record]] = {}
        for number, (record, is_preamble) in enumerate(self.store.session_records(session.id, ())):
            if number % _STEP_RECORDS == 0 and (self.bytes_left <= 0 or not self.goes_on()):
                raise _StoppedError
            self.bytes_left -= len(record.data) + 100
            if is_preamble:
                continue
            if ladder is not None:
                ladder.feed([record])
            exchange = record.capture, record.exchange
            is_request = record.wire == "llm" and record.kind == "request"
            if is_request and ladder is None and session.parent is not None:
                continue  # it repeats what is shared, and what it adds the chat has
            if is_request or record.kind in {"frame", "line", "decision"}:
                tokens = self.estimate(record.data) if counts and is_request else 0
                yield _Body(record.key, record.place.turn or 0, record.data, tokens)
            if is_request or (record.wire == "llm" and record.kind in {"response", "chunk"}):
                answers.setdefault(exchange, []).append(record)
            elif record.kind in {"end", "error"} and exchange in answers:
                yield self._answer(answers.pop(exchange))
        yield from map(self._answer, answers.values())  # they are still coming, or their program was killed

    def _answer(self, records: Sequence[Record]) -> _Body:
        heads = {record.kind: record for record in records if record.head is not None}
        request, response = (heads.get(kind, Record(wire="llm", kind=kind)) for kind in ("request", "response"))
        url = "" if request.head is None else request.head.url
        data, _ = decode_records(record for record in records if record.kind == "chunk")
        words, tokens = self.answer(url or "", response.head or Head(), data)
        whole = data + b"\n" + words.encode("utf-8", "replace")
        return _Body(response.key, response.place.turn or 0, whole, tokens)
