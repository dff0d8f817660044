"""Show a tapped conversation as chat items: questions, what was not captured before, answers, calls, and why there is no answer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from tui_host.capture.http.exchange_end import EMPTY, kept_in_words, missing_in_words
from tui_host.capture.record import MISSING, lasted
from tui_host.capture.visible import line
from tui_host.chat.conversation import AnswerItem, CallItem, Conversation, Item, NoteItem, UserItem
from tui_host.infer.conversations.model_exchange import ExchangeKey, ModelExchange
from tui_host.infer.matching.matcher import REPORTED_DIFFERENTLY, JoinedCall
from tui_host.infer.story import Story
from tui_host.llm.events import TextDelta
from tui_host.llm.exchange_summary import end_words
from tui_host.llm.fold import Fold

_Keyed: TypeAlias = tuple[tuple[str, ...], Item]
"""An item with a key unique in the exchange."""
_NOTE = ("note",)  # the key of the item that states why an exchange has no answer
_NAME, _SIDE_REQUEST = 60, 200  # characters that are shown of a host's name or a question, and of a side request's
_BY_ORDER = "maybe: by order"
_DEGREES: Mapping[str, str] = {"value": "inferred", "maybe": "maybe", "hand": "joined by hand"}


@dataclass(slots=True, eq=False)
class StoryChat:
    """Keeps a chat up to date with a story."""

    _story: Story
    _chat: Conversation
    names_hosts: bool = False  # notes name the host at each change, where the story has several
    _numbers: dict[tuple[str, ...], int] = field(default_factory=dict[tuple[str, ...], int])
    _opened: dict[ExchangeKey, bool] = field(default_factory=dict[ExchangeKey, bool])  # whether as a side request
    _last: ModelExchange | None = None
    _last_turn: int = 0  # the turn shown last, side requests apart
    _failure: NoteItem | None = None  # which the chat ends with, so often
    _failures: int = 0

    def tell(self) -> None:
        """Add what is new in the story."""
        story = self._story
        self.names_hosts |= len(story.hosts) > 1
        joined: dict[ExchangeKey, list[JoinedCall]] = {}
        for call in story.joined():
            joined.setdefault((call.call.capture, call.call.exchange), []).append(call)
        for exchange in story.conversations.exchanges.values():
            if self._opened.get(exchange.key) != exchange.is_side_request:  # a request may turn out to be one later
                self._opened[exchange.key] = exchange.is_side_request
                for key, item in () if exchange.is_retry else _opening(exchange):
                    self._put(exchange, key, item, is_asking=exchange.step == 1)
            for key, item in _items(exchange, joined.get(exchange.key, ()), story.unasked):
                self._put(exchange, key, item)

    def _put(self, exchange: ModelExchange, key: tuple[str, ...], item: Item, *, is_asking: bool = False) -> None:
        number = self._numbers.get((*exchange.key, *key))
        if number is None and key == _NOTE and self._failure is not None and item == self._failure:
            self._failures += 1
            number = len(self._chat) - 1
            self._chat.put(number, replace(self._failure, what=f"{self._failure.what} ({self._failures:,} times)"))
        elif number is None:
            # A story may have many hosts and conversations at once: a change is noted.
            last, self._last = self._last, exchange
            before, words = exchange.parent if is_asking else exchange, ""
            is_near = is_asking and before is not None and _side(before) == self._last_turn
            question = "" if before is None or is_near else before.question
            if question and last is not None and _side(last) != _side(exchange):
                words = f'{"after" if is_asking else "to"} "{line(question, _NAME)}"'
            if _side(exchange) == exchange.turn:
                self._last_turn = exchange.turn
            host_of = self._story.host_of
            if self.names_hosts and (last is None or host_of(last) != host_of(exchange)):
                name, asks = line(host_of(exchange), _NAME) or "a host without a name", " asks" if is_asking else ""
                words = f"{name}, {words}" if words else f"{name}{asks}"
            if words:
                self._chat.add(NoteItem(turn=exchange.turn, kind="note", what=f"{words}:"))
            number = self._chat.add(item)
            self._failure, self._failures = item if isinstance(item, NoteItem) else None, 1
        elif key != _NOTE and self._chat[number] != item:  # an end never changes, and may stand for several exchanges
            self._chat.put(number, item)
        self._numbers[(*exchange.key, *key)] = number


def _side(exchange: ModelExchange) -> int | ExchangeKey:
    return exchange.root.key if exchange.root.is_side_request else exchange.turn


def _opening(exchange: ModelExchange) -> Iterator[_Keyed]:
    """Yield the items before an exchange's answer, in order."""
    first, messages = exchange.answer_place + 1, exchange.messages
    if exchange.repeated:
        words = f"{exchange.repeated:,} earlier messages were not captured: the request repeats them"
        yield ("repeated",), NoteItem(turn=exchange.turn, kind="note", what=words)
    spoken = [place for place in range(first, len(messages)) if messages[place].said] if exchange.text else []
    history = range(first, first + exchange.repeated) if exchange.tells_history else ()
    for place in sorted({*history, *spoken[-1:]}):
        if place not in spoken[-1:]:
            for number, item in enumerate(_repeated(exchange, place)):
                yield ("repeated", str(place), str(number)), item
        elif exchange.is_side_request:
            words = line(" ".join(exchange.text.split()), _SIDE_REQUEST)
            words = f'the host asks beside it: "{words}"'
            yield ("user",), NoteItem(turn=exchange.turn, kind="note", what=words)
        else:
            yield ("user",), UserItem(turn=exchange.turn, text=exchange.text)


def _repeated(exchange: ModelExchange, place: int) -> Iterator[Item]:
    """Yield the items of a message that was not captured when first sent. Their step and duration are not known."""
    message, turn = exchange.messages[place], exchange.turn
    if message.said:
        yield UserItem(turn=turn, text=message.said)
    if message.role != "model":
        return
    fold, reader = Fold(provider="", model="", call_id=str), exchange.reader()
    for event in (*reader.feed(TextDelta(text=message.text, start=0, end=0)), *reader.finish()):
        fold.add(event)
    if fold.text.strip() or fold.thinking:
        yield AnswerItem(turn=turn, step=0, text=fold.text, thinking=fold.thinking, state="done")
    calls = [(part.name, part.text, part.wire_id) for part in message.of("call")]
    calls += [(folded.call.name, folded.call.arguments, "") for folded in fold.calls]
    results, _ = exchange.results_behind(place, [(name, wire_id) for name, _, wire_id in calls])
    for number, (name, arguments, _) in enumerate(calls):
        result = results.get(number)
        yield CallItem(
            turn=turn,
            step=0,
            call=f"{'.'.join(exchange.key)}.before.{place}.{number}",
            server="",
            tool=name,
            asked=arguments,
            state="asked" if result is None else "done",
            words="told in the request",
            result="" if result is None else result.text,
        )


def _items(exchange: ModelExchange, calls: Sequence[JoinedCall], unasked: int) -> Iterator[_Keyed]:
    """Yield the items of an exchange's answer so far, with its complete calls; `unasked` answers have no captured request."""
    left, turn, step = {joined.call.number: joined for joined in calls}, exchange.turn, exchange.step
    runs = exchange.fold.runs
    texts = [number for number, run in enumerate(runs) if any(text.strip() for text in run)]
    seconds = (exchange.end_ns - exchange.at_ns) / 1e9 if exchange.is_over else 0.0
    for number, (text, thinking) in enumerate(runs):
        if number in texts:
            state = "done"
            if number == texts[-1] and not exchange.is_answered:
                state = "cut" if exchange.is_over else "streaming"
            item = AnswerItem(turn=turn, step=step, text=text, thinking=thinking, state=state, seconds=seconds)
            yield ("answer", str(number)), item
        if (joined := left.pop(number, None)) is not None:
            yield ("call", joined.call.key), _call(exchange, joined)
        elif not exchange.is_over:  # text behind an incomplete call waits, so that items stay where they are
            break
    for joined in left.values():
        yield ("call", joined.call.key), _call(exchange, joined)
    if exchange.is_over and (trouble := _trouble(exchange, unasked)):
        yield _NOTE, NoteItem(turn=turn, kind="note", what=trouble)


def _trouble(exchange: ModelExchange, unasked: int) -> str:
    """Return why an answer is none, or not whole; empty for a whole one."""
    fold, status, ending = exchange.fold, exchange.status, exchange.ending
    if exchange.is_answered:
        return end_words(fold)
    if ending.reason == MISSING:
        return missing_in_words(unasked) if status < 0 else f"{status} · the answer's body is {ending.missing}"
    if ending.reason == "complete" and not ending.size and 0 < status < 300:
        return f"{status} · {EMPTY}"
    if (kept := kept_in_words(ending)) and status < 300:
        return f"of the answer {kept}"
    what = "the answer broke off" if status >= 0 else "no answer came"
    if status >= 300:
        what = f"{exchange.speaker.peer} answered {status}"
    elif fold.failure and not (fold.text or fold.thinking or fold.calls):
        what = "the answer is an error"
    why = exchange.refusal or ending.error or ending.reason.replace("complete", "")
    return f"{what}: {why}" if why else what


def _call(exchange: ModelExchange, joined: JoinedCall) -> CallItem:
    last = joined.sent[-1] if joined.sent else None
    answer = None if last is None else last.answer
    took = None if last is None or answer is None else lasted(last.mono_ns, answer.mono_ns)
    texts = [*(result.text for result in joined.results), *(() if answer is None else answer.texts), ""]
    words = "its frame is not known" if joined.results else ""
    state = "done" if joined.results else "asked"
    if last is not None:
        state = state if joined.results else "running"
        how = ["approved by its host, not here", _DEGREES.get(joined.known, "")]
        if joined.known == "maybe" and joined.rivals:
            how[1] = _BY_ORDER
        elif joined.is_by_order:
            how.append(f"result {_BY_ORDER}")
        how += [REPORTED_DIFFERENTLY] if joined.is_reported_differently else []
        words = " · ".join(filter(None, how))
    if answer is not None:
        state = "failed" if answer.is_error else "done"
    return CallItem(
        turn=exchange.turn,
        step=exchange.step,
        call=joined.call.key,
        server=joined.server,
        tool=joined.tool,
        asked=joined.call.arguments,
        sent="" if last is None else joined.call.arguments,
        state=state,
        words=words,
        result=texts[0],
        contents="" if answer is None else answer.contents,
        milliseconds=(took or 0) / 1e6,
    )
