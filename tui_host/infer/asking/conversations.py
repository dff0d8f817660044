"""Sort a tapped host's requests into conversations and turns, and find the results of each answer's calls."""

from __future__ import annotations

import hashlib
from bisect import bisect_left, insort
from collections.abc import Collection, Iterable, Iterator, KeysView, Sequence
from dataclasses import dataclass, field
from itertools import islice

from tui_host.infer.asking.model_exchange import Asking
from tui_host.infer.asking.request_messages import Heard, Piece
from tui_host.infer.asking.results import results_in
from tui_host.infer.asking.side_requests import is_beside
from tui_host.infer.asking.text_protocols import said_by_person
from tui_host.infer.asking.unheard import Unheard
from tui_host.infer.call_values import Asked, Told

Key = tuple[str, str]
AGAIN_NS = 20_000_000_000
"""Hosts retry failed requests within this time even if other conversations went on; later retries are a person's."""
_SEARCHED = 50
"""How many exchanges to search for the answer before a request whose whole beginning matches none."""
_STALE_NS = 300_000_000_000
"""An answer that waited this long for results is abandoned if an equal answer was requested since."""


@dataclass(slots=True)
class Said:
    """An exchange with its place in a conversation.

    Attributes:
        asking: The exchange with the model.
        mark: A mark that exchanges with equal messages share.
        turn: The turn in the story, from 1.
        step: The step in the turn, from 1.
        talk: The key of the conversation's first exchange.
        text: The person's words; empty where the request only continues with results.
        parent: The exchange whose answer the request continues.
        after: The place of that answer among the request's messages, -1 if missing.
        children: The exchanges that continue from the answer.
        again: Whether the request repeats an earlier one.
        unheard: The places of messages that were not captured when first sent.
        before: The exchange before in the conversation, or the first try of the request; None for the first.
        is_beside: Whether the exchange begins a side request of the host's.
    """

    asking: Asking
    mark: bytes
    turn: int
    step: int
    talk: Key
    text: str = ""
    parent: Key | None = None
    after: int = -1
    children: list[Key] = field(default_factory=list[Key])
    again: bool = False
    unheard: tuple[int, ...] = ()
    before: Key | None = None
    is_beside: bool = False

    @property
    def is_waiting(self) -> bool:
        """Whether the answer's calls have no results yet."""
        return bool(self.asking.fold.calls) and not self.children

    @property
    def has_failed(self) -> bool:
        """Whether the answer ended incomplete and no request continues from the answer."""
        return self.asking.is_over and not self.asking.is_answered and not self.children


class _Repetitions:
    """Exchanges that repeat one request: the same messages after the same answer."""

    def __init__(self) -> None:
        self._last: dict[str, Key] = {}
        self._last_of_all: Key | None = None
        self._times: list[int] = []

    def add(self, asking: Asking) -> None:
        """Add an exchange."""
        self._last[asking.key[0]] = self._last_of_all = asking.key
        insort(self._times, asking.at_ns)

    def before(self, key: Key) -> Key | None:
        """Return the latest exchange of a capture, else the latest of all."""
        return self._last.get(key[0], self._last_of_all)

    def after(self, asking: Asking, ns: int) -> int | None:
        """Return the time of the first repetition at or after `ns`, leaving out the exchange itself."""
        place = bisect_left(self._times, ns)
        times = self._times[place : place + 2]
        if asking.at_ns >= ns and asking.at_ns in times[:1]:
            del times[0]
        return next(iter(times), None)


class Talks:
    """Sorts exchanges into conversations in order of time.

    Attributes:
        said: The exchanges, in order.
        turns: The number of turns.
    """

    def __init__(self) -> None:
        self.said: dict[Key, Said] = {}
        self.turns = 0
        self._newest: Said | None = None  # which began the newest turn: with the person's question, once captured
        self._step = 1  # the newest step of that turn
        self._ended = 0, 0  # the newest turn with a final answer, and the time of its end
        self._by_messages: dict[bytes, list[Key]] = {}
        self._by_capture: dict[tuple[bytes, str], list[Key]] = {}
        self._repetitions: dict[tuple[bytes, Key | None], _Repetitions] = {}
        self._by_wire_id: dict[tuple[str, str], list[Key]] = {}
        self._mixed_up: dict[Key, set[Key]] = {}
        self._told_apart: dict[int, bool] = {}  # cached by the id of the group, until something new arrives
        self._times: dict[str, tuple[int, int]] = {}
        self._results: dict[Key, Sequence[tuple[Asked, Told]]] = {}
        self._unheard = Unheard()

    @property
    def captures(self) -> KeysView[str]:
        """The captures of model traffic."""
        return self._times.keys()

    def add(self, asking: Asking) -> Said:
        """Add the next exchange as soon as its request is read, and return its place in a conversation."""
        self._told_apart.clear()
        marks = [f"{asking.key}".encode()] if asking.is_unheard else _prefixes(asking.dialect, asking.messages)
        parent, after = self._parent(asking, marks)
        again = self._repetitions.setdefault((marks[-1], parent), _Repetitions())
        earlier = self.said[before] if (before := again.before(asking.key)) is not None else None
        if earlier is not None and earlier.asking.host != asking.host:
            earlier = None
        new = (said_by_person(message) for message in reversed(asking.messages[after + 1 :]) if message.role == "user")
        text = next(filter(None, new), "")  # hosts that drop calls from the history repeat more
        if earlier is not None and self._is_retry(earlier, asking, parent, text):
            exchange = Said(asking, marks[-1], earlier.turn, earlier.step, earlier.talk, "", parent, after, again=True)
        elif parent is not None and not text:
            before = self.said[parent]
            exchange = Said(asking, marks[-1], before.turn, before.step + 1, before.talk, "", parent, after)
        else:
            last = [message for message in asking.messages if message.role == "user"][-1:]
            text = text if parent is not None else "".join(said_by_person(message) for message in last)
            talk = asking.key if parent is None else self.said[parent].talk
            exchange = Said(asking, marks[-1], 0, 1, talk, text, parent, after)
            self._set_turn(exchange, is_repeated=earlier is not None and earlier.turn == self.turns)
        if exchange.turn == self.turns:
            self._step = max(exchange.step, self._step)
        exchange.before = earlier.asking.key if earlier is not None and exchange.again else parent
        exchange.before = exchange.before or self._newest_before(asking, marks)
        exchange.unheard = self._unheard.feed(asking, exchange.talk, after)
        self.said[asking.key] = exchange
        self._results.pop(asking.key, None)
        capture = asking.key[0]
        self._times[capture] = self._times.get(capture, (asking.at_ns, 0))[0], asking.at_ns
        self._by_messages.setdefault(marks[-1], []).append(asking.key)
        self._by_capture.setdefault((marks[-1], capture), []).append(asking.key)
        again.add(asking)
        if parent is not None:
            self.said[parent].children.append(asking.key)
            self._told_apart.clear()
        return exchange

    def _set_turn(self, exchange: Said, *, is_repeated: bool) -> None:
        """Give an exchange that continues no results a turn: a new turn, or the newest turn for a side request."""
        newest = self._newest
        is_open = newest is not None and not newest.is_beside and not self._is_long_over(newest, exchange.asking.at_ns)
        if newest is not None and is_open and exchange.parent is None and not is_repeated:
            exchange.is_beside = is_beside(exchange.asking, newest.asking, newest.text)
        if newest is not None and exchange.is_beside:
            exchange.turn, exchange.step = newest.turn, self._step
            return
        if newest is not None and newest.parent is None and exchange.asking.at_ns - newest.asking.at_ns < AGAIN_NS:
            newest.is_beside = is_beside(newest.asking, exchange.asking, exchange.text)
        if newest is None or not newest.is_beside:
            self.turns, self._step = self.turns + 1, 1
        exchange.turn, self._newest = self.turns, exchange

    def _is_long_over(self, exchange: Said, at_ns: int) -> bool:
        """Return whether the answer to a person's question is too old for further side requests."""
        turn, ended_ns = self._ended
        return turn == exchange.turn and ended_ns > exchange.asking.at_ns and at_ns - ended_ns >= AGAIN_NS

    def root(self, exchange: Said) -> Said:
        """Return the first exchange of a conversation."""
        return self.said[exchange.talk]

    def _is_retry(self, earlier: Said, asking: Asking, parent: Key | None, text: str) -> bool:
        """Return whether the host, not the person, repeats a request: in the midst of a turn or soon after."""
        if earlier.children:
            return False
        is_soon = asking.at_ns - earlier.asking.end_ns < AGAIN_NS
        is_side = self.root(earlier).is_beside
        is_over = self._ended > (earlier.turn, earlier.asking.at_ns if is_side else asking.at_ns)
        if parent is not None:
            return not text or is_soon or not is_over
        if earlier.asking.key[0] != asking.key[0] and not earlier.asking.is_over:
            return False  # two conversations with the same beginning, in different taps
        is_next = earlier.turn == self.turns and not (is_side and is_over)
        return (is_next or (is_soon and not is_over)) and not earlier.asking.is_answered

    def _newest_before(self, asking: Asking, marks: Sequence[bytes]) -> Key | None:
        """Return the newest exchange of the conversation of a request whose last answer was not captured.

        The earlier request is a prefix of this one, with its answer missing or reported differently; or the host dropped the
        earliest messages, and an answer to the last question of the earlier request is in this one.
        """
        for mark in reversed(marks[1:-1]):
            for key in islice(self._alike(mark, asking), _SEARCHED):
                if self.said[key].asking.may_continue_as(asking):
                    return key
        continued = self._unheard.continued_by(asking)
        return None if continued is None else continued.key

    def learn(self, asking: Asking) -> None:
        """Note that an answer has ended."""
        self._told_apart.clear()
        exchange = self.said[asking.key]
        if asking.is_answered and not asking.fold.calls and not self.root(exchange).is_beside:
            self._ended = max(self._ended, (exchange.turn, asking.end_ns))
        for asked in asking.calls():
            if asked.wire_id:
                owners = self._by_wire_id.setdefault((asking.dialect, asked.wire_id), [])
                if asking.key not in owners:
                    owners.append(asking.key)

    def _alike(self, mark: bytes, asking: Asking) -> Iterator[Key]:
        """Yield exchanges whose messages have a mark, the latest first, exchanges of the same capture before all."""
        capture = asking.key[0]
        yield from reversed(self._by_capture.get((mark, capture), ()))
        yield from (key for key in reversed(self._by_messages.get(mark, ())) if key[0] != capture)

    def _parent(self, asking: Asking, marks: Sequence[bytes]) -> tuple[Key | None, int]:
        """Return the exchange whose answer a request continues, and the answer's place in the request."""
        messages = asking.messages
        for place in reversed(range(1, len(messages))):
            if messages[place].role == "model":
                answers = self._matching_answers(marks[place], asking, messages[place])
                waiting = list(self._waiting(answers, marks[-1])) or self._wrongly_dropped(answers, marks[-1])
                if answers and not waiting and self._is_new_answer(answers[0], messages[place : place + 2], marks[-1]):
                    return self._parent_after_cut(asking, marks[-1])
                self._mix_up(
                    [
                        *waiting,
                        *self._repeatable(answers, waiting, marks[-1]),
                        *self._incomplete_groups(answers, waiting),
                    ]
                )
                if answers:
                    return (waiting or answers)[0], place
        for place in reversed(range(len(messages))):
            owners = {owner for piece in messages[place].of("result") for owner in self._owners(asking, piece)}
            if len(owners) == 1:
                return owners.pop(), place - 1
        return self._parent_after_cut(asking, marks[-1])

    def _matching_answers(self, mark: bytes, asking: Asking, message: Heard) -> Sequence[Key]:
        """Return the exchanges that match a request's beginning up to an answer, the latest first.

        Exchanges of the same host come before others, and exchanges of the same capture, or of captures that ended before this
        one began.
        """
        alike = islice(self._alike(mark, asking), _SEARCHED)
        asked = ((key, self.said[key].asking) for key in alike)
        answers = [key for key, before in asked if before.may_continue_as(asking) and before.is_repeated_in(message)]
        answers = [key for key in answers if self.said[key].asking.host == asking.host] or answers
        capture = asking.key[0]
        began = self._times.get(capture, (asking.at_ns, 0))[0]
        own = [key for key in answers if key[0] == capture or self._times[key[0]][1] <= began]
        return own if answers and answers[0][0] == capture else answers

    def _waiting(self, answers: Sequence[Key], mark: bytes) -> Iterator[Key]:
        """Yield the answers that no request has continued and no host has dropped, the latest first."""
        for place, key in enumerate(answers):
            if self._is_free(key, mark) and not any(self._is_dropped_for(key, later) for later in answers[:place]):
                yield key

    def _is_free(self, key: Key, mark: bytes) -> bool:
        """Return whether no request continued an answer, but for failed tries of the same request."""
        children = (self.said[child] for child in self.said[key].children)
        return all(child.mark == mark and child.has_failed for child in children)

    def _wrongly_dropped(self, answers: Sequence[Key], mark: bytes) -> Sequence[Key]:
        """Return the answers wrongly taken for dropped, where all answers in their place were continued already.

        Two windows on one history may have asked the same. Then the earlier continuation may belong to any of these answers, so
        all of them are noted as mixed up.
        """
        free = [key for key in answers if self._is_free(key, mark) and not self.said[key].has_failed]
        if free:
            until_ns = max(self.said[key].asking.end_ns for key in free) + _STALE_NS
            gone = [key for key in answers if self.said[key].children and key not in free]
            self._mix_up([*free, *gone[:1], *(key for key in gone[1:] if self.said[key].asking.at_ns <= until_ns)])
        return free

    def _repeatable(self, answers: Sequence[Key], waiting: Sequence[Key], mark: bytes) -> Iterator[Key]:
        """Yield continued answers from which a host may send the same request once more.

        The request was repeated since the oldest waiting answer was asked for, or the calls of its answer may still be running.
        """
        for key in answers if waiting else ():
            since = self.said[waiting[-1]].asking.at_ns
            alike = [exchange for child in self.said[key].children if (exchange := self.said[child]).mark == mark]
            lasting = [exchange.asking.end_ns + (_STALE_NS if exchange.is_waiting else 0) for exchange in alike]
            if key not in waiting and max(lasting, default=0) > since:
                yield key

    def _incomplete_groups(self, answers: Sequence[Key], waiting: Sequence[Key]) -> Iterator[Key]:
        """Yield mixed-up answers of which at least one may still lack a continuation."""
        # mostly all are one group
        groups = {id(group): group for key in answers if waiting and (group := self._mixed_up.get(key))}
        spare = {name for name, group in groups.items() if len(self._marks_from(group)) < len(group)}
        yield from (key for key in answers if id(self._mixed_up.get(key)) in spare)

    def _marks_from(self, together: Iterable[Key]) -> set[bytes]:
        """Return the distinct requests that continue from a group of answers."""
        children = (self.said[child] for answer in together for child in self.said[answer].children)
        return {child.mark for child in children if not child.has_failed}

    def _mix_up(self, waiting: Sequence[Key]) -> None:
        """Note that a request continues from one of several answers and nothing tells from which."""
        if len(waiting) > 1:
            groups = {id(group): group for key in waiting if (group := self._mixed_up.get(key))}
            whole = {*waiting}.union(*groups.values())
            self._mixed_up.update(dict.fromkeys(whole, whole))
            self._told_apart.clear()

    def _is_dropped_for(self, key: Key, replacement: Key) -> bool:
        """Return whether a host had dropped an answer when asking for its replacement."""
        new = self.said[replacement]
        is_one_talk = new.parent in self._mixed_group(self.said[key].parent)
        return self._dropped_from(key, is_one_talk=is_one_talk) <= new.asking.at_ns

    def _mixed_group(self, key: Key | None) -> Collection[Key | None]:
        """Return the answers of a mixed-up group once all are told apart; else the answer alone."""
        if key is None or key not in self._mixed_up or not self._is_told_apart(key):
            return (key,)
        return self._mixed_up[key]

    def _dropped_from(self, key: Key, *, is_one_talk: bool) -> int:
        """Return the time from which a host may ask for a replacement of an answer."""
        own = self.said[key]
        is_one_talk = is_one_talk and own.parent is not None and self._is_told_apart(own.parent)
        return own.asking.end_ns + (0 if is_one_talk or own.has_failed else _STALE_NS)

    def _is_new_answer(self, key: Key, repeated: Sequence[Heard], mark: bytes) -> bool:
        """Return whether a repeated answer without call ids must be a new answer, not the one already continued.

        The text beside the calls differs; or the results differ; or the same request was sent before and the conversation
        continued.
        """
        asking, children = self.said[key].asking, [self.said[child] for child in self.said[key].children]
        if not children or key in self._mixed_up or not asking.fold.calls or len(repeated) < 2:
            return False
        if any(piece.wire_id for piece in repeated[0].of("call")):
            return False
        if not asking.has_text_of(repeated[0]):
            return True
        if any(child.mark == mark and child.children for child in children):
            return True
        results = [
            message for child in children for message in child.asking.messages[child.after + 1 : child.after + 2]
        ]
        return bool(results) and all(message.mark != repeated[1].mark for message in results)

    def _parent_after_cut(self, asking: Asking, mark: bytes) -> tuple[Key | None, int]:
        """Find the answer for a request whose host dropped earlier messages: the one match that awaits results."""
        messages = asking.messages
        place = max((place for place, message in enumerate(messages) if message.role == "model"), default=-1)
        if place < 0 or place == len(messages) - 1:
            return None, -1
        recent = islice(reversed(self.said), _SEARCHED)
        waiting = [key for key in recent if all(self.said[child].mark == mark for child in self.said[key].children)]
        asked = [(key, self.said[key].asking) for key in waiting]
        answers = [
            key
            for key, before in asked
            if before.fold.calls
            and not self.is_left(key)
            and before.may_continue_as(asking)
            and before.is_repeated_in(messages[place])
        ]
        return (answers[0], place) if len(answers) == 1 else (None, -1)

    def _owners(self, asking: Asking, piece: Piece) -> Sequence[Key]:
        """Return the exchange that made the call with a result's id; none for an ambiguous id."""
        owners = self._by_wire_id.get((asking.dialect, piece.wire_id), ())
        return owners if len(owners) == 1 else ()

    def is_left(self, key: Key) -> bool:
        """Return whether a host repeated the request of an incomplete answer."""
        return self.said[key].has_failed and self._continued_at(key) is not None

    def until(self, key: Key) -> int | None:
        """Return when the conversation continued from an answer or repeated the request; None while neither happened."""
        together = self._mixed_up.get(key)
        if together is None:
            return self._continued_at(key)
        children = [self.said[child] for answer in together for child in self.said[answer].children]
        return max(child.asking.at_ns for child in children) if self._is_told_apart(key) else None

    def _is_told_apart(self, key: Key) -> bool:
        """Return whether every answer of a mixed-up group has a continuation by a request of its own."""
        together = self._mixed_up.get(key)
        if together is None:
            return True
        if id(together) not in self._told_apart:
            self._told_apart[id(together)] = len(self._marks_from(together)) >= len(together)
        return self._told_apart[id(together)]

    def _continued_at(self, key: Key) -> int | None:
        exchange = self.said[key]
        if exchange.children or not exchange.asking.is_over:
            return min((self.said[child].asking.at_ns for child in exchange.children), default=None)
        since = self._dropped_from(key, is_one_talk=True)
        parents = self._mixed_group(exchange.parent)
        if len(parents) > 1:
            parents = {self.said[twin].parent for twin in self._by_messages[exchange.mark]}.intersection(parents)
        times = (self._repetitions[exchange.mark, parent].after(exchange.asking, since) for parent in parents)
        return min((at_ns for at_ns in times if at_ns is not None), default=None)

    def told(self, key: Key) -> Iterator[tuple[Asked, Told]]:
        """Yield each call of an answer with the places of its result in the requests that follow."""
        exchange = self.said[key]
        calls = exchange.asking.calls()
        for child in exchange.children if calls and key not in self._mixed_up else ():
            yield from self._results_in(child, exchange.asking)

    def _results_in(self, child: Key, before: Asking) -> Sequence[tuple[Asked, Told]]:
        """Return the results in a request for the calls of the answer before; cached once the answer is complete."""
        results = self._results.get(child)
        if results is None:
            exchange = self.said[child]
            results = list(results_in(exchange.asking, exchange.after, before.calls()))
            if before.is_over:
                self._results[child] = results
        return results


def _prefixes(dialect: str, messages: Sequence[Heard]) -> list[bytes]:
    """Return a mark for each prefix of a conversation, from no message to all messages."""
    digest = hashlib.blake2b(dialect.encode(), digest_size=16)
    marks = [digest.digest()]
    for message in messages:
        digest.update(message.mark)
        marks.append(digest.digest())
    return marks
