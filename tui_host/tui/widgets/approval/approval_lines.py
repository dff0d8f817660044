"""The content of the approval: waiting calls, the arguments of one call, input fields, and the keys."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from textual import events
from textual.containers import Container
from textual.content import Content
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Static, TextArea
from typing_extensions import override

from tui_host.answers.masks import Mask
from tui_host.capture.visible import visible
from tui_host.chat.policy import Question
from tui_host.tui.widgets.approval import approval_words as words
from tui_host.tui.widgets.approval.argument_lines import ArgumentReader, Arguments
from tui_host.tui.widgets.key_order import KeysInOrder


class Field(KeysInOrder, TextArea):
    """A text field: `enter` submits, `ctrl+j` breaks the line if allowed, `escape` closes."""

    DEFAULT_CSS = """
    Field {
        display: none;
        height: auto;
        max-height: 8;
        padding: 0 1;
        border: round $border;
        background: $surface;
        scrollbar-size: 1 1;
        &.-open { display: block; }
        &:focus { border: round $border; }
    }
    """

    @dataclass
    class Taken(Message):
        """Posted when the text is submitted."""

        text: str

    class Left(Message):
        """Posted when the field is closed without submitting."""

    def __init__(self, *, lines: bool, id: str | None = None) -> None:  # noqa: A002 - Textual's word
        super().__init__(id=id, highlight_cursor_line=False)
        self.cursor_blink = False
        self._several = lines

    @override
    async def on_key(self, event: events.Key) -> None:
        if event.key == "enter":
            self.post_message(self.Taken(self.text))
        elif event.key == "escape":
            self.post_message(self.Left())
        elif event.key in {"ctrl+j", "shift+enter", "shift+\r"}:
            if self._several:
                self.insert("\n")
        else:
            return
        event.stop()
        event.prevent_default()

    async def on_paste(self, event: events.Paste) -> None:
        """Insert a paste as visible text; nothing is submitted."""
        event.stop()
        event.prevent_default()
        text = event.text.replace("\r\n", "\n").replace("\r", "\n")
        result = self.replace(visible(text if self._several else text.replace("\n", " ")), *self.selection)
        self.move_cursor(result.end_location)

    @property
    def is_open(self) -> bool:
        """Whether the field is on the screen."""
        return self.has_class("-open")

    def open(self, text: str) -> None:
        """Show the field with a text, the caret at the first value of JSON, and focus the field."""
        self.load_text(text)
        self.add_class("-open")
        value = re.search(r'": "?', text)
        before = text[: value.end() if value is not None else len(text)]
        self.move_cursor((before.count("\n"), len(before) - before.rfind("\n") - 1))
        self.focus()

    def close(self) -> None:
        """Hide the field."""
        self.remove_class("-open")

    @override
    def action_copy(self) -> None:
        if self.selected_text:
            super().action_copy()


SMALLEST_WIDTH = 26
"""Width inside the frame, in cells, below which a tool's name and arguments are not readable."""


@dataclass(frozen=True, slots=True)
class Room:
    """The number of lines for each part of the approval."""

    lines: Mapping[str, int]  # by part: `calls`, `description`, `arguments`, `message`, `keys`
    is_framed: bool  # whether the arguments have a frame (two more lines); otherwise a note below counts hidden lines
    is_enough: bool  # whether the user can see what would be approved


def share(height: int, width: int, wanted: Mapping[str, int]) -> Room:
    """Divide `height` lines of `width` cells among the parts. Arguments and keys are cut last, the description first.

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
    for part, most in (("arguments", 4), ("calls", 4), ("description", 3), ("arguments", height), ("calls", height)):
        give(part, most)
    return Room(lines, is_framed=is_framed, is_enough=has_note and width >= SMALLEST_WIDTH)


TOO_SMALL = "Too small to approve."
WIDE = "-wide"
"""CSS class of the screen while the approval is as wide as the screen."""


class ApprovalFace:
    """Draws the current question in the approval, without deciding anything.

    Args:
        panel: The approval.
        questions: The waiting calls.
        mask: Hides secrets.

    Attributes:
        is_raw: Whether arguments are shown byte for byte.
        shows_description: Whether the server's description stands in place of the arguments.
    """

    def __init__(self, panel: Container, questions: Sequence[Question], *, mask: Mask) -> None:
        self._panel = panel
        self.questions: list[Question] = list(questions)  # the waiting calls, including answered ones
        self._mask = mask
        self.current: Question | None = None  # the question shown; None for none
        self.edits: dict[str, bytes] = {}  # edited arguments by call
        self.seen: set[tuple[str, bytes]] = set()  # calls whose arguments were shown completely, with these arguments
        self.is_raw = self.shows_description = False
        self._room: Room | None = None
        self.message = ""  # the text about the last key
        self._rest = ""  # how much of the arguments is not on the screen
        self._top = 0  # the first of the calls that are shown
        self._listed: set[tuple[str, bytes]] = set()  # calls whose whole arguments stand in the list
        self._arranged_for: tuple[object, ...] = ()
        self.reader = ArgumentReader(mask.values)
        self.arguments = Arguments(self._moved, self.reader)  # the view of the arguments
        self._note = Static(id="approval-note", markup=False)
        self.editor = Field(lines=True, id="approval-edit")  # the field for edited arguments
        self.reason = Field(lines=False, id="approval-reason")  # the field for the reason of a rejection
        parts = ("calls", "description", "message", "keys")
        self._texts = {part: Static(id=f"approval-{part}", markup=False) for part in parts}

    @property
    def parts(self) -> Sequence[Widget]:
        calls, description, message, keys = self._texts.values()
        return [calls, description, self.arguments, self._note, self.editor, self.reason, message, keys]

    # What is shown.

    @property
    def field(self) -> Field | None:
        """The open field; None if both are closed."""
        return next((field for field in (self.editor, self.reason) if field.is_open), None)

    @property
    def is_readable(self) -> bool:
        """Whether the call to approve can be read in the available room."""
        return self._room is not None and self._room.is_enough

    def arguments_of(self, question: Question) -> bytes:
        """Return the arguments to send, edited or not."""
        return self.edits.get(question.request.call, question.request.arguments)

    def turn_to(self, question: Question | None) -> None:
        """Show another question."""
        if question is not self.current:
            self.is_raw = self.shows_description = False
            self._rest = ""  # of the question before
        self.current = question

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
            text = self.reader.read(self.arguments_of(question), is_raw=self.is_raw)
        self.arguments.show(text)
        self.arrange()

    def arrange(self) -> None:
        """Divide the height among the parts, and wrap all texts to the width."""
        question = self.current
        parent = self._panel.parent
        if question is None or not isinstance(parent, Widget):
            return
        width = max(1, self._panel.content_region.width or parent.size.width - 4)
        left = [waiting for waiting in self.questions if waiting.open]
        arguments = [
            self._mask.values(self.arguments_of(waiting).decode()) if len(left) > 1 else "" for waiting in left
        ]
        current = left.index(question) if question in left else 0
        keys, _, field_height = self._arranged_for = self._to_arrange()
        asked = arguments[current] if left else ""
        description = "" if self.shows_description else self._description_of(question, asked, width)
        rows = {
            "description": words.plain(description, width),
            "message": words.plain(self._message_of(question), width),
            "keys": words.grid(keys, width),
        }
        height = parent.size.height - 2 - field_height
        wanted = {part: len(lines) for part, lines in rows.items()} | {"calls": len(left)}
        wanted |= {"arguments": self.arguments.line_count(), "message": min(len(rows["message"]), 4)}
        room = share(height, width, wanted)
        if not room.is_enough:
            rows["message"] = words.plain(TOO_SMALL, width)
            rows["keys"] = words.grid(replace(words.KEYS, on=(), look=()), width)
            wanted = dict.fromkeys(wanted, 0) | {"calls": 1, "note": 0}
            room = share(height, width, wanted | {part: len(rows[part]) for part in ("message", "keys")})
        self._room = room
        rows["calls"] = words.calls_shown(self._list(left, arguments, current, width))
        for part, view in self._texts.items():
            self._say(view, rows[part], room.lines[part])
        self.arguments.set_class(room.is_framed, "-framed")
        self.arguments.styles.height = room.lines["arguments"] + 2 * room.is_framed
        self._say_rest()
        self._moved()

    def keep_arranged(self) -> bool:
        """Arrange the parts again if what their heights depend on has changed; returns whether they were."""
        is_changed = self._panel.is_attached and self._to_arrange() != self._arranged_for
        if is_changed:
            self.arrange()
        return is_changed

    def _to_arrange(self) -> tuple[words.Keys, int, int]:
        """Return what the parts' heights depend on and a paint may change: the keys, the lines of the arguments, the field's height."""
        field = self.field
        height = 0 if field is None else field.outer_size.height or 3
        return self._working_keys(), self.arguments.line_count(), height

    def _message_of(self, question: Question) -> str:
        """Return the text about the last key, and the warnings about the call."""
        notices = (
            [] if self.editor.is_open else self._notices_of(question)
        )  # what is written there may be something else
        return "\n".join(filter(None, (self.message, *notices)))

    def _notices_of(self, question: Question) -> list[str]:
        return words.notices(question.request, self.edits.get(question.request.call), self._mask)

    def _description_of(self, question: Question, arguments: str, width: int) -> str:
        tool = question.request.tool
        hints = "" if words.hints_fit(tool, width, arguments) else words.hints_of(tool)
        return words.description_of(question.request, hints, 8 * width, hide=self._mask.values)

    def _list(self, left: Sequence[Question], arguments: Sequence[str], current: int, width: int) -> list[str]:
        """Return the lines of the waiting calls, and note which calls are shown completely."""
        room = 0 if self._room is None else self._room.lines["calls"]
        is_cut = room < len(left)
        inner = width - 2 if is_cut else width
        self._top = words.window(len(left), room, current, self._top)
        rows = [
            words.call_row(waiting.request.tool, inner, is_current=number == current, arguments=text)
            for number, (waiting, text) in enumerate(zip(left, arguments, strict=True))
        ]
        shown = slice(self._top, self._top + room)
        self._listed = {
            (waiting.request.call, self.arguments_of(waiting))
            for waiting, text in zip(left[shown], arguments[shown], strict=True)
            if text and words.fits_row(waiting.request.tool, inner, text)
            if not waiting.request.changed and not self._notices_of(waiting)
        }
        return words.in_window(rows, room, self._top, width) if is_cut else rows

    def _working_keys(self) -> words.Keys:
        if self.editor.is_open:
            return words.EDITOR_KEYS
        if self.reason.is_open:
            return words.REASON_KEYS
        keys, panel = words.KEYS, self._panel
        if self.current is not None and self.current.later:
            keys = replace(keys, on=(*keys.on[:-1], words.ALL_OF_THESE))
        if sum(waiting.open for waiting in self.questions) < 2:
            keys = replace(keys, on=keys.on[:-1])
        look, screen = keys.look, panel.screen
        own = {panel, *panel.walk_children()}
        if all(widget in own for widget in screen.focus_chain):
            look = (replace(look[0], key="f2"), *look[1:])
        if screen.has_class(WIDE):
            look = (*look[:-1], words.NARROWER)
        elif panel.outer_size.width == screen.size.width:
            look = look[:-1]
        return replace(keys, look=look)

    def _say(self, part: Static, rows: Sequence[Content], count: int) -> None:
        """Show `count` rows of a part, with a mark where more are hidden."""
        shown = list(rows[:count])
        if len(rows) > count > 0:
            room = max(1, self._panel.content_region.width - 1)
            shown[-1] = Content.assemble(shown[-1].truncate(room), "…")
        part.display = bool(shown)
        part.update(Content("\n").join(shown))

    def _moved(self) -> None:
        self._panel.call_after_refresh(self.note_seen)

    def note_seen(self) -> None:
        """After a paint, note which arguments were visible, tell the user what was not, and update the keys."""
        question, room = self.current, self._room
        if question is None or room is None or not self._panel.is_attached:
            return
        if self.keep_arranged():
            return  # the same paint gave another width, or showed the inspector
        if self.arguments.outer_size.height != room.lines["arguments"] + 2 * room.is_framed:
            return  # not laid out since: this is called again then
        below, jumped = self.arguments.below, self.arguments.jumped_over
        rest = f"{below} more line{'s' * (below != 1)}: pagedown, end" if below else "all shown"
        if jumped and not below:
            rest = f"{jumped} line{'s' if jumped != 1 else ''} jumped over"
        self._rest = rest
        self._say_rest()
        if not room.is_enough or not self.arguments.view_height:
            return
        self.seen |= self._listed
        self.arguments.note_painted()
        if not below and not self.shows_description:
            self.seen.add((question.request.call, self.arguments_of(question)))

    def _say_rest(self) -> None:
        is_framed = self._room is not None and self._room.is_framed
        self.arguments.border_subtitle = Content(self._rest) if is_framed else None
        self._note.display = self.is_readable and not is_framed
        self._note.update(Content(self._rest))
