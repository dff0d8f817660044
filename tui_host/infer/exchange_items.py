"""Turn one exchange into chat items: the question, what was not captured before, text, calls, and why there is no answer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

from tui_host.capture.http.exchange_end import missing_in_words
from tui_host.capture.record import lasted
from tui_host.capture.visible import line
from tui_host.chat.conversation import AnswerItem, AnswerState, CallItem, CallState, Item, NoteItem, UserItem
from tui_host.infer.conversations.model_exchange import ModelExchange
from tui_host.infer.conversations.request_messages import results_of
from tui_host.infer.matching.matcher import REPORTED_DIFFERENTLY, JoinedCall
from tui_host.llm.exchange_summary import end_words

NOTE = ("note",)
"""The key of the item that states why an exchange has no answer."""
Keyed: TypeAlias = tuple[tuple[str, ...], Item]
"""An item with a key unique in the exchange."""
SIDE_REQUEST = "the host asks beside it:"
_SIDE_REQUEST = 200
"""Characters of a side request's question that are shown."""
_TOLD = "told in the request"
_BY_HOST = "approved by its host, not here"
_BY_ORDER = "maybe: by order"
_DEGREES: Mapping[str, tuple[str, ...]] = {"value": ("inferred",), "maybe": ("maybe",), "hand": ("joined by hand",)}
"""How the frames of a call are known, in words."""


# Before the answer.


def opening(exchange: ModelExchange) -> Iterator[Keyed]:
    """Yield the items before an exchange's answer, in order."""
    if exchange.is_retry:
        return
    first = exchange.answer_place + 1
    if exchange.repeated:
        words = f"{exchange.repeated:,} earlier messages were not captured: the request repeats them"
        yield ("repeated",), NoteItem(turn=exchange.turn, kind="note", what=words)
    places = range(first, first + exchange.repeated if exchange.tells_history else first)
    asked = max((place for place in range(first, len(exchange.messages)) if exchange.messages[place].said), default=-1)
    for place in places:
        if exchange.text and place == asked:
            yield ("user",), _question(exchange)
        else:
            for number, item in enumerate(_repeated(exchange, place)):
                yield ("repeated", str(place), str(number)), item
    if exchange.text and asked not in places:
        yield ("user",), _question(exchange)


def _question(exchange: ModelExchange) -> Item:
    if not exchange.is_side_request:
        return UserItem(turn=exchange.turn, text=exchange.text)
    words = line(" ".join(exchange.text.split()), _SIDE_REQUEST)
    return NoteItem(turn=exchange.turn, kind="note", what=f'{SIDE_REQUEST} "{words}"')


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


# The answer.


def items(exchange: ModelExchange, calls: Sequence[JoinedCall], unasked: int) -> Iterator[Keyed]:
    """Yield the items of an exchange's answer so far, with its complete calls; `unasked` answers have no captured request."""
    left = {joined.call.number: joined for joined in calls}
    runs = exchange.fold.runs
    texts = [number for number, run in enumerate(runs) if any(text.strip() for text in run)]
    texts = texts or [number for number, run in enumerate(runs[:1]) if any(run)]
    for number, (text, thinking) in enumerate(runs):
        if number in texts:
            state = _state(exchange) if number == texts[-1] else "done"
            seconds = (exchange.end_ns - exchange.at_ns) / 1e9 if exchange.is_over else 0.0
            yield (
                ("answer", str(number)),
                AnswerItem(
                    turn=exchange.turn, step=exchange.step, text=text, thinking=thinking, state=state, seconds=seconds
                ),
            )
        joined = left.pop(number, None)
        if joined is not None:
            yield ("call", joined.key), _call(exchange, joined)
        elif not exchange.is_over:  # text behind an incomplete call waits, so that items stay where they are
            break
    for joined in left.values():
        yield ("call", joined.key), _call(exchange, joined)
    trouble = _trouble(exchange, unasked) if exchange.is_over else ""
    if trouble:
        yield NOTE, NoteItem(turn=exchange.turn, kind="note", what=trouble)


def _state(exchange: ModelExchange) -> AnswerState:
    if exchange.is_answered:
        return "done"
    return "cut" if exchange.is_over else "streaming"


def _trouble(exchange: ModelExchange, unasked: int) -> str:
    """Return why an answer is none, or not whole; empty for a whole one."""
    if exchange.is_answered:
        return end_words(exchange.fold)
    if exchange.is_missing:
        return missing_in_words(unasked)
    if exchange.lacks and exchange.status < 300:
        return f"of the answer {exchange.lacks}"
    fold, what = exchange.fold, "no answer came"
    if exchange.status >= 300:
        what = f"{exchange.peer} answered {exchange.status}"
    elif fold.failure and not (fold.text or fold.thinking or exchange.folded_calls):
        what = "the answer is an error"
    elif exchange.has_answer:
        what = "the answer broke off"
    return f"{what}: {exchange.trouble}" if exchange.trouble else what


def _approval_words(joined: JoinedCall) -> str:
    """Return how a call was approved, and how its frames and results are known."""
    if not joined.sent:
        return "its frame is not known" if joined.results else ""
    words = [_BY_HOST, *_DEGREES.get(joined.known, ())]
    if joined.known == "maybe" and joined.rivals:
        words[-1] = _BY_ORDER
    elif joined.is_by_order:
        words.append(f"result {_BY_ORDER}")
    if joined.is_reported_differently:
        words.append(REPORTED_DIFFERENTLY)
    return " · ".join(words)


def _call(exchange: ModelExchange, joined: JoinedCall) -> CallItem:
    last = joined.sent[-1] if joined.sent else None
    answer = None if last is None else last.answer
    result = "" if answer is None else next(iter(answer.texts), "")
    took = None if last is None or answer is None else lasted(last.mono_ns, answer.mono_ns)
    state: CallState = "asked" if last is None else "running"
    if joined.results:
        result, state = joined.results[0].text, "done"
    if answer is not None:
        state = "failed" if answer.is_error else "done"
    return CallItem(
        turn=exchange.turn,
        step=exchange.step,
        call=joined.key,
        server=joined.server,
        tool=joined.tool,
        asked=joined.call.arguments,
        sent="" if last is None else joined.call.arguments,
        state=state,
        words=_approval_words(joined),
        result=result,
        contents="" if answer is None else answer.contents,
        milliseconds=(took or 0) / 1e6,
    )
