"""The prompt: several lines, history, drafts, commands by `/name`, files by `@`. Only `enter` sends."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.message import Message
from textual.widget import Widget
from typing_extensions import override

from tui_host.answers.pages import PAGES
from tui_host.capture.visible import line, visible
from tui_host.tui.widgets.key_order import KeysInOrder
from tui_host.tui.widgets.prompt.file_attachments import LOOKING, Attaching, Offered
from tui_host.tui.widgets.prompt.prompt_marks import FOLDED_CHARACTERS, MarkedField

if TYPE_CHECKING:
    from tui_host.chat.attachments import Attached
    from tui_host.tui.widgets.prompt.completion import Completion
    from tui_host.tui.widgets.prompt.server_offers import ServerOffers

PLACEHOLDER = "Ask anything.  / commands  @ files"
COMMAND = re.compile(r"/([A-Za-z][A-Za-z0-9_:-]*)(?:\s+(.*))?", re.DOTALL)
SHELL = re.compile(r"![A-Za-z]")
NO_SHELL = (
    "No shell command runs here; /suspend goes back to the shell until its fg. A space before the ! sends it as text."
)
WITH_WORDS = frozenset((*(page.command for page in PAGES if page.takes), "export"))
"""The commands behind which something may be named."""
SIGNS: Mapping[Offered, str] = {"commands": "/", "files": "@", "drop": "", "ways": ""}
NEW_LINE = {"ctrl+j", "shift+enter", "shift+\r"}
BLANK_LINES = re.compile(r"\A(?:[^\S\n]*\n)+")
_SERVERS = "/servers shows servers, tools and messages"
_SESSIONS = "/sessions searches and opens earlier sessions"
ELSEWHERE: Mapping[str, str] = {
    "clear": "/new begins a new session, and this one stays in /sessions",
    "compact": "nothing is left out of the history unasked; /new begins a new session",
    "config": "/model has model, protocol and options; the rest stands in config.toml (see /help)",
    "exit": "/quit ends the program and its servers",
    "export": "the command «tui-host sessions export last» writes a session to a file",
    "history": _SESSIONS,
    "login": "/model asks for a provider's key",
    "mcp": _SERVERS,
    "permissions": "/rules lists the rules of this session, and ends them",
    "resume": _SESSIONS,
    "tools": _SERVERS,
}
"""Commands of other programs, each with this program's way to do the same."""


class Prompt(KeysInOrder, MarkedField):
    """The prompt. Posts messages and commands for the screen to handle."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "", "send", tooltip="send"),
        Binding(
            "ctrl+j",
            "new_line",
            "new line",
            tooltip="begin a new line (shift+enter too, if the terminal passes it on)",
        ),
        Binding("up,down", "", tooltip="from the first or the last line: bring back earlier messages"),
        Binding(
            "slash",
            "",
            "commands",
            tooltip="run a command, or a server's prompt by /server:prompt; tab completes. A space before it sends text",
        ),
        Binding(
            "at",
            "",
            "files",
            tooltip="attach a file, or a server's resource by @server:uri; tab completes. It is read when you choose it",
        ),
        Binding("pageup", "screen.scroll_chat(-1)", tooltip="scroll the chat by a page"),
        Binding("pagedown", "screen.scroll_chat(1)"),
        Binding("ctrl+u", "clear_all", tooltip="delete everything that is written"),
        Binding("ctrl+z,ctrl+y", "", tooltip="undo and redo"),
        Binding("ctrl+t", "open_paste", tooltip="show the text of a large paste in place of its mark"),
        Binding("1,2,3", "", tooltip="in an empty chat: ask the question with this number"),
        Binding("question_mark", "", tooltip="in an empty prompt: show this help"),
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

    @dataclass
    class Sent(Message):
        """Posted to send a message, with attached files."""

        text: str
        attached: Sequence[Attached] = ()

    @dataclass
    class QuickPicked(Message):
        """Posted when the user has chosen a text of `quick` by its key."""

        text: str

    @dataclass
    class Command(Message):
        """Posted to run a `/name`."""

        name: str

    def __init__(
        self,
        *,
        commands: Sequence[tuple[str, str]] = (),
        offers: ServerOffers | None = None,
        history: Sequence[str] = (),
        may_send: Callable[[], bool] = lambda: True,
        id: str | None = None,  # noqa: A002 - Textual's word
    ) -> None:
        super().__init__(PLACEHOLDER, id=id)
        self.quick: Mapping[str, str] = {}  # texts that one key sends while the prompt is empty
        self.own_commands = tuple(commands)
        self._offers = offers
        self._may_send = may_send
        self._sent: list[str] = []  # what `up` brings back, oldest first, with its marks
        self._recalled: int | None = None  # the sent text that stands in place of the draft
        self._draft = ""
        self._attaching = Attaching(self, self.offer, offers)
        self._offered: Offered = "commands"
        self._on_chosen: Callable[[str], None] = self._write_command
        self._completion: Completion | None = None  # there once a command was typed
        self.remember(*history)

    def invite(self, words: str) -> None:
        if self.placeholder != (placeholder := Content(words)):
            self.placeholder = placeholder

    def remember(self, *texts: str) -> None:
        """Add sent texts, oldest first, without repeats, for `up`."""
        self._sent = [text for text in self._sent if text not in texts] + list(dict.fromkeys(texts))
        self._recalled = None

    def put(self, draft: str) -> None:
        self._recalled = None
        self.offer(())
        self.load_text(self._from_elsewhere(draft))
        self.move_cursor(self.document.end)

    @override
    async def on_key(self, event: events.Key) -> None:
        character = event.character or ""
        if event.key in NEW_LINE:
            self.action_new_line()
        elif event.key == "enter":
            self._submit()
        elif self._list is not None and event.key == "tab":
            self._complete()
        elif self._list is not None and event.key == "escape":
            self.offer(())
        elif not self.text and character in self.quick:
            self.post_message(self.QuickPicked(self.quick[character]))
        elif not self.text and character == "?":
            self.post_message(self.Command("help"))
        else:
            return
        event.stop()
        event.prevent_default()

    def action_new_line(self) -> None:
        """Break the line; an empty prompt has none: `enter` typed before the terminal was ours comes as `ctrl+j`."""
        if self.text:
            self.insert_at_caret("\n")

    @override
    def action_cursor_up(self, select: bool = False) -> None:
        """Move up; from the first line to an earlier text."""
        if self._list is not None:
            self._list.action_line(-1)
        elif not select and self.wrapped_document.location_to_offset(self.cursor_location).y == 0:
            self._recall(-1)
        else:
            super().action_cursor_up(select)

    @override
    def action_cursor_down(self, select: bool = False) -> None:
        """Down; from the last line back towards the draft."""
        last = self.wrapped_document.height - 1
        if self._list is not None:
            self._list.action_line(1)
        elif not select and self.wrapped_document.location_to_offset(self.cursor_location).y >= last:
            self._recall(1)
        else:
            super().action_cursor_down(select)

    def _recall(self, step: int) -> None:
        """Show the sent text before or after the present one; after the last comes the draft."""
        last = len(self._sent)
        present = last if self._recalled is None else self._recalled
        wanted = max(0, min(last, present + step))
        if wanted == present:
            return
        if self._recalled is None:
            self._draft = self.text
        self._recalled = wanted if wanted < last else None
        self.offer(())
        self.load_text(self._draft if self._recalled is None else self._from_elsewhere(self._sent[wanted]))
        row = 0 if step < 0 else self.document.line_count - 1
        self.move_cursor((row, len(self.document[row])))

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
        text = self.marks.fold(visible(event.text.replace("\r\n", "\n").replace("\r", "\n")), self.text)
        with self.one_step():
            self.insert_at_caret(text)
        self.run_worker(self._attaching.take_paste(event.text, text), group=LOOKING, exclusive=True)

    @override
    def action_paste(self) -> None:
        self.post_message(events.Paste(self.app.clipboard))  # pyright: ignore[reportUnknownMemberType] - Textual leaves its app open

    def message(self) -> str:
        """Return the message to send: trimmed, without the space that escapes a command."""
        text = self.whole_text().rstrip()
        return text.lstrip() if text.lstrip().startswith(("/", "!")) else BLANK_LINES.sub("", text)

    def _submit(self) -> None:
        if self._list is not None and self._offered in {"files", "ways"}:
            self._complete()
            return
        if self._attaching.reading:
            self.notify("A file is still being read. Press enter again to send.", markup=False, timeout=3)
            return
        text, command = self.message(), self._command()
        if not text or command is None:
            return  # a command stays to be corrected
        if command:
            self.post_message(self.Command(command))
        elif SHELL.match(self.text):
            self.notify(NO_SHELL, severity="warning", markup=False, timeout=8)
            return
        elif not self._may_send():
            return  # the text stays
        else:
            self.post_message(self.Sent(text, self.attached))
        self.remember(self.text.rstrip())
        self.offer(())
        self.load_text("")

    # Commands and files.

    def on_text_area_changed(self) -> None:
        text = self.text
        self._hint()
        if self._offered == "drop" and self.before_caret.endswith(self._attaching.dropped):
            pass  # it stands as it was pasted
        elif text.startswith("/") and " " not in text and "\n" not in text and self._recalled is None:
            self._offer_commands(text[1:])
        elif self._recalled is not None or not self._attaching.take_word(self.before_caret):
            self.offer(())

    def _commands(self) -> dict[str, str]:
        return dict((*self.own_commands, *(() if self._offers is None else self._offers.commands())))

    def _command(self) -> str | None:
        """Return the command that the text names or begins, with what it names; empty for other text, None after a hint."""
        typed = self.text.rstrip()
        if typed.startswith("/") and self._offers is not None and self._offers.prompt(typed[1:]) is not None:
            return typed[1:]  # servers name their prompts by any characters
        match = COMMAND.fullmatch(typed)
        if match is None:
            return ""
        name, commands = match[1], self._commands()
        names = [command for command in commands if command.startswith(name)]
        if names and not match[2]:
            if self._list is not None and self._list.chosen in names:
                return self._list.chosen
            if name in names or len(names) == 1:
                return name if name in names else names[0]
            self._offer_commands(name)
            return None
        if name in names and name in WITH_WORDS:
            return f"{name} {match[2].strip()}"
        from difflib import get_close_matches

        near = " or ".join(f"/{close}" for close in get_close_matches(name, commands, n=2, cutoff=0.5))
        words = f"There is no command /{line(name, 40)}{f': {near}?' if near else '.'}"
        if name in commands:
            words = f"/{name} takes no arguments, so it did not run."
        elif name in ELSEWHERE:
            words = f"There is no command /{name}: {ELSEWHERE[name]}."
        self.notify(f"{words} A space before the / sends it as text.", severity="warning", markup=False, timeout=8)
        return None

    def _offer_commands(self, begun: str) -> None:
        self.offer([pair for pair in self._commands().items() if pair[0].startswith(begun)])

    @property
    def _list(self) -> Completion | None:
        """The open list of suggestions."""
        return self._completion if self._completion is not None and self._completion.chosen else None

    def offer(
        self,
        pairs: Sequence[tuple[str, str]],
        what: Offered = "commands",
        on_chosen: Callable[[str], None] | None = None,
    ) -> None:
        """Show suggestions above the prompt, or hide an empty list."""
        self._offered, self._on_chosen = what, on_chosen or self._write_command
        if self._completion is None:
            if not pairs or not isinstance(self.parent, Widget):
                return
            from tui_host.tui.widgets.prompt.completion import Completion

            self._completion = Completion(self._complete)
            self.parent.mount(self._completion, before=self)
        self._completion.offer(pairs, SIGNS[what])

    def _complete(self) -> None:
        if self._list is not None:
            name, on_chosen = self._list.chosen, self._on_chosen
            self.offer(())
            on_chosen(name)

    def _write_command(self, name: str) -> None:
        self.load_text(f"/{name}")
        self.move_cursor(self.document.end)
        self.focus()

    def _hint(self) -> None:
        words: list[str] = []
        if attached := self.attached:
            servers = [part.server for part in attached if part.server]
            if servers and self._offers is not None:
                names = ", ".join(dict.fromkeys(servers))
                words.append(f"data of {names} to {line(str(self._offers.session.model), 60)}")
            counts = {"file": len(attached) - len(servers), "resource": len(servers)}
            parts = [f"{count} {what}{'s' * (count > 1)}" for what, count in counts.items() if count]
            words += [f"{' and '.join(parts)} attached", "backspace removes a mark"]
        has_paste = any(mark in self.text for mark in self.marks.pastes)
        if has_paste:
            words.append("ctrl+t opens the paste")
        if has_paste or self.text.count("\n") > 1:
            words.append("ctrl+u clears")
        self.border_subtitle = "  ".join(words)
