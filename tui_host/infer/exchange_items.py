"""Turn one exchange into chat items: text, calls, and results that no evidence assigns to a call."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from tui_host.capture.http.exchange_end import missing_in_words
from tui_host.capture.record import lasted
from tui_host.chat.conversation import AnswerItem, AnswerState, CallItem, CallState, Item, NoteItem
from tui_host.infer.chat_start import result_alone
from tui_host.infer.conversations.conversation_tree import Conversations
from tui_host.infer.conversations.model_exchange import ExchangeKey, ModelExchange
from tui_host.infer.conversations.request_messages import MessagePart, results_of
from tui_host.infer.matching.matcher import REPORTED_DIFFERENTLY, JoinedCall
from tui_host.llm.exchange_summary import end_words

NOTE = ("note",)
"""The key of the item that states why an exchange has no answer."""
_BY_HOST = "approved by its host, not here"
_BY_ORDER = "maybe: by order"
_DEGREES: Mapping[str, tuple[str, ...]] = {"value": ("inferred",), "maybe": ("maybe",), "hand": ("joined by hand",)}
"""How the frames of a call are known, in words."""


def items(
    exchange: ModelExchange, calls: Sequence[JoinedCall], unplaced: Sequence[MessagePart], unasked: int
) -> Iterator[tuple[tuple[str, ...], Item]]:
    """Yield the items, each with a key unique in the exchange.

    Args:
        exchange: The exchange.
        calls: The complete calls of the answer.
        unplaced: Results that no evidence assigns to a call.
        unasked: How many answers have no captured request.
    """
    is_whole = exchange.is_answered
    last: AnswerState = "done" if is_whole else "cut" if exchange.is_over else "streaming"
    left = {joined.call.number: joined for joined in calls}
    runs = exchange.fold.runs
    words = {
        number for number, run in enumerate(runs) if any(text.strip() for text in run) or (not number and any(run))
    }
    for number, (text, thinking) in enumerate(runs):
        if number in words:
            yield (
                ("answer", *([str(number)] if number else ())),
                AnswerItem(
                    turn=exchange.turn,
                    step=exchange.step,
                    text=text,
                    thinking=thinking,
                    state=last if number == max(words) else "done",
                    seconds=(exchange.end_ns - exchange.at_ns) / 1e9 if exchange.is_over else 0.0,
                ),
            )
        joined = left.pop(number, None)
        if joined is not None:
            yield ("call", joined.key), _call(exchange, joined, unplaced)
        elif not exchange.is_over:  # text behind an incomplete call waits, so that items stay where they are
            break
    for joined in left.values():
        yield ("call", joined.key), _call(exchange, joined, unplaced)
    trouble = "" if not exchange.is_over else end_words(exchange.fold) if is_whole else _trouble(exchange, unasked)
    if trouble:
        yield NOTE, NoteItem(turn=exchange.turn, kind="note", what=trouble)


def _trouble(exchange: ModelExchange, unasked: int) -> str:
    if exchange.is_missing:
        return missing_in_words(unasked)
    if exchange.lacks and exchange.status < 300:
        return f"of the answer {exchange.lacks}"
    is_error = bool(exchange.fold.failure) and not (
        exchange.fold.text or exchange.fold.thinking or exchange.folded_calls
    )
    what = "the answer is an error" if is_error else "the answer broke off" if exchange.has_answer else "no answer came"
    what = f"{exchange.peer} answered {exchange.status}" if exchange.status >= 300 else what
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


def _call(exchange: ModelExchange, joined: JoinedCall, unplaced: Sequence[MessagePart]) -> CallItem:
    last = joined.sent[-1] if joined.sent else None
    answer = last.answer if last is not None else None
    reported = joined.results[0].text if joined.results else None
    result = reported if reported is not None else next(iter(answer.texts), "") if answer is not None else ""
    took = lasted(last.mono_ns, answer.mono_ns) if last is not None and answer is not None else None
    state: CallState = "asked"
    if answer is not None:
        state = "failed" if answer.is_error else "done"
    elif reported is not None:
        state = "done"
    elif last is not None:
        state = "running"
    return CallItem(
        turn=exchange.turn,
        step=exchange.step,
        call=joined.key,
        server=joined.server,
        tool=joined.tool,
        asked=joined.call.arguments,
        sent=joined.call.arguments if last is not None else "",
        state=state,
        words=_approval_words(joined) or doubt_in_words(joined, unplaced),
        result=result,
        contents="" if answer is None else answer.contents,
        milliseconds=(took or 0) / 1e6,
    )


_OF_ANOTHER = "told in the request, of one of these calls"
_OF_THIS_NAME = "told in the request, of one of the calls of this name"


class UnassignedResults:
    """Finds the unassigned results of answers.

    Args:
        conversations: The conversations.
    """

    def __init__(self, conversations: Conversations) -> None:
        self._conversations = conversations
        self._results: dict[ExchangeKey, Sequence[MessagePart]] = {}
        self._shown: dict[ExchangeKey, dict[int, MessagePart]] = {}

    def of(self, exchange: ModelExchange, calls: Sequence[JoinedCall]) -> Sequence[MessagePart]:
        """Return the results behind an answer that belong to unknown calls of the answer.

        Args:
            exchange: The exchange of the answer.
            calls: The answer's calls.
        """
        if not exchange.children or not exchange.is_over or all(map(has_result, calls)):
            return ()
        child = exchange.children[0]
        if child not in self._results:
            self._results[child] = list(self._results_after(self._conversations.exchanges[child]))
        placed = {(result.capture, result.exchange, result.start) for call in calls for result in call.results}
        has_ids = any(call.call.wire_id for call in calls)  # then a result with another id belongs to another answer
        return [
            part
            for part in self._results[child]
            if (*child, part.start) not in placed and not (has_ids and part.wire_id)
        ]

    def items(self, exchange: ModelExchange, calls: Sequence[JoinedCall]) -> Iterator[tuple[tuple[str, ...], Item]]:
        """Yield unassigned results as items with keys, and empty items for results assigned since."""
        parts = self.of(exchange, calls)
        before = self._shown.setdefault(exchange.key, {}) if parts else self._shown.get(exchange.key, {})
        before.update((part.start, part) for part in parts)
        now = {part.start for part in parts}
        names = {call.call.name for call in calls if not has_result(call)}
        for start, part in before.items():
            call = f"{'.'.join(exchange.key)}.told.{start}"
            item: Item = AnswerItem(turn=exchange.turn, step=0, text="", state="done")
            if start in now:
                words = _OF_THIS_NAME if part.name in names and len(names) > 1 else _OF_ANOTHER
                item = result_alone(exchange, call, part, words)
            yield ("unplaced", str(start)), item

    def _results_after(self, child: ModelExchange) -> Sequence[MessagePart]:
        behind = (message for message in child.messages[child.answer_place + 1 :] if message.role == "user")
        message = next(behind, None)
        return () if message is None else results_of(child.body, child.protocol, message)


def has_result(joined: JoinedCall) -> bool:
    """Return whether a call's result is known from either side."""
    return bool(joined.results) or (bool(joined.sent) and joined.sent[-1].answer is not None)


def doubt_in_words(joined: JoinedCall, parts: Sequence[MessagePart]) -> str:
    """Return a remark for a call that may own one of the results; empty if the call has a result."""
    if has_result(joined) or not parts:
        return ""
    count = sum(part.name in {"", joined.call.name} for part in parts) or len(parts)
    which = f"which of the {count:,} results" if count > 1 else "whether the result"
    return f"doubtful {which} told below is its own"
