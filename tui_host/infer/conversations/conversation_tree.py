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

_SEARCHED = 50  # exchanges with one beginning that are compared
_QUOTED = 4096  # characters of the longest question searched for; hosts cut longer questions


class Conversations:
    """Sorts exchanges into conversations in order of time.

    Attributes:
        exchanges: The exchanges by key, in order.
        turns: The number of turns.
    """

    def __init__(self) -> None:
        self.exchanges: dict[ExchangeKey, ModelExchange] = {}
        self.turns = 0
        self._captures: set[str] = set()
        self._newest: ModelExchange | None = None  # which began the newest turn
        self._last: ModelExchange | None = None  # of the newest turn, side requests apart
        self._by_mark: dict[int, list[ModelExchange]] = {}
        self._by_wire_id: dict[tuple[str, str], set[ExchangeKey]] = {}

    def add(self, exchange: ModelExchange) -> None:
        """Add the next exchange as soon as its request is read, and set its place in a conversation."""
        # One for each prefix of the conversation; where only the answer was captured, nothing is like it.
        marks = [hash(exchange.dialect.name if exchange.body else exchange.key)]
        for message in exchange.messages:
            marks.append(hash((marks[-1], message.mark)))
        exchange.mark = marks[-1]
        self._find_parent(exchange, marks)
        parent = exchange.parent
        new = exchange.messages[exchange.answer_place + 1 :]
        exchange.repeated = max((place + 1 for place, message in enumerate(new) if message.role == "model"), default=0)
        exchange.tells_history = parent is not None or exchange.key[0] not in self._captures
        question = next(filter(None, (message.said for message in reversed(new))), "")
        failed = self._by_mark.get(exchange.mark, [exchange])[-1]
        exchange.is_retry = failed.has_failed and failed.turn == self.turns and failed.parent is parent
        exchange.is_retry &= failed.speaker.host == exchange.speaker.host
        before = failed if exchange.is_retry else parent
        if before is not None:
            exchange.previous, exchange.root = before.key, before.root
        if before is not None and (exchange.is_retry or not question or before.root.is_side_request):
            exchange.turn, exchange.question = before.turn, before.question
            exchange.step = before.step if exchange.is_retry else before.step + 1
        else:
            exchange.text = exchange.question = question
            self._begin(exchange)
        self.exchanges[exchange.key] = exchange
        self._captures.add(exchange.key[0])
        self._by_mark.setdefault(exchange.mark, []).append(exchange)
        if parent is not None:
            parent.children.append(exchange)
        if exchange.turn == self.turns and not exchange.root.is_side_request:
            self._last = exchange

    def learn(self, exchange: ModelExchange) -> None:
        """Note that an answer has ended."""
        for call in exchange.calls():
            if call.wire_id:
                self._by_wire_id.setdefault((exchange.dialect.name, call.wire_id), set()).add(exchange.key)

    def _find_parent(self, exchange: ModelExchange, marks: Sequence[int]) -> None:
        """Set the exchange whose answer a request continues, and the answer's place in the request."""
        messages = exchange.messages
        for place in reversed(range(1, len(messages))):
            # The latest first, those of the same tap before all.
            latest = (
                self._by_mark.get(marks[place], [])[: -_SEARCHED - 1 : -1] if messages[place].role == "model" else []
            )
            answers = [answer for answer in latest if answer.may_continue_as(exchange)]
            answers.sort(key=lambda answer: answer.key[0] != exchange.key[0])
            repeated = [answer for answer in answers if answer.is_repeated_in(messages[place])]
            if answers:
                exchange.answer_place = place if repeated else place - 1
                # A retry brought it whole.
                possible = [answer for answer in repeated if answer.is_answered] or repeated or answers
                # A request that may continue several answers takes none of them from later ones.
                chosen = [answer for answer in possible if not any(map(_takes, answer.children))] or possible
                exchange.parent = next((answer for answer in chosen if not answer.children), chosen[0])
                exchange.is_certain = bool(repeated) and len(chosen) == 1
                return
        for place in reversed(range(len(messages))):
            for part in messages[place].of("result"):
                owners = self._by_wire_id.get((exchange.dialect.name, part.wire_id), set())
                if len(owners) == 1:
                    exchange.parent, exchange.answer_place = self.exchanges[next(iter(owners))], place - 1
                    return

    def _begin(self, exchange: ModelExchange) -> None:
        """Give an exchange that continues no results a turn: a new one, or the newest for a side request."""
        newest, last = self._newest, self._last
        if newest is not None and last is not None and exchange.parent is None and _is_beside(exchange, newest):
            is_open = not last.is_over or (bool(last.calls()) and not last.children)
            if is_open or _quotes(exchange, newest.text):
                exchange.is_side_request = True
                exchange.turn, exchange.step = newest.turn, last.step
                return
        is_title = newest is not None and newest.parent is None and _is_beside(newest, exchange)
        if newest is not None and is_title and _quotes(newest, exchange.text):  # hosts ask for a title first
            newest.is_side_request = True
        else:
            self.turns += 1
        exchange.turn, self._newest = self.turns, exchange

    def calls(self) -> Iterator[Call]:
        """Yield all calls that models made, in order, with what later requests tell of them."""
        for exchange in self.exchanges.values():
            calls = exchange.calls()
            if not calls:
                continue
            until_ns = min((child.at_ns for child in exchange.children if child.is_certain), default=None)
            results: dict[str, list[Result]] = {}
            # Without an id, a second request that tells results may be of an equal call in a history that was cut.
            is_open = not self._has_twin(exchange)
            for child in exchange.children:
                pairs = list(child.results_for(calls)) if child.results is None else child.results
                child.results = pairs if exchange.is_over else None
                for call, result in pairs:
                    # A host's own ids tell the call in an answer, but not the answer.
                    if (is_open and child.is_certain) or (result.by_id and call.wire_id):
                        results.setdefault(call.key, []).append(result)
                is_open = is_open and child.has_failed
            for call in calls:
                places = tuple(results.get(call.key, ()))
                yield replace(call, until_ns=until_ns, results=places)

    def _has_twin(self, exchange: ModelExchange) -> bool:
        """Return whether the same request had another answer with the same calls: then nobody knows which of the two went on."""
        twins = [exchange, *(twin for twin in self._by_mark.get(exchange.mark, ()) if twin is not exchange)]
        own, *others = ([(call.call.name, call.call.arguments) for call in twin.fold.calls] for twin in twins)
        return own in others


def _takes(child: ModelExchange) -> bool:
    return child.is_certain and not child.has_failed


def _is_beside(exchange: ModelExchange, main: ModelExchange) -> bool:
    """Return whether a request without tools comes from a host that offers tools in another."""
    own, main_speaker = exchange.speaker, main.speaker
    is_same = exchange.key[0] == main.key[0] and own[:3] == main_speaker[:3]  # host, agent and title
    return is_same and main.has_tools and not exchange.has_tools


def _quotes(exchange: ModelExchange, question: str) -> bool:
    """Return whether a request's one message quotes a question between tags or quotes, or on lines of its own."""
    question = question.strip()
    if len(exchange.messages) != 1 or not 0 < len(question) <= _QUOTED:
        return False
    text = exchange.messages[0].text.strip()
    pattern = rf"(?:^|[\n>\"“`]|: )[ \t]*{re.escape(question)}[ \t]*(?:$|[\n<\"”`])"
    return text != question and re.search(pattern, text) is not None
