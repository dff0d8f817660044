"""A server's prompt, filled in: as items of the chat, and as messages for the model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tui_host.capture.visible import line
from tui_host.chat.conversation import UserItem
from tui_host.chat.result_contents import described
from tui_host.chat.result_words import block_text, is_base64
from tui_host.llm.messages import Image, Message, Part, Text
from tui_host.llm.request_writing import IMAGES
from tui_host.servers.catalog import Content, PromptMessage

NOT_ALONE = "As an example of your own words: "
"""Stands before words of the model that no API takes as such: those at the beginning or at the end of a conversation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FilledPrompt:
    """A server's prompt with its messages.

    Attributes:
        server: The server's configured name.
        name: The prompt's own name.
        messages: The messages, in order.
    """

    server: str
    name: str
    messages: tuple[PromptMessage, ...]

    @property
    def origin(self) -> str:
        """The prompt as a command: `/server:prompt`."""
        return f"/{self.server}:{line(self.name, 100)}"

    @property
    def title(self) -> str:
        """A text for the session's title: the first text."""
        return next((message.content.text for message in self.messages if message.content.kind == "text"), self.origin)

    def items(self, turn: int) -> list[UserItem]:
        """Return the messages for the chat."""
        return [
            UserItem(
                turn=turn,
                text=_shown(message.content),
                origin=self.origin,
                role="assistant" if message.role == "assistant" else "",
            )
            for message in self.messages
        ]

    def llm_messages(self, turn: int) -> list[Message]:
        """Return the messages for the model; neighbours of one role become one message, for vendors want them to alternate.

        A prompt begins and ends with the user: no API takes the model's words first, and few take them last.
        """
        merged: list[tuple[str, list[Part]]] = []
        for message, role in zip(self.messages, self.roles, strict=True):
            parts = _parts(message.content, f"the prompt {self.origin}")
            if message.role == "assistant" != role:
                parts.insert(0, Text(text=NOT_ALONE))
            if merged and merged[-1][0] == role:
                merged[-1][1].extend([Text(text="\n\n"), *parts])
            else:
                merged.append((role, parts))
        return [
            Message(role="assistant" if role == "assistant" else "user", parts=tuple(parts), turn=turn)
            for role, parts in merged
        ]

    @property
    def roles(self) -> Sequence[str]:
        """The role in which each message is sent: the model's words stay so between words of the user."""
        users = [number for number, message in enumerate(self.messages) if message.role != "assistant"]
        first, last = (users[0], users[-1]) if users else (0, -1)
        return [
            "assistant"
            if message.role == "assistant" and first < number < last and not message.content.data
            else "user"
            for number, message in enumerate(self.messages)
        ]


def _shown(content: Content) -> str:
    return (
        content.text
        if content.kind == "text"
        else f"[{described(content)}]\n{'' if content.data else content.text}".strip()
    )


def _parts(content: Content, origin: str) -> list[Part]:
    """Return a block for the model: an image as an image, everything else as text."""
    if content.media_type in IMAGES and content.data and is_base64(content.data):
        return [Image(media_type=content.media_type, data=content.data)]
    text = block_text(content)
    if content.kind == "resource" and not content.data:
        text = f"{content.uri}:\n{text}"
    return [Text(text=text, origin=origin)]
