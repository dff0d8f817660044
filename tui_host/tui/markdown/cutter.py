"""Cuts a growing source at finished blocks, and inside long fences, tables and lists."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tui_host.tui.markdown.line_page import Inks
from tui_host.tui.markdown.markdown_blocks import SourcePiece, is_tight, top_blocks
from tui_host.tui.markdown.parser import parse, parse_blocks
from tui_host.tui.markdown.tables import needs_of, read_table

if TYPE_CHECKING:
    from markdown_it.token import Token

WINDOW = 4096
"""Characters that are read at once; no piece is much larger."""
LINES = 25
"""Lines of a fence, rows of a table, lines of a list, after which the finished ones become a piece."""


@dataclass(frozen=True, slots=True)
class _Mode:
    """What the text behind the last cut belongs to."""

    piece: SourcePiece  # the next piece without its text; of a table with its head
    markup: tuple[str, str] = ("", "")  # type and mark of a list that may go on
    closing: re.Pattern[str] | None = None  # the last line of a fence
    indent: int = 0  # of a fence


_TEXT = _Mode(SourcePiece(kind="text", begins=False))
_FIRST = _Mode(SourcePiece(kind="markdown"))
_NEXT = _Mode(SourcePiece(kind="markdown", gap=True))
_TORN = _Mode(SourcePiece(kind="markdown", begins=False))


class Cutter:
    """Cuts one source from start to end while the source grows."""

    def __init__(self, *, plain: bool = False) -> None:
        self.position = 0  # everything before is cut
        self.references: dict[str, object] = {}  # definitions of links, found so far
        self._mode = _TEXT if plain else _FIRST

    def step(self, source: str, *, final: bool, pieces: list[SourcePiece]) -> bool:
        """Cut a little more, adding to `pieces`; False if nothing more can be cut before the source grows.

        Args:
            source: The whole source, with no other line ends than newlines; what was cut of it must not change.
            final: It will not grow any more.
            pieces: Where finished pieces are put.
        """
        if self.position >= len(source):
            return False
        if self._mode.piece.kind == "markdown":
            return self._cut_blocks(source, final, pieces)
        return self._cut_lines(source, final, pieces)

    def rest(self, source: str) -> SourcePiece | None:
        """Return the uncut rest as a temporary piece."""
        text = source[self.position :]
        piece = self._mode.piece
        if not text.strip() and not (piece.kind == "fence" and (text or piece.begins)):
            return None
        return self._piece(text)

    def _piece(self, text: str) -> SourcePiece:
        """Return the next piece with its text."""
        piece, indent = self._mode.piece, self._mode.indent
        if piece.kind == "fence":
            lines = text.removesuffix("\n").split("\n")
            text = "\n".join(line[min(indent, len(line) - len(line.lstrip(" "))) :] for line in lines)
        return replace(piece, source=piece.source + text, start=self.position - len(piece.source))

    def _cut_lines(self, source: str, final: bool, pieces: list[SourcePiece]) -> bool:
        """Cut off lines of a fence, rows of a table, or lines of a text that is no Markdown."""
        mode, kind = self._mode, self._mode.piece.kind
        lines = _some_lines(source, self.position, final=final)
        count = passed = len(lines)
        if mode.closing is not None:
            closes = mode.closing.fullmatch
            count = next((number for number, line in enumerate(lines) if closes(line.rstrip("\n"))), count)
            passed = count + 1
        elif kind == "table":
            blocks = list(top_blocks(parse_blocks(mode.piece.source + "".join(lines))))
            count = passed = _span(blocks[0])[1] - 2 if blocks else 0
        ended = count < len(lines) or (final and self.position + sum(map(len, lines)) == len(source))
        taken = "".join(lines[:count])
        if not ended and count < LINES and len(taken) < WINDOW:
            return False
        if taken or mode.piece.begins:
            pieces.append(self._piece(taken.removesuffix("\n") if kind == "text" else taken))
        self.position += sum(map(len, lines[:passed]))
        if kind != "text":
            self._mode = _NEXT if ended else replace(mode, piece=replace(mode.piece, begins=False, gap=False))
        return True

    def _cut_blocks(self, source: str, final: bool, pieces: list[SourcePiece]) -> bool:
        """Cut off the finished blocks of a window, or a part of a long one."""
        end = self.position + WINDOW
        if end < len(source):  # to the end of a line if possible
            end = source.find("\n", end, end + WINDOW) + 1 or end
        end = min(end, len(source))
        complete = end == len(source)
        if complete and not final:
            # A line that is still growing may be read as something else than it will be: «2» before «2. second».
            end = source.rfind("\n", self.position) + 1 or (end if end - self.position > WINDOW else 0)
            if end <= self.position:
                return False
        text = source[self.position : end]
        blocks = [block for block in top_blocks(parse_blocks(text)) if block[0].map]
        lines = text.split("\n")
        starts = [0]
        for line in lines:
            starts.append(starts[-1] + len(line) + 1)
        starts[-1] -= 1
        closed = blocks if complete and final else blocks[:-1]
        for block in closed:
            first, last = _span(block)
            self._finish(block, "\n".join(lines[first:last]), self.position + starts[first], pieces)
        if blocks and not closed:
            return self._cut_open(text, blocks[-1], lines, starts, complete=complete, pieces=pieces)
        if not blocks and complete and not final:
            return False
        self._advance(text if len(closed) == len(blocks) else text[: starts[_span(blocks[-1])[0]]])
        return True

    def _advance(self, text: str) -> None:
        if "]:" in text:
            parse_blocks(text, self.references)
        self.position += len(text)

    def _finish(self, block: Sequence[Token], source: str, start: int, pieces: list[SourcePiece]) -> None:
        mode, self._mode = self._mode, _NEXT
        if mode.markup[0] and mode.markup != (block[0].type, block[0].markup):
            mode = _NEXT  # the list has ended
        pieces.append(replace(mode.piece, source=source, start=start))

    def _cut_open(
        self,
        text: str,
        block: Sequence[Token],
        lines: list[str],
        starts: list[int],
        *,
        complete: bool,
        pieces: list[SourcePiece],
    ) -> bool:
        """Cut inside a block that may still grow, and pass over blank lines before it."""
        first, last = _span(block)
        head, mode = block[0], self._mode
        kind = head.type if not complete or last - first > LINES else ""
        gap = mode.piece.gap or bool(mode.markup[0])
        if kind == "fence":
            closing = re.compile(rf" {{0,3}}{re.escape(head.markup[0])}{{{len(head.markup)},}}[ \t]*")
            opening = lines[first].strip()
            piece = SourcePiece(kind="fence", source="", gap=gap, info=head.info, opening=opening)
            self._mode = _Mode(piece, closing=closing, indent=lines[first].index(opening))
            self._advance(text[: starts[first + 1]])
            return True
        if kind == "table_open":
            rows = "\n".join(lines[first : min(last, first + LINES)])
            columns = needs_of(read_table(parse(rows), Inks()))
            opening = "\n".join(lines[first : first + 2]) + "\n"
            self._mode = _Mode(SourcePiece(kind="table", source=opening, gap=gap, columns=columns))
            self._advance(text[: starts[first + 2]])
            return True
        if kind in {"bullet_list_open", "ordered_list_open"}:
            items = [token.map for token in block if token.type == "list_item_open" and token.level == head.level + 1]
            markup = (kind, head.markup)
            if len(items) > 1 and items[-1] is not None:
                ordinal = int(head.attrGet("start") or 1)
                if mode.markup == markup and mode.piece.ordinal is not None:
                    ordinal = mode.piece.ordinal
                reach = starts[items[-1][0]]
                self._finish(block, text[:reach].rstrip("\n"), self.position, pieces)
                self._advance(text[:reach])
                piece = replace(_TORN.piece, gap=not is_tight(block), ordinal=ordinal + len(items) - 1)
                self._mode = _Mode(piece, markup)
                return True
        if len(text) <= WINDOW // 2 or (complete and len(text) <= WINDOW):
            return False
        # No block ends here, as in a paragraph of many thousand words: cut at a line's end, else at a space.
        reach = text.rfind("\n", len(text) // 2) + 1 or text.rfind(" ", len(text) // 2) + 1 or len(text)
        self._finish(block, text[:reach], self.position, pieces)
        self._advance(text[:reach])
        self._mode = _TORN
        return True


def _span(block: Sequence[Token]) -> tuple[int, int]:
    first, last = block[0].map or (0, 0)
    return first, last


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
