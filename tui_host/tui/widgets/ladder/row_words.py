"""Descriptions of rows, read from bodies: for visible rows only, within a time budget."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from tui_host.answers.steps import PIECE, Making, Steps
from tui_host.capture.http.exchange_end import EMPTY
from tui_host.capture.ladder.row import Row
from tui_host.capture.record import lasted
from tui_host.capture.short_units import short_size
from tui_host.errors import TuiHostError
from tui_host.tui.sources.live import SessionSource

BUDGET = 0.004
"""Seconds in one tick for describing bodies."""
_REMEMBERED = 1 << 15
_PATIENCE = 20.0
"""How many times the duration of the last description passes before a growing body is described again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RowFacts:
    """Facts about a row besides its own values."""

    started_ns: int | None  # start of the row's turn, or of its section outside turns; None if unknown
    side: str = ""  # with whom it is exchanged: `LLM 3`, `lab`, `lab/2`
    described: str = ""  # the body in words («3 tools · 2 messages»); empty until known
    tokens: str = ""  # the tokens of a request (an estimate), or those that a response reported; empty if unknown
    milliseconds: float | None = None  # time since the request that the row answers; None if unknown


class Described(NamedTuple):
    """A body in words, and its tokens in words; both may be empty."""

    words: str = ""
    tokens: str = ""


class LadderWords:
    """Descriptions of rows, cached while the rows stay unchanged.

    Args:
        clock: Seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.perf_counter) -> None:
        self._clock = clock
        self._words: dict[int, tuple[tuple[int, str], Described]] = {}
        self._due: dict[int, float] = {}
        self._making: tuple[Row, Making[Described]] | None = None
        self.is_settled = True  # whether the last `fill` left no row to describe later

    def clear(self) -> None:
        """Forget all descriptions."""
        self._words.clear()
        self._due.clear()
        self._making = None

    def facts(self, source: SessionSource, row: Row, home: Row) -> RowFacts:
        """Return the known facts about a row; times count from the turn of `home`."""
        cached = self._words.get(row.number)
        described = cached[1] if cached is not None else Described()
        return RowFacts(
            started_ns=_began(source, home),
            side=source.ladder.numbers.side(row),
            described=described.words,
            tokens=described.tokens,
            milliseconds=self._since_partner(source, row),
        )

    def fill(self, source: SessionSource, numbers: Iterable[int], budget: float = BUDGET) -> Sequence[int]:
        """Describe rows for a limited time; return the rows with new descriptions."""
        changed: list[int] = []
        numbers = list(numbers)
        if self._making is not None and self._making[0].number in numbers:
            numbers.insert(0, self._making[0].number)  # what is begun is not thrown away for what comes first now
        rows = source.ladder.rows
        until = self._clock() + budget
        left = 0
        for number in numbers:
            row = rows[number]
            if not _has_words(row) or self._is_known(row):
                continue
            left += 1
            if not self._is_due(row):
                continue
            if self._clock() >= until:
                break
            if self._making is None or self._making[0].number != number:
                self._making = row, Making(describe(source, row), self._clock)
            row, making = self._making
            words = self._words_of(making, until - self._clock())
            if words is None:
                break
            self._making = None
            left -= 1
            if self._learn(row, words, making.seconds):
                changed.append(number)
        self.is_settled = not left
        return changed

    def is_to_come(self, row: Row) -> bool:
        """Whether a row's description is missing; a growing row needs only its first."""
        if not _has_words(row):
            return False
        return row.number not in self._words if row.state == "open" else not self._is_known(row)

    def _learn(self, row: Row, words: Described, seconds: float) -> bool:
        """Cache a description found in `seconds`; whether it changed."""
        self._due.pop(row.number, None)
        if row.state == "open":
            self._due[row.number] = self._clock() + max(0.1, _PATIENCE * seconds)
        before = self._words.pop(row.number, None)
        self._words[row.number] = _state_of(row), words
        if len(self._words) > _REMEMBERED:
            del self._words[next(iter(self._words))]
        return before is None or before[1] != words

    def _words_of(self, making: Making[Described], seconds: float) -> Described | None:
        """Return the description; None while unfinished, empty for unreadable bytes."""
        try:
            return (making.result or Described()) if making.advance(seconds) else None
        except (TuiHostError, ValueError, LookupError, RecursionError):
            return Described()

    def _is_known(self, row: Row) -> bool:
        cached = self._words.get(row.number)
        return cached is not None and cached[0] == _state_of(row)

    def _is_due(self, row: Row) -> bool:
        return row.number not in self._words or row.state != "open" or self._clock() >= self._due.get(row.number, 0.0)

    @staticmethod
    def _since_partner(source: SessionSource, row: Row) -> float | None:
        """Return milliseconds since the first byte of the other half; None if unknown."""
        if row.kind not in {"response", "frame"} or (row.kind == "frame" and not row.answer):
            return None
        number = source.ladder.partner(row.number)
        if number is None or number >= row.number:
            return None
        took = lasted(source.ladder.rows[number].mono_ns, row.end_mono_ns)
        return None if took is None else took / 1e6


def _began(source: SessionSource, home: Row) -> int | None:
    """Return the start of a section's clock: of its turn, or of the connection's first row."""
    return source.started_mono_ns(home) if home.turn or home.mono_ns is None else home.mono_ns


def _state_of(row: Row) -> tuple[int, str]:
    """Return the key of the cache: the row's length and links."""
    return row.last_seq, row.words


def _has_words(row: Row) -> bool:
    return row.lane == "llm" and row.kind in {"request", "response"}


MOST = 4 << 20
"""Bytes of a body that are read for its words."""


def describe(source: SessionSource, row: Row) -> Steps[Described]:
    """Describe a body: «3 tools · 2 messages», «asks math.add {"a":1,"b":2}», «12 models»; empty if too large or unknown."""
    from tui_host.answers.bodies import head_of, reading
    from tui_host.llm.exchange_summary import ResponseWords, list_words, request_words
    from tui_host.llm.outline import estimate_tokens

    if row.size > MOST or row.missing or row.words == EMPTY:
        return Described()
    body = yield from reading(source, row)
    dialect = source.dialect(row)
    if row.kind == "request":
        before = source.before(row)
        in_turn = before is not None and before.turn == row.turn and before.clock == row.clock
        earlier = source.body(before) if before is not None and in_turn else None
        tokens = short_size(estimate_tokens(body.data)).removesuffix(" B")
        return Described(request_words(body.data, earlier), f"~{tokens} tok")
    if dialect is None:
        return Described()
    if row.method == "GET" and row.status < 400:  # nobody asks a model so
        return Described(list_words(body.data, dialect))
    head = head_of(source, row)
    words = ResponseWords(
        dialect,
        status=row.status,
        headers=head.headers if head is not None else (),
        names=source.names(row),
        hide=source.hide,
    )
    for start in range(0, len(body.data), PIECE):
        words.feed(body.data[start : start + PIECE])
        yield f"{start:,} of {len(body.data):,} bytes"
    if row.state != "open":
        words.finish()
    # A tool protocol of plain text reads calls out of what is text to the dialect: the links know of them.
    is_better = not row.words.startswith("asks ") or "asks " in words.words
    return Described(words.words if is_better else row.words, words.token_words)
