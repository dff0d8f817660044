"""Where values of a session stand: numbers, identifiers and texts of results that come again, or come from nowhere.

Values are compared as they are written, but for the separators of numbers: what a model rephrases is not recognized.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from threading import Lock
from weakref import WeakKeyDictionary

from tui_host.answers.bodies import body_of, first_data
from tui_host.answers.names import call_name
from tui_host.answers.outlines import FRAMES, MOST, folded, marks_of, outlined
from tui_host.answers.wires import Wires
from tui_host.capture.json.narrowing import items, mapping, short, text_or_empty
from tui_host.capture.json.reading import read_json, read_object
from tui_host.capture.json.spans import spans
from tui_host.capture.ladder.ladder import Ladder
from tui_host.capture.ladder.row import Row
from tui_host.capture.visible import decode, line
from tui_host.errors import JSON, TuiHostError
from tui_host.llm.outline import USER

MOST_BYTES = 4 << 20  # larger frames are not taken apart
_LONG = 20_000  # characters of a text that a host may shorten
_BEGINNING = 1000
_MOST_CHANGES = 6
_MOST_NAMES = 8
_BETWEEN_DIGITS = re.compile(r"(?<=\d)[,'’_\u00a0\u202f](?=\d{3}(?!\d))")
_ZEROS = re.compile(r"(?<=\d)\.0+(?!\d)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Content:
    """A piece of a result."""

    kind: str  # `text`, `image`, `audio`, `resource`, `resource_link`, or `structuredContent`
    name: str = ""  # the member of the structured content; empty for other kinds
    value: JSON = None  # what it consists of: a text, the data of an image, a member's value


def parsed(text: str | bytes) -> JSON:
    """Parse JSON; None for anything else."""
    try:
        return read_json(text)
    except (ValueError, RecursionError):
        return None


def leaves(value: JSON) -> Iterator[str]:
    """Yield the texts and numbers in a value, as they would be written."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for member in value.values():
            yield from leaves(member)
    elif isinstance(value, Sequence):
        for element in value:
            yield from leaves(element)
    elif value is not None:
        yield short(value)


def plain(text: str) -> str:
    """Return a text with its numbers written in one way: `2,102,650` as `2102650`, `30.0` as `30`."""
    return _ZEROS.sub("", _BETWEEN_DIGITS.sub("", text)) if any(map(str.isdigit, text)) else text


def member_range(data: bytes, *path: str) -> tuple[int, int] | None:
    """Return the bytes of a member of a frame; None without it, or if the frame is too large."""
    node = spans(data, walk=path[:-1]) if len(data) <= MOST_BYTES else None
    node = node.get(*path) if node is not None else None
    return None if node is None else (node.start, node.end)


def changes(before: JSON, after: JSON) -> str:
    """Return what was changed in arguments: `units "metric" -> "imperial"`; empty if nothing was."""
    if before == after:
        return ""
    old, new = mapping(before), mapping(after)
    if not (old or before == {}) or not (new or after == {}):
        return f"{short(before, 60)} -> {short(after, 60)}"
    words: list[str] = []
    for name in dict.fromkeys((*old, *new)):
        if name not in new:
            words.append(f"without {name}")
        elif name not in old:
            words.append(f"new {name} {short(new[name], 60)}")
        elif old[name] != new[name]:
            words.append(f"{name} {short(old[name], 60)} -> {short(new[name], 60)}")
    more = len(words) - _MOST_CHANGES
    return ", ".join([*words[:_MOST_CHANGES], *([f"{more} more"] if more > 0 else [])])


def contents_of(result: JSON) -> Sequence[Content]:
    """Return the contents of a result, then the members of its structured content."""
    value = mapping(result)
    contents: list[Content] = []
    for block in map(mapping, [*items(value.get("content")), *items(value.get("contents"))]):
        inner = mapping(block.get("resource")) or block
        member = next((inner[name] for name in ("text", "data", "blob", "uri") if name in inner), None)
        contents.append(Content(kind=text_or_empty(block.get("type")) or "resource", value=member))
    members = mapping(value.get("structuredContent"))
    return [*contents, *(Content(kind="structuredContent", name=name, value=members[name]) for name in members)]


def kinds_of(contents: Iterable[Content]) -> str:
    """Return the kinds of contents in words: `text · 2 × image · structuredContent (4 members)`."""
    words: list[str] = []
    for kind, count in Counter(content.kind for content in contents).items():
        if kind == "structuredContent":
            words.append(f"{kind} ({count} member{'s' * (count > 1)})")
        else:
            words.append(f"{count} × {kind}" if count > 1 else kind)
    return " · ".join(words)


def names_of(contents: Iterable[Content]) -> str:
    """Return contents in words, members of the structured content by name: `image, structuredContent mayor`."""
    contents = list(contents)
    names = [content.name for content in contents if content.name]
    members = f"structuredContent {', '.join(names[:_MOST_NAMES])}" if names else ""
    kinds = kinds_of(content for content in contents if not content.name)
    return ", ".join(filter(None, (kinds, members, "…" if len(names) > _MOST_NAMES else "")))


def not_told(contents: Iterable[Content], words: str, body: bytes) -> Sequence[Content]:
    """Return the contents that a request does not tell: their values in the words of the result, their data anywhere in it."""
    left: list[Content] = []
    told = plain(words)
    for content in contents:
        value = content.value
        if content.kind in {"image", "audio"} or (content.kind == "resource" and not isinstance(value, str)):
            is_told = isinstance(value, str) and bool(value) and value[:64].encode() in body
        else:
            texts = ((text, text[:_BEGINNING] if len(text) > _LONG else text) for text in leaves(value))
            is_told = all(beginning in words or plain(text) in told for text, beginning in texts)
        left += [] if is_told else [content]
    return left


def told_in_part(contents: Iterable[Content], words: str) -> str:
    """Return how much of long texts is in the words of a result: `50,041 of 118,000 characters`; empty if all of them is."""
    texts = (text for content in contents for text in leaves(content.value) if len(text) > _LONG)
    cut = [text for text in texts if text not in words and text[:_BEGINNING] in words]
    size = sum(map(len, cut))
    return f"{min(len(words), size):,} of {size:,} characters" if cut else ""


def words_in(pieces: Iterable[bytes]) -> str:
    """Return the texts in pieces of a request: JSON, or the inside of a JSON string."""
    words: list[str] = []
    for text in map(decode, pieces):
        value = parsed(text)
        value = parsed(f'"{text}"') if value is None else value
        words += [text] if value is None else leaves(value)
    return "\n".join(words)


_CALLS = frozenset(("tools/call", "resources/read"))
_BYTES = 256 << 10  # larger frames and answers are not looked through
_SHOWN = 3
_SHORTEST, _LONGEST = 4, 200  # characters of a text that is a value as a whole
_MOST_VALUES = 300  # of a row
_MOST_USES = 8  # of a value, that are named
_ROWS = 2000  # rows behind a call among which it is looked for again
_VALUE = re.compile(r"[^\W_](?:[\w.:/@+-]*[^\W_])?")
_NUMBER = re.compile(r"\d{2,}|\d+\.\d+")


@dataclass(eq=False, slots=True)
class _Index:
    """The rows of one ladder that hold a value, in the order of the list."""

    lock: Lock = field(default_factory=Lock)
    revision: int = -1
    results: dict[str, dict[int, None]] = field(default_factory=dict[str, dict[int, None]])
    # In arguments, as they were asked for, edited or sent, and in answers.
    uses: dict[str, dict[int, None]] = field(default_factory=dict[str, dict[int, None]])
    typed: dict[int, str] = field(default_factory=dict[int, str])  # what the person wrote, by the row of its request


_INDEXES: WeakKeyDictionary[Ladder, _Index] = WeakKeyDictionary()


@dataclass(frozen=True, slots=True)
class ValueOrigin:
    """A number or name in an answer, and the result that it stands in."""

    value: str  # as the answer writes it
    row: tuple[str, int] | None  # the row of the result, by capture and number of its first record; None from nowhere
    words: str  # `from math.add (math #7)`, or `from nowhere`


def values_of(value: JSON) -> Mapping[str, str]:
    """Return the values in a text or in JSON, by how they are compared: numbers, identifiers, and texts as wholes."""
    values: dict[str, str] = {}
    for leaf in leaves(value):
        inner = parsed(leaf) if leaf[:1] in {"{", "["} else None
        for text in leaves(inner) if inner is not None else (leaf,):
            if _SHORTEST <= len(text) <= _LONGEST:
                values[plain(text)] = text
            for match in _VALUE.finditer(plain(text)[: 10 * _BYTES]):
                word = match[0]
                has_digit = any(map(str.isdigit, word))
                is_name = len(word) >= _SHORTEST and (has_digit or "@" in word)
                if is_name or (has_digit and _NUMBER.fullmatch(word)):
                    values.setdefault(word, word)
        if len(values) >= _MOST_VALUES:
            break
    return values


class Values:
    """Says where the values of calls and answers came from, and where they come again."""

    def __init__(self, wires: Wires) -> None:
        self._wires = wires
        self._index = _INDEXES.setdefault(wires.ladder, _Index())
        with self._index.lock:
            if self._index.revision != wires.ladder.revision:
                revision = wires.ladder.revision
                for number in sorted(wires.ladder.changed_since(self._index.revision)):
                    with suppress(TuiHostError):  # what cannot be read holds no value that anybody can follow
                        self._take(wires.ladder.rows[number])
                self._index.revision = revision

    def came_from(self, arguments: JSON, row: Row) -> list[str]:
        """Return in words which values of arguments stand in a result above a row, and not in what the person wrote."""
        lines: list[tuple[str, str]] = []
        for value, shown in values_of(arguments).items():
            if (result_row := self._result_before(value, row.number, even_typed=False)) is not None:
                lines.append((shown, f"came from {self._source(result_row)}"))
        return self._lines(lines)

    def comes_again(self, result: Sequence[JSON], arguments: JSON, row: Row, told: tuple[str, str]) -> list[str]:
        """Return in words where values of a result come again below its row, though neither asked for nor typed since.

        `told` has the words of the result in a request, and how the requests are called that carry them: `LLM 2 and 7 later ones`.
        """
        given, typed, lines = values_of(arguments), list(self._index.typed.items()), list[tuple[str, str]]()
        for value, shown in values_of(list(result)).items():
            first = next((at for at in self._index.uses.get(value, ()) if at > row.number), None)
            if first is None or value in given or any(value in text for at, text in typed if at < first):
                continue
            places = {"": told[1]} if told[1] and value in plain(told[0]) else {}
            for use in (self._wires.ladder.rows[at] for at in sorted(self._index.uses[value]) if at >= first):
                called = self._wires.called(use)
                if use.lane == "llm":
                    places[called] = f"the answer {called}"
                    continue
                call, edited = next(iter(use.calls), ""), ""
                if use.kind == "decision" and call not in places:
                    asked = values_of(read_object(first_data(self._wires, use)).get("asked"))
                    edited = "" if value in asked else ", put in by an edit"
                named = f"call {call_name(self._wires, call)}" if call else f"turn {use.turn}"
                places.setdefault(call or called, f"{use.peer}.{use.tool} ({named}{edited})")
            more = f", {len(places) - _MOST_USES:,} more" if len(places) > _MOST_USES else ""
            lines.append((shown, f"comes again in {', '.join([*places.values()][:_MOST_USES])}{more}"))
        return self._lines(lines)

    def of_answer(self, row: Row) -> list[ValueOrigin]:
        """Return the numbers and names in an answer with the results that they stand in; those that nobody said are from nowhere."""
        dialect, request = self._wires.dialect(row), self._wires.ladder.partner_of(row)
        if dialect is None or row.missing or row.size > MOST:
            return []
        text = folded(self._wires, row, body_of(self._wires, row), dialect).text
        asked = "" if request is None or request.size > MOST else decode(body_of(self._wires, request).data)
        asked, origins = plain(asked), list[ValueOrigin]()
        texts = (value for value in list(self._index.results) if len(value) >= _SHORTEST and value in plain(text))
        for value, shown in {**dict.fromkeys(texts, ""), **values_of(text)}.items():
            if (result_row := self._result_before(value, row.number)) is not None:
                source = self._wires.ladder.rows[result_row]
                origins.append(
                    ValueOrigin(shown or value, (source.capture, source.seq), f"from {self._source(result_row)}")
                )
            elif value not in asked and shown != text and any(map(str.isdigit, value)):
                origins.append(ValueOrigin(shown, None, "from nowhere"))
        return [
            origin for origin in origins if not any(origin.value in other.value != origin.value for other in origins)
        ]

    def notes_on(self, arguments: JSON, path: str = "") -> dict[str, str]:
        """Return by path which values of a call that waits stand in an earlier result: `{"to": "text from docs.read, step 2"}`."""
        notes: dict[str, str] = {}
        last = len(self._wires.ladder.rows)
        if isinstance(arguments, Mapping):
            for name, member in arguments.items():
                notes |= self.notes_on(member, f"{path}.{name}" if path else name)
        elif isinstance(arguments, Sequence) and not isinstance(arguments, str):
            for number, element in enumerate(arguments):
                notes |= self.notes_on(element, f"{path}[{number}]")
        elif arguments is not None and not isinstance(arguments, bool):
            value = plain(next(leaves(arguments), ""))
            if (result_row := self._result_before(value, last, even_typed=False)) is not None:
                row = self._wires.ladder.rows[result_row]
                notes[path] = f"text from {line(self._source(result_row), 80)}, step {row.step}"
        return notes

    def _take(self, row: Row) -> None:
        kept, value = self._index.uses, list[JSON]()
        if row.kind == "frame" and row.method in _CALLS and row.size <= _BYTES and row.answer != row.outward:
            message = mapping(parsed(first_data(self._wires, row)))
            if row.answer:
                kept, value = self._index.results, [content.value for content in contents_of(message.get("result"))]
            else:
                value = [mapping(message.get("params"))]
        elif row.kind == "decision" and row.size <= _BYTES:  # of calls that were not sent too, and as they were edited
            decision = read_object(first_data(self._wires, row))
            value = [decision.get("asked"), decision.get("sent")]
        elif row.lane == "llm" and row.kind == "response" and row.status < 400 and row.size <= 4 * _BYTES:
            dialect = self._wires.dialect(row)
            if dialect is not None and row.state != "open":
                value = [folded(self._wires, row, body_of(self._wires, row), dialect).text]
        elif row.lane == "llm" and row.kind == "request" and row.step <= 1 and row.size <= MOST and not row.missing:
            self._index.typed[row.number] = plain(self._typed_in(row))
        for text in values_of(value):
            kept.setdefault(text, {})[row.number] = None

    def _typed_in(self, row: Row) -> str:
        """Return what the person wrote in a request: a tool protocol of plain text tells results in the person's name."""
        dialect = self._wires.dialect(row)
        data = body_of(self._wires, row).data
        outline = None if dialect is None else outlined(self._wires, row, data, dialect)
        marks = [
            mark for mark in marks_of(self._wires, row) if mark.relation in {"told", "given"} or mark.words == FRAMES
        ]
        pieces: list[bytes] = []
        for part in () if outline is None else outline.walk():
            at = part.start
            for mark in marks if part.kind == "message" and part.origin == USER else ():
                if at <= mark.span.start < part.end:
                    pieces.append(data[at : mark.span.start])
                    at = (mark.span.end or part.end) if mark.relation == "given" else part.end
            pieces += [data[at : part.end]] if part.kind == "message" and part.origin == USER else []
        return words_in(pieces)

    def _result_before(self, value: str, before: int, *, even_typed: bool = True) -> int | None:
        """Return the last result above a row that holds a value, which its own call did not hold."""
        typed = () if even_typed else list(self._index.typed.items())
        if any(value in text for number, text in typed if number < before):
            return None
        for number in reversed([number for number in list(self._index.results.get(value, ())) if number < before]):
            call = self._wires.ladder.partner(number)
            if call is None or call not in self._index.uses.get(value, ()):
                return number
        return None

    def _source(self, number: int) -> str:
        row = self._wires.ladder.rows[number]
        call = self._wires.ladder.partner_of(row) or row
        return f"{row.peer}.{call.tool or row.tool or row.method} ({self._wires.called(row)})"

    def _lines(self, pairs: Iterable[tuple[str, str]]) -> list[str]:
        kept: dict[str, str] = {}
        for shown, words in pairs:
            if not any(shown in other for other in kept):
                kept = {other: text for other, text in kept.items() if other not in shown}
                kept[shown] = f"{self._wires.hide(short(shown, 60))} {words}"
        return list(kept.values())[:_SHOWN]


def later_attempts(
    wires: Wires, rows: Sequence[Row], tool: str, arguments: JSON, *, has_failed: bool
) -> Iterator[tuple[Row, str]]:
    """Yield the rows of calls that ask for the same, in words: with the same arguments, or after a failure with others."""
    ladder, count = wires.ladder, 0
    seen = {call for row in rows for call in row.calls}
    for number in range(rows[0].number + 1, min(len(ladder.rows), rows[-1].number + _ROWS)):
        named = ladder.rows.text("tool", number)
        if not named or not tool.endswith(named):  # most rows: none is made of them
            continue
        row = ladder.rows[number]
        is_ask = row.kind == "decision" or (row.kind == "frame" and row.method == "tools/call" and not row.answer)
        if not is_ask or f"{row.peer}.{row.tool}" != tool or not row.calls or row.calls & seen:
            continue
        seen |= row.calls
        data = first_data(wires, row)
        span = member_range(data, "params", "arguments")
        asked = parsed(data[slice(*span)]) if span is not None else None
        differences = changes(arguments, read_object(data).get("asked") if row.kind == "decision" else asked)
        if differences and not (has_failed and row.turn == rows[0].turn):
            continue
        words = f"differs in {differences}" if differences else "with the same arguments"
        yield row, f"asked again as call {line(min(row.calls), 60)}, {words}"
        count += 1
        if count == _SHOWN:
            return
