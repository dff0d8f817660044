"""Values along a call: what was changed in arguments, what a result consists of, and which of it a request tells."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from tui_host.capture.json.narrowing import items, mapping, short, text_or_empty
from tui_host.capture.json.reading import read_json
from tui_host.capture.json.spans import spans
from tui_host.capture.link import Link
from tui_host.capture.visible import decode
from tui_host.errors import JSON
from tui_host.llm.outline import USER, Outline

MOST_BYTES = 4 << 20
"""Larger frames are not taken apart."""
_FRAMES = "frames a result"  # what the links of a tool protocol of plain text say about the words around a result
_LONG = 20_000  # characters of a text that a host may shorten
_BEGINNING = 1000
_MOST_CHANGES = 6
_MOST_NAMES = 8


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
    """Return the contents that a request does not tell: their text in the words of the result, their data anywhere in it."""
    left: list[Content] = []
    for content in contents:
        value = content.value
        if content.kind in {"image", "audio"} or (content.kind == "resource" and not isinstance(value, str)):
            is_told = isinstance(value, str) and bool(value) and value[:64].encode() in body
        else:
            is_told = all(text in words or _begins(text, words) for text in leaves(value))
        left += [] if is_told else [content]
    return left


def told_in_part(contents: Iterable[Content], words: str) -> str:
    """Return how much of long texts is in the words of a result: `50,041 of 118,000 characters`; empty if all of them is."""
    cut = [text for content in contents for text in leaves(content.value) if text not in words and _begins(text, words)]
    size = sum(map(len, cut))
    return f"{min(len(words), size):,} of {size:,} characters" if cut else ""


def _begins(text: str, words: str) -> bool:
    """Whether the beginning of a long text, whose middle the host left out, is in some words."""
    return len(text) > _LONG and text[:_BEGINNING] in words


def words_in(pieces: Iterable[bytes]) -> str:
    """Return the texts in pieces of a request: JSON, or the inside of a JSON string."""
    words: list[str] = []
    for text in map(decode, pieces):
        value = parsed(text)
        value = parsed(f'"{text}"') if value is None else value
        words += [text] if value is None else leaves(value)
    return "\n".join(words)


def typed_in(outline: Outline | None, marks: Iterable[Link]) -> str:
    """Return what the person wrote in a request with these links: a tool protocol of plain text tells results in the person's name."""
    if outline is None:
        return ""
    results = [mark.span.start for mark in marks if mark.relation == "told" or mark.words == _FRAMES]
    own = (part for part in outline.walk() if part.kind == "message" and part.origin == USER)
    typed = (part for part in own if not any(part.start <= start < part.end for start in results))
    return words_in(outline.bytes_of(part) for part in typed)
