"""The prompt: several lines, history, drafts, commands by `/name`, files by `@`. Only `enter` sends."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.message import Message
from textual.widget import Widget
from textual.widgets import TextArea
from textual.widgets.text_area import Edit, EditResult
from typing_extensions import override

from tui_host.capture.visible import line, visible
from tui_host.tui.widgets.key_order import KeysInOrder
from tui_host.tui.widgets.prompt.file_attachments import Attaching, Offered
from tui_host.tui.widgets.prompt.prompt_marks import BLANK_LINES, Pastes

if TYPE_CHECKING:
    from tui_host.chat.attachments import Attached
    from tui_host.tui.widgets.prompt.completion import Completion
    from tui_host.tui.widgets.prompt.server_offers import ServerOffers


class History:
    """Sent texts, which `up` and `down` bring back.

    Args:
        texts: The sent texts, oldest first.
    """

    def __init__(self, texts: Iterable[str] = ()) -> None:
        self._texts = list(texts)
        self._at: int | None = None
        self._draft = ""

    @property
    def is_shown(self) -> bool:
        """Whether the prompt shows an earlier text in place of the draft."""
        return self._at is not None

    def add(self, *texts: str) -> None:
        """Add sent texts, oldest first, without repeats."""
        self._texts = [old for old in self._texts if old not in texts] + list(dict.fromkeys(texts))
        self._at = None

    def leave(self) -> None:
        """Stop showing earlier texts, because the prompt contains another text."""
        self._at = None
        self._draft = ""

    def go_back(self, steps: int, text: str) -> str | None:
        """Go back `steps` texts, or forward if negative; after the last text comes the draft.

        Args:
            steps: Number of texts to go back.
            text: The prompt's text: the draft, unless it is an earlier text.

        Returns:
            The text to show in the prompt, None for no change.
        """
        count = len(self._texts)
        present = count if self._at is None else self._at
        wanted = max(0, min(count, present - steps))
        if wanted == present:
            return None
        if self._at is None:
            self._draft = text
        self._at = None if wanted == count else wanted
        return self._draft if self._at is None else self._texts[wanted]


PLACEHOLDER = "Ask anything.  / commands  @ files"
COMMAND = re.compile(r"/([A-Za-z][A-Za-z0-9_:-]*)(?:\s+(.*))?", re.DOTALL)
SHELL = re.compile(r"![A-Za-z]")
NO_SHELL = (
    "No shell command runs here; /suspend goes back to the shell until its fg. A space before the ! sends it as text."
)
SIGNS: Mapping[Offered, str] = {"commands": "/", "files": "@", "drop": "", "ways": ""}
NEW_LINE = {"ctrl+j", "shift+enter", "shift+\r"}


class Prompt(KeysInOrder, TextArea):
    """The prompt. Posts messages and commands for the screen to handle."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+j", "new_line", "New line", show=False),
        Binding("ctrl+u", "clear_all", "Clear", show=False),
        Binding("ctrl+t", "open_paste", "Open a paste", show=False),
    ]
    DEFAULT_CSS = """
    Prompt {
        height: auto;
        min-height: 3;
        max-height: 10;
        padding: 0 1;
        border: round $foreground 25%;
        background: $surface;
        scrollbar-size: 1 1;
        &:focus { border: round $border; }
        border-subtitle-color: $foreground 60%;
    }
    """

    class Sent(Message):
        """Posted to send a message, with attached files."""

        def __init__(self, text: str, attached: Sequence[Attached] = ()) -> None:
            super().__init__()
            self.text = text
            self.attached = attached

    class QuickPicked(Message):
        """Posted when the user has chosen a text of `quick` by its key."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    class Held(Message):
        """Posted when the user wants to send while nothing may be sent; the text stays."""

    class Command(Message):
        """Posted to run a `/name`."""

        def __init__(self, name: str) -> None:
            super().__init__()
            self.name = name

    def __init__(
        self,
        *,
        commands: Sequence[tuple[str, str]] = (),
        offers: ServerOffers | None = None,
        history: Sequence[str] = (),
        may_send: Callable[[], bool] = lambda: True,
        id: str | None = None,  # noqa: A002 - Textual's word
    ) -> None:
        super().__init__(id=id, placeholder=Content(PLACEHOLDER), highlight_cursor_line=False)
        self.cursor_blink = False  # a blinking cursor repaints for ever
        self.quick: Mapping[str, str] = {}  # texts that one key sends while the prompt is empty
        self._own_commands = tuple(commands)
        self._offers = offers
        self._history = History(history)
        self._may_send = may_send
        self._pastes = Pastes()
        self._attaching = Attaching(self, self, offers)
        self._offered: Offered = "commands"
        self._completion: Completion | None = None  # there once a command was typed

    # What the app says.

    def invite(self, words: str) -> None:
        """Set the placeholder text."""
        if self.placeholder != (placeholder := Content(words)):
            self.placeholder = placeholder

    def remember(self, *texts: str) -> None:
        """Add sent texts, oldest first, for `up`."""
        self._history.add(*texts)

    def put(self, draft: str) -> None:
        """Replace the text by a draft, with pastes folded as before."""
        self._history.leave()
        self.offer(())
        self.load_text(self._known(draft))
        self.move_cursor(self.document.end)

    # Keys.

    @override
    async def on_key(self, event: events.Key) -> None:
        if event.key in NEW_LINE:
            self._take(event)
            self.action_new_line()
        elif event.key == "enter":
            self._take(event)
            self._submit()
        elif self._is_completing and event.key in {"tab", "escape"}:
            self._take(event)
            if event.key == "tab":
                self._complete()
            else:
                self.offer(())
        elif not self.text and event.character in self.quick:
            self._take(event)
            self.post_message(self.QuickPicked(self.quick[event.character or ""]))
        elif not self.text and event.character == "?":
            self._take(event)
            self.post_message(self.Command("help"))

    @staticmethod
    def _take(event: events.Key) -> None:
        event.stop()
        event.prevent_default()

    def action_new_line(self) -> None:
        """Break the line; an empty prompt has none: `enter` typed before the terminal was ours comes as `ctrl+j`."""
        if self.text:
            self._insert("\n")

    @override
    def action_cursor_up(self, select: bool = False) -> None:
        """Move up; from the first line to an earlier text."""
        if self._completion is not None and self._is_completing:
            self._completion.action_line(-1)
        elif not select and self.wrapped_document.location_to_offset(self.cursor_location).y == 0:
            self._go_back(1)
        else:
            super().action_cursor_up(select)

    @override
    def action_cursor_down(self, select: bool = False) -> None:
        """Down; from the last line back towards the draft."""
        last = self.wrapped_document.height - 1
        if self._completion is not None and self._is_completing:
            self._completion.action_line(1)
        elif not select and self.wrapped_document.location_to_offset(self.cursor_location).y >= last:
            self._go_back(-1)
        else:
            super().action_cursor_down(select)

    # History.

    def _go_back(self, steps: int) -> None:
        text = self._history.go_back(steps, self.text)
        if text is None:
            return
        self.offer(())
        self.load_text(self._known(text) if self._history.is_shown else text)
        row = 0 if steps > 0 else self.document.line_count - 1
        self.move_cursor((row, len(self.document[row])))

    def _known(self, text: str) -> str:
        """Fold known pastes and files of an earlier text into their marks."""
        text = visible(text)
        if "[" in text:
            from tui_host.chat.attachments import unmarked

            text = unmarked(text, tuple(self._attaching.marks.values))
        return self._pastes.fold_again(text)

    # Text.

    async def on_paste(self, event: events.Paste) -> None:
        """Insert a paste as visible text; nothing is sent."""
        event.stop()
        event.prevent_default()
        text = visible(event.text.replace("\r\n", "\n").replace("\r", "\n"))
        self.history.checkpoint()  # `ctrl+z` takes back the paste alone
        folded = self._pastes.fold(text, self.text, is_like_mark=self._attaching.marks.hold(text))
        self._insert(folded)
        self.history.checkpoint()
        self._attaching.take_paste(event.text, folded)

    @override
    def action_paste(self) -> None:
        self.post_message(events.Paste(self.app.clipboard))  # pyright: ignore[reportUnknownMemberType] - Textual leaves its app open

    @override
    def edit(self, edit: Edit) -> EditResult:
        """Edit the text; marks are deleted whole, and never edited inside."""
        first, last = edit.top, edit.bottom
        if first == last:
            first = last = next(((first[0], end) for start, end in self._spans(first) if start < first[1] < end), first)
        else:
            first = next(((first[0], start) for start, end in self._spans(first) if start < first[1] < end), first)
            last = next(((last[0], end) for start, end in self._spans(last) if start < last[1] < end), last)
        if (first, last) != (edit.top, edit.bottom):
            edit = Edit(edit.text, first, last, edit.maintain_selection_offset)
        return super().edit(edit)

    @override
    def undo(self) -> None:
        """Undo, after moving the caret off lines that may vanish: Textual looks for the caret too early."""
        if self.history.undo_stack:
            self.move_cursor((0, 0))
            super().undo()

    @override
    def redo(self) -> None:
        """Redo, after moving the caret as in `undo`."""
        if self.history.redo_stack:
            self.move_cursor((0, 0))
            super().redo()

    def _spans(self, place: tuple[int, int]) -> list[tuple[int, int]]:
        line = (
            self.document[place[0]] if place[0] < self.document.line_count else ""
        )  # ctrl+k names a line below the last
        return sorted([*self._pastes.spans(line), *self._attaching.marks.spans(line)])

    def action_clear_all(self) -> None:
        """Delete the whole text; `ctrl+z` restores it."""
        if not self.text:
            return
        self.history.checkpoint()
        self.clear()
        self.history.checkpoint()
        self.notify("Cleared. ctrl+z brings it back.", markup=False, timeout=3)

    def action_open_paste(self) -> None:
        lines = [(row, self.document[row]) for row in range(self.document.line_count)]
        marks = [(row, *span) for row, line in lines for span in self._pastes.spans(line)]
        row, start, end = next(
            (mark for mark in reversed(marks) if (mark[0], mark[1]) <= self.cursor_location), (marks or [(0, 0, 0)])[0]
        )
        if not marks:
            return
        text = self._pastes.opened(self.document[row][start:end])
        if text is None:
            self.notify("This paste is too large to open here. All of it will be sent.", markup=False)
            return
        self.history.checkpoint()
        self.replace(text, (row, start), (row, end), maintain_selection_offset=False)
        self.history.checkpoint()

    def _insert(self, text: str) -> None:
        result = self.replace(text, *self.selection, maintain_selection_offset=False)
        self.move_cursor(result.end_location)

    def whole_text(self) -> str:
        """Return the text with all pastes unfolded."""
        return self._pastes.whole(self.text)

    @property
    def attached(self) -> Sequence[Attached]:
        return self._attaching.marks.found(self.text)

    @property
    def before_caret(self) -> str:
        row, column = self.cursor_location
        return self.document[row][:column]

    def put_for(self, word: str, text: str) -> None:
        """Replace a word before the caret, or insert at the caret."""
        row, column = self.cursor_location
        start = (row, column - len(word)) if self.before_caret.endswith(word) else (row, column)
        self.history.checkpoint()
        result = self.replace(text, start, (row, column), maintain_selection_offset=False)
        self.move_cursor(result.end_location)
        self.history.checkpoint()
        self.focus()

    def message(self) -> str:
        """Return the message to send: trimmed, without the space that escapes a command."""
        text = self.whole_text().rstrip()
        return text.lstrip() if text.lstrip().startswith(("/", "!")) else BLANK_LINES.sub("", text)

    def _submit(self) -> None:
        if self._is_completing and self._offered in {"files", "ways"}:
            self._complete()
            return
        if self._attaching.reading:
            self.notify("A file is still being read. Press enter again to send.", markup=False, timeout=3)
            return
        text = self.message()
        if not text:
            return
        if command := self._prompt_command():
            self.post_message(self.Command(command))
        elif (match := COMMAND.fullmatch(self.text.rstrip())) is not None:
            if (name := self._meant(match[1], match[2] or "")) is None:
                return  # it stays to be corrected
            self.post_message(self.Command(name))
        elif SHELL.match(self.text):
            self.notify(NO_SHELL, severity="warning", markup=False, timeout=8)
            return
        elif not self._may_send():
            self.post_message(self.Held())
            return
        else:
            self.post_message(self.Sent(text, self.attached))
        self.remember(self.whole_text().rstrip())
        self._history.leave()
        self.offer(())
        self.load_text("")

    # Commands and files.

    def on_text_area_changed(self) -> None:
        text = self.text
        self._hint(text)
        if self._offered == "drop" and self.before_caret.endswith(self._attaching.dropped[0]):
            pass  # it stands as it was pasted
        elif text.startswith("/") and " " not in text and "\n" not in text and not self._history.is_shown:
            self._offer_commands()
        elif self._history.is_shown or not self._attaching.take_word(self.before_caret):
            self.offer(())

    @property
    def _commands(self) -> Sequence[tuple[str, str]]:
        return (*self._own_commands, *(() if self._offers is None else self._offers.commands()))

    def _prompt_command(self) -> str:
        """Return the server's prompt that the text names, by any characters; empty if it names none."""
        name = self.text.rstrip()[1:] if self.text.startswith("/") else ""
        return name if ":" in name and self._offers is not None and self._offers.prompt(name) is not None else ""

    def _meant(self, typed: str, arguments: str) -> str | None:
        """Return the command to run for a name or its beginning; None after saying or showing what may be meant."""
        names = [name for name, _ in self._commands if name.startswith(typed)]
        chosen = self._completion.chosen if self._completion is not None else ""
        if not arguments.strip():
            if chosen in names:
                return chosen
            if typed in names or len(names) == 1:
                return typed if typed in names else names[0]
            if names:
                self._offer_commands()
                return None
        from tui_host.tui.widgets.prompt.command_hints import hint_of

        self.notify(hint_of(typed, dict(self._commands)), severity="warning", markup=False, timeout=8)
        return None

    def _offer_commands(self) -> None:
        self.offer([pair for pair in self._commands if pair[0].startswith(self.text[1:])])

    @property
    def _is_completing(self) -> bool:
        return self._completion is not None and self._completion.is_open

    def offer(self, pairs: Sequence[tuple[str, str]], what: Offered = "commands") -> None:
        """Show suggestions above the prompt, or hide an empty list."""
        self._offered = what
        if self._completion is None:
            if not pairs or not isinstance(self.parent, Widget):
                return
            from tui_host.tui.widgets.prompt.completion import Completion

            self._completion = Completion(self._complete)
            self.parent.mount(self._completion, before=self)
        self._completion.offer(pairs, SIGNS[what])

    def _hint(self, text: str) -> None:
        words = ["ctrl+t opens the paste"] if self._pastes.hold(text) else []
        if words or text.count("\n") > 1:
            words.append("ctrl+u clears")
        if attached := self.attached:
            count, servers = _counted(attached)
            to = f"data of {servers} to {line(str(self._offers.session.model), 60)}" if servers and self._offers else ""
            words = [*filter(None, (to, f"{count} attached", "backspace removes a mark")), *words]
        self.border_subtitle = "  ".join(words)

    def _complete(self) -> None:
        name = "" if self._completion is None else self._completion.chosen
        if not name:
            return
        what = self._offered
        self.offer(())
        if what != "commands":
            self._attaching.chosen(what, name)
            return
        self.load_text(f"/{name}")
        self.move_cursor(self.document.end)
        self.focus()


def _counted(attached: Sequence[Attached]) -> tuple[str, str]:
    """Return the number of attachments in words, and the servers that they come from."""
    counts = {
        "file": sum(not part.server for part in attached),
        "resource": sum(bool(part.server) for part in attached),
    }
    words = " and ".join(f"{count} {what}{'s' * (count > 1)}" for what, count in counts.items() if count)
    return words, ", ".join(dict.fromkeys(part.server for part in attached if part.server))
