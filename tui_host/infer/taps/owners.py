"""Whose taps are, by the calls that they carried and by what was said: read only where their names leave it open."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, MutableMapping, Sequence
from itertools import accumulate, chain, permutations
from typing import TypeAlias, TypeVar

from tui_host.capture.session_summary import SessionInfo
from tui_host.capture.store.store import Store
from tui_host.infer.asking.speakers import Agent
from tui_host.infer.call_values import Sent
from tui_host.infer.clock_offsets import SURE_NS
from tui_host.infer.story import Story
from tui_host.infer.taps.about import Looking
from tui_host.infer.tool_aliases import tools_named

Known: TypeAlias = MutableMapping[str, Sequence[Looking]]
"""What is known of taps by their sessions, for each of their captures."""

T = TypeVar("T")

_EVER_NS = 1 << 62
"""When a conversation goes on that has not gone on yet."""
_TELLING_ID = 12
"""Characters of an id that no two vendors give: some count their calls from 0."""
_TELLING_WORDS = 40
"""Characters, without blanks, of an answer that no two models give by chance."""


class _Asked:
    """The calls of one name and the same arguments that were asked for through a tap: a host that polls has very many.

    Args:
        name: As the model wrote it.
        times: When each was asked for, and when the conversation went on from it; None while it has not.
    """

    def __init__(self, name: str, times: Iterable[tuple[int, int | None]]) -> None:
        self.name = name
        lasting = sorted((at_ns, _EVER_NS if until_ns is None else until_ns) for at_ns, until_ns in times)
        self._at = [at_ns for at_ns, _ in lasting]
        self._until = list(accumulate((until_ns for _, until_ns in lasting), max))

    def __len__(self) -> int:
        return len(self._at)

    def is_before(self, at_ns: int) -> bool:
        """Whether one of them was asked for by then."""
        return self._at[0] <= at_ns + SURE_NS

    def is_open_at(self, at_ns: int) -> bool:
        """Whether the host had not gone on yet from one of these."""
        count = bisect_right(self._at, at_ns + SURE_NS)
        return count > 0 and at_ns <= self._until[count - 1] + SURE_NS


_Calls: TypeAlias = Mapping[str, Sequence[_Asked]]
"""Calls that were asked for, by their arguments."""


class Owners:
    """Finds out whose a tap is where it may be of several hosts, and which of those are one.

    Args:
        store: Where the taps record.
        known: What is known of them.
    """

    def __init__(self, store: Store, known: Known) -> None:
        self._store = store
        self._known = known
        self._asked: dict[str, Mapping[Agent, _Calls]] = {}

    def of(self, tap: SessionInfo, stories: Sequence[Sequence[SessionInfo]]) -> int | None:
        """The number of the story that asked for most of a tap's calls; None if none did, or two did. A call that two may mean tells nothing."""
        numbers = {other.id: number for number, story in enumerate(stories) for other in story}
        votes = Counter(asker for _, asker in self._calls_of_one(tap.id, numbers))
        most = votes.most_common(2)
        return most[0][0] if most and (len(most) == 1 or most[0][1] > most[1][1]) else None

    def one_host(self, voices: Mapping[str, str], servers: Collection[str]) -> Iterator[Collection[str]]:
        """Voices that are for sure of one host: one client carried the calls of both, or a conversation went on from the one at the other.

        Args:
            voices: The voice of each tap before a model.
            servers: The taps before servers.
        """
        for server in servers:
            heard: dict[str, set[str]] = {}
            for sent, voice in self._calls_of_one(server, voices):
                heard.setdefault(sent.connection, set()).add(voice)
            yield from (
                found
                for connection, found in heard.items()
                if len(found) > 1 and any(each.is_of_one_client(connection) for each in self._known.get(server, ()))
            )
        models = [(voice, self._answers_in(tap), self._unheard_in(tap)) for tap, voice in voices.items()]
        for (one, answers, _), (two, _, unheard) in permutations(models, 2):
            if one != two and answers & unheard:
                yield one, two

    def carriers(self, taps: Collection[str]) -> Iterator[tuple[Agent, str]]:
        """Who asked for calls through taps, each with what the client calls itself that carried one of these, and can have been no other's.

        Where more was carried of a call than was asked for, somebody else carried some of it, and nothing tells which.
        """
        asked = [each for tap in taps for each in self._asked_in(tap).items()]
        carried: dict[tuple[Agent, tuple[str, str], str], list[str]] = {}
        for tap in taps if asked else ():
            clients = {line: name for each in self._stories(tap) for line, name in each.frames.clients.items()}
            for sent, agent in self._of_one(tap, asked, is_waiting=True):
                key = agent, (sent.server, sent.tool), sent.arguments
                carried.setdefault(key, []).append(clients.get(sent.line, ""))
        for (agent, tool, arguments), names in carried.items():
            meant = [each for own, calls in asked if own == agent for each in calls.get(arguments, ())]
            if len(names) <= sum(len(each) for each in meant if tools_named(each.name, [tool])):
                yield from ((agent, name) for name in names)

    def _calls_of_one(self, server: str, names: Mapping[str, T]) -> Iterator[tuple[Sent, T]]:
        """The calls that a tap carried and that taps of one name alone can have asked for, each with that name."""
        asked = [(name, calls) for tap, name in names.items() for calls in self._asked_in(tap).values()]
        return self._of_one(server, asked)

    def _of_one(
        self, server: str, asked: Sequence[tuple[T, _Calls]], *, is_waiting: bool = False
    ) -> Iterator[tuple[Sent, T]]:
        """The same of whoever asked for calls, each with its name; on demand no call for which nobody waited when it was carried."""
        for sent in chain.from_iterable(each.frames.sent.values() for each in self._stories(server)):
            found = [
                (name, each)
                for name, calls in asked
                for each in calls.get(sent.arguments, ())
                if each.is_before(sent.at_ns) and tools_named(each.name, [(sent.server, sent.tool)])
            ]
            waiting = [each for each in found if each[1].is_open_at(sent.at_ns)]
            askers = {name for name, _ in (waiting if is_waiting else waiting or found)}
            if len(askers) == 1:
                yield sent, askers.pop()

    def _asked_in(self, tap: str) -> Mapping[Agent, _Calls]:
        """The calls that were asked for through a tap, by who asked."""
        if tap not in self._asked:
            times: dict[Agent, dict[str, dict[str, list[tuple[int, int | None]]]]] = {}
            for story in self._stories(tap):
                for said in story.exchanges:
                    until_ns = story.talks.until(said.asking.key) if said.asking.calls() else None
                    for call, (name, arguments) in zip(said.asking.calls(), said.asking.meant(), strict=True):
                        if arguments is not None:
                            own = times.setdefault(said.asking.agent, {})
                            own.setdefault(arguments, {}).setdefault(name, []).append((call.at_ns, until_ns))
            self._asked[tap] = {
                agent: {
                    arguments: [_Asked(name, each) for name, each in named.items()] for arguments, named in own.items()
                }
                for agent, own in times.items()
            }
        return self._asked[tap]

    def _answers_in(self, tap: str) -> frozenset[str]:
        """What tells the answers that came through a tap from all others."""
        askings = [said.asking for story in self._stories(tap) for said in story.exchanges]
        ids = (call.wire_id for asking in askings for call in asking.calls())
        return frozenset(_telling(ids, (asking.fold.text for asking in askings)))

    def _unheard_in(self, tap: str) -> frozenset[str]:
        """The same of the answers that requests through a tap repeat, and that came through another one if any."""
        exchanges = [said for story in self._stories(tap) for said in story.exchanges]
        told = [said.asking.messages[place] for said in exchanges for place in said.unheard]
        answers = [message for message in told if message.role == "model"]
        ids = (piece.wire_id for message in answers for piece in message.of("call"))
        return frozenset(_telling(ids, (message.text for message in answers)))

    def _stories(self, tap: str) -> Sequence[Story]:
        return [each.calls(self._store) for each in self._known.get(tap, ())]


def _telling(ids: Iterable[str], texts: Iterable[str]) -> Iterator[str]:
    """Those ids, and texts without their blanks, that name one answer alone."""
    yield from (f"id {each}" for each in ids if len(each) >= _TELLING_ID)
    bare = ("".join(text.split()) for text in texts)
    yield from (f"text {each}" for each in bare if len(each) >= _TELLING_WORDS)
