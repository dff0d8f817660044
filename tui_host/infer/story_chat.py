"""What a tapped conversation said, as the items of a chat."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Protocol

from tui_host.capture.visible import line
from tui_host.chat.conversation import Item, NoteItem, UserItem
from tui_host.infer.asking.chat_start import opening
from tui_host.infer.asking.conversations import Key, Said
from tui_host.infer.call_joining import Joined
from tui_host.infer.call_values import Asked
from tui_host.infer.exchange_items import NOTE, items
from tui_host.infer.story import Story
from tui_host.infer.unplaced_results import Unplaced

_NAMED = 4
"""Calls that are named where nothing tells which of them it was."""
_HOST = 60
_NO_NAME = "a host without a name"
_QUESTION = 60
"""Characters of a question by which it is known again."""


class Chat(Protocol):
    """Takes items: a conversation, or what keeps them for one."""

    def __getitem__(self, number: int, /) -> Item:
        """An item."""
        ...

    def add(self, item: Item) -> int:
        """The next item; its number."""
        ...

    def put(self, number: int, item: Item) -> None:
        """An item in the place of one."""
        ...


class Telling:
    """Keeps a chat up with a story.

    Args:
        story: What is told.
        chat: Where.
        is_followed: It is told while it goes on, so that another host may come: where a note would name the first then, room is kept.

    Attributes:
        names_hosts: Several hosts are known to ask: the chat says whose what follows is, wherever that changes.
    """

    def __init__(self, story: Story, chat: Chat, *, is_followed: bool = False) -> None:
        self._story = story
        self._chat = chat
        self._is_followed = is_followed
        self._unplaced = Unplaced(story.talks)
        self._numbers: dict[tuple[str, ...], int] = {}
        self._questions: dict[int | Key, str] = {}
        self._opened: dict[Key, bool] = {}
        self._last: Said | None = None
        self._asked: list[
            Said
        ] = []  # the same without what hosts ask beside: the last of each conversation that it went over to
        self._failed: tuple[int, Item, int] | None = None
        self._revision: int = -1
        self._named: dict[int, tuple[Said, str]] = {}  # the notes that name a host, or will, and how they go on
        self.names_hosts = False

    def tell(self) -> None:
        """Put in what is new since."""
        if self._story.revision == self._revision:
            return
        self._revision = self._story.revision
        self.names_hosts |= len(self._story.hosts) > 1
        for number, (said, behind) in self._named.items() if self.names_hosts else ():
            if (note := self._note(said, behind)) != self._chat[number]:  # more is known of who it is
                self._chat.put(number, note)
        joined: dict[tuple[str, str], list[Joined]] = {}
        for each in self._story.joined():
            joined.setdefault((each.asked.capture, each.asked.exchange), []).append(each)
        for said in self._story.exchanges:
            if self._opened.get(said.asking.key) != said.is_beside:
                self._open(said)
            calls = joined.get(said.asking.key, [])
            unplaced = self._unplaced.of(said, calls)
            for key, item in (*items(said, calls, unplaced, self._story.unasked), *self._unplaced.items(said, calls)):
                self._put(said, (*said.asking.key, *key), item)

    def _open(self, said: Said) -> None:
        """Put in what stands before an answer: once, as it stays as it is; anew where it turns out to be asked beside what came later."""
        if self._opened.get(said.asking.key) is False:
            self._questions.pop(said.turn, None)
        self._opened[said.asking.key] = said.is_beside
        before = opening(said)
        question = said.text or next((item.text for _, item in reversed(before) if isinstance(item, UserItem)), "")
        if question:
            self._questions.setdefault(self._side(said), question)
        for key, item in before:
            self._put(said, (*said.asking.key, *key), item, is_asking=said.step == 1)

    def _put(self, said: Said, key: tuple[str, ...], item: Item, *, is_asking: bool = False) -> None:
        number, is_note = self._numbers.get(key), key[len(said.asking.key) :] == NOTE
        if number is None and is_note and (number := self._repeated(item)) is not None:
            self._numbers[key] = number
        elif number is None:
            self._go_over_to(said, is_asking=is_asking)
            self._numbers[key] = number = self._chat.add(item)
            self._failed = (number, item, 1) if is_note else None
        elif not is_note and self._chat[number] != item:  # how it ended stays so, and may be told of several
            self._chat.put(number, item)

    def _repeated(self, item: Item) -> int | None:
        """The last item's number, if that says the same of how an answer ended: it says how often, as hosts may try a thousand times."""
        if self._failed is None or self._failed[1] != item or not isinstance(item, NoteItem):
            return None
        number, _, times = self._failed
        self._failed = number, item, times + 1
        self._chat.put(number, replace(item, what=f"{item.what} ({times + 1:,} times)"))
        return number

    def _go_over_to(self, said: Said, *, is_asking: bool) -> None:
        """Say to what the next item belongs, where another host or another conversation of one came between: it may have many at once."""
        last, whose = self._last, self._story.host_of
        words = self._gone_over_to(said, is_asking=is_asking)
        unnamed = NoteItem(turn=said.turn, kind="note", what=f"{words}:" if words else "")
        if (self.names_hosts or self._is_followed) and (last is None or whose(last) != whose(said)):
            behind = f", {words}:" if words else " asks:" if is_asking else ":"
            note = self._note(said, behind) if self.names_hosts else unnamed
            self._named[self._chat.add(note)] = said, behind
        elif words:
            self._chat.add(unnamed)

    def _note(self, said: Said, behind: str) -> Item:
        """Names the host that asked."""
        return NoteItem(
            turn=said.turn, kind="note", what=f"{line(self._story.host_of(said), _HOST) or _NO_NAME}{behind}"
        )

    def _gone_over_to(self, said: Said, *, is_asking: bool) -> str:
        """The conversation to which it goes over, in words; empty where that goes on, or begins."""
        last, self._last = self._last, said
        last_asked, side = self._last_asked(), self._side(said)
        if side == said.turn:
            self._asked[-1:] = [said] if last_asked is None or last_asked.talk == said.talk else [last_asked, said]
        if last is None or self._side(last) == side or (is_asking and said.parent is None):
            return ""
        before, turn = side, said.turn
        if is_asking and said.parent is not None:
            parent = self._story.talks.said[said.parent]
            before, turn = self._side(parent), parent.turn
            if last_asked is not None and self._side(last_asked) == before:
                return ""
        return f"{'after' if is_asking else 'to'} {self._question(before, turn)}"

    def _last_asked(self) -> Said | None:
        """What a person asked last; what turned out to be asked beside that is left out then."""
        while self._asked and self._side(self._asked[-1]) != self._asked[-1].turn:
            self._asked.pop()
        return self._asked[-1] if self._asked else None

    def _side(self, said: Said) -> int | Key:
        """Names the turn, or the conversation that a host has beside it."""
        return said.talk if self._story.talks.root(said).is_beside else said.turn

    def _question(self, side: int | Key, turn: int) -> str:
        """A turn, or what is beside it, by how it began."""
        question = line(self._questions.get(side, ""), _QUESTION)
        return f'"{question}"' if question else f"turn {turn}"


def doubts_of(story: Story) -> Mapping[tuple[str, int], str]:
    """For each frame that nothing tells whose it is the calls that it may carry: `call 1 or 2 of turn 3 step 1`."""
    calls: dict[tuple[str, int], list[Asked]] = {}
    for joined in story.joined():
        for frame in joined.rivals:
            may_be = calls.setdefault((frame.capture, frame.seq), [])
            if len(may_be) <= _NAMED:
                may_be.append(joined.asked)
    return {key: _calls_in_words(story, may_be) for key, may_be in calls.items()}


def _calls_in_words(story: Story, calls: Sequence[Asked]) -> str:
    steps: dict[tuple[int, int], list[str]] = {}
    for call in calls[:_NAMED]:
        said = story.talks.said[call.capture, call.exchange]
        steps.setdefault((said.turn, said.step), []).append(str(call.number + 1))
    named = [f"call {_one_of(numbers)} of turn {turn} step {step}" for (turn, step), numbers in steps.items()]
    return f"{'whether ' * (len(calls) == 1)}{' or '.join(named)}{', or another' * (len(calls) > _NAMED)}"


def _one_of(numbers: Sequence[str]) -> str:
    """`1`, `1 or 2`, `1, 2 or 3`."""
    *others, last = dict.fromkeys(numbers)
    return f"{', '.join(others)} or {last}" if others else last
