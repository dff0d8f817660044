"""What the chat shows: items in order, each with the revision of its last change. Fronts read them; the turn loop writes them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Literal, TypeAlias

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
    """

    turn: int
    step: int
    text: str = ""
    thinking: str = ""
    state: AnswerState = "streaming"
    seconds: float = 0.0


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


Item: TypeAlias = UserItem | AnswerItem | CallItem | NoteItem | SummaryItem
KINDS: Mapping[str, type[Item]] = {
    "user": UserItem,
    "answer": AnswerItem,
    "call": CallItem,
    "note": NoteItem,
    "summary": SummaryItem,
}
NAMES = {kind: name for name, kind in KINDS.items()}


def item_to_json(item: Item) -> dict[str, JSON]:
    """The item as the store keeps it."""
    return {"item": NAMES[type(item)], **asdict(item)}


def item_from_json(value: Mapping[str, JSON]) -> Item | None:
    """The item that `item_to_json` wrote; None for a kind or a form that this version does not know."""
    kind = KINDS.get(str(value.get("item")))
    if kind is None:
        return None
    try:
        return kind(**{name: value[name] for name in kind.__slots__ if name in value})  # pyright: ignore[reportArgumentType] - our own JSON
    except TypeError:
        return None


def without_secrets(item: Item, redact: Callable[[str], str]) -> Item:
    """The item as it may be shown and kept; the same object where there is nothing to hide."""
    changed: dict[str, str] = {}
    for name in item.__slots__:
        value: object = getattr(item, name)
        if isinstance(value, str) and value and (redacted := redact(value)) != value:
            changed[name] = redacted
    return replace(item, **changed) if changed else item


class Conversation:
    """The items of one session, with revisions, so that a view can ask what is new.

    Attributes:
        revision: Grows with every change.

    Args:
        keep: Told of each item that is to be kept.
        redact: What every text passes on its way in, so that no secret is shown.
    """

    def __init__(
        self,
        items: Sequence[Item] = (),
        *,
        keep: Callable[[int, Item], None] | None = None,
        redact: Callable[[str], str] = str,
    ) -> None:
        self._items: list[Item] = list(items)
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
        return self._items[number]

    @property
    def items(self) -> Sequence[Item]:
        """All items, oldest first."""
        for number in list(self._growing):
            self._items[number] = without_secrets(self._growing.pop(number)(), self._redact)
        return self._items

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
            self._keep(number, self._items[number])

    def close_open(self) -> None:
        """Say of everything that was left open by an earlier process that it was cut."""
        for number, item in enumerate(self.items):
            match item:
                case AnswerItem(state="streaming"):
                    self.put(number, replace(item, state="cut"))
                case CallItem(state="asked" | "waiting"):
                    self.put(number, replace(item, state="rejected", words="not decided: the program ended"))
                case CallItem(state="running"):
                    self.put(number, replace(item, state="failed", words="cut: the program ended; it may have run"))
                case _:
                    pass
