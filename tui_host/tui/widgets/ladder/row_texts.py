"""Reads shown texts, bodies and tokens of rows for the filter, in steps."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from typing_extensions import override

from tui_host.answers.steps import PIECE, Making, Steps
from tui_host.capture.ladder.ladder import Ladder
from tui_host.capture.ladder.row import Row
from tui_host.capture.ladder.row_filter import QUOTED, TOKENS, WORD, Reading, Term, WantedTexts, terms
from tui_host.errors import TuiHostError
from tui_host.tui.sources.live import SessionSource
from tui_host.tui.widgets.ladder.ladder_filter import TextReader

_OF_ONE_RECORD = {"request", "frame", "decision"}
_SMALL = 64 << 10
"""Bytes of a body that is searched in one go."""


@dataclass(frozen=True, slots=True)
class BodyFacts:
    """What a filter wants to know of a body."""

    texts: frozenset[str] = frozenset()  # those of the filter's quoted texts that the body contains
    tokens: int = 0  # estimated tokens of a request, or input tokens that an answer reported; 0 for other rows


_NOTHING = BodyFacts()


def body_facts(source: SessionSource, row: Row, needles: WantedTexts, *, counts: bool) -> Steps[BodyFacts]:
    """Read a body for the quoted texts of a filter, an answer's events put together too, and its tokens if wanted."""
    from tui_host.answers.bodies import head_of, reading
    from tui_host.llm.exchange_summary import ResponseWords
    from tui_host.llm.outline import estimate_tokens

    if row.missing:
        return _NOTHING
    data = (yield from reading(source, row)).data
    texts, tokens = frozenset[str](), 0
    for start in range(0, len(data), _SMALL):
        texts |= needles.contained(data[start : start + _SMALL + needles.overlap])
        yield f"{start:,} of {len(data):,} bytes"
    is_of_model = row.lane == "llm" and row.kind in {"request", "response"}
    if is_of_model and row.kind == "request":
        tokens = estimate_tokens(data) if counts else 0
    elif is_of_model and (counts or texts != needles.texts) and (dialect := source.dialect(row)) is not None:
        head = head_of(source, row)
        headers = head.headers if head is not None else ()
        words = ResponseWords(dialect, status=row.status, headers=headers)
        for start in range(0, len(data), PIECE):
            words.feed(data[start : start + PIECE])
            yield f"{start:,} of {len(data):,} bytes"
        words.finish()
        texts, tokens = texts | needles.contained(words.text.encode("utf-8", "replace")), words.tokens
    return BodyFacts(texts, tokens)


class LadderTexts(TextReader):
    """The texts of a source's rows.

    Args:
        source: Provides rows and bodies; without a source nothing is read.
        shown: Returns the shown text of a row; None while unknown.
        clock: Seconds.
    """

    def __init__(
        self,
        source: SessionSource | None,
        shown: Callable[[Row], str | None],
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self._source = source
        self._shown = shown
        self._clock = clock
        self._needles = WantedTexts(())
        self._counts = False
        self._last_shown: tuple[int, str] = (-1, "")
        self._plain: dict[int, bytes] = {}
        self._facts: dict[int, BodyFacts] = {}
        self._making: tuple[int, Making[BodyFacts]] | None = None

    @override
    def begin(self, ladder: Ladder, reading: Reading) -> None:
        wanted = list(terms(reading.query, negated=True))
        self._needles = WantedTexts(term.value for term in wanted if term.field == QUOTED)
        self._counts = any(term.field == TOKENS for term in wanted)
        self._last_shown, self._making = (-1, ""), None
        self._plain.clear()
        self._facts.clear()

    @override
    def forget(self, number: int) -> None:
        if self._last_shown[0] == number:
            self._last_shown = -1, ""
        if number in self._facts and self._row(number).state == "open":
            return  # read again when it has ended
        self._facts.pop(number, None)
        self._plain.pop(number, None)
        if self._making is not None and self._making[0] == number:
            self._making = None

    @override
    def expect(self, numbers: Sequence[int]) -> None:
        self._plain.clear()
        if self._source is None or not self._needles.texts:
            return
        ladder = self._source.ladder
        by_capture: dict[str, dict[int, int]] = {}
        for number in numbers:
            row = ladder.rows[number]
            if number not in self._facts and row.kind in _OF_ONE_RECORD:
                by_capture.setdefault(row.capture, {})[row.seq] = number
        for capture, rows in by_capture.items():
            try:
                plain = self._source.plain_data(capture, list(rows))
            except TuiHostError:
                continue  # the rows are read one by one, and say why they cannot be
            self._plain.update((rows[seq], data) for seq, data in plain.items() if len(data) <= _SMALL)

    @override
    def read(self, term: Term, number: int) -> int | None:
        if term.field != WORD:
            row = self._row(number)
            if term.field == TOKENS and (row.lane != "llm" or row.kind not in {"request", "response"}):
                return 0
            facts = self._facts_of(number)
            if facts is None:
                return None
            return facts.tokens if term.field == TOKENS else term.value in facts.texts
        if self._last_shown[0] != number:
            shown = self._shown(self._row(number))
            if shown is None:
                return None
            self._last_shown = number, shown.casefold()
        return term.value in self._last_shown[1]

    @property
    @override
    def is_reading(self) -> bool:
        return self._making is not None

    @override
    def advance(self, seconds: float) -> bool:
        if self._making is None:
            return True
        number, making = self._making
        try:
            if not making.advance(seconds):
                return False
            self._facts[number] = making.result or _NOTHING
        except (TuiHostError, ValueError, LookupError, RecursionError):
            self._facts[number] = _NOTHING
        self._making = None
        return True

    def _facts_of(self, number: int) -> BodyFacts | None:
        facts = self._facts.get(number)
        if facts is None and number in self._plain and not self._counts:
            return BodyFacts(self._needles.contained(self._plain[number]))
        if facts is None and self._source is not None and (self._making is None or self._making[0] != number):
            steps = body_facts(self._source, self._row(number), self._needles, counts=self._counts)
            self._making = number, Making(steps, self._clock)
        return facts

    def _row(self, number: int) -> Row:
        assert self._source is not None  # noqa: S101 - without a source there are no rows
        return self._source.ladder.rows[number]
