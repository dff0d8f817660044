"""A conversation with its items, messages, permissions and current activity."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias

from tui_host.capture.record import Place
from tui_host.chat.active_profile import offers
from tui_host.chat.conversation import (
    SUMMED,
    AnswerItem,
    CallItem,
    Conversation,
    Item,
    NoteItem,
    SummaryItem,
    UserItem,
    title_of,
)
from tui_host.chat.policy import Policy, Question, StepLimit
from tui_host.chat.stored_messages import Messages, message_to_text
from tui_host.llm.messages import Message, Part, Text, Usage
from tui_host.settings.model_options import Options
from tui_host.settings.schema import ModelRef, Price

if TYPE_CHECKING:
    from tui_host.capture.session_summary import Parent, Source
    from tui_host.chat.attachments import Attached
    from tui_host.chat.opening import Opening
    from tui_host.chat.queued_messages import Queued
    from tui_host.servers.catalog import Turning
    from tui_host.settings.schema import Settings

_REASON_CHARACTERS = 200
Waits: TypeAlias = Literal["", "servers", "demo model", "model", "retry", "answer", "you", "tools"]


class Keeper(Protocol):
    """Stores changes of a session, in the order of the calls, which return at once. A message never changes; an item is replaced."""

    def session(self, session: Session) -> None: ...
    def message(self, session: str, number: int, message: Message) -> None: ...
    def item(self, session: str, number: int, item: Item) -> None: ...


QUIET_SECONDS = 10.0  # many models think for some seconds before they send anything


@dataclass(frozen=True, slots=True, kw_only=True)
class Activity:
    """What the current turn waits for (`detail` names it), from when and until when in monotonic seconds, if known."""

    waits: Waits = ""
    detail: str = ""
    since: float = 0.0
    until: float | None = None
    heard: Callable[[], float] | None = None  # when the last byte of a provider came
    limit: str = ""  # how long it may send none

    def silence(self, now: float) -> str:
        """Say how long the provider has sent no byte; empty under ten seconds, or if none is waited for."""
        seconds = 0.0 if self.heard is None else now - self.heard()
        return f"no byte for {seconds:.0f} s" if seconds >= QUIET_SECONDS else ""


@dataclass(slots=True, kw_only=True)
class Spent:
    """What a session has used so far, as far as providers have reported it."""

    context: int | None = None  # tokens of the last request with its answer, which the next one sends again
    window: int | None = None  # the tokens that fit into the context, where the request itself says so
    tokens_in: int = 0
    tokens_out: int = 0
    money: float | None = None  # what providers said it cost, else by the configured prices

    def add(self, usage: Usage, price: Price | None) -> None:
        """Add a step."""
        costs = usage.costs(price)
        cost = sum(costs) if usage.cost is None and costs is not None else usage.cost
        if usage.input_total is not None:
            self.context = usage.input_total + (usage.output_total or 0)
        self.tokens_in += usage.input_total or 0
        self.tokens_out += usage.output_total or 0
        self.money = self.money if cost is None else (self.money or 0.0) + cost


@dataclass(slots=True, kw_only=True)
class OldTurn:
    """A turn that the next requests would leave out: its first line, and the size of its messages as stored."""

    turn: int
    title: str = ""
    size_bytes: int = 0


@dataclass(slots=True, kw_only=True)
class Session:
    """A conversation with its messages, permissions and current turn; ids sort by time of creation.

    Attributes:
        omitted_turns: Number of the last turn that requests leave out, with all earlier turns; 0 if none is left out.
        queued: What the user wrote while a turn ran, oldest first: it goes out once a turn has ended well.
        refused_images: Last turn whose images are left out of requests to a model that refused them, by `PROVIDER/MODEL`.
        is_direct: Whether all turns so far were requests to servers without a model.
        parent: The session that this one is a branch of.
        is_kept: Whether changes are stored; false for a branch in which nothing was asked yet.
        asked: Models named in a session recorded elsewhere, as text. Such a session takes no new turn.
    """

    id: str
    source: Source
    created_ns: int
    model: ModelRef
    protocol: str
    policy: Policy
    profile: str = ""
    keeper: Keeper | None = None
    parent: Parent | None = None
    is_kept: bool = True
    title: str = ""
    draft: str = ""
    queued: list[Queued] = field(default_factory=list["Queued"])
    turn: int = 0
    step: int = 0
    messages: Messages = field(default_factory=Messages)
    omitted_turns: int = 0
    refused_images: dict[str, int] = field(default_factory=dict[str, int])
    conversation: Conversation = field(default_factory=Conversation)
    activity: Activity = field(default_factory=Activity)
    spent: Spent = field(default_factory=Spent)
    questions: list[Question] = field(default_factory=list[Question])
    step_limit: StepLimit | None = None
    offered: set[str] = field(default_factory=set[str])
    options: Options = field(default_factory=Options)
    redact: Callable[[str], str] = str
    is_direct: bool = False
    asked: str = ""
    clock: Callable[[], float] = time.monotonic

    def __post_init__(self) -> None:
        """Store each change of an item from now on, and continue the numbers of earlier turns and steps."""
        steps, conversation, spent = 0, self.conversation, self.spent
        for _, item in conversation.last_turn():
            if isinstance(item, SummaryItem) and item.turn == self.turn:
                steps += item.steps  # a step without text or calls leaves no item, so the summary's count is used
            elif isinstance(item, AnswerItem | CallItem) and item.turn == self.turn:
                self.step = max(self.step, item.step)
        self.step = max(self.step, steps)
        for number in range(len(conversation)):
            text = conversation.unread(number)
            if text is not None and not text.startswith(SUMMED):  # not parsed until it is shown
                continue
            item = conversation[number]
            if isinstance(item, SummaryItem):
                cost = item.cost if item.money is None else item.money
                spent.context = spent.context if item.context is None else item.context
                spent.tokens_in += item.tokens_in or 0
                spent.tokens_out += item.tokens_out or 0
                spent.money = spent.money if cost is None else (spent.money or 0.0) + cost
        # Not in the constructor: items of an earlier process are stored already.
        self.conversation = conversation.again(keep=self._keep_item, redact=self.redact)

    def _keep_item(self, number: int, item: Item) -> None:
        if self.keeper is not None and self.is_kept:
            self.keeper.item(self.id, number, item)

    def keep_in(self, keeper: Keeper | None) -> None:
        """Store the session from now on, including everything so far: a user may type before the store is open.

        What a branch shares with its parent is stored there.
        """
        self.keeper = keeper
        if keeper is not None and self.is_kept and (self.turn or self.draft):
            self.save()
            first, items = (0, 0) if self.parent is None else self.parent.shared[-1][2:]
            messages = list(self.messages)
            for number, message in enumerate(messages, self.messages.count - len(messages)):
                if number >= first:
                    keeper.message(self.id, number, message)
            for number in range(items, len(self.conversation)):
                keeper.item(self.id, number, self.conversation[number])

    def keep(self) -> None:
        """Store a branch from now on, since something is asked in it."""
        if not self.is_kept:
            self.is_kept = True
            self.keep_in(self.keeper)

    @property
    def is_foreign(self) -> bool:
        """Whether the session was recorded by a tap or imported from a file, and is therefore read-only."""
        return self.source in {"tap", "import"}

    @property
    def busy(self) -> bool:
        return bool(self.activity.waits)

    @property
    def waited(self) -> float:
        """Seconds since the turn began to wait for what it waits for."""
        return self.clock() - self.activity.since

    @property
    def end_note(self) -> NoteItem | None:
        """The note that says how to go on from the last turn's end; None if there is none."""
        for item in reversed(self.conversation):
            if isinstance(item, NoteItem) and (item.again or item.is_full):
                return item
            if not isinstance(item, SummaryItem | NoteItem):  # other notes may come while no turn runs
                return None
        return None

    def place(self, *, step: int | None = None, call: str | None = None) -> Place:
        return Place(session=self.id, turn=self.turn or None, step=step, call=call)

    def wait_for(
        self,
        waits: Waits,
        detail: str = "",
        *,
        seconds: float | None = None,
        heard: Callable[[], float] | None = None,
        limit: str = "",
    ) -> None:
        now = self.clock()
        until = None if seconds is None else now + seconds
        self.activity = Activity(waits=waits, detail=detail, since=now, until=until, heard=heard, limit=limit)

    def save(self) -> None:
        if self.keeper is not None and self.is_kept:
            self.keeper.session(self)

    def say(self, message: Message) -> None:
        """Add a message to the history for the model."""
        number = self.messages.append(message)
        if self.keeper is not None and self.is_kept:
            self.keeper.message(self.id, number, message)

    def note(
        self,
        what: str,
        *,
        kind: Literal["error", "note"] = "note",
        where: str = "",
        remedy: str = "",
        again: bool = False,
        is_full: bool = False,
    ) -> None:
        """Add a note of the host to the chat."""
        note = NoteItem(turn=self.turn, kind=kind, what=what, where=where, remedy=remedy, again=again, is_full=is_full)
        self.conversation.add(note)

    def begin_turn(self, text: str, attached: Sequence[Attached] = (), *, filled: Opening | None = None) -> None:
        """Begin a turn with the user's text and attached files, a server's prompt, or what began another turn."""
        self.turn += 1
        self.step = 0
        if not self.title:
            self.title = title_of(self.redact(text if filled is None else filled.title))
        self.keep()
        self.save()
        if filled is None:
            self.conversation.add(UserItem(turn=self.turn, text=text))
            self.say(Message(role="user", parts=message_parts(text, attached), turn=self.turn))
            return
        for item in filled.opened:
            self.conversation.add(replace(item, turn=self.turn))
        for message in filled.given:
            self.say(replace(message, turn=self.turn))

    def grant(self, question: Question) -> None:
        """Allow the question's tool for the session, and answer all open questions that this permission decides."""
        self.policy.grant(question.request.tool)
        self.apply_rules()

    def apply_rules(self) -> None:
        """Answer all open questions that a rule or permission decides by now."""
        for waiting in self.open_questions():
            decision = self.policy.decide(waiting.request)
            if decision is not None:
                waiting.answer(decision)

    def open_questions(self) -> Sequence[Question]:
        return [question for question in self.questions if question.open]


def message_parts(text: str, attached: Sequence[Attached] = ()) -> tuple[Part, ...]:
    """Return the parts of a user message: the text, which contains a mark for each file, then the files."""
    return (Text(text=text), *(file.part for file in attached))


def oldest_turns(session: Session) -> Sequence[OldTurn]:
    """Return the fewest oldest turns with at least half of the bytes sent now, but never the last turn. Load the messages before."""
    turns: dict[int, OldTurn] = {}
    for message in session.messages:
        if message.turn > session.omitted_turns:
            turn = turns.setdefault(message.turn, OldTurn(turn=message.turn))
            turn.size_bytes += len(message_to_text(message).encode("utf-8", "replace"))
            if message.role == "user" and not message.source and not turn.title:
                text = "".join(part.text for part in message.parts if isinstance(part, Text))
                turn.title = title_of(session.redact(text))
    half = sum(turn.size_bytes for turn in turns.values()) / 2
    chosen: list[OldTurn] = []
    for turn in list(turns.values())[:-1]:
        chosen.append(turn)
        half -= turn.size_bytes
        if half <= 0:
            break
    return chosen


def omit_turns(session: Session, turns: Sequence[OldTurn]) -> None:
    """Leave turns out of all further requests of the session, also after it is reopened. The chat keeps them and says so."""
    first, last = turns[0].turn, turns[-1].turn
    session.omitted_turns = last
    named = f"turn {last}" if first == last else f"turns {first} to {last}"
    session.note(f"{named} left out of what the model reads from here on, as you chose; the chat keeps them")
    session.save()


def note_turning(sessions: Iterable[Session], settings: Settings, server: str, turning: Turning, reason: str) -> None:
    """Say what happened to a server in each chat that uses it; a chat that has not begun is told nothing."""
    why = reason.partition(";")[0][:_REASON_CHARACTERS]
    because = f": {why}" if why else ""
    declined = f"all questions of the server {server} are declined until it is connected again, as you chose"
    what, remedy = {
        "back": (f"the server {server} is back", ""),
        "declined": (declined, "/mcp connects it again"),
        "lost": (f"the server {server} went away{because}", "it is tried again; /mcp shows when"),
        "given up": (f"the server {server} is tried no more{because}", "/mcp tries it at once"),
    }[turning]
    for session in sessions:
        if session.turn and not session.is_foreign and offers(settings.profiles.get(session.profile), server):
            session.conversation.add(NoteItem(turn=session.turn, kind="note", what=what, remedy=remedy, server=server))
