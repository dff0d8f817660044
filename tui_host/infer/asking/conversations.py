"""Conversations of a tapped host: which request goes on with which answer, in which turn, and which results it tells."""

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
"""So soon hosts try again what failed, though others of their conversations went on meanwhile; later a person does."""
_LOOKED_BACK = 50
"""Exchanges among which the answer is looked for that a request goes on from, where not its whole beginning tells."""
_STALE_NS = 300_000_000_000
"""An answer that has waited so long for its results is left where another just like it was asked for since."""


@dataclass(slots=True)
class Said:
    """An exchange in its conversation.

    Attributes:
        asking: What it says.
        mark: The same for exchanges that send the same messages.
        turn: The turn in the story, from 1.
        step: The step in it, from 1.
        talk: The first exchange of its conversation.
        text: What the person said with it, empty where it goes on with results.
        parent: The exchange whose answer it goes on from.
        after: The place of that answer among its messages, -1 if it is not there.
        children: The exchanges that go on from its answer.
        again: It sends the same as an exchange before it.
        unheard: The places of its messages that were said when nobody listened.
        before: The exchange that asked before in its conversation, or the same; None for the first.
        is_beside: It begins what the host asks of itself beside what the person did in its turn.
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
        """Whether the answer asks for calls that are told nothing yet."""
        return bool(self.asking.fold.calls) and not self.children

    @property
    def has_failed(self) -> bool:
        """Whether no whole answer comes any more, nor has the host taken what came for one."""
        return self.asking.is_over and not self.asking.is_answered and not self.children


class _Again:
    """Exchanges that send the same messages after the same answer: there may be as many as there are exchanges."""

    def __init__(self) -> None:
        self._last: dict[str, Key] = {}
        self._last_of_all: Key | None = None
        self._times: list[int] = []

    def add(self, asking: Asking) -> None:
        """The next one."""
        self._last[asking.key[0]] = self._last_of_all = asking.key
        insort(self._times, asking.at_ns)

    def before(self, key: Key) -> Key | None:
        """The last one: of those through its own tap, else of all."""
        return self._last.get(key[0], self._last_of_all)

    def after(self, asking: Asking, ns: int) -> int | None:
        """When the first other than one of them was asked for, from a time on."""
        place = bisect_left(self._times, ns)
        found = self._times[place : place + 2]
        if asking.at_ns >= ns and asking.at_ns in found[:1]:
            del found[0]
        return next(iter(found), None)


class Talks:
    """Sorts exchanges into conversations as they come.

    Attributes:
        said: The exchanges, in order.
        turns: How many turns there are.
    """

    def __init__(self) -> None:
        self.said: dict[Key, Said] = {}
        self.turns = 0
        self._newest: Said | None = None  # with which the newest turn began: what the person asked, once that is there
        self._step = 1  # the newest of that turn
        self._ended = 0, 0  # the newest turn of which an answer came that asks for nothing, and when it did
        self._by_messages: dict[bytes, list[Key]] = {}
        self._by_capture: dict[tuple[bytes, str], list[Key]] = {}
        self._again: dict[tuple[bytes, Key | None], _Again] = {}
        self._by_wire_id: dict[tuple[str, str], list[Key]] = {}
        self._tangled: dict[Key, set[Key]] = {}
        self._told_apart: dict[int, bool] = {}  # by which of these sets, while nothing is new
        self._times: dict[str, tuple[int, int]] = {}
        self._results: dict[Key, Sequence[tuple[Asked, Told]]] = {}
        self._unheard = Unheard()

    @property
    def captures(self) -> KeysView[str]:
        """Where models are asked."""
        return self._times.keys()

    def add(self, asking: Asking) -> Said:
        """The next exchange, as soon as its request is there; those before it in its conversation must have come."""
        self._told_apart.clear()
        marks = [f"{asking.key}".encode()] if asking.is_unheard else _prefixes(asking.dialect, asking.messages)
        parent, after = self._parent(asking, marks)
        again = self._again.setdefault((marks[-1], parent), _Again())
        earlier = self.said[before] if (before := again.before(asking.key)) is not None else None
        if earlier is not None and earlier.asking.host != asking.host:
            earlier = None
        new = (said_by_person(each) for each in reversed(asking.messages[after + 1 :]) if each.role == "user")
        text = next(filter(None, new), "")  # hosts that drop calls from the history repeat more
        if earlier is not None and self._is_again(earlier, asking, parent, text):
            said = Said(asking, marks[-1], earlier.turn, earlier.step, earlier.talk, "", parent, after, again=True)
        elif parent is not None and not text:
            before = self.said[parent]
            said = Said(asking, marks[-1], before.turn, before.step + 1, before.talk, "", parent, after)
        else:
            last = [message for message in asking.messages if message.role == "user"][-1:]
            text = text if parent is not None else "".join(said_by_person(message) for message in last)
            talk = asking.key if parent is None else self.said[parent].talk
            said = Said(asking, marks[-1], 0, 1, talk, text, parent, after)
            self._begin(said, is_repeated=earlier is not None and earlier.turn == self.turns)
        if said.turn == self.turns:
            self._step = max(said.step, self._step)
        said.before = earlier.asking.key if earlier is not None and said.again else parent
        said.before = said.before or self._continued(asking, marks)
        said.unheard = self._unheard.feed(asking, said.talk, after)
        self.said[asking.key] = said
        self._results.pop(asking.key, None)
        capture = asking.key[0]
        self._times[capture] = self._times.get(capture, (asking.at_ns, 0))[0], asking.at_ns
        self._by_messages.setdefault(marks[-1], []).append(asking.key)
        self._by_capture.setdefault((marks[-1], capture), []).append(asking.key)
        again.add(asking)
        if parent is not None:
            self.said[parent].children.append(asking.key)
            self._told_apart.clear()
        return said

    def _begin(self, said: Said, *, is_repeated: bool) -> None:
        """Give what goes on with nothing the turn beside which it is asked, or in which it is what another was asked beside, else a new one."""
        newest = self._newest
        is_open = newest is not None and not newest.is_beside and not self._is_long_over(newest, said.asking.at_ns)
        if newest is not None and is_open and said.parent is None and not is_repeated:
            said.is_beside = is_beside(said.asking, newest.asking, newest.text)
        if newest is not None and said.is_beside:
            said.turn, said.step = newest.turn, self._step
            return
        if newest is not None and newest.parent is None and said.asking.at_ns - newest.asking.at_ns < AGAIN_NS:
            newest.is_beside = is_beside(newest.asking, said.asking, said.text)
        if newest is None or not newest.is_beside:
            self.turns, self._step = self.turns + 1, 1
        said.turn, self._newest = self.turns, said

    def _is_long_over(self, said: Said, at_ns: int) -> bool:
        """Whether what a person asked had its answer so long ago that a host has nothing to ask beside it any more."""
        turn, ended_ns = self._ended
        return turn == said.turn and ended_ns > said.asking.at_ns and at_ns - ended_ns >= AGAIN_NS

    def root(self, said: Said) -> Said:
        """The first exchange of its conversation."""
        return self.said[said.talk]

    def _is_again(self, earlier: Said, asking: Asking, parent: Key | None, text: str) -> bool:
        """Whether a host, and not a person, sends the same once more: while no turn that began since is over, or in the midst of one."""
        if earlier.children:
            return False
        is_soon = asking.at_ns - earlier.asking.end_ns < AGAIN_NS
        is_side = self.root(earlier).is_beside
        is_over = self._ended > (earlier.turn, earlier.asking.at_ns if is_side else asking.at_ns)
        if parent is not None:
            return not text or is_soon or not is_over
        if earlier.asking.key[0] != asking.key[0] and not earlier.asking.is_over:
            return False  # two that begin alike, each through a tap of its own
        is_next = earlier.turn == self.turns and not (is_side and is_over)
        return (is_next or (is_soon and not is_over)) and not earlier.asking.is_answered

    def _continued(self, asking: Asking, marks: Sequence[bytes]) -> Key | None:
        """The newest exchange of the conversation of a request that goes on from no answer that was heard.

        It sent all that this one begins with, and its answer did not come, or is told as another; or the host drops what was said
        first, and an answer to what it asked last stands in this one.
        """
        for mark in reversed(marks[1:-1]):
            for key in islice(self._alike(mark, asking), _LOOKED_BACK):
                if self.said[key].asking.may_go_on_as(asking):
                    return key
        found = self._unheard.going_on_in(asking)
        return None if found is None else found.key

    def learn(self, asking: Asking) -> None:
        """An answer has come to its end."""
        self._told_apart.clear()
        said = self.said[asking.key]
        if asking.is_answered and not asking.fold.calls and not self.root(said).is_beside:
            self._ended = max(self._ended, (said.turn, asking.end_ns))
        for asked in asking.calls():
            if asked.wire_id:
                owners = self._by_wire_id.setdefault((asking.dialect, asked.wire_id), [])
                if asking.key not in owners:
                    owners.append(asking.key)

    def _alike(self, mark: bytes, asking: Asking) -> Iterator[Key]:
        """The exchanges before one that send messages of a mark, the last one first; before all, those through its own tap."""
        capture = asking.key[0]
        yield from reversed(self._by_capture.get((mark, capture), ()))
        yield from (key for key in reversed(self._by_messages.get(mark, ())) if key[0] != capture)

    def _parent(self, asking: Asking, marks: Sequence[bytes]) -> tuple[Key | None, int]:
        """The exchange whose answer a request goes on from, and the place of that answer."""
        messages = asking.messages
        for place in reversed(range(1, len(messages))):
            if messages[place].role == "model":
                told = self._told_in(marks[place], asking, messages[place])
                waiting = list(self._waiting(told, marks[-1])) or self._not_dropped(told, marks[-1])
                if told and not waiting and self._went_on(told[0], messages[place : place + 2], marks[-1]):
                    return self._forgetting(asking, marks[-1])
                self._tangle([*waiting, *self._repeating(told, waiting, marks[-1]), *self._spare(told, waiting)])
                if told:
                    return (waiting or told)[0], place
        for place in reversed(range(len(messages))):
            owners = {owner for piece in messages[place].of("result") for owner in self._owners(asking, piece)}
            if len(owners) == 1:
                return owners.pop(), place - 1
        return self._forgetting(asking, marks[-1])

    def _told_in(self, mark: bytes, asking: Asking, message: Heard) -> Sequence[Key]:
        """The exchanges that sent what a request begins with, and whose answer is what it says next, the last first.

        Of these only those that came to the same host, if any did; and through its own tap, or through one that was over when that began.
        """
        alike = islice(self._alike(mark, asking), _LOOKED_BACK)
        asked = ((key, self.said[key].asking) for key in alike)
        told = [key for key, before in asked if before.may_go_on_as(asking) and before.is_told_in(message)]
        told = [key for key in told if self.said[key].asking.host == asking.host] or told
        capture = asking.key[0]
        began = self._times.get(capture, (asking.at_ns, 0))[0]
        own = [key for key in told if key[0] == capture or self._times[key[0]][1] <= began]
        return own if told and told[0][0] == capture else told

    def _waiting(self, told: Sequence[Key], mark: bytes) -> Iterator[Key]:
        """The answers from which one may go on now, as none has yet, nor were they dropped; the last first."""
        for place, key in enumerate(told):
            if self._is_free(key, mark) and not any(self._is_dropped_for(key, later) for later in told[:place]):
                yield key

    def _is_free(self, key: Key, mark: bytes) -> bool:
        """Whether no conversation has gone on from an answer, or failed to by a request like one that comes now."""
        children = (self.said[child] for child in self.said[key].children)
        return all(each.mark == mark and each.has_failed for each in children)

    def _not_dropped(self, told: Sequence[Key], mark: bytes) -> Sequence[Key]:
        """The answers that were taken for dropped, where those in their place have gone on and yet another request does from one of all.

        Two windows of one history may have asked the same. Then what went on before may have done so from any of these as well: it is
        noted that nothing tells any more which goes on from which.
        """
        free = [key for key in told if self._is_free(key, mark) and not self.said[key].has_failed]
        if free:
            until_ns = max(self.said[key].asking.end_ns for key in free) + _STALE_NS
            gone = [key for key in told if self.said[key].children and key not in free]
            self._tangle([*free, *gone[:1], *(key for key in gone[1:] if self.said[key].asking.at_ns <= until_ns)])
        return free

    def _repeating(self, told: Sequence[Key], waiting: Sequence[Key], mark: bytes) -> Iterator[Key]:
        """The answers from which a request like one that comes now was made, which may be made again.

        That is where it was made since the first that waits was asked for, or where the calls that it was answered with may wait still.
        """
        for key in told if waiting else ():
            since = self.said[waiting[-1]].asking.at_ns
            alike = [each for child in self.said[key].children if (each := self.said[child]).mark == mark]
            lasting = [each.asking.end_ns + (_STALE_NS if each.is_waiting else 0) for each in alike]
            if key not in waiting and max(lasting, default=0) > since:
                yield key

    def _spare(self, told: Sequence[Key], waiting: Sequence[Key]) -> Iterator[Key]:
        """The answers from one of which nothing may have gone on yet: the same request was made from two of them, maybe twice from one."""
        # Mostly one group of all.
        groups = {id(group): group for key in told if waiting and (group := self._tangled.get(key))}
        spare = {name for name, group in groups.items() if len(self._marks_from(group)) < len(group)}
        yield from (key for key in told if id(self._tangled.get(key)) in spare)

    def _marks_from(self, together: Iterable[Key]) -> set[bytes]:
        """What went on from answers, each different request once."""
        children = (self.said[child] for each in together for child in self.said[each].children)
        return {each.mark for each in children if not each.has_failed}

    def _tangle(self, waiting: Sequence[Key]) -> None:
        """Note that a conversation goes on from one of several answers, and nothing tells from which."""
        if len(waiting) > 1:
            groups = {id(group): group for key in waiting if (group := self._tangled.get(key))}
            whole = {*waiting}.union(*groups.values())
            self._tangled.update(dict.fromkeys(whole, whole))
            self._told_apart.clear()

    def _is_dropped_for(self, key: Key, other: Key) -> bool:
        """Whether an answer was there when a host asked for another in its place, or had waited too long to be meant."""
        new = self.said[other]
        is_one_talk = new.parent in self._together(self.said[key].parent)
        return self._dropped_from(key, is_one_talk=is_one_talk) <= new.asking.at_ns

    def _together(self, key: Key | None) -> Collection[Key | None]:
        """The answers among which one was mixed up, once they are told apart; else it alone."""
        if key is None or key not in self._tangled or not self._is_told_apart(key):
            return (key,)
        return self._tangled[key]

    def _dropped_from(self, key: Key, *, is_one_talk: bool) -> int:
        """When such another may be asked for."""
        own = self.said[key]
        is_one_talk = is_one_talk and own.parent is not None and self._is_told_apart(own.parent)
        return own.asking.end_ns + (0 if is_one_talk or own.has_failed else _STALE_NS)

    def _went_on(self, key: Key, repeated: Sequence[Heard], mark: bytes) -> bool:
        """Whether an answer just like this one may be meant, as its calls have no ids.

        Other words stand beside these now; or they were told other results before; or the very same request was made, and the
        conversation has gone on from it.
        """
        asking, children = self.said[key].asking, [self.said[child] for child in self.said[key].children]
        if not children or key in self._tangled or not asking.fold.calls or len(repeated) < 2:
            return False
        if any(piece.wire_id for piece in repeated[0].of("call")):
            return False
        if not asking.is_worded_as(repeated[0]):
            return True
        if any(child.mark == mark and child.children for child in children):
            return True
        told = [message for child in children for message in child.asking.messages[child.after + 1 : child.after + 2]]
        return bool(told) and all(message.mark != repeated[1].mark for message in told)

    def _forgetting(self, asking: Asking, mark: bytes) -> tuple[Key | None, int]:
        """The same where a host has dropped what was said before: the one answer whose calls stand last, and that waits for results."""
        messages = asking.messages
        place = max((place for place, each in enumerate(messages) if each.role == "model"), default=-1)
        if place < 0 or place == len(messages) - 1:
            return None, -1
        recent = islice(reversed(self.said), _LOOKED_BACK)
        waiting = [key for key in recent if all(self.said[child].mark == mark for child in self.said[key].children)]
        asked = [(key, self.said[key].asking) for key in waiting]
        found = [
            key
            for key, before in asked
            if before.fold.calls
            and not self.is_left(key)
            and before.may_go_on_as(asking)
            and before.is_told_in(messages[place])
        ]
        return (found[0], place) if len(found) == 1 else (None, -1)

    def _owners(self, asking: Asking, piece: Piece) -> Sequence[Key]:
        """The exchanges that asked for a call of this id; ids that come twice name none."""
        found = self._by_wire_id.get((asking.dialect, piece.wire_id), ())
        return found if len(found) == 1 else ()

    def is_left(self, key: Key) -> bool:
        """Whether an answer that did not come to its end was asked for once more."""
        return self.said[key].has_failed and self._went_on_at(key) is not None

    def until(self, key: Key) -> int | None:
        """When the conversation went on from an answer, or the same was asked again in its place; None while neither has."""
        together = self._tangled.get(key)
        if together is None:
            return self._went_on_at(key)
        children = [self.said[child] for each in together for child in self.said[each].children]
        return max(each.asking.at_ns for each in children) if self._is_told_apart(key) else None

    def _is_told_apart(self, key: Key) -> bool:
        """Whether from all answers among which one is mixed up a conversation has gone on, each with a request of its own."""
        together = self._tangled.get(key)
        if together is None:
            return True
        if id(together) not in self._told_apart:
            self._told_apart[id(together)] = len(self._marks_from(together)) >= len(together)
        return self._told_apart[id(together)]

    def _went_on_at(self, key: Key) -> int | None:
        said = self.said[key]
        if said.children or not said.asking.is_over:
            return min((self.said[child].asking.at_ns for child in said.children), default=None)
        since = self._dropped_from(key, is_one_talk=True)
        parents = self._together(said.parent)
        if len(parents) > 1:
            parents = {self.said[other].parent for other in self._by_messages[said.mark]}.intersection(parents)
        found = (self._again[said.mark, parent].after(said.asking, since) for parent in parents)
        return min((at_ns for at_ns in found if at_ns is not None), default=None)

    def told(self, key: Key) -> Iterator[tuple[Asked, Told]]:
        """Each call of an answer with the places where requests that go on from it tell its result."""
        said = self.said[key]
        calls = said.asking.calls()
        for child in said.children if calls and key not in self._tangled else ():
            yield from self._results_in(child, said.asking)

    def _results_in(self, child: Key, before: Asking) -> Sequence[tuple[Asked, Told]]:
        """What a request tells of the calls of the answer from which it goes on: looked for once, as soon as that is whole."""
        found = self._results.get(child)
        if found is None:
            said = self.said[child]
            found = list(results_in(said.asking, said.after, before.calls()))
            if before.is_over:
                self._results[child] = found
        return found


def _prefixes(dialect: str, messages: Sequence[Heard]) -> list[bytes]:
    """A mark for the first so many messages in a dialect, from none to all."""
    digest = hashlib.blake2b(dialect.encode(), digest_size=16)
    marks = [digest.digest()]
    for message in messages:
        digest.update(message.mark)
        marks.append(digest.digest())
    return marks
