"""Selecting by the mouse: characters or whole lines, as places that stay on their text when lines move."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple, Protocol, TypeAlias

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.color import Color
from textual.geometry import Offset
from textual.strip import Strip
from textual.timer import Timer
from typing_extensions import override

from tui_host.tui.text_width import character_at
from tui_host.tui.widgets.lines.line_view import LineView

Spot: TypeAlias = tuple[int, ...]
"""A place in a view's content that stays on its text; spots are ordered as the content is."""
Stretch: TypeAlias = tuple[Spot, Spot]
"""From one spot to before another one; empty where they are the same."""
_WORD = re.compile(r"\w+")
_DOUBLE_CLICK_SECONDS = 0.5
SCROLL_RATE = 1 / 20
"""Seconds between two steps while the mouse is held beyond the edge."""


class Letters(NamedTuple):
    """Characters side by side on a line, or a line that is selected whole."""

    x: int  # the cell where they begin
    text: str  # the characters, as drawn
    key: Spot  # what all their spots begin with
    places: Sequence[int]  # the last part of the spot of each, and of what comes behind the last
    is_whole: bool = False  # whether the line is one unit, from the first place to the last

    def spot(self, at: int) -> Spot:
        """Return the spot of a character."""
        return (*self.key, self.places[at])


class Selectable(Protocol):
    """The selectable content of a view."""

    def letters(self, line: int) -> Sequence[Letters]:
        """Return the characters on a line, from left to right; at least one run, if only an empty one."""
        ...

    def copied(self, first: Spot, last: Spot) -> tuple[str, str]:
        """Return a word for the text between two spots, and the text."""
        ...


def whole_line(key: Spot, place: int) -> Sequence[Letters]:
    """Return the letters of a line that is selected as a whole."""
    return (Letters(0, "", key, (place, place + 1), is_whole=True),)


def stretch_at(letters: Sequence[Letters], cell: int, *, by_words: bool = False) -> Stretch:
    """Return the character, or the word, at a cell of a line; empty before and behind the text, and of no word."""
    run = next((run for run in reversed(letters) if run.x <= cell), letters[0])
    if run.is_whole:
        return run.spot(0), run.spot(0 if by_words else -1)
    span = character_at(run.text, cell - run.x) if cell >= run.x else None
    if span is None:
        spot = run.spot(0 if cell < run.x else -1)
        return spot, spot
    if by_words:
        words = (word.span() for word in _WORD.finditer(run.text))
        span = next((word for word in words if word[0] <= span[0] < word[1]), span)
    start = run.places[span[0]]
    # Several drawn characters may stand for one.
    end = next((place for place in run.places[span[1] :] if place > start), run.places[-1])
    return (*run.key, start), (*run.key, end)


def cells_in(letters: Sequence[Letters], selected: Stretch, width: int) -> tuple[int, int] | None:
    """Return the selected cells of a line."""
    first, last = selected
    cells: list[int] = []
    for run in letters:
        if run.is_whole:
            return (0, width) if first <= run.spot(0) < last else None
        chosen = [at for at in range(len(run.text)) if first <= run.spot(at) < last]
        if chosen:
            cells += [run.x + cell_len(run.text[:at]) for at in (chosen[0], chosen[-1] + 1)]
    return (cells[0], cells[-1]) if cells else None


class SelectingView(LineView):
    """A view with text to select: by dragging, by a double click on a word; `shift` and a click extend.

    Attributes:
        selection: What the mouse went down on, which stays selected, and what it is on now.
    """

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:  # noqa: A002 - Textual's word
        super().__init__(id=id, classes=classes)
        self.selection: tuple[Stretch, Stretch] | None = None
        self._drag: Offset | None = None  # the pointer, in cells of the view, while the button is down
        self._press = (0.0, Offset(-1, -1))
        self._scrolling: Timer | None = None

    @property
    def selectable(self) -> Selectable | None:
        """The selectable content; None if nothing can be selected."""
        return None

    def hold_still(self) -> None:
        """Stop following new lines while the mouse selects."""
        self.at_tail = False

    @property
    def selected_stretch(self) -> Stretch | None:
        """What is selected."""
        if self.selection is None:
            return None
        (first, last), (head, end) = self.selection
        return min(first, head), max(last, end)

    def selected_source(self) -> tuple[str, str] | None:
        """Return the selected text and what it is; None without a selection."""
        content, selected = self.selectable, self.selected_stretch
        return None if content is None or selected is None or selected[0] == selected[1] else content.copied(*selected)

    def select_text(self, stretch: Stretch, head: Stretch | None = None) -> None:
        """Select a stretch, and all up to another one."""
        selection = stretch, stretch if head is None else head
        if selection != self.selection:
            self.screen.clear_selection()  # Textual's own, which its key would copy first
            self.selection = selection
            self.refresh()

    def unselect(self) -> bool:
        """Clear the selection; returns whether there was one."""
        if was_selected := self.selection is not None:
            self.selection = None
            self.refresh()
        return was_selected

    @override
    def decorate(self, number: int, strip: Strip) -> Strip:
        content, selected = self.selectable, self.selected_stretch
        if content is not None and selected is not None:
            first, last = cells_in(content.letters(number), selected, self.view_width) or (0, 0)
            ground, style = self.screen.get_component_rich_style("screen--selection").bgcolor, Style(reverse=True)
            if not self.app.no_color and ground is not None and ground.triplet is not None:  # pyright: ignore[reportUnknownMemberType] - Textual leaves the app's type open
                readable = Color.from_rich_color(ground).get_contrast_text(1.0)
                style = Style(color=readable.rich_color, bgcolor=ground)
            if first < last:
                strip = strip.extend_cell_length(last)
                marked = [Segment(text, (own or Style.null()) + style) for text, own, _ in strip.crop(first, last)]
                strip = Strip.join([strip.crop(0, first), Strip(marked), strip.crop(last)])
        return super().decorate(number, strip)

    # The mouse.

    def _under(self, content: Selectable, at: Offset) -> tuple[Sequence[Letters], int]:
        """Return the letters of the line and the cell under the pointer, within the visible part."""
        line = max(0, min(at.y, self.view_height - 1)) + self.top
        return content.letters(max(0, min(line, self.line_count() - 1))), max(0, min(at.x, self.view_width))

    def on_mouse_down(self, event: events.MouseDown) -> None:
        content, at = self.selectable, event.get_content_offset_capture(self)
        self.is_dragged = False
        if content is None or event.button != 1 or not self.line_count() or not 0 <= at.x < self.view_width:
            return
        self._drag = at
        self.capture_mouse()
        is_second = event.time - self._press[0] <= _DOUBLE_CLICK_SECONDS and self._press[1] == at
        self._press = (0.0 if is_second else event.time, at)
        if event.shift and self.selection is not None:
            self.is_dragged = True
            self._drag_on()
            return
        self.unselect()
        if is_second and at.y + self.top < self.line_count():
            word = stretch_at(*self._under(content, at), by_words=True)
            if word[0] != word[1]:
                self.is_dragged = True
                self.select_text(word)

    def on_mouse_move(self, event: events.MouseMove) -> None:
        content, at = self.selectable, event.get_content_offset_capture(self)
        if self._drag is None or content is None:
            return
        event.stop()
        if at != self._drag and not self.is_dragged:
            self.is_dragged = True
            self.hold_still()
            self.select_text(stretch_at(*self._under(content, self._drag)))
        if self._scrolling is None:
            self._scrolling = self.set_interval(SCROLL_RATE, self._scroll_on)
        self._drag = at
        self._drag_on()

    def _drag_on(self) -> None:
        """Select up to the pointer."""
        content = self.selectable
        if self._drag is not None and content is not None and self.selection is not None:
            self.select_text(self.selection[0], stretch_at(*self._under(content, self._drag)))

    def _scroll_on(self) -> None:
        """Scroll while the pointer is beyond the edge."""
        y = 0 if self._drag is None else self._drag.y
        if not 0 <= y < self.view_height:
            self.scroll_to(y=self.top + (y if y < 0 else y - self.view_height + 1), animate=False, force=True)
            self._drag_on()

    def on_mouse_up(self, event: events.MouseUp) -> None:
        if self._drag is not None:
            event.stop()
            self.release_mouse()
        self._end_drag()

    def on_mouse_release(self) -> None:
        if self.app.mouse_captured is not self:  # pyright: ignore[reportUnknownMemberType] - else it is about an earlier press
            self._end_drag()

    def _end_drag(self) -> None:
        if self._drag is not None and self.is_dragged:
            self.at_tail = self.top >= self.max_scroll_y
        self._drag = None
        if self._scrolling is not None:
            self._scrolling.stop()
            self._scrolling = None

    def key_escape(self, event: events.Key) -> None:
        if self.unselect():
            event.stop()
