"""Build the chat items before an answer: the question, and earlier messages that only the request repeats."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeAlias

from tui_host.capture.visible import line
from tui_host.chat.conversation import AnswerItem, CallItem, Item, NoteItem, UserItem
from tui_host.infer.call_values import Call, Result
from tui_host.infer.conversations.model_exchange import ModelExchange
from tui_host.infer.conversations.request_messages import MessagePart
from tui_host.infer.conversations.text_protocols import results_of, said_by_person

NOT_CAPTURED = "not captured, but told in the request:"
CAPTURED_FROM_HERE = "captured from here on:"
SIDE_REQUEST = "the host asks beside it:"
_SIDE_REQUEST = 200
"""Characters of a side request's question that are shown."""
_TOLD = "told in the request"
_WITHOUT_CALL = "told in the request without its call"
_NO_NAME = "a tool"
Keyed: TypeAlias = tuple[tuple[str, ...], Item]


def opening(exchange: ModelExchange) -> Sequence[Keyed]:
    """Return the items before an exchange's answer, in order, each with a key unique in the exchange.

    Repeated items have no step and no duration, because neither is known; their turn is the turn of the exchange.
    """
    own: list[Keyed] = [(("user",), _question(exchange))] if exchange.text else []
    repeated = [] if exchange.is_retry else list(_RepeatedMessages(exchange).items())
    if all(item is None for item in repeated):
        return own
    is_asked_last = repeated[-1] is None
    before = NoteItem(turn=exchange.turn, kind="note", what=NOT_CAPTURED)
    behind = NoteItem(turn=exchange.turn, kind="note", what=CAPTURED_FROM_HERE)
    keyed: list[Keyed] = []
    for number, item in enumerate((before, *(repeated[:-1] if is_asked_last else repeated), behind)):
        keyed += own if item is None else [(("told", str(number)), item)]
    return [*keyed, *(own if is_asked_last else ())]


def _question(exchange: ModelExchange) -> Item:
    if not exchange.is_side_request:
        return UserItem(turn=exchange.turn, text=exchange.text)
    words = line(" ".join(exchange.text.split()), _SIDE_REQUEST)
    return NoteItem(turn=exchange.turn, kind="note", what=f'{SIDE_REQUEST} "{words}"')


def result_alone(exchange: ModelExchange, key: str, part: MessagePart, words: str) -> CallItem:
    """Return an item for a result whose call is not known.

    Args:
        exchange: The exchange in whose turn the result stands.
        key: The key in place of the call's.
        part: The result.
        words: The remark.
    """
    return CallItem(
        turn=exchange.turn,
        step=0,
        call=key,
        server="",
        tool=part.name or _NO_NAME,
        asked="",
        state="done",
        words=words,
        result=part.text,
    )


class _RepeatedMessages:
    """Reads the messages of a request that were not captured when first sent."""

    def __init__(self, exchange: ModelExchange) -> None:
        self._exchange = exchange
        self._messages = exchange.messages
        self._taken: set[int] = set()

    def items(self) -> Iterator[Item | None]:
        """Yield the items in order; None stands for the request's own question."""
        exchange = self._exchange
        places = {*exchange.uncaptured}
        if self._messages and (places or exchange.parent is None):
            places.add(len(self._messages) - 1)  # this message may hold results
        asked = self._question_place()
        for place in sorted({*places, *asked}):
            if self._messages[place].role != "model":
                yield from self._results_without_calls(place)
                yield from [None] if place in asked else self._person_at(place)
            elif not self._is_for_the_host(place):
                yield from self._answer(place)

    def _question_place(self) -> Sequence[int]:
        """Return the place of the person's question in the request, if there is one."""
        exchange = self._exchange
        behind = reversed(range(exchange.answer_place + 1, len(self._messages)))
        return [place for place in behind if exchange.text and self._words(place) == exchange.text][:1]

    def _words(self, place: int) -> str:
        """Return the person's words in a message."""
        message = self._messages[place]
        return said_by_person(message) if message.role == "user" else ""

    def _person_at(self, place: int) -> Iterator[Item]:
        text = self._words(place)
        if text and place in self._exchange.uncaptured:
            yield UserItem(turn=self._exchange.turn, text=text)

    def _is_for_the_host(self, place: int) -> bool:
        """Return whether an answer only replies to text that the host itself put in, as directory and date."""
        message, before = self._messages[place], place - 1
        if before not in self._exchange.uncaptured or message.of("call"):
            return False
        return not self._words(before) and not self._results(before)

    def _results(self, place: int) -> Sequence[MessagePart]:
        """Return the results in a message."""
        return results_of(self._exchange.body, self._exchange.protocol, self._messages[place])

    def _results_without_calls(self, place: int) -> Iterator[Item]:
        """Yield results whose calls are missing from the request."""
        exchange = self._exchange
        is_captured = exchange.parent is not None and place == exchange.answer_place + 1
        if is_captured or (place and place - 1 not in exchange.uncaptured):
            return
        for part in self._results(place):
            if part.start not in self._taken:
                key = f"{'.'.join(exchange.key)}.{place}.{part.start}"
                yield result_alone(exchange, key, part, _WITHOUT_CALL)

    def _answer(self, place: int) -> Iterator[Item]:
        """Yield the model's text and calls, each call with its result."""
        exchange = self._exchange
        parts = list(exchange.repeated_answer(place))
        calls = [part for part in parts if isinstance(part, Call)]
        results = {call.key: result for call, result in exchange.results_after(place, calls)}
        self._taken.update(result.start for result in results.values())
        for part in parts:
            if isinstance(part, Call):
                yield self._call(part, results.get(part.key))
            elif part.text.strip() or part.thinking:
                yield AnswerItem(turn=exchange.turn, step=0, text=part.text, thinking=part.thinking, state="done")

    def _call(self, call: Call, result: Result | None) -> Item:
        return CallItem(
            turn=self._exchange.turn,
            step=0,
            call=call.key,
            server="",
            tool=call.name,
            asked=call.arguments,
            state="asked" if result is None else "done",
            words=_TOLD,
            result="" if result is None else result.text,
        )
