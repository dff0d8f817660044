"""A list to choose from."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from rich.cells import cell_len
from textual.strip import Strip
from typing_extensions import override

from tui_host.capture.visible import line
from tui_host.tui.text_width import clip, padded
from tui_host.tui.widgets.lines.line_view import LineView

_READ = 400  # characters of a text that are read for one line


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """A line of a list."""

    words: str  # the text; foreign text as it came
    note: str = ""  # a text after the words, in a column of its own
    before: str = ""  # columns before mark and words, the program's own text, padded by the caller
    mark: str = ""  # a glyph in front of the words
    style: str = ""  # the style of mark and words
    right: str = ""  # a column at the right end
    take: Callable[[], object] | None = field(default=None, compare=False)  # what `enter` or a click does
    subject: object = field(default=None, compare=False)  # what a sheet about the line depends on, cheap to compare


class ChoiceList(LineView):
    """A list of choices with a cursor, which stays on its choice while the list changes."""

    has_cursor = True
    keys: Sequence[str] = ()
    _choices: Sequence[Choice] = ()
    _words = _right = 0  # cells of the words that have a note behind them, and of the right column

    @property
    def current(self) -> str:
        return "" if self.cursor is None else self.keys[self.cursor]

    def show(self, choices: Mapping[str, Choice], wanted: str = "") -> None:
        """Show choices by their keys. The cursor goes to the wanted one, else stays on its own, or where that was."""
        keys, lines, key = [*choices], [*choices.values()], wanted or self.current
        if (keys, lines) == (self.keys, self._choices) and not wanted:
            return
        place = keys.index(key) if key in choices else min(self.cursor or 0, len(keys) - 1)
        self.keys, self._choices = keys, lines
        self._words = max((cell_len(line(choice.words, _READ)) for choice in lines if choice.note), default=0)
        self._right = max((cell_len(choice.right) for choice in lines), default=0)
        self.redraw(len(lines))
        self.cursor = place if keys else None
        self.show_line(place)

    @override
    def draw(self, number: int) -> Strip:
        choice = self._choices[number]
        mark = f"{choice.mark} " if choice.mark else ""
        right = f"  {padded(choice.right, self._right)}" if self._right else ""
        room = max(0, self.scrollable_size.width - 2 - cell_len(f"{choice.before}{mark}{right}"))
        words, note = clip(line(choice.words, _READ), room), line(choice.note, _READ)
        if note:
            words = padded(words, max(cell_len(words), min(self._words, room // 2)))
        room -= cell_len(words)
        note = padded(f"  {note}" if note and room > 4 else "", room)
        pieces = (" ", ""), (choice.before, "note"), (f"{mark}{words}", choice.style), (note, "note"), (right, "figure")
        return self.strip_of(pieces)
