"""The arguments of a call that waits, as lines, and the view that knows how far these were read."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeAlias

from textual.content import Content
from textual.geometry import Region
from textual.strip import Strip
from typing_extensions import override

from tui_host.capture.visible import visible
from tui_host.errors import JSON
from tui_host.tui.keys import key_of
from tui_host.tui.text_width import fill
from tui_host.tui.widgets.lines.line_view import LineView

CallKey: TypeAlias = tuple[str, bytes]  # a call, and the arguments to send
_TAB = "␉   "
_RULE = "│ "


def argument_lines(arguments: str, hide: Callable[[str], str], notes: Mapping[str, str]) -> Sequence[str]:
    """Return arguments indented, behind each value the note at its path of where it comes from.

    A string with line breaks becomes a block behind a vertical line. No argument can look like another one: what follows
    a rule belongs to the string, and JSON begins no line with a rule. Nor can one look like a note: its arrow is a code.
    """
    lines = ((hide(text).replace("←", "⟨2190⟩"), path) for text, path in _lines(json.loads(arguments), "", "", hide))
    return [f"{text} ← {notes[path]}" if path in notes else text for text, path in lines]


def _lines(
    value: JSON, start: str, path: str, hide: Callable[[str], str], comma: str = ""
) -> Iterator[tuple[str, str]]:
    """Yield each line behind its start, indentation and name, with the path of the value that begins there."""
    deeper = " " * (len(start) - len(start.lstrip(" ")) + 2)
    if isinstance(value, str) and "\n" in value:
        rows = hide(value).split("\n")  # before it is cut at its line breaks, since a secret may hold one
        yield f"{start}a string of {len(rows):,} lines:", path
        yield from ((f"{deeper}{_RULE}{visible(row).replace(chr(9), _TAB)}", "-") for row in rows)
    elif value and isinstance(value, Mapping | list):
        if isinstance(value, Mapping):
            names = [f"{json.dumps(key, ensure_ascii=False)}: " for key in value]
            marks, members = "{}", [(f"{path}.{key}".lstrip("."), member) for key, member in value.items()]
        else:
            names = [""] * len(value)
            marks, members = "[]", [(f"{path}[{number}]", member) for number, member in enumerate(value)]
        yield f"{start}{marks[0]}", path
        for number, (name, (place, member)) in enumerate(zip(names, members, strict=True), start=1):
            yield from _lines(member, f"{deeper}{name}", place, hide, "," * (number < len(members)))
        yield f"{deeper[2:]}{marks[1]}{comma}", "-"
    else:
        yield f"{start}{json.dumps(value, ensure_ascii=False)}{comma}", path


def wrapped(lines: Sequence[str], width: int) -> list[str]:
    """Return visible lines of a width. Those that continue a row keep its indentation; behind a rule a dot marks them."""
    shown: list[str] = []
    for row in visible("\n".join(lines)).expandtabs(4).split("\n"):
        words = row.lstrip(" ")
        indent = " " * min(len(row) - len(words), width // 2)
        mark = _RULE if words.startswith(_RULE) else ""
        words, again = words[len(mark) :], indent + ("· " if mark else "")
        pieces = [words[start:end] for start, end in fill(words, max(1, width - len(again)))]
        shown += [f"{again if number else indent + mark}{piece}" for number, piece in enumerate(pieces)]
    return shown


class Arguments(LineView, can_focus=False):
    """The arguments of a call, wrapped to the width. The panel keeps the focus and scrolls them."""

    FOLLOWS = True
    DEFAULT_CSS = """
    Arguments {
        height: auto; overflow-y: auto; padding: 0 1; border: round $foreground 40%; border-subtitle-color: $text-muted;
    }
    """

    def __init__(self, seen: set[CallKey]) -> None:
        super().__init__()
        self._seen = seen  # gets the call once its last line was painted
        self._key: CallKey | None = None  # None for another text
        self._source: Sequence[str] = ()
        self._lines: Sequence[str] = ()
        self._read_to = 0  # the end of the lines that were painted without a gap
        self._has_notes = False

    def show(self, key: CallKey | None, lines: Sequence[str], *, has_notes: bool = False, stays: bool = False) -> None:
        """Show lines from their beginning, or from where they are if only notes of where values come from were added."""
        self._key, self._source, self._has_notes, self.at_tail = key, lines, has_notes, False
        self.width_changed()
        if not stays:
            self.scroll_to(y=0, animate=False, force=True)
        self.tell_rest()

    @override
    def width_changed(self) -> None:
        self._lines, self._read_to = wrapped(self._source, max(1, self.scrollable_size.width or 60)), 0
        self.redraw(len(self._lines))

    @override
    def render_lines(self, crop: Region) -> list[Strip]:
        top, bottom = max(0, crop.y - self.gutter.top), min(crop.bottom - self.gutter.top, self.scrollable_size.height)
        first, end = top + self.scroll_offset.y, min(bottom + self.scroll_offset.y, len(self._lines))
        if first <= self._read_to < end:
            self._read_to = end
        if self._key is not None and self._lines and end == len(self._lines):
            self._seen.add(self._key)
        return super().render_lines(crop)

    def tell_rest(self) -> None:
        """Say how much was not shown yet, or was jumped over."""
        below = len(self._lines) - self.scroll_offset.y - self.scrollable_size.height
        jumped = self.scroll_offset.y - self._read_to
        rest = f"{jumped} line{'s' * (jumped != 1)} jumped over" if jumped > 0 else "all shown"
        if self._key is None:
            rest = f"about the tool; {key_of('about')} shows the arguments"
        if below > 0:
            rest = f"{below} more line{'s' * (below != 1)}: pagedown, end"
        told = Content(f"← verbatim only · {rest}" if self._has_notes else rest)
        if self.border_subtitle != told.markup:  # which is painted anew with each setting
            self.border_subtitle = told

    @override
    def draw(self, number: int) -> Strip:
        return self.strip_of([(self._lines[number], "")])
