"""The approval's content: waiting calls, the arguments of one call, and the keys."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from rich.segment import Segment
from rich.style import Style
from textual.containers import Container
from textual.content import Content
from textual.strip import Strip
from textual.widget import Widget
from textual.widgets import Static
from typing_extensions import override

from tui_host.chat.policy import Question
from tui_host.tui.glyphs import Glyphs
from tui_host.tui.markdown.wrap import clip
from tui_host.tui.masks import Mask
from tui_host.tui.widgets.approval import approval_words as words
from tui_host.tui.widgets.approval.approval_fields import Field
from tui_host.tui.widgets.approval.approval_words import folded
from tui_host.tui.widgets.lines.line_view import LineView


class Arguments(LineView, can_focus=False):
    """The arguments, folded at the width. The approval keeps the focus and scrolls them."""

    FOLLOWS = True
    DEFAULT_CSS = """
    Arguments {
        height: 1;
        background: $surface;
        border-subtitle-color: $text-muted;
        &.-framed { border: round $foreground 40%; border-subtitle-align: right; padding: 0 1; }
        &.-framed.-ascii { border: ascii $foreground 40%; }
    }
    """

    def __init__(self, on_moved: Callable[[], None]) -> None:
        super().__init__()
        self._on_moved = on_moved
        self._text = ""
        self._lines: Sequence[str] = ()
        self._folded: tuple[str, int] | None = None

    def show(self, text: str) -> None:
        """Show a text from the beginning."""
        self._text = text
        self._at_tail = False
        self._fold()
        self.scroll_to(y=0, animate=False, force=True)

    def _fold(self) -> None:
        wanted = (self._text, max(1, self.view_width or 60))
        if wanted != self._folded:  # a long text takes its time, and the approval is drawn with every key
            self._folded = wanted
            self._lines = folded(*wanted)
        self.redraw()

    @property
    def below(self) -> int:
        """The number of lines below the visible part."""
        return max(0, len(self._lines) - self.top - self.view_height)

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


SMALLEST_WIDTH = 26
"""Cells inside the frame below which a tool's name and its arguments cannot be told."""


@dataclass(frozen=True, slots=True)
class Room:
    """Lines for each part of the approval.

    Attributes:
        lines: By part: `calls`, `description`, `arguments`, `message`, `keys`.
        is_framed: Whether the arguments have a frame of their own (two more lines); else a note below counts hidden lines.
        is_enough: Whether one can see what would be approved.
    """

    lines: Mapping[str, int]
    is_framed: bool
    is_enough: bool


def share(height: int, width: int, wanted: Mapping[str, int]) -> Room:
    """Share `height` lines of `width` cells. Arguments and keys stay longest, the description folds first.

    Args:
        height: Lines inside the frame.
        width: Cells inside the frame.
        wanted: Lines that each part would like to have.
    """
    left = max(0, height)
    lines = dict.fromkeys((*wanted, "note"), 0)

    def give(part: str, most: int) -> None:
        nonlocal left
        more = max(0, min(wanted.get(part, 1) - lines[part], most, left))
        lines[part] += more
        left -= more

    for part, most in (("calls", 1), ("arguments", 1), ("note", 1), ("message", height), ("keys", height)):
        give(part, most)
    has_note = lines["note"] == 1
    is_framed = left >= 4 and has_note
    left -= is_framed  # the frame's second line takes the place of the note
    for part, most in (("arguments", 4), ("calls", 4), ("description", 3), ("arguments", height)):
        give(part, most)
    return Room(lines, is_framed=is_framed, is_enough=has_note and width >= SMALLEST_WIDTH)


TOO_SMALL = "Too small to show what you would approve: y, a, Y and A are off. n, r and escape work."


class ApprovalFace:
    """Draws the current question inside the approval; decides nothing.

    Args:
        panel: The approval.
        questions: The calls that wait.
        mask: Hides secrets.
        glyphs: The glyphs to draw with.

    Attributes:
        questions: The calls that wait, answered ones included.
        current: The question that is shown; None for none.
        edits: Edited arguments by call.
        seen: Calls whose arguments were shown to their end, with these arguments.
        message: What the approval says about the last key.
        is_raw: Whether arguments are shown byte for byte.
        shows_description: Whether the server's description stands in place of the arguments.
        arguments: The view of the arguments.
        editor: The field for edited arguments.
        reason: The field for the reason of a rejection.
    """

    def __init__(self, panel: Container, questions: Sequence[Question], *, mask: Mask, glyphs: Glyphs) -> None:
        self._panel = panel
        self.questions: list[Question] = list(questions)
        self._mask = mask
        self._glyphs = glyphs
        self.current: Question | None = None
        self.edits: dict[str, bytes] = {}
        self.seen: set[tuple[str, bytes]] = set()
        self.is_raw = self.shows_description = False
        self._room: Room | None = None
        self.message = ""
        self._top = 0  # the first of the calls that are shown
        self._told_keys: tuple[str, ...] = ()
        self._calls = Static(markup=False)
        self._description = Static(id="approval-description", markup=False)
        self.arguments = Arguments(self._moved)
        self.arguments.set_class(glyphs.more.isascii(), "-ascii")
        self._note = Static(id="approval-note", markup=False)
        self.editor = Field(lines=True, id="approval-edit")
        self.reason = Field(lines=False, id="approval-reason")
        self._says = Static(id="approval-message", markup=False)
        self._keys = Static(markup=False)

    @property
    def parts(self) -> Sequence[Widget]:
        """The widgets, from top to bottom."""
        shown = (self._calls, self._description, self.arguments, self._note)
        return [*shown, self.editor, self.reason, self._says, self._keys]

    # What is shown.

    @property
    def field(self) -> Field | None:
        """The open field; None if both are closed."""
        return next((field for field in (self.editor, self.reason) if field.is_open), None)

    @property
    def is_readable(self) -> bool:
        """Whether there is room to see the call to approve."""
        return self._room is not None and self._room.is_enough

    def arguments_of(self, question: Question) -> bytes:
        """Return the arguments to send, edited or not."""
        return self.edits.get(question.request.call, question.request.arguments)

    def draw(self) -> None:
        """Draw the current question."""
        question = self.current
        if question is None:
            return
        left = [waiting for waiting in self.questions if waiting.open]
        place = next((number for number, waiting in enumerate(left, start=1) if waiting is question), 1)
        later = f", then {question.later} more" if question.later else ""
        count = "" if len(left) == 1 else f"  {place} of {len(left)}"
        self._panel.border_title = Content(f"Approve {len(left)} call{'s' if len(left) != 1 else ''}?{count}{later}")
        if self.shows_description:
            text = words.description_of(question.request, hide=self._mask.values)
        else:
            text = self._mask.values(words.arguments_text(self.arguments_of(question), raw=self.is_raw))
        self.arguments.show(text)
        self.arrange()

    def arrange(self) -> None:
        """Divide the height among the parts, and wrap every text to the width."""
        question = self.current
        parent = self._panel.parent
        if question is None or not isinstance(parent, Widget):
            return
        width = max(1, self._panel.content_region.width or parent.size.width - 4)
        left = [waiting for waiting in self.questions if waiting.open]
        is_edited = question.request.call in self.edits
        notice = ""
        if not self.editor.is_open:  # what is written there may be something else
            notice = words.notice(self.arguments_of(question), is_edited=is_edited, mask=self._mask)
        message = "  ".join(part for part in (notice, self.message) if part)
        tool = question.request.tool
        arguments = [
            self._mask.values(self.arguments_of(waiting).decode()) if len(left) > 1 else "" for waiting in left
        ]
        start = left.index(question) if question in left else 0
        hints = "" if words.hints_fit(tool, width, arguments[start] if arguments else "") else words.hints_of(tool)
        description = words.description_of(question.request, hints, 8 * width, hide=self._mask.values)
        self._told_keys = tuple(self._working_keys())
        keys = "   ".join(key.replace("…", self._glyphs.more) for key in self._told_keys)
        rows = {
            "calls": self._call_rows(left, arguments, start, width),
            "description": words.in_rows(description, width),
            "message": words.in_rows(message, width) if message else [],
            "keys": words.keys_in_rows(keys, width),
        }
        field = self.field
        height = parent.size.height - 2 - (field.outer_size.height or 3 if field is not None else 0)
        wanted = {part: len(lines) for part, lines in rows.items()}
        wanted |= {"arguments": self.arguments.line_count(), "message": min(len(rows["message"]), 4)}
        room = share(height, width, wanted)
        if not room.is_enough:
            rows["message"] = words.in_rows(TOO_SMALL, width)
            room = share(
                height,
                width,
                {"calls": 1, "arguments": 1, "message": len(rows["message"]), "description": 0, "keys": 0},
            )
        self._room = room
        calls = rows["calls"]
        self._top = words.window(len(calls), room.lines["calls"], start, self._top)
        if room.lines["calls"] < len(calls):
            narrow = self._call_rows(left, arguments, start, width - 2)
            calls = words.in_window(narrow, room.lines["calls"], self._top, width, self._glyphs.more)
        self._say(self._calls, calls, room.lines["calls"], words.calls_shown)
        self._say(self._description, rows["description"], room.lines["description"])
        self._say(self._says, rows["message"], room.lines["message"])
        self._say(self._keys, rows["keys"], room.lines["keys"], words.keys_shown)
        self.arguments.set_class(room.is_framed, "-framed")
        self.arguments.styles.height = room.lines["arguments"] + (2 if room.is_framed else 0)
        self._moved()

    def _call_rows(self, left: Sequence[Question], told: Sequence[str], current: int, width: int) -> list[str]:
        return words.call_rows([waiting.request.tool for waiting in left], told, current, width, self._glyphs.more)

    def _working_keys(self) -> Sequence[str]:
        """Return the keys that work now, with their effects."""
        if self.editor.is_open:
            return words.EDITOR_KEYS
        if self.reason.is_open:
            return words.REASON_KEYS
        keys = words.KEYS
        if self.current is not None and self.current.later:
            keys = tuple(key.replace("all remaining", "all of these") for key in keys)
        own = {self._panel, *self._panel.walk_children()}
        if any(widget not in own for widget in self._panel.screen.focus_chain):
            return keys
        return [key.replace("tab look", "f2 look") for key in keys]

    def _say(
        self, part: Static, rows: Sequence[str], count: int, look: Callable[[Sequence[str]], Content] = words.plain
    ) -> None:
        """Show `count` rows of a part, with a mark where more are hidden."""
        shown = list(rows[:count])
        if len(rows) > count > 0:
            shown[-1] = clip(f"{shown[-1]} ", max(1, self._panel.content_region.width - 1), "") + self._glyphs.more
        part.display = bool(shown)
        part.update(look(shown))

    def _moved(self) -> None:
        """Say how much of the arguments is not on the screen."""
        below = self.arguments.below
        words_below = "all shown" if not below else f"{below} more line{'s' if below != 1 else ''}: pagedown, end"
        framed = self._room is not None and self._room.is_framed
        self.arguments.border_subtitle = Content(words_below) if framed else None
        self._note.display = not framed
        if not framed:
            self._note.update(Content(words_below))
        self._panel.call_after_refresh(self.note_seen)

    def note_seen(self) -> None:
        """Record after a paint whether the end of the arguments was visible, and update the keys."""
        question = self.current
        if question is not None and self._panel.is_attached and tuple(self._working_keys()) != self._told_keys:
            self.arrange()  # the inspector was laid out in the same paint: there is somewhere to look around now
        visible_now = self._room is not None and self._room.is_enough and self.arguments.view_height > 0
        if question is not None and visible_now and not self.arguments.below and not self.shows_description:
            self.seen.add((question.request.call, self.arguments_of(question)))
