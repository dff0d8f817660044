"""Read one exchange of a tapped host with its model, record by record."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import TypeAlias

from tui_host.capture.content_codings import CodingError, decoder
from tui_host.capture.http.exchange_end import kept_in_words, read_ending
from tui_host.capture.record import MISSING, Head, Record
from tui_host.infer.call_values import Call, Result, canonical_text
from tui_host.infer.conversations.host_names import OWN, Speaker, agent_of, host_asking, is_host, model_asked
from tui_host.infer.conversations.prompted import NATIVE, listed_names, reader_of, recognise
from tui_host.infer.conversations.request_messages import MessagePart, RequestMessage, RequestReader, results_of
from tui_host.llm.dialects.dialect import Dialect
from tui_host.llm.dialects.table import dialect_at
from tui_host.llm.events import ModelEvent, TextDelta
from tui_host.llm.exchange_summary import ResponseWords
from tui_host.llm.fold import Fold, FoldedCall

ExchangeKey: TypeAlias = tuple[str, str]
"""Capture and id of an exchange."""
MOST = 8 << 20
"""The most bytes of a body that is read."""
_MODEL = re.compile(rb'"model(?:Version)?"\s*:\s*"([^"\\]{1,100})"')
_FIRST = 2000
"""Characters from which a first message may teach a protocol, where a host has no system prompt."""
_ALIKE = 200
"""Characters by which an answer is recognised, because hosts cut answers and remove thinking."""


class ModelExchange:
    """One exchange as read so far, and its place in a conversation, which `Conversations` finds."""

    status: int = 0  # 0 if no answer was captured
    has_answer: bool = False
    is_missing: bool = False  # the answer is not in the capture
    lacks: str = ""  # how much of the answer was kept, in words; empty for all
    is_over: bool = False
    mark: int = 0  # that exchanges with equal messages share
    turn: int = 0
    step: int = 1
    text: str = ""  # the person's words; empty where the request only continues with results
    parent: ExchangeKey | None = None  # whose answer the request continues
    is_certain: bool = True  # no other answer may be the parent's
    answer_place: int = -1  # of the parent's answer among the messages
    repeated: int = 0  # how many messages were not captured before this request repeated them
    tells_history: bool = False  # these are new in the story; of a history that a host cut or rewrote nobody knows that
    is_retry: bool = False  # the request repeats one that failed
    previous: ExchangeKey | None = None  # the exchange before in the conversation, or the failed one
    is_side_request: bool = False  # begins one of the host's own
    _refusal: ResponseWords | None = None
    _broken: str = ""
    _size: int = 0
    _calls: Sequence[Call] | None = None

    def __init__(self, record: Record, at_ns: int, dialect: Dialect, body: bytes, requests: RequestReader) -> None:
        head = record.head or Head()
        self.key = self.conversation = (record.capture, record.exchange or "")
        self.at_ns = self.end_ns = at_ns
        self.body = body
        self.request = request = requests.read(dialect, body)
        self.messages = request.messages
        opening = self.messages[0].text if self.messages and self.messages[0].role == "user" else ""
        self.dialect, self.peer = dialect.name, record.peer
        self.agent = agent_of(head.headers)
        self.host = host_asking(self.agent, request.prompt)
        self.model = model_asked(head.url or "", body)
        self.fold = Fold(provider=self.peer, model=self.model, call_id=str)
        taught = request.prompt + (opening if len(opening) > _FIRST else "")
        self._is_bare = not (taught or self.model or request.offered)  # as a history that Cline keeps
        if self._is_bare:
            taught = "\n".join(message.text for message in self.messages if message.role == "model")
        self.protocol = recognise(taught)
        self.offered = request.offered or tuple(listed_names(self.protocol, request.prompt))
        self.children: list[ExchangeKey] = []
        self._dialect = dialect
        self._reader = reader_of(self.protocol, request.prompt, is_own=self.host == OWN)
        self._decoder = dialect.decoder("")
        self._coding = decoder(None)
        self._ends: list[int] = []
        self._times: list[int] = []

    # Records.

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
                self._end(record.data)
            case _:
                pass

    def _chunk(self, data: bytes, encoding: str | None, at_ns: int) -> None:
        if self._size > MOST:
            return
        try:
            if not self._size:
                self._coding = decoder(encoding)
            plain = self._coding.feed(data) if encoding is not None else data  # kept decoded from here on
        except CodingError:
            self._size = MOST + 1
            return
        if self._is_bare and not self._size:
            self._learn(plain)
        self._size += len(plain)
        if self._refusal is not None:
            self._refusal.feed(plain)
            return
        self._ends.append(self._size)
        self._times.append(at_ns)
        self._take(self._decoder.feed(plain))

    def _learn(self, plain: bytes) -> None:
        """Take model and protocol from an answer whose request was not captured, or does not tell them."""
        named = _MODEL.search(plain)
        self.model = named[1].decode("utf-8", "replace") if named is not None else self.model
        if self.protocol == NATIVE:
            self.protocol = recognise(plain.decode("utf-8", "replace"))
        self._reader = reader_of(self.protocol, "", is_own=False)

    def _take(self, events: Sequence[ModelEvent]) -> None:
        for event in events:
            for read in self._reader.feed(event):
                self.fold.add(read)

    def _end(self, data: bytes) -> None:
        ending = read_ending(data)
        self.is_missing, self.lacks = ending.reason == MISSING, kept_in_words(ending)
        self._broken = ending.error or ("" if ending.reason in {"complete", MISSING} else ending.reason)
        self._take(self._decoder.finish())
        for event in self._reader.finish():
            self.fold.add(event)
        self._calls = self.calls()
        self.is_over = True
        self._ends, self._times = [], []  # only the times of calls are needed any more

    # The answer.

    @property
    def speaker(self) -> Speaker:
        """The host, model and protocol of the exchange."""
        return Speaker(
            host=self.host,
            agent=self.agent,
            peer=self.peer,
            model=self.model,
            protocol=self.protocol,
            has_tools=bool(self.request.offered),
        )

    @property
    def has_tools(self) -> bool:
        """Whether the request offers tools, by the vendor's API or in words."""
        return bool(self.request.offered) or self.protocol != NATIVE

    @property
    def is_answered(self) -> bool:
        """Whether a complete answer arrived."""
        return self.has_answer and self.status < 300 and self.fold.stop not in {None, "cut", "failed"}

    @property
    def has_failed(self) -> bool:
        """Whether the answer ended incomplete and no request continues from it."""
        return self.is_over and not self.is_answered and not self.children

    @property
    def trouble(self) -> str:
        """Why there is no answer, in the words of the exchange's row; empty if no reason is stated."""
        reason = self.fold.failure if self._refusal is None else self._refusal.words
        return reason or self._broken

    @property
    def folded_calls(self) -> tuple[FoldedCall, ...]:
        """The calls of the answer so far, complete or not."""
        return self.fold.calls

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
                at_ns=self._time_of(max((end for _, end in folded.spans), default=0)),
                spans=folded.spans,
                conversation=self.conversation,
                host=self.host,
                agent=self.agent,
                offered=self.offered,
            )
            for number, folded in enumerate(self.folded_calls)
            if folded.complete
        ]

    def _time_of(self, place: int) -> int:
        if not self._ends:
            return self.end_ns
        return self._times[min(bisect_left(self._ends, place), len(self._ends) - 1)]

    # What later requests repeat.

    def may_continue_as(self, later: ModelExchange) -> bool:
        """Return whether a later request may belong to this conversation: same API, and no other host."""
        is_same_api = self.dialect == later.dialect and (self.peer == later.peer or not self.folded_calls)
        are_hosts = is_host(self.host) + is_host(later.host)
        is_another = self.host != later.host and (are_hosts > 1 or (are_hosts > 0 and self.agent != later.agent))
        return is_same_api and not is_another

    def is_repeated_in(self, message: RequestMessage) -> bool:
        """Return whether a message of a later request repeats this answer, even if cut after a call."""
        if not self.has_answer or self.status >= 300:
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
        if asked:
            return all(folded.call.written and _bare(folded.call.written) in written for folded in asked)
        own = _bare(self.fold.text or self.fold.thinking)
        return bool(own and written) and (own[:_ALIKE] in written or written[:_ALIKE] in own)

    def begins_like(self, message: RequestMessage) -> bool:
        """Return whether a message of a later request has the words before this answer's calls, where calls are words too."""
        first = self.fold.runs[0][0] if self.fold.runs else ""
        return self.protocol == NATIVE or _bare(first) in _bare(message.text)

    def read_again(self, message: RequestMessage) -> Fold:
        """Read an answer that the request repeats, with the calls that stand in its text."""
        fold = Fold(provider="", model="", call_id=str)
        reader = reader_of(self.protocol, self.request.prompt, is_own=self.host == OWN)
        for event in (*reader.feed(TextDelta(text=message.text, start=0, end=0)), *reader.finish()):
            fold.add(event)
        return fold

    def results_for(self, calls: Sequence[Call]) -> Iterator[tuple[Call, Result]]:
        """Yield each call of the answer that this request continues, with its result in the request."""
        behind = (message for message in self.messages[self.answer_place + 1 :] if message.role == "user")
        message = next(behind, None)
        if message is None:
            return
        results = results_of(self.body, self.protocol, message)
        repeated = self.messages[self.answer_place].of("call") if self.answer_place >= 0 else ()
        owners = {call.wire_id: call for call in calls if call.wire_id}
        is_alike = [part.name for part in repeated] == [call.name for call in calls]
        if is_alike and not any(part.wire_id in owners for part in results):
            # The host's own ids, where the model assigned none.
            owners = {part.wire_id: call for part, call in zip(repeated, calls, strict=True) if part.wire_id}
        by_id = [(owners[part.wire_id], part) for part in results if part.wire_id in owners]
        pairs = by_id
        if not by_id and len(results) == len(calls):
            pairs = _by_name(calls, results)
        for call, part in pairs:
            yield call, self._result(call, part, is_by_id=bool(by_id))

    def _result(self, call: Call, part: MessagePart, *, is_by_id: bool) -> Result:
        capture, exchange = self.key
        return Result(
            capture=capture,
            exchange=exchange,
            start=part.start,
            end=part.end,
            text=part.text,
            at_ns=self.at_ns,
            by_id=is_by_id,
            by_name=part.name == call.name,
        )


def _bare(text: str) -> str:
    """Remove white space, because hosts change white space."""
    return "".join(text.split())


def _by_name(calls: Sequence[Call], parts: Sequence[MessagePart]) -> list[tuple[Call, MessagePart]]:
    """Pair each result with the first unused call of a fitting tool or server name; nothing if a result fits no call."""
    left = list(calls)
    pairs: list[tuple[Call, MessagePart]] = []
    for part in parts:
        same = [call for call in left if call.name == part.name] or [call for call in left if part.name in call.name]
        if not same:
            return []
        left.remove(same[0])
        pairs.append((same[0], part))
    return pairs


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
