"""What the approval shows: the calls that wait, the arguments of one of them whole, and what each key would do."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from textual.app import ComposeResult
from textual.containers import Container
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static
from typing_extensions import override

from tui_host.chat.policy import Question
from tui_host.tui.glyphs import Glyphs
from tui_host.tui.markdown.wrap import clip
from tui_host.tui.masks import Mask
from tui_host.tui.widgets.approval import approval_words as words
from tui_host.tui.widgets.approval.approval_fields import Field
from tui_host.tui.widgets.approval.approval_layout import Room, Wanted, share
from tui_host.tui.widgets.approval.argument_lines import Arguments

TOO_SMALL = "Too small to show what you would approve: y, a, Y and A are off. n, r and escape work."


class ApprovalFace(Container):
    """Draws the current question among those that wait, and lets it be looked at; decides nothing."""

    DEFAULT_CSS = """
    ApprovalFace {
        height: auto;
        max-height: 100%;
        border: round $warning 60%;
        border-title-color: $text-warning;
        border-title-style: bold;
        border-subtitle-color: $text-muted;
        background: $surface;
        padding: 0 1;
        &.-ascii { border: ascii $warning 60%; }
        &:focus { border: round $warning; }
        &.-ascii:focus { border: ascii $warning; }
        & > Static { height: auto; }
        & > #approval-description { color: $text-muted; }
        & > #approval-note { text-align: right; color: $text-muted; }
        & > #approval-message { color: $text-warning; text-style: bold; }
    }
    """

    def __init__(
        self,
        questions: Sequence[Question],
        *,
        mask: Mask,
        glyphs: Glyphs,
        id: str | None,  # noqa: A002 - Textual's word
    ) -> None:
        super().__init__(id=id, classes="-ascii" if glyphs.more.isascii() else None)
        self._questions: list[Question] = list(questions)
        self._mask = mask
        self._glyphs = glyphs
        self._current: Question | None = None
        self._edits: dict[str, bytes] = {}
        self._seen: set[tuple[str, bytes]] = set()
        self._is_raw = self._shows_description = False
        self._room: Room | None = None
        self._message = ""
        self._top = 0  # the first of the calls that are shown
        self._told_keys: tuple[str, ...] = ()
        self._calls = Static(markup=False)
        self._description = Static(id="approval-description", markup=False)
        self._arguments = Arguments(self._moved)
        self._arguments.set_class(glyphs.more.isascii(), "-ascii")
        self._note = Static(id="approval-note", markup=False)
        self._editor = Field(lines=True, id="approval-edit")
        self._reason = Field(lines=False, id="approval-reason")
        self._says = Static(id="approval-message", markup=False)
        self._keys = Static(markup=False)

    @override
    def compose(self) -> ComposeResult:
        yield from (
            self._calls,
            self._description,
            self._arguments,
            self._note,
            self._editor,
            self._reason,
            self._says,
            self._keys,
        )

    # What is shown.

    @property
    def _field(self) -> Field | None:
        return next((field for field in (self._editor, self._reason) if field.is_open), None)

    def _arguments_of(self, question: Question) -> bytes:
        return self._edits.get(question.request.call, question.request.arguments)

    def _draw(self) -> None:
        question = self._current
        if question is None:
            return
        left = [other for other in self._questions if other.open]
        place = next((number for number, other in enumerate(left, start=1) if other is question), 1)
        later = f", then {question.later} more" if question.later else ""
        count = "" if len(left) == 1 else f"  {place} of {len(left)}"
        self.border_title = Content(f"Approve {len(left)} call{'s' if len(left) != 1 else ''}?{count}{later}")
        if self._shows_description:
            text = words.description_of(question.request, hide=self._mask.values)
        else:
            text = self._mask.values(words.arguments_text(self._arguments_of(question), raw=self._is_raw))
        self._arguments.show(text)
        self._arrange()

    def _arrange(self) -> None:
        """Share the room out, and say everything at the width there is."""
        question = self._current
        parent = self.parent
        if question is None or not isinstance(parent, Widget):
            return
        width = max(1, self.content_region.width or parent.size.width - 4)
        left = [other for other in self._questions if other.open]
        is_edited = question.request.call in self._edits
        notice = ""
        if not self._editor.is_open:  # what is written there may be something else
            notice = words.notice(self._arguments_of(question), is_edited=is_edited, mask=self._mask)
        said = "  ".join(part for part in (notice, self._message) if part)
        tool = question.request.tool
        told = [self._mask.values(self._arguments_of(other).decode()) if len(left) > 1 else "" for other in left]
        start = left.index(question) if question in left else 0
        hints = "" if words.hints_fit(tool, width, told[start] if told else "") else words.hints_of(tool)
        description = words.description_of(question.request, hints, 8 * width, hide=self._mask.values)
        self._told_keys = tuple(self._working_keys())
        keys = "   ".join(key.replace("…", self._glyphs.more) for key in self._told_keys)
        rows = {
            "calls": self._call_rows(left, told, start, width),
            "description": words.in_rows(description, width),
            "message": words.in_rows(said, width) if said else [],
            "keys": words.keys_in_rows(keys, width),
        }
        field = self._field
        height = parent.size.height - 2 - (field.outer_size.height or 3 if field is not None else 0)
        wanted = Wanted(
            calls=len(rows["calls"]),
            description=len(rows["description"]),
            arguments=self._arguments.line_count(),
            message=min(len(rows["message"]), 4),
            keys=len(rows["keys"]),
        )
        room = share(height, width, wanted)
        if not room.enough:
            rows["message"] = words.in_rows(TOO_SMALL, width)
            room = share(
                height, width, Wanted(calls=1, description=0, arguments=1, message=len(rows["message"]), keys=0)
            )
        self._room = room
        calls = rows["calls"]
        self._top = words.window(len(calls), room.calls, start, self._top)
        if room.calls < len(calls):
            narrow = self._call_rows(left, told, start, width - 2)
            calls = words.in_window(narrow, room.calls, self._top, width, self._glyphs.more)
        self._say(self._calls, calls, room.calls, words.calls_shown)
        self._say(self._description, rows["description"], room.description)
        self._say(self._says, rows["message"], room.message)
        self._say(self._keys, rows["keys"], room.keys, words.keys_shown)
        self._arguments.set_class(room.framed, "-framed")
        self._arguments.styles.height = room.arguments + (2 if room.framed else 0)
        self._moved()

    def _call_rows(self, left: Sequence[Question], told: Sequence[str], current: int, width: int) -> list[str]:
        return words.call_rows([other.request.tool for other in left], told, current, width, self._glyphs.more)

    def _working_keys(self) -> Sequence[str]:
        """What a key does now: in a field other things than before a question, and `tab` only where there is elsewhere."""
        if self._editor.is_open:
            return words.EDITOR_KEYS
        if self._reason.is_open:
            return words.REASON_KEYS
        keys = words.KEYS
        if self._current is not None and self._current.later:
            keys = tuple(key.replace("all that remain", "all of these") for key in keys)
        own = {self, *self.walk_children()}
        if any(widget not in own for widget in self.screen.focus_chain):
            return keys
        return [key.replace("tab look", "f2 look") for key in keys]

    def _say(
        self, part: Static, rows: Sequence[str], count: int, look: Callable[[Sequence[str]], Content] = words.plain
    ) -> None:
        """Show so many lines; a mark stands where more are hidden."""
        shown = list(rows[:count])
        if len(rows) > count > 0:
            shown[-1] = clip(f"{shown[-1]} ", max(1, self.content_region.width - 1), "") + self._glyphs.more
        part.display = bool(shown)
        part.update(look(shown))

    def _moved(self) -> None:
        """Say how much of the arguments is not on the screen."""
        below = self._arguments.below
        words_below = "all shown" if not below else f"{below} more line{'s' if below != 1 else ''}: pagedown, end"
        framed = self._room is not None and self._room.framed
        self._arguments.border_subtitle = Content(words_below) if framed else None
        self._note.display = not framed
        if not framed:
            self._note.update(Content(words_below))
        self.call_after_refresh(self._note_seen)

    def _note_seen(self) -> None:
        """After a paint: whether the end of the arguments is on the screen, and whether the keys are still those."""
        question = self._current
        if question is not None and self.is_attached and tuple(self._working_keys()) != self._told_keys:
            self._arrange()  # the inspector was laid out in the same paint: there is somewhere to look around now
        visible_now = self._room is not None and self._room.enough and self._arguments.view_height > 0
        if question is not None and visible_now and not self._arguments.below and not self._shows_description:
            self._seen.add((question.request.call, self._arguments_of(question)))

    def on_resize(self) -> None:
        """Share the room out anew."""
        self._arrange()

    # Looking.

    def action_scroll(self, lines: int) -> None:
        """Scroll the arguments."""
        self._arguments.action_line(lines)

    def action_turn(self, pages: int) -> None:
        """Scroll the arguments by screenfuls."""
        self._arguments.action_page(pages)

    def action_edge(self, end: int) -> None:
        """To the first or the last line of the arguments."""
        if end > 0:
            self._arguments.action_last()
        else:
            self._arguments.action_first()

    def action_raw(self) -> None:
        """The bytes as they are, or indented."""
        self._is_raw = not self._is_raw
        self._shows_description = False
        self._draw()

    def action_description(self) -> None:
        """The server's description whole, in place of the arguments, and back."""
        self._shows_description = not self._shows_description
        self._draw()
