"""What is stored of a conversation: dataclasses as JSON, by a walk over their annotations, and the messages for the model.

Forms grow by fields with defaults: a text of an earlier version lacks them, and of a text of a later version they are
passed over. So no form needs a number, and what was stored before opens as it is.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import cache
from types import NoneType
from typing import Literal, get_args, get_origin, get_type_hints

from tui_host.capture.json.narrowing import items, mapping
from tui_host.errors import JSON
from tui_host.llm.messages import Image, Message, Text, Thinking, ToolCall, ToolResult


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredForm:
    """How a family of dataclasses is stored. A class that no annotation names alone is named by a tag.

    Fields in `sparse` are left out while they have their default.
    """

    tag: str
    classes: Mapping[str, type]
    sparse: frozenset[str] = frozenset()

    def write(self, value: object) -> str:
        """Return a value as a line of JSON that begins with the tag, if its class has one."""
        return json.dumps(self._members(value, is_tagged=True), ensure_ascii=False, separators=(",", ":"))

    def read(self, text: str, hint: object) -> object:
        """Read a value of this annotation; None for a text that is damaged or of a form not known here."""
        try:
            return self._read(hint, json.loads(text))
        except (ValueError, TypeError, LookupError, RecursionError):
            return None

    def _members(self, value: object, *, is_tagged: bool) -> JSON:
        name = next((name for name, kind in self.classes.items() if is_tagged and kind is type(value)), None)
        members: dict[str, JSON] = {} if name is None else {self.tag: name}
        if is_dataclass(value):
            for field in fields(value):
                member: JSON = getattr(value, field.name)
                if field.name in self.sparse and member == field.default:
                    continue
                if isinstance(member, tuple):
                    member = [self._members(item, is_tagged=True) for item in member]
                if is_dataclass(member):
                    is_named = _hints(type(value))[field.name] is type(member)
                    member = self._members(member, is_tagged=not is_named)
                members[field.name] = member
        return members

    def _read(self, hint: object, value: JSON) -> object:
        """Read a value by its annotation. Raises if the value does not have the annotated type."""
        if hint in _PLAIN:
            return _checked(value, *_PLAIN[hint])
        if isinstance(hint, type) and is_dataclass(hint):
            members, hints = mapping(value), _hints(hint)
            return hint(**{name: self._read(hints[name], members[name]) for name in hints if name in members})
        origin, inner = get_origin(hint), get_args(hint)
        if origin is tuple:
            # A part of a later version is passed over, so that the rest of the message stays.
            return tuple(self._read(kind, item) for item in items(value) if (kind := self._class_of(item)))
        if origin is Literal:
            return _checked(value, str)  # any word: one of a later version is only shown
        if value is None and NoneType in inner:
            return None
        kinds = [kind for kind in inner if kind is not NoneType]
        return self._read(kinds[0] if len(kinds) == 1 else self._class_of(value), value)

    def _class_of(self, value: JSON) -> type | None:
        return self.classes.get(str(mapping(value).get(self.tag)))


_PLAIN: Mapping[object, tuple[type, ...]] = {
    object: (object,),
    bool: (bool,),
    int: (int,),
    float: (float, int),
    str: (str,),
    None: (),  # a class that this version does not know
}


def _checked(value: JSON, *kinds: type) -> JSON:
    if not isinstance(value, kinds):
        raise TypeError(f"{value!r} is of none of the types {kinds}")
    return value


@cache
def _hints(kind: type) -> Mapping[str, object]:
    """Return the annotations of a dataclass. `JSON`, which contains itself, stands for any value."""
    return get_type_hints(kind, localns={"JSON": object})


_MESSAGES = StoredForm(
    tag="part",
    classes={"text": Text, "thinking": Thinking, "image": Image, "call": ToolCall, "result": ToolResult},
    sparse=frozenset({"echo", "written", "tag", "origin"}),
)
_ROLES = frozenset({"system", "user", "assistant", "tool"})


def message_to_text(message: Message) -> str:
    """Serialise a message as a line of JSON."""
    # A result goes without what is stored with the call itself.
    slim = [
        replace(part, call=replace(part.call, echo=None, written="")) if isinstance(part, ToolResult) else part
        for part in message.parts
    ]
    return _MESSAGES.write(replace(message, parts=tuple(slim)))


def message_from_text(text: str) -> Message | None:
    """Read a message written by `message_to_text`; None for a form that this version does not know."""
    message = _MESSAGES.read(text, Message)
    return message if isinstance(message, Message) and message.role in _ROLES else None


class Messages:
    """The messages for the model, oldest first. `read` gives the `stored` ones of an earlier process, when all are asked for."""

    def __init__(
        self, messages: Sequence[Message] = (), *, stored: int = 0, read: Callable[[], Sequence[str]] | None = None
    ) -> None:
        self._messages = list(messages)
        self.count = stored + len(messages)  # in the store: the number of the next one
        self.unread = read

    def load(self) -> None:
        """Read the stored messages, unless already done. Call in a thread if a screen must not wait. Raises StoreError."""
        if self.unread is not None:
            texts, self.unread = self.unread(), None
            self._messages[:0] = [message for text in texts if (message := message_from_text(text))]

    def append(self, message: Message) -> int:
        """Add a message, even if the stored messages are not read yet; returns its number in the store."""
        self._messages.append(message)
        self.count += 1
        return self.count - 1

    def up_to(self, turn: int) -> Messages:
        """Return the messages up to a turn, which go on with numbers of their own. Loads the stored ones."""
        shared = [message for message in self if message.turn <= turn]
        later = len(self._messages) - len(shared)  # counted from the end: a stored one may have been unreadable
        return Messages(shared, stored=self.count - later - len(shared))

    def __bool__(self) -> bool:
        return self.count > 0

    def __iter__(self) -> Iterator[Message]:
        self.load()
        return iter(self._messages)

    @property
    def last(self) -> Message:
        """The newest message. Nothing is read for it where this process has said one."""
        if not self._messages:
            self.load()
        return self._messages[-1]
