"""What the chat shows: items in order, each with the revision of its last change. Fronts read them; the turn loop writes them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias, overload

from typing_extensions import override

from tui_host.errors import JSON

AnswerState: TypeAlias = Literal["streaming", "done", "stopped", "cut", "failed"]
CallState: TypeAlias = Literal["asked", "waiting", "running", "done", "failed", "rejected", "invalid"]


@dataclass(frozen=True, slots=True, kw_only=True)
class UserItem:
    """What the person said."""

    turn: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerItem:
    """What the model said in one step, growing while it streams.

    Attributes:
        text: The answer so far, Markdown.
        thinking: The thinking so far, folded on screen.
        seconds: From the request to the last byte.
        options: Answers that the model proposes to the question it asks, one a line.
    """

    turn: int
    step: int
    text: str = ""
    thinking: str = ""
    state: AnswerState = "streaming"
    seconds: float = 0.0
    options: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CallItem:
    """One tool call and what became of it.

    Attributes:
        call: Our id of it, unique in the session.
        server: The server's name; the name as the model wrote it stands in `tool` when there is no such tool.
        asked: The arguments exactly as the model wrote them.
        sent: The arguments that went to the server, empty if nothing did.
        decision: `approved`, `edited`, `rejected`, `invalid`, empty before.
        by: `person`, `rule`, `flag`, `default`, empty before.
        words: Who decided, in words («approved once, by you, after 2.5 s»).
        result: The result as the model is told it.
        progress: The last sign of life of a running call.
        milliseconds: From sending to the result.
    """

    turn: int
    step: int
    call: str
    server: str
    tool: str
    asked: str
    sent: str = ""
    state: CallState = "asked"
    decision: str = ""
    by: str = ""
    words: str = ""
    result: str = ""
    progress: str = ""
    milliseconds: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class NoteItem:
    """Something that the host has to say: an error's card, a stop, a limit.

    Attributes:
        kind: `error` is a card with the provider's own words; `note` a plain line.
        again: The key that tries again applies.
    """

    turn: int
    kind: Literal["error", "note"]
    what: str
    where: str = ""
    remedy: str = ""
    again: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryItem:
    """The line of figures below a turn's last answer. Tokens are the provider's, None if it reported none."""

    turn: int
    steps: int
    calls: int
    seconds: float
    tokens_in: int | None = None
    tokens_out: int | None = None
    tokens_cached: int | None = None
    tokens_thinking: int | None = None


Item: TypeAlias = UserItem | AnswerItem | CallItem | NoteItem | SummaryItem
KINDS: Mapping[str, type[Item]] = {
    "user": UserItem,
    "answer": AnswerItem,
    "call": CallItem,
    "note": NoteItem,
    "summary": SummaryItem,
}
NAMES = {kind: name for name, kind in KINDS.items()}
STORED, SAID = '{"item":"', '{"item":"user"'
"""How `item_to_text` begins: with any item, and with what the person said."""


def item_to_json(item: Item) -> dict[str, JSON]:
    """The item as the store keeps it."""
    return {"item": NAMES[type(item)], **{name: getattr(item, name) for name in item.__slots__}}


def item_from_json(value: Mapping[str, JSON]) -> Item | None:
    """The item that `item_to_json` wrote; None for a kind or a form that this version does not know."""
    kind = KINDS.get(str(value.get("item")))
    if kind is None:
        return None
    try:
        return kind(**{name: value[name] for name in kind.__slots__ if name in value})  # pyright: ignore[reportArgumentType] - our own JSON
    except TypeError:
        return None


def item_to_text(item: Item) -> str:
    """The item as one line of JSON; its kind stands first."""
    return json.dumps(item_to_json(item), ensure_ascii=False, separators=(",", ":"))


def item_from_text(text: str) -> Item:
    """The item that `item_to_text` wrote; what this version cannot read is told in its place, so that numbers stay."""
    try:
        value: JSON = json.loads(text)
    except (ValueError, RecursionError):  # damaged on the disk
        value = None
    item = item_from_json(value) if isinstance(value, Mapping) else None
    return item or NoteItem(turn=0, kind="note", what="something that this version cannot show")


def without_secrets(item: Item, redact: Callable[[str], str]) -> Item:
    """The item as it may be shown and kept; the same object where there is nothing to hide."""
    changed: dict[str, str] = {}
    for name in item.__slots__:
        value: object = getattr(item, name)
        if isinstance(value, str) and value and (redacted := redact(value)) != value:
            changed[name] = redacted
    return replace(item, **changed) if changed else item


class Items(Sequence[Item]):
    """All items of a conversation as they are when they are looked at, oldest first."""

    def __init__(self, conversation: Conversation) -> None:
        self._conversation = conversation

    @override
    def __len__(self) -> int:
        return len(self._conversation)

    @overload
    def __getitem__(self, index: int) -> Item: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Item]: ...
    @override
    def __getitem__(self, index: int | slice) -> Item | Sequence[Item]:
        numbers = range(len(self._conversation))[index]
        return self._conversation[numbers] if isinstance(numbers, int) else [self._conversation[it] for it in numbers]

    @override
    def __iter__(self) -> Iterator[Item]:
        return map(self._conversation.__getitem__, range(len(self._conversation)))

    @override
    def __eq__(self, other: object) -> bool:
        return list(self) == (list(other) if isinstance(other, Items) else other)

    __hash__ = None  # pyright: ignore[reportAssignmentType] - it changes, as a list does

    @override
    def __repr__(self) -> str:
        return repr(list(self))


class Conversation:
    """The items of one session, with revisions, so that a view can ask what is new.

    An item may be given as the text that `item_to_text` wrote: it is read when somebody looks at it.

    Attributes:
        revision: Grows with every change.

    Args:
        keep: Told of each item that is to be kept.
        redact: What every text passes on its way in, so that no secret is shown.
    """

    def __init__(
        self,
        items: Sequence[Item | str] = (),
        *,
        keep: Callable[[int, Item], None] | None = None,
        redact: Callable[[str], str] = str,
    ) -> None:
        self._items: list[Item | str] = list(items)
        self._redact = redact
        self._changed: dict[int, int] = {}  # number -> revision, the latest change last
        self._keep = keep
        self._growing: dict[int, Callable[[], Item]] = {}
        self.revision = 1

    def __len__(self) -> int:
        return len(self._items)

    def __getitem__(self, number: int) -> Item:
        if number in self._growing:
            self._items[number] = without_secrets(self._growing.pop(number)(), self._redact)
        item = self._items[number]
        if isinstance(item, str):
            item = self._items[number] = item_from_text(item)
        return item

    @property
    def items(self) -> Items:
        """All items, oldest first; each is read when it is looked at."""
        return Items(self)

    def unread(self, number: int) -> str | None:
        """The stored text of an item that nobody has looked at yet, None of any other."""
        item = self._items[number]
        return item if isinstance(item, str) else None

    def again(self, *, keep: Callable[[int, Item], None], redact: Callable[[str], str]) -> Conversation:
        """Another conversation of the same items; what nobody has looked at stays so."""
        for number in list(self._growing):
            _ = self[number]
        return Conversation(self._items, keep=keep, redact=redact)

    def said(self, limit: int) -> list[str]:
        """What the person said last, so many times at most, oldest first."""
        found: list[str] = []
        for number in reversed(range(len(self))):
            if len(found) == limit:
                break
            kept = self._items[number]
            if isinstance(kept, str) and not kept.startswith(SAID) and kept.startswith(STORED):
                continue
            item = self[number]
            if isinstance(item, UserItem):
                found.append(item.text)
        return found[::-1]

    def last_turn(self) -> Iterator[tuple[int, Item]]:
        """Numbers and items of the last turn, the last one first; earlier ones are not looked at."""
        last = 0
        for number in reversed(range(len(self))):
            item = self[number]
            if item.turn and item.turn < last:  # none has 0 but what cannot be read
                return
            last = max(last, item.turn)
            yield number, item

    def proposed(self) -> Sequence[str]:
        """The answers that the model's last question proposes; none once the person has gone on."""
        answer = next((item for _, item in self.last_turn() if isinstance(item, AnswerItem)), None)
        return answer.options.splitlines() if answer is not None else ()

    def changed_since(self, revision: int) -> list[int]:
        """Numbers of the items that changed after `revision`, in order. Costs what has changed, not what there is."""
        found: list[int] = []
        for number in reversed(self._changed):
            if self._changed[number] <= revision:
                break
            found.append(number)
        return sorted(found)

    def _touch(self, number: int) -> None:
        self.revision += 1
        self._changed.pop(number, None)
        self._changed[number] = self.revision

    def add(self, item: Item) -> int:
        """Put an item at the end; returns its number, which never changes."""
        self._items.append(without_secrets(item, self._redact))
        self._touch(len(self._items) - 1)
        self._save(len(self._items) - 1)
        return len(self._items) - 1

    def put(self, number: int, item: Item, *, keep: bool = True) -> None:
        """Replace an item. `keep=False` while it streams: the bytes are on disk already, as records."""
        self._growing.pop(number, None)
        self._items[number] = without_secrets(item, self._redact)
        self._touch(number)
        if keep:
            self._save(number)

    def grow(self, number: int, make: Callable[[], Item]) -> None:
        """Say that an item is different now, and how to make it when somebody looks: many tokens, one look."""
        self._growing[number] = make
        self._touch(number)

    def _save(self, number: int) -> None:
        if self._keep is not None:
            self._keep(number, self[number])

    def close_open(self) -> None:
        """Say of everything that was left open by an earlier process that it was cut: only its last turn can be open."""
        for number, item in reversed(list(self.last_turn())):
            match item:
                case AnswerItem(state="streaming"):
                    self.put(number, replace(item, state="cut"))
                case CallItem(state="asked" | "waiting"):
                    self.put(number, replace(item, state="rejected", words="not decided: the program ended"))
                case CallItem(state="running"):
                    self.put(number, replace(item, state="failed", words="cut: the program ended; it may have run"))
                case _:
                    pass


def title_of(text: str) -> str:
    """A session's title: the first line of its first message, at most 60 characters."""
    line = next((line.strip() for line in text.splitlines() if line.strip()), "untitled")
    return line if len(line) <= 60 else f"{line[:59]}…"
