"""A server's prompt, filled in: as items of the chat, and as messages for the model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from tui_host.capture.visible import line
from tui_host.chat.conversation import UserItem
from tui_host.chat.images import image_of
from tui_host.chat.result_words import block_text, described
from tui_host.llm.messages import Image, Message, Part, Text
from tui_host.servers.catalog import PromptMessage

NOT_ALONE = "As an example of your own words: "
"""Stands before words of the model that no API takes as such: those at the beginning or at the end of a conversation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FilledPrompt:
    """A server's prompt with its messages, in order."""

    server: str
    name: str
    messages: tuple[PromptMessage, ...]

    @property
    def origin(self) -> str:
        """The prompt as a command: `/server:prompt`."""
        return f"/{self.server}:{line(self.name, 100)}"

    @property
    def title(self) -> str:
        texts = (message.content.text for message in self.messages if message.content.kind == "text")
        return next(texts, self.origin)

    def items(self, turn: int) -> list[UserItem]:
        items: list[UserItem] = []
        for message in self.messages:
            role, content = "assistant" if message.role == "assistant" else "", message.content
            text = content.text
            if content.kind != "text":
                text = f"[{described(content)}]\n{'' if content.data else content.text}".strip()
            items.append(UserItem(turn=turn, text=text, origin=self.origin, role=role))
        return items

    def llm_messages(self, turn: int) -> list[Message]:
        """Return the messages for the model; neighbours of one role become one message, for vendors want them to alternate."""
        merged: list[Message] = []
        for message, role in zip(self.messages, self.roles, strict=True):
            content, image = message.content, image_of(message.content)
            text = block_text(content)
            if content.kind == "resource" and not content.data:
                text = f"{content.uri}:\n{text}"
            given = Text(text=text, origin=f"the prompt {self.origin}")
            parts: list[Part] = [image if isinstance(image, Image) else given]
            if message.role == "assistant" != role:
                parts.insert(0, Text(text=NOT_ALONE))
            if merged and merged[-1].role == role:
                parts = [*merged.pop().parts, Text(text="\n\n"), *parts]
            merged.append(Message(role=role, parts=tuple(parts), turn=turn))
        return merged

    @property
    def roles(self) -> Sequence[Literal["user", "assistant"]]:
        """The role in which each message is sent: as the model's only text between words of the user.

        A prompt begins and ends with the user: no API takes the model's words first, and few take them last.
        """
        users = [number for number, message in enumerate(self.messages) if message.role != "assistant"]
        between = range(users[0], users[-1]) if users else range(0)
        return [
            "assistant" if message.role == "assistant" and number in between and not message.content.data else "user"
            for number, message in enumerate(self.messages)
        ]
