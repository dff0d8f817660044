"""What the body of a row tells in a few words, for lists and filters of rows."""

from __future__ import annotations

from dataclasses import dataclass

from tui_host.answers.bodies import body_of, head_of
from tui_host.answers.look_page import setup_change
from tui_host.answers.wires import Wires
from tui_host.capture.http.exchange_end import EMPTY
from tui_host.capture.ladder.row import Row
from tui_host.capture.ladder.row_filter import WantedTexts
from tui_host.capture.short_units import short_size
from tui_host.llm.exchange_summary import ResponseWords, request_words
from tui_host.llm.outline import estimate_tokens

_LARGEST_DESCRIBED = 4 << 20  # bytes of a body that is read for its words; a filter reads larger ones too


@dataclass(frozen=True, slots=True, kw_only=True)
class RowFacts:
    """What a row's body tells; foreign text as it came."""

    words: str = ""  # the body in words: «3 tools · 2 messages», «asks math.add {"a":1,"b":2}», «12 models»
    tokens: str = ""  # the tokens of a request (an estimate), or those that a response reported, in words
    count: int = 0  # the same as a number; 0 if unknown
    texts: frozenset[str] = frozenset()  # those of the wanted texts that the body has


NOTHING = RowFacts()


def row_facts(wires: Wires, row: Row, wanted: WantedTexts | None = None) -> RowFacts:
    """Read a row's body, for a filter with its `wanted` texts, else for the list, which describes no large body.

    An answer's events are put together, so that a wanted text may go over several of them.
    """
    is_too_large, is_of_model = row.size > _LARGEST_DESCRIBED, row.lane == "llm" and row.kind in {"request", "response"}
    if row.missing or row.words == EMPTY or (wanted is None and (is_too_large or not is_of_model)):
        return NOTHING
    data = body_of(wires, row).data
    texts = frozenset[str]() if wanted is None else wanted.contained(data)
    dialect = wires.dialect(row) if is_of_model else None
    if row.lane == "llm" and row.kind == "request":
        before, count = wires.before(row), estimate_tokens(data)
        is_of_turn = before is not None and before.turn == row.turn and before.clock == row.clock
        earlier = body_of(wires, before).wire if before is not None and is_of_turn else None
        words = "" if is_too_large else request_words(data, earlier)
        if row.turn and row.step <= 1:  # within a turn nothing changes
            words = " · ".join(filter(None, (setup_change(wires, row), words)))
        return RowFacts(words=words, tokens=f"~{short_size(count).removesuffix(' B')} tok", count=count, texts=texts)
    if dialect is None:
        return RowFacts(texts=texts)
    if row.method == "GET" and row.status < 400:  # nobody asks a model so
        count = len(dialect.models(data))
        return RowFacts(words=f"{count} model{'s' * (count > 1)}" if count else "", texts=texts)
    head = head_of(wires, row)
    headers = () if head is None else head.headers
    answer = ResponseWords(dialect, status=row.status, headers=headers, names=wires.names(row), hide=wires.hide)
    answer.feed(data)
    if row.state != "open":
        answer.finish()
    if wanted is not None:
        texts |= wanted.contained(answer.text.encode("utf-8", "replace"))
    # A tool protocol of plain text reads calls out of what is text to the dialect: the links know of them.
    is_better = not row.words.startswith("asks ") or "asks " in answer.words
    words = answer.words if is_better else row.words
    return RowFacts(words=words, tokens=answer.token_words, count=answer.tokens, texts=texts)
