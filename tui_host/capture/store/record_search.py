"""Searches the records of sessions: bodies by words and quoted texts, rows by the language of the filter."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TypeAlias

from tui_host.capture.content_codings import CodingError, decoder
from tui_host.capture.ladder.filter_language import Field, Quoted, Reading, Word, leaves
from tui_host.capture.ladder.ladder import Ladder
from tui_host.capture.ladder.row_filter import Needles, Verdict, row_test
from tui_host.capture.record import Head, Record
from tui_host.capture.session_summary import SessionInfo
from tui_host.capture.store.search import Found, excerpt_of
from tui_host.capture.store.store import Store

MOST_BYTES = 256 << 20
"""Bytes of records in which a search looks unless it is told to look everywhere."""
_STEP = 200
"""Records between two looks at whether to go on."""


AnswerReader: TypeAlias = Callable[[str, Head, bytes], tuple[str, int]]
"""Returns what a model's answer says, put together from its events, and its tokens; from URL, head and body."""


@dataclass(slots=True)
class _Answer:
    url: str = ""
    head: Head = field(default_factory=Head)
    encoding: str | None = None
    pieces: list[bytes] = field(default_factory=list[bytes])


class RecordSearch:
    """Searches sessions one by one, within a limit for all of them.

    Args:
        store: The store.
        reading: The filter.
        answer: Reads the answers of models, which this layer does not understand.
        estimate: Returns the tokens of a request's body.
        most_bytes: Bytes of records to look at; None for all.
        goes_on: Whether to go on, asked now and then.

    Attributes:
        looked: Sessions whose records were searched to the end.
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
        self._answer, self._estimate = answer, estimate
        self._left = most_bytes
        self._goes_on = goes_on
        terms = list(leaves(reading.query, negated=True))
        self._needles = Needles(term.text for term in terms if isinstance(term, Word | Quoted))
        self._counts = any(isinstance(term, Field) and term.name == "tokens" for term in terms)
        self._texts = frozenset(reading.whole_texts)

    @property
    def is_over(self) -> bool:
        """Whether the limit is reached."""
        return self._left is not None and self._left <= 0

    def in_session(self, session: SessionInfo) -> Found | None:
        """Search one session; None without a match, or if the limit was reached before."""
        if self._query is None or self.is_over:
            return None
        ladder = None if self._texts else Ladder()
        bodies = _Bodies(self._needles, self._answer, self._estimate if self._counts else None)
        missing = set(self._texts - self._needles.contained(session.title.encode()))
        first: Found | None = None
        for number, record in enumerate(self._records(session)):
            if number % _STEP == 0 and (self.is_over or not self._goes_on()):
                return None
            if ladder is not None:
                ladder.feed([record])
            for data, texts in bodies.read(record):
                if first is None and texts:
                    excerpt = excerpt_of(data.decode("utf-8", "replace"), min(texts))
                    first = Found(session=session, excerpt=excerpt, turn=record.place.turn or 0, in_records=True)
                missing -= texts
            if self._texts and not missing:
                self.looked += 1
                return first
        self.looked += 1
        return None if ladder is None else self._in_rows(session, ladder, bodies)

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
        self._open: dict[tuple[str, str], _Answer] = {}
        self._of_record: dict[tuple[str, int], tuple[frozenset[str], int]] = {}
        self._of_answer: dict[tuple[str, str], tuple[frozenset[str], int]] = {}
        self._of_row: dict[int, tuple[frozenset[str], int]] = {}

    def read(self, record: Record) -> Iterator[tuple[bytes, frozenset[str]]]:
        """Yield the bodies that a record completes, each with the texts in it."""
        is_of_model = record.wire == "llm"
        key = record.capture, record.exchange or ""
        if is_of_model and record.kind in {"request", "response"} and record.head is not None:
            answer = self._open.setdefault(key, _Answer())
            if record.kind == "response":
                answer.head = record.head
            answer.url = record.head.url or answer.url
        if record.kind in {"frame", "line", "decision"} or (record.kind == "request" and is_of_model):
            texts = self._needles.contained(record.data)
            tokens = self._estimate(record.data) if self._estimate is not None and record.kind == "request" else 0
            if texts or tokens:
                self._of_record[record.key] = texts, tokens
            yield record.data, texts
        elif is_of_model and record.kind == "chunk" and key in self._open:
            self._open[key].pieces.append(record.data)
            self._open[key].encoding = record.encoding
        elif is_of_model and record.kind in {"end", "error"} and key in self._open:
            yield self._answer(key, self._open.pop(key))

    def _answer(self, key: tuple[str, str], answer: _Answer) -> tuple[bytes, frozenset[str]]:
        data = b"".join(answer.pieces)
        if answer.encoding is not None:
            with suppress(CodingError):
                coding = decoder(answer.encoding)
                data = coding.feed(data) + coding.finish()
        said, tokens = self._read_answer(answer.url, answer.head, data)
        whole = data + b"\n" + said.encode("utf-8", "replace")
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
