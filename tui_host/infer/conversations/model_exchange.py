"""Read the exchanges of tapped hosts with their models, record by record, and sort them into conversations and turns.

A request continues the exchange whose messages are its prefix; else it begins a conversation.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from tui_host.capture.content_codings import PlainBody, decode_records
from tui_host.capture.http.exchange_end import Ending, read_ending
from tui_host.capture.record import Head, Record
from tui_host.infer.call_values import Call, Result, canonical_text
from tui_host.infer.conversations import request_messages
from tui_host.infer.conversations.host_names import OWN, Speaker, host_asking, model_asked
from tui_host.infer.conversations.request_messages import NATIVE, MessagePart, RequestMessage, RequestReader, recognise
from tui_host.llm.dialects.dialect import Dialect
from tui_host.llm.dialects.table import dialect_at
from tui_host.llm.events import CallArguments, CallStarted, ModelEvent
from tui_host.llm.exchange_summary import ResponseWords
from tui_host.llm.fold import Fold
from tui_host.llm.protocols.table import protocol
from tui_host.llm.protocols.tool_protocol import Reader

ExchangeKey: TypeAlias = tuple[str, str]
"""Capture and id of an exchange."""
_MOST = 8 << 20  # bytes of a body that are read
_MODEL = re.compile(r'"model(?:Version)?"\s*:\s*"([^"\\]{1,100})"')
_FIRST = 2000  # characters from which a first message may teach a protocol, where a host has no system prompt
_ALIKE = 200  # characters by which an answer is recognised, because hosts cut answers and remove thinking
_SEARCHED = 50  # exchanges with one beginning that are compared
_QUOTED = 4096  # characters of the longest question searched for; hosts cut longer questions


def exchange_of(record: Record, at_ns: int, requests: RequestReader) -> ModelExchange | None:
    """Read a record as a request for an answer; None for other records."""
    head = record.head
    dialect = dialect_at(head.url or "") if head is not None and head.method in {"POST", None} else None
    if dialect is None or len(record.data) > _MOST:
        return None
    body, problem = (b"", "") if record.malformed else decode_records([record])
    return None if problem else ModelExchange(record, at_ns, dialect, body, requests)


class ModelExchange:
    """One exchange as read so far, and its place in a conversation, which `Conversations` finds."""

    status: int = -1  # as long as no answer has begun; 0 if the answer states none
    ending: Ending = Ending()
    is_over: bool = False
    refusal: str = ""  # what an answer says that is an error
    mark: int = 0  # that exchanges with equal messages share
    turn: int = 0
    step: int = 1
    text: str = ""  # the person's words; empty where the request only continues with results
    question: str = ""  # with which the turn or side conversation began
    parent: ModelExchange | None = None  # whose answer the request continues
    is_certain: bool = True  # no other answer may be the parent's
    answer_place: int = -1  # of the parent's answer among the messages
    repeated: int = 0  # how many messages were not captured before this request repeated them
    tells_history: bool = False  # these are new in the story; of a history that a host cut or rewrote nobody knows that
    is_retry: bool = False  # the request repeats one that failed
    previous: ExchangeKey | None = None  # the exchange before in the conversation, or the failed one
    is_side_request: bool = False  # begins one of the host's own
    results: tuple[dict[int, MessagePart], bool] | None = None  # of the parent's calls, once those are whole
    _size: int = 0
    _words: ResponseWords | None = None  # of an answer that is an error
    _calls: Sequence[Call] | None = None

    def __init__(self, record: Record, at_ns: int, dialect: Dialect, body: bytes, requests: RequestReader) -> None:
        head = record.head or Head()
        self.key = (record.capture, record.exchange or "")
        self.at_ns = self.end_ns = at_ns
        self.body = body
        self.dialect = dialect
        self.request = request = requests.read(body)
        self.messages = request.messages
        model = model_asked(head.url or "", body)
        opening = self.messages[0].text if self.messages and self.messages[0].role == "user" else ""
        taught = request.prompt + (opening if len(opening) > _FIRST else "")
        self._is_bare = not (taught or model or request.offered)  # as a history that Cline keeps
        if self._is_bare:
            taught = "\n".join(message.text for message in self.messages if message.role == "model")
        host = host_asking(head.headers, request.prompt)
        self.speaker = Speaker(*host, record.peer, model, recognise(taught), has_tools=bool(request.offered))
        self._tools = request_messages.taught_tools(self.speaker.protocol, request.prompt)
        self.has_tools = self.speaker.has_tools or self.speaker.protocol != NATIVE  # by the vendor's API or in words
        self.offered = request.offered or tuple(tool.name for tool in self._tools if tool.resources is None)
        self.fold = Fold(provider=record.peer, model=model, call_id=str)
        self.root: ModelExchange = self  # the first exchange of the conversation
        self.children: list[ModelExchange] = []
        self._body = PlainBody()
        self._reader = self.reader()
        self._decoder = dialect.decoder("")
        self._arrived: dict[int, int] = {}  # the time of the last bytes of each call

    def reader(self) -> Reader:
        """Return a reader for the calls in the words of an answer."""
        # Other hosts than tui-host also run calls in prose and in code.
        return protocol(self.speaker.protocol).reader(self._tools, anywhere=self.speaker.host != OWN)

    def feed(self, record: Record, at_ns: int) -> None:
        """Take in the next record of the response."""
        self.end_ns = at_ns
        if record.kind == "response":
            head = record.head or Head()
            self.status = head.status or 0
            self._decoder = self.dialect.decoder(head.value("content-type"))
            if self.status >= 300:
                self._words = ResponseWords(self.dialect, status=self.status, headers=head.headers)
        elif record.kind == "chunk" and self._size <= _MOST:
            plain = self._body.feed(record.data, record.encoding) or b""
            if self._is_bare and not self._size:  # then the answer may tell model and protocol
                answer, name = plain.decode("utf-8", "replace"), self.speaker.protocol
                model, name = _MODEL.search(answer), recognise(answer) if name == NATIVE else name
                self.speaker = self.speaker._replace(model="" if model is None else model[1], protocol=name)
                self._reader = self.reader()
            self._size += len(plain)
            if self._words is not None:
                self._words.feed(plain)
            else:
                self._take(self._decoder.feed(plain))
        elif record.kind in {"end", "error"}:
            self.finish(read_ending(record.data))

    def finish(self, ending: Ending) -> None:
        """End the answer; without a record of its end, where whoever recorded it was killed."""
        self._take(self._decoder.finish(), is_end=True)
        self._calls, self.is_over, self.ending = self.calls(), True, ending
        self.refusal = self.fold.failure if self._words is None else self._words.words

    def _take(self, events: Iterable[ModelEvent], *, is_end: bool = False) -> None:
        read = [piece for event in events for piece in self._reader.feed(event)]
        for event in (*read, *(self._reader.finish() if is_end else ())):
            self.fold.add(event)
            if isinstance(event, CallStarted | CallArguments):
                self._arrived[event.index] = self.end_ns

    @property
    def is_answered(self) -> bool:
        """Whether a complete answer arrived."""
        return self.status < 300 and self.fold.stop not in {None, "cut", "failed"}

    @property
    def has_failed(self) -> bool:
        """Whether the answer ended incomplete and no request continues from it."""
        return self.is_over and not self.is_answered and not self.children

    def calls(self) -> Sequence[Call]:
        """Return the complete calls of the answer, without what other requests tell of them."""
        if self._calls is not None:
            return self._calls
        capture, exchange = self.key
        return [
            Call(
                key=f"{capture}.{exchange}.{number}",
                capture=capture,
                exchange=exchange,
                number=number,
                wire_id=folded.call.wire_id,
                name=folded.call.name,
                arguments=folded.call.arguments,
                at_ns=self._arrived[index],
                spans=folded.spans,
                host=self.speaker.host,
                agent=(capture, *self.speaker[:3]),
                offered=self.offered,
            )
            for number, (index, folded) in enumerate(zip(sorted(self._arrived), self.fold.calls, strict=False))
            if folded.complete
        ]

    def is_repeated_in(self, message: RequestMessage) -> bool:
        """Return whether a message of a later request repeats this answer, even if cut after a call."""
        calls, repeated = [folded.call for folded in self.fold.calls], message.of("call")
        ids, repeated_ids = ({call.wire_id for call in own if call.wire_id} for own in (calls, repeated))
        if ids and repeated_ids:
            return bool(ids & repeated_ids)
        if repeated:
            named = [(part.name, canonical_text(part.text)) for part in repeated]
            return named == [(call.name, canonical_text(call.arguments)) for call in calls]
        if ids and all(identity in message.text for identity in ids):
            return True  # agents write their history anew, with the calls as words
        # Hosts change white space.
        written, own = ("".join(text.split()) for text in (message.text, self.fold.text or self.fold.thinking))
        if calls:
            return all(call.written and "".join(call.written.split()) in written for call in calls)
        return bool(own and written) and (own[:_ALIKE] in written or written[:_ALIKE] in own)

    def results_behind(self, place: int, calls: Sequence[tuple[str, str]]) -> tuple[dict[int, MessagePart], bool]:
        """Return what the message behind an answer tells of calls (name and id), by their numbers, and whether ids say which."""
        behind = (message for message in self.messages[place + 1 :] if message.role == "user")
        told = (request_messages.results_of(self.body, self.speaker.protocol, message) for message in behind)
        parts = next(told, ())
        repeated = self.messages[place].of("call") if place >= 0 else ()
        numbers = {wire_id: number for number, (_, wire_id) in enumerate(calls) if wire_id}
        if [part.name for part in repeated] == [name for name, _ in calls]:
            # The host's own ids, where the model assigned none.
            numbers |= {part.wire_id: number for number, part in enumerate(repeated) if part.wire_id}
        results = {numbers[part.wire_id]: part for part in parts if part.wire_id in numbers}
        if results or len(parts) != len(calls):
            return results, True
        # By name, or by a server's name in that of the call, else in order; none if a result fits no call.
        left = list(range(len(calls)))
        for part in parts:
            fitting = [number for number in left if calls[number][0] == part.name]
            fitting = fitting or [number for number in left if part.name in calls[number][0]]
            if not fitting:
                return {}, False
            left.remove(fitting[0])
            results[fitting[0]] = part
        return results, False


@dataclass(slots=True, eq=False)
class Conversations:
    """Sorts exchanges into conversations in order of time."""

    exchanges: dict[ExchangeKey, ModelExchange] = field(default_factory=dict[ExchangeKey, ModelExchange])  # in order
    turns: int = 0  # so far
    _captures: set[str] = field(default_factory=set[str])
    _newest: ModelExchange | None = None  # which began the newest turn
    _last: ModelExchange | None = None  # of the newest turn, side requests apart
    _by_mark: dict[int, list[ModelExchange]] = field(default_factory=dict[int, list[ModelExchange]])

    def add(self, exchange: ModelExchange) -> None:
        """Add the next exchange as soon as its request is read, and set its place in a conversation."""
        self._find_parent(exchange)
        parent = exchange.parent
        new = exchange.messages[exchange.answer_place + 1 :]
        exchange.repeated = max((place for place, message in enumerate(new, 1) if message.role == "model"), default=0)
        exchange.tells_history = parent is not None or exchange.key[0] not in self._captures
        question = next(filter(None, (message.said for message in reversed(new))), "")
        failed = self._by_mark.get(exchange.mark, [exchange])[-1]
        exchange.is_retry = failed.has_failed and failed.turn == self.turns and failed.parent is parent
        before = failed if exchange.is_retry else parent
        if before is not None:
            exchange.previous, exchange.root = before.key, before.root
        if before is not None and (exchange.is_retry or not question or before.root.is_side_request):
            exchange.turn, exchange.question = before.turn, before.question
            exchange.step = before.step + (not exchange.is_retry)
        else:
            # It continues no results: it begins a turn, or is a side request of the newest.
            exchange.text = exchange.question = question
            newest, last = self._newest, self._last
            if newest is not None and last is not None and _is_beside(exchange, newest):
                is_open = not last.is_over or (bool(last.calls()) and not last.children)
                if is_open or _quotes(exchange, newest.text):
                    exchange.is_side_request = True
                    exchange.turn, exchange.step = newest.turn, last.step
            if not exchange.is_side_request:
                if newest is not None and _is_beside(newest, exchange) and _quotes(newest, exchange.text):
                    newest.is_side_request = True  # hosts ask for a title first
                else:
                    self.turns += 1
                exchange.turn, self._newest = self.turns, exchange
        self.exchanges[exchange.key] = exchange
        self._captures.add(exchange.key[0])
        self._by_mark.setdefault(exchange.mark, []).append(exchange)
        if parent is not None:
            parent.children.append(exchange)
        if exchange.turn == self.turns and not exchange.root.is_side_request:
            self._last = exchange

    def _find_parent(self, exchange: ModelExchange) -> None:
        """Set the exchange whose answer a request continues, the answer's place in the request, and the request's mark."""
        # One mark for each prefix of the host's conversation; where only the answer was captured, nothing is like it.
        host, messages = (exchange.dialect.name, exchange.speaker.host), exchange.messages
        marks = [hash(host if exchange.body else exchange.key)]
        for message in messages:
            marks.append(hash((marks[-1], message.mark)))
        exchange.mark = marks[-1]
        for place in reversed(range(1, len(messages))):
            latest = self._by_mark.get(marks[place], [])[: -_SEARCHED - 1 : -1]
            if messages[place].role != "model" or not latest:
                continue
            # The latest first, those of the same tap before all.
            answers = sorted(latest, key=lambda answer: answer.key[0] != exchange.key[0])
            repeated = [answer for answer in answers if answer.is_repeated_in(messages[place])]
            # A retry brought it whole.
            possible = [answer for answer in repeated if answer.is_answered] or repeated or answers
            # A request that may continue several answers takes none of them from later ones.
            sure = {
                answer.key
                for answer in possible
                if any(child.is_certain and not child.has_failed for child in answer.children)
            }
            chosen = [answer for answer in possible if answer.key not in sure] or possible
            if chosen:
                exchange.answer_place = place if repeated else place - 1
                exchange.parent = next((answer for answer in chosen if not answer.children), chosen[0])
                exchange.is_certain = bool(repeated) and len(chosen) == 1
                return

    def calls(self) -> Iterator[Call]:
        """Yield all calls that models made, in order, with what later requests tell of them."""
        for exchange in self.exchanges.values():
            calls = exchange.calls()
            if not calls:
                continue
            asked = [(call.name, call.arguments) for call in calls]
            until_ns = min((child.at_ns for child in exchange.children if child.is_certain), default=None)
            results: dict[int, list[Result]] = {}
            # Of two answers to one request with the same calls nobody knows which went on. Without an id, a second request
            # that tells results may be of an equal call in a history that was cut.
            twins = (twin.calls() for twin in self._by_mark.get(exchange.mark, ()) if twin is not exchange)
            is_open = all([(call.name, call.arguments) for call in twin] != asked for twin in twins)
            for child in exchange.children:
                parts, by_id = child.results or child.results_behind(
                    child.answer_place, [(call.name, call.wire_id) for call in calls]
                )
                child.results = (parts, by_id) if exchange.is_over else None
                for number, part in parts.items():
                    # A host's own ids tell the call in an answer, but not the answer.
                    if (is_open and child.is_certain) or (by_id and calls[number].wire_id):
                        results.setdefault(number, []).append(
                            Result(
                                capture=child.key[0],
                                exchange=child.key[1],
                                start=part.start,
                                end=part.end,
                                text=part.text,
                                by_id=by_id,
                                by_name=part.name == calls[number].name,
                            )
                        )
                is_open = is_open and child.has_failed
            for number, call in enumerate(calls):
                yield replace(call, until_ns=until_ns, results=tuple(results.get(number, ())))


def _is_beside(side: ModelExchange, main: ModelExchange) -> bool:
    """Return whether a first request without tools comes from a host that offers tools in another."""
    is_same = side.key[0] == main.key[0] and side.speaker[:3] == main.speaker[:3]  # host, agent and title
    return side.parent is None and is_same and main.has_tools and not side.has_tools


def _quotes(exchange: ModelExchange, question: str) -> bool:
    """Return whether a request's one message quotes a question between tags or quotes, or on lines of its own."""
    question = question.strip()
    text = exchange.messages[0].text.strip() if len(exchange.messages) == 1 else question
    if not 0 < len(question) <= _QUOTED or text == question:
        return False
    pattern = rf"(?:^|[\n>\"“`]|: )[ \t]*{re.escape(question)}[ \t]*(?:$|[\n<\"”`])"
    return re.search(pattern, text) is not None
