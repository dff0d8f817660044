"""Shows arguments as lines to read: strings with line breaks as several lines, wrapped between words."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip
from typing_extensions import override

from tui_host.capture.visible import visible
from tui_host.errors import JSON
from tui_host.tui.text_width import fold
from tui_host.tui.widgets.lines.line_view import LineView

_WORD = re.compile("[^ \u2e80-\ufdff\ufe10-\uffef]+ *|[\u2e80-\ufdff\ufe10-\uffef] *| +")
"""Where a line may be broken: behind spaces, and behind Chinese, Japanese and Korean characters."""
_ESCAPE = re.compile(r"(\\u[0-9a-fA-F]{4}|\\.|⟨[0-9a-f+]+⟩)")
"""What stands for one character: JSON's escapes, and the codes of `visible`."""
_TAB = "␉   "


@dataclass(frozen=True, slots=True)
class ArgumentReader:
    """Formats arguments for reading."""

    hide: Callable[[str], str]  # removes secrets from a text

    def read(self, arguments: bytes, *, is_raw: bool) -> str:
        """Return the arguments as sent, or indented; a string with line breaks becomes a block behind a vertical line.

        No argument can look like another one: what follows a rule belongs to the string, and JSON begins no line with a rule.
        """
        text = arguments.decode()
        if not is_raw:
            value: JSON = json.loads(text)
            text = "\n".join(self._rows(value, ""))
        return self.hide(text)

    def _rows(self, value: JSON, indent: str, name: str = "", comma: str = "") -> Iterator[str]:
        deeper = f"{indent}  "
        match value:
            case str() if "\n" in value:
                lines = self.hide(value).split("\n")
                yield f"{indent}{name}a string of {len(lines):,} lines:"
                yield from (f"{deeper}│ {visible(line).replace(chr(9), _TAB)}" for line in lines)
            case Mapping() if value:
                yield f"{indent}{name}{{"
                for left, (key, member) in zip(range(len(value) - 1, -1, -1), value.items(), strict=True):
                    yield from self._rows(member, deeper, f"{json.dumps(key, ensure_ascii=False)}: ", "," * (left > 0))
                yield f"{indent}}}{comma}"
            case list() if value:
                yield f"{indent}{name}["
                for left, member in zip(range(len(value) - 1, -1, -1), value, strict=True):
                    yield from self._rows(member, deeper, comma="," * (left > 0))
                yield f"{indent}]{comma}"
            case _:
                yield f"{indent}{name}{json.dumps(value, ensure_ascii=False)}{comma}"

    def wrapped(self, text: str, width: int) -> list[str]:
        """Return a text's lines, every character visible and nothing left out but spaces at a line's end.

        Lines that continue a row keep its indentation; behind a rule a dot marks them.
        """
        lines: list[str] = []
        rule = "│ "
        for row in visible(text).expandtabs(4).split("\n"):
            words = row.lstrip(" ")
            indent = " " * min(len(row) - len(words), width // 2)
            mark = rule if words.startswith(rule) else ""
            again = indent + ("· " if mark else "")
            pieces = broken(words[len(mark) :], max(1, width - cell_len(again)))
            lines += [f"{again if number else indent + mark}{piece}" for number, piece in enumerate(pieces)]
        return lines


class Arguments(LineView, can_focus=False):
    """The arguments, wrapped to the width. The approval keeps the focus and scrolls them."""

    FOLLOWS = True
    DEFAULT_CSS = """
    Arguments {
        height: 1;
        background: $surface;
        border-subtitle-color: $text-muted;
        &.-framed { border: round $foreground 40%; border-subtitle-align: right; padding: 0 1; }
    }
    """

    def __init__(self, on_moved: Callable[[], None], reader: ArgumentReader) -> None:
        super().__init__()
        self._on_moved = on_moved
        self._reader = reader
        self._text = ""
        self._lines: Sequence[str] = ()
        self._folded = ("", 0)
        self._painted_lines: dict[tuple[str, int], set[int]] = {}

    def show(self, text: str) -> None:
        """Show a text from the beginning."""
        self._text = text
        self.at_tail = False
        self._fold()
        self.scroll_to(y=0, animate=False, force=True)

    def _fold(self) -> None:
        wanted = (self._text, max(1, self.view_width or 60))
        if wanted != self._folded:  # a long text takes its time, and the approval is drawn with every key
            self._folded = wanted
            self._lines = self._reader.wrapped(*wanted)
        self.redraw()

    def note_painted(self) -> None:
        """Remember that the lines on the screen were shown."""
        painted = self._painted_lines.setdefault(self._folded, set())
        painted.update(range(self.top, min(self.top + self.view_height, len(self._lines))))

    @property
    def below(self) -> int:
        """The number of lines below the visible part."""
        return max(0, len(self._lines) - self.top - self.view_height)

    @property
    def jumped_over(self) -> int:
        """Number of lines above the visible part that were never on the screen."""
        painted = self._painted_lines.get(self._folded, set())
        return sum(number not in painted for number in range(self.top))

    @override
    def width_changed(self) -> None:
        self._fold()

    @override
    def on_resize(self) -> None:
        super().on_resize()
        self._on_moved()

    @override
    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        super().watch_scroll_y(old_value, new_value)
        self._on_moved()

    @override
    def line_count(self) -> int:
        return len(self._lines)

    @override
    def draw(self, number: int) -> Strip:
        return Strip([Segment(self._lines[number], Style.null())])


def broken(text: str, width: int) -> Iterator[str]:
    """Break a text into lines behind spaces, a longer word between characters, but never inside an escape.

    Spaces may hang over a line's end.
    """
    if cell_len(text) <= width:
        yield text
        return
    line, used = "", 0
    for word in _WORD.findall(text):
        parts = [word] if cell_len(word.rstrip(" ")) <= width else _parts(word, width)
        for part in parts:
            if line and used + cell_len(part.rstrip(" ")) > width:
                yield line
                line, used = "", 0
            line += part
            used += cell_len(part)
    yield line


def _parts(word: str, width: int) -> Iterator[str]:
    for part in filter(None, _ESCAPE.split(word)):
        yield from (part[start:end] for start, end in fold(part, width))
