"""What the list and its filter know of the bodies of rows. One thread reads them, each body once while it stays as it is."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from tui_host.capture.http.exchange_end import EMPTY
from tui_host.capture.ladder.row import Row
from tui_host.capture.ladder.row_filter import WantedTexts
from tui_host.capture.short_units import short_size
from tui_host.errors import TuiHostError
from tui_host.tui.sources.live import SessionSource

LARGEST_DESCRIBED = 4 << 20  # bytes of a body that is read for its words; a filter reads larger ones too
_REMEMBERED_ROWS = 1 << 15
_PATIENCE = 20.0  # how many times the duration of the last reading passes before a growing body is read again
_SHORTEST_PAUSE_SECONDS = 0.1  # seconds between two readings of a growing body, at least


@dataclass(frozen=True, slots=True, kw_only=True)
class RowFacts:
    """What a row's body tells; foreign text as it came."""

    words: str = ""  # the body in words: «3 tools · 2 messages», «asks math.add {"a":1,"b":2}», «12 models»
    tokens: str = ""  # the tokens of a request (an estimate), or those that a response reported, in words
    count: int = 0  # the same as a number; 0 if unknown
    texts: frozenset[str] = frozenset()  # those of the wanted texts that the body has


NOTHING = RowFacts()


def facts_of(source: SessionSource, row: Row, wanted: WantedTexts | None = None) -> RowFacts:
    """Read a row's body, for a filter with its `wanted` texts, else for the list, which describes no large body.

    An answer's events are put together, so that a wanted text may go over several of them.
    """
    from tui_host.answers.bodies import body_of, head_of
    from tui_host.answers.look_page import setup_change
    from tui_host.llm.exchange_summary import ResponseWords, list_words, request_words
    from tui_host.llm.outline import estimate_tokens

    is_too_large, is_of_model = row.size > LARGEST_DESCRIBED, row.lane == "llm" and row.kind in {"request", "response"}
    if row.missing or row.words == EMPTY or (wanted is None and (is_too_large or not is_of_model)):
        return NOTHING
    data = body_of(source, row).data
    texts = frozenset[str]() if wanted is None else wanted.contained(data)
    dialect = source.dialect(row) if is_of_model else None
    if row.lane == "llm" and row.kind == "request":
        before, count = source.before(row), estimate_tokens(data)
        is_of_turn = before is not None and before.turn == row.turn and before.clock == row.clock
        earlier = body_of(source, before).wire if before is not None and is_of_turn else None
        words = "" if is_too_large else request_words(data, earlier)
        if row.turn and row.step <= 1:  # within a turn nothing changes
            words = " · ".join(filter(None, (setup_change(source, row), words)))
        return RowFacts(words=words, tokens=f"~{short_size(count).removesuffix(' B')} tok", count=count, texts=texts)
    if dialect is None:
        return RowFacts(texts=texts)
    if row.method == "GET" and row.status < 400:  # nobody asks a model so
        return RowFacts(words=list_words(data, dialect), texts=texts)
    head = head_of(source, row)
    headers = () if head is None else head.headers
    answer = ResponseWords(dialect, status=row.status, headers=headers, names=source.names(row), hide=source.hide)
    answer.feed(data)
    if row.state != "open":
        answer.finish()
    if wanted is not None:
        texts |= wanted.contained(answer.text.encode("utf-8", "replace"))
    # A tool protocol of plain text reads calls out of what is text to the dialect: the links know of them.
    is_better = not row.words.startswith("asks ") or "asks " in answer.words
    words = answer.words if is_better else row.words
    return RowFacts(words=words, tokens=answer.token_words, count=answer.tokens, texts=texts)


@dataclass(slots=True)
class FactsReader:
    """Reads the facts of rows in the list's thread, and keeps them; the screen's thread only asks what is known."""

    known: dict[int, RowFacts] = field(default_factory=dict[int, RowFacts])  # by the numbers of the rows
    # The row's length and links, on which they depend, and when a growing body may be read again.
    _states: dict[int, tuple[tuple[int, str], float]] = field(default_factory=dict[int, tuple[tuple[int, str], float]])

    def is_due(self, row: Row) -> bool:
        """Whether a row is to be read: a growing one not each time that it grows."""
        reading = self._states.get(row.number)
        if reading is None:
            return row.lane == "llm" and row.kind in {"request", "response"}
        state, due = reading
        return state != (row.last_seq, row.words) and (row.state != "open" or time.perf_counter() >= due)

    def read(self, source: SessionSource, row: Row, wanted: WantedTexts | None = None) -> RowFacts:
        """Read the facts of a row, those for the list once while it stays as it is. Bytes that cannot be read have none."""
        if wanted is None and not self.is_due(row):
            return self.known.get(row.number, NOTHING)
        began, state = time.perf_counter(), (row.last_seq, row.words)  # it may grow while it is read
        try:
            facts = facts_of(source, row, wanted)
        except (TuiHostError, ValueError, LookupError, RecursionError):
            facts = NOTHING
        except RuntimeError:  # the screen's thread added to a table that was being read here: another time
            return NOTHING
        if wanted is None:
            ended = time.perf_counter()
            due = ended + max(_SHORTEST_PAUSE_SECONDS, _PATIENCE * (ended - began))
            self.known[row.number], self._states[row.number] = facts, (state, due)
            if len(self.known) > _REMEMBERED_ROWS:
                oldest = next(iter(self.known))
                del self.known[oldest], self._states[oldest]
        return facts
