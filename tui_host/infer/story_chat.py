"""Show a tapped conversation as chat items."""

from __future__ import annotations

from dataclasses import replace

from tui_host.capture.visible import line
from tui_host.chat.conversation import Conversation, Item, NoteItem, UserItem
from tui_host.infer.conversations.model_exchange import ExchangeKey, ModelExchange
from tui_host.infer.exchange_items import NOTE, items, opening
from tui_host.infer.matching.matcher import JoinedCall
from tui_host.infer.story import Story

_HOST = 60
_NO_NAME = "a host without a name"
_QUESTION = 60
"""Characters by which a question is recognised."""


class StoryChat:
    """Keeps a chat up to date with a story. While it `is_followed` another host may come, so the first one has room for a name."""

    def __init__(self, story: Story, chat: Conversation, *, is_followed: bool = False) -> None:
        self.names_hosts = False  # notes name the host at each change, where the story has several
        self._story = story
        self._chat = chat
        self._is_followed = is_followed
        self._unnamed: tuple[int, ModelExchange] | None = None  # the note in that room
        self._numbers: dict[tuple[str, ...], int] = {}
        self._questions: dict[int | ExchangeKey, str] = {}
        self._opened: dict[ExchangeKey, bool] = {}  # whether as a side request
        self._last: ModelExchange | None = None
        self._last_turn = 0  # the turn shown last, side requests apart
        self._failed: tuple[int, Item, int] | None = None  # the last failure: its number, item and times
        self._revision: int = -1

    def tell(self) -> None:
        """Add what is new in the story."""
        if self._story.revision == self._revision:
            return
        self._revision = self._story.revision
        self.names_hosts |= len(self._story.hosts) > 1
        if self.names_hosts and self._unnamed is not None:
            number, first = self._unnamed
            self._chat.put(number, self._note(first, f"{self._name(first)} asks"))
            self._unnamed = None
        joined: dict[ExchangeKey, list[JoinedCall]] = {}
        for call in self._story.joined():
            joined.setdefault((call.call.capture, call.call.exchange), []).append(call)
        for exchange in self._story.exchanges:
            if self._opened.get(exchange.key) != exchange.is_side_request:
                self._open(exchange)
            for key, item in items(exchange, joined.get(exchange.key, []), self._story.unasked):
                self._put(exchange, (*exchange.key, *key), item)

    def _open(self, exchange: ModelExchange) -> None:
        """Add the items before an answer once, and again when the exchange turns out to be a side request."""
        if self._opened.get(exchange.key) is False:
            self._questions.pop(exchange.turn, None)
        self._opened[exchange.key] = exchange.is_side_request
        before = list(opening(exchange))
        question = exchange.text or next((item.text for _, item in reversed(before) if isinstance(item, UserItem)), "")
        if question:
            self._questions.setdefault(self._side(exchange), question)
        for key, item in before:
            self._put(exchange, (*exchange.key, *key), item, is_asking=exchange.step == 1)

    def _put(self, exchange: ModelExchange, key: tuple[str, ...], item: Item, *, is_asking: bool = False) -> None:
        number, is_end = self._numbers.get(key), key[len(exchange.key) :] == NOTE
        if number is not None:
            if not is_end and self._chat[number] != item:  # an end never changes, and may stand for several exchanges
                self._chat.put(number, item)
            return
        number = self._counted(item) if is_end else None
        if number is None:
            self._note_transition(exchange, is_asking=is_asking)
            number = self._chat.add(item)
            self._failed = (number, item, 1) if is_end else None
        self._numbers[key] = number

    def _counted(self, item: Item) -> int | None:
        """Count a repeated failure in the last note and return the note's number; None for another item."""
        if self._failed is None or self._failed[1] != item or not isinstance(item, NoteItem):
            return None
        number, _, times = self._failed
        self._failed = number, item, times + 1
        self._chat.put(number, replace(item, what=f"{item.what} ({times + 1:,} times)"))
        return number

    # Where the chat changes to another host or conversation, because a story may have many at once.

    def _note_transition(self, exchange: ModelExchange, *, is_asking: bool) -> None:
        last, whose = self._last, self._story.host_of
        words = self._transition(exchange, is_asking=is_asking)
        if self.names_hosts and (last is None or whose(last) != whose(exchange)):
            asks = " asks" if is_asking else ""
            words = f"{self._name(exchange)}, {words}" if words else f"{self._name(exchange)}{asks}"
        if words:
            self._chat.add(self._note(exchange, words))
        elif last is None and self._is_followed:
            self._unnamed = self._chat.add(self._note(exchange, "")), exchange

    def _name(self, exchange: ModelExchange) -> str:
        return line(self._story.host_of(exchange), _HOST) or _NO_NAME

    def _note(self, exchange: ModelExchange, words: str) -> Item:
        return NoteItem(turn=exchange.turn, kind="note", what=f"{words}:" if words else "")

    def _transition(self, exchange: ModelExchange, *, is_asking: bool) -> str:
        """Return words for the conversation that follows; empty where the same one continues or a new one begins."""
        last, self._last = self._last, exchange
        last_turn, side = self._last_turn, self._side(exchange)
        if side == exchange.turn:
            self._last_turn = exchange.turn
        if last is None or self._side(last) == side or (is_asking and exchange.parent is None):
            return ""
        if not is_asking or exchange.parent is None:
            return f"to {self._question(side, exchange.turn)}"
        parent = self._story.conversations.exchanges[exchange.parent]
        if self._side(parent) == last_turn:
            return ""
        return f"after {self._question(self._side(parent), parent.turn)}"

    def _side(self, exchange: ModelExchange) -> int | ExchangeKey:
        """Return a key for the turn, or for the side conversation of a host."""
        return exchange.conversation if self._story.conversations.root(exchange).is_side_request else exchange.turn

    def _question(self, side: int | ExchangeKey, turn: int) -> str:
        """Return the question of a turn or side conversation, shortened."""
        question = line(self._questions.get(side, ""), _QUESTION)
        return f'"{question}"' if question else f"turn {turn}"
