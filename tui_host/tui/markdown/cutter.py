"""Cuts a growing source at finished blocks, and inside long fences, tables and lists."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from tui_host.tui.markdown.markdown_blocks import is_tight, top_blocks
from tui_host.tui.markdown.markdown_styles import Inks
from tui_host.tui.markdown.parser import parse, parse_blocks
from tui_host.tui.markdown.source_pieces import SourcePiece
from tui_host.tui.markdown.tables import Need, needs_of, read_table

if TYPE_CHECKING:
    from markdown_it.token import Token

WINDOW = 4096
"""Characters that are read at once; no piece is much larger."""
LINES = 25
"""Lines of a fence, rows of a table, lines of a list, after which the finished ones become a piece."""


@dataclass(frozen=True, slots=True)
class _Fence:
    info: str
    closing: re.Pattern[str]
    indent: int
    opening: str
    begins: bool = True
    gap: bool = True


@dataclass(frozen=True, slots=True)
class _Table:
    head: str
    columns: tuple[Need, ...]
    begins: bool = True
    gap: bool = True


@dataclass(frozen=True, slots=True)
class _List:
    kind: str
    markup: str
    ordinal: int
    tight: bool


@dataclass(frozen=True, slots=True)
class _Torn:
    """A block was cut in the middle: the following text belongs to the block."""


class Cutter:
    """Cuts one source from start to end while the source grows."""

    def __init__(self, *, plain: bool = False) -> None:
        self.position = 0  # everything before is cut
        self.references: dict[str, object] = {}  # definitions of links, found so far
        self._plain = plain
        self._mode: _Fence | _Table | _List | _Torn | None = None
        self._begun = False

    def step(self, source: str, *, final: bool, pieces: list[SourcePiece]) -> bool:
        """Cut a little more, adding to `pieces`; False if nothing more can be cut before the source grows.

        Args:
            source: The whole source, with no other line ends than newlines; what was cut of it must not change.
            final: It will not grow any more.
            pieces: Where finished pieces are put.
        """
        if self.position >= len(source):
            return False
        if self._plain:
            return self._cut_text(source, final, pieces)
        if isinstance(self._mode, _Fence):
            return self._cut_fence(source, self._mode, final, pieces)
        if isinstance(self._mode, _Table):
            return self._cut_table(source, self._mode, final, pieces)
        return self._cut_blocks(source, final, pieces)

    def rest(self, source: str) -> SourcePiece | None:
        """Return the uncut rest as a temporary piece."""
        text = source[self.position :]
        if not text.strip() and not (isinstance(self._mode, _Fence) and (text or self._mode.begins)):
            return None
        match self._mode:
            case _Fence(indent=indent) as fence:
                code = "\n".join(_dedent(line, indent) for line in text.removesuffix("\n").split("\n"))
                return _fence_piece(fence, code, self.position)
            case _Table() as table:
                return _table_piece(table, text, self.position)
            case _List(ordinal=ordinal, tight=tight):
                return SourcePiece(
                    kind="markdown", source=text, gap=not tight, begins=False, ordinal=ordinal, start=self.position
                )
            case _Torn():
                return SourcePiece(kind=self._kind, source=text, begins=False, start=self.position)
            case None:
                return SourcePiece(
                    kind=self._kind, source=text, gap=self._begun and not self._plain, start=self.position
                )

    @property
    def _kind(self) -> Literal["text", "markdown"]:
        return "text" if self._plain else "markdown"

    # Text that is no Markdown.

    def _cut_text(self, source: str, final: bool, pieces: list[SourcePiece]) -> bool:
        lines = _some_lines(source, self.position, final=final)
        end = self.position + sum(map(len, lines))
        whole = len(lines) >= LINES or end - self.position >= WINDOW or (final and end == len(source))
        if not whole:
            return False
        text = source[self.position : end].removesuffix("\n")
        pieces.append(SourcePiece(kind="text", source=text, begins=False, start=self.position))
        self.position = end
        return True

    # Blocks.

    def _cut_blocks(self, source: str, final: bool, pieces: list[SourcePiece]) -> bool:
        end = _window(source, self.position)
        complete = end == len(source)
        if complete and not final:
            # A line that is still growing may be read as something else than it will be: «2» before «2. second».
            end = source.rfind("\n", self.position) + 1 or (end if end - self.position > WINDOW else 0)
            if end <= self.position:
                return False
        text = source[self.position : end]
        blocks = [block for block in top_blocks(parse_blocks(text)) if block[0].map]
        lines = text.split("\n")
        starts = _starts(lines)
        if not blocks:
            return self._skip(text, complete=complete, final=final)
        closed = blocks if complete and final else blocks[:-1]
        for block in closed:
            first, last = _span(block)
            self._finish(block, "\n".join(lines[first:last]), self.position + starts[first], pieces)
        if closed:
            reach = len(text) if len(closed) == len(blocks) else starts[_span(blocks[-1])[0]]
            self._advance(text[:reach])
            return True
        return self._cut_open(text, blocks[-1], lines, complete=complete, pieces=pieces)

    def _skip(self, text: str, *, complete: bool, final: bool) -> bool:
        if complete and not final:
            return False
        self._advance(text)
        return True

    def _advance(self, text: str) -> None:
        if "]:" in text:
            parse_blocks(text, self.references)
        self.position += len(text)

    def _finish(self, block: Sequence[Token], source: str, start: int, pieces: list[SourcePiece]) -> None:
        mode, self._mode = self._mode, None
        gap = self._begun
        ordinal = None
        if isinstance(mode, _Torn):
            gap = False
        elif isinstance(mode, _List) and (block[0].type, block[0].markup) == (mode.kind, mode.markup):
            gap, ordinal = not mode.tight, mode.ordinal
        pieces.append(SourcePiece(kind="markdown", source=source, gap=gap, ordinal=ordinal, start=start))
        self._begun = True

    def _cut_open(
        self, text: str, block: Sequence[Token], lines: list[str], *, complete: bool, pieces: list[SourcePiece]
    ) -> bool:
        """Cut inside a block that may still grow, and pass over blank lines before it."""
        first, last = _span(block)
        starts = _starts(lines)
        long = not complete or last - first > LINES
        gap = self._begun and not isinstance(self._mode, _Torn)
        head = block[0]
        if head.type == "fence" and long:
            closing = re.compile(rf" {{0,3}}{re.escape(head.markup[0])}{{{len(head.markup)},}}[ \t]*")
            indent = len(lines[first]) - len(lines[first].lstrip(" "))
            self._begun = True
            opening = lines[first].strip()
            self._mode = _Fence(head.info, closing, indent, opening, gap=gap)
            self._advance(text[: starts[first + 1]])
            return True
        if head.type == "table_open" and long:
            rows = "\n".join(lines[first : min(last, first + LINES)])
            columns = needs_of(read_table(parse(rows), Inks()))
            self._begun = True
            self._mode = _Table("\n".join(lines[first : first + 2]) + "\n", columns, gap=gap)
            self._advance(text[: starts[first + 2]])
            return True
        if (
            head.type in {"bullet_list_open", "ordered_list_open"}
            and long
            and self._cut_list(block, text, lines, pieces)
        ):
            return True
        if len(text) > WINDOW // 2 and (not complete or len(text) > WINDOW):
            self._tear(text, block, pieces)
            return True
        return False

    def _cut_list(self, block: Sequence[Token], text: str, lines: list[str], pieces: list[SourcePiece]) -> bool:
        items = [token for token in block if token.type == "list_item_open" and token.level == block[0].level + 1]
        begins = items[-1].map
        if len(items) < 2 or begins is None:
            return False
        mode = self._mode
        goes_on = isinstance(mode, _List) and (block[0].type, block[0].markup) == (mode.kind, mode.markup)
        ordinal = mode.ordinal if goes_on and isinstance(mode, _List) else int(block[0].attrGet("start") or 1)
        reach = _starts(lines)[begins[0]]
        self._finish(block, text[:reach].rstrip("\n"), self.position, pieces)
        self._advance(text[:reach])
        self._mode = _List(block[0].type, block[0].markup, ordinal + len(items) - 1, is_tight(block))
        return True

    def _tear(self, text: str, block: Sequence[Token], pieces: list[SourcePiece]) -> None:
        """Cut where no block ends, as in a paragraph of many thousand words: at a line's end, else at a space."""
        reach = text.rfind("\n", len(text) // 2) + 1 or text.rfind(" ", len(text) // 2) + 1 or len(text)
        self._finish(block, text[:reach], self.position, pieces)
        self._advance(text[:reach])
        self._mode = _Torn()

    # Inside fences and tables.

    def _cut_fence(self, source: str, mode: _Fence, final: bool, pieces: list[SourcePiece]) -> bool:
        lines = _some_lines(source, self.position, final=final)
        closing = next((number for number, line in enumerate(lines) if mode.closing.fullmatch(line.rstrip("\n"))), None)
        taken = lines if closing is None else lines[:closing]
        ended = closing is not None or (final and self.position + sum(map(len, lines)) == len(source))
        if not ended and len(taken) < LINES and sum(map(len, taken)) < WINDOW:
            return False
        if taken or mode.begins:
            code = "\n".join(_dedent(line.removesuffix("\n"), mode.indent) for line in taken)
            pieces.append(_fence_piece(mode, code, self.position))
        self.position += sum(map(len, taken)) + (0 if closing is None else len(lines[closing]))
        self._mode = None if ended else replace(mode, begins=False)
        return True

    def _cut_table(self, source: str, mode: _Table, final: bool, pieces: list[SourcePiece]) -> bool:
        lines = _some_lines(source, self.position, final=final)
        blocks = list(top_blocks(parse_blocks(mode.head + "".join(lines))))
        rows = _span(blocks[0])[1] - 2 if blocks else 0
        ended = rows < len(lines) or (final and self.position + sum(map(len, lines)) == len(source))
        if not ended and rows < LINES and sum(map(len, lines)) < WINDOW:
            return False
        taken = "".join(lines[:rows])
        if taken or mode.begins:
            pieces.append(_table_piece(mode, taken, self.position))
        self.position += len(taken)
        self._mode = None if ended else _Table(mode.head, mode.columns, begins=False)
        return True


def _fence_piece(fence: _Fence, code: str, start: int) -> SourcePiece:
    return SourcePiece(
        kind="fence",
        source=code,
        gap=fence.begins and fence.gap,
        begins=fence.begins,
        info=fence.info,
        start=start,
        opening=fence.opening,
    )


def _table_piece(table: _Table, rows: str, start: int) -> SourcePiece:
    return SourcePiece(
        kind="table",
        source=table.head + rows,
        gap=table.begins and table.gap,
        begins=table.begins,
        columns=table.columns,
        start=start - len(table.head),
    )


def _span(block: Sequence[Token]) -> tuple[int, int]:
    first, last = block[0].map or (0, 0)
    return first, last


def _starts(lines: Sequence[str]) -> list[int]:
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line) + 1)
    starts[-1] -= 1
    return starts


def _window(source: str, start: int) -> int:
    """Return the end of the next window: the end of a line if possible."""
    end = start + WINDOW
    if end >= len(source):
        return len(source)
    newline = source.find("\n", end, end + WINDOW)
    return newline + 1 if newline >= 0 else end


def _some_lines(source: str, start: int, *, final: bool) -> list[str]:
    """Return at most 25 lines with their ends, within a window; without an end only a long or the last line."""
    lines: list[str] = []
    taken = 0
    while len(lines) < LINES and taken < WINDOW and start < len(source):
        newline = source.find("\n", start, start + WINDOW)
        if newline >= 0:
            end = newline + 1
        elif final or len(source) - start > WINDOW:
            end = min(len(source), start + WINDOW)
        else:
            break
        lines.append(source[start:end])
        taken += end - start
        start = end
    return lines


def _dedent(line: str, indent: int) -> str:
    spaces = len(line) - len(line.lstrip(" "))
    return line[min(indent, spaces) :]
