"""The approval over the chat: server, tool, exact arguments, and a key for each decision."""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from typing import ClassVar, Literal, TypeAlias

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widget import Widget
from textual.widgets import TextArea
from typing_extensions import override

from tui_host.answers.masks import Mask
from tui_host.capture.visible import hidden, visible
from tui_host.chat.call_arguments import canonical, pretty, read_arguments
from tui_host.chat.policy import Question
from tui_host.errors import JSON, TuiHostError
from tui_host.tui.keys import keys_of
from tui_host.tui.questions.arguments import Arguments, CallKey, CallLine, CallList, argument_lines, name_of
from tui_host.tui.questions.form import Finished, TextField
from tui_host.tui.questions.panel import QuestionPanel, Rows, paragraphs

ArgumentNotes: TypeAlias = Callable[[bytes], Awaitable[Mapping[str, str]]]
"""Returns where values of the arguments come from, by the path of each value such as `items[0].name`."""

LISTED_MISFITS = 3  # further ones are only counted
SECRET_CHARACTERS = 4096  # after a cut, in which a secret may continue
SMALLEST_CELLS = 30
"""Width of the chat below which a tool's name and arguments are not readable."""
LOW_LINES, LOWEST_LINES, TINY_LINES = 22, 14, 9
"""Heights of the chat below which calls and description give way to the arguments, and below which nothing is asked."""
KEY_LINES, LOW_KEY_LINES = 6, 3
KEY_GROUPS = ("once edit session all", "no because… stop", "look others raw about")
"""The keys that lead on, those that lead back, and those that only look, by the brief words of their bindings."""
EFFECTS = {
    "session": "this tool, this session",
    "all": "all that remain",
    "because…": "no, because…",
    "stop": "stop the turn",
    "look": "look around",
    "others": "other calls",
    "about": "description",
}
"""The brief words as they are printed where there is room."""
EDIT_KEYS = (("enter", "show what will be sent"), ("esc", "back"), ("ctrl+j", "new line"))
REASON_KEYS = (("enter", "reject with this reason"), ("esc", "back"))


class Approval(QuestionPanel):
    """Asks about calls one by one, and answers by key. `on_grant` is called with a question whose tool is allowed for the session."""

    DECIDING = frozenset(("y", "a", "Y", "A", "e", "n", "r", "escape"))
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y,a", "once", "once", key_display="y/a", tooltip="approve this call, once shown to its end"),
        Binding("e", "edit", "edit", tooltip="edit the arguments, then approve"),
        Binding("A", "session", "session", tooltip="twice: approve this tool for the rest of the session"),
        Binding("Y", "all", "all", tooltip="approve all that remain, once the whole arguments of each were shown"),
        Binding("n", "no", "no", tooltip="reject"),
        Binding("r", "because", "because…", tooltip="reject with a reason that the model is told"),
        Binding("escape", "back", "stop", key_display="esc esc", tooltip="reject and stop the turn; or leave a field"),
        Binding("tab", "", "look", tooltip="look around in the inspector, and back; no key decides there"),
        Binding("left", "step(-1)", "others", tooltip="go to the call before or after, where several wait"),
        Binding("right", "step(1)"),
        Binding("p", "show('raw')", "raw", tooltip="show the arguments indented, or byte for byte"),
        Binding("d", "show('description')", "about", tooltip="show the server's whole description"),
        Binding("up", "scroll('line', -1)", tooltip="scroll the arguments; pageup, pagedown, home and end too"),
        Binding("down", "scroll('line', 1)"),
        Binding("pageup", "scroll('page', -1)"),
        Binding("pagedown", "scroll('page', 1)"),
        Binding("home", "scroll('first')"),
        Binding("end", "scroll('last')"),
    ]
    DEFAULT_CSS = """
    Approval {
        border: round $warning 60%;
        border-title-color: $text-warning;
        &:focus-within { border: round $warning; }
        & > #approval-description { max-height: 3; color: $text-muted; }
        & > TextField { display: none; max-height: 8; padding: 0 1; border: round $border; background: $surface; }
        & > TextField:focus { border: round $border; background: $surface; }
        &.-writing > TextField { display: block; }
        &.-low > CallList { max-height: 2; }
        &.-low > #approval-description { max-height: 1; }
        &.-low > Arguments { border: none; border-bottom: solid $foreground 40%; padding: 0; }
        &.-lowest > CallList { max-height: 1; }
        &.-lowest > #approval-description { display: none; }
        &.-tiny > Arguments { display: none; }
    }
    """

    def __init__(
        self,
        questions: Sequence[Question],
        *,
        on_grant: Callable[[Question], None],
        mask: Mask,
        misfits: Callable[[JSON, JSON], Awaitable[Sequence[str] | None]],
        notes: ArgumentNotes,
    ) -> None:
        super().__init__()
        self._questions = list(questions)  # the waiting calls, including answered ones
        self._on_grant, self._mask, self._misfits, self._notes = on_grant, mask, misfits, notes
        self._noted: dict[CallKey, Mapping[str, str]] = {}
        self._current: Question | None = None
        self._edits: dict[str, bytes] = {}  # edited arguments by call
        self._seen: set[CallKey] = set()
        self._shows: Literal["", "raw", "description"] = ""
        self._shown: tuple[object, ...] = ()
        self._writes: Literal["", "edit", "reason"] = ""
        self._asked_key = ""  # the key that decides if pressed again, as the message says
        self._words = ""  # about the last key
        self._calls = CallList(self._seen, "approval-calls")
        self._arguments = Arguments(self._seen, "approval-arguments")
        self._description = Rows(self._description_rows, "approval-description")
        self._field = TextField()

    @override
    def compose(self) -> ComposeResult:
        yield from (self._calls, self._description, self._arguments, self._field, self.message, self.keys)

    @override
    def on_mount(self) -> None:
        super().on_mount()
        self._turn_to(self._next())

    def take(self, questions: Sequence[Question]) -> None:
        """Set the questions, and continue with the next one if the current question was answered elsewhere."""
        self._questions = [*questions]
        if self._current is None or not self._current.open:
            self._turn_to(self._next())
        else:
            self._draw()

    # Keys that count.

    @property
    @override
    def first_field(self) -> Widget:
        return self._field if self._writes else self

    @property
    @override
    def is_writing(self) -> bool:
        return self.screen.focused is self._field

    def on_focus(self) -> None:
        self.first_field.focus()  # what is being written is not decided by a letter

    @override
    def swallow(self, event: events.Event) -> bool:
        is_swallowed = super().swallow(event)
        if is_swallowed and isinstance(event, events.Key) and event.key not in self.DECIDING and self._asked_key:
            # Such as the rest of a terminal's answer, behind an escape that was its beginning.
            self._turn_to(self._current)
        return is_swallowed

    @override
    def corner(self, *, is_ready: bool) -> str:
        if self._writes or not self.is_here:
            return "" if self._writes else "tab goes back to decide"
        if is_ready and self.has_class("-tiny"):
            return "enlarge or press n"
        return super().corner(is_ready=is_ready)

    @override
    def appeared(self) -> None:
        if self._current is not None:
            self._current.appear()

    # Which call is asked about.

    @property
    def _left(self) -> Sequence[Question]:
        return [question for question in self._questions if question.open]

    def _next(self) -> Question | None:
        """Return the next open question after the current question, else the first."""
        start = self._questions.index(self._current) if self._current in self._questions else 0
        around = [*self._questions[start:], *self._questions[:start]]
        return next((question for question in around if question.open), None)

    def _turn_to(self, question: Question | None, words: str = "") -> None:
        if question is not self._current:
            self._shows = ""
        self._current = question
        self._asked_key, self._words, self._writes = "", words, ""
        self.remove_class("-writing")
        self._draw()
        self.look_again()

    def _key_of(self, question: Question) -> CallKey:
        request = question.request
        return request.call, self._edits.get(request.call, request.arguments)

    # What is shown.

    @property
    @override
    def scrolled(self) -> Widget:
        return self._arguments

    @override
    def share_room(self) -> None:
        """Leave parts out on low screens; where the arguments have no line, nothing can be seen, nor approved."""
        if isinstance(self.parent, Widget) and self.parent.size.height:
            (width, height), was_tiny = self.parent.size, self.has_class("-tiny")
            for name, lines in (("-low", LOW_LINES), ("-lowest", LOWEST_LINES), ("-tiny", TINY_LINES)):
                self.set_class(height < lines or width < SMALLEST_CELLS, name)
            if self.has_class("-tiny") != was_tiny:
                self._draw_words()
        super().share_room()

    def _draw(self) -> None:
        question, left = self._current, self._left
        if question is None:
            return
        count = f"  {left.index(question) + 1} of {len(left)}" if len(left) > 1 and question in left else ""
        later = f", then {question.later} more" if question.later else ""
        self.border_title = Content(f"Approve {len(left)} call{'s' * (len(left) != 1)}?{count}{later}")
        self._calls.show([self._call_line(waiting) for waiting in left])
        key, hide = self._key_of(question), self._mask.values
        if self._shown != (key, self._shows):  # long arguments take their time, and this is drawn with every key
            self._shown = key, self._shows
            if self._shows == "description":
                self._arguments.show(None, [self._text_of(question)])
            else:
                if key not in self._noted:
                    self._noted[key] = {}
                    self.run_worker(self._note_values(key), group="notes")
                is_raw = self._shows == "raw"
                lines = argument_lines(key[1].decode(), hide, self._noted[key], is_raw=is_raw)
                self._arguments.show(key, lines, has_notes=bool(self._noted[key]) and not is_raw)
        self._draw_words()

    async def _note_values(self, key: CallKey) -> None:
        """Add to the arguments where their values come from, which takes its time in a long session."""
        notes = self._noted[key] = await self._notes(key[1])
        if notes and self._shown == (key, ""):
            lines = argument_lines(key[1].decode(), self._mask.values, notes, is_raw=False)
            self._arguments.show(key, lines, has_notes=True, stays=True)

    def _draw_words(self) -> None:
        for rows in (self._description, self.message, self.keys):
            rows.refresh(layout=True)

    def _call_line(self, question: Question) -> CallLine:
        key = self._key_of(question)
        arguments = self._mask.values(key[1].decode()) if len(self._left) > 1 else ""
        return CallLine(
            key=key,
            tool=question.request.tool,
            arguments=visible(arguments, newlines=False),
            is_plain=not question.request.changed and not list(self._notices(question)),
            is_current=question is self._current,
        )

    def _description_rows(self, width: int) -> Sequence[Content]:
        if self._current is None or self._shows == "description":
            return ()
        line = self._call_line(self._current)
        claim = "" if line.is_whole(self._calls.view_width or width, line.claim) else line.claim
        return paragraphs(self._text_of(self._current, claim, 8 * width), width)

    def _text_of(self, question: Question, claim: str = "", limit: int | None = None) -> str:
        """Return changes of the definition, a claim that has no room elsewhere, and the server's description, cut to `limit`."""
        tool, hide = question.request.tool, self._mask.values
        parts: list[str] = []
        if question.request.changed:
            parts.append(f"! the definition changed since the last approval: {visible(hide(question.request.changed))}")
        if count := hidden(tool.description) + hidden(tool.title):
            parts.append(f"! the description has {count} hidden characters")
        words = f"{tool.title}: {tool.description}" if tool.title else tool.description
        shown = hide(words[: None if limit is None else limit + SECRET_CHARACTERS])[:limit]
        return "\n".join(filter(None, (*parts, claim, visible(shown).strip() or "(no description)")))

    @override
    def message_rows(self, width: int) -> Sequence[Content]:
        if self.has_class("-tiny"):
            return paragraphs("Too small to approve.", width)
        # What is being written may be something else than what the notices are about.
        notices = self._notices(self._current) if self._current is not None and not self._writes else ()
        return paragraphs("\n".join(filter(None, (self._words, *notices))), width)

    def _notices(self, question: Question) -> Iterator[str]:
        request = question.request
        text = self._key_of(question)[1].decode()
        if request.call in self._edits:
            yield "edited: this will be sent"
        else:
            yield from (f"! the number {written} is sent as {sent}" for written, sent in request.changed_numbers)
            if request.misfits:
                yield f"! does not fit the tool's schema: {self._listed(request.misfits)}"
        if count := hidden(text):
            yield f"{count} hidden characters, written as codes"
        if secrets := self._mask.found(text):
            yield f"the arguments contain a secret of yours, {', '.join(secrets)}: its real value would be sent"

    def _listed(self, misfits: Sequence[str]) -> str:
        words = "; ".join(visible(self._mask.values(misfit), newlines=False) for misfit in misfits[:LISTED_MISFITS])
        further = len(misfits) - LISTED_MISFITS
        return f"{words}; and {further} more" if further > 0 else words

    @override
    def key_rows(self, width: int) -> Sequence[Content]:
        if self._writes:
            return flow(EDIT_KEYS if self._writes == "edit" else REASON_KEYS, width)
        shown = {key.brief: key.shown for key in keys_of(type(self)) if key.brief}
        if len(self._left) < 2:
            del shown["all"], shown["others"]
        own = {self, *self.walk_children()}
        if all(widget in own for widget in self.screen.focus_chain):
            shown["look"] = "f2"  # the inspector is not on the screen
        every = "all of these" if self._current is not None and self._current.later else EFFECTS["all"]
        groups = KEY_GROUPS[1:2] if self.has_class("-tiny") else KEY_GROUPS
        rows: list[Content] = []
        for effects in ({**EFFECTS, "all": every}, {}):
            groups_shown = [
                [(shown[name], effects.get(name, name)) for name in group.split() if name in shown] for group in groups
            ]
            rows = [row for labels in groups_shown for row in flow(labels, width)]
            if len(rows) <= (LOW_KEY_LINES if self.has_class("-low") else KEY_LINES):
                break
        return rows

    # Looking.

    def action_step(self, step: int) -> None:
        left = self._left
        if self._current in left and len(left) > 1:
            self._turn_to(left[(left.index(self._current) + step) % len(left)])

    def action_scroll(self, unit: str, step: int = 0) -> None:
        if unit == "line":
            self._arguments.action_line(step)
        elif unit == "page":
            self._arguments.action_page(step)
        elif unit == "first":
            self._arguments.action_first()
        else:
            self._arguments.action_last()

    def action_show(self, what: Literal["raw", "description"]) -> None:
        self._shows = "" if self._shows == what else what
        self._draw()

    # Deciding.

    def _is_again(self, key: str, words: str) -> bool:
        """Whether a key was pressed for the second time. The first time ask, and begin a new quiet period."""
        if self._asked_key == key:
            return True
        self._turn_to(self._current, words)
        self._asked_key = key
        return False

    def _may_approve(self, key: str) -> Question | None:
        """Return the current question if its arguments were shown to their end; otherwise show the end and say so."""
        question = self._current
        if question is None or not question.open or self.has_class("-tiny"):
            return None
        if self._shows == "description":
            self._shows = ""
            self._turn_to(question, f"These are the arguments. Press {key} again to approve.")
        elif self._key_of(question) not in self._seen:
            self._turn_to(question, f"This is the end. Press {key} again to approve.")
            self._arguments.action_last()
        else:
            return question
        return None

    def _approve(self, how: str, *questions: Question) -> None:
        for question in questions:
            question.approve(how=how, edited=self._edits.get(question.request.call))
        self._turn_to(self._next())

    def action_once(self) -> None:
        question = self._may_approve("y")
        if question is not None:
            self._approve("approved once", question)

    def action_all(self) -> None:
        if self._may_approve("Y") is None:
            return
        left = self._left
        unseen = next((waiting for waiting in left if self._key_of(waiting) not in self._seen), None)
        if unseen is None:
            self._approve("approved with all remaining" if len(left) > 1 else "approved once", *left)
        else:
            self._turn_to(unseen, "This call was not shown whole yet. Read it, then press Y again.")

    def action_session(self) -> None:
        question = self._may_approve("A")
        if question is None:
            return
        calls = f"every call of {name_of(question.request.tool)}, as defined now"
        if self._is_again("A", f"Press A again to run {calls}, without asking for the rest of this session."):
            self._approve("approved for the session", question)
            self._on_grant(question)
            self._turn_to(self._next())

    def action_no(self) -> None:
        if self._current is not None:
            self._current.reject()
            self._turn_to(self._next())

    def action_back(self) -> None:
        """Go back to the arguments, or take back an asked `A`; else ask once, then reject the call and stop the turn."""
        question = self._current
        if question is None:
            return
        if self._writes or self._asked_key == "A":
            self._turn_to(question)
            self.focus()
        elif self._shows == "description":
            self.action_show("description")
        elif self._is_again("escape", "escape again: reject and stop the turn"):
            question.reject(stop=True)
            self._turn_to(self._next())

    # Writing.

    def action_because(self) -> None:
        self._write("reason", "", "Why not? The model will read this.")

    def action_edit(self) -> None:
        if self._current is None:
            return
        text = self._key_of(self._current)[1].decode()
        if self._mask.found(text):
            words = "The arguments hold a secret of yours, so they are not edited: r rejects with a reason."
            self._turn_to(self._current, words)
        else:
            self._write("edit", escaped(pretty(json.loads(text))), "")

    def _write(self, what: Literal["edit", "reason"], text: str, words: str) -> None:
        """Open the field, the caret at the first value of JSON."""
        self._asked_key, self._words, self._writes = "", words, what
        self.disarm()  # the field has the focus only later: what was typed behind the key decides nothing
        self.add_class("-writing")
        self._field.takes_lines = what == "edit"
        self._field.load_text(text)
        value = re.search(r'": "?', text)
        before = text[: value.end() if value is not None else len(text)]
        self._field.move_cursor((before.count("\n"), len(before) - before.rfind("\n") - 1))
        self._field.focus()
        self._draw_words()

    def on_finished(self, event: Finished) -> None:
        event.stop()
        question, text = self._current, self._field.text
        if question is not None and self._writes == "reason":
            question.reject(text.strip())
            self._turn_to(self._next())
            self.focus()
        elif question is not None:
            try:
                self.run_worker(self._check(question, text, read_arguments(text)), exclusive=True)
            except TuiHostError as error:
                self._complain(str(error))

    async def _check(self, question: Question, text: str, edited: Mapping[str, JSON]) -> None:
        misfits = await self._misfits(question.request.tool.schema, edited)
        if self._current is not question or self._writes != "edit" or self._field.text != text:
            return  # it was left or changed meanwhile
        if misfits:
            self._complain(self._listed(misfits))
            return
        self._edits.pop(question.request.call, None)
        if (arguments := canonical(edited)) != question.request.arguments:
            self._edits[question.request.call] = arguments
        self._turn_to(question)
        self.focus()

    def _complain(self, words: str) -> None:
        self._words = f"! {visible(self._mask.values(words), newlines=False)}"
        self._draw_words()

    def on_text_area_changed(self, event: TextArea.Changed) -> None:
        event.stop()
        if self._words.startswith("!"):
            self._words = "press enter to check again"
            self._draw_words()


def flow(labels: Sequence[tuple[str, str]], width: int) -> list[Content]:
    """Lay keys out in rows, each beside its effect."""
    rows: list[Content] = []
    for key, effect in labels:
        label = Content.assemble((key, "bold $text-warning"), f" {effect}")
        if rows and rows[-1].cell_length + 3 + label.cell_length <= width:
            rows[-1] = Content.assemble(rows[-1], "   ", label)
        else:
            rows.append(label)
    return rows


def escaped(text: str) -> str:
    """Return JSON text whose invisible characters are JSON escapes, equal in value."""
    if visible(text) == text:
        return text
    return "".join(character if visible(character) == character else json.dumps(character)[1:-1] for character in text)
