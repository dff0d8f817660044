"""Find the messages in a request that were not captured when first sent."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from itertools import islice, pairwise

from tui_host.infer.conversations.model_exchange import ModelExchange
from tui_host.infer.conversations.request_messages import RequestMessage
from tui_host.infer.conversations.text_protocols import said_by_person

_ANSWERS = 50
"""How many of a conversation's latest answers to compare with a message."""
_CONVERSATIONS = 4
"""How many of the latest conversations with the same message to search."""


class MessageHistory:
    """Takes in requests in order of time and recognises repeated messages.

    A message is recognised together with a neighbour, because single messages recur in many conversations. So a history that a
    host cuts or edits in one place is still recognised.
    """

    def __init__(self) -> None:
        self._marks: dict[bytes, bytes] = {}
        self._pairs: set[tuple[bytes, bytes]] = set()
        self._last_asked: dict[tuple[bytes, bytes], ModelExchange] = {}
        self._conversations: dict[bytes, dict[tuple[str, str], None]] = {}
        self._exchanges: dict[tuple[str, str], list[ModelExchange]] = {}

    def feed(self, exchange: ModelExchange) -> tuple[int, ...]:
        """Return the places of uncaptured messages in the next request, without the request's own last message.

        All messages before the answer that the request continues are known.
        """
        after, conversation = exchange.answer_place, exchange.conversation
        first = max(after, 0)
        messages = exchange.messages[first:]
        marks = [self._mark(message) for message in messages]
        pairs = list(pairwise([b"" if after > 0 else exchange.dialect.encode(), *marks]))
        is_known = [False] * len(marks)
        for place, pair in enumerate(pairs):
            is_repeated = pair in self._pairs or self._is_answer(messages[place], pair[0])
            is_known[place] |= is_repeated
            if is_repeated and place:
                is_known[place - 1] = True
        places = range(after + 1 - first, len(messages) - (messages[-1:] != () and messages[-1].role == "user"))
        uncaptured = tuple(first + place for place in places if not is_known[place])
        self._pairs.update(pairs)
        if len(exchange.messages) > 1:
            self._last_asked[pairs[-1]] = exchange
        for mark in marks:
            self._conversations.setdefault(mark, {})[conversation] = None
        self._exchanges.setdefault(conversation, []).append(exchange)
        return uncaptured

    def continued_by(self, exchange: ModelExchange) -> ModelExchange | None:
        """Return the latest request that a new request continues after the host dropped older messages."""
        marks = [self._mark(message) for message in exchange.messages]
        for place in reversed(range(2, len(marks))):
            if exchange.messages[place].role == "model":
                before = self._last_asked.get((marks[place - 2], marks[place - 1]))
                if before is not None and before.may_continue_as(exchange):
                    return before
        return None

    def _is_answer(self, message: RequestMessage, before: bytes) -> bool:
        """Return whether a message repeats a captured answer that followed the message before."""
        if message.role != "model":
            return False
        conversations = islice(reversed(self._conversations.get(before, {})), _CONVERSATIONS)
        return any(
            exchange.is_repeated_in(message) for conversation in conversations for exchange in self._last(conversation)
        )

    def _last(self, conversation: tuple[str, str]) -> Iterator[ModelExchange]:
        exchanges: Sequence[ModelExchange] = self._exchanges[conversation]
        return islice(reversed(exchanges), _ANSWERS)

    def _mark(self, message: RequestMessage) -> bytes:
        """Return a mark for a message's words, without wrappings, because hosts change wrappings over time."""
        if message.role != "user":
            return message.mark
        mark = self._marks.get(message.mark)
        if mark is None:
            words = (
                said_by_person(message),
                *(word for part in message.of("result") for word in (part.wire_id, part.text)),
            )
            text = "\0".join(words).encode("utf-8", "surrogatepass")
            mark = self._marks[message.mark] = hashlib.blake2b(text, digest_size=16).digest()
        return mark
