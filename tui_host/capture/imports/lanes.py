"""The lanes of one log: exchanges that go on at the same time, told apart where the log or the answers name each of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from tui_host.capture.imports.exchanges import Exchanges
from tui_host.capture.imports.labels import IDS_MOST, remember
from tui_host.capture.imports.seen import Notes, Seen
from tui_host.capture.imports.stream import begins, goes_on, id_of
from tui_host.capture.words import mapping
from tui_host.errors import JSON

MOST = 64
"""Exchanges that may go on at the same time."""
_LONE = 4
"""So many answers of one piece each, none of which ends, are one whose pieces have other ids each."""


@dataclass(slots=True)
class Habits:
    """What a log taught of its answers.

    Attributes:
        is_mixed: They came while others did: after one that may be to several requests, another may be to the rest of these.
        have_ids: An id of a piece is that of its stream: not one of each piece alone, nor the same of all.
        have_labels: What stands before them in brackets, or behind `#`, names the exchange.
        have_keys: What is called an id, or is such a label, names one exchange: not all of a client, or of a session.
    """

    is_mixed: bool = False
    have_ids: bool = True
    have_labels: bool = False
    have_keys: bool = True


class Lanes:
    """Finds the lane of each request and answer.

    An answer is to the request that is called the same; where nothing is, to the only one that waits for one: of several nobody knows
    which it was, and it stands alone. A piece goes on with the stream that has its own id; one without, where the beginning of
    a stream alone tells it, with the only one that has not ended. A request ends the answer before it, save
    where both are named, and differently, or where more of that may come. What each line has another of is a number of lines, and names
    nothing.

    Args:
        notes: Gives the ids.
        peer: What the provider is called.
        habits: What the log taught before.

    Attributes:
        last: The lane to which something came last.
        doubtful: How many answers may be to several requests.
    """

    def __init__(self, notes: Notes, peer: str, habits: Habits) -> None:
        self._notes = notes
        self._peer = peer
        self._habits = habits
        self.last = self._new()
        self.doubtful = 0
        self._named: dict[str, Exchanges] = {}
        self._are_names = habits.have_keys
        self._keys: dict[str, list[str]] = {}
        self._asked = self.last
        self._waiting = 0
        self._body = b""
        self._streams: list[Exchanges] = []
        self._over: list[Exchanges] = []
        self._ends = self._lone = self._again = 0
        self._ids: set[str] = set()
        self._do_recur = False

    @property
    def habits(self) -> Habits:
        """What the log taught so far."""
        is_of_pieces = self._lone >= _LONE and not self._do_recur
        return replace(self._habits, have_ids=self._habits.have_ids and not is_of_pieces)

    def asking(self, key: str, body: bytes) -> Exchanges:
        """The lane for a request with this body."""
        self._named = {name: lane for name, lane in self._named.items() if lane.is_open}
        if not key or not self._are_names:
            return self._asking_unnamed(body)
        is_free = not self.last.is_open or self.last not in self._named.values()
        lane = self._named.pop(key, None) or (self.last if is_free else None)
        if lane is None:
            lane = self._new() if len(self._named) < MOST else self._named.pop(next(iter(self._named)))
        self._named[key] = self.last = lane
        remember(self._keys, key, [])
        return lane

    def _asking_unnamed(self, body: bytes) -> Exchanges:
        is_again = self.last.is_open and not self.last.is_answered and body == self._body
        self._waiting += 0 if is_again and self._waiting else 1
        self._body = body
        if self.last.may_go_on:
            self._hold()
            self.last = self._new()
        elif self._waiting > 1 and self._asked is not self.last:
            self._over.append(self._asked)
        self._asked = self.last
        return self.last

    def of(self, key: str) -> Exchanges:
        """The lane for an answer, as things stand."""
        if key not in self._named and key in self._keys and self._are_names:
            self._named[key] = self._new()  # its exchange is over: none of those that go on
        return self._named.get(key, self.last)

    def answering(self, key: str, value: JSON = None) -> Exchanges:
        """The lane for an answer, or a piece of one; what is over then is to be asked for.

        Args:
            key: What names its exchange.
            value: What it says, as far as that is known.
        """
        lane = self.of(key)
        if key in self._named and not self._do_alternate(key, id_of(value)):
            self.last = lane
            return lane
        if key and self.last.is_open:
            self._are_names = False
        if self.last.is_open and self.last in self._named.values():
            self._unname()
        name = id_of(value) if self._habits.have_ids else ""
        if goes_on(value) and not name:
            going = self._going()
            if len(going) > 1:
                return self._beside(going)
            name = going[0].stream.name if going else ""
        return self._answering_unnamed(name, value)

    def _do_alternate(self, key: str, name: str) -> bool:
        """Whether a stream goes on behind a piece of another that is called the same: then that names no exchange."""
        heard = self._keys.get(key, [])
        if not name or name in heard[-1:] or not self._habits.have_ids:
            return False
        if name in heard:
            self._habits.have_keys = self._are_names = False
        elif len(heard) < MOST:
            heard.append(name)
        return not self._are_names

    def _unname(self) -> None:
        """An answer is called nothing, or otherwise than any request: any that waits may have asked for it."""
        lanes = [lane for lane in dict.fromkeys(self._named.values()) if lane.is_open and lane is not self.last]
        self._named.clear()
        waiting = [lane for lane in (*lanes, self.last) if not lane.is_answered]
        self._waiting, self._asked = len(waiting), waiting[-1] if waiting else self._asked
        self._streams += [lane for lane in lanes if lane.may_go_on]
        self._over += [lane for lane in lanes if not lane.may_go_on and lane is not self._asked]

    def _going(self) -> list[Exchanges]:
        """The streams that a piece may go on with that tells no id, where only the beginning of one does."""
        lanes = (*self._streams, self.last)
        return [lane for lane in lanes if lane.may_go_on and lane.stream.is_named_once]

    def _beside(self, going: Sequence[Exchanges]) -> Exchanges:
        """The lane for what may be of several streams: from here on none of them is told apart."""
        self._over += going
        self._streams = [lane for lane in self._streams if lane not in going]
        self.doubtful += 1
        self._habits.is_mixed = True
        self.last = self._new()
        return self.last

    def _answering_unnamed(self, name: str, value: JSON) -> Exchanges:
        is_tail = mapping(value).get("choices") == []
        is_same = not begins(value) and (not name or self.last.stream.name in {"", name})
        if self.last.is_answered and is_same:
            self._do_recur |= bool(name) and self.last.stream.name == name
            return self.last
        self._streams = [lane for lane in self._streams if lane.is_open]
        found = next((lane for lane in self._streams if lane.stream.name == name), None) if name else None
        if found is not None and (is_tail or not (found.stream.is_finished and self._waiting)):
            self._do_recur = self._habits.is_mixed = True
            self._hold()
            self._streams.remove(found)
            self.last = found
            return found
        self._begin(name, is_rest=is_tail or goes_on(value))
        return self.last

    def _begin(self, name: str, *, is_rest: bool) -> None:
        """Another answer begins: to the request that waits for it, if that is one."""
        is_more = name in self._ids
        if is_more:
            self._again += self._waiting > 0
            self._habits.have_ids = self._habits.have_ids and self._again < len(self._ids)
        elif name and len(self._ids) < IDS_MOST:
            self._ids.add(name)
        self._lone += self.last.may_go_on and not self.last.stream.is_finished
        self._hold()
        is_late = (is_more or is_rest) if self._habits.is_mixed else (is_more and is_rest)
        if is_late and self._habits.have_ids:
            self.last = self._new()  # it tells more of one that is over, or all of it once more: no request has it
            self.doubtful += self._waiting > 0 and not is_rest
            return
        self._over += [lane for lane in self._streams if lane.stream.is_finished]
        if self._waiting > 1:
            self.doubtful += 1
            self._over.append(self._asked)
            self.last = self._new()
            self._waiting = (
                self._waiting - 1 if self._habits.is_mixed else 0
            )  # else the next one has an answer of its own
            return
        if not self._waiting and self.doubtful:
            self._habits.is_mixed = True
        is_asked = self._waiting and self._asked.is_open and not self._asked.is_answered
        self.doubtful += bool(self._waiting) and not is_asked
        self.last = self._asked if is_asked else self._new()
        self._waiting = 0

    def ending(self) -> list[Exchanges]:
        """The lanes that are ended by a word that says nothing else; none as long as it may be any of several."""
        self._streams = [lane for lane in self._streams if lane.is_open]
        several = [*self._streams, self.last] if self.last.is_answered else self._streams
        if len(several) <= 1 or (self.last.is_answered and self.last.stream.is_finished):
            return [self.last] if self.last.is_answered else several or [self.last]
        self._ends += 1
        if self._ends < len(several):
            return []
        self._ends = 0
        return list(several)

    def ended(self) -> Iterator[Seen]:
        """What is over since."""
        over, self._over = self._over, []
        for lane in over:
            yield from lane.finish()

    def finish(self) -> Iterator[Seen]:
        """The end of the log."""
        yield from self.ended()
        for lane in dict.fromkeys((*self._named.values(), *self._streams, self._asked, self.last)):
            yield from lane.finish()

    def _hold(self) -> None:
        """Another one goes on: of the last one more may come, or it is over."""
        if self.last.may_go_on:
            self._streams.append(self.last)
            if len(self._streams) > MOST:
                self._over.append(self._streams.pop(0))
        elif self.last.is_answered:
            self._over.append(self.last)

    def _new(self) -> Exchanges:
        return Exchanges(self._notes, self._peer)
