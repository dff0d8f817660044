"""Read one exchange of a tapped host with its model, record by record."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence

from tui_host.capture.content_codings import CodingError, decoder
from tui_host.capture.http.exchange_end import kept_in_words, read_ending
from tui_host.capture.record import MISSING, Head, Record
from tui_host.infer.asking.host_names import agent_of, host_asking, is_host, model_asked
from tui_host.infer.asking.offered_names import Offers
from tui_host.infer.asking.request_messages import Heard
from tui_host.infer.asking.request_reader import Hearing
from tui_host.infer.asking.text_protocols import protocol_of, reader_of
from tui_host.infer.call_values import Asked, canonical_text
from tui_host.infer.tool_aliases import meant
from tui_host.llm.dialects.dialect import Decoder, Dialect
from tui_host.llm.dialects.dialect_table import dialect_at
from tui_host.llm.events import ModelEvent
from tui_host.llm.exchange_summary import ResponseWords
from tui_host.llm.fold import Fold
from tui_host.llm.protocols.tool_protocol import Reader

MOST = 8 << 20
"""The most bytes of a body that is read."""
AT_WORK_NS = 60_000_000_000
"""How long after an answer a call still counts as part of the answer's turn if no call of the answer equals it."""
_MODEL = re.compile(rb'"model(?:Version)?"\s*:\s*"([^"\\]{1,100})"')
_ALIKE = 200
"""Characters by which an answer is recognised, because hosts cut answers and remove thinking."""


class Asking:
    """One exchange as read so far.

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
    """

    def __init__(self, record: Record, at_ns: int, dialect: Dialect, body: bytes, hearing: Hearing) -> None:
        self.key = (record.capture, record.draft.exchange or "")
        self.dialect = dialect.name
        self.at_ns = self.end_ns = at_ns
        self.is_timed = record.mono_ns is not None
        self.body = body
        self.peer = record.draft.peer
        self.status = 0
        self.has_answer = False
        self.is_missing = False
        self.lacks = ""
        self.is_over = False
        request = hearing.read(dialect, body)
        self.offered, self.system_pieces, self.messages = request.offered, request.system, request.messages
        system = "\n\n".join(piece.text for piece in self.system_pieces)
        head = record.draft.head or Head()
        opening = self.messages[0].text if self.messages and self.messages[0].role == "user" else ""
        self.host = host_asking(head.headers, system, opening)
        self.agent = agent_of(head.headers)
        self.model = model_asked(head.url or "", request.around)
        self.fold = Fold(provider=self.peer, model=self.model, call_id=str)
        self._is_guessed = (head.method is None or not body) and not (self.model or system or request.offered)
        taught = (
            "\n".join(message.text for message in self.messages if message.role == "model")
            if self._is_guessed
            else system
        )
        self.protocol = protocol_of(taught, self.messages)
        self.offers = Offers(self.offered, self.protocol, self.system_pieces, self.messages, body)
        self._dialect = dialect
        self._reader: Reader = reader_of(self.protocol, system, self.host)
        self._decoder: Decoder = dialect.decoder("")
        self._coding = decoder(None)
        self._refusal: ResponseWords | None = None
        self._broken = ""
        self._is_begun = False
        self._ends: list[int] = []
        self._times: list[int] = []
        self._size = 0
        self._calls: Sequence[Asked] | None = None
        self._meant: Sequence[tuple[str, str | None]] | None = None

    def feed(self, record: Record, at_ns: int) -> None:
        """Take in the next record of the response."""
        draft = record.draft
        self.end_ns = at_ns
        match draft.kind:
            case "response":
                head = draft.head or Head()
                self.status, self.has_answer = head.status or 0, True
                self._decoder = self._dialect.decoder(head.value("content-type"))
                if self.status >= 300:
                    self._refusal = ResponseWords(dialect=self._dialect.name, status=self.status, headers=head.headers)
            case "chunk":
                self._chunk(draft.data, draft.encoding, at_ns)
            case "end" | "error":
                self.is_over = True
                ending = read_ending(draft.data)
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
        self._reader = reader_of(self.protocol, "", self.host)

    def _take(self, events: Sequence[ModelEvent]) -> None:
        for event in events:
            for read in self._reader.feed(event):
                self.fold.add(read)

    def _forget(self) -> None:
        """Drop buffers that only a growing answer needs."""
        self.calls()  # which keeps them with their times
        self._ends, self._times = [], []

    @property
    def is_unheard(self) -> bool:
        """Whether only the answer was captured, as in some logs and archives."""
        return not self.body

    @property
    def is_answered(self) -> bool:
        """Whether a complete answer arrived."""
        return self.has_answer and self.status < 300 and self.fold.stop not in {None, "cut", "failed"}

    def is_at_work(self, at_ns: int) -> bool:
        """Return whether the answer was being written, or its calls were running, at a time."""
        if not self.has_answer or at_ns < self.at_ns:
            return False
        return not self.is_over or (bool(self.calls()) and at_ns - self.end_ns <= AT_WORK_NS)

    @property
    def trouble(self) -> str:
        """Why there is no answer, in the words of the exchange's row; empty if no reason is stated."""
        reason = self.fold.failure if self._refusal is None else self._refusal.words
        return reason or self._broken

    @property
    def is_readable(self) -> bool:
        """Whether the body was read completely: small enough, and with a content coding that could be decoded."""
        return self._size <= MOST

    def calls(self) -> Sequence[Asked]:
        """Return the complete calls of the answer."""
        if self._calls is not None:
            return self._calls
        capture, exchange = self.key
        calls = [
            Asked(
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
            for number, folded in enumerate(self.fold.calls)
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

    def may_continue_as(self, later: Asking) -> bool:
        """Return whether a later request may belong to this conversation: same API, and no other host."""
        is_same_api = self.dialect == later.dialect and (self.peer == later.peer or not self.fold.calls)
        return is_same_api and not self.is_of_another_host(later)

    def is_of_another_host(self, asking: Asking) -> bool:
        """Return whether two exchanges come from different hosts, by name or by headers."""
        if self.host == asking.host:
            return False
        named = is_host(self.host) + is_host(asking.host)
        return named > 1 or (named > 0 and self.agent != asking.agent)

    def is_repeated_in(self, message: Heard) -> bool:
        """Return whether a message of a later request repeats this answer, even if cut after a call."""
        if message.role != "model" or not self.has_answer or self.status >= 300:
            return False
        asked, repeated = self.fold.calls, message.of("call")
        ids, told_ids = {folded.call.wire_id for folded in asked} - {""}, {piece.wire_id for piece in repeated} - {""}
        if ids and told_ids:
            return bool(ids & told_ids)
        if repeated:
            named = [(folded.call.name, canonical_text(folded.call.arguments)) for folded in asked]
            return named == [(piece.name, canonical_text(piece.text)) for piece in repeated]
        if ids and all(identity in message.text for identity in ids):
            return True  # agents write their history anew, with the calls as words
        written = _bare(message.text)
        calls = [_bare(folded.call.written) for folded in asked]
        if calls:
            return all(call and call in written for call in calls)
        return bool(written) and self.has_text_of(message)

    def has_text_of(self, message: Heard) -> bool:
        """Return whether a message's text beside calls repeats this answer's text or its beginning, or is empty."""
        answered = self.fold.text or self.fold.thinking
        written, own = _bare(message.text), _bare(answered)
        for folded in self.fold.calls if written else ():  # calls that stand in the text
            written = written.replace(_bare(folded.call.written), "")
        return not written or (bool(own) and (own[:_ALIKE] in written or written[:_ALIKE] in own))

    def _time_of(self, place: int) -> int:
        if not self._ends:
            return self.end_ns
        return self._times[min(bisect_left(self._ends, place), len(self._ends) - 1)]


def _bare(text: str) -> str:
    """Remove white space, because hosts change white space."""
    return "".join(text.split())


def asking_of(record: Record, at_ns: int, hearing: Hearing) -> Asking | None:
    """Read a record as a request for an answer; None for other records."""
    head = record.draft.head
    if head is None or head.method not in {"POST", None}:
        return None
    dialect = dialect_at(head.url or "")
    if dialect is None or len(record.draft.data) > MOST:
        return None
    try:
        coding = decoder(record.draft.encoding)
        body = b"" if record.draft.malformed else coding.feed(record.draft.data) + coding.finish()
    except CodingError:
        return None
    return Asking(record, at_ns, dialect, body, hearing)
