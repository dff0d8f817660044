"""Makes log lines for HTTP exchanges on a tap: a line for each request, and a line for each complete answer.

An exchange that carries MCP has a line only if it failed or holds no frame: frames have lines of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

from tui_host.capture.content_codings import CodingError, Decoder, decoder
from tui_host.capture.http.exchange_end import Ending, read_ending
from tui_host.capture.http.http_frames import is_rpc
from tui_host.capture.json.reading import read_json
from tui_host.capture.record import TAP, Head, Record, lasted
from tui_host.capture.short_units import short_size, short_time
from tui_host.capture.visible import decode
from tui_host.cli.plain_log_line import ERROR, SAID, Line, begun, short
from tui_host.infer.conversations.host_names import NATIVE
from tui_host.infer.conversations.model_exchange import ModelExchange, exchange_of
from tui_host.infer.conversations.request_messages import RequestReader
from tui_host.infer.conversations.text_protocols import results_of, said_by_person
from tui_host.llm.dialects.table import dialect_at
from tui_host.llm.exchange_summary import call_words, request_words, said_words
from tui_host.llm.messages import Usage
from tui_host.llm.provider_faults import fault_in
from tui_host.settings.urls import parts_of

LOOKED_AT = 16 << 10
"""Number of characters in which secrets are searched before the beginning of a text is shown."""


@dataclass(slots=True, kw_only=True)
class Exchange:
    """An exchange in progress.

    Attributes:
        path: Path and query of the URL.
        asking: What was read of a model exchange; None if the exchange asks no model, or is unreadable.
        ref: The reference that joins the lines of the exchange.
        has_line: Whether the request gets a line.
        status: The HTTP status, 0 before the response.
        is_the_taps: Whether the tap itself made the answer.
        coding: The response's content coding, if it cannot be decoded; otherwise empty.
        location: The target of a redirect.
        first_ns: When the first byte of the response's body arrived, None before.
        said: The decoded beginning of the body, if it is an error or not from a model.
    """

    request: Record
    method: str
    path: str
    asking: ModelExchange | None
    ref: str
    has_line: bool
    status: int = 0
    is_the_taps: bool = False
    kind: str = ""
    coding: str = ""
    location: str = ""
    first_ns: int | None = None
    said: bytearray = field(default_factory=bytearray)
    _decoder: Decoder | None = None

    def answered(self, head: Head) -> None:
        """Read the head of the response."""
        self.status = head.status or 0
        self.is_the_taps = head.value("server") == TAP
        self.location = head.value("location") if 300 <= self.status < 400 else ""
        self.kind = head.value("content-type").partition(";")[0]

    def hear(self, record: Record) -> None:
        """Read a chunk of the response's body."""
        self.first_ns = record.mono_ns if self.first_ns is None else self.first_ns
        encoding = record.draft.encoding
        try:
            self._decoder = self._decoder or decoder(encoding)
            if not self.coding and (self.status >= 400 or self.asking is None) and len(self.said) < LOOKED_AT:
                plain = self._decoder.feed(record.draft.data) if encoding is not None else record.draft.data
                self.said += plain[: LOOKED_AT - len(self.said)]
        except CodingError:
            self.coding = encoding or ""

    def is_empty(self, ending: Ending) -> bool:
        """Whether the response's body is empty."""
        return not ending.size and self.first_ns is None

    def is_heard(self, ending: Ending) -> bool:
        """Whether the model's answer was received and read completely."""
        return self.asking is not None and self.asking.is_readable and not self.coding and ending.kept >= ending.size


_CALLS = 8
"""Largest number of calls to show for an answer."""


class Exchanges:
    """Makes the lines of a tap's exchanges. `hide` removes secrets from text that was compressed or cut in the records."""

    def __init__(self, hide: Callable[[str], str]) -> None:
        self._hide = hide
        self._hearing = RequestReader()
        self._open: dict[str, Exchange] = {}
        self._hosts: set[str] = set()

    def lines(self, record: Record) -> Iterator[Line]:
        """Yield the lines for a record of an exchange, if it has any."""
        draft = record.draft
        name = draft.exchange or ""
        if draft.kind == "request":
            self._open[name] = exchange = self._begun(record)
            yield from self._new_host(record, exchange)
            if exchange.has_line:
                yield replace(begun(record), ref=exchange.ref, words=self._asked(exchange))
            return
        exchange_in_progress = self._open.get(name)
        if exchange_in_progress is None:
            return
        if exchange_in_progress.asking is not None:
            exchange_in_progress.asking.feed(record, record.mono_ns or 0)
        if draft.kind == "response":
            exchange_in_progress.answered(draft.head or Head())
        elif draft.kind == "chunk":
            exchange_in_progress.hear(record)
        else:
            del self._open[name]
            yield from self._ended(record, exchange_in_progress, read_ending(draft.data))

    def carries(self, frame: Record, ref: str) -> None:
        """Use the reference of a frame's line for the exchange whose request carries the frame."""
        exchange = self._open.get(frame.draft.exchange or "")
        if exchange is not None and ref and frame.draft.direction == "out":
            exchange.ref = ref

    def _begun(self, record: Record) -> Exchange:
        draft = record.draft
        head = draft.head or Head()
        url = parts_of(head.url or "")
        method = head.method or ""
        is_model = draft.wire == "llm"
        return Exchange(
            request=record,
            method=method,
            path=f"{url.path or '/'}{'?' if url.query else ''}{url.query}",
            asking=exchange_of(record, record.mono_ns or 0, self._hearing) if is_model else None,
            ref=f"#{(draft.exchange or '').removeprefix('x')}",
            has_line=is_model or method != "POST" or not is_rpc(draft.data),
        )

    def _new_host(self, record: Record, exchange: Exchange) -> Iterator[Line]:
        host = exchange.asking.host if exchange.asking is not None else ""
        if host and host not in self._hosts:
            self._hosts.add(host)
            yield replace(begun(record), direction=None, size=None, words=f"host: {short(host)}")

    # Lines for requests.

    def _asked(self, exchange: Exchange) -> str:
        asking, draft = exchange.asking, exchange.request.draft
        words = [f"{exchange.method} {short(exchange.path)}"]
        if asking is not None:
            dialect = dialect_at((draft.head or Head()).url or "")
            taught = asking.protocol if asking.protocol != NATIVE else ""
            spoken = [dialect.name if dialect is not None else "", taught]
            words += [
                f"{short(asking.model) or 'no model'} ({', '.join(filter(None, spoken))})",
                request_words(asking.body, dialect=dialect),
                self._last_message(asking),
            ]
        if draft.malformed:
            words.append(draft.malformed)
        return _joined(words)

    def _last_message(self, asking: ModelExchange) -> str:
        """Format the role and the beginning of the last message, or of the tool results at the end."""
        if not asking.messages:
            return ""
        last = asking.messages[-1]
        if last.role == "model":
            return self._quoted("model", last.text)
        user_text = said_by_person(last)
        if user_text:
            return self._quoted("user", user_text)
        names = {piece.wire_id: piece.name for message in asking.messages for piece in message.of("call")}
        result_pieces = results_of(asking.body, asking.protocol, last)
        results = [(piece.name or names.get(piece.wire_id, ""), piece.text) for piece in result_pieces]
        if not results:
            return self._quoted("user", last.text)
        name, text = results[-1]
        many = f"{len(results)} results, the last" if len(results) > 1 else "result"
        return self._quoted(f"{many} of {short(name)}" if name else many, text)

    def _quoted(self, role: str, text: str) -> str:
        return f"{role}: {short(self._hide(text[:LOOKED_AT]))}"

    # Lines for answers.

    def _ended(self, record: Record, exchange: Exchange, ending: Ending) -> Iterator[Line]:
        is_broken = ending.kind == "error"
        if not exchange.has_line and exchange.status < 400 and not is_broken:
            return
        began_ns = exchange.request.mono_ns
        words = [self._outcome(exchange, ending)]
        if not exchange.is_empty(ending):
            words += self._said(exchange, is_broken=is_broken)
        elif ending.reason == "complete" and not exchange.location:
            words.append("empty")
        first_ns = lasted(began_ns, exchange.first_ns)
        if first_ns is not None and exchange.asking is not None and exchange.status < 400:
            words.append(f"first byte {short_time(first_ns / 1_000_000)}")
        if ending.kept < ending.size:
            words.append(f"{short_size(ending.kept)} of it kept")
        line = replace(begun(record), direction="in", ref=exchange.ref, size=ending.size)
        yield replace(line, took_ns=lasted(began_ns, record.mono_ns), words=_joined(words))

    def _outcome(self, exchange: Exchange, ending: Ending) -> str:
        """Format how an exchange ended: status, end and error."""
        is_refused = exchange.status >= 400
        words = [ERROR if is_refused else "", str(exchange.status or "")]
        if exchange.is_the_taps:
            words.append("of the tap itself")
        elif is_refused:
            words.append(f"for {exchange.method} {short(exchange.path)}")
        if ending.kind == "error":
            why = f": {short(self._hide(ending.error), 2 * SAID)}" if ending.error else ""
            words.append(f"{ERROR} {ending.reason}{why}")
        elif ending.reason != "complete":
            words.append(ending.reason)
        elif exchange.location:
            words.append(f"→ {short(self._hide(exchange.location))}")
        elif not is_refused:
            words.append(self._end_of_body(exchange, ending))
        return " ".join(filter(None, words))

    def _end_of_body(self, exchange: Exchange, ending: Ending) -> str:
        """Format how the body of a complete response ended."""
        asking = exchange.asking if exchange.status < 300 else None
        if asking is None:
            fault = _fault(bytes(exchange.said))
            return f"{ERROR} in the answer: {short(self._hide(fault))}" if fault else short(exchange.kind)
        if not exchange.is_heard(ending):
            return ""
        word = short(asking.fold.vendor_stop)
        match asking.fold.stop:
            case "cut" | None:
                return f"{ERROR} {'no answer' if exchange.is_empty(ending) else 'without its end'}"
            case stop:
                return word or stop

    def _said(self, exchange: Exchange, *, is_broken: bool) -> Iterator[str]:
        """Yield text, calls and usage of the answer; for a refusal, the error message."""
        asking = exchange.asking
        if exchange.status >= 400:
            trouble = asking.trouble if asking is not None and not is_broken else ""
            yield short(self._hide(trouble or decode(bytes(exchange.said))))
            return
        if asking is None or exchange.status >= 300:
            return
        if exchange.coding:
            yield f"its body is coded as {short(exchange.coding)}, which cannot be read here"
            return
        if not asking.is_readable:
            yield "its body is too large, or not in its declared coding"
            return
        fold = asking.fold
        if fold.failure:
            yield f"{ERROR} in the answer: {short(self._hide(fold.failure))}"
        calls = [folded.call for folded in fold.calls]
        if not calls or fold.text.strip():
            yield said_words(fold, self._hide, SAID)
        for call in calls[:_CALLS]:
            yield call_words(call.name, call.arguments, self._hide, SAID)
        if len(calls) > _CALLS:
            yield f"and {len(calls) - _CALLS} more calls"
        for broken in fold.malformed:
            yield f"{ERROR} unreadable call: {short(broken.reason)}"
        yield _tokens(fold.usage)


def _fault(body: bytes) -> str:
    """Return the error message in a JSON body, empty if it has none."""
    try:
        value = read_json(body)
    except ValueError:
        return ""
    error = value.get("error") if isinstance(value, dict) else None
    fault = fault_in({"error": error}) if error else None
    return fault[0] or "without a word" if fault is not None else ""


def _tokens(usage: Usage) -> str:
    if usage.input_total is None and usage.output_total is None:
        return ""
    counts = ("?" if count is None else f"{count:,}" for count in (usage.input_total, usage.output_total))
    return f"{'→'.join(counts)} tok"


def _joined(words: list[str]) -> str:
    return " · ".join(filter(None, words))
