"""A conversation with its items, messages, permissions and current activity."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol, TypeAlias

from tui_host.capture.record import Place
from tui_host.chat.attachments import Attached, message_parts
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
    """Stores a session as it happens. Calls return at once and keep their order."""

    def session(self, session: Session) -> None:
        """Store title, model, protocol, profile, options, draft, and the time of the last change."""
        ...

    def message(self, session: str, number: int, message: Message) -> None:
        """Store a message, which never changes afterwards."""
        ...

    def item(self, session: str, number: int, item: Item) -> None:
        """Store an item of the chat, replacing any earlier version."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Activity:
    """What the current turn waits for.

    Attributes:
        waits: The kind of wait; empty when no turn is at work.
        detail: Names, such as the servers still connecting.
        since: Monotonic seconds of the start.
        until: Monotonic seconds of the expected end, None if unknown.
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
        source: What created the session.
        created_ns: Wall-clock time of creation.
        model: The model in use.
        protocol: The tool protocol in use.
        policy: Rules and permissions.
        title: From the first message.
        draft: Unsent text in the prompt.
        turn: Number of the last turn, 0 before the first.
        step: Number of the turn's last step, 0 before the first.
        messages: The messages for the model, oldest first.
        conversation: The items of the chat.
        activity: What the current turn waits for.
        questions: Calls waiting for the user.
        offered: Connections whose tools were offered to the model by a request of this process.
        profile: Name of the profile in use, empty for none.
        offer: The offer of the last request, None before.
        options: Model options set for this session, over those of profile and provider.
        redact: Removes secrets from displayed text.
        asked: Models named in a session recorded elsewhere, as text; such a session takes no new turn.
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
        """Store each change of an item, and continue the numbering of earlier turns."""
        steps = 0
        for _, item in self.conversation.last_turn():
            if isinstance(item, SummaryItem) and item.turn == self.turn:
                steps += item.steps  # a step without text or calls left no item
            elif isinstance(item, AnswerItem | CallItem) and item.turn == self.turn:
                self.step = max(self.step, item.step)
        self.step = max(self.step, steps)
        self.conversation = self.conversation.again(keep=self._keep_item, redact=self.redact)

    def _keep_item(self, number: int, item: Item) -> None:
        if self.keeper is not None:
            self.keeper.item(self.id, number, item)

    def keep_in(self, keeper: Keeper) -> None:
        """Store the session from now on, including everything so far: a user may type before the store is open."""
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
        """Whether the session was recorded elsewhere, by a tap or from a file. A foreign session is read-only."""
        return self.source in {"tap", "import"}

    @property
    def busy(self) -> bool:
        """Whether a turn is at work."""
        return bool(self.activity.waits)

    def place(self, *, step: int | None = None, call: str | None = None) -> Place:
        """Return a place in the current turn."""
        return Place(session=self.id, turn=self.turn or None, step=step, call=call)

    def wait_for(self, waits: Waits, detail: str = "", *, seconds: float | None = None) -> None:
        """Set what the turn waits for, and how long if known."""
        now = self.clock()
        self.activity = Activity(
            waits=waits, detail=detail, since=now, until=None if seconds is None else now + seconds
        )

    def save(self) -> None:
        """Store title, model, protocol, profile, options and draft."""
        if self.keeper is not None:
            self.keeper.session(self)

    def say(self, message: Message) -> None:
        """Add a message for the model."""
        number = self.messages.append(message)
        if self.keeper is not None:
            self.keeper.message(self.id, number, message)

    def begin_turn(self, text: str, attached: Sequence[Attached] = ()) -> None:
        """Begin a turn with the user's text and attached files."""
        self.turn += 1
        self.step = 0
        if not self.title:
            self.title = title_of(self.redact(text))
        self.draft = ""
        self.save()
        self.conversation.add(UserItem(turn=self.turn, text=text))
        self.say(Message(role="user", parts=message_parts(text, attached), turn=self.turn))

    def grant(self, question: Question) -> None:
        """Allow the question's tool for the session, and answer all open questions now decided by that."""
        self.policy.grant(question.request.tool)
        for waiting in self.questions:
            decision = self.policy.decide(waiting.request) if waiting.open else None
            if decision is not None:
                waiting.answer(decision)

    def open_questions(self) -> Sequence[Question]:
        """Return the open questions, oldest first."""
        return [question for question in self.questions if question.open]
