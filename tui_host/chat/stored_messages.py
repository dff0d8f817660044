"""Stored messages: JSON that is parsed tolerantly, and only on access."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import overload

from typing_extensions import override

from tui_host.chat.stored_form import StoredForm
from tui_host.llm.messages import Image, Message, Text, Thinking, ToolCall, ToolResult

_FORM = StoredForm(
    tag="part",
    classes={"text": Text, "thinking": Thinking, "image": Image, "call": ToolCall, "result": ToolResult},
    sparse=frozenset({"echo", "written", "tag", "origin"}),
)
_ROLES = frozenset({"system", "user", "assistant", "tool"})


def message_to_text(message: Message) -> str:
    """Serialise a message as a line of JSON."""
    parts = tuple(_slim(part) if isinstance(part, ToolResult) else part for part in message.parts)
    return _FORM.write(replace(message, parts=parts))


def _slim(result: ToolResult) -> ToolResult:
    """Return a result without what is stored with the call itself."""
    return replace(result, call=replace(result.call, echo=None, written=""))


def message_from_text(text: str) -> Message | None:
    """Read a message written by `message_to_text`; None for a form that this version does not know."""
    message = _FORM.read(text, Message)
    return message if isinstance(message, Message) and message.role in _ROLES else None


class Messages(Sequence[Message]):
    """The messages for the model, oldest first. `read` gives the `stored` ones of an earlier process, on first use."""

    def __init__(
        self, messages: Sequence[Message] = (), *, stored: int = 0, read: Callable[[], Sequence[str]] | None = None
    ) -> None:
        self._messages = list(messages)
        self._next = stored + len(messages)
        self._read = read

    @property
    def is_loaded(self) -> bool:
        return self._read is None

    def load(self) -> None:
        """Read the stored messages, unless already done. Call in a thread if a screen must not wait. Raises StoreError."""
        if self._read is not None:
            texts, self._read = self._read(), None
            self._messages[:0] = [message for text in texts if (message := message_from_text(text))]

    def append(self, message: Message) -> int:
        """Add a message, even if the stored messages are not read yet; returns its number in the store."""
        self._messages.append(message)
        self._next += 1
        return self._next - 1

    def __bool__(self) -> bool:
        return self._next > 0

    @override
    def __len__(self) -> int:
        self.load()
        return len(self._messages)

    @overload
    def __getitem__(self, index: int) -> Message: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Message]: ...
    @override
    def __getitem__(self, index: int | slice) -> Message | Sequence[Message]:
        if index != -1 or not self._messages:  # the last message is often asked for, and seldom a stored one
            self.load()
        return self._messages[index]
