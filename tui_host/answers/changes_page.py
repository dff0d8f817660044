"""What changed between two requests: what is new, gone, moved and changed, and where the common beginning ends."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, Literal, TypeAlias

from tui_host.answers.changed_words import ChangedWords, changed_words, merged_text
from tui_host.answers.masks import masked
from tui_host.answers.outlines import taken_apart
from tui_host.answers.sheet import Sheet, SheetLine, Style
from tui_host.answers.wires import TakenRequest
from tui_host.capture.json.reading import read_json
from tui_host.capture.visible import decode, line
from tui_host.llm.layout import ROLES
from tui_host.llm.outline import Comparison

if TYPE_CHECKING:
    from tui_host.answers.steps import Steps
    from tui_host.answers.wires import Wires
    from tui_host.capture.ladder.row import Row
    from tui_host.capture.record import Redaction
    from tui_host.llm.outline import Outline, Part

ChangeKind: TypeAlias = Literal["new", "gone", "moved", "changed"]
_SIGNS: Mapping[ChangeKind, str] = {"new": "+", "gone": "-", "moved": ">", "changed": "~"}
_STYLES: Mapping[ChangeKind, Style] = {"new": "new", "gone": "note", "moved": "what", "changed": "what"}
_SHORT = 60
WHOLE_TEXT = "text"
"""The key of a line that only opens a text."""
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

    size: int  # bytes of the later request
    tokens: int  # how many more tokens it has, an estimate
    prefix: int  # bytes at the beginning that are the same
    breaks_at: str  # the part in which they end: `messages[6]`; empty if the requests are the same
    breaks_in: str  # what that part is: `message of the user`
    cause: str  # why they end there, in words
    is_broken: bool  # whether anything changed but what was added at the end
    changes: tuple[Change, ...]  # all changes, in the order of bytes
    unchanged: int  # number of tools and messages that are the same


def changes_page(wires: Wires, row: Row) -> Steps[Sheet]:
    """Make the page `Changes` of a request."""
    return (yield from changes_sheet(wires, row, wires.compared(row)))


def changes_sheet(wires: Wires, row: Row, earlier: Row | TakenRequest | None) -> Steps[Sheet]:
    """Make the page of a request and the request that it is compared with."""
    what = f"changes of {wires.called(row)}"
    changes = EMPTY if earlier is None else (yield from changes_of(wires, row, earlier))
    if earlier is None or isinstance(changes, str):
        return Sheet(what=what, lines=(), empty=str(changes))
    which = ", the request before" if wires.before(row) == earlier else ""
    if not which and wires.compared(row) == earlier:
        which = ", which is marked"
    against = earlier.name if isinstance(earlier, TakenRequest) else wires.called(earlier)
    tokens = f"{changes.tokens:+,} tokens (estimate), {changes.unchanged:,} parts unchanged"
    return Sheet(
        what=f"{what} since {against}{which}",
        lines=[_line(number, change) for number, change in enumerate(changes.changes)],
        notes=[note for note in (prefix_words(changes), changes.cause, tokens) if note],
        empty="Nothing changed: both requests have the same bytes.",
    )


def prefix_words(changes: Changes) -> str:
    """Say how much of the beginning is the same, and where it ends."""
    kept = f"prefix kept {changes.prefix:,} of {changes.size:,} B"
    if not changes.breaks_at:
        return f"{kept}: the same bytes"
    breaks = "breaks at" if changes.is_broken else "goes on at"
    return f"{kept}; {breaks} {changes.breaks_at}: {changes.breaks_in}"


def changes_of(wires: Wires, row: Row, earlier: Row | TakenRequest) -> Steps[Changes | str]:
    """Compare two requests; returns a sentence if one of them cannot be read."""
    apart = yield from taken_apart(wires, row)
    if isinstance(apart, str):
        return apart
    body, now = apart
    if isinstance(earlier, TakenRequest):
        hidden, before = earlier.redacted, earlier.dialect.outline(earlier.data, wires.names(row))
        if before is None:
            return "The other request is not a JSON object."
    else:
        apart = yield from taken_apart(wires, earlier)
        if isinstance(apart, str):
            return apart
        hidden, before = apart[0].redacted, apart[1]
    comparing = _Comparing(before, now, (*hidden, *body.redacted), wires.names(row))
    yield "compared"
    return (yield from comparing.result())


def path_of(key: str) -> str:
    """Return an outline's key as a path: `messages[2].calls[0]`."""
    first, *rest = key.split("/")
    return line("".join([first, *(f"[{name}]" if name.isdecimal() else f".{name}" for name in rest)]), 120)


class _Comparing:
    def __init__(
        self, before: Outline, now: Outline, redacted: Sequence[Redaction], names: Mapping[str, tuple[str, str]]
    ) -> None:
        self._before = before
        self._now = now
        self._comparison = Comparison(before, now)
        self._redacted = redacted
        self._names = names

    def result(self) -> Steps[Changes]:
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
            yield f"{len(changes):,} changes"
        changes += self._moved_tools()
        still_gone = [part for part in self._comparison.removed if gone.get(before.bytes_of(part)) is part]
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
        at, end = (None, "") if is_same else (_part_at(now, prefix), "the end")
        return Changes(
            size=len(now.body),
            tokens=sum(part.tokens for part in now.parts) - sum(part.tokens for part in before.parts),
            prefix=prefix,
            breaks_at=end if at is None else path_of(at.key),
            breaks_in="" if at is None else self._label(at, now),
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
            if mark == "+" and part.kind in {"tools", "messages"}:
                yield from part.children
            elif inner:
                yield from inner
            elif mark == "+" or (mark == "~" and part.kind not in {"tools", "messages"}):
                yield part

    def _moved_tools(self) -> Iterator[Change]:
        """Yield the tools that stand at another place among the tools of both requests."""
        old, new = ({part.key: part for part in _items(outline, "tools")} for outline in (self._before, self._now))
        one, other = [key for key in old if key in new], [key for key in new if key in old]
        for tag, *_, first, last in SequenceMatcher(None, one, other, autojunk=False).get_opcodes():
            if tag in {"insert", "replace"}:
                yield from (self._change("moved", new[key], old[key]) for key in other[first:last])

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
        group = next(each for each in outline.parts if each.key == part.key.partition("/")[0])
        above = next((each for each in group.children if part.key.startswith(f"{each.key}/")), None)
        called = self._called(part)
        if above is not None and part.kind not in {"message", "result"}:
            of = f"{'tool ' if above.kind == 'tool' else ''}{self._called(above) or above.label}"
            return line(f"{part.label} {called} of the {of}".replace("  ", " "), 120)
        if "system" in {part.label, group.label if above is None else ""}:
            return "system prompt"
        whose, plain = "", "message of the" if part.children else "text of the"
        if part.kind == "message" and part.origin != ROLES.get(part.label, part.origin):
            whose, plain = f", from {part.origin}", "message of the role"  # images of results are in the user's
        kinds = {"message": plain, "tool": "tool", "option": "option", "result": "result of"}
        name = called or part.label or part.key.partition("/")[2]
        return line(f"{kinds.get(part.kind, '')} {name}{whose}".strip(), 120)

    def _called(self, part: Part) -> str:
        """Return the name of a part; of a tool that of the server, which a dialect may have made unreadable."""
        return ".".join(filter(None, self._names.get(part.name, ("", part.name))))


def _cause(broken: Sequence[Change], prefix: int) -> str:
    if not broken:
        return "nothing that was sent before has changed: all of it is sent again, and more behind it"
    sizes = [(change, max(change.size, change.size_before)) for change in broken]
    around = [change for change, size in sizes if change.start <= prefix < change.start + size]
    cause = max(around, key=lambda change: change.start, default=None)
    cause = cause or next((change for change in broken if change.start >= prefix), broken[0])
    what = f"{cause.path}, {cause.label},"
    match cause.kind:
        case "new":
            return f"broken because {what} is new there"
        case "gone":
            return f"broken because {what} is no longer sent"
        case "moved":
            return f"broken because {what} stood elsewhere before: {cause.moved_from}"
        case "changed":
            words = f": {_brief(cause.words[0])}" if cause.words else ""
            time = " (a time: it changes with each request)" if any(each.is_time for each in cause.words[:3]) else ""
            return f"broken because {what} changed{words}{time}"


def _brief(words: ChangedWords) -> str:
    gone, come = (f'"{line(text, _SHORT)}"' if text else "nothing" for text in (words.gone, words.come))
    return f"{gone} -> {come}"


def _line(number: int, change: Change) -> SheetLine:
    places = [
        SheetLine(
            key=str(place),
            label=f"…{line(words.before, _SHORT)}  {_brief(words)}  {line(words.after, _SHORT)}…",
            style="new" if words.come else "note",
        )
        for place, words in enumerate(change.words[:50])
    ]
    if more := len(change.words) - len(places):
        places.append(SheetLine(key="more", label=f"and {more:,} more", style="note"))
    if places:
        words = "the whole text, [-gone-] and {+new+} marked"
        places.append(SheetLine(key=WHOLE_TEXT, label=words, text=lambda: change.text, style="note"))
    moved = f"from {change.moved_from}" if change.moved_from else ""
    return SheetLine(
        key=f"{number}",
        label=f"{change.path}  {change.label}{f'  {change.preview}' if change.preview else ''}",
        figures=(f"{change.size:,}" if change.size else "", f"{change.size - change.size_before:+,}"),
        mark=_SIGNS[change.kind],
        note="no longer sent" if change.kind == "gone" else moved,
        text=None if places else lambda: change.text,
        children=tuple(places),
        opened=bool(places),
        style=_STYLES[change.kind],
    )


def _text(outline: Outline, part: Part, kind: ChangeKind) -> str:
    """Return what a part says, else its bytes; of a changed tool its bytes."""
    is_said = part.says[1] and not (kind == "changed" and part.kind == "tool")
    start, end = part.says if is_said else (part.start, part.end)
    text = decode(outline.body[start:end])
    try:
        value = read_json(text) if text.startswith('"') else text
    except ValueError:
        return text
    return value if isinstance(value, str) else text


def _items(outline: Outline, *kinds: str) -> Iterator[Part]:
    return (child for part in outline.parts if part.kind in kinds for child in part.children)


def _part_at(outline: Outline, place: int) -> Part | None:
    """Return the innermost part that a byte stands in, else the next one behind it in the innermost group."""
    parts: Sequence[Part] = outline.parts
    inner: Part | None = None
    while True:
        at = next((part for part in parts if part.start <= place < part.end), None)
        if at is None:
            break
        inner, parts = at, at.children
    if inner is not None and inner.kind not in {"tools", "messages"}:
        return inner
    return next((part for part in parts if part.start >= place), inner)
