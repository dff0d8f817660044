"""The approval: what is to be called, with exactly what, and the keys that decide. Lies over the chat; modal for decisions alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf
from typing import ClassVar

from textual import events
from textual._time import get_time
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Input, Static
from typing_extensions import override

from tui_host.capture.visible import line, visible
from tui_host.chat.arguments import canonical, pretty, read_arguments
from tui_host.chat.policy import Question
from tui_host.errors import TuiHostError

QUIET_SECONDS = 0.5
MOVING = frozenset(("up", "down", "pageup", "pagedown", "home", "end", "tab", "shift+tab", "ctrl+q", "escape"))
DECIDING = frozenset(("y", "a", "Y", "A", "e", "n", "r", "escape"))
KEYS = (
    "y once   Y all that remain   A this tool, this session   e edit\n"
    "n no   r no, because…   esc no, and stop the turn   tab look around"
)


class Approval(Vertical, can_focus=True):
    """Decides one question after the other."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y,a", "once", show=False),
        Binding("Y", "all", show=False),
        Binding("A", "session", show=False),
        Binding("e", "edit", show=False),
        Binding("n", "no", show=False),
        Binding("r", "because", show=False),
        Binding("escape", "stop", show=False),
        Binding("up", "move(-1)", show=False),
        Binding("down", "move(1)", show=False),
        Binding("pageup", "move(-8)", show=False),
        Binding("pagedown", "move(8)", show=False),
        Binding("home", "move(-100000)", show=False),
        Binding("end", "move(100000)", show=False),
    ]
    DEFAULT_CSS = """
    Approval {
        height: auto;
        max-height: 90%;
        border: round $warning;
        background: $surface;
        padding: 0 1;
        & > Static { height: auto; }
        & > #approval-claims { max-height: 3; color: $text-muted; }
        & > #approval-arguments { border: round $panel; max-height: 14; }
        & > Input { display: none; }
        &.-writing > Input { display: block; }
    }
    """

    def __init__(self, questions: Sequence[Question], *, on_grant: Callable[[Question], None]) -> None:
        super().__init__()
        self._questions = questions
        self._on_grant = on_grant
        self._armed_at = inf
        self._shown: Question | None = None
        self._first = 0
        self._asked_session = False
        self._edits = False
        self._ends_seen: set[str] = set()
        self._message = ""

    @override
    def compose(self) -> ComposeResult:
        yield Static("", id="approval-calls", markup=False)
        yield Static("", id="approval-claims", markup=False)
        yield Static("", id="approval-arguments", markup=False)
        yield Input(id="approval-input")
        yield Static("", id="approval-message", markup=False)
        yield Static(KEYS, id="approval-keys", markup=False)

    def on_mount(self) -> None:
        """Show the first question."""
        self.focus()
        self._show()

    # The quiet period.

    def _painted(self) -> None:
        self._armed_at = get_time() + QUIET_SECONDS

    @property
    def _writing(self) -> bool:
        return self.has_class("-writing")

    def swallow(self, event: events.Event) -> bool:
        """Whether a key, paste or click came too early, or means nothing here; each such one restarts the quiet period."""
        if self._writing:
            return False
        here = self.has_focus
        known = isinstance(event, events.Key) and bool({event.key, event.character} & DECIDING)
        if here and known and event.time >= self._armed_at:
            return False
        if self._armed_at != inf:
            self._armed_at = max(self._armed_at, event.time + QUIET_SECONDS)
        if not isinstance(event, events.Key | events.Paste):
            return False
        return here and getattr(event, "key", "") not in MOVING - {"escape"}

    # What is shown.

    @property
    def _current(self) -> Question | None:
        return next((question for question in self._questions if question.open), None)

    def _show(self) -> None:
        question = self._current
        if question is None:
            return
        if question is not self._shown:
            self._shown, self._first, self._asked_session, self._message = question, 0, False, ""
            self._armed_at = inf
            self.call_after_refresh(self._painted)
        left = [asked for asked in self._questions if asked.open]
        self.border_title = Content(f"Approve {len(left)} call{'s' * (len(left) != 1)}?")
        calls = [
            f"{'>' if asked is question else ' '} {line(asked.request.tool.server, 40)}.{line(asked.request.tool.name, 80)}"
            for asked in left
        ]
        self.query_one("#approval-calls", Static).update(Content("\n".join(calls)))
        self.query_one("#approval-claims", Static).update(Content(self._claims(question)))
        self._show_arguments(question)
        self.query_one("#approval-message", Static).update(Content(self._message))

    @staticmethod
    def _claims(question: Question) -> str:
        tool = question.request.tool
        hints = ", ".join(f"{name} {value}" for name, value in tool.annotations)
        return f"the server says: {line(tool.description, 400)}" + (f"  ({line(hints, 200)})" if hints else "")

    def _lines(self, question: Question) -> list[str]:
        return visible(pretty(read_arguments(question.request.arguments.decode()))).splitlines()

    def _show_arguments(self, question: Question) -> None:
        lines, room = self._lines(question), 12
        self._first = max(0, min(self._first, len(lines) - room))
        seen = lines[self._first : self._first + room]
        below = len(lines) - self._first - len(seen)
        if not below:
            self._ends_seen.add(question.request.call)
        note = f"{below} more lines: down, end" if below else "all shown"
        self.query_one("#approval-arguments", Static).update(Content("\n".join([*seen, f"[{note}]"])))

    def _say(self, words: str) -> None:
        self._message = words
        self.query_one("#approval-message", Static).update(Content(words))

    def action_move(self, lines: int) -> None:
        """Scroll the arguments."""
        self._first = max(0, self._first + lines)
        self._show()

    # What decides.

    def _seen(self, question: Question) -> bool:
        """Whether the arguments were shown to their end; else shows it, and decides nothing."""
        if question.request.call in self._ends_seen:
            return True
        self.action_move(100_000)
        self._say("The end of the arguments is shown now; decide again.")
        return False

    def action_once(self) -> None:
        """Approve this call."""
        question = self._current
        if question is not None and self._seen(question):
            question.approve()
            self._show()

    def action_all(self) -> None:
        """Approve all that remain, once each was shown to its end."""
        left = [question for question in self._questions if question.open]
        unseen = [question for question in left if question.request.call not in self._ends_seen]
        if len(unseen) > 0 and not (len(unseen) == 1 and self._seen(unseen[0])):
            self._say(f"{len(unseen)} of them were not shown to their end yet: decide one by one, or read them first.")
            return
        for question in left:
            question.approve(how="approved with all that remained")
        self._show()

    def action_session(self) -> None:
        """Approve the tool for the session: asked in words first, done by the second press."""
        question = self._current
        if question is None or not self._seen(question):
            return
        tool = question.request.tool
        if not self._asked_session:
            self._asked_session = True
            self._say(
                f"A again: every call of {tool.server}.{tool.name}, as it is defined now, runs unasked in this session."
            )
            return
        question.approve(how="approved for the session")
        self._on_grant(question)
        self._show()

    def action_no(self) -> None:
        """Reject this call."""
        question = self._current
        if question is not None:
            question.reject()
            self._show()

    def action_stop(self) -> None:
        """Reject, and stop the turn."""
        question = self._current
        if question is not None:
            question.reject(stop=True)

    def action_because(self) -> None:
        """Ask for a reason."""
        self._write("", "Why not? The model is told. enter rejects, escape goes back.", edits=False)

    def action_edit(self) -> None:
        """Edit the arguments on one line."""
        question = self._current
        if question is not None:
            self._write(
                question.request.arguments.decode(),
                "The arguments. enter approves these, escape goes back.",
                edits=True,
            )

    def _write(self, text: str, words: str, *, edits: bool) -> None:
        self._edits = edits
        self.add_class("-writing")
        field = self.query_one(Input)
        field.value = text
        field.focus()
        self._say(words)

    def _written(self) -> None:
        self.remove_class("-writing")
        self.focus()
        self._say("")

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Take the reason, or the edited arguments."""
        event.stop()
        question = self._current
        if question is None:
            return
        if not self._edits:
            question.reject(event.value.strip())
        else:
            try:
                edited = canonical(read_arguments(event.value))
            except TuiHostError as error:
                self._say(line(str(error), 300))
                return
            question.approve(edited=edited)
        self._written()
        self._show()

    def on_key(self, event: events.Key) -> None:
        """Escape closes the field, and nothing else."""
        if self._writing and event.key == "escape":
            event.stop()
            event.prevent_default()
            self._written()
