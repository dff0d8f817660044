"""The approval over the chat: server, tool, exact arguments, and a key for each decision."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from math import inf
from typing import ClassVar, Literal

from rich.cells import cell_len
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.geometry import Size
from textual.widget import Widget
from typing_extensions import override

from tui_host.answers.values import Values
from tui_host.capture.visible import hidden, line, tool_name, visible
from tui_host.chat.call_arguments import canonical, pretty, read_arguments
from tui_host.chat.policy import Question, lasting, written
from tui_host.chat.session import Session
from tui_host.errors import TuiHostError
from tui_host.host.host import Host
from tui_host.servers.catalog import claims_of
from tui_host.settings.key_names import PLACES
from tui_host.tui.in_thread import in_thread
from tui_host.tui.keys import bound, key_of, keys_of
from tui_host.tui.questions.arguments import Arguments, CallKey, argument_lines
from tui_host.tui.questions.form import Finished, TextField
from tui_host.tui.questions.panel import QuestionPanel, Rows, paragraphs
from tui_host.tui.sources.live import SessionSource
from tui_host.tui.text_width import clip

LISTED_MISFITS = 3  # further ones are only counted
SECRET_CHARACTERS = 4096  # after a cut, in which a secret may continue
ROW_CHARACTERS, ARGUMENT_CELLS = 500, 8  # most characters and least room for arguments on a call's line
SMALLEST_CELLS = 30  # width of the chat below which a tool's name and arguments are not readable
LOW_LINES, TINY_LINES = 22, 9
"""Heights of the chat below which calls and description give way to the arguments, and below which nothing is asked."""
REJECTING, OF_SEVERAL = frozenset(("no", "no, because…", "stop the turn")), frozenset(("all of these", "other calls"))
"""What the keys do that are left where nothing can be seen, and those that mean nothing for a single call."""


class Approval(QuestionPanel):
    """Asks about the calls of a session that wait, one by one, and answers by key."""

    DECIDING = frozenset(PLACES["approval"].keys() - {"raw", "about"} | {"escape"})
    BINDINGS: ClassVar[list[BindingType]] = [
        bound("approve", "approve('approve')", "once", display="y/a", tooltip="approve it, once shown to its end"),
        bound("edit_arguments", "write(True)", "edit", tooltip="edit the arguments, then approve"),
        bound("approve_tool", "approve('approve_tool')", "this tool", tooltip="twice: approve it in this session"),
        bound("approve_for_good", "approve('approve_for_good')", tooltip="then: for good, by a rule in rules.toml"),
        bound("approve_all", "approve('approve_all')", "all of these", tooltip="approve all, once shown to their ends"),
        bound("reject", "no", "no", tooltip="reject"),
        bound("reject_because", "write(False)", "no, because…", tooltip="reject with a reason that the model is told"),
        Binding("escape", "back", "stop the turn", key_display="esc esc", tooltip="reject, stop the turn, or go back"),
        Binding("tab", "", "look", tooltip="look around in the inspector, and back; no key decides there"),
        Binding("left", "step(-1)", "other calls", tooltip="go to the call before or after, where several wait"),
        Binding("right", "step(1)"),
        bound("raw", "show('raw')", "raw", tooltip="show the arguments indented, or byte for byte"),
        bound("about", "show('description')", "about", tooltip="show the server's whole description"),
    ]
    DEFAULT_CSS = """
    Approval {
        border: round $warning 60%; border-title-color: $text-warning;
        &:focus-within { border: round $warning; }
        & > TextField { display: none; max-height: 8; }
        & > TextField.-written { display: block; }
        &.-low > Arguments { border: none; border-bottom: solid $foreground 40%; padding: 0; }
        &.-tiny > Arguments { display: none; }
    }
    """

    def __init__(self, session: Session, host: Host, source: Callable[[], SessionSource | None]) -> None:
        self._seen: set[CallKey] = set()  # calls whose arguments were painted to their end
        self._arguments = Arguments(self._seen)
        self._head = Rows(self._head_rows)
        self._edit, self._reason = TextField(), TextField()
        super().__init__(self._arguments, [self._head, self._arguments, self._edit, self._reason])
        self._session, self._host, self._source, self._mask = session, host, source, host.mask
        self.current = session.open_questions()[0]
        self._left: Sequence[Question] = ()  # the open questions
        self._room = Size(0, 0)
        self._edits: dict[str, bytes] = {}  # edited arguments by call
        self._notes: dict[CallKey, Mapping[str, str]] = {}  # where values come from, by their paths
        self._shows: Literal["", "raw", "description"] = ""
        self._shown: tuple[object, ...] = ()  # what the arguments show
        self._whole: list[Question] = []  # those whose arguments stand whole in the list

    def on_focus(self) -> None:
        self.first_field.focus()  # what is being written is not decided by a letter

    # Which call is asked about.

    @override
    def look(self) -> None:
        """Leave parts out on low screens; where the arguments have no line, nothing can be seen, nor approved."""
        # Without header and one line of keys: with the lines that the keys take, these would come and go by themselves.
        width = self.parent.size.width if isinstance(self.parent, Widget) else 0
        room = Size(width, max(0, self.screen.size.height - 2))
        left = self._session.open_questions()
        if (left, room) != (self._left, self._room):
            self._left, self._room = left, room
            for name, lines in (("-low", LOW_LINES), ("-tiny", TINY_LINES)):
                self.set_class(0 < room.height < lines or 0 < room.width < SMALLEST_CELLS, name)
            self._draw() if self.current.open else self._turn_to()
        self._arguments.tell_rest()
        super().look()

    def _turn_to(self, question: Question | None = None, words: str = "") -> None:
        """Ask about a question, or the next open one after the current one, or the first; the panel goes once none is left."""
        if question is None:
            questions, self._left = self._session.questions, self._session.open_questions()
            start = questions.index(self.current) if self.current in questions else 0
            around = [*questions[start:], *questions[:start]]
            question = next((question for question in around if question.open), self.current)
        if question is not self.current:
            self._shows = ""
        if self.first_field is not self:
            self.focus()
            self.first_field.remove_class("-written")
        self.current, self.first_field = question, self
        self.say(words)
        self._draw()
        self.look_again()

    @override
    def appeared(self) -> None:
        super().appeared()
        # The panel may be gone by now, and another screen may cover it.
        if self._armed_at == inf or not self.is_attached or not self.screen.is_current:
            return
        self.current.appear()
        # What stands whole in the list, with nothing else to be read before it is approved, was seen there.
        if not self.has_class("-tiny"):
            self._seen.update(self._key_of(waiting) for waiting in self._whole if not any(self._notices(waiting)))

    def _key_of(self, question: Question) -> CallKey:
        request = question.request
        return request.call, self._edits.get(request.call, request.arguments)

    # What is shown.

    def _draw(self) -> None:
        question, left = self.current, self._left
        if not question.open:
            return
        count = f"  {left.index(question) + 1} of {len(left)}" if len(left) > 1 else ""
        later = f", then {question.later} more" if question.later else ""
        self.border_title = Content(f"Approve {len(left)} call{'s' * (len(left) != 1)}?{count}{later}")
        key, before = self._key_of(question), self._shown
        if key not in self._notes:
            self._notes[key] = {}
            self.run_worker(self._note_values(key), group="notes")
        notes: Mapping[str, str] = {} if self._shows else self._notes[key]
        self._shown = key, self._shows, notes
        if self._shown != before:  # long arguments take their time, and this is drawn with every key
            of, text = key, key[1].decode()
            if self._shows == "description":
                of, lines = None, [self._description()]
            elif self._shows:
                lines = [self._mask.values(text)]
            else:
                lines = argument_lines(text, self._mask.values, notes)
            self._arguments.show(of, lines, has_notes=bool(notes), stays=self._shown[:2] == before[:2])
        self._head.refresh(layout=True)
        self.foot.refresh(layout=True)

    async def _note_values(self, key: CallKey) -> None:
        """Add to the arguments which values stand in earlier results, once the records before the call are read."""
        source = self._source()
        if source is None:
            return
        await source.caught_up()
        made = asyncio.wrap_future(in_thread(lambda: Values(source).notes_on(json.loads(key[1]))))
        await asyncio.wait([made])
        if made.exception() is None:  # a call is decided without notes, if they cannot be made
            self._notes[key] = made.result()
            self._draw()

    def _head_rows(self, width: int) -> Sequence[Content]:
        """Return lines of calls, the current one among them, and of its description; notes which calls stand there whole."""
        current = self._left.index(self.current) if self.current in self._left else 0
        most, described = (2, 1) if self.has_class("-low") else (4, 3)
        rows: list[Content] = []
        self._whole, below = [], ""
        for question in self._left[max(0, current - most + 1) :][:most]:
            tool, is_current, shown = question.request.tool, question is self.current, ""
            name = clip(tool_name(tool.server, tool.name), width - 2)
            room = width - 3 - cell_len(name)
            if len(self._left) > 1 and room >= ARGUMENT_CELLS:  # of a single call the arguments stand below
                text = self._key_of(question)[1].decode()
                masked = visible(self._mask.values(text[: ROW_CHARACTERS + SECRET_CHARACTERS]), newlines=False)
                shown = f" {clip(masked, room)}"
                if len(text) <= ROW_CHARACTERS and cell_len(masked) <= room:
                    self._whole.append(question)
            row = Content.styled(f"{'> ' if is_current else '  '}{name}{shown}", "bold $foreground" * is_current)
            claim = f"server claims: {claims}" if (claims := claims_of(tool)) else ""
            gap = width - row.cell_length - len(claim)
            if claim and gap >= 2:
                row, claim = Content.assemble(row, " " * gap, claim), ""
            below = claim if is_current else below
            rows.append(row)
        if self._shows == "description" or self.has_class("-tiny"):
            return rows
        return [*rows, *paragraphs(self._description(below, 8 * width), width, most=described)]

    def _description(self, claim: str = "", limit: int | None = None) -> str:
        """Return a claim that has no room elsewhere, and the server's description, cut to `limit`."""
        tool = self.current.request.tool
        words = f"{tool.title}: {tool.description}" if tool.title else tool.description
        shown = self._mask.values(words[: None if limit is None else limit + SECRET_CHARACTERS])[:limit]
        return "\n".join(filter(None, (claim, visible(shown).strip() or "(no description)")))

    @property
    @override
    def message(self) -> str:
        if self.has_class("-tiny"):
            return f"Too small; {key_of('reject')} rejects."
        # What is being written may be something else than what the notices are about.
        notices = self._notices(self.current) if self.first_field is self else ()
        return "\n".join(filter(None, (self.words, *notices)))

    def _notices(self, question: Question) -> Iterator[str]:
        """Yield what to know before a call is approved; what matters most comes first, since the last may have no room."""
        request, tool, text = question.request, question.request.tool, self._key_of(question)[1].decode()
        if secrets := self._mask.found(text):
            yield f"! the arguments contain a secret of yours, {', '.join(secrets)}: its real value would be sent"
        if request.changed:
            yield f"! the definition changed since the last approval: {self._told([request.changed])}"
        if request.call in self._edits:
            yield "edited: this will be sent"
        else:
            yield from (f"! the number {written} is sent as {sent}" for written, sent in request.changed_numbers)
            if request.misfits:
                yield f"! does not fit the tool's schema: {self._told(request.misfits)}"
        if count := hidden(text):
            yield f"{count} hidden characters, written as codes"
        if count := hidden(tool.description) + hidden(tool.title):
            yield f"! the description has {count} hidden characters"

    def _told(self, misfits: Sequence[str]) -> str:
        words = "; ".join(visible(self._mask.values(misfit), newlines=False) for misfit in misfits[:LISTED_MISFITS])
        further = len(misfits) - LISTED_MISFITS
        return f"{words}; and {further} more" if further > 0 else words

    def keys(self) -> Sequence[tuple[str, str]]:
        if self.first_field is self._edit:
            return [("enter", "show what will be sent"), ("escape", "back"), ("ctrl+j", "new line")]
        if self.asked == "approve_tool":
            lasting_key = key_of("approve_for_good"), "for good"
            kept = [] if self._host.unkept(self._session, self.current.request.tool) else [lasting_key]
            return [(key_of("approve_tool"), "this session"), *kept, ("escape", "back")]
        if self.first_field is self._reason:
            return [("enter", "reject with this reason"), ("escape", "back")]
        hidden_keys = OF_SEVERAL if len(self._left) == 1 else frozenset[str]()
        keys = [(key.shown, key.brief) for key in keys_of(type(self)) if key.brief and key.brief not in hidden_keys]
        if len(self.screen.focus_chain) == 1:  # without the inspector on the screen the panel alone can have the focus
            keys = [(key_of("inspector") if brief == "look" else shown, brief) for shown, brief in keys]
        return [(shown, brief) for shown, brief in keys if brief in REJECTING or not self.has_class("-tiny")]

    # Looking.

    @override
    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool:
        """Decide nothing while something is written, not even by a key that is no text."""
        return self.first_field is self or action in {"back", "scroll"}

    def action_step(self, step: int) -> None:
        if self.current in self._left and len(self._left) > 1:
            self._turn_to(self._left[(self._left.index(self.current) + step) % len(self._left)])

    def action_show(self, what: Literal["raw", "description"]) -> None:
        self._shows = "" if self._shows == what else what
        self._draw()

    # Deciding.

    def action_approve(self, how: Literal["approve", "approve_tool", "approve_all", "approve_for_good"]) -> None:
        """Approve the call, its tool, or all that remain, once the arguments were shown to their end; else show the end."""
        question, left = self.current, self._left
        unseen = [waiting for waiting in left if self._key_of(waiting) not in self._seen]
        tool, is_offered = question.request.tool, self.asked == "approve_tool"
        name, unkept = line(tool_name(tool.server, tool.name), 200), self._host.unkept(self._session, tool)
        again = f"Press {key_of(how)} again to run every call of {name}, as defined now, unasked in this session"
        if unkept:
            again += f". No rule for good: {unkept}."
        else:
            again += f"; {key_of('approve_for_good')}: for good, by this rule in rules.toml: {written(lasting(tool))}"
        if not question.open or self.has_class("-tiny"):
            return
        if self._shows == "description":
            self._shows = ""
            self._turn_to(question, f"These are the arguments. Press {key_of(how)} again to approve.")
        elif question in unseen:
            self._turn_to(question, f"This is the end. Press {key_of(how)} again to approve.")
            self._arguments.action_edge(is_last=True)
        elif how == "approve_all" and unseen:
            words = f"This call was not shown whole yet. Read it, then press {key_of(how)} again."
            self._turn_to(unseen[0], words)
        elif how == "approve_for_good" and (unkept or not is_offered):
            first = f"Press {key_of('approve_tool')} first: it shows the rule that {key_of(how)} keeps."
            self.say(f"No rule for good: {unkept}." if unkept else first)
            self.look_again()
        elif how == "approve_for_good":
            self.say("")
            self.look_again()
            self.app.run_worker(self._keep(question))  # pyright: ignore[reportUnknownMemberType] - of any app
        elif how != "approve_tool" or self.is_again(how, again):
            told = "approved for the session" if how == "approve_tool" else "approved once"
            if how == "approve_all" and len(left) > 1:
                told = "approved with all remaining"
            for waiting in left if how == "approve_all" else [question]:
                waiting.approve(how=told, edited=self._edits.get(waiting.request.call))
            if how == "approve_tool":
                self._session.grant(question)  # which may answer further questions
                self.notify(f"{name} runs unasked in this session from now on. /rules ends it.", markup=False)
            self._turn_to()

    async def _keep(self, question: Question) -> None:
        tool, host = question.request.tool, self._host
        try:
            await host.change_rule(lasting(tool), is_kept=True)
        except TuiHostError as error:
            words = f"The rule is not kept, and nothing is decided: {error}"
            self.notify(line(words, 300), severity="error", markup=False)
            return
        question.approve(how="approved for good", edited=self._edits.get(question.request.call))
        for session in host.sessions.values():
            session.apply_rules()
        name = line(tool_name(tool.server, tool.name), 200)
        self.notify(f"{name} runs unasked for good from now on. /rules takes the rule back.", markup=False)
        if self.is_attached:
            self._turn_to()

    def action_no(self) -> None:
        self.current.reject()
        self._turn_to()

    def action_back(self) -> None:
        """Go back to the arguments, or take back an asked `A`; else ask once, then reject the call and stop the turn."""
        if self.first_field is not self or self.asked == "approve_tool":
            self._turn_to(self.current)
        elif self._shows == "description":
            self.action_show("description")
        elif self.is_again("escape", "escape again: reject and stop the turn"):
            self.current.reject(stop=True)
            self._turn_to()

    # Writing.

    def action_write(self, edits: bool) -> None:
        """Let the person edit the arguments, or write why they reject the call."""
        arguments, field, text = self._key_of(self.current)[1].decode(), self._reason, ""
        if edits and self._mask.found(arguments):
            key = key_of("reject_because")
            told = f"The arguments hold a secret of yours, so they are not edited: {key} rejects with a reason."
            self._turn_to(self.current, told)
            return
        if edits:
            field, text = self._edit, pretty(json.loads(arguments))
            if visible(text) != text:  # as JSON escapes, which are equal in value
                text = "".join(part if visible(part) == part else json.dumps(part)[1:-1] for part in text)
        self.first_field = field
        self.say("" if edits else "Why not? The model will read this.")
        self.look_again()  # the field has the focus only later: what was typed behind the key decides nothing
        field.add_class("-written")
        field.load_text(text)
        field.focus()
        self._draw()
        if value := re.search(r'": "?', text):
            before = text[: value.end()]
            field.move_cursor((before.count("\n"), len(before) - before.rfind("\n") - 1))

    def on_finished(self, event: Finished) -> None:
        event.stop()
        if self.first_field is self._edit:
            self.run_worker(self._take(self.current, self._edit.text), exclusive=True)
        else:
            self.current.reject(self._reason.text.replace("\n", " ").strip())
            self._turn_to()

    async def _take(self, question: Question, text: str) -> None:
        """Ask about other arguments in place of those that the model wrote, if they fit the tool's schema."""
        try:
            edited = read_arguments(text)
        except TuiHostError as error:
            self.say(f"! {self._mask.values(str(error))}")
            return
        misfits = await self._host.misfits(question.request.tool.schema, edited)
        if self.current is not question or self.first_field is not self._edit or self._edit.text != text:
            return  # it was left or changed meanwhile
        if misfits:
            self.say(f"! {self._told(misfits)}")
            return
        self._edits.pop(question.request.call, None)
        if (arguments := canonical(edited)) != question.request.arguments:
            self._edits[question.request.call] = arguments
        self._turn_to(question)
