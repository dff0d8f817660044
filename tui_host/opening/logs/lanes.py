"""The lanes of one log: exchanges that go on at the same time, told apart where the log or the answers name each of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from tui_host.capture.json.narrowing import mapping
from tui_host.errors import JSON
from tui_host.opening.course import FIRST, is_of_a_course, kind_of
from tui_host.opening.drafts import Notes, Seen
from tui_host.opening.exchange_assembly import TANGLED, Exchanges
from tui_host.opening.logs.labels import IDS_MOST, Habits, remember
from tui_host.opening.logs.tangle import WORDS, Tangles
from tui_host.opening.single import piece_of
from tui_host.opening.stream_pieces import id_of

MOST = 64
"""Exchanges that may go on at the same time."""
_MADE = 1024
"""Lanes that are kept to be ended with the log, those that are over among them."""
_LONE = 4
"""So many answers of one piece each, none of which ends, are one whose pieces have other ids each."""


class Lanes:
    """Finds the lane of each request and answer.

    An answer is to the request that is called the same; where nothing is, to the only one that waits for one: of several nobody knows
    which it was, and it stands alone. A piece goes on with the stream that has its own id. A request ends the answer before it, save
    where both are named, and differently, or where more of that may come. What each line has another of is a number of lines, and names
    nothing.

    Args:
        notes: Gives the ids.
        peer: What the provider is called.
        habits: What the log taught before.
        tangles: Tells whether what comes is of several answers; None where that is not asked. It surely is where a stream begins
            whose events do not say of which they are, and nothing was asked since another went on that has not ended.

    Attributes:
        last: The lane to which something came last.
        doubtful: How many answers may be to several requests.
        tangled: What is of several answers; None where nothing is.
    """

    def __init__(self, notes: Notes, peer: str, habits: Habits, tangles: Tangles | None = None) -> None:
        self._notes = notes
        self._peer = peer
        self._habits = habits
        self._made: list[Exchanges] = []
        self._most_made, self._most_named = _MADE, MOST
        self.last: Exchanges = self._new()
        self.doubtful = 0
        self.tangled: Exchanges | None = None
        self._tangles = tangles
        self._was_tangled = self._is_asked = self._is_left = False
        self._named: dict[str, Exchanges] = {}
        self._are_names = habits.have_keys
        self._keys: dict[str, list[str]] = {name: [] for name in habits.elsewhere}
        self._asked = self.last
        self._waiting = self._others = 0
        self._body = b""
        self._streams: list[Exchanges] = []
        self._over: list[Exchanges] = []
        self._ends = self._lone = self._again = self._called_so = 0
        self._ids: set[str] = set()
        self._do_recur = False

    @property
    def habits(self) -> Habits:
        """What the log taught so far."""
        is_of_pieces = self._lone >= _LONE and not self._do_recur
        return replace(self._habits, have_ids=self._habits.have_ids and not is_of_pieces)

    def asking(self, key: str, body: bytes) -> Exchanges:
        """The lane for a request with this body, which is empty where it is not known to its end."""
        self._is_asked = True
        self._named = {name: lane for name, lane in self._named.items() if lane.is_open}
        if not key or not self._are_names:
            return self._asking_unnamed(body)
        is_free = not self.last.is_open or self.last not in self._named.values()
        self._called_so += key in self._named and not self._named[key].is_answered
        lane = self._named.pop(key, None) or (self.last if is_free else None)
        if lane is None:
            lane = self._new() if len(self._named) < MOST else self._named.pop(next(iter(self._named)))
        self._named[key] = self.last = self._call(lane, key)
        remember(self._keys, key, [])
        return lane

    def answer_next(self) -> None:
        """What was asked last is answered by what comes next, whatever else waits: one object has both."""
        self._over += [self._asked] if self._asked is not self.last and not self._asked.may_go_on else []
        self._asked, self._waiting = self.last, 1

    def _asking_unnamed(self, body: bytes) -> Exchanges:
        is_again = self.last.is_open and not self.last.is_answered and bool(body) and body == self._body
        self._waiting += 0 if is_again and self._waiting else 1
        self._body = body
        if self._waiting > 1 and self._asked is not self.last:
            self._over.append(self._asked)  # also where another's stream goes on since
        self._is_left |= self.last.is_given_up
        if self.last.may_go_on:
            self._hold()
            self.last = self._new()
        self._asked = self._call(self.last, "")
        return self.last

    def _call(self, lane: Exchanges, key: str) -> Exchanges:
        """Give a lane to the exchange of a name; those whose exchanges are over need none."""
        lane.called = key if key in self._habits.elsewhere else ""
        if len(self._named) > self._most_named:
            going = ((name, each) for name, each in self._named.items() if each.is_open and not each.stream.is_ended)
            self._named = dict(going)
            self._most_named = 2 * len(self._named) + MOST
        return lane

    def of(self, key: str) -> Exchanges:
        """The lane for an answer, as things stand."""
        is_known = key in self._keys or bool(
            key and self._habits.elsewhere
        )  # there it was proved that such a word names one
        if key not in self._named and is_known and self._are_names:
            self._named[key] = self._call(
                self._new(), key
            )  # its exchange is over, or its request lost: none of those that go on
        return self._named.get(key) or self.tangled or self.last

    def answering(self, key: str, value: JSON = None) -> Exchanges:
        """The lane for an answer, or a piece of one; what is over then is to be asked for.

        Args:
            key: What names its exchange.
            value: What it says, as far as that is known.
        """
        lane = self.of(key)
        if key in self._named and not self._are_several(key, value):
            self.last = lane
            return lane
        if key and self.last.is_open:
            self._are_names = False
        if self.last.is_open and self.last in self._named.values():
            self._unname()
        if self.tangled is not None and not id_of(value):
            return self.tangled
        is_its = self.last.is_answered and kind_of(value) not in FIRST
        lane = None if is_its or not is_of_a_course(value) else self._in_a_course(kind_of(value))
        self._is_asked = self._is_asked and not is_of_a_course(value)
        if lane is not None:
            return lane
        name = id_of(value) if self._habits.have_ids else ""
        is_next = bool(self._others and not name) and self.last.is_over_before(value)
        if not name and (is_next or not self.last.is_answered) and self._begins_mixed(value):
            self.tangled = Exchanges(self._notes, self._peer, WORDS)
            return self.tangled
        if is_next:
            self._begin(name, is_rest=False)
            return self.last
        return self._answering_unnamed(name, is_tail=mapping(value).get("choices") == [])

    def _begins_mixed(self, value: JSON) -> bool:
        """Whether what begins here is of several answers: who asked for one while another went on may wait for both."""
        awaited, self._is_left = self._waiting + self._is_left, False
        return awaited > 1 and self._are_mixed(awaited, value)

    def _are_mixed(self, awaited: int, value: JSON) -> bool:
        """Whether pieces of so many answers, of which this is the first, stand between each other."""
        if self._tangles is None or piece_of(value) is None:
            return False
        return self._tangles.are_mixed_here(awaited, have_ids=self._habits.have_ids)

    def _are_several(self, key: str, value: JSON) -> bool:
        """Whether a stream begins before another has ended that is called the same, or goes on behind a piece of it: that names no exchange."""
        heard, name = self._keys.get(key, []), id_of(value)
        lane = self._named[key]
        is_begun = lane.is_answered and lane.stream.is_begun and not lane.stream.is_ended
        if is_of_a_course(value) and (kind_of(value) in FIRST) == is_begun and lane.is_open:
            self._habits.have_keys = self._are_names = False
        elif self._called_so and not lane.is_answered:
            several, self._called_so = self._called_so + 1, 0
            self._is_left = len(self._keys) == 1 and not name and self._are_mixed(several, value)
            self._habits.have_keys = self._are_names = not self._is_left
        elif name and name not in heard[-1:] and self._habits.have_ids:
            if name in heard:
                self._habits.have_keys = self._are_names = False
            elif len(heard) < MOST:
                heard.append(name)
        return not self._are_names

    def _in_a_course(self, kind: str) -> Exchanges | None:
        """The lane of an event that does not say of which answer it is, where it is another's than the last one's, or of nobody knows whose."""
        if kind not in FIRST:
            going = self._unended
            if len(going) != 1:
                return None
            self._streams.remove(going[0])
            self.last = going[0]
            return self.last
        unended, was_tangled, self._was_tangled = self._unended, self._was_tangled, False
        is_sure, tangles = bool(unended) and not self._is_asked, self._tangles if unended or was_tangled else None
        is_tangled = tangles is not None and tangles.are_here(is_sure=is_sure)
        self._streams = [lane for lane in self._streams if lane not in unended]
        self._over += [lane for lane in unended if is_tangled or lane is not self.last]
        if not is_tangled:
            if not (self.last.is_answered and self._waiting):
                return None
            self._begin("", is_rest=False)
            return self.last
        for lane in unended:
            lane.cut = TANGLED
        self.last = self._new() if self.last in unended else self.last
        self.tangled = Exchanges(self._notes, self._peer, WORDS)
        return self.tangled

    @property
    def _unended(self) -> list[Exchanges]:
        return [lane for lane in (*self._streams, self.last) if lane.may_go_on and lane.stream.is_begun]

    def untangle(self) -> Iterator[Seen]:
        """From here on each answer is one again. Who waited for one has been given something of what is past."""
        self._over += [lane for lane in (self.tangled, self._asked, self.last) if lane and not lane.may_go_on]
        self.tangled = None
        self._was_tangled = True
        self._waiting = 0
        self.last = self.last if self.last.may_go_on else self._new()
        yield from self.ended()

    def _unname(self) -> None:
        """An answer is called nothing, or otherwise than any request: any that waits may have asked for it."""
        lanes = [lane for lane in dict.fromkeys(self._named.values()) if lane.is_open and lane is not self.last]
        self._named.clear()
        waiting = [lane for lane in (*lanes, self.last) if not lane.is_answered]
        self._waiting, self._asked = len(waiting), waiting[-1] if waiting else self._asked
        self._streams += [lane for lane in lanes if lane.may_go_on]
        self._over += [lane for lane in lanes if not lane.may_go_on and lane is not self._asked]

    def _answering_unnamed(self, name: str, *, is_tail: bool) -> Exchanges:
        is_other = self.last.stream.name != name and (bool(self.last.stream.name) or self.last.stream.is_begun)
        goes_on = self.last.is_answered and not (name and is_other)
        if goes_on:
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
        self._begin(name, is_rest=is_tail)
        return self.last

    def _begin(self, name: str, *, is_rest: bool) -> None:
        """Another answer begins: to the request that waits for it, if that is one."""
        is_more = name in self._ids
        if is_more:
            self._again += self._waiting > 0
            self._habits.have_ids = self._habits.have_ids and self._again < len(self._ids)
        elif name and len(self._ids) < IDS_MOST:
            self._ids.add(name)
        self._lone += self.last.may_go_on and bool(self.last.stream.name) and not self.last.stream.is_finished
        self._hold()
        is_late = (is_more or is_rest) if self._habits.is_mixed else (is_more and is_rest)
        if is_late and self._habits.have_ids:
            self.last = self._new()  # it tells more of one that is over, or all of it once more: no request has it
            self.doubtful += self._waiting > 0 and not is_rest
            return
        self._over += [lane for lane in self._streams if lane.stream.is_finished]
        self._others = max(self._waiting or self._others, 1) - 1
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
        streams = [lane for lane in self._streams if lane.stream.name]
        several = [*streams, self.last] if self.last.is_answered else streams
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
        for lane in (*self._made, *filter(None, [self.tangled])):
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
        lane = Exchanges(self._notes, self._peer)
        self._made.append(lane)
        if len(self._made) > self._most_made:  # the last ones may not have begun yet
            self._made = [each for each in self._made[:-MOST] if each.is_open] + self._made[-MOST:]
            self._most_made = 2 * len(self._made) + _MADE
        return lane
