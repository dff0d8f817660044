"""Find the messages in a request that were not captured when first sent."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from itertools import islice, pairwise

from tui_host.infer.asking.model_exchange import Asking
from tui_host.infer.asking.request_messages import Heard
from tui_host.infer.asking.text_protocols import said_by_person

_ANSWERS = 50
"""How many of a conversation's latest answers to compare with a message."""
_TALKS = 4
"""How many of the latest conversations with the same message to search."""


class Unheard:
    """Takes in requests in order of time and recognises repeated messages.

    A message is recognised together with a neighbour, because single messages recur in many conversations. So a history that a
    host cuts or edits in one place is still recognised.
    """

    def __init__(self) -> None:
        self._marks: dict[bytes, bytes] = {}
        self._pairs: set[tuple[bytes, bytes]] = set()
        self._last_asked: dict[tuple[bytes, bytes], Asking] = {}
        self._talks: dict[bytes, dict[tuple[str, str], None]] = {}
        self._askings: dict[tuple[str, str], list[Asking]] = {}

    def feed(self, asking: Asking, talk: tuple[str, str], after: int) -> tuple[int, ...]:
        """Return the places of uncaptured messages in a request, without the request's own last message.

        Args:
            asking: The next request.
            talk: The key of the conversation.
            after: The place of the answer that the request continues, -1 if missing; all messages before are known.
        """
        first = max(after, 0)
        messages = asking.messages[first:]
        marks = [self._mark(message) for message in messages]
        pairs = list(pairwise([b"" if after > 0 else asking.dialect.encode(), *marks]))
        is_known = [False] * len(marks)
        for place, pair in enumerate(pairs):
            heard = pair in self._pairs or self._is_answer(messages[place], pair[0])
            is_known[place] |= heard
            if heard and place:
                is_known[place - 1] = True
        places = range(after + 1 - first, len(messages) - (messages[-1:] != () and messages[-1].role == "user"))
        unheard = tuple(first + place for place in places if not is_known[place])
        self._pairs.update(pairs)
        if len(asking.messages) > 1:
            self._last_asked[pairs[-1]] = asking
        for mark in marks:
            self._talks.setdefault(mark, {})[talk] = None
        self._askings.setdefault(talk, []).append(asking)
        return unheard

    def continued_by(self, asking: Asking) -> Asking | None:
        """Return the latest request that a new request continues after the host dropped older messages."""
        marks = [self._mark(message) for message in asking.messages]
        for place in reversed(range(2, len(marks))):
            if asking.messages[place].role == "model":
                before = self._last_asked.get((marks[place - 2], marks[place - 1]))
                if before is not None and before.may_continue_as(asking):
                    return before
        return None

    def _is_answer(self, message: Heard, before: bytes) -> bool:
        """Return whether a message repeats a captured answer that followed the message before."""
        if message.role != "model":
            return False
        talks = islice(reversed(self._talks.get(before, {})), _TALKS)
        return any(asking.is_repeated_in(message) for talk in talks for asking in self._last(talk))

    def _last(self, talk: tuple[str, str]) -> Iterator[Asking]:
        askings: Sequence[Asking] = self._askings[talk]
        return islice(reversed(askings), _ANSWERS)

    def _mark(self, message: Heard) -> bytes:
        """Return a mark for a message's words, without wrappings, because hosts change wrappings over time."""
        if message.role != "user":
            return message.mark
        mark = self._marks.get(message.mark)
        if mark is None:
            words = (
                said_by_person(message),
                *(word for piece in message.of("result") for word in (piece.wire_id, piece.text)),
            )
            text = "\0".join(words).encode("utf-8", "surrogatepass")
            mark = self._marks[message.mark] = hashlib.blake2b(text, digest_size=16).digest()
        return mark
