"""Build the chat items before an answer: the question, and what was not captured when it was first sent."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

from tui_host.capture.visible import line
from tui_host.chat.conversation import AnswerItem, CallItem, Item, NoteItem, UserItem
from tui_host.infer.conversations.model_exchange import ModelExchange
from tui_host.infer.conversations.request_messages import MessagePart, results_of

SIDE_REQUEST = "the host asks beside it:"
_SIDE_REQUEST = 200
"""Characters of a side request's question that are shown."""
_TOLD = "told in the request"
_NO_NAME = "a tool"
Keyed: TypeAlias = tuple[tuple[str, ...], Item]


def opening(exchange: ModelExchange) -> Iterator[Keyed]:
    """Yield the items before an exchange's answer, in order, each with a key unique in the exchange."""
    first = exchange.answer_place + 1
    places = range(first, first + exchange.repeated if exchange.tells_history and not exchange.is_retry else first)
    asked = [place for place in range(first, len(exchange.messages)) if exchange.messages[place].said]
    if exchange.repeated and not exchange.is_retry:
        words = f"{exchange.repeated:,} earlier messages were not captured: the request repeats them"
        yield ("repeated",), NoteItem(turn=exchange.turn, kind="note", what=words)
    for place in places:
        if exchange.text and place == asked[-1]:
            yield ("user",), _question(exchange)
        else:
            for number, item in enumerate(_repeated(exchange, place)):
                yield ("repeated", str(place), str(number)), item
    if exchange.text and (not asked or asked[-1] not in places):
        yield ("user",), _question(exchange)


def _repeated(exchange: ModelExchange, place: int) -> Iterator[Item]:
    """Yield the items of a message that was not captured when first sent. Their step and duration are not known."""
    message, turn = exchange.messages[place], exchange.turn
    if message.role != "model":
        if message.said:
            yield UserItem(turn=turn, text=message.said)
        return
    fold = exchange.read_again(message)
    if fold.text.strip() or fold.thinking:
        yield AnswerItem(turn=turn, step=0, text=fold.text, thinking=fold.thinking, state="done")
    calls = [(part.name, part.text, part.wire_id) for part in message.of("call")]
    calls += [(folded.call.name, folded.call.arguments, "") for folded in fold.calls]
    behind = exchange.messages[place + 1 : place + 2]
    results = [part for after in behind for part in results_of(exchange.body, exchange.protocol, after)]
    by_id = {part.wire_id: part for part in results if part.wire_id}
    for number, (name, arguments, wire_id) in enumerate(calls):
        in_order = results[number] if len(results) == len(calls) else None
        result = by_id.get(wire_id, in_order)
        yield CallItem(
            turn=turn,
            step=0,
            call=f"{'.'.join(exchange.key)}.before.{place}.{number}",
            server="",
            tool=name,
            asked=arguments,
            state="asked" if result is None else "done",
            words=_TOLD,
            result="" if result is None else result.text,
        )


def _question(exchange: ModelExchange) -> Item:
    if not exchange.is_side_request:
        return UserItem(turn=exchange.turn, text=exchange.text)
    words = line(" ".join(exchange.text.split()), _SIDE_REQUEST)
    return NoteItem(turn=exchange.turn, kind="note", what=f'{SIDE_REQUEST} "{words}"')


def result_alone(exchange: ModelExchange, key: str, part: MessagePart, words: str) -> CallItem:
    """Return an item for a result whose call is not known."""
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
