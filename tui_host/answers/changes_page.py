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

    request: str  # the name of the later request: `LLM 3`
    against: str  # the name of the request that it is compared with
    size: int  # bytes of the request
    size_before: int  # bytes of the request that it is compared with
    tokens: int  # its tokens, an estimate
    tokens_before: int  # the tokens of the other request, an estimate
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
    if earlier is None:
        return Sheet(what=what, lines=(), empty=EMPTY)
    changes = yield from changes_of(wires, row, earlier)
    if isinstance(changes, str):
        return Sheet(what=what, lines=(), empty=changes)
    which = ", the request before" if wires.before(row) == earlier else ""
    if not which and wires.compared(row) == earlier:
        which = ", which is marked"
    since = f"{what} since {changes.against}{which}"
    tokens = changes.tokens - changes.tokens_before
    notes = [
        prefix_words(changes),
        changes.cause,
        f"{tokens:+,} tokens (estimate), {changes.unchanged:,} parts unchanged",
    ]
    return Sheet(
        what=since,
        lines=[_line(number, change) for number, change in enumerate(changes.changes)],
        notes=[note for note in notes if note],
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
    comparison = Comparison(before, now)
    yield "compared"
    comparing = _Comparing(before, now, comparison, (*hidden, *body.redacted), wires.names(row))
    changes = yield from comparing.changes()
    return comparing.result(
        wires.called(row), earlier.name if isinstance(earlier, TakenRequest) else wires.called(earlier), changes
    )


def path_of(key: str) -> str:
    """Return an outline's key as a path: `messages[2].calls[0]`."""
    first, *rest = key.split("/")
    return line("".join([first, *(f"[{name}]" if name.isdecimal() else f".{name}" for name in rest)]), 120)


class _Comparing:
    def __init__(
        self,
        before: Outline,
        now: Outline,
        comparison: Comparison,
        redacted: Sequence[Redaction],
        names: Mapping[str, tuple[str, str]],
    ) -> None:
        self._before = before
        self._now = now
        self._comparison = comparison
        self._redacted = redacted
        self._names = names

    def changes(self) -> Steps[list[Change]]:
        """Make the list of changes, moved parts once."""
        gone = {self._before.bytes_of(part): part for part in self._comparison.removed}
        changes: list[Change] = []
        for part, is_whole in self._changed_parts(self._now.parts):
            moved = gone.pop(self._now.bytes_of(part), None)
            if moved is not None:
                changes.append(self._change("moved", part, self._now, before=moved))
            elif self._comparison.marks.get(part.key) == "+":
                changes.append(self._change("new", part, self._now))
            else:
                changes.append(self._changed(part, self._comparison.earlier[part.key], is_whole=is_whole))
            yield f"{len(changes):,} changes"
        changes += self._moved_tools()
        still_gone = [part for part in self._comparison.removed if gone.get(self._before.bytes_of(part)) is part]
        changes += [self._change("gone", part, self._before) for part in still_gone]
        return sorted(changes, key=lambda change: change.start)

    def _changed_parts(self, parts: Sequence[Part]) -> Iterator[tuple[Part, bool]]:
        """Yield new parts, and the smallest parts that changed: as wholes where no part of theirs did."""
        marks = self._comparison.marks
        for part in parts:
            mark = marks.get(part.key, "=")
            inner = list(self._changed_parts(part.children)) if mark == "~" else []
            is_group = part.kind in {"tools", "messages"}
            if mark == "+" and is_group:
                yield from ((child, True) for child in part.children)
            elif inner:
                yield from inner
            elif mark == "+" or (mark == "~" and not is_group):
                yield part, True

    def _moved_tools(self) -> Iterator[Change]:
        """Yield the tools that stand at another place among the tools of both requests."""
        old, new = ({part.key: part for part in _tools(outline)} for outline in (self._before, self._now))
        one, other = [key for key in old if key in new], [key for key in new if key in old]
        if one == other:
            return
        for tag, *_, first, last in SequenceMatcher(None, one, other, autojunk=False).get_opcodes():
            if tag in {"insert", "replace"}:
                for key in other[first:last]:
                    yield self._change("moved", new[key], self._now, before=old[key])

    def _change(self, kind: ChangeKind, part: Part, outline: Outline, *, before: Part | None = None) -> Change:
        size_before, moved_from = part.size if kind == "gone" else 0, ""
        if before is not None:
            size_before = before.size if kind != "gone" else size_before
            moved_from = f"byte {before.start:,}" if before.key == part.key else path_of(before.key)
        return Change(
            kind=kind,
            path=path_of(part.key),
            label=self._label(part, outline),
            preview=masked(part.preview, self._redacted),
            size=0 if kind == "gone" else part.size,
            size_before=size_before,
            start=part.start,
            moved_from=moved_from,
            text=masked(_text(outline, part), self._redacted),
        )

    def _changed(self, part: Part, before: Part, *, is_whole: bool) -> Change:
        old, new = (
            masked(_text(outline, each, is_whole=is_whole), self._redacted)
            for outline, each in ((self._before, before), (self._now, part))
        )
        words = tuple(changed_words(old, new))
        return Change(
            kind="changed",
            path=path_of(part.key),
            label=self._label(part, self._now),
            preview="",
            size=part.size,
            size_before=before.size,
            start=part.start,
            words=words,
            text=merged_text(new, words),
        )

    def _label(self, part: Part, outline: Outline) -> str:
        first, _, name = part.key.partition("/")
        above = next((each for each in _groups(outline, first) if part.key.startswith(f"{each.key}/")), None)
        if part.kind in {"message", "result"} or above is None:
            group = next((each.label for each in outline.parts if each.key == first), "")
            if "system" in {part.label, "" if above is not None else group}:
                return "system prompt"
            is_others = part.kind == "message" and part.origin != ROLES.get(part.label, part.origin)
            whose = f", from {part.origin}" if is_others else ""  # images of results stand in the user's messages
            plain = "message of the" if part.children else "text of the"
            if is_others:
                plain = "message of the role"
            word = {"message": plain, "tool": "tool", "option": "option", "result": "result of"}
            return line(f"{word.get(part.kind, '')} {self._called(part) or part.label or name}{whose}".strip(), 120)
        of = self._called(above) or above.label
        return line(
            f"{part.label} {self._called(part)} of the {'tool ' if above.kind == 'tool' else ''}{of}".replace(
                "  ", " "
            ),
            120,
        )

    def _called(self, part: Part) -> str:
        """Return the name of a part; of a tool that of the server, which a dialect may have made unreadable."""
        return ".".join(filter(None, self._names.get(part.name, ("", part.name))))

    def result(self, request: str, against: str, changes: Sequence[Change]) -> Changes:
        """Return all of it with the place where the common beginning ends."""
        prefix = self._comparison.prefix
        is_same = prefix == len(self._now.body) == len(self._before.body)
        at = None if is_same else _part_at(self._now, prefix)
        end = "" if is_same else "the end"
        broken = [change for change in changes if not self._is_added_at_end(change)]
        return Changes(
            request=request,
            against=against,
            size=len(self._now.body),
            size_before=len(self._before.body),
            tokens=sum(part.tokens for part in self._now.parts),
            tokens_before=sum(part.tokens for part in self._before.parts),
            prefix=prefix,
            breaks_at=path_of(at.key) if at is not None else end,
            breaks_in=self._label(at, self._now) if at is not None else "",
            cause="" if is_same else _cause(broken, prefix),
            is_broken=bool(broken),
            changes=tuple(changes),
            unchanged=sum(self._comparison.marks.get(part.key) == "=" for part in _items(self._now)),
        )

    def _is_added_at_end(self, change: Change) -> bool:
        """Whether a change is a new message behind all messages of the request before."""
        if change.kind != "new" or not re.fullmatch(r"\w+\[\d+\]", change.path):
            return False
        marks = self._comparison.marks
        last = max((part.start for part in _messages(self._now) if marks.get(part.key) != "+"), default=-1)
        return change.start > last


def _cause(broken: Sequence[Change], prefix: int) -> str:
    if not broken:
        return "nothing that was sent before has changed: all of it is sent again, and more behind it"
    around = [
        change for change in broken if change.start <= prefix < change.start + max(change.size, change.size_before)
    ]
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
    signs = _SIGNS[change.kind]
    moved = f"from {change.moved_from}" if change.moved_from else ""
    children = tuple(
        SheetLine(
            key=str(place),
            label=f"…{line(words.before, _SHORT)}  {_brief(words)}  {line(words.after, _SHORT)}…",
            style="new" if words.come else "note",
        )
        for place, words in enumerate(change.words[:50])
    )
    if len(change.words) > len(children):
        children += (SheetLine(key="more", label=f"and {len(change.words) - len(children):,} more", style="note"),)
    whole = SheetLine(
        key=WHOLE_TEXT, label="the whole text, [-gone-] and {+new+} marked", text=lambda: change.text, style="note"
    )
    figures = (f"{change.size:,}" if change.size else "", f"{change.size - change.size_before:+,}")
    label = f"{change.path}  {change.label}{f'  {change.preview}' if change.preview else ''}"
    return SheetLine(
        key=f"{number}",
        label=label,
        figures=figures,
        mark=signs,
        note=moved or ("no longer sent" if change.kind == "gone" else ""),
        text=None if children else lambda: change.text,
        children=(*children, whole) if children else (),
        opened=bool(children),
        style=_STYLES[change.kind],
    )


def _text(outline: Outline, part: Part, *, is_whole: bool = False) -> str:
    """Return what a part says, else its bytes."""
    start, end = part.says if part.says[1] and not (is_whole and part.kind == "tool") else (part.start, part.end)
    text = decode(outline.body[start:end])
    if text.startswith('"'):
        try:
            value = read_json(text)
        except ValueError:
            return text
        return value if isinstance(value, str) else text
    return text


def _groups(outline: Outline, key: str) -> Iterator[Part]:
    for part in outline.parts:
        if part.key == key:
            yield from part.children


def _items(outline: Outline) -> Iterator[Part]:
    for part in outline.parts:
        if part.kind in {"tools", "messages"}:
            yield from part.children


def _tools(outline: Outline) -> Iterator[Part]:
    return (part for part in _items(outline) if part.kind == "tool")


def _messages(outline: Outline) -> Iterator[Part]:
    for part in outline.parts:
        if part.kind == "messages":
            yield from part.children


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
