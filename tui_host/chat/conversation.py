"""The items of a chat in order, each with the revision of its last change. The app reads them, the turn loop writes."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import Literal, TypeAlias

from tui_host.chat.stored_messages import StoredForm

AnswerState: TypeAlias = Literal["streaming", "done", "stopped", "cut", "failed"]
CallState: TypeAlias = Literal["asked", "waiting", "running", "done", "failed", "stopped", "rejected", "invalid"]


@dataclass(frozen=True, slots=True, kw_only=True)
class UserItem:
    """A message of the user; or, with the role `assistant` too, of a prompt that the user sent (`origin`: `/server:prompt`)."""

    turn: int
    text: str
    origin: str = ""
    role: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerItem:
    """The model's answer in a step, as Markdown; `options` are the answers that it proposes to its question, a line each."""

    turn: int
    step: int
    text: str = ""
    thinking: str = ""
    state: AnswerState = "streaming"
    seconds: float = 0.0
    options: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CallItem:
    """A tool call and its outcome; texts of several lines have line breaks, and what is not known yet is empty.

    Attributes:
        server: Empty for an unknown tool, whose name as written is in `tool`.
        asked: The arguments exactly as the model wrote them; `sent` as they went to the server.
        decision: `approved`, `edited`, `rejected`, `stopped`, `invalid`; `by` whom: `person`, `rule`, `flag`, `default`; in `words`.
        why: Why it was asked about; empty if it was not.
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
    why: str = ""
    result: str = ""
    contents: str = ""
    structured: str = ""
    misfits: str = ""
    output_misfits: str = ""
    page: str = ""
    progress: str = ""
    waited: float = 0.0
    milliseconds: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class NoteItem:
    """A message from the host: an error, as a card with the provider's own message, a plain note, or what happened to a `server`.

    `again`: the retry key sends the request again. `is_full`: the conversation can go on without its oldest turns.
    """

    turn: int
    kind: Literal["error", "note"]
    what: str
    where: str = ""
    remedy: str = ""
    again: bool = False
    is_full: bool = False
    server: str = ""
    times: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryItem:
    """The figures below a turn's last answer. Tokens and cost are the provider's figures, None if not reported."""

    turn: int
    steps: int
    calls: int
    seconds: float
    tokens_in: int | None = None
    tokens_out: int | None = None
    tokens_cached: int | None = None
    tokens_thinking: int | None = None
    cost: float | None = None
    money: float | None = None  # `cost`, else by the configured prices
    context: int | None = None  # tokens of the last step's request and answer


Item: TypeAlias = UserItem | AnswerItem | CallItem | NoteItem | SummaryItem
STORED, SAID, SUMMED = '{"item":"', '{"item":"user"', '{"item":"summary"'
"""First characters of the text of `ITEM_FORM`: of every item, of a user item, and of a summary."""
ITEM_FORM = StoredForm(
    tag="item",
    sparse=frozenset(("times", "money", "context", "why")),
    classes={"user": UserItem, "answer": AnswerItem, "call": CallItem, "note": NoteItem, "summary": SummaryItem},
)


def item_from_text(text: str) -> Item:
    """Read an item written by `ITEM_FORM`. An unreadable item becomes a note, so that later items keep their numbers."""
    item = ITEM_FORM.read(text, Item)
    if isinstance(item, Item):
        return item
    return NoteItem(turn=0, kind="note", what="this version cannot show this item")


def without_secrets(item: Item, redact: Callable[[str], str]) -> Item:
    """Return the item with secrets redacted; the same object if the item has no secrets."""
    changed: dict[str, str] = {}
    for name in item.__slots__:
        value: object = getattr(item, name)
        if isinstance(value, str) and value and (redacted := redact(value)) != value:
            changed[name] = redacted
    return replace(item, **changed) if changed else item


class Conversation:
    """The items of a session, with revision numbers by which a view finds the changed items. Each passes through `redact`; `keep` stores it.

    A stored item is kept as its text and parsed on first access: a session may have thousands.
    """

    def __init__(
        self,
        items: Sequence[Item | str] = (),
        *,
        keep: Callable[[int, Item], None] = lambda _number, _item: None,
        redact: Callable[[str], str] = str,
    ) -> None:
        self._items: list[Item | str] = list(items)
        self._redact = redact
        self._changed: dict[int, int] = {}  # item number -> revision of its last change, the latest change last
        self._keep = keep
        self._growing: dict[int, Callable[[], Item]] = {}
        self.revision = 1

    def __len__(self) -> int:
        return len(self._items)

    def __iter__(self) -> Iterator[Item]:
        return map(self.__getitem__, range(len(self)))

    def __getitem__(self, number: int) -> Item:
        number = range(len(self._items))[number]
        if number in self._growing:
            self._items[number] = without_secrets(self._growing.pop(number)(), self._redact)
        item = self._items[number]
        if isinstance(item, str):
            item = self._items[number] = item_from_text(item)
        return item

    def unread(self, number: int) -> str | None:
        item = self._items[number]
        return item if isinstance(item, str) else None

    def again(self, *, keep: Callable[[int, Item], None], redact: Callable[[str], str]) -> Conversation:
        for number in list(self._growing):
            _ = self[number]  # made now: what grows here does not grow in the other
        return Conversation(self._items, keep=keep, redact=redact)

    def up_to(self, turn: int) -> Sequence[Item | str]:
        """Return the items up to a turn, unparsed ones as they are stored. Only few are parsed: turns never decrease."""

        def turn_at(number: int) -> int:  # an item that could not be read has turn 0, and goes with the one behind it
            return next((item.turn for at in range(number, len(self)) if (item := self[at]).turn), turn)

        return self._items[: bisect_right(range(len(self)), turn, key=turn_at)]

    def said(self, limit: int) -> list[str]:
        """Return the user's last messages, oldest first, at most `limit`."""
        messages: list[str] = []
        for number in reversed(range(len(self))):
            if len(messages) == limit:
                break
            text = self.unread(number)
            if text is not None and text.startswith(STORED) and not text.startswith(SAID):
                continue  # no need to parse an answer to know that the user did not say it
            item = self[number]
            if isinstance(item, UserItem) and not item.origin:
                messages.append(item.text)
        return messages[::-1]

    def last_turn(self) -> Iterator[tuple[int, Item]]:
        """Yield numbers and items of the last turn, newest first; earlier items are not parsed."""
        last = 0
        for number in reversed(range(len(self))):
            item = self[number]
            if item.turn and item.turn < last:  # only an item that could not be read has turn 0
                return
            last = max(last, item.turn)
            yield number, item

    def proposed(self) -> Sequence[str]:
        """Return the answers proposed with the model's last question; empty once the user has replied."""
        return next((item.options.splitlines() for _, item in self.last_turn() if isinstance(item, AnswerItem)), ())

    def changed_since(self, revision: int) -> list[int]:
        """Return the numbers of the items changed after `revision`, in order. Takes time only for changed items."""
        return sorted(takewhile(lambda number: self._changed[number] > revision, reversed(self._changed)))

    def _touch(self, number: int) -> None:
        self.revision += 1
        self._changed.pop(number, None)  # a dictionary keeps a changed key in its old place
        self._changed[number] = self.revision

    def add(self, item: Item) -> int:
        """Append an item and return its number, which never changes; a note that is equal to the turn's last one counts there."""
        if isinstance(item, NoteItem) and item.kind == "note":
            last = next(((number, note) for number, note in self.last_turn() if isinstance(note, NoteItem)), None)
            if last is not None and replace(last[1], times=1) == without_secrets(item, self._redact):
                self.put(last[0], replace(last[1], times=last[1].times + 1))
                return last[0]
        self._items.append(item)
        self.put(len(self._items) - 1, item)
        return len(self._items) - 1

    def put(self, number: int, item: Item, *, keep: bool = True) -> None:
        """Replace an item. Pass `keep=False` while streaming, when the bytes are already on the disk as records."""
        self._growing.pop(number, None)
        self._items[number] = without_secrets(item, self._redact)
        self._touch(number)
        if keep:
            self._keep(number, self[number])

    def grow(self, number: int, make: Callable[[], Item]) -> None:
        """Mark an item as changed. `make` builds the new value on the next access, so many tokens cost only one new item."""
        self._growing[number] = make
        self._touch(number)

    def close_open(self) -> None:
        """Mark items that an earlier process left open as cut. Only the last turn can have open items."""
        for number, item in reversed(list(self.last_turn())):
            match item:
                case AnswerItem(state="streaming"):
                    self.put(number, replace(item, state="cut"))
                case CallItem(state="asked" | "waiting"):
                    self.put(number, replace(item, state="stopped", words="not decided: the program ended"))
                case CallItem(state="running"):
                    self.put(number, replace(item, state="failed", words="cut: the program ended; it may have run"))
                case _:
                    pass


def title_of(text: str) -> str:
    """Return a session's title: the first line of the user's first message, at most 60 characters."""
    line = next((line.strip() for line in text.splitlines() if line.strip()), "untitled")
    return line if len(line) <= 60 else f"{line[:59]}…"
