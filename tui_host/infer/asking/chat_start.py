"""What stands in a chat before an answer: what was asked, and what the request tells of a conversation that nobody heard."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import count
from typing import TypeAlias

from tui_host.capture.visible import line
from tui_host.chat.conversation import AnswerItem, CallItem, Item, NoteItem, UserItem
from tui_host.infer.asking.conversations import Said
from tui_host.infer.asking.request_messages import Heard, Piece
from tui_host.infer.asking.results import results_in
from tui_host.infer.asking.text_protocols import readers_of, results_of, said_by_person
from tui_host.infer.call_values import Asked
from tui_host.llm.events import TextDelta
from tui_host.llm.fold import Fold

NOT_HEARD = "not captured, but told in the request:"
HEARD = "captured from here on:"
BESIDE = "the host asks beside it:"
_BESIDE = 200
"""Characters of that."""
_TOLD = "told in the request"
_WITHOUT_CALL = "told in the request without its call"
_NO_NAME = "a tool"
_ANOTHER = b'"role"'
"""Stands between texts of two messages, never between those of one."""
Keyed: TypeAlias = tuple[tuple[str, ...], Item]


def opening(said: Said) -> Sequence[Keyed]:
    """The items before an exchange's answer, in order, each with what names it in the exchange.

    What is only told has no step, and took no time: neither is known. It has the turn of the exchange in whose request it stands.
    """
    own: list[Keyed] = [(("user",), _question(said))] if said.text else []
    told = [] if said.again else list(_Told(said).items())
    if all(item is None for item in told):
        return own
    is_asked_last = told[-1] is None
    before = NoteItem(turn=said.turn, kind="note", what=NOT_HEARD)
    behind = NoteItem(turn=said.turn, kind="note", what=HEARD)
    keyed: list[Keyed] = []
    for number, item in enumerate((before, *(told[:-1] if is_asked_last else told), behind)):
        keyed += own if item is None else [(("told", str(number)), item)]
    return [*keyed, *(own if is_asked_last else ())]


def _question(said: Said) -> Item:
    if not said.is_beside:
        return UserItem(turn=said.turn, text=said.text)
    words = line(" ".join(said.text.split()), _BESIDE)
    return NoteItem(turn=said.turn, kind="note", what=f'{BESIDE} "{words}"')


class _Told:
    """What was not heard of what a request says."""

    def __init__(self, said: Said) -> None:
        self._said = said
        self._messages = said.asking.messages
        asking = said.asking
        system = "\n\n".join(each.text for each in asking.system_pieces)
        self._readers = readers_of(asking.protocol, system, asking.host)
        self._taken: set[int] = set()
        self._by_person: dict[int, str] = {}
        self._by_results: dict[int, Sequence[Piece]] = {}

    def items(self) -> Iterator[Item | None]:
        """The items, in order; None for what it asks, in its place."""
        said = self._said
        places = {*said.unheard}
        if self._messages and (places or said.parent is None):
            places.add(len(self._messages) - 1)  # which may tell results
        asked = self._asked()
        for place in sorted({*places, *asked}):
            if self._messages[place].role != "model":
                yield from self._left(place)
                yield from [None] if place in asked else self._said_at(place)
            elif not self._is_for_the_host(place):
                yield from self._answer(place)

    def _asked(self) -> Sequence[int]:
        """The place of what the person says with the request, if that is anything."""
        said = self._said
        behind = reversed(range(said.after + 1, len(self._messages)))
        return [place for place in behind if said.text and self._words(place) == said.text][:1]

    def _words(self, place: int) -> str:
        """What the person said in a message."""
        words = self._by_person.get(place)
        if words is None:
            message = self._messages[place]
            words = self._by_person[place] = said_by_person(message) if message.role == "user" else ""
        return words

    def _said_at(self, place: int) -> Iterator[Item]:
        text = self._words(place)
        if text and place in self._said.unheard:
            yield UserItem(turn=self._said.turn, text=text)

    def _is_for_the_host(self, place: int) -> bool:
        """Whether an answer is but to what its host said of itself: where it is, and what day."""
        message, before = self._messages[place], place - 1
        if before not in self._said.unheard or message.of("call"):
            return False
        return not self._words(before) and not self._results(before)

    def _results(self, place: int) -> Sequence[Piece]:
        """The results that a message tells."""
        found = self._by_results.get(place)
        if found is None:
            asking = self._said.asking
            found = self._by_results[place] = results_of(asking.body, asking.protocol, self._messages[place])
        return found

    def _left(self, place: int) -> Iterator[Item]:
        """Results of calls that the request does not tell."""
        said = self._said
        is_heard = said.parent is not None and place == said.after + 1
        if is_heard or (place and place - 1 not in said.unheard):
            return
        for piece in self._results(place):
            if piece.start not in self._taken:
                key = f"{'.'.join(said.asking.key)}.{place}.{piece.start}"
                yield CallItem(
                    turn=said.turn,
                    step=0,
                    call=key,
                    server="",
                    tool=piece.name or _NO_NAME,
                    asked="",
                    state="done",
                    words=_WITHOUT_CALL,
                    result=piece.text,
                )

    def _answer(self, place: int) -> Iterator[Item]:
        """What the model said, and its calls with their results."""
        said, asking = self._said, self._said.asking
        found = list(self._read(place))
        calls = [each for each in found if isinstance(each, Asked)]
        told = {call.key: each for call, each in results_in(asking, place, calls)}
        self._taken.update(each.start for each in told.values())
        for each in found:
            if isinstance(each, AnswerItem):
                yield each
                continue
            result = told.get(each.key)
            yield CallItem(
                turn=said.turn,
                step=0,
                call=each.key,
                server="",
                tool=each.name,
                asked=each.arguments,
                state="asked" if result is None else "done",
                words=_TOLD,
                result="" if result is None else result.text,
            )

    def _read(self, place: int) -> Iterator[AnswerItem | Asked]:
        """What stands in a message of the model's, with the calls that a tool protocol has in its words."""
        numbers = count()
        for run in _runs(self._messages[place], self._said.asking.body):
            if run[0].kind == "call":
                yield self._call(place, next(numbers), run[0].name, run[0].text, run[0].wire_id)
                continue
            text = "".join(piece.text for piece in run)
            fold = Fold(provider="", model="", call_id=str)
            reader = self._readers()
            for event in (*reader.feed(TextDelta(text=text, start=0, end=len(text))), *reader.finish()):
                fold.add(event)
            if fold.text.strip() or fold.thinking or not fold.calls:
                words = fold.text if fold.text.strip() or fold.thinking else text
                turn = self._said.turn
                yield AnswerItem(turn=turn, step=0, text=words, thinking=fold.thinking, state="done")
            for each in fold.calls:
                yield self._call(place, next(numbers), each.call.name, each.call.arguments, "")

    def _call(self, place: int, number: int, name: str, arguments: str, wire_id: str) -> Asked:
        capture, exchange = self._said.asking.key
        return Asked(
            key=f"{capture}.{exchange}.{place}.{number}",
            capture=capture,
            exchange=exchange,
            number=number,
            wire_id=wire_id,
            name=name,
            arguments=arguments,
            at_ns=self._said.asking.at_ns,
            spans=(),
        )


def _runs(message: Heard, body: bytes) -> Iterator[Sequence[Piece]]:
    """Its calls, one by one, and between them the texts that are one: hosts may cut an answer into several messages."""
    run: list[Piece] = []
    for piece in message.pieces:
        if run and (piece.kind == "call" or _ANOTHER in body[run[-1].end : piece.start]):
            yield run
            run = []
        if piece.kind == "call":
            yield [piece]
        else:
            run.append(piece)
    if run:
        yield run
