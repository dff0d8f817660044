"""Sort a tapped host's requests into conversations and turns, by the messages with which they begin.

A request continues the exchange whose messages are its prefix, and otherwise the one whose calls it tells results of by their
ids; else it begins a conversation.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from tui_host.infer.call_values import Call, Result
from tui_host.infer.conversations.model_exchange import ExchangeKey, ModelExchange

_SEARCHED = 50
"""How many exchanges with one beginning are compared."""
_QUOTED = 4096
"""The longest question searched for; hosts cut longer questions."""


class Conversations:
    """Sorts exchanges into conversations in order of time.

    Attributes:
        exchanges: The exchanges by key, in order.
        turns: The number of turns.
        captures: The captures of model traffic.
    """

    def __init__(self) -> None:
        self.exchanges: dict[ExchangeKey, ModelExchange] = {}
        self.turns = 0
        self.captures: set[str] = set()
        self._newest: ModelExchange | None = None  # which began the newest turn
        self._last: ModelExchange | None = None  # of the newest turn, side requests apart
        self._by_mark: dict[int, list[ModelExchange]] = {}
        self._by_wire_id: dict[tuple[str, str], set[ExchangeKey]] = {}
        self._results: dict[ExchangeKey, Sequence[tuple[Call, Result]]] = {}

    def add(self, exchange: ModelExchange) -> None:
        """Add the next exchange as soon as its request is read, and set its place in a conversation."""
        marks = _prefixes(exchange)
        exchange.mark = marks[-1]
        self._continue(exchange, marks)
        parent = None if exchange.parent is None else self.exchanges[exchange.parent]
        new = exchange.messages[exchange.answer_place + 1 :]
        answers = [place for place, message in enumerate(new) if message.role == "model"]
        exchange.repeated = answers[-1] + 1 if answers else 0
        exchange.tells_history = parent is not None or exchange.key[0] not in self.captures
        question = next(filter(None, (message.said for message in reversed(new))), "")
        failed = self._failed_before(exchange)
        if failed is not None:
            exchange.turn, exchange.step, exchange.conversation = failed.turn, failed.step, failed.conversation
            exchange.is_retry = True
        elif parent is not None and (not question or self.root(parent).is_side_request):
            exchange.turn, exchange.step, exchange.conversation = parent.turn, parent.step + 1, parent.conversation
        else:
            exchange.text = question
            exchange.conversation = exchange.key if parent is None else parent.conversation
            self._begin(exchange)
        exchange.previous = exchange.parent if failed is None else failed.key
        self.exchanges[exchange.key] = exchange
        self.captures.add(exchange.key[0])
        self._by_mark.setdefault(exchange.mark, []).append(exchange)
        if parent is not None:
            parent.children.append(exchange.key)
        if exchange.turn == self.turns and not self.root(exchange).is_side_request:
            self._last = exchange

    def learn(self, exchange: ModelExchange) -> None:
        """Note that an answer has ended."""
        for call in exchange.calls():
            if call.wire_id:
                self._by_wire_id.setdefault((exchange.dialect, call.wire_id), set()).add(exchange.key)

    def root(self, exchange: ModelExchange) -> ModelExchange:
        """Return the first exchange of a conversation."""
        return self.exchanges.get(exchange.conversation, exchange)

    # Which answer a request continues.

    def _continue(self, exchange: ModelExchange, marks: Sequence[int]) -> None:
        """Set the exchange whose answer a request continues, and the answer's place in the request."""
        messages = exchange.messages
        for place in reversed(range(1, len(messages))):
            before = self._alike(marks[place], exchange) if messages[place].role == "model" else []
            if before:
                repeated = [answer for answer in before if answer.is_repeated_in(messages[place])]
                # A retry brought it whole.
                repeated = [answer for answer in repeated if answer.is_answered] or repeated
                exchange.answer_place = place if repeated else place - 1
                self._choose(exchange, repeated or before)
                exchange.is_certain &= any(answer.begins_like(messages[place]) for answer in repeated)
                return
        for place in reversed(range(len(messages))):
            for part in messages[place].of("result"):
                owners = self._by_wire_id.get((exchange.dialect, part.wire_id), set())
                if len(owners) == 1:
                    (exchange.parent,) = owners
                    exchange.answer_place = place - 1
                    return

    def _alike(self, mark: int, exchange: ModelExchange) -> list[ModelExchange]:
        """Return the latest exchanges whose messages have a mark, the latest first, those of the same tap before all."""
        latest = self._by_mark.get(mark, [])[: -_SEARCHED - 1 : -1]
        fitting = [before for before in latest if before.may_continue_as(exchange)]
        fitting = [before for before in fitting if before.host == exchange.host] or fitting
        return sorted(fitting, key=lambda before: before.key[0] != exchange.key[0])

    def _choose(self, exchange: ModelExchange, answers: Sequence[ModelExchange]) -> None:
        """Choose the answer that awaits a request, else the one that was continued by the same request."""
        waiting: list[ModelExchange] = []
        same: list[ModelExchange] = []
        for answer in answers:
            children = [self.exchanges[key] for key in answer.children]
            # A request that may continue several answers takes none of them from later ones.
            if all(not child.is_certain or (child.mark == exchange.mark and child.has_failed) for child in children):
                waiting.append(answer)
            if any(child.mark == exchange.mark for child in children):
                same.append(answer)
        chosen = waiting or same or answers
        exchange.parent = next((answer for answer in chosen if not answer.children), chosen[0]).key
        exchange.is_certain = len(chosen) == 1

    def _failed_before(self, exchange: ModelExchange) -> ModelExchange | None:
        """Return the request of the newest turn that failed and that this one repeats."""
        last = self._by_mark.get(exchange.mark, [None])[-1]
        if last is None or last.turn != self.turns or last.parent != exchange.parent:
            return None
        return last if last.has_failed and last.host == exchange.host else None

    # Turns.

    def _begin(self, exchange: ModelExchange) -> None:
        """Give an exchange that continues no results a turn: a new one, or the newest for a side request."""
        newest, last = self._newest, self._last
        if newest is not None and last is not None and exchange.parent is None:
            is_open = not last.is_over or (bool(last.folded_calls) and not last.children)
            if _is_beside(exchange, newest) and (is_open or _quotes(exchange, newest.text)):
                exchange.is_side_request = True
                exchange.turn, exchange.step = newest.turn, last.step
                return
        was_beside = (
            newest is not None
            and newest.parent is None
            and _is_beside(newest, exchange)
            and _quotes(newest, exchange.text)
        )
        if newest is not None and was_beside:  # hosts ask for a title first
            newest.is_side_request = True
        else:
            self.turns += 1
        exchange.turn, self._newest = self.turns, exchange

    # What becomes of calls.

    def calls(self) -> Iterator[Call]:
        """Yield all calls that models made, in order, with what later requests tell of them."""
        for exchange in self.exchanges.values():
            calls = exchange.calls()
            if not calls:
                continue
            children = [self.exchanges[key] for key in exchange.children]
            until_ns = min((child.at_ns for child in children if child.is_certain), default=None)
            results: dict[str, list[Result]] = {}
            # Without an id, a second request that tells results may be of an equal call in a history that was cut.
            is_open = not self._has_twin(exchange)
            for child in children:
                for call, result in self._results_in(child, exchange):
                    if is_open or (result.by_id and call.wire_id):
                        results.setdefault(call.key, []).append(result)
                is_open = is_open and child.has_failed
            for call in calls:
                yield replace(
                    call,
                    conversation=exchange.conversation,
                    until_ns=until_ns,
                    results=tuple(results.get(call.key, ())),
                )

    def _has_twin(self, exchange: ModelExchange) -> bool:
        """Return whether the same request had another answer with the same calls: then nobody knows which of the two went on."""
        asked = [(folded.call.name, folded.call.arguments) for folded in exchange.folded_calls]
        twins = (twin for twin in self._by_mark.get(exchange.mark, ()) if twin is not exchange)
        return any(
            asked == [(folded.call.name, folded.call.arguments) for folded in twin.folded_calls] for twin in twins
        )

    def _results_in(self, child: ModelExchange, before: ModelExchange) -> Sequence[tuple[Call, Result]]:
        """Return the results in a request for the calls of the answer before; without an id only where that is certain."""
        results = self._results.get(child.key)
        if results is None:
            pairs = child.results_for(before.calls())
            # A host's own ids tell the call in an answer, but not the answer.
            results = [pair for pair in pairs if child.is_certain or (pair[1].by_id and pair[0].wire_id)]
            if before.is_over:
                self._results[child.key] = results
        return results


def _prefixes(exchange: ModelExchange) -> Sequence[int]:
    """Return a mark for each prefix of a request's conversation, from no message to all messages."""
    if not exchange.body:  # only the answer was captured
        return [hash(exchange.key)]
    marks = [hash(exchange.dialect)]
    for message in exchange.messages:
        marks.append(hash((marks[-1], message.mark)))
    return marks


def _is_beside(exchange: ModelExchange, main: ModelExchange) -> bool:
    """Return whether a request without tools comes from a host that offers tools in another."""
    is_same = (exchange.key[0], exchange.host, exchange.agent) == (main.key[0], main.host, main.agent)
    return is_same and main.has_tools and not exchange.has_tools


def _quotes(exchange: ModelExchange, question: str) -> bool:
    """Return whether a request's one message quotes a question between tags or quotes, or on lines of its own."""
    question = question.strip()
    if len(exchange.messages) != 1 or not 0 < len(question) <= _QUOTED:
        return False
    pattern = rf"(?:^|[\n>\"“`]|: )[ \t]*{re.escape(question)}[ \t]*(?:$|[\n<\"”`])"
    text = exchange.messages[0].text.strip()
    return text != question and re.search(pattern, text) is not None
