"""Sort a tapped host's requests into conversations and turns: each request continues an earlier answer or begins anew."""

from __future__ import annotations

import hashlib
import re
from bisect import bisect_left, insort
from collections.abc import Iterable, Iterator, KeysView, Sequence
from itertools import islice

from tui_host.infer.call_values import Call, Result
from tui_host.infer.conversations.message_history import MessageHistory
from tui_host.infer.conversations.model_exchange import ExchangeKey, ModelExchange
from tui_host.infer.conversations.request_messages import MessagePart, RequestMessage
from tui_host.infer.conversations.text_protocols import said_by_person

AGAIN_NS = 20_000_000_000
"""Hosts retry failed requests within this time even if other conversations went on; later retries are a person's."""
_SEARCHED = 50
"""How many exchanges to search for the answer before a request whose whole beginning matches none."""
_STALE_NS = 300_000_000_000
"""An answer that waited this long for results is abandoned if an equal answer was requested since."""


class _Repetitions:
    """Exchanges that repeat one request: the same messages after the same answer."""

    def __init__(self) -> None:
        self._last: dict[str, ExchangeKey] = {}
        self._last_of_all: ExchangeKey | None = None
        self._times: list[int] = []

    def add(self, exchange: ModelExchange) -> None:
        """Add an exchange."""
        self._last[exchange.key[0]] = self._last_of_all = exchange.key
        insort(self._times, exchange.at_ns)

    def before(self, key: ExchangeKey) -> ExchangeKey | None:
        """Return the latest exchange of a capture, else the latest of all."""
        return self._last.get(key[0], self._last_of_all)

    def after(self, exchange: ModelExchange, ns: int) -> int | None:
        """Return the time of the first repetition at or after `ns`, leaving out the exchange itself."""
        place = bisect_left(self._times, ns)
        times = self._times[place : place + 2]
        if exchange.at_ns >= ns and exchange.at_ns in times[:1]:
            del times[0]
        return next(iter(times), None)


class Conversations:
    """Sorts exchanges into conversations in order of time.

    Attributes:
        exchanges: The exchanges by key, in order.
        turns: The number of turns.
    """

    def __init__(self) -> None:
        self.exchanges: dict[ExchangeKey, ModelExchange] = {}
        self.turns = 0
        self._newest: ModelExchange | None = (
            None  # which began the newest turn: with the person's question, once captured
        )
        self._step = 1  # the newest step of that turn
        self._ended = 0, 0  # the newest turn with a final answer, and the time of its end
        self._by_messages: dict[bytes, list[ExchangeKey]] = {}
        self._repetitions: dict[tuple[bytes, ExchangeKey | None], _Repetitions] = {}
        self._by_wire_id: dict[tuple[str, str], list[ExchangeKey]] = {}
        self._mixed_up: dict[ExchangeKey, set[ExchangeKey]] = {}
        self._are_told_apart: dict[int, bool] = {}  # cached by the id of the group, until something new arrives
        self._times: dict[str, tuple[int, int]] = {}
        self._results: dict[ExchangeKey, Sequence[tuple[Call, Result]]] = {}
        self._history = MessageHistory()

    @property
    def captures(self) -> KeysView[str]:
        """The captures of model traffic."""
        return self._times.keys()

    def add(self, exchange: ModelExchange) -> None:
        """Add the next exchange as soon as its request is read, and set its place in a conversation."""
        self._are_told_apart.clear()
        is_lone = exchange.has_no_request
        marks = [f"{exchange.key}".encode()] if is_lone else _prefixes(exchange.dialect, exchange.messages)
        exchange.mark = marks[-1]
        parent, exchange.answer_place = self._parent(exchange, marks)
        exchange.parent = parent
        repetitions = self._repetitions.setdefault((exchange.mark, parent), _Repetitions())
        earlier = self.exchanges[last] if (last := repetitions.before(exchange.key)) is not None else None
        if earlier is not None and earlier.host != exchange.host:
            earlier = None
        new = exchange.messages[exchange.answer_place + 1 :]
        questions = (said_by_person(message) for message in reversed(new) if message.role == "user")
        text = next(filter(None, questions), "")  # hosts that drop calls from the history repeat more
        if earlier is not None and self._is_retry(earlier, exchange, text):
            exchange.turn, exchange.step, exchange.conversation = earlier.turn, earlier.step, earlier.conversation
            exchange.is_retry = True
        elif parent is not None and not text:
            before = self.exchanges[parent]
            exchange.turn, exchange.step, exchange.conversation = before.turn, before.step + 1, before.conversation
        else:
            last_of_user = [message for message in exchange.messages if message.role == "user"][-1:]
            exchange.step = 1
            exchange.text = text if parent is not None else "".join(map(said_by_person, last_of_user))
            exchange.conversation = exchange.key if parent is None else self.exchanges[parent].conversation
            self._set_turn(exchange, is_repeated=earlier is not None and earlier.turn == self.turns)
        if exchange.turn == self.turns:
            self._step = max(exchange.step, self._step)
        exchange.previous = earlier.key if earlier is not None and exchange.is_retry else parent
        exchange.previous = exchange.previous or self._newest_before(exchange, marks)
        exchange.uncaptured = self._history.feed(exchange)
        self._index(exchange)
        repetitions.add(exchange)

    def _index(self, exchange: ModelExchange) -> None:
        """Make an exchange findable by key, messages, capture and parent."""
        key, capture = exchange.key, exchange.key[0]
        self.exchanges[key] = exchange
        self._results.pop(key, None)
        self._times[capture] = self._times.get(capture, (exchange.at_ns, 0))[0], exchange.at_ns
        self._by_messages.setdefault(exchange.mark, []).append(key)
        if exchange.parent is not None:
            self.exchanges[exchange.parent].children.append(key)
            self._are_told_apart.clear()

    def _set_turn(self, exchange: ModelExchange, *, is_repeated: bool) -> None:
        """Give an exchange that continues no results a turn: a new turn, or the newest turn for a side request."""
        newest = self._newest
        if newest is not None and not newest.is_side_request and exchange.parent is None and not is_repeated:
            exchange.is_side_request = is_side_request(exchange, newest, newest.text)
        if newest is not None and exchange.is_side_request:
            exchange.turn, exchange.step = newest.turn, self._step
            return
        if newest is not None and newest.parent is None and exchange.at_ns - newest.at_ns < AGAIN_NS:
            newest.is_side_request = is_side_request(newest, exchange, exchange.text)
        if newest is None or not newest.is_side_request:
            self.turns, self._step = self.turns + 1, 1
        exchange.turn, self._newest = self.turns, exchange

    def root(self, exchange: ModelExchange) -> ModelExchange:
        """Return the first exchange of a conversation."""
        return self.exchanges[exchange.conversation]

    def _is_retry(self, earlier: ModelExchange, exchange: ModelExchange, text: str) -> bool:
        """Return whether the host, not the person, repeats a request: in the midst of a turn or soon after."""
        if earlier.children:
            return False
        is_soon = exchange.at_ns - earlier.end_ns < AGAIN_NS
        is_side = self.root(earlier).is_side_request
        is_over = self._ended > (earlier.turn, earlier.at_ns if is_side else exchange.at_ns)
        if exchange.parent is not None:
            return not text or is_soon or not is_over
        if earlier.key[0] != exchange.key[0] and not earlier.is_over:
            return False  # two conversations with the same beginning, in different taps
        is_next = earlier.turn == self.turns and not (is_side and is_over)
        return (is_next or (is_soon and not is_over)) and not earlier.is_answered

    def _newest_before(self, exchange: ModelExchange, marks: Sequence[bytes]) -> ExchangeKey | None:
        """Return the newest exchange of the conversation of a request whose last answer was not captured.

        The earlier request is a prefix of this one, with its answer missing or reported differently; or the host dropped the
        earliest messages, and an answer to the last question of the earlier request is in this one.
        """
        for mark in reversed(marks[1:-1]):
            for key in self._alike(mark, exchange):
                if self.exchanges[key].may_continue_as(exchange):
                    return key
        continued = self._history.continued_by(exchange)
        return None if continued is None else continued.key

    def learn(self, exchange: ModelExchange) -> None:
        """Note that an answer has ended."""
        self._are_told_apart.clear()
        if exchange.is_answered and not exchange.folded_calls and not self.root(exchange).is_side_request:
            self._ended = max(self._ended, (exchange.turn, exchange.end_ns))
        for asked in exchange.calls():
            if asked.wire_id:
                owners = self._by_wire_id.setdefault((exchange.dialect, asked.wire_id), [])
                if exchange.key not in owners:
                    owners.append(exchange.key)

    def _alike(self, mark: bytes, exchange: ModelExchange) -> Sequence[ExchangeKey]:
        """Return the latest exchanges whose messages have a mark, the latest first, exchanges of the same capture before all."""
        latest = self._by_messages.get(mark, [])[: -_SEARCHED - 1 : -1]
        return sorted(latest, key=lambda key: key[0] != exchange.key[0])

    def _parent(self, exchange: ModelExchange, marks: Sequence[bytes]) -> tuple[ExchangeKey | None, int]:
        """Return the exchange whose answer a request continues, and the answer's place in the request."""
        messages = exchange.messages
        for place in reversed(range(1, len(messages))):
            if messages[place].role == "model":
                answers = self._matching_answers(marks[place], exchange, messages[place])
                waiting = list(self._waiting(answers, exchange.mark))
                repeated = [key for key in answers if exchange.mark in self._marks_from([key])]
                mixed_up = [key for key in answers if waiting and key in self._mixed_up]
                self._mix_up([*waiting, *mixed_up] or repeated)
                after_cut = self._parent_after_cut(exchange) if answers and not (waiting or repeated) else (None, -1)
                if answers:  # an equal answer may have come since
                    return after_cut if after_cut[0] is not None else ((waiting or repeated or answers)[0], place)
        for place in reversed(range(len(messages))):
            owners = {owner for part in messages[place].of("result") for owner in self._owners(exchange, part)}
            if len(owners) == 1:
                return owners.pop(), place - 1
        return self._parent_after_cut(exchange)

    def _matching_answers(self, mark: bytes, exchange: ModelExchange, message: RequestMessage) -> Sequence[ExchangeKey]:
        """Return the exchanges that match a request's beginning up to an answer, the latest first.

        Only exchanges of the same host count, if there are any.
        """
        asked = ((key, self.exchanges[key]) for key in self._alike(mark, exchange))
        answers = [key for key, before in asked if before.may_continue_as(exchange) and before.is_repeated_in(message)]
        return [key for key in answers if self.exchanges[key].host == exchange.host] or answers

    def _waiting(self, answers: Sequence[ExchangeKey], mark: bytes) -> Iterator[ExchangeKey]:
        """Yield the answers that no request has continued and no host has dropped, the latest first."""
        for place, key in enumerate(answers):
            if self._is_free(key, mark) and not any(self._is_dropped_for(key, later) for later in answers[:place]):
                yield key

    def _is_free(self, key: ExchangeKey, mark: bytes) -> bool:
        """Return whether no request continued an answer, but for failed tries of the same request."""
        children = (self.exchanges[child] for child in self.exchanges[key].children)
        return all(child.mark == mark and child.has_failed for child in children)

    def _marks_from(self, together: Iterable[ExchangeKey]) -> set[bytes]:
        """Return the marks of the requests that continue from a group of answers."""
        children = (self.exchanges[child] for answer in together for child in self.exchanges[answer].children)
        return {child.mark for child in children if not child.has_failed}

    def _mix_up(self, waiting: Sequence[ExchangeKey]) -> None:
        """Note that a request continues from one of several answers and nothing tells from which."""
        if len(waiting) > 1:
            groups = {id(group): group for key in waiting if (group := self._mixed_up.get(key))}
            whole = {*waiting}.union(*groups.values())
            self._mixed_up.update(dict.fromkeys(whole, whole))
            self._are_told_apart.clear()

    def _is_dropped_for(self, key: ExchangeKey, replacement: ExchangeKey) -> bool:
        """Return whether a host had dropped an answer when asking for its replacement."""
        new = self.exchanges[replacement]
        is_one = new.parent == self.exchanges[key].parent
        return self._dropped_from(key, is_one_conversation=is_one) <= new.at_ns

    def _dropped_from(self, key: ExchangeKey, *, is_one_conversation: bool) -> int:
        """Return the time from which a host may ask for a replacement of an answer."""
        own = self.exchanges[key]
        is_one_conversation = is_one_conversation and own.parent is not None and self._is_told_apart(own.parent)
        return own.end_ns + (0 if is_one_conversation or own.has_failed else _STALE_NS)

    def _parent_after_cut(self, exchange: ModelExchange) -> tuple[ExchangeKey | None, int]:
        """Find the answer for a request whose host dropped earlier messages: the one match that awaits results."""
        messages = exchange.messages
        place = max((place for place, message in enumerate(messages) if message.role == "model"), default=-1)
        if place < 0 or place == len(messages) - 1:
            return None, -1
        recent = islice(reversed(self.exchanges), _SEARCHED)
        waiting = [
            key
            for key in recent
            if all(self.exchanges[child].mark == exchange.mark for child in self.exchanges[key].children)
        ]
        asked = [(key, self.exchanges[key]) for key in waiting]
        answers = [
            key
            for key, before in asked
            if before.folded_calls and before.may_continue_as(exchange) and before.is_repeated_in(messages[place])
        ]
        return (answers[0], place) if len(answers) == 1 else (None, -1)

    def _owners(self, exchange: ModelExchange, part: MessagePart) -> Sequence[ExchangeKey]:
        """Return the exchange that made the call with a result's id; none for an ambiguous id."""
        owners = self._by_wire_id.get((exchange.dialect, part.wire_id), ())
        return owners if len(owners) == 1 else ()

    def until(self, key: ExchangeKey) -> int | None:
        """Return when the conversation continued from an answer or repeated the request; None while neither happened."""
        together = self._mixed_up.get(key)
        if together is None:
            return self._continued_at(key)
        children = [self.exchanges[child] for answer in together for child in self.exchanges[answer].children]
        return max(child.at_ns for child in children) if self._is_told_apart(key) else None

    def _is_told_apart(self, key: ExchangeKey) -> bool:
        """Return whether every answer of a mixed-up group has a continuation by a request of its own."""
        together = self._mixed_up.get(key)
        if together is None:
            return True
        if id(together) not in self._are_told_apart:
            self._are_told_apart[id(together)] = len(self._marks_from(together)) >= len(together)
        return self._are_told_apart[id(together)]

    def _continued_at(self, key: ExchangeKey) -> int | None:
        exchange = self.exchanges[key]
        if exchange.children or not exchange.is_over:
            return min((self.exchanges[child].at_ns for child in exchange.children), default=None)
        since = self._dropped_from(key, is_one_conversation=True)
        return self._repetitions[exchange.mark, exchange.parent].after(exchange, since)

    def results_of(self, key: ExchangeKey) -> Iterator[tuple[Call, Result]]:
        """Yield each call of an answer with the places of its result in the requests that follow.

        A request with later answers that match none continues an equal answer of another conversation, unless ids say otherwise.
        """
        exchange = self.exchanges[key]
        calls = exchange.calls()
        for child in exchange.children if calls and key not in self._mixed_up else ():
            later = self.exchanges[child].messages[self.exchanges[child].answer_place + 1 :]
            is_next = not any(message.role == "model" for message in later)
            yield from (pair for pair in self._results_in(child, exchange) if is_next or pair[1].by_id)

    def _results_in(self, child: ExchangeKey, before: ModelExchange) -> Sequence[tuple[Call, Result]]:
        """Return the results in a request for the calls of the answer before; cached once the answer is complete."""
        results = self._results.get(child)
        if results is None:
            exchange = self.exchanges[child]
            results = list(exchange.results_after(exchange.answer_place, before.calls()))
            if before.is_over:
                self._results[child] = results
        return results


def _prefixes(dialect: str, messages: Sequence[RequestMessage]) -> list[bytes]:
    """Return a mark for each prefix of a conversation, from no message to all messages."""
    digest = hashlib.blake2b(dialect.encode(), digest_size=16)
    marks = [digest.digest()]
    for message in messages:
        digest.update(message.mark)
        marks.append(digest.digest())
    return marks


_NATIVE = "native"
_QUOTED = 4096
"""The longest question searched for; hosts cut longer questions."""
_READ = 1 << 18
"""Characters of the other request that are searched."""


def is_side_request(exchange: ModelExchange, main: ModelExchange, question: str) -> bool:
    """Return whether a request is the host's own, about a person's question in another request.

    The answer must be certain, because a person may quote one question in another. So only a request without tools counts,
    beside a request with tools, whose single message quotes the question between tags or quotes, or on lines of its own.

    Args:
        exchange: The request.
        main: The person's request.
        question: The person's question.
    """
    if exchange.key[0] != main.key[0] or exchange.host != main.host or _has_tools(exchange) or not _has_tools(main):
        return False
    question = question.strip()
    if len(exchange.messages) != 1 or exchange.messages[0].role != "user" or not 0 < len(question) <= _QUOTED:
        return False
    text = exchange.messages[0].text[:_READ].strip()
    return text != question and re.search(_quoted(question), text) is not None


def _has_tools(exchange: ModelExchange) -> bool:
    return bool(exchange.offered) or exchange.protocol != _NATIVE


def _quoted(question: str) -> str:
    return rf"(?:^|[\n>\"“`]|: )[ \t]*{re.escape(question)}[ \t]*(?:$|[\n<\"”`])"
