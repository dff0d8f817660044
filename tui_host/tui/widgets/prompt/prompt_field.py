"""The prompt: several lines, history, drafts, commands by `/name`, files by `@`, marks for long pastes. Only `enter` sends."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.message import Message
from textual.widget import Widget
from textual.widgets import TextArea
from textual.widgets.text_area import Edit, EditResult
from typing_extensions import override

from tui_host.answers.pages import PAGES, WIRE_TABS
from tui_host.capture.visible import line, visible
from tui_host.errors import TuiHostError
from tui_host.tui.keys import bound, key_of, keys_named
from tui_host.tui.widgets.key_order import KeysInOrder
from tui_host.tui.widgets.prompt.file_names import matching, named
from tui_host.tui.widgets.prompt.prompt_marks import FOLDED_CHARACTERS, Marks
from tui_host.tui.widgets.prompt.server_offers import Suggestion, form_of

if TYPE_CHECKING:
    from textual.geometry import Region
    from textual.strip import Strip

    from tui_host.chat.attachments import Attached
    from tui_host.chat.queued_messages import Queued
    from tui_host.errors import JSON
    from tui_host.tui.widgets.prompt.completion import Completion
    from tui_host.tui.widgets.prompt.server_offers import ServerOffers

PLACEHOLDER = "Ask anything.  / commands  @ files"
COMMAND = re.compile(r"/([A-Za-z][A-Za-z0-9_:-]*)(?:\s+(.*))?", re.DOTALL)
WITH_WORDS = frozenset(
    (*(page.command for page in PAGES if page.takes), *map(str.lower, WIRE_TABS), "export", "filter")
)
"""The commands behind which something may be named."""
WORD = re.compile(r'(?:^|(?<=\s))@(?:"(?P<quoted>[^"\n]*)|(?P<plain>[^\s"]*))$')
"""The name of a file or a resource while it is being typed; it ends at the caret."""
NEW_LINE = {"ctrl+j", "shift+enter", "shift+\r"}
BLANK_LINES = re.compile(r"\A(?:[^\S\n]*\n)+")
_HELP = 120  # characters of the help of a server's prompt
OPENED = 200_000  # characters above which a paste is not opened: the editor would hold everything up
ELSEWHERE: Mapping[str, str] = {
    "clear": "new",
    "compact": "new",
    "config": "model",
    "exit": "quit",
    "history": "sessions",
    "login": "model",
    "permissions": "rules",
    "resume": "sessions",
}
"""Commands of other programs, each with the one that does the same here."""


class Prompt(KeysInOrder, TextArea):
    """The prompt. Posts messages and commands for the screen to handle."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "", "send", tooltip="send; while a turn runs, queue it; while empty, send what was held back"),
        bound("step", "", tooltip="in a turn: say it with the next step, beside the tools' results"),
        Binding("ctrl+j", "", "new line", tooltip="begin a new line; shift+enter too, if the terminal passes it on"),
        Binding("up,down", "", tooltip="beyond the first and last line: bring back earlier messages, the queue first"),
        Binding("delete", "", tooltip="in an empty prompt: drop the message queued last"),
        Binding("slash", "", "commands", tooltip="a command, or /server:prompt; tab completes; behind a space, text"),
        Binding("at", "", "files", tooltip="attach a file, or @server:uri, which is read when chosen; tab completes"),
        bound("again", "", tooltip="find an earlier message with what is written; again: one before; escape: back"),
        Binding("pageup", "app.on_main('page(-1)', 'Transcript')", tooltip="scroll the chat by a page"),
        Binding("pagedown", "app.on_main('page(1)', 'Transcript')"),
        bound("clear", "clear_all", tooltip="delete everything that is written"),
        Binding("ctrl+z,ctrl+y", "", tooltip="undo and redo"),
        bound("paste", "paste", tooltip="attach the image in the clipboard, else insert what was copied here"),
        bound("open_paste", "open_paste", tooltip="show the text of a large paste in place of its mark"),
        Binding("1,2,3", "", tooltip="in an empty chat: ask the question with this number"),
        Binding("question_mark", "", tooltip="in an empty prompt: show this help"),
    ]
    DEFAULT_CSS = """
    Prompt {
        height: auto; min-height: 3; max-height: 10; padding: 0 1; background: $surface; scrollbar-size: 1 1;
        border: round $foreground 25%; border-subtitle-color: $foreground 60%;
        &:focus { border: round $border; }
    }
    """

    @dataclass(eq=False, repr=False, match_args=False)
    class Sent(Message):
        """Posted to send a message, with attached files; without a text, to send what is queued."""

        text: str
        attached: Sequence[Attached] = ()
        joins_step: bool = False

    @dataclass(eq=False, repr=False, match_args=False)
    class QuickPicked(Message):
        """Posted when the user has chosen a text of `quick` by its key."""

        text: str

    @dataclass(eq=False, repr=False, match_args=False)
    class Command(Message):
        """Posted to run a `/name`."""

        name: str

    def __init__(
        self,
        *,
        commands: Sequence[tuple[str, str]] = (),
        offers: ServerOffers | None = None,
        may_send: Callable[[], bool] = lambda: True,
        take_back: Callable[[bool], Queued | None] = lambda _: None,
        id: str | None = None,  # noqa: A002 - Textual's word
    ) -> None:
        super().__init__(id=id, placeholder=Content(PLACEHOLDER), highlight_cursor_line=False)
        self.cursor_blink = False  # a blinking cursor repaints for ever
        self.marks = Marks()
        self.quick: Mapping[str, str] = {}  # texts that one key sends while the prompt is empty
        self.own_commands = tuple(commands)
        self._offers = offers
        self._may_send = may_send
        self._take_back = take_back  # from the queue, as the draft or to drop it
        self._sent: list[str] = []  # what `up` brings back, oldest first, with its marks
        self._recalled = 0  # number of the sent text in place of the draft; behind the last, the draft itself
        self._draft = ""
        self._wanted = self._match = ""  # what is looked for in the sent texts, and the one that is shown for it
        self._left = "", 0  # the text from which the search began, and its number
        self._pasted = ""  # a paste that may name files, until the prompt has changed
        self._reading = 0  # number of files and resources being read
        self._completion: Completion | None = None  # there once something was suggested

    # The text.

    def remember(self, *texts: str) -> None:
        """Add sent texts, oldest first, without repeats, for `up`."""
        self._sent = [text for text in self._sent if text not in texts] + list(dict.fromkeys(texts))
        self._recalled = len(self._sent)

    def remember_before(self, texts: Sequence[str]) -> None:
        """Add texts that were sent in other sessions, oldest first, before all others."""
        before = [text for text in dict.fromkeys(texts) if text not in self._sent]
        self._sent = before + self._sent
        self._recalled += len(before)

    def put(self, draft: str, *, can_undo: bool = False) -> None:
        """Show a text in place of what stands there, which `ctrl+z` brings back if it `can_undo`."""
        self._recalled = len(self._sent)
        if can_undo:
            self._put((0, 0), self.document.end, self._from_elsewhere(draft))
            return
        self.suggest(())
        self.load_text(self._from_elsewhere(draft))
        self.move_cursor(self.document.end)

    def bring(self, text: str, attached: Mapping[str, Attached]) -> None:
        """Show a message that was sent in place of the text, with its files by their marks."""
        for mark, file in attached.items():
            name = mark
            if name in self.marks.values and self.marks.values[name] != file:
                name = self.marks.add(mark[1:-1], file, text)
                text = text.replace(mark, name)
            self.marks.values[name] = file
        self.put(text)

    @property
    def _before_caret(self) -> str:
        row, column = self.cursor_location
        return self.document[row][:column]

    def _put(self, start: tuple[int, int], end: tuple[int, int], text: str) -> None:
        """Put a text in the place of another one; `ctrl+z` takes it back alone."""
        self.history.checkpoint()
        result = self.replace(text, start, end, maintain_selection_offset=False)
        self.history.checkpoint()
        self.move_cursor(result.end_location)

    def _put_for_word(self, word: str, text: str) -> None:
        row, column = self.cursor_location
        start = column - len(word) if self._before_caret.endswith(word) else column
        self._put((row, start), (row, column), text)

    def message(self) -> str:
        """Return the message to send: trimmed, without the space that escapes a command."""
        text = self.marks.whole(self.text).rstrip()
        return text.lstrip() if text.lstrip().startswith("/") else BLANK_LINES.sub("", text)

    @override
    def edit(self, edit: Edit) -> EditResult:
        """Edit the text; marks are deleted whole, and never edited inside."""
        places: list[tuple[int, int]] = []
        for (row, column), goes_behind in ((edit.top, edit.top == edit.bottom), (edit.bottom, True)):
            # ctrl+k names a line below the last.
            marks = self.marks.within(self.document[row]) if row < self.document.line_count else ()
            inside = next((mark.span() for mark in marks if mark.start() < column < mark.end()), (column, column))
            places.append((row, inside[goes_behind]))
        first, last = places
        return super().edit(Edit(edit.text, first, last, edit.maintain_selection_offset))

    @override
    def undo(self) -> None:
        """Undo, after moving the caret off lines that may vanish: Textual looks for the caret too early."""
        if self.history.undo_stack:
            self.move_cursor((0, 0))
            super().undo()

    @override
    def redo(self) -> None:
        if self.history.redo_stack:
            self.move_cursor((0, 0))
            super().redo()

    @override
    def render_lines(self, crop: Region) -> list[Strip]:
        # The real cursor stands at the caret too where only the layout has changed: input methods write there.
        if self.has_focus:
            self.app.cursor_position = self.cursor_screen_offset  # pyright: ignore[reportUnknownMemberType] - of any app
        return super().render_lines(crop)

    # Keys.

    @override
    async def on_key(self, event: events.Key) -> None:
        character = event.character or ""
        if event.key in NEW_LINE:
            if self.text:  # an empty prompt has no lines: `enter` typed before the terminal was ours comes as `ctrl+j`
                self._put(*self.selection, "\n")
        elif event.key == "enter" or event.key.replace("\r", "enter") in keys_named("step"):
            self.action_submit(event.key != "enter")
        elif self._chosen is not None and event.key == "tab":
            self._take_chosen()
        elif self._chosen is not None and event.key == "escape":
            self.suggest(())
        elif self._is_searching and event.key == "escape":
            text, self._recalled = self._left
            self._recall(text)
        elif not self.text and character in self.quick:
            self.post_message(self.QuickPicked(self.quick[character]))
        elif not self.text and character == "?":
            self.post_message(self.Command("help"))
        elif not self.text and event.key in {"up", "delete"} and (queued := self._take_back(event.key == "up")):
            if event.key == "up":
                for part in queued.attached:
                    self.marks.add(part.words, part, "")
                self.put(queued.text)
        elif event.key not in {"up", "down"} or not self._moves(-1 if event.key == "up" else 1):
            return
        event.stop()
        event.prevent_default()

    def action_clear_all(self) -> None:
        if self.text:
            self._put((0, 0), self.document.end, "")
            self.notify("Cleared. ctrl+z brings it back.", markup=False, timeout=3)

    def action_open_paste(self) -> None:
        """Put the text of a paste, the last before the caret, in the place of its mark."""
        lines = enumerate(self.text.split("\n"))
        places = [(row, mark) for row, text in lines for mark in self.marks.pastes(text)]
        before = [(row, mark) for row, mark in places if (row, mark.start()) <= self.cursor_location]
        for row, mark in before[-1:] or places[:1]:
            text = self.marks.whole(mark[0])
            if len(text) > OPENED or self.marks.within(text):
                self.notify("This paste is too large to open here. All of it will be sent.", markup=False)
            else:
                self._put((row, mark.start()), (row, mark.end()), text)

    def _moves(self, step: int) -> bool:
        """Move in the list, or from the first line to earlier texts and from the last line back; False to move the caret."""
        if self._completion is not None and self._chosen is not None:
            self._completion.action_line(step)
            return True
        row, edge = self.wrapped_document.location_to_offset(self.cursor_location).y, self.wrapped_document.height - 1
        if row != (0 if step < 0 else edge):
            return False
        wanted, draft = self._recalled + step, len(self._sent)
        if 0 <= wanted <= draft:
            self._draft = self.text if self._recalled == draft else self._draft
            self._recalled = wanted
            self._recall(self._draft if wanted == draft else self._from_elsewhere(self._sent[wanted]))
            row = 0 if step < 0 else self.document.line_count - 1
            self.move_cursor((row, len(self.document[row])))
        return True

    def _recall(self, text: str) -> None:
        self._wanted = ""
        self.suggest(())
        self.load_text(text)
        self.move_cursor(self.document.end)

    @property
    def _is_searching(self) -> bool:
        return bool(self._wanted) and self.text == self._match

    def find_earlier(self) -> None:
        """Show the last earlier message that contains what is written, or, behind one that was found, the one before."""
        words, end = self._wanted, self._recalled
        is_new = not self._is_searching
        if is_new:
            words, end = self.text.strip(), len(self._sent)
        places = (number for number in reversed(range(end)) if words.casefold() in self._sent[number].casefold())
        number = next((number for number in places if self._sent[number] != self.text.rstrip()), None)
        if number is None:
            words = f"No earlier message contains «{line(words, 60)}»" if is_new else "There is none before it"
            self.notify(f"{words}.", markup=False, timeout=3)
            return
        if is_new:
            self._left = self.text, self._recalled
            self._draft = self.text if self._recalled == end else self._draft
        self._recalled = number
        self._recall(self._from_elsewhere(self._sent[number]))
        self._wanted, self._match = words, self.text

    def _from_elsewhere(self, text: str) -> str:
        """Return a draft or an earlier text without marks of files that are not known here; a huge one is folded."""
        text = visible(text)
        if "[" in text:
            from tui_host.chat.attachments import unmarked

            text = unmarked(text, tuple(self.marks.values))
        return text if len(text) <= FOLDED_CHARACTERS else self.marks.fold(self.marks.whole(text), "")

    async def on_paste(self, event: events.Paste) -> None:
        """Insert a paste as visible text; nothing is sent."""
        event.stop()
        event.prevent_default()
        if not event.text:  # what terminals make of an image
            self.action_paste()
            return
        self._pasted = self.marks.fold(visible(event.text.replace("\r\n", "\n").replace("\r", "\n")), self.text)
        self._put(*self.selection, self._pasted)

    @override
    def action_paste(self) -> None:
        """Attach the image in the desktop's clipboard, or insert what was copied in the app."""
        from tui_host.chat.attachments import attached_data
        from tui_host.tui.widgets.prompt.clipboard_image import image_in_clipboard

        async def image_or_text() -> Sequence[Attached]:
            try:
                return [attached_data("clipboard", await asyncio.to_thread(image_in_clipboard))]
            except TuiHostError:
                if not (copied := self.app.clipboard):  # pyright: ignore[reportUnknownMemberType] - Textual leaves its app open
                    raise
                self.post_message(events.Paste(copied))
                return ()

        self._add_read(image_or_text, "")

    def action_submit(self, joins_step: bool) -> None:
        """Take a suggestion, run a command, or send the message, with the next step of a turn that runs if it `joins_step`."""
        if self._chosen is not None and self._chosen.by_enter:
            self._take_chosen()
            return
        if self._reading:
            self.notify("A file is still being read. Press enter again to send.", markup=False, timeout=3)
            return
        text, command = self.message(), self._command()
        if command is None:
            return  # a command stays to be corrected
        if not text:
            self.post_message(self.Sent("", (), joins_step))
            return
        if command:
            self.post_message(self.Command(command))
        elif self._may_send():
            self.post_message(self.Sent(text, self.marks.attached(self.text), joins_step))
        else:
            return  # the text stays
        self.remember(self.text.rstrip())
        self.suggest(())
        self.load_text("")

    # What may stand at the caret.

    def on_text_area_changed(self) -> None:
        """Suggest what may stand at the caret, and say what is attached."""
        text, pasted, self._pasted = self.text, self._pasted, ""
        words: list[str] = []
        if attached := self.marks.attached(text):
            servers = dict.fromkeys(part.server for part in attached if part.server)
            if servers and self._offers is not None:
                words.append(f"data of {', '.join(servers)} to {line(str(self._offers.session().model), 60)}")
            words += [f"{len(attached)} attached", "backspace removes a mark"]
        has_paste = bool(self.marks.pastes(text))
        words += [f"{key_of('open_paste')} opens the paste"] if has_paste else []
        shown = f"found: {line(self._wanted, 20)}", f"{key_of('again')} the one before", "escape back"
        words += shown if self._is_searching else ()
        words += [f"{key_of('clear')} clears"] if has_paste or text.count("\n") > 1 else []
        self.border_subtitle = "  ".join(words)
        is_name = WORD.search(self._before_caret) is not None
        if self._recalled < len(self._sent):
            self.suggest(())
        elif text.startswith("/") and " " not in text and "\n" not in text and not pasted:
            self._suggest_commands(text[1:])
        else:
            if not is_name:
                self.suggest(())
            if is_name or pasted:  # instead of an older look
                self.run_worker(self._look(pasted), group="looking for files", exclusive=True)

    async def _look(self, pasted: str) -> None:
        """Suggest the files and resources whose names the word before the caret begins, or the files that a paste names."""
        before = self._before_caret
        suggestions: list[Suggestion] = []
        if (match := WORD.search(before)) is not None:
            begun = match["quoted"] or match["plain"] or ""
            files = await asyncio.to_thread(matching, begun)
            for name, note in () if self._offers is None else self._offers.suggestions(begun):
                is_server = name.partition(":")[2] == ""
                take = f"@{name}" if is_server else partial(self._suggest_ways, name)
                suggestions.append(Suggestion(f"@{name}", note, take))
            for name, note in files:
                quote = '"' * any(letter.isspace() for letter in name)
                take = f"@{quote}{name}" if name.endswith("/") else partial(self._attach_files, (name,))
                suggestions.append(Suggestion(f"@{name}", note, take))
        elif paths := await asyncio.to_thread(named, pasted):
            what = paths[0].rpartition("/")[2] if len(paths) == 1 else f"{len(paths)} files"
            note = "tab attaches; enter sends the path as text"
            attach = partial(self._attach_files, paths, pasted)
            suggestions.append(Suggestion(f"attach {what}", note, attach, by_enter=False))
        if self._before_caret == before:
            self.suggest(suggestions)

    def _suggest_ways(self, name: str, word: str, values: Mapping[str, JSON] | None = None) -> None:
        """Suggest the ways to use a resource, of a template once its values are filled in."""
        server, _, uri = name.partition(":")
        if (offers := self._offers) is None:
            return
        resource = offers.resource(server, uri)
        if values is None and resource is not None and resource.is_template:
            offers.ask(form_of(server, resource), partial(self._suggest_ways, name, word))
            return
        if values is not None:
            from tui_host.servers.catalog import expand

            uri = expand(uri, {name: str(value) for name, value in values.items()})
        uses = [(way, note, partial(offers.use, server, uri, way)) for way, note in offers.ways(server, uri)]
        self.suggest([Suggestion(way, note, partial(self._add_read, use)) for way, note, use in uses])

    def _attach_files(self, paths: Sequence[str], word: str, _typed: str = "") -> None:
        """Attach files in the place of a word, such as a paste that names them, whatever word was typed since."""
        from tui_host.chat.attachments import read_attached

        self._add_read(partial(asyncio.to_thread, lambda: [*map(read_attached, paths)]), word)

    def _add_read(self, use: Callable[[], Awaitable[Sequence[Attached]]], word: str) -> None:
        """Put the marks of what is being read in the place of a word. Until it is read, nothing is sent."""

        async def read() -> None:
            marks = ""
            try:
                for part in await use():
                    marks += self.marks.add(part.words, part, self.text + marks) + " "
                self._put_for_word(word, marks)
            except TuiHostError as error:
                self.notify(line(f"Not attached: {error}.", 300), severity="warning", markup=False, timeout=8)
            finally:
                self._reading -= 1

        self._reading += 1
        self.run_worker(read(), group="reading files")

    def _commands(self) -> dict[str, str]:
        prompts = {} if self._offers is None else self._offers.prompts()
        told = {name: line(prompt.description or prompt.title, _HELP) for name, prompt in prompts.items()}
        return {**dict(self.own_commands), **told}

    def _command(self) -> str | None:
        """Return the command that the text names or begins, with what it names; empty for other text, None after a hint."""
        typed, commands = self.text.rstrip(), self._commands()
        match = COMMAND.fullmatch(typed)
        if self._chosen is not None and self._chosen.words.startswith(typed):
            return self._chosen.words.removeprefix("/")
        if typed.startswith("/") and typed[1:] in commands:
            return typed[1:]  # servers name their prompts by any characters
        if match is None:
            return ""
        name, words = match[1], (match[2] or "").strip()
        if words and name in commands and name in WITH_WORDS:
            return f"{name} {words}"
        if not words and (names := [command for command in commands if command.startswith(name)]):
            if len(names) == 1:
                return names[0]
            self._suggest_commands(name)
            return None
        from difflib import get_close_matches

        near = [ELSEWHERE[name]] if name in ELSEWHERE else get_close_matches(name, commands, n=2, cutoff=0.5)
        hint = f"There is no command /{line(name, 40)}{': ' if near else '.'}"
        hint += f"{' or '.join(f'/{close}' for close in near)}?" if near else ""
        if name in commands:
            hint = f"/{name} takes no arguments, so it did not run."
        self.notify(f"{hint} A space before the / sends it as text.", severity="warning", markup=False, timeout=8)
        return None

    def _suggest_commands(self, begun: str) -> None:
        commands = [command for command in self._commands().items() if command[0].startswith(begun)]
        self.suggest([Suggestion(f"/{name}", note, f"/{name}", by_enter=False) for name, note in commands])

    @property
    def _chosen(self) -> Suggestion | None:
        shown = self._completion
        return shown.suggestions[shown.cursor or 0] if shown is not None and shown.suggestions else None

    def suggest(self, suggestions: Sequence[Suggestion]) -> None:
        """Show suggestions above the prompt, or hide an empty list."""
        if self._completion is None:
            if not suggestions or not isinstance(self.parent, Widget):
                return
            from tui_host.tui.widgets.prompt.completion import Completion

            self._completion = Completion(self._take_chosen)
            self.parent.mount(self._completion, before=self)
        self._completion.suggest(suggestions)

    def _take_chosen(self) -> None:
        if (chosen := self._chosen) is None:
            return
        self.suggest(())
        self.focus()
        before = self._before_caret
        match = WORD.search(before)  # the word may have grown since the look
        word = before * before.startswith("/") if match is None else match[0]
        if isinstance(chosen.take, str):
            self._put_for_word(word, chosen.take)
        else:
            chosen.take(word)
