"""A call that some frame may carry, with what is known of it from the model's side."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace

from tui_host.chat.infer.names import names_server
from tui_host.chat.infer.telltale import END, HINT, OTHER, gives_up, refuses, tells
from tui_host.chat.infer.values import Asked, Line, Sent, Told

_TELLING = 20
"""Characters of a text from which on the same text elsewhere is no chance."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Candidate:
    """A call that some frame may carry.

    Attributes:
        asked: The call.
        arguments: Its arguments in the one form that equal arguments have; None if they are no JSON.
        tools: Server and own name of the tools that its name may stand for.
        talk: The first exchange of its conversation.
        agent: Who asked for it, as far as requests tell that apart.
        connections: Those on which its host may have sent it; None for all.
        until_ns: When the conversation went on; None while it has not.
        told: Where the model was told of it first, None if nothing yet.
        beside: What it was told of other calls of the same answer, where nothing but the order says what belongs to which.
        is_twin: A call of the same answer asks for the same, is told otherwise, and again nothing but the order says which is which.
        is_timed: It is told when it was asked for, not only behind what.
        is_of_before: It was asked for before anything was recorded; what it was is known from what a request repeats.
    """

    asked: Asked
    arguments: str | None
    tools: frozenset[tuple[str, str]]
    talk: tuple[str, str]
    agent: Hashable = None
    connections: frozenset[Line] | None = None
    until_ns: int | None = None
    told: Told | None = None
    beside: tuple[str, ...] = ()
    is_twin: bool = False
    is_of_before: bool = False
    is_timed: bool = True

    @property
    def answer(self) -> tuple[str, str]:
        """The answer that asked for it."""
        return self.asked.capture, self.asked.exchange

    def may_be_on(self, frame: Sent) -> bool:
        """Whether its host may have sent a frame, as hosts call themselves."""
        return self.connections is None or frame.line in self.connections

    def tells_itself(self, frame: Sent) -> int | None:
        """Whether what stands in the call's place among the results is what a frame brought; None if that cannot be said."""
        return None if self.told is None else self._grade(self.told.text, self.told.at_ns, frame)

    def tells(self, frame: Sent) -> int | None:
        """The same, where what stands in another's place may be its own: then it cannot be said."""
        own = self.tells_itself(frame)
        if self.is_twin and own:
            return None
        if own != OTHER or self.told is None:
            return own
        return None if any(self._grade(text, self.told.at_ns, frame) != OTHER for text in self.beside) else own

    def tells_beside(self, frame: Sent) -> int | None:
        """How best what stands in its place, or in another's, tells what a frame brought; None if that cannot be said of one."""
        if self.told is None:
            return None
        grades = {self._grade(text, self.told.at_ns, frame) for text in (self.told.text, *self.beside)}
        best = max((grade or OTHER for grade in grades), default=OTHER)
        return best if best or None not in grades else None

    def is_sure_of(self, frame: Sent) -> bool:
        """Whether that what is told is what a frame brought is no chance: its server is named, or the text is long."""
        return self.is_told_much or names_server(self.asked.name, frame.server, frame.tool)

    @property
    def is_told_much(self) -> bool:
        """Whether what is told is so long that the same elsewhere is no chance."""
        return self.told is not None and len(self.told.text) >= _TELLING

    @staticmethod
    def _grade(text: str, at_ns: int, frame: Sent) -> int | None:
        """Whether what is told then is what a frame brought."""
        answer = frame.answer
        if frame.dropped:
            if frame.dropped[0] > at_ns + frame.within_ns:  # it was still waited for
                return OTHER
            return END if gives_up(text) else None
        if answer is None or answer.at_ns > at_ns + frame.within_ns:
            is_late = answer is not None  # what never came may also have been asked for again where no tap was
            return HINT if is_late and gives_up(text) else OTHER if refuses(text) else None
        return tells(text, answer)


def with_twins(candidates: Sequence[Candidate]) -> Sequence[Candidate]:
    """The same, where those are marked that their places among the results do not tell apart."""
    alike: dict[tuple[str, str, str, str], list[Candidate]] = defaultdict(list)
    for each in candidates:
        if each.told is not None and not each.told.by_id and each.beside:
            alike[*each.answer, each.asked.name, each.arguments or each.asked.arguments].append(each)
    texts = {key: {each.told.text for each in same if each.told is not None} for key, same in alike.items()}
    twins = {each.asked.key for key, same in alike.items() if len(texts[key]) > 1 for each in same}
    return [replace(each, is_twin=True) if each.asked.key in twins else each for each in candidates]
