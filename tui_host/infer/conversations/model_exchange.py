"""Read one exchange of a tapped host with its model, record by record."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TypeAlias

from tui_host.capture.content_codings import PlainBody, decode_records
from tui_host.capture.http.exchange_end import kept_in_words, read_ending
from tui_host.capture.record import MISSING, Head, Record
from tui_host.infer.call_values import Call, Result, canonical_text
from tui_host.infer.conversations.host_names import OWN, Speaker, host_asking, is_host, model_asked
from tui_host.infer.conversations.prompted import NATIVE, listed_names, reader_of, recognise
from tui_host.infer.conversations.request_messages import MessagePart, RequestMessage, RequestReader, results_of
from tui_host.llm.dialects.dialect import Dialect
from tui_host.llm.dialects.table import dialect_at
from tui_host.llm.events import CallArguments, CallStarted, ModelEvent
from tui_host.llm.exchange_summary import ResponseWords
from tui_host.llm.fold import Fold
from tui_host.llm.protocols.tool_protocol import Reader

ExchangeKey: TypeAlias = tuple[str, str]
"""Capture and id of an exchange."""
MOST = 8 << 20  # bytes of a body that are read
_MODEL = re.compile(r'"model(?:Version)?"\s*:\s*"([^"\\]{1,100})"')
_FIRST = 2000  # characters from which a first message may teach a protocol, where a host has no system prompt
_ALIKE = 200  # characters by which an answer is recognised, because hosts cut answers and remove thinking


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
    question: str = ""  # with which the turn or side conversation began
    parent: ModelExchange | None = None  # whose answer the request continues
    is_certain: bool = True  # no other answer may be the parent's
    answer_place: int = -1  # of the parent's answer among the messages
    repeated: int = 0  # how many messages were not captured before this request repeated them
    tells_history: bool = False  # these are new in the story; of a history that a host cut or rewrote nobody knows that
    is_retry: bool = False  # the request repeats one that failed
    previous: ExchangeKey | None = None  # the exchange before in the conversation, or the failed one
    is_side_request: bool = False  # begins one of the host's own
    results: Sequence[tuple[Call, Result]] | None = None  # of the parent's calls, once those are whole
    trouble: str = ""  # why the answer is not whole, in the words of the exchange's row; empty if no reason is stated
    _refusal: ResponseWords | None = None
    _size: int = 0
    _calls: Sequence[Call] | None = None

    def __init__(self, record: Record, at_ns: int, dialect: Dialect, body: bytes, requests: RequestReader) -> None:
        head = record.head or Head()
        self.key = (record.capture, record.exchange or "")
        self.at_ns = self.end_ns = at_ns
        self.body = body
        self.dialect = dialect
        self.request = request = requests.read(body)
        self.messages = request.messages
        host, agent, title = host_asking(head.headers, request.prompt)
        model = model_asked(head.url or "", body)
        opening = self.messages[0].text if self.messages and self.messages[0].role == "user" else ""
        taught = request.prompt + (opening if len(opening) > _FIRST else "")
        self._is_bare = not (taught or model or request.offered)  # as a history that Cline keeps
        if self._is_bare:
            taught = "\n".join(message.text for message in self.messages if message.role == "model")
        has_tools, protocol = bool(request.offered), recognise(taught)
        self.speaker = Speaker(host, agent, title, record.peer, model, protocol, has_tools=has_tools)
        self.offered = request.offered or tuple(listed_names(self.speaker.protocol, request.prompt))
        self.fold = Fold(provider=record.peer, model=model, call_id=str)
        self.root: ModelExchange = self  # the first exchange of the conversation
        self.children: list[ModelExchange] = []
        self._body = PlainBody()
        self._reader = self.reader()
        self._decoder = dialect.decoder("")
        self._arrived: dict[int, int] = {}  # the time of the last bytes of each call

    def reader(self) -> Reader:
        """Return a reader for the calls in the words of an answer."""
        return reader_of(self.speaker.protocol, self.request.prompt, is_own=self.speaker.host == OWN)

    def feed(self, record: Record, at_ns: int) -> None:
        """Take in the next record of the response."""
        self.end_ns = at_ns
        if record.kind == "response":
            head = record.head or Head()
            self.status, self.has_answer = head.status or 0, True
            self._decoder = self.dialect.decoder(head.value("content-type"))
            if self.status >= 300:
                self._refusal = ResponseWords(self.dialect, status=self.status, headers=head.headers)
        elif record.kind == "chunk" and self._size <= MOST:
            plain = self._body.feed(record.data, record.encoding) or b""
            if self._is_bare and not self._size:  # then the answer may tell model and protocol
                answer, protocol = plain.decode("utf-8", "replace"), self.speaker.protocol
                named, protocol = _MODEL.search(answer), recognise(answer) if protocol == NATIVE else protocol
                self.speaker = self.speaker._replace(model="" if named is None else named[1], protocol=protocol)
                self._reader = self.reader()
            self._size += len(plain)
            if self._refusal is not None:
                self._refusal.feed(plain)
            else:
                self._take(self._decoder.feed(plain))
        elif record.kind in {"end", "error"}:
            ending = read_ending(record.data)
            self.is_missing, self.lacks = ending.reason == MISSING, kept_in_words(ending)
            self._take(self._decoder.finish(), is_end=True)
            self._calls, self.is_over = self.calls(), True
            broken = "" if ending.reason in {"complete", MISSING} else ending.reason
            reason = self.fold.failure if self._refusal is None else self._refusal.words
            self.trouble = reason or ending.error or broken

    def _take(self, events: Sequence[ModelEvent], *, is_end: bool = False) -> None:
        read = [piece for event in events for piece in self._reader.feed(event)]
        for event in (*read, *(self._reader.finish() if is_end else ())):
            self.fold.add(event)
            if isinstance(event, CallStarted | CallArguments):
                self._arrived[event.index] = self.end_ns

    @property
    def has_tools(self) -> bool:
        """Whether the request offers tools, by the vendor's API or in words."""
        return self.speaker.has_tools or self.speaker.protocol != NATIVE

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
                agent=(self.speaker.agent, self.speaker.title),
                offered=self.offered,
            )
            for number, (index, folded) in enumerate(zip(sorted(self._arrived), self.fold.calls, strict=False))
            if folded.complete
        ]

    def may_continue_as(self, later: ModelExchange) -> bool:
        """Return whether a later request may belong to this conversation: same API, and no other host."""
        hosts = {self.speaker.host, later.speaker.host}
        return self.dialect == later.dialect and (len(hosts) == 1 or not all(map(is_host, hosts)))

    def is_repeated_in(self, message: RequestMessage) -> bool:
        """Return whether a message of a later request repeats this answer, even if cut after a call."""
        asked, repeated = [folded.call for folded in self.fold.calls], message.of("call")
        ids, repeated_ids = ({call.wire_id for call in calls if call.wire_id} for calls in (asked, repeated))
        if ids and repeated_ids:
            return bool(ids & repeated_ids)
        if repeated:
            named = [(part.name, canonical_text(part.text)) for part in repeated]
            return named == [(call.name, canonical_text(call.arguments)) for call in asked]
        if ids and all(identity in message.text for identity in ids):
            return True  # agents write their history anew, with the calls as words
        written, own = _bare(message.text), _bare(self.fold.text or self.fold.thinking)
        if asked:
            return all(call.written and _bare(call.written) in written for call in asked)
        return bool(own and written) and (own[:_ALIKE] in written or written[:_ALIKE] in own)

    def results_for(self, calls: Sequence[Call]) -> Iterator[tuple[Call, Result]]:
        """Yield each call of the answer that this request continues, with its result in the request."""
        behind = (message for message in self.messages[self.answer_place + 1 :] if message.role == "user")
        message = next(behind, None)
        parts = () if message is None else results_of(self.body, self.speaker.protocol, message)
        repeated = self.messages[self.answer_place].of("call") if self.answer_place >= 0 else ()
        owners = {call.wire_id: call for call in calls if call.wire_id}
        if [part.name for part in repeated] == [call.name for call in calls]:
            # The host's own ids, where the model assigned none.
            owners |= {part.wire_id: call for part, call in zip(repeated, calls, strict=True) if part.wire_id}
        by_id = [(owners[part.wire_id], part) for part in parts if part.wire_id in owners]
        for call, part in by_id or _by_name(calls, parts):
            result = Result(
                capture=self.key[0],
                exchange=self.key[1],
                start=part.start,
                end=part.end,
                text=part.text,
                at_ns=self.at_ns,
                by_id=bool(by_id),
                by_name=part.name == call.name,
            )
            yield call, result


def _bare(text: str) -> str:
    """Remove white space, because hosts change white space."""
    return "".join(text.split())


def _by_name(calls: Sequence[Call], parts: Sequence[MessagePart]) -> list[tuple[Call, MessagePart]]:
    """Pair each result with the first unused call of a fitting tool or server name; nothing if a result fits no call."""
    left = list(calls)
    pairs: list[tuple[Call, MessagePart]] = []
    for part in parts if len(parts) == len(calls) else ():
        same = [call for call in left if call.name == part.name] or [call for call in left if part.name in call.name]
        if not same:
            return []
        left.remove(same[0])
        pairs.append((same[0], part))
    return pairs


def exchange_of(record: Record, at_ns: int, requests: RequestReader) -> ModelExchange | None:
    """Read a record as a request for an answer; None for other records."""
    head = record.head
    dialect = dialect_at(head.url or "") if head is not None and head.method in {"POST", None} else None
    if dialect is None or len(record.data) > MOST:
        return None
    body, problem = (b"", "") if record.malformed else decode_records([record])
    return None if problem else ModelExchange(record, at_ns, dialect, body, requests)
