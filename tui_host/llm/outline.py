"""A request as a tree of parts with their byte ranges, and the changes since the previous request."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import zip_longest
from typing import AnyStr, Literal, TypeAlias

from tui_host.capture.json.spans import Node

PartKind: TypeAlias = Literal[
    "tools", "tool", "messages", "message", "text", "thinking", "image", "call", "result", "schema", "option"
]
Mark: TypeAlias = Literal["+", "-", "~", "="]

USER = "you"  # the origin of a user's words, also in another host's requests
_PREVIEW = 80
_LONGEST_ESCAPE = len("\\u0000")
_ASCII = bytes(range(128))
_NOT_LEAD_OF_THREE = bytes(byte for byte in range(256) if not 0xE0 <= byte <= 0xEF)
_NOT_LEAD_OF_FOUR = bytes(byte for byte in range(256) if byte < 0xF0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A part of a request."""

    key: str  # unique in the outline, such as `messages/2/calls/0`
    kind: PartKind
    label: str  # the kind in words
    name: str = ""  # of a tool or an option
    start: int
    end: int
    tokens: int
    origin: str = ""  # `USER`, `model`, `host`, or a server's name
    preview: str = ""  # the beginning of the part's text in one line, untrusted
    says: tuple[int, int] = (0, 0)  # the place of the whole text, arguments or result; empty if the children hold it
    wire_id: str = ""  # the vendor's, of a call and on its result
    children: tuple[Part, ...] = ()

    @property
    def size(self) -> int:
        return self.end - self.start

    def walk(self) -> Iterator[Part]:
        yield self
        for child in self.children:
            yield from child.walk()


@dataclass(frozen=True, slots=True, kw_only=True)
class Outline:
    """A request's body as a tree."""

    body: bytes
    parts: tuple[Part, ...]

    def walk(self) -> Iterator[Part]:
        for part in self.parts:
            yield from part.walk()

    def bytes_of(self, part: Part) -> bytes:
        return self.body[part.start : part.end]


def estimate_tokens(data: bytes) -> int:
    """Estimate the tokens of a text, without a model's tokenizer."""
    if data.isascii():
        return (len(data) + 3) // 4
    # Characters of two bytes (Latin, Cyrillic, Arabic) take half a token, of three (Chinese, Japanese, Korean) three
    # quarters, of four (emoji) two.
    beyond = len(data.translate(None, _ASCII))
    three = len(data.translate(None, _NOT_LEAD_OF_THREE))
    four = len(data.translate(None, _NOT_LEAD_OF_FOUR))
    two = (beyond - 3 * three - 4 * four) // 2
    return round((len(data) - beyond) / 4 + max(two, 0) / 2 + three * 0.75 + four * 2)


def preview(body: bytes, node: Node, most: int = _PREVIEW) -> str:
    """Return the beginning of a value in a line."""
    cut = body[node.start : min(node.end, node.start + _LONGEST_ESCAPE * most)]
    text = cut.decode("utf-8", "ignore")
    is_whole = len(cut) == node.end - node.start
    if node.kind == "string" and is_whole:
        text = node.text(body)
    elif node.kind == "string":
        text = text[1:]
        for size in range(len(text), max(len(text) - _LONGEST_ESCAPE - 1, -1), -1):  # the cut may be inside an escape
            with suppress(ValueError):
                text = str(json.loads(f'"{text[:size]}"', strict=False))
                break
    line = " ".join(text[: 2 * most].split())
    is_whole = is_whole and len(text) <= 2 * most and len(line) <= most
    return line if is_whole else f"{line[: most - 1]}…"


def size_words(size: int) -> str:
    """Format a number of bytes: `812 B`, `2.9 kB`, `1.4 MB`."""
    if size < 1000:
        return f"{size} B"
    return f"{size / 1000:.1f} kB" if size < 1_000_000 else f"{size / 1_000_000:.1f} MB"


def common_prefix(one: AnyStr, other: AnyStr) -> int:
    """Return the length of the common beginning of two strings, or of two byte strings."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


class Comparison:
    """The changes from a request to the next.

    Messages are matched from the beginning, then by their bytes, the rest by position and role; other parts by name.
    """

    def __init__(self, previous: Outline, now: Outline) -> None:
        self._previous = previous
        self._now = now
        self.marks: dict[str, Mark] = {}  # by the keys of the later request: `+` new, `~` changed, `=` same bytes
        self.removed: list[Part] = []  # what is missing in the later request
        self.earlier: dict[str, Part] = {}  # by the keys of changed parts of the later request: the part before
        self.prefix = common_prefix(previous.body, now.body)
        self._both(previous.parts, now.parts, "", "")
        # «+2 messages, tools unchanged, prefix identical for 2.9 kB»
        changes: list[str] = []
        for kind, singular in (("messages", "message"), ("tools", "tool")):
            here, before = (
                {child.key for part in outline.parts if part.kind == kind for child in part.children}
                for outline in (now, previous)
            )
            gone = sum(part.key in before for part in self.removed)
            gone += sum(len(part.children) for part in self.removed if part.kind == kind)
            come, changed = (sum(self.marks.get(key) == mark for key in here) for mark in ("+", "~"))
            pieces = [f"{sign}{count}" for sign, count in (("+", come), ("-", gone), ("~", changed)) if count]
            if pieces:
                is_one = len(pieces) == 1 and come + gone + changed == 1
                changes.append(f"{' '.join(pieces)} {singular if is_one else kind}")
            elif here:
                changes.append(f"{kind} unchanged")
        options = [part.name for part in now.parts if part.kind == "option" and self.marks.get(part.key) != "="]
        if options:
            changes.append(f"{', '.join(options)} changed")
        is_same = self.prefix == len(previous.body) == len(now.body)
        changes.append("identical" if is_same else f"prefix identical for {size_words(self.prefix)}")
        self.words = ", ".join(changes)

    def _both(self, old: Sequence[Part], new: Sequence[Part], old_key: str, new_key: str) -> None:
        rest = {part.key[len(old_key) :]: part for part in old}
        for part in new:
            self._pair(rest.pop(part.key[len(new_key) :], None), part)
        self.removed += rest.values()

    def _same(self, old: Part, new: Part) -> bool:
        return old.size == new.size and self._previous.bytes_of(old) == self._now.bytes_of(new)

    def _pair(self, old: Part | None, new: Part) -> None:
        if old is None or self._same(old, new):
            self.marks |= dict.fromkeys((part.key for part in new.walk()), "+" if old is None else "=")
            return
        self.marks[new.key] = "~"
        self.earlier[new.key] = old
        if new.kind != "messages":
            self._both(old.children, new.children, old.key, new.key)
            return
        pairs = list(zip(old.children, new.children, strict=False))
        head = next((number for number, pair in enumerate(pairs) if not self._same(*pair)), len(pairs))
        for pair in pairs[:head]:  # nearly all of a conversation, which only grows
            self._pair(*pair)
        gone, come = old.children[head:], new.children[head:]
        before, after = map(self._previous.bytes_of, gone), map(self._now.bytes_of, come)
        for _, start, end, first, last in SequenceMatcher(None, list(before), list(after)).get_opcodes():
            for was, part in zip_longest(gone[start:end], come[first:last]):
                is_like = was is not None and part is not None and was.label == part.label
                if part is not None:
                    self._pair(was if is_like else None, part)
                if was is not None and not is_like:
                    self.removed.append(was)
