"""One conversation with all that belongs to it: items, messages, rules given, what it waits for."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol, TypeAlias

from tui_host.capture.record import Place
from tui_host.chat.attachments import Attached, said
from tui_host.chat.conversation import AnswerItem, CallItem, Conversation, Item, SummaryItem, UserItem, title_of
from tui_host.chat.offered_tools import Offer
from tui_host.chat.policy import Policy, Question
from tui_host.chat.stored_messages import Messages
from tui_host.llm.messages import Message
from tui_host.settings.model_options import Options
from tui_host.settings.schema import ModelRef

Source: TypeAlias = Literal["chat", "ask", "tap", "import"]
Waits: TypeAlias = Literal["", "servers", "demo model", "model", "retry", "answer", "you", "tools"]


class Keeper(Protocol):
    """Where a session is kept as it happens. Calls return at once and keep their order."""

    def session(self, session: Session) -> None:
        """Its title, model, protocol, profile, options, draft, and the time of its last change."""
        ...

    def message(self, session: str, number: int, message: Message) -> None:
        """One message; never changed afterwards."""
        ...

    def item(self, session: str, number: int, item: Item) -> None:
        """One item of the chat, replacing what was there under its number."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Activity:
    """What a turn waits for now.

    Attributes:
        waits: For what; empty when no turn is at work.
        detail: Names, such as the servers that are still connecting.
        since: Monotonic seconds at which it began.
        until: Those at which it ends by itself, None if that is not known.
    """

    waits: Waits = ""
    detail: str = ""
    since: float = 0.0
    until: float | None = None


@dataclass(slots=True, kw_only=True)
class Session:
    """A conversation.

    Attributes:
        id: Sorts by time.
        source: What made it.
        created_ns: Wall clock of its beginning.
        model: The model that answers.
        protocol: The tool protocol in use.
        policy: Rules and grants.
        title: From the first message.
        draft: What stands unsent in the prompt.
        turn: The number of the last turn, 0 before the first.
        step: The number of its last step, 0 before the first.
        messages: What the model is told, oldest first.
        conversation: What the chat shows.
        activity: What the turn at work waits for.
        questions: Calls that wait for the person.
        offered: Connections whose tools were offered to the model, by a request of this process.
        profile: The name of the profile in use, empty for none.
        offer: What the last request offered, None before it.
        options: What the person wants of the model in this session, over what profile and provider are configured with.
        redact: Takes secrets out of what is shown.
        asked: Of one from elsewhere the models that were asked in it, in words; empty where none was. No turn goes on with them.
    """

    id: str
    source: Source
    created_ns: int
    model: ModelRef
    protocol: str
    policy: Policy
    profile: str = ""
    keeper: Keeper | None = None
    title: str = ""
    draft: str = ""
    turn: int = 0
    step: int = 0
    messages: Messages = field(default_factory=Messages)
    conversation: Conversation = field(default_factory=Conversation)
    activity: Activity = field(default_factory=Activity)
    questions: list[Question] = field(default_factory=list[Question])
    offered: set[str] = field(default_factory=set[str])
    offer: Offer | None = None
    options: Options = field(default_factory=Options)
    redact: Callable[[str], str] = str
    asked: str = ""
    clock: Callable[[], float] = time.monotonic

    def __post_init__(self) -> None:
        """Let each change of an item be kept; go on with the numbers of what was said before."""
        steps = 0
        for _, item in self.conversation.last_turn():
            if isinstance(item, SummaryItem) and item.turn == self.turn:
                steps += item.steps  # one without a word or a call left no other item
            elif isinstance(item, AnswerItem | CallItem) and item.turn == self.turn:
                self.step = max(self.step, item.step)
        self.step = max(self.step, steps)
        self.conversation = self.conversation.again(keep=self._keep_item, redact=self.redact)

    def _keep_item(self, number: int, item: Item) -> None:
        if self.keeper is not None:
            self.keeper.item(self.id, number, item)

    def keep_in(self, keeper: Keeper) -> None:
        """Be kept there from now on, with all that was said before: a person may write before the store is open."""
        self.keeper = keeper
        if not self.turn and not self.draft:
            return
        self.save()
        for number, message in enumerate(self.messages):
            keeper.message(self.id, number, message)
        for number, item in enumerate(self.conversation.items):
            keeper.item(self.id, number, item)

    @property
    def is_foreign(self) -> bool:
        """Whether it was said elsewhere: a tap recorded it, or it came from a file. It can be looked at, and not gone on with."""
        return self.source in {"tap", "import"}

    @property
    def busy(self) -> bool:
        """Whether a turn is at work."""
        return bool(self.activity.waits)

    def place(self, *, step: int | None = None, call: str | None = None) -> Place:
        """The place of something in the turn at work."""
        return Place(session=self.id, turn=self.turn or None, step=step, call=call)

    def wait_for(self, waits: Waits, detail: str = "", *, seconds: float | None = None) -> None:
        """Say what the turn waits for from now on, and how long if that is known."""
        now = self.clock()
        self.activity = Activity(
            waits=waits, detail=detail, since=now, until=None if seconds is None else now + seconds
        )

    def save(self) -> None:
        """Keep title, model, protocol, profile, options and draft."""
        if self.keeper is not None:
            self.keeper.session(self)

    def say(self, message: Message) -> None:
        """Add what the model will be told."""
        number = self.messages.append(message)
        if self.keeper is not None:
            self.keeper.message(self.id, number, message)

    def begin_turn(self, text: str, attached: Sequence[Attached] = ()) -> None:
        """Begin a turn with what the person said, and the files that go along."""
        self.turn += 1
        self.step = 0
        if not self.title:
            self.title = title_of(self.redact(text))
        self.draft = ""
        self.save()
        self.conversation.add(UserItem(turn=self.turn, text=text))
        self.say(Message(role="user", parts=said(text, attached), turn=self.turn))

    def grant(self, question: Question) -> None:
        """Allow this question's tool for the session, and answer all that now wait for nothing else."""
        self.policy.grant(question.request.tool)
        for waiting in self.questions:
            decision = self.policy.decide(waiting.request) if waiting.open else None
            if decision is not None:
                waiting.answer(decision)

    def open_questions(self) -> Sequence[Question]:
        """The questions that still wait, oldest first."""
        return [question for question in self.questions if question.open]
