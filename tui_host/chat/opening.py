"""What began a turn, to be edited or asked again in a branch."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import TYPE_CHECKING

from tui_host.chat.attachments import attached_by_marks
from tui_host.chat.conversation import NoteItem, UserItem
from tui_host.llm.messages import Message, Text

if TYPE_CHECKING:
    from tui_host.chat.attachments import Attached
    from tui_host.chat.conversation import Conversation


@dataclass(frozen=True, slots=True, kw_only=True)
class Opening:
    """What a person said, or a server's prompt, as items of the chat and as messages for the model."""

    opened: Sequence[UserItem]
    given: Sequence[Message]

    @property
    def title(self) -> str:
        """The person's own words, as they were sent; of a server's prompt its first words."""
        texts = (part.text for message in self.given for part in message.parts if isinstance(part, Text))
        return next(texts, self.opened[0].text)

    @property
    def attached(self) -> Mapping[str, Attached]:
        """The attached files, by their marks in the text."""
        return attached_by_marks(self.title, [part for message in self.given for part in message.parts[1:]])

    def items(self, turn: int) -> Sequence[UserItem]:
        return [replace(item, turn=turn) for item in self.opened]

    def llm_messages(self, turn: int) -> Sequence[Message]:
        return [replace(message, turn=turn) for message in self.given]


def opening_of(conversation: Conversation, messages: Iterable[Message], turn: int) -> Opening | None:
    """Return what began a turn; None for one in which no model was asked."""
    opened: list[UserItem] = []
    for number in range(len(conversation.up_to(turn - 1)), len(conversation)):
        item = conversation[number]
        if isinstance(item, UserItem) and item.turn == turn:
            opened.append(item)
        elif not isinstance(item, NoteItem):  # the first answer; what is said behind it joined a step
            break
    given = [*takewhile(_is_before_answers, (message for message in messages if message.turn == turn))]
    return Opening(opened=opened, given=given) if opened and given else None


def last_asked(conversation: Conversation) -> int:
    """Return the number of the last turn in which a person asked; 0 if there is none."""
    return next((item.turn for item in reversed(conversation) if isinstance(item, UserItem)), 0)


def _is_before_answers(message: Message) -> bool:
    """Whether a message is the user's, or one of a server's prompt, which may hold words of the model."""
    of_prompt = any(isinstance(part, Text) and part.origin for part in message.parts)
    return (message.role == "user" and not message.source) or of_prompt
