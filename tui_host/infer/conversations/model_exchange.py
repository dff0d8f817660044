"""Read one exchange of a tapped host with its model, record by record."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import count
from typing import TypeAlias

from tui_host.capture.content_codings import CodingError, decoder
from tui_host.capture.http.exchange_end import kept_in_words, read_ending
from tui_host.capture.record import MISSING, Head, Record
from tui_host.infer.call_values import Call, Result, canonical_text
from tui_host.infer.conversations.host_names import Speaker, agent_of, host_asking, is_host, model_asked
from tui_host.infer.conversations.request_messages import MessagePart, RequestMessage, RequestReader
from tui_host.infer.conversations.text_protocols import protocol_of, readers_of, results_of
from tui_host.infer.conversations.tool_offers import Offers
from tui_host.infer.tool_aliases import meant
from tui_host.llm.dialects.dialect import Dialect
from tui_host.llm.dialects.table import dialect_at
from tui_host.llm.events import ModelEvent, TextDelta
from tui_host.llm.exchange_summary import ResponseWords
from tui_host.llm.fold import Fold, FoldedCall
from tui_host.llm.protocols.tool_protocol import Reader

ExchangeKey: TypeAlias = tuple[str, str]
"""Capture and id of an exchange."""
MOST = 8 << 20
"""The most bytes of a body that is read."""
_MODEL = re.compile(rb'"model(?:Version)?"\s*:\s*"([^"\\]{1,100})"')
_ROLE = b'"role"'
"""Bytes that stand between texts of two messages, never within one message."""
_ALIKE = 200
"""Characters by which an answer is recognised, because hosts cut answers and remove thinking."""


class ModelExchange:
    """One exchange as read so far, and the exchange's place in a conversation, once `Conversations` has found the place.

    Attributes:
        key: Capture and id.
        dialect: The name of the vendor's API.
        at_ns: When the request was sent.
        is_timed: Whether the time was recorded; else only the order is known.
        body: The request's body, after content decoding.
        messages: The conversation in the request; empty if unreadable.
        offered: The names of the tools offered by the vendor's API.
        protocol: The tool protocol.
        offers: All tools offered.
        host: The name of the host; empty if unknown.
        agent: What the headers alone state of the host.
        model: Who is asked.
        status: The response's status, 0 if none was captured.
        has_answer: Whether the response's head arrived.
        is_missing: Whether the answer is missing from the capture.
        lacks: How much of the answer was kept, in words; empty for all.
        fold: The answer so far.
        end_ns: The time of the last record.
        is_over: No more comes.
        mark: A mark that exchanges with equal messages share.
        turn: The turn in the story, from 1.
        step: The step in the turn, from 1.
        conversation: The key of the conversation's first exchange.
        text: The person's words; empty where the request only continues with results.
        parent: The exchange whose answer the request continues.
        answer_place: The place of that answer among the request's messages, -1 if missing.
        children: The exchanges that continue from the answer.
        is_retry: Whether the request repeats an earlier one.
        uncaptured: The places of messages that were not captured when first sent.
        previous: The exchange before in the conversation, or the first try of the request; None for the first.
        is_side_request: Whether the exchange begins a side request of the host's.
    """

    status: int = 0
    has_answer: bool = False
    is_missing: bool = False
    lacks: str = ""
    is_over: bool = False
    mark: bytes = b""
    turn: int = 0
    step: int = 0
    text: str = ""
    parent: ExchangeKey | None = None
    answer_place: int = -1
    is_retry: bool = False
    uncaptured: tuple[int, ...] = ()
    previous: ExchangeKey | None = None
    is_side_request: bool = False
    _refusal: ResponseWords | None = None
    _broken: str = ""
    _is_begun: bool = False
    _size: int = 0
    _calls: Sequence[Call] | None = None
    _meant: Sequence[tuple[str, str | None]] | None = None
    _folded: tuple[FoldedCall, ...] | None = None

    def __init__(self, record: Record, at_ns: int, dialect: Dialect, body: bytes, requests: RequestReader) -> None:
        self.key = (record.capture, record.exchange or "")
        self.dialect = dialect.name
        self.at_ns = self.end_ns = at_ns
        self.is_timed = record.mono_ns is not None
        self.body = body
        self.peer = record.peer
        request = requests.read(dialect, body)
        self.offered, self.system_pieces, self.messages = request.offered, request.system, request.messages
        system = "\n\n".join(part.text for part in self.system_pieces)
        head = record.head or Head()
        opening = self.messages[0].text if self.messages and self.messages[0].role == "user" else ""
        self.host = host_asking(head.headers, system, opening)
        self.agent = agent_of(head.headers)
        self.model = model_asked(head.url or "", request.around)
        self.fold = Fold(provider=self.peer, model=self.model, call_id=str)
        self._is_guessed = (head.method is None or not body) and not (self.model or system or request.offered)
        answers = (message.text for message in self.messages if message.role == "model")
        taught = "\n".join(answers) if self._is_guessed else system
        self.protocol = protocol_of(taught, self.messages)
        self.offers = Offers(self.offered, self.protocol, self.system_pieces)
        self._dialect = dialect
        self._readers = readers_of(self.protocol, system, self.host)
        self._reader: Reader = self._readers()
        self._decoder = dialect.decoder("")
        self._coding = decoder(None)
        self._ends: list[int] = []
        self._times: list[int] = []
        self.conversation = self.key
        self.children: list[ExchangeKey] = []

    def feed(self, record: Record, at_ns: int) -> None:
        """Take in the next record of the response."""
        self.end_ns = at_ns
        match record.kind:
            case "response":
                head = record.head or Head()
                self.status, self.has_answer = head.status or 0, True
                self._decoder = self._dialect.decoder(head.value("content-type"))
                if self.status >= 300:
                    self._refusal = ResponseWords(self._dialect, status=self.status, headers=head.headers)
            case "chunk":
                self._chunk(record.data, record.encoding, at_ns)
            case "end" | "error":
                self.is_over = True
                ending = read_ending(record.data)
                self.is_missing, self.lacks = ending.reason == MISSING, kept_in_words(ending)
                self._broken = ending.error or ("" if ending.reason in {"complete", MISSING} else ending.reason)
                self._take(self._decoder.finish())
                for event in self._reader.finish():
                    self.fold.add(event)
                self._forget()
            case _:
                pass

    def _chunk(self, data: bytes, encoding: str | None, at_ns: int) -> None:
        if self._size > MOST:
            return
        try:
            if not self._is_begun:
                self._coding, self._is_begun = decoder(encoding), True
            plain = self._coding.feed(data) if encoding is not None else data  # kept decoded from here on
        except CodingError:
            self._size = MOST + 1
            return
        self._learn(plain)
        self._size += len(plain)
        if self._refusal is not None:
            self._refusal.feed(plain)
            return
        self._ends.append(self._size)
        self._times.append(at_ns)
        self._take(self._decoder.feed(plain))

    def _learn(self, plain: bytes) -> None:
        """Take model and protocol from the answer where the request does not state them."""
        if self._size or not self._is_guessed:
            return
        named = _MODEL.search(plain)
        self.model = named[1].decode("utf-8", "replace") if named is not None else self.model
        if self.protocol == "native":
            self.protocol = protocol_of(plain.decode("utf-8", "replace"), ())
        self._reader = readers_of(self.protocol, "", self.host)()

    def _take(self, events: Sequence[ModelEvent]) -> None:
        for event in events:
            for read in self._reader.feed(event):
                self.fold.add(read)

    def _forget(self) -> None:
        """Drop buffers that only a growing answer needs."""
        self.calls()  # which keeps them with their times
        self._ends, self._times = [], []

    @property
    def has_no_request(self) -> bool:
        """Whether only the answer was captured, as in some logs and archives."""
        return not self.body

    @property
    def is_waiting(self) -> bool:
        """Whether the answer's calls have no results yet."""
        return bool(self.folded_calls) and not self.children

    @property
    def has_failed(self) -> bool:
        """Whether the answer ended incomplete and no request continues from the answer."""
        return self.is_over and not self.is_answered and not self.children

    @property
    def speaker(self) -> Speaker:
        """The host, model and protocol of the exchange."""
        return Speaker(
            host=self.host,
            agent=self.agent,
            peer=self.peer,
            model=self.model,
            protocol=self.protocol,
            has_tools=bool(self.offered),
        )

    @property
    def is_answered(self) -> bool:
        """Whether a complete answer arrived."""
        return self.has_answer and self.status < 300 and self.fold.stop not in {None, "cut", "failed"}

    @property
    def trouble(self) -> str:
        """Why there is no answer, in the words of the exchange's row; empty if no reason is stated."""
        reason = self.fold.failure if self._refusal is None else self._refusal.words
        return reason or self._broken

    @property
    def is_readable(self) -> bool:
        """Whether the body was read completely: small enough, and with a content coding that could be decoded."""
        return self._size <= MOST

    @property
    def folded_calls(self) -> tuple[FoldedCall, ...]:
        """The calls of the answer so far, complete or not; kept once the answer is over."""
        folded = self.fold.calls if self._folded is None else self._folded
        self._folded = folded if self.is_over and not self._ends else None
        return folded

    def calls(self) -> Sequence[Call]:
        """Return the complete calls of the answer."""
        if self._calls is not None:
            return self._calls
        capture, exchange = self.key
        calls = [
            Call(
                key=f"{capture}.{exchange}.{number}",
                capture=capture,
                exchange=exchange,
                number=number,
                wire_id=folded.call.wire_id,
                name=folded.call.name,
                arguments=folded.call.arguments,
                at_ns=self._time_of(max((end for _, end in folded.spans), default=0)),
                spans=folded.spans,
            )
            for number, folded in enumerate(self.folded_calls)
            if folded.complete
        ]
        self._calls = calls if self.is_over else None
        return calls

    def meant(self) -> Sequence[tuple[str, str | None]]:
        """Return name and arguments of the tool meant by each call."""
        if self._meant is not None:
            return self._meant
        meanings = [meant(asked) for asked in self.calls()]
        self._meant = meanings if self.is_over else None
        return meanings

    def repeated_answer(self, place: int) -> Iterator[Call | Fold]:
        """Yield the calls and the texts of an answer that the request repeats, with the calls that stand in the text."""
        numbers = count()
        for run in _runs(self.messages[place], self.body):
            if run[0].kind == "call":
                yield self._repeated_call(place, next(numbers), run[0].name, run[0].text, run[0].wire_id)
                continue
            text = "".join(part.text for part in run)
            fold, reader = Fold(provider="", model="", call_id=str), self._readers()
            for event in (*reader.feed(TextDelta(text=text, start=0, end=len(text))), *reader.finish()):
                fold.add(event)
            yield fold
            for folded in fold.calls:
                yield self._repeated_call(place, next(numbers), folded.call.name, folded.call.arguments, "")

    def _repeated_call(self, place: int, number: int, name: str, arguments: str, wire_id: str) -> Call:
        capture, exchange = self.key
        return Call(
            key=f"{capture}.{exchange}.before.{place}.{number}",
            capture=capture,
            exchange=f"{exchange}.before.{place}",
            number=number,
            wire_id=wire_id,
            name=name,
            arguments=arguments,
            at_ns=self.at_ns,
            spans=(),
        )

    def results_after(self, place: int, calls: Sequence[Call]) -> Iterator[tuple[Call, Result]]:
        """Yield each call of an earlier answer that has a result in the request, with the result.

        Args:
            place: The place of the answer among the request's messages, -1 if missing.
            calls: The answer's calls.
        """
        by_id = {call.wire_id: call for call in calls if call.wire_id}
        message = next((message for message in self.messages[place + 1 :] if message.role == "user"), None)
        if message is None:
            return
        results = results_of(self.body, self.protocol, message)
        repeated = self.messages[place].of("call") if place >= 0 else ()
        parts = [(by_id[part.wire_id], part, True) for part in results if part.wire_id in by_id]
        if not parts:
            own = _by_own_id(repeated, calls)
            parts = [(own[part.wire_id], part, True) for part in results if part.wire_id in own]
        is_in_words = self.protocol != "native" and not (by_id or repeated)  # then ids of results are of no calls
        if (is_in_words or not any(part.wire_id for part in results)) and len(results) == len(calls):
            parts = [(call, part, False) for call, part in _by_name(calls, results)]  # SDKs may drop ids
        capture, exchange = self.key
        for call, part, is_by_id in parts:
            result = Result(
                capture=capture,
                exchange=exchange,
                start=part.start,
                end=part.end,
                text=part.text,
                at_ns=self.at_ns,
                by_id=is_by_id,
                by_name=part.name == call.name,
            )
            yield call, result

    def may_continue_as(self, later: ModelExchange) -> bool:
        """Return whether a later request may belong to this conversation: same API, and no other host."""
        is_same_api = self.dialect == later.dialect and (self.peer == later.peer or not self.folded_calls)
        return is_same_api and not self.is_of_another_host(later)

    def is_of_another_host(self, exchange: ModelExchange) -> bool:
        """Return whether two exchanges come from different hosts, by name or by headers."""
        if self.host == exchange.host:
            return False
        named = is_host(self.host) + is_host(exchange.host)
        return named > 1 or (named > 0 and self.agent != exchange.agent)

    def is_repeated_in(self, message: RequestMessage) -> bool:
        """Return whether a message of a later request repeats this answer, even if cut after a call."""
        if message.role != "model" or not self.has_answer or self.status >= 300:
            return False
        asked, repeated = self.folded_calls, message.of("call")
        ids, told_ids = {folded.call.wire_id for folded in asked} - {""}, {part.wire_id for part in repeated} - {""}
        if ids and told_ids:
            return bool(ids & told_ids)
        if repeated:
            named = [(folded.call.name, canonical_text(folded.call.arguments)) for folded in asked]
            return named == [(part.name, canonical_text(part.text)) for part in repeated]
        if ids and all(identity in message.text for identity in ids):
            return True  # agents write their history anew, with the calls as words
        written = _bare(message.text)
        calls = [_bare(folded.call.written) for folded in asked]
        if calls:
            return all(call and call in written for call in calls)
        return bool(written) and self.has_text_of(message)

    def has_text_of(self, message: RequestMessage) -> bool:
        """Return whether a message's text beside calls repeats this answer's text or its beginning, or is empty."""
        answered = self.fold.text or self.fold.thinking
        written, own = _bare(message.text), _bare(answered)
        for folded in self.folded_calls if written else ():  # calls that stand in the text
            written = written.replace(_bare(folded.call.written), "")
        return not written or (bool(own) and (own[:_ALIKE] in written or written[:_ALIKE] in own))

    def _time_of(self, place: int) -> int:
        if not self._ends:
            return self.end_ns
        return self._times[min(bisect_left(self._ends, place), len(self._ends) - 1)]


def _runs(message: RequestMessage, body: bytes) -> Iterator[Sequence[MessagePart]]:
    """Split a message into calls and runs of text; hosts may cut an answer into several messages."""
    run: list[MessagePart] = []
    for part in message.parts:
        if run and (part.kind == "call" or _ROLE in body[run[-1].end : part.start]):
            yield run
            run = []
        if part.kind == "call":
            yield [part]
        else:
            run.append(part)
    if run:
        yield run


def _bare(text: str) -> str:
    """Remove white space, because hosts change white space."""
    return "".join(text.split())


def exchange_of(record: Record, at_ns: int, requests: RequestReader) -> ModelExchange | None:
    """Read a record as a request for an answer; None for other records."""
    head = record.head
    if head is None or head.method not in {"POST", None}:
        return None
    dialect = dialect_at(head.url or "")
    if dialect is None or len(record.data) > MOST:
        return None
    try:
        coding = decoder(record.encoding)
        body = b"" if record.malformed else coding.feed(record.data) + coding.finish()
    except CodingError:
        return None
    return ModelExchange(record, at_ns, dialect, body, requests)


def _by_own_id(repeated: Sequence[MessagePart], calls: Sequence[Call]) -> dict[str, Call]:
    """Return the calls by the ids that the host assigned, where the model assigned none."""
    if [part.name for part in repeated] != [call.name for call in calls]:
        return {}
    return {part.wire_id: call for part, call in zip(repeated, calls, strict=True) if part.wire_id}


def _by_name(calls: Sequence[Call], parts: Sequence[MessagePart]) -> Sequence[tuple[Call, MessagePart]]:
    """Pair each result with the first unused call of a fitting tool or server name; nothing if a result fits no call."""
    left = dict(enumerate(calls))
    named: dict[str, list[int]] = defaultdict(list)  # the last first
    for number in reversed(left):
        named[left[number].name].append(number)
    calls_with_results: list[tuple[Call, MessagePart]] = []
    for part in parts:
        same = named.get(part.name)
        number = same[-1] if same else next((place for place, call in left.items() if part.name in call.name), None)
        if number is None:
            return ()
        call = left.pop(number)
        named[call.name].pop()  # the first unused call of the name is also the first that fits
        calls_with_results.append((call, part))
    return calls_with_results
