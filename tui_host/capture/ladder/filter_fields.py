"""The terms of the filter: an entry for each field, with its help, the values that it takes, and how it tests a row."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Protocol, TypeAlias

from tui_host.capture.ladder.row import KINDS, STATES
from tui_host.capture.ladder.rows import UNKNOWN_TIME, LadderRows, RowTable
from tui_host.capture.record import MISSING

WORD, QUOTED = "", '"'
"""The fields of terms that name none: a word in any value, and a text in the body."""
_DISTINCT = 4
"""Shortest part by which one of this program's words matches: shorter parts occur in too many words."""


@dataclass(frozen=True, slots=True)
class Term:
    """A condition on a row.

    Attributes:
        value: In lower case, but for a quoted text.
        sign: `:` for equal or containing, `<` and `>` for numbers.
        number: The value of a comparison.
    """

    field: str
    value: str
    sign: str = ":"
    number: float = 0

    @property
    def is_text(self) -> bool:
        """Whether it is a word or a quoted text."""
        return self.field in {WORD, QUOTED}

    @property
    def cost(self) -> int:
        """What is to be read for it: a row's values alone (0), what it shows, its body, its tokens (3)."""
        return {WORD: 1, QUOTED: 2, "tokens": 3}.get(self.field, 0)


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


Verdict: TypeAlias = "bool | None"
Test: TypeAlias = Callable[[int], Verdict]
"""Returns whether the row with a number matches; None while unknown."""
_Values: TypeAlias = Callable[[LadderRows], Iterable[str]]


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


_FACTS: Mapping[str, Callable[[RowTable, int], bool]] = {
    "error": lambda rows, number: rows.columns["error"][number] != 0,
    "result": lambda rows, number: rows.columns["answer"][number] != 0 and not rows.columns["error"][number],
    "malformed": lambda rows, number: rows.columns["malformed"][number] != 0,
    "inferred": lambda rows, number: rows.columns["inferred"][number] != 0,
    "maybe": lambda rows, number: rows.columns["maybe"][number] != 0,
    "stderr": lambda rows, number: rows.choice("kind", number) == "line",
    "redacted": lambda rows, number: rows.columns["redacted"][number] != 0,
    MISSING: lambda rows, number: rows.columns["missing"][number] != 0,
    "events": lambda rows, number: rows.columns["events"][number] > 1 and rows.choice("kind", number) == "response",
    "cut": lambda rows, number: rows.choice("state", number) == "cut",
    "unanswered": lambda rows, number: rows.choice("state", number) == "unanswered",
    "failed": lambda rows, number: (
        rows.columns["error"][number] != 0 or rows.choice("state", number) in {"failed", "unanswered"}
    ),
}
"""Our words on the lines of rows, each with what it says."""
_OUTCOMES = ("error", "result", "notification", "malformed", "inferred", "maybe", "stderr")
_KINDS = (*KINDS, *_OUTCOMES)


def _is_of_kind(ladder: LadderRows, value: str, number: int) -> bool:
    if value in KINDS:
        return ladder.rows.choice("kind", number) == value
    if value == "notification":
        return ladder.rows.choice("kind", number) == "frame" and not ladder.rows.own["rpc_id"][number]
    return _FACTS[value](ladder.rows, number)


def _has_status(ladder: LadderRows, value: str, number: int) -> bool:
    if value in STATES:
        return ladder.rows.choice("state", number) == value or (
            value == "failed" and _FACTS[value](ladder.rows, number)
        )
    status = str(ladder.rows.columns["status"][number])
    return status == value or (value.endswith("xx") and status[0] == value[0])


def _is_of_server(ladder: LadderRows, value: str, number: int) -> bool:
    return ladder.rows.choice("lane", number) != "llm" and value in ladder.rows.text("peer", number).casefold()


def _is_of_turn(ladder: LadderRows, value: str, number: int) -> bool:
    return ladder.sections.turn_of(number) == int(value)


def _has_method(ladder: LadderRows, value: str, number: int) -> bool:
    return value in ladder.rows.text("method", number).casefold()


def _has_id(ladder: LadderRows, value: str, number: int) -> bool:
    return ladder.rows.own["rpc_id"][number].casefold() in {value, f'"{value}"'}


def _has_direction(ladder: LadderRows, value: str, number: int) -> bool:
    is_right = ladder.rows.columns["outward"][number] == (value == "out")
    return is_right and ladder.rows.choice("lane", number) != "host"


def _has_tool(ladder: LadderRows, value: str, number: int) -> bool:
    """Whether a frame, a decision or a call of a row is of a tool."""
    rows, tools = ladder.rows, ladder.tools
    if value in rows.text("tool", number).casefold():
        return True
    return any(value in tools.get(call, "").casefold() for call in rows.calls_of(number))


def _has_call(ladder: LadderRows, value: str, number: int) -> bool:
    """Whether a row has a call with such an id, or with such a turn, step and place: `1.1.2`."""
    return any(f".{call.casefold()}".endswith(f".{value}") for call in ladder.rows.calls_of(number))


def _size(ladder: LadderRows, number: int) -> int:
    return ladder.rows.columns["size"][number]


def _milliseconds(ladder: LadderRows, number: int) -> float:
    """Return the time from a question to the end of its answer."""
    rows, partner = ladder.rows, ladder.partner(number)
    is_answer = rows.columns["answer"][number] or rows.choice("kind", number) == "response"
    if partner is None or partner >= number or not is_answer:
        return -1
    began, ended = rows.columns["mono_ns"][partner], rows.columns["end_mono_ns"][number]
    return -1 if UNKNOWN_TIME in {began, ended} else (ended - began) / 1e6


def _texts_of(name: str) -> _Values:
    return lambda ladder: sorted(ladder.rows.texts[text] for text in set(ladder.rows.columns[name]) if text)


def _numbers_of(name: str) -> _Values:
    return lambda ladder: [str(number) for number in sorted(set(ladder.rows.columns[name])) if number]


def _statuses(ladder: LadderRows) -> Iterable[str]:
    return (*_numbers_of("status")(ladder), *STATES)


def _servers(ladder: LadderRows) -> Iterable[str]:
    rows = ladder.rows
    servers = {rows.columns["peer"][number] for number in range(len(rows)) if rows.choice("lane", number) != "llm"}
    return sorted(rows.texts[peer] for peer in servers if peer)


def _tools(ladder: LadderRows) -> Iterable[str]:
    tools = {*ladder.tools.values(), *_texts_of("tool")(ladder)} - {""}
    return sorted(tools - {tool.partition(".")[2] for tool in tools})


@dataclass(frozen=True, slots=True)
class FilterField:
    """A field of the filter: `name:value`, or `name>number` and `name<number`.

    Attributes:
        help: What it finds.
        test: Whether a row has a value in lower case; None for a number.
        number: Returns a row's number, below 0 where it has none; None for a value, and for tokens, which must be read.
        pattern: What a value must be, as a regular expression.
        must_be: What is said of another value.
        values: Returns the values that complete the field.
    """

    help: str
    test: Callable[[LadderRows, str, int], bool] | None = None
    _: KW_ONLY
    number: Callable[[LadderRows, int], float] | None = None
    pattern: str = ".*"
    must_be: str = "needs a number such as 10k"
    values: _Values = lambda _: ()

    @property
    def sign(self) -> str:
        """What stands behind the name."""
        return ">" if self.test is None else ":"


_STATUS = rf"\d{{3}}|\dxx|{'|'.join(STATES)}"
_STATUS_IS = f"is a number such as 429 or 4xx, or {', '.join(STATES)}"
_KIND_IS = f"is one of {', '.join(_KINDS)}"
_TURN_IS = "needs a number such as 3"
_MS_IS = "needs a number such as 2000"
FIELDS: Mapping[str, FilterField] = {
    "server": FilterField("rows of a server", _is_of_server, values=_servers),
    "tool": FilterField("a tool's calls, decisions and frames", _has_tool, values=_tools),
    "method": FilterField("method of a frame or an HTTP request", _has_method, values=_texts_of("method")),
    "kind": FilterField(
        "request, response, frame, decision, error, …",
        _is_of_kind,
        pattern="|".join(_KINDS),
        must_be=_KIND_IS,
        values=lambda _: _KINDS,
    ),
    "status": FilterField(
        "429, 4xx, open, failed, cut, unanswered", _has_status, pattern=_STATUS, must_be=_STATUS_IS, values=_statuses
    ),
    "turn": FilterField(
        "rows of a turn, such as turn:3", _is_of_turn, pattern=r"\d{1,8}", must_be=_TURN_IS, values=_numbers_of("turn")
    ),
    "call": FilterField("rows of a call, such as call:1.1.2", _has_call),
    "id": FilterField("id of a frame", _has_id),
    "dir": FilterField(
        "out from the host, in to the host",
        _has_direction,
        pattern="in|out",
        must_be="is in or out",
        values=lambda _: ("in", "out"),
    ),
    "size": FilterField("bytes, such as size>10k (also size<)", number=_size),
    "tokens": FilterField("tokens of a request or an answer, such as tokens>8k"),
    "ms": FilterField("milliseconds until an answer, such as ms>2000", number=_milliseconds, must_be=_MS_IS),
}
"""The fields by name, in the order of completion."""


def term_test(term: Term, ladder: LadderRows, texts: RowTexts | None) -> Test:
    """Return a test of rows for one term; without `texts`, what must be read is unknown."""
    field = FIELDS.get(term.field)
    if field is None:
        return _text_test(term, ladder, texts)
    if field.test is not None:
        has_value = field.test
        return lambda number: has_value(ladder, term.value, number)
    if field.number is not None:
        number_of = field.number
        return lambda number: _is_in_limit(number_of(ladder, number), term)

    def test(number: int) -> Verdict:
        tokens = None if texts is None else texts.tokens(number)
        return None if tokens is None else _is_in_limit(tokens or -1, term)

    return test


def _is_in_limit(value: float, term: Term) -> bool:
    return value > term.number if term.sign == ">" else 0 <= value < term.number


def _text_test(term: Term, ladder: LadderRows, texts: RowTexts | None) -> Test:
    """Test a word in any value of a row and in our words about it, or a text in its body; both in its URL and headers."""
    rows, text, is_word = ladder.rows, term.value.casefold(), term.field == WORD
    hits = bytearray(text in shared.casefold() for shared in rows.texts)  # a text that many rows share is tested once
    names = ("peer", "method", "url", "malformed") if is_word else ("url",)
    columns = [rows.columns[name] for name in names]
    heads, ids, words = rows.heads, rows.own["rpc_id"], rows.own["words"]
    facts = [fact for ours, fact in _FACTS.items() if text in ours.split() or (len(text) >= _DISTINCT and text in ours)]

    def has_word(number: int) -> bool:
        if text in words[number].casefold() or text in ids[number].casefold():
            return True
        if any(fact(rows, number) for fact in facts):
            return True
        return _has_tool(ladder, text, number) or (text.isdecimal() and _has_status(ladder, text, number))

    def test(number: int) -> Verdict:
        if any(hits[column[number]] for column in columns) or (is_word and has_word(number)):
            return True
        if any(hits[line] for line in heads[number]):
            return True
        if texts is None:
            return None
        return texts.shows(number, text) if is_word else texts.contains(number, term.value)

    return test
