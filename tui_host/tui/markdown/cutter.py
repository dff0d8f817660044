"""Cuts a growing source at finished blocks, and inside long fences, tables, lists and paragraphs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import TYPE_CHECKING

from tui_host.tui.markdown.drawing import read_table
from tui_host.tui.markdown.page import NO_INKS
from tui_host.tui.markdown.parser import SourcePiece, is_tight, parser, top_blocks

if TYPE_CHECKING:
    from markdown_it.token import Token

WINDOW = 4096
"""Characters that are read at once; no piece is much larger."""
LINES = 25
"""Lines of a fence, a text or a list, rows of a table, after which the finished ones become a piece."""
HEADS = {"fence": 1, "table_open": 2}
"""First lines of a block without which what follows of it is not read as such."""


_FIRST, _NEXT = SourcePiece(gap=False), SourcePiece()


@dataclass(slots=True)
class Cutter:
    """Cuts one source from start to end while the source grows."""

    is_plain: bool  # no Markdown
    position: int = 0  # everything before is cut
    _next: SourcePiece = _FIRST  # its source: the first lines of what goes on

    def step(self, source: str, *, final: bool) -> Sequence[SourcePiece] | None:
        """Cut a little more of the whole source; None where nothing more can be cut before it grows, unless it is final.

        Its line ends are newlines alone, and what was cut of it must not change.
        """
        if self.position >= len(source):
            return None
        if self.is_plain:
            window = source[self.position : self.position + WINDOW]
            lines = window.split("\n", LINES)
            end = len(window)
            if len(lines) > LINES:
                end -= len(lines[-1])
            elif self.position + end < len(source):
                end = window.rfind("\n") + 1 or end
            elif not final:
                return None
            piece = replace(self._next, source=window[:end].removesuffix("\n"), start=self.position)
            self.position += end
            return [piece]
        # Of Markdown, the finished blocks of a window are cut off, or a part of a long one.
        end = self.position + WINDOW
        if end < len(source):  # to the end of a line if possible
            end = source.find("\n", end, end + WINDOW) + 1 or end
        end = min(end, len(source))
        complete = end == len(source)
        if complete and not final:
            # A line that is still growing may be read as something else than it will be: «2» before «2. second».
            end = source.rfind("\n", self.position) + 1 or (end if end - self.position > WINDOW else 0)
            if end <= self.position:
                return None
        text, shift = self._next.source + source[self.position : end], self.position - len(self._next.source)
        blocks = [block for block in top_blocks(parser(blocks_only=True).parse(text)) if block[0].map]
        starts = [*accumulate((len(line) + 1 for line in text.split("\n")), initial=0)]
        starts[-1] -= 1
        closed = blocks if complete and final else blocks[:-1]
        if blocks and not closed:
            cut = self._cut_lines if blocks[0][0].type in HEADS else self._cut_open
            piece = cut(text, blocks[0], starts, is_long=not complete or len(text) > WINDOW)
            return None if piece is None else [piece]
        if not blocks and complete and not final:
            return None
        pieces: list[SourcePiece] = []
        for block in closed:
            first, last = block[0].map or (0, 0)
            begun = replace(self._next, source=text[starts[first] : starts[last]].removesuffix("\n"))
            pieces.append(replace(begun, start=max(self.position, shift + starts[first])))
            self._next = _NEXT
        self.position = shift + (len(text) if len(closed) == len(blocks) else starts[(blocks[-1][0].map or [0])[0]])
        return pieces

    def _cut_open(
        self, text: str, block: Sequence[Token], starts: Sequence[int], *, is_long: bool
    ) -> SourcePiece | None:
        """Cut inside a block that may still grow, and pass over blank lines before it: a long list before its last item."""
        first, last = block[0].map or (0, 0)
        items = [token.map[0] for token in block if token.type == "list_item_open" and token.level == 1 and token.map]
        if not is_long and (last - first <= LINES or len(items) < 2):
            return None
        if block[0].type in {"bullet_list_open", "ordered_list_open"} and len(items) > 1:
            ordinal = self._next.ordinal or int(block[0].attrGet("start") or 1)
            following = replace(_NEXT, gap=not is_tight(block), ordinal=ordinal + len(items) - 1)
            reach = starts[items[-1]]
        else:
            # No block ends here, as in a paragraph of many thousand words: cut at a line's end, else at a space.
            following = replace(_NEXT, gap=False)
            reach = text.rfind("\n", len(text) // 2) + 1 or text.rfind(" ", len(text) // 2) + 1 or len(text)
        piece = replace(self._next, source=text[:reach].rstrip("\n"), start=self.position)
        self.position += reach
        self._next = following
        return piece

    def _cut_lines(
        self, text: str, block: Sequence[Token], starts: Sequence[int], *, is_long: bool
    ) -> SourcePiece | None:
        """Cut off finished lines of a fence or rows of a table; the first lines are carried along."""
        first, last = block[0].map or (0, 0)
        begin, is_table = first + HEADS[block[0].type], block[0].type == "table_open"
        end = len(text)
        if begin + LINES < last + is_table:  # the last line may end a fence
            end = starts[begin + LINES]
        elif not is_long:
            return None
        elif last - 1 > begin:
            end = starts[last - 1]
        head, shift, begun = text[starts[first] : starts[begin]], self.position - len(self._next.source), self._next
        if is_table and not begun.columns:
            begun = replace(begun, columns=read_table(parser().parse(text[starts[first] : end]), NO_INKS).needs)
        # A table's or a fence's first piece begins with its first lines in the source too.
        start = shift + starts[first if begun.begins else begin]
        self._next = replace(begun, source=head, begins=False, gap=False)
        self.position = shift + end
        return replace(begun, source=head + text[starts[begin] : end], start=start)
