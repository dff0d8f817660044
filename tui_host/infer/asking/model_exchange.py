"""One exchange of a tapped host with its model: what it says so far, each byte read once."""

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
"""Bytes of a body that is read; of a larger one it is not told what it says."""
AT_WORK_NS = 60_000_000_000
"""So long after an answer a call is taken for one of its turn that is none that it asks for, word for word."""
_MODEL = re.compile(rb'"model(?:Version)?"\s*:\s*"([^"\\]{1,100})"')
_ALIKE = 200
"""Characters of an answer by which it is known again: hosts cut, and take thinking out."""


class Asking:
    """One exchange while it grows.

    Attributes:
        key: Capture and id.
        dialect: The name of the vendor's API in which it is sent.
        at_ns: When the request was sent.
        is_timed: That is told; else it is no more than its place in the order.
        body: The request's body, after content decoding.
        messages: The conversation that it sends; empty if it cannot be read.
        offered: The names of the tools that it offers by the vendor's API.
        protocol: The tool protocol that it speaks.
        offers: All tools of which it tells.
        host: Who asks, as far as that can be told.
        agent: What its headers alone say of that.
        model: Who is asked.
        status: The response's, 0 before it came, and where it is not known.
        has_answer: Its head came.
        is_missing: What was captured does not have the answer.
        lacks: How much of the answer that came was kept, in words; empty for all.
        fold: The answer so far.
        end_ns: When the last of it came.
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
        taught = "\n".join(each.text for each in self.messages if each.role == "model") if self._is_guessed else system
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
        """The next record of the response."""
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
        """What an answer tells where its request is not known, or not known but for its messages."""
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
        """Let go of what only an answer that grows needs: a story holds many that do not."""
        self.calls()  # which are kept with their times
        self._ends, self._times = [], []

    @property
    def is_unheard(self) -> bool:
        """Whether the answer alone is known: a log, or an archive, does not have what was asked, or no more than its beginning."""
        return not self.body

    @property
    def is_answered(self) -> bool:
        """Whether a whole answer came."""
        return self.has_answer and self.status < 300 and self.fold.stop not in {None, "cut", "failed"}

    def is_at_work(self, at_ns: int) -> bool:
        """Whether at some time it was being answered, or what the answer asks for was being done."""
        if not self.has_answer or at_ns < self.at_ns:
            return False
        return not self.is_over or (bool(self.calls()) and at_ns - self.end_ns <= AT_WORK_NS)

    @property
    def trouble(self) -> str:
        """Why it is not answered, in the words that its row has; empty where nothing says so."""
        said = self.fold.failure if self._refusal is None else self._refusal.words
        return said or self._broken

    @property
    def is_readable(self) -> bool:
        """Whether all that came of the body was read: it is not too large, and its coding can be undone."""
        return self._size <= MOST

    def calls(self) -> Sequence[Asked]:
        """The calls that it asks for and that are complete."""
        if self._calls is not None:
            return self._calls
        capture, exchange = self.key
        found = [
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
        self._calls = found if self.is_over else None
        return found

    def meant(self) -> Sequence[tuple[str, str | None]]:
        """Name and arguments of what each of these calls means."""
        if self._meant is not None:
            return self._meant
        found = [meant(asked) for asked in self.calls()]
        self._meant = found if self.is_over else None
        return found

    def may_go_on_as(self, later: Asking) -> bool:
        """Whether the conversation of a later request may be this one: who asks, and in which API, stays so; what is told of calls goes to who asked for them."""
        is_same_api = self.dialect == later.dialect and (self.peer == later.peer or not self.fold.calls)
        return is_same_api and not self.is_of_another_host(later)

    def is_of_another_host(self, other: Asking) -> bool:
        """Whether another host asks than one that is known by name: by its own name, or by other headers and none."""
        if self.host == other.host:
            return False
        named = is_host(self.host) + is_host(other.host)
        return named > 1 or (named > 0 and self.agent != other.agent)

    def is_told_in(self, message: Heard) -> bool:
        """Whether a message of a later request is this answer, as far as it came: hosts cut one where they have read a call."""
        if message.role != "model" or not self.has_answer or self.status >= 300:
            return False
        asked, told = self.fold.calls, message.of("call")
        ids, told_ids = {each.call.wire_id for each in asked} - {""}, {piece.wire_id for piece in told} - {""}
        if ids and told_ids:
            return bool(ids & told_ids)
        if told:
            named = [(each.call.name, canonical_text(each.call.arguments)) for each in asked]
            return named == [(piece.name, canonical_text(piece.text)) for piece in told]
        if ids and all(identity in message.text for identity in ids):
            return True  # agents write their history anew, with the calls as words
        written = _bare(message.text)
        calls = [_bare(each.call.written) for each in asked]
        if calls:
            return all(call and call in written for call in calls)
        return bool(written) and self.is_worded_as(message)

    def is_worded_as(self, message: Heard) -> bool:
        """Whether what a message says beside calls is what this answer does, or how it begins; a host may leave it out."""
        answered = self.fold.text or self.fold.thinking
        written, own = _bare(message.text), _bare(answered)
        for each in self.fold.calls if written else ():  # where they stand in the text
            written = written.replace(_bare(each.call.written), "")
        return not written or (bool(own) and (own[:_ALIKE] in written or written[:_ALIKE] in own))

    def _time_of(self, place: int) -> int:
        if not self._ends:
            return self.end_ns
        return self._times[min(bisect_left(self._ends, place), len(self._ends) - 1)]


def _bare(text: str) -> str:
    """A text without its white space, which hosts change."""
    return "".join(text.split())


def asking_of(record: Record, at_ns: int, hearing: Hearing) -> Asking | None:
    """A request for an answer, as a hearing of its kind reads it; None if a record is none that can be read."""
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
