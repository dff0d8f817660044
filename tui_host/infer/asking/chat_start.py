"""Build the chat items before an answer: the question, and earlier messages that only the request repeats."""

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
"""Characters of a side request's question that are shown."""
_TOLD = "told in the request"
_WITHOUT_CALL = "told in the request without its call"
_NO_NAME = "a tool"
_ROLE = b'"role"'
"""Bytes that stand between texts of two messages, never within one message."""
Keyed: TypeAlias = tuple[tuple[str, ...], Item]


def opening(exchange: Said) -> Sequence[Keyed]:
    """Return the items before an exchange's answer, in order, each with a key unique in the exchange.

    Repeated items have no step and no duration, because neither is known; their turn is the turn of the exchange.
    """
    own: list[Keyed] = [(("user",), _question(exchange))] if exchange.text else []
    repeated = [] if exchange.again else list(_RepeatedMessages(exchange).items())
    if all(item is None for item in repeated):
        return own
    is_asked_last = repeated[-1] is None
    before = NoteItem(turn=exchange.turn, kind="note", what=NOT_HEARD)
    behind = NoteItem(turn=exchange.turn, kind="note", what=HEARD)
    keyed: list[Keyed] = []
    for number, item in enumerate((before, *(repeated[:-1] if is_asked_last else repeated), behind)):
        keyed += own if item is None else [(("told", str(number)), item)]
    return [*keyed, *(own if is_asked_last else ())]


def _question(exchange: Said) -> Item:
    if not exchange.is_beside:
        return UserItem(turn=exchange.turn, text=exchange.text)
    words = line(" ".join(exchange.text.split()), _BESIDE)
    return NoteItem(turn=exchange.turn, kind="note", what=f'{BESIDE} "{words}"')


class _RepeatedMessages:
    """Reads the messages of a request that were not captured when first sent."""

    def __init__(self, exchange: Said) -> None:
        self._exchange = exchange
        self._messages = exchange.asking.messages
        asking = exchange.asking
        system = "\n\n".join(piece.text for piece in asking.system_pieces)
        self._readers = readers_of(asking.protocol, system, asking.host)
        self._taken: set[int] = set()
        self._by_person: dict[int, str] = {}
        self._by_results: dict[int, Sequence[Piece]] = {}

    def items(self) -> Iterator[Item | None]:
        """Yield the items in order; None stands for the request's own question."""
        exchange = self._exchange
        places = {*exchange.unheard}
        if self._messages and (places or exchange.parent is None):
            places.add(len(self._messages) - 1)  # this message may hold results
        asked = self._question_place()
        for place in sorted({*places, *asked}):
            if self._messages[place].role != "model":
                yield from self._results_without_calls(place)
                yield from [None] if place in asked else self._person_at(place)
            elif not self._is_for_the_host(place):
                yield from self._answer(place)

    def _question_place(self) -> Sequence[int]:
        """Return the place of the person's question in the request, if there is one."""
        exchange = self._exchange
        behind = reversed(range(exchange.after + 1, len(self._messages)))
        return [place for place in behind if exchange.text and self._words(place) == exchange.text][:1]

    def _words(self, place: int) -> str:
        """Return the person's words in a message."""
        words = self._by_person.get(place)
        if words is None:
            message = self._messages[place]
            words = self._by_person[place] = said_by_person(message) if message.role == "user" else ""
        return words

    def _person_at(self, place: int) -> Iterator[Item]:
        text = self._words(place)
        if text and place in self._exchange.unheard:
            yield UserItem(turn=self._exchange.turn, text=text)

    def _is_for_the_host(self, place: int) -> bool:
        """Return whether an answer only replies to text that the host itself put in, as directory and date."""
        message, before = self._messages[place], place - 1
        if before not in self._exchange.unheard or message.of("call"):
            return False
        return not self._words(before) and not self._results(before)

    def _results(self, place: int) -> Sequence[Piece]:
        """Return the results in a message."""
        results = self._by_results.get(place)
        if results is None:
            asking = self._exchange.asking
            results = self._by_results[place] = results_of(asking.body, asking.protocol, self._messages[place])
        return results

    def _results_without_calls(self, place: int) -> Iterator[Item]:
        """Yield results whose calls are missing from the request."""
        exchange = self._exchange
        is_heard = exchange.parent is not None and place == exchange.after + 1
        if is_heard or (place and place - 1 not in exchange.unheard):
            return
        for piece in self._results(place):
            if piece.start not in self._taken:
                key = f"{'.'.join(exchange.asking.key)}.{place}.{piece.start}"
                yield CallItem(
                    turn=exchange.turn,
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
        """Yield the model's text and calls, each call with its result."""
        exchange, asking = self._exchange, self._exchange.asking
        parts = list(self._read(place))
        calls = [part for part in parts if isinstance(part, Asked)]
        results = {call.key: result for call, result in results_in(asking, place, calls)}
        self._taken.update(result.start for result in results.values())
        for part in parts:
            if isinstance(part, AnswerItem):
                yield part
                continue
            result = results.get(part.key)
            yield CallItem(
                turn=exchange.turn,
                step=0,
                call=part.key,
                server="",
                tool=part.name,
                asked=part.arguments,
                state="asked" if result is None else "done",
                words=_TOLD,
                result="" if result is None else result.text,
            )

    def _read(self, place: int) -> Iterator[AnswerItem | Asked]:
        """Yield the text and the calls of a model's message, calls in the text included."""
        numbers = count()
        for run in _runs(self._messages[place], self._exchange.asking.body):
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
                turn = self._exchange.turn
                yield AnswerItem(turn=turn, step=0, text=words, thinking=fold.thinking, state="done")
            for folded in fold.calls:
                yield self._call(place, next(numbers), folded.call.name, folded.call.arguments, "")

    def _call(self, place: int, number: int, name: str, arguments: str, wire_id: str) -> Asked:
        capture, exchange = self._exchange.asking.key
        return Asked(
            key=f"{capture}.{exchange}.{place}.{number}",
            capture=capture,
            exchange=exchange,
            number=number,
            wire_id=wire_id,
            name=name,
            arguments=arguments,
            at_ns=self._exchange.asking.at_ns,
            spans=(),
        )


def _runs(message: Heard, body: bytes) -> Iterator[Sequence[Piece]]:
    """Split a message into calls and runs of text; hosts may cut an answer into several messages."""
    run: list[Piece] = []
    for piece in message.pieces:
        if run and (piece.kind == "call" or _ROLE in body[run[-1].end : piece.start]):
            yield run
            run = []
        if piece.kind == "call":
            yield [piece]
        else:
            run.append(piece)
    if run:
        yield run
