"""Wraps and cuts text to a width in cells: words, Chinese and Japanese, emoji, words longer than a line.

Foreign text is made visible here, on its way to the screen.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from rich.cells import cell_len, split_graphemes
from rich.segment import Segment

from tui_host.capture.visible import visible

# Characters between which a line may be broken, and those that must not begin or end one.
_WIDE = "\u1100-\u11ff\u2e80-\u2fff\u3000-\u30ff\u3100-\u9fff\ua000-\ua4cf\uac00-\ud7af\uf900-\ufaff\ufe30-\ufe4f\uff00-\uffef\U00020000-\U0003ffff"
# Source: JLREQ, characters not starting and not ending a line; CLREQ, prohibition rules.
_CLOSE = "、。，．：；？！）」』】》〉〕〗｝］’”…～ー々・ゝゞヽヾ゛゜％‰℃ぁぃぅぇぉっゃゅょゎァィゥェォッャュョヮヵヶ"
_OPEN = "（「『【《〈〔〖｛［‘“￥＄"
_AFTER = (
    f"[{_CLOSE}]*(?:[,.!?:;)\\]}}%]+(?![^ {_WIDE}{_OPEN}{_CLOSE}])[{_CLOSE}]*)?"  # such as a Latin comma after Chinese
)
# Compiled at their first use, by `re`: these tables of characters take 15 ms, which the first frame has no need of.
_ATOM = f" +|[{_OPEN}]*[(\\[{{]*(?![{_CLOSE}{_OPEN}])[{_WIDE}]{_AFTER}|[^ {_WIDE}{_OPEN}{_CLOSE}]+[{_CLOSE}]*|[{_OPEN}]+[{_CLOSE}]*|[{_CLOSE}]+"
_PIECE = re.compile(r"[^,:;/?&=})\]]*[,:;/?&=})\]]*")
"""Parts of a word that is longer than a line, such as JSON or a URL: a line breaks behind punctuation where possible."""
_WIDE_END, _WIDE_START = f"[{_WIDE}]$", f"[{_WIDE}]"


def joint(before: str, after: str) -> str:
    """Return the separator for a soft line break: a space, or nothing between Chinese or Japanese characters."""
    return "" if re.search(_WIDE_END, before) and re.match(_WIDE_START, after) else " "


def fill(text: str, width: int) -> list[tuple[int, int]]:
    """Return where the lines of a text without line breaks begin and end, in characters."""
    if (len(text) <= width and text.isascii()) or cell_len(text) <= width:
        return [(0, len(text))]
    lines: list[tuple[int, int]] = []
    start = end = 0  # of the line at work, without the spaces after its last word
    used = gap = 0  # cells of it, and of those spaces
    atoms: list[tuple[int, int]] = []  # words and spaces; of a word that is longer than a line, its pieces
    for match in re.finditer(_ATOM, text):
        first, last = match.span()
        if last - first <= width:
            atoms.append((first, last))
        else:
            atoms += (piece.span() for piece in _PIECE.finditer(text, first, last) if piece.group())
    for first, last in atoms:
        atom = text[first:last]
        cells = cell_len(atom)
        if atom[0] == " ":
            if end == 0:
                used = end = min(cells, width // 2)  # an indentation is kept
            else:
                gap += cells
            continue
        if end > start and used + gap + cells > width:
            lines.append((start, end))
            start = end = first
            used = gap = 0
        if cells > width:
            *full, (rest, _) = fold(atom, width)
            lines.extend((first + begin, first + stop) for begin, stop in full)
            start = first + rest
            used = cell_len(text[start:last])
        else:
            used += gap + cells
        gap = 0
        end = last
    lines.append((start, end))
    return lines


def hanging(text: str, width: int) -> str:
    """Wrap a text, each line but the first indented: what a server wrote in it cannot look like a line of the host's own."""
    return "\n  ".join(row[start:end] for row in text.split("\n") for start, end in fill(row, width - 2))


def longest_word(text: str) -> int:
    """Return the width of the longest part that `fill` would not break."""
    return max(map(cell_len, re.findall(_ATOM, text)), default=0)


def fold(text: str, width: int) -> list[tuple[int, int]]:
    """Return the ranges of lines that keep spaces, as code, cut at the last fitting character."""
    width = max(1, width)
    if text.isascii():
        return [(place, min(len(text), place + width)) for place in range(0, len(text), width)] or [(0, 0)]
    spans, _ = split_graphemes(text)
    lines: list[tuple[int, int]] = []
    start = column = 0
    for first, last, _ in spans:
        cells = cell_len(text[first:last])  # what a joiner at a text's beginning joins is said to have none
        if column + cells > width and first > start:
            lines.append((start, first))
            start, column = first, 0
        column += cells
    lines.append((start, len(text)))
    return lines


def cut(segments: Sequence[Segment], start: int, end: int) -> list[Segment]:
    """Return the segments of the characters from `start` to `end`."""
    pieces: list[Segment] = []
    place = 0
    for segment in segments:
        length = len(segment.text)
        if place + length > start:
            text = segment.text[max(0, start - place) : end - place]
            if text:
                pieces.append(segment if len(text) == length else Segment(text, segment.style))
        place += length
        if place >= end:
            break
    return pieces


def clip(text: str, cells: int) -> str:
    """Cut text to a number of cells, with `…` at the cut; foreign text becomes visible."""
    if len(text) <= cells and text.isascii() and text.isprintable():
        return text
    shown = visible(text[: max(0, cells) * 4 + 32], newlines=False)
    if cell_len(shown) <= cells:
        return shown
    if cells < 1:
        return ""
    _, end = fold(shown, cells - 1)[0] if cells > 1 else (0, 0)
    return shown[:end] + "…"


def padded(text: str, cells: int) -> str:
    """Cut and pad text to a number of cells."""
    shown = clip(text, cells)
    return shown + " " * (cells - cell_len(shown))


def fitting(text: str, start: int, end: int, room: int, *, at_words: bool) -> int:
    """Return where to cut `text[start:end]` to fit `room` cells; at least one character.

    A cut at words comes behind the last blank, which may be beyond the room, unless that leaves half of it empty.
    Reads no more of a long text than a line needs, and drops nothing, unlike `fill`.
    """
    stop = min(end, start + max(1, room))
    plain = text[start:stop].removesuffix("\n")
    if not (plain.isascii() and plain.isprintable()):
        cells = 0
        stop = start
        for character in text[start : min(end, start + 16 * max(1, room))]:
            cells += _cells(character)
            if cells > room and stop > start:
                break
            stop += 1
        while stop - start > 1 and cell_len(visible(text[start:stop], newlines=False)) > room:
            stop = start + (stop - start) // 2
    if not at_words:
        return stop
    if stop >= end or text[stop] == " ":
        return min(stop + 1, end)
    blank = text.rfind(" ", start, stop) + 1
    return blank if 2 * (blank - start) >= stop - start else stop


@lru_cache(maxsize=8192)
def _cells(character: str) -> int:
    return cell_len(visible(character, newlines=False))
