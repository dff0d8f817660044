"""What changed between two requests: what is new, gone, moved and changed, and what breaks the beginning that both share."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from typing import Literal, TypeAlias
from weakref import WeakKeyDictionary

from tui_host.answers.bodies import body_of
from tui_host.answers.masks import masked
from tui_host.answers.outlines import compared_with, earlier_apart, taken_apart
from tui_host.answers.sheet import Sheet, SheetLine, Style, Value
from tui_host.answers.values import parsed
from tui_host.answers.wires import TakenRequest, Wires
from tui_host.capture.ladder.ladder import Ladder
from tui_host.capture.ladder.row import Row
from tui_host.capture.record import Redaction
from tui_host.capture.visible import decode, line
from tui_host.llm.layout import ROLES
from tui_host.llm.outline import Comparison, Outline, Part, common_prefix

_WORDS = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]|\d+(?:[:./-]\d+)*|\w+|\s+|.", re.DOTALL)
"""A number, time or date, a word, a Chinese, Japanese or Korean character, blanks, or a sign."""
_LINES = re.compile(r"[^\n]*\n|[^\n]+")
_MOST = 2000  # words, else lines, of each text that are compared; of more, the whole middle counts as changed
_CONTEXT = 24
_TIME = re.compile(r"\d{1,2}:\d{2}|\d{4}-\d{2}|\b20\d{2}\b")


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedWords:
    """A place where a text changed."""

    start: int  # where the new words stand in the later text, in characters
    gone: str  # the words of the earlier text; empty if words were only added
    come: str  # the words of the later text; empty if words were only removed
    before: str  # some characters before, the same in both texts
    after: str  # some characters behind


def changed_words(old: str, new: str) -> Sequence[ChangedWords]:
    """Return the places where two texts differ, in their order. Bounded: long texts are compared by lines, else as wholes."""
    head = common_prefix(old, new)
    head = max((match.start() for match in _WORDS.finditer(new, max(0, head - 80), head)), default=head) if head else 0
    tail = common_prefix(old[head:][::-1], new[head:][::-1])
    older, newer = old[head : len(old) - tail], new[head : len(new) - tail]
    following = re.match(r"(?:[:./-]?\w)*", new[len(new) - tail :])
    more = following.end() if following is not None and (older or newer) else 0  # whole words
    if more:
        older, newer = old[head : len(old) - tail + more], new[head : len(new) - tail + more]
    return [
        ChangedWords(
            start=head + start,
            gone=gone,
            come=come,
            before=new[max(0, head + start - _CONTEXT) : head + start],
            after=new[head + start + len(come) : head + start + len(come) + _CONTEXT],
        )
        for start, gone, come in _differences(older, newer)
    ]


def marked(gone: str, come: str) -> str:
    """Return words that are gone and words that came as `[-gone-]{+come+}`, without an empty half."""
    return (f"[-{gone}-]" if gone else "") + (f"{{+{come}+}}" if come else "")


def merged_text(new: str, changes: Sequence[ChangedWords]) -> str:
    """Return the later text with the changes marked: `[-gone-]{+come+}`."""
    pieces: list[str] = []
    place = 0
    for change in changes:
        pieces.append(new[place : change.start])
        pieces.append(marked(change.gone, change.come))
        place = change.start + len(change.come)
    return "".join((*pieces, new[place:]))


def _differences(old: str, new: str) -> Iterator[tuple[int, str, str]]:
    """Yield where the words stand in the later text, the words that are gone, and those that came."""
    for pattern in (_WORDS, _LINES):
        older, newer = pattern.findall(old[: 1 << 20]), pattern.findall(new[: 1 << 20])
        if max(len(older), len(newer)) <= _MOST and max(len(old), len(new)) <= 1 << 20:
            break
    else:
        older, newer = [old], [new]
    place = done = 0
    gone, come, since = "", "", 0
    for tag, start, end, first, last in SequenceMatcher(None, older, newer).get_opcodes():
        place += sum(map(len, newer[done:first]))
        done = first
        words = "".join(newer[first:last])
        if tag != "equal":
            since = since if gone or come else place
            gone, come = gone + "".join(older[start:end]), come + words
        elif (gone or come) and words.isspace() and last < len(newer) and end < len(older):
            gone, come = gone + words, come + words  # blanks between two changed words belong to the change
        elif gone or come:
            yield since, gone, come
            gone, come = "", ""
    if gone or come:
        yield since, gone, come


ChangeKind: TypeAlias = Literal["new", "gone", "moved", "changed"]
_SIGNS: Mapping[ChangeKind, tuple[str, Style]] = {
    "new": ("+", "new"),
    "gone": ("-", "note"),
    "moved": (">", "what"),
    "changed": ("~", "what"),
}
_SHORT = 60
_ALSO = 2  # further causes of a break that are named
_SHOWN = 50  # changed words that are shown
WHOLE_TEXT = "text"  # the key of a line that only opens a text
EMPTY = "What changed since the request before stands here, from the second request of a conversation on."


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A part of a request that differs from the request before."""

    kind: ChangeKind
    path: str  # where the part stands: `messages[6]`; of a part that is gone, where it stood
    label: str  # what the part is: `message of the user`
    preview: str  # the beginning of its text, secrets masked
    size: int  # its bytes
    size_before: int  # its bytes before; 0 if it is new
    start: int  # its first byte; of a part that is gone, its first byte in the request before
    moved_from: str = ""  # where a moved part stood
    words: tuple[ChangedWords, ...] = ()  # the changed words of a changed text
    text: str = ""  # the text with its changes marked, or the whole text


@dataclass(frozen=True, slots=True, kw_only=True)
class Changes:
    """The differences between two requests."""

    tokens: int  # how many more tokens the later request has, an estimate
    prefix_words: str  # how much of the beginning is the same, and where it ends
    cause: str  # why it ends there, in words
    is_broken: bool  # whether anything changed but what was added at the end
    changes: tuple[Change, ...]  # all changes, in the order of bytes
    unchanged: int  # number of tools and messages that are the same


@dataclass(frozen=True, slots=True, kw_only=True)
class PrefixBreak:
    """A request whose beginning is not that of the request before, which is what providers cache."""

    request: str  # its name: `LLM 7`
    row: tuple[str, int]  # its row, by capture and number of its first record
    cause: str  # why the beginning ends there: `tools.docs__search, tool docs.search, changed: …`


_KNOWN: WeakKeyDictionary[Ladder, dict[tuple[str, int], PrefixBreak | None]] = WeakKeyDictionary()
"""What was compared before, as long as the rows are kept: requests do not change."""


def changes_page(wires: Wires, row: Row) -> Sheet:
    """Make the page of a request and the request that it is compared with."""
    earlier, what = wires.compared(row), f"changes of {wires.called(row)}"
    changes = EMPTY if earlier is None else changes_of(wires, row, earlier)
    if earlier is None or isinstance(changes, str):
        return Sheet(what=what, lines=(), empty=str(changes))
    tokens = f"{changes.tokens:+,} tokens (estimate), {changes.unchanged:,} parts unchanged"
    return Sheet(
        what=f"{what} since {compared_with(wires, row, earlier)}",
        lines=[_line(number, change, changes.cause) for number, change in enumerate(changes.changes)],
        notes=[note for note in (changes.prefix_words, changes.cause, tokens) if note],
        empty="Nothing changed: both requests have the same bytes.",
    )


def changes_of(wires: Wires, row: Row, earlier: Row | TakenRequest) -> Changes | str:
    """Compare two requests; returns a sentence if one of them cannot be read."""
    now, before = taken_apart(wires, row), earlier_apart(wires, row, earlier)
    if isinstance(now, str) or isinstance(before, str):
        return now if isinstance(now, str) else str(before)
    redacted = *before[0].redacted, *now[0].redacted
    comparison = Comparison(before[1], now[1])
    return _Comparing(before[1], now[1], redacted, wires.names(row), comparison).result()


def answered_before(wires: Wires, row: Row) -> Row | None:
    """Return the request before in the conversation that the provider did not refuse: what it could have cached."""
    before = wires.before(row)
    while before is not None and ((answer := wires.ladder.partner_of(before)) is None or answer.status >= 400):
        before = wires.before(before)
    return before


def breaks_of(wires: Wires, rows: Iterable[Row]) -> Sequence[PrefixBreak]:
    """Return the requests that break the prefix, those that are refused or without an answer left out."""
    known, breaks = _KNOWN.setdefault(wires.ladder, {}), list[PrefixBreak]()
    last: tuple[Row | None, bytes] = None, b""
    for row in rows:
        key, answer = (row.capture, row.seq), wires.ladder.partner_of(row)
        if key not in known and not row.missing and answer is not None and answer.status < 400:
            before, now = answered_before(wires, row), body_of(wires, row).data
            known[key] = None
            if before is not None and not before.missing:
                earlier = last[1] if before == last[0] else body_of(wires, before).data
                # Most requests have something put in at one place, as added messages are.
                if len(now) < len(earlier) or not now.endswith(earlier[common_prefix(earlier, now) :]):
                    known[key] = _break(wires, row, before)
            last = row, now
        if (broken := known.get(key)) is not None:
            breaks.append(broken)
    return breaks


def _break(wires: Wires, row: Row, before: Row) -> PrefixBreak | None:
    changes = changes_of(wires, row, before)
    if not isinstance(changes, Changes) or not changes.is_broken:
        return None
    cause = changes.cause.removeprefix("broken because ")
    others = {change.path: change.label for change in changes.changes if change.kind != "new"}
    also = [f"{path}, {label}" for path, label in others.items() if path not in cause]
    if also:
        cause += f"; also {'; '.join(also[:_ALSO])}{f' and {len(also) - _ALSO} more' if len(also) > _ALSO else ''}"
    return PrefixBreak(request=wires.called(row), row=(row.capture, row.seq), cause=cause)


def path_of(key: str) -> str:
    """Return an outline's key as a path: `messages[2].calls[0]`."""
    first, *rest = key.split("/")
    return line("".join([first, *(f"[{name}]" if name.isdecimal() else f".{name}" for name in rest)]), 120)


@dataclass(frozen=True, slots=True)
class _Comparing:
    _before: Outline
    _now: Outline
    _redacted: Sequence[Redaction]
    _names: Mapping[str, tuple[str, str]]
    _comparison: Comparison

    def result(self) -> Changes:
        """Return all changes, moved parts once, with the place where the common beginning ends."""
        before, now, marks = self._before, self._now, self._comparison.marks
        gone = {before.bytes_of(part): part for part in self._comparison.removed}
        changes: list[Change] = []
        for part in self._changed_parts(now.parts):
            if moved := gone.pop(now.bytes_of(part), None):
                changes.append(self._change("moved", part, moved))
            elif marks.get(part.key) == "+":
                changes.append(self._change("new", part))
            else:
                changes.append(self._change("changed", part, self._comparison.earlier[part.key]))
        old, new = ({part.key: part for part in _items(outline, "tools")} for outline in (before, now))
        keys, new_keys = [key for key in old if key in new], [key for key in new if key in old]
        for tag, *_, first, last in SequenceMatcher(None, keys, new_keys, autojunk=False).get_opcodes():
            if tag in {"insert", "replace"}:
                changes += [self._change("moved", new[key], old[key]) for key in new_keys[first:last]]
        still_gone = (part for part in self._comparison.removed if gone.get(before.bytes_of(part)) is part)
        changes += [self._change("gone", part) for part in still_gone]
        changes.sort(key=lambda change: change.start)
        # A new message behind all messages of the request before is no break.
        last = max((part.start for part in _items(now, "messages") if marks.get(part.key) != "+"), default=-1)
        broken = [
            change
            for change in changes
            if change.kind != "new" or change.start <= last or not re.fullmatch(r"\w+\[\d+\]", change.path)
        ]
        prefix = self._comparison.prefix
        is_same = prefix == len(now.body) == len(before.body)
        # The innermost part that the place stands in, else the next one behind it in the innermost group.
        parts: Sequence[Part] = now.parts
        at: Part | None = None
        while (inner := next((part for part in parts if part.start <= prefix < part.end), None)) is not None:
            at, parts = inner, inner.children
        if at is None or at.kind in {"tools", "messages"}:
            at = next((part for part in parts if part.start >= prefix), at)
        ends = "the end: " if at is None else f"{path_of(at.key)}: {self._label(at, now)}"
        same = f"the first {prefix:,} of {len(now.body):,} bytes are the same"
        differs = f"{same}; {'it breaks' if broken else 'it goes on'} at {ends}"
        return Changes(
            tokens=sum(part.tokens for part in now.parts) - sum(part.tokens for part in before.parts),
            prefix_words=f"all {prefix:,} bytes are the same" if is_same else differs,
            cause="" if is_same else _cause(broken, prefix),
            is_broken=bool(broken),
            changes=tuple(changes),
            unchanged=sum(marks.get(part.key) == "=" for part in _items(now, "tools", "messages")),
        )

    def _changed_parts(self, parts: Sequence[Part]) -> Iterator[Part]:
        """Yield new parts, and the smallest parts that changed: as wholes where no part of theirs did."""
        for part in parts:
            mark = self._comparison.marks.get(part.key, "=")
            inner = list(self._changed_parts(part.children)) if mark == "~" else []
            is_list = part.kind in {"tools", "messages"}
            if mark == "+" and is_list:
                yield from part.children
            elif inner:
                yield from inner
            elif mark == "+" or (mark == "~" and not is_list):
                yield part

    def _change(self, kind: ChangeKind, part: Part, before: Part | None = None) -> Change:
        outline = self._before if kind == "gone" else self._now
        text, words, moved_from = masked(_text(outline, part, kind), self._redacted), (), ""
        if kind == "changed" and before is not None:
            words = tuple(changed_words(masked(_text(self._before, before, kind), self._redacted), text))
            text = merged_text(text, words)
        elif before is not None:
            moved_from = f"byte {before.start:,}" if before.key == part.key else path_of(before.key)
        old = part if kind == "gone" else before
        return Change(
            kind=kind,
            path=path_of(part.key),
            label=self._label(part, outline),
            preview="" if kind == "changed" else masked(part.preview, self._redacted),
            size=0 if kind == "gone" else part.size,
            size_before=0 if old is None else old.size,
            start=part.start,
            moved_from=moved_from,
            words=words,
            text=text,
        )

    def _label(self, part: Part, outline: Outline) -> str:
        group = next(outlined for outlined in outline.parts if outlined.key == part.key.partition("/")[0])
        above = next((child for child in group.children if part.key.startswith(f"{child.key}/")), None)
        called = self._called(part)
        if above is not None and part.kind not in {"message", "result"}:
            of = f"{'tool ' if above.kind == 'tool' else ''}{self._called(above) or above.label}"
            return line(f"{part.label} {called} of the {of}".replace("  ", " "), 120)
        if "system" in {part.label, group.label if above is None else ""}:
            return "system prompt"
        whose, words = "", "message of the" if part.children else "text of the"
        if part.kind == "message" and part.origin != ROLES.get(part.label, part.origin):
            whose, words = f", from {part.origin}", "message of the role"  # images of results are in the user's
        kinds = {"message": words, "tool": "tool", "option": "option", "result": "result of"}
        name = called or part.label or part.key.partition("/")[2]
        return line(f"{kinds.get(part.kind, '')} {name}{whose}".strip(), 120)

    def _called(self, part: Part) -> str:
        """Return the name of a part; of a tool that of the server, which a dialect may have made unreadable."""
        return ".".join(filter(None, self._names.get(part.name, ("", part.name))))


def _cause(broken: Sequence[Change], prefix: int) -> str:
    if not broken:
        return "nothing that was sent before has changed: all of it is sent again, and more behind it"
    ends = ((change, change.start + max(change.size, change.size_before)) for change in broken)
    around = [change for change, end in ends if change.start <= prefix < end]
    cause = max(around, key=lambda change: change.start, default=None)
    cause = cause or next((change for change in broken if change.start >= prefix), broken[0])
    what = f"broken because {cause.path}, {cause.label},"
    match cause.kind:
        case "new":
            return f"{what} is new there"
        case "gone":
            return f"{what} is no longer sent"
        case "moved":
            return f"{what} stood elsewhere before: {cause.moved_from}"
        case "changed":
            words = f": {_brief(cause.words[0])}" if cause.words else ""
            is_time = any(_TIME.search(f"{word.before[-6:]}{word.gone}{word.after[:6]}") for word in cause.words[:3])
            time = " (a time: it changes with each request)" if is_time else ""
            return f"{what} changed{words}{time}"


def _brief(words: ChangedWords) -> str:
    gone, come = (f'"{line(text, _SHORT)}"' if text else "nothing" for text in (words.gone, words.come))
    return f"{gone} -> {come}"


def _line(number: int, change: Change, cause: str) -> SheetLine:
    places = [
        SheetLine(
            key=str(place),
            label=f"…{line(words.before, _SHORT)}  {_brief(words)}  {line(words.after, _SHORT)}…",
            style="new" if words.come else "note",
        )
        for place, words in enumerate(change.words[:_SHOWN])
    ]
    if more := len(change.words) - len(places):
        places.append(SheetLine(key="more", label=f"and {more:,} more", style="note"))
    if places:
        words = "the whole text, [-gone-] and {+new+} marked"
        places.append(SheetLine(key=WHOLE_TEXT, label=words, text=lambda: change.text, style="note"))
    moved = f"from {change.moved_from}" if change.moved_from else ""
    note = "no longer sent" if change.kind == "gone" else moved
    is_cause = cause.startswith(f"broken because {change.path}, {change.label},")
    mark, style = _SIGNS[change.kind]
    note = f"it breaks the shared beginning{f', {note}' * bool(note)}" if is_cause else note
    label = "  ".join(filter(None, (change.path, change.label, change.preview)))
    values: dict[str, Value] = {"bytes": change.size or None, "change": change.size - change.size_before}
    text = None if places else lambda: change.text
    shown = SheetLine(key=f"{number}", label=label, values=values, mark=mark, note=note, text=text, style=style)
    return replace(shown, children=tuple(places), opened=bool(places))


def _text(outline: Outline, part: Part, kind: ChangeKind) -> str:
    """Return what a part says, else its bytes; of a changed tool its bytes."""
    is_said = part.says[1] and not (kind == "changed" and part.kind == "tool")
    start, end = part.says if is_said else (part.start, part.end)
    text = decode(outline.body[start:end])
    value = parsed(text) if text.startswith('"') else text
    return value if isinstance(value, str) else text


def _items(outline: Outline, *kinds: str) -> Iterator[Part]:
    return (child for part in outline.parts if part.kind in kinds for child in part.children)
