"""Tests rows against a query: by their values, their shown text and their bodies."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Protocol, TypeAlias, assert_never

from tui_host.capture.ladder.filter_fields import FIELDS, Claim, has_tool, hits, shown_facts
from tui_host.capture.ladder.filter_language import Both, Either, Field, Leaf, Not, Query, Quoted, Word, leaves
from tui_host.capture.ladder.rows import LadderRows

Verdict: TypeAlias = "bool | None"
Test: TypeAlias = Callable[[int], Verdict]
"""Returns whether the row with a number matches; None while unknown."""


class RowTexts(Protocol):
    """Reads the texts of rows; every answer may be None while it is unknown."""

    def shows(self, number: int, word: str) -> Verdict:
        """Whether the shown text of a row contains a word in lower case."""
        ...

    def contains(self, number: int, text: str) -> Verdict:
        """Whether the body of a row contains a text."""
        ...

    def tokens(self, number: int) -> int | None:
        """Return the tokens of a request or an answer; 0 for other rows."""
        ...


class Needles:
    """Texts to find in the bytes of bodies, in any case, also where JSON writes them with escapes.

    Attributes:
        texts: The texts, as the filter has them.
        overlap: Bytes that two pieces of a body must share, so that no text is cut in two.
    """

    def __init__(self, texts: Iterable[str]) -> None:
        self._forms = {text: tuple(dict.fromkeys(_forms(text))) for text in texts if text}
        self.texts = frozenset(self._forms)
        self.overlap = max((len(form) for forms in self._forms.values() for form in forms), default=1) - 1

    def contained(self, data: bytes) -> frozenset[str]:
        """Return the texts in some bytes."""
        lowered = data.lower()
        return frozenset(text for text, forms in self._forms.items() if any(map(lowered.__contains__, forms)))


def _forms(text: str) -> Iterator[bytes]:
    """Yield the bytes that a text may have; `bytes.lower` changes the letters of ASCII alone."""
    for variant in (text.lower(), text.upper()):
        for written in (variant, *(json.dumps(variant, ensure_ascii=escaped)[1:-1] for escaped in (False, True))):
            yield written.encode("utf-8", "backslashreplace").lower()


def row_test(query: Query | None, ladder: LadderRows, texts: RowTexts | None = None) -> Test:
    """Return a test for rows, valid for one revision of the ladder; without `texts`, what must be read is unknown."""
    match query:
        case None:
            return lambda _: True
        case Word() | Quoted() | Field():
            return _leaf_test(query, ladder, texts)
        case Not():
            return _opposite(row_test(query.part, ladder, texts))
        case Both() | Either():
            parts = sorted(query.parts, key=_cost)
            return _combined([row_test(part, ladder, texts) for part in parts], decisive=isinstance(query, Either))
        case _:
            assert_never(query)


def needs_values(query: Query | None) -> bool:
    """Whether the values of a row may decide, before anything is read."""
    return query is None or any(_leaf_cost(leaf) < 2 for leaf in leaves(query, negated=True))


def _cost(query: Query) -> int:
    return max(map(_leaf_cost, leaves(query, negated=True)))


def _leaf_cost(leaf: Leaf) -> int:
    """Return what decides first: values, then shown texts, then bodies."""
    match leaf:
        case Field():
            return 3 if leaf.name == "tokens" else 0
        case Word():
            return 1
        case Quoted():
            return 2


def _opposite(test: Test) -> Test:
    def opposite(number: int) -> Verdict:
        verdict = test(number)
        return None if verdict is None else not verdict

    return opposite


def _combined(tests: Sequence[Test], *, decisive: bool) -> Test:
    """Return a test that takes the value of the first decisive part, or is unknown as long as a part is."""

    def combined(number: int) -> Verdict:
        verdict: Verdict = not decisive
        for test in tests:
            part = test(number)
            if part is decisive:
                return decisive
            if part is None:
                verdict = None
        return verdict

    return combined


def _leaf_test(leaf: Leaf, ladder: LadderRows, texts: RowTexts | None) -> Test:
    match leaf:
        case Word():
            in_values, word = _in_values(leaf.text, ladder), leaf.text
            if texts is None:
                return lambda number: in_values(number) or None
            return lambda number: in_values(number) or texts.shows(number, word)
        case Quoted():
            text, matches, heads = leaf.text, hits(ladder.rows, leaf.text.casefold()), ladder.rows.heads
            if texts is None:
                return lambda number: any(matches[line] for line in heads[number]) or None
            return lambda number: any(matches[line] for line in heads[number]) or texts.contains(number, text)
        case Field():
            field = FIELDS[leaf.name]
            if field.test is not None:
                return field.test(leaf.value, ladder)
            limit, is_above = leaf.number, leaf.sign == ">"
            if field.number is not None:
                values = field.number(ladder)
                return lambda number: values(number) > limit if is_above else 0 <= values(number) < limit
            return (lambda _: None) if texts is None else _tokens(texts, limit, is_above=is_above)


def _tokens(texts: RowTexts, limit: float, *, is_above: bool) -> Test:
    def fits(number: int) -> Verdict:
        tokens = texts.tokens(number)
        if not tokens:
            return None if tokens is None else False
        return tokens > limit if is_above else tokens < limit

    return fits


def _in_values(word: str, ladder: LadderRows) -> Claim:
    """Return a test for a word in any value of a row."""
    rows = ladder.rows
    matches = hits(rows, word)
    peer, method, url, malformed = (rows.columns[name] for name in ("peer", "method", "url", "malformed"))
    heads = rows.heads
    ids, words, is_of_tool = rows.own["rpc_id"], rows.own["words"], has_tool(word, ladder)
    facts = shown_facts(word, ladder)

    def fits(number: int) -> bool:
        if matches[peer[number]] or matches[method[number]] or matches[url[number]] or matches[malformed[number]]:
            return True
        if any(fact(number) for fact in facts) or any(matches[line] for line in heads[number]):
            return True
        return word in words[number].casefold() or word in ids[number].casefold() or is_of_tool(number)

    return fits
