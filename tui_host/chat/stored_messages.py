"""Stored messages: JSON that is parsed tolerantly, and only on access."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from typing import overload

from typing_extensions import override

from tui_host.errors import JSON
from tui_host.llm.messages import Echo, Image, Message, Part, Text, Thinking, ToolCall, ToolResult

PARTS: Mapping[str, type[Text | Thinking | Image | ToolCall]] = {
    "text": Text,
    "thinking": Thinking,
    "image": Image,
    "call": ToolCall,
}
NAMES = {kind: name for name, kind in PARTS.items()}
ROLES = {"system", "user", "assistant", "tool"}


def _part_to_text(part: Part) -> str:
    """Serialise a part as JSON. An image's base64 may have tens of megabytes, so it is inserted without escaping."""
    match part:
        case Image():
            return f'{{"part":"image","media_type":{_json(part.media_type)},"data":"{part.data}"}}'
        case ToolResult():
            call = _without_nothing(asdict(replace(part.call, echo=None, written="")))  # stored with the call itself
            content = ",".join(map(_part_to_text, part.content))
            return f'{{"part":"result","call":{_json(call)},"content":[{content}],"is_error":{_json(part.is_error)}}}'
        case _:
            return _json({"part": NAMES[type(part)], **_without_nothing(asdict(part))})


_NOTHING = (("echo", None), ("written", ""), ("tag", ""), ("origin", ""))


def _without_nothing(values: dict[str, JSON]) -> dict[str, JSON]:
    """Drop the members that most parts leave empty: `echo`, `written`, `tag` and `origin`."""
    return {name: value for name, value in values.items() if (name, value) not in _NOTHING}


def message_to_text(message: Message) -> str:
    """Serialise a message as a line of JSON."""
    parts = ",".join(map(_part_to_text, message.parts))
    rest = {"stop": message.stop, "turn": message.turn, "source": message.source}
    return f'{{"role":{_json(message.role)},"parts":[{parts}],{_json(rest)[1:]}'


def _json(value: JSON) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _part_from_json(value: JSON) -> Part | None:
    if not isinstance(value, Mapping):
        return None
    name = value.get("part")
    if name == "result":
        call, content = value.get("call"), value.get("content")
        if not isinstance(call, Mapping) or not isinstance(content, list):
            return None
        blocks = tuple(block for block in map(_part_from_json, content) if isinstance(block, Text | Image))
        return ToolResult(call=_tool_call(call), content=blocks, is_error=bool(value.get("is_error")))
    if name == "call":
        return _tool_call(value)
    if name == "text":
        return Text(
            text=str(value.get("text", "")),
            echo=_echo(value.get("echo")),
            written=str(value.get("written", "")),
            origin=str(value.get("origin", "")),
        )
    if name == "image":
        return Image(media_type=str(value.get("media_type", "")), data=str(value.get("data", "")))
    if name == "thinking":
        return Thinking(
            text=str(value.get("text", "")),
            provider=str(value.get("provider", "")),
            model=str(value.get("model", "")),
            echo=value.get("echo"),
            tag=str(value.get("tag", "")),
        )
    return None


def _tool_call(value: Mapping[str, JSON]) -> ToolCall:
    names = ("id", "wire_id", "name", "arguments")
    values = {name: str(value.get(name, "")) for name in names}
    return ToolCall(
        id=values["id"],
        wire_id=values["wire_id"],
        name=values["name"],
        arguments=values["arguments"],
        echo=_echo(value.get("echo")),
        written=str(value.get("written", "")),
    )


def _echo(value: JSON) -> Echo | None:
    if not isinstance(value, Mapping):
        return None
    return Echo(provider=str(value.get("provider", "")), model=str(value.get("model", "")), value=value.get("value"))


def message_from_text(text: str) -> Message | None:
    """Read a message written by `message_to_text`; None for a form that this version does not know."""
    try:
        value: JSON = json.loads(text)
    except ValueError:
        return None
    if not isinstance(value, Mapping):
        return None
    role, parts, stop, turn = value.get("role"), value.get("parts"), value.get("stop"), value.get("turn")
    if role not in ROLES or not isinstance(parts, list):
        return None
    return Message(
        role=role,  # pyright: ignore[reportArgumentType] - one of ROLES
        parts=tuple(part for part in map(_part_from_json, parts) if part is not None),
        stop=stop if isinstance(stop, str) else None,  # pyright: ignore[reportArgumentType] - our own word, shown only
        turn=turn if isinstance(turn, int) else 0,
        source="host" if value.get("source") == "host" else "",
    )


class Messages(Sequence[Message]):
    """The messages for the model, oldest first. Messages of an earlier process are read on first use.

    Args:
        messages: Messages in memory.
        stored: Number of earlier messages in the store.
        read: Reads the earlier messages as texts; blocks on the disk.
    """

    def __init__(
        self, messages: Sequence[Message] = (), *, stored: int = 0, read: Callable[[], Sequence[str]] | None = None
    ) -> None:
        self._stored = stored
        self._read = read
        self._earlier: Sequence[Message] = ()
        self._later = list(messages)

    @property
    def is_loaded(self) -> bool:
        """Whether the stored messages have been read."""
        return self._read is None

    def load(self) -> None:
        """Read the stored messages, unless already done. Call in a thread if a screen must not wait.

        Raises:
            StoreError: The store cannot be read.
        """
        read = self._read
        if read is not None:
            self._earlier = [message for text in read() if (message := message_from_text(text))]
            self._read = None

    def append(self, message: Message) -> int:
        """Add a message, even if the stored messages are not read yet; returns its number in the store."""
        self._later.append(message)
        return self._stored + len(self._later) - 1

    def __bool__(self) -> bool:
        return bool(self._stored or self._later)

    @override
    def __len__(self) -> int:
        self.load()
        return len(self._earlier) + len(self._later)

    @overload
    def __getitem__(self, index: int) -> Message: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Message]: ...
    @override
    def __getitem__(self, index: int | slice) -> Message | Sequence[Message]:
        if index == -1 and self._later:
            return self._later[-1]
        self.load()
        return [*self._earlier, *self._later][index]

    @override
    def __iter__(self) -> Iterator[Message]:
        self.load()
        yield from self._earlier
        yield from self._later

    @override
    def __eq__(self, other: object) -> bool:
        return list(self) == (list(other) if isinstance(other, Messages) else other)

    __hash__ = None  # pyright: ignore[reportAssignmentType] - it changes, as a list does

    @override
    def __repr__(self) -> str:
        return repr(list(self))
