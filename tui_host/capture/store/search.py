"""Searches sessions: chats by words and quoted texts, records by the language of the filter.

Texts are found by looking through all of them, so that short words, as in Chinese, are found too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TypeAlias

from tui_host.capture.content_codings import decode_records
from tui_host.capture.json.narrowing import number_or_zero
from tui_host.capture.json.reading import read_object
from tui_host.capture.ladder.filter_fields import Needles, Verdict
from tui_host.capture.ladder.filter_language import Reading, read_filter, row_test, terms
from tui_host.capture.ladder.ladder import Ladder
from tui_host.capture.record import Head, Record
from tui_host.capture.session_summary import SessionInfo
from tui_host.capture.store.store import Store
from tui_host.capture.store.stored_sessions import StoredSessions
from tui_host.errors import JSON

MOST_BYTES = 256 << 20
"""Bytes of records in which a search looks unless it is told to look everywhere."""
_STEP_RECORDS = 200
"""Records between two looks at whether to go on."""
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
_Facts: TypeAlias = tuple[frozenset[str], int]
"""The wanted texts in a body, and its tokens."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A session that contains all words.

    Attributes:
        excerpt: Foreign text around the first word, one line; empty where the title alone has it.
        turn: The turn of the excerpt.
        rows: The number of matching rows, for a filter with conditions on rows.
        in_records: Whether only records match, neither title nor messages.
    """

    session: SessionInfo
    excerpt: str = ""
    turn: int = 0
    rows: int = 0
    in_records: bool = False


def search_chats(sessions: StoredSessions, words: str) -> Iterator[Found]:
    """Yield sessions with every word and quoted text in title or messages, in any case; the last changed first. Blocks.

    A filter with conditions on rows matches no chat: `RecordSearch` searches rows.
    """
    texts = read_filter(words).whole_texts
    needles = Needles(texts)
    for session in sessions.list() if texts else ():
        match = _in_chat(sessions, session, needles)
        if match is not None:
            yield match


def _in_chat(sessions: StoredSessions, session: SessionInfo, needles: Needles) -> Found | None:
    missing = needles.texts - needles.contained(session.title.encode("utf-8", "replace"))
    excerpt, turn = "", 0
    # what came from a file was told to no model of ours: its chat has what was said
    for text in sessions.messages(session.id) or sessions.item_texts(session.id) if missing else ():
        if not needles.contained(text.encode("utf-8", "replace")):
            continue  # only what may match is parsed
        value = read_object(text.encode("utf-8", "replace"))
        spoken = " ".join(_strings(value))
        here = needles.contained(spoken.encode("utf-8", "replace"))
        if here and not excerpt:
            excerpt, turn = _excerpt(spoken, here), number_or_zero(value.get("turn"))
        missing -= here
        if not missing:
            break
    return None if missing else Found(session=session, excerpt=excerpt, turn=turn)


def _strings(value: JSON) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for name, item in value.items():
            if name not in _NOT_SAID:
                yield from _strings(item)
    elif isinstance(value, Sequence):
        for item in value:
            yield from _strings(item)


def _excerpt(said: str, texts: frozenset[str]) -> str:
    """Return the text around the first of some words, as one line."""
    folded = said.casefold()
    places = [(at, text) for text in texts if (at := folded.find(text.casefold())) >= 0]
    at, text = min(places, default=(0, ""))
    start, end = max(0, at - _AROUND_CHARACTERS), at + len(text) + _AROUND_CHARACTERS
    words = " ".join(said[start:end].split())
    return f"{'…' if start else ''}{words}{'…' if end < len(said) else ''}"


class RecordSearch:
    """Searches the records of sessions one by one, within a limit for all of them.

    Args:
        store: The store.
        reading: The filter.
        answer: Reads the answers of models, which this layer does not understand.
        estimate: Returns the tokens of a request's body.
        most_bytes: Bytes of records to look at; None for all.
        goes_on: Whether to go on, asked now and then.

    Attributes:
        looked: StoredSessions whose records were searched to the end.
    """

    def __init__(
        self,
        store: Store,
        reading: Reading,
        *,
        answer: AnswerReader,
        estimate: Callable[[bytes], int],
        most_bytes: int | None = MOST_BYTES,
        goes_on: Callable[[], bool] = lambda: True,
    ) -> None:
        self.looked = 0
        self._store = store
        self._query = reading.query
        self._left = most_bytes
        self._goes_on = goes_on
        wanted = list(terms(reading.query, negated=True))
        counts = any(term.field == "tokens" for term in wanted)
        self._needles = Needles(term.value for term in wanted if term.is_text)
        self._texts = frozenset(reading.whole_texts)
        self._readers = answer, estimate if counts else None

    @property
    def is_over(self) -> bool:
        """Whether the limit is reached."""
        return self._left is not None and self._left <= 0

    def in_session(self, session: SessionInfo) -> Found | None:
        """Search one session; None without a match, or if the limit was reached before."""
        if self._query is None or self.is_over:
            return None
        ladder = None if self._texts else Ladder()
        bodies = _Bodies(self._needles, *self._readers)
        missing = self._texts - self._needles.contained(session.title.encode())
        first: Found | None = None
        for number, record in enumerate(chain(self._records(session), (None,))):
            if number % _STEP_RECORDS == 0 and (self.is_over or not self._goes_on()):
                return None
            if ladder is not None and record is not None:
                ladder.feed([record])
            for data, texts in bodies.rest() if record is None else bodies.read(record):
                if first is None and texts:
                    excerpt = _excerpt(data.decode("utf-8", "replace"), texts)
                    turn = 0 if record is None else record.place.turn or 0
                    first = Found(session=session, excerpt=excerpt, turn=turn, in_records=True)
                missing -= texts
            if self._texts and not missing:
                break
        self.looked += 1
        if ladder is None:
            return None if missing else first
        return self._in_rows(session, ladder, bodies)

    def _in_rows(self, session: SessionInfo, ladder: Ladder, bodies: _Bodies) -> Found | None:
        ladder.close()
        bodies.place(ladder)
        matches = [*filter(row_test(self._query, ladder, bodies), range(len(ladder.rows)))]
        if not matches:
            return None
        row = ladder.rows[matches[0]]
        excerpt = " ".join(filter(None, (row.peer, row.method, row.words)))
        return Found(session=session, excerpt=excerpt, turn=row.turn, rows=len(matches), in_records=True)

    def _records(self, session: SessionInfo) -> Iterator[Record]:
        """Yield the session's own records: the preamble repeats in every session."""
        for record, is_preamble in self._store.session_records(session.id):
            if self._left is not None:
                self._left -= len(record.data) + 100
            if not is_preamble:
                yield record


class _Bodies:
    """The texts of bodies as records pass by, then of rows."""

    def __init__(self, needles: Needles, answer: AnswerReader, estimate: Callable[[bytes], int] | None) -> None:
        self._needles = needles
        self._read_answer = answer
        self._estimate = estimate
        self._open: dict[tuple[str, str], list[Record]] = {}  # exchanges with models
        self._of_record: dict[tuple[str, int], _Facts] = {}
        self._of_answer: dict[tuple[str, str], _Facts] = {}
        self._of_row: dict[int, _Facts] = {}

    def read(self, record: Record) -> Iterator[tuple[bytes, frozenset[str]]]:
        """Yield the bodies that a record completes, each with the texts in it."""
        is_of_model = record.wire == "llm"
        key = record.capture, record.exchange or ""
        if record.kind in {"frame", "line", "decision"} or (record.kind == "request" and is_of_model):
            texts = self._needles.contained(record.data)
            tokens = self._estimate(record.data) if self._estimate is not None and record.kind == "request" else 0
            if texts or tokens:
                self._of_record[record.key] = texts, tokens
            yield record.data, texts
        if is_of_model and record.kind in {"request", "response", "chunk"}:
            self._open.setdefault(key, []).append(record)
        elif is_of_model and record.kind in {"end", "error"} and key in self._open:
            yield self._answer(key, self._open.pop(key))

    def rest(self) -> Iterator[tuple[bytes, frozenset[str]]]:
        """Yield the answers that have no end: they are still coming, or their program was killed."""
        for key, exchange in self._open.items():
            yield self._answer(key, exchange)

    def _answer(self, key: tuple[str, str], exchange: list[Record]) -> tuple[bytes, frozenset[str]]:
        heads = {record.kind: record.head for record in exchange if record.head is not None}
        url = heads["request"].url if "request" in heads else None
        data, _ = decode_records(record for record in exchange if record.kind == "chunk")
        answer_words, tokens = self._read_answer(url or "", heads.get("response", Head()), data)
        whole = data + b"\n" + answer_words.encode("utf-8", "replace")
        texts = self._needles.contained(whole)
        self._of_answer[key] = texts, tokens
        return whole, texts

    def place(self, ladder: Ladder) -> None:
        """Give the texts to the rows, once all records have passed."""
        places = {ladder.row_of(key): facts for key, facts in self._of_record.items()}
        for (capture, exchange), facts in self._of_answer.items():
            request = ladder.request_of(capture, exchange)
            places[None if request is None else ladder.partner(request)] = facts
        self._of_row = {number: facts for number, facts in places.items() if number is not None}

    def shows(self, number: int, word: str) -> Verdict:
        """Whether the body of a row contains a word."""
        return self.contains(number, word)

    def contains(self, number: int, text: str) -> Verdict:
        """Whether the body of a row contains a text."""
        return number in self._of_row and text in self._of_row[number][0]

    def tokens(self, number: int) -> int | None:
        """Return the tokens of a request or an answer; 0 for other rows."""
        return self._of_row[number][1] if number in self._of_row else 0
