"""What begins a turn in place of typed words: a server's prompt, or what began an earlier turn and is asked anew in a branch."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from tui_host.capture.visible import line
from tui_host.chat.attachments import attached_by_marks
from tui_host.chat.conversation import NoteItem, UserItem
from tui_host.chat.images import image_of
from tui_host.chat.result_words import block_text, described
from tui_host.llm.messages import Image, Message, Part, Text

if TYPE_CHECKING:
    from tui_host.chat.attachments import Attached
    from tui_host.chat.conversation import Conversation
    from tui_host.servers.catalog import PromptMessage

NOT_ALONE = "As an example of your own words: "
"""Stands before words of the model that no API takes as such: those at the beginning or at the end of a conversation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Opening:
    """What a person said, or a server's prompt, as items of the chat and as messages for the model; of whatever turn.

    `title` is the person's own words, as they were sent; of a server's prompt its first words.
    """

    title: str
    opened: Sequence[UserItem]
    given: Sequence[Message]

    @property
    def attached(self) -> Mapping[str, Attached]:
        """The attached files, by their marks in the text."""
        return attached_by_marks(self.title, [part for message in self.given for part in message.parts[1:]])


def opening_of(conversation: Conversation, messages: Iterable[Message], turn: int) -> Opening | None:
    """Return what began a turn; None for one in which no model was asked."""
    opened: list[UserItem] = []
    for number in range(len(conversation.up_to(turn - 1)), len(conversation)):
        item = conversation[number]
        if isinstance(item, UserItem) and item.turn == turn:
            opened.append(item)
        elif not isinstance(item, NoteItem):  # the first answer; what is said behind it joined a step
            break
    given: list[Message] = []
    for message in (message for message in messages if message.turn == turn):
        of_prompt = any(isinstance(part, Text) and part.origin for part in message.parts)  # in words of the model too
        if not of_prompt and (message.role != "user" or message.source):
            break
        given.append(message)
    if not opened or not given:
        return None
    texts = (part.text for message in given for part in message.parts if isinstance(part, Text))
    return Opening(title=next(texts, opened[0].text), opened=opened, given=given)


def last_asked(conversation: Conversation) -> int:
    """Return the number of the last turn in which a person asked; 0 if there is none."""
    return next((item.turn for item in reversed(conversation) if isinstance(item, UserItem)), 0)


def filled_prompt(server: str, name: str, messages: Sequence[PromptMessage]) -> Opening:
    """Return a server's prompt, filled in. Neighbours of one role become one message: vendors want roles to alternate."""
    origin = f"/{server}:{line(name, 100)}"
    opened: list[UserItem] = []
    given: list[Message] = []
    for message, role in zip(messages, sent_roles(messages), strict=True):
        content, image = message.content, image_of(message.content)
        shown, text = content.text, block_text(content)
        if content.kind != "text":
            shown = f"[{described(content)}]\n{'' if content.data else content.text}".strip()
        if content.kind == "resource" and not content.data:
            text = f"{content.uri}:\n{text}"
        is_model = message.role == "assistant"
        opened.append(UserItem(turn=0, text=shown, origin=origin, role="assistant" if is_model else ""))
        parts: list[Part] = [image if isinstance(image, Image) else Text(text=text, origin=f"the prompt {origin}")]
        if is_model and role != "assistant":
            parts.insert(0, Text(text=NOT_ALONE))
        if given and given[-1].role == role:
            parts = [*given.pop().parts, Text(text="\n\n"), *parts]
        given.append(Message(role=role, parts=tuple(parts)))
    title = next((message.content.text for message in messages if message.content.kind == "text"), origin)
    return Opening(title=title, opened=opened, given=given)


def sent_roles(messages: Sequence[PromptMessage]) -> Sequence[Literal["user", "assistant"]]:
    """Return the role in which each message of a prompt is sent: as the model's only text between words of the user.

    A prompt begins and ends with the user: no API takes the model's words first, and few take them last.
    """
    users = [number for number, message in enumerate(messages) if message.role != "assistant"]
    between = range(users[0], users[-1]) if users else range(0)
    return [
        "assistant" if message.role == "assistant" and number in between and not message.content.data else "user"
        for number, message in enumerate(messages)
    ]
