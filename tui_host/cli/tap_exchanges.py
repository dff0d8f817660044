"""HTTP exchanges that pass a tap, a line for each request and for each answer once it is whole: what a model is asked, and says.

Of an MCP server's exchanges the frames in them have lines of their own; one has a line itself where it holds none, or failed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from tui_host.capture.http.exchange_end import Ending, read_ending
from tui_host.capture.http.http_frames import is_rpc
from tui_host.capture.json.reading import read_json
from tui_host.capture.record import BY_THE_TAP, Head, Record, lasted
from tui_host.capture.short_units import short_size, short_time
from tui_host.capture.visible import decode
from tui_host.cli.tap_exchange import LOOKED_AT, Exchange
from tui_host.cli.tap_line import ERROR, SAID, Line, begun, short
from tui_host.infer.asking.model_exchange import Asking, asking_of
from tui_host.infer.asking.request_reader import Hearing
from tui_host.infer.asking.speakers import NATIVE
from tui_host.infer.asking.text_protocols import results_of, said_by_person
from tui_host.llm.dialects.dialect_table import dialect_at
from tui_host.llm.exchange_summary import call_words, request_words, said_words
from tui_host.llm.messages import Usage
from tui_host.llm.provider_faults import fault_in
from tui_host.settings.urls import parts_of

_CALLS = 8
"""Calls of one answer that are shown."""


class Exchanges:
    """All exchanges of a tap.

    Args:
        hide: Takes secrets out of what stands compressed in records, or in pieces.
    """

    def __init__(self, hide: Callable[[str], str]) -> None:
        self._hide = hide
        self._hearing = Hearing()
        self._open: dict[str, Exchange] = {}
        self._hosts: set[str] = set()

    def lines(self, record: Record) -> Iterator[Line]:
        """The lines of the next record of an exchange."""
        draft = record.draft
        name = draft.exchange or ""
        if draft.kind == "request":
            self._open[name] = exchange = self._begun(record)
            yield from self._new_host(record, exchange)
            if exchange.has_line:
                yield replace(begun(record), ref=exchange.ref, words=self._asked(exchange))
            return
        found = self._open.get(name)
        if found is None:
            return
        if found.asking is not None:
            found.asking.feed(record, record.mono_ns or 0)
        if draft.kind == "response":
            found.answered(draft.head or Head())
        elif draft.kind == "chunk":
            found.hear(record)
        else:
            del self._open[name]
            yield from self._ended(record, found, read_ending(draft.data))

    def carries(self, frame: Record, ref: str) -> None:
        """A frame was found in an exchange's request, and has a line: if that fails, it leads there."""
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
            asking=asking_of(record, record.mono_ns or 0, self._hearing) if is_model else None,
            ref=f"#{(draft.exchange or '').removeprefix('x')}",
            has_line=is_model or method != "POST" or not is_rpc(draft.data),
        )

    def _new_host(self, record: Record, exchange: Exchange) -> Iterator[Line]:
        host = exchange.asking.host if exchange.asking is not None else ""
        if host and host not in self._hosts:
            self._hosts.add(host)
            yield replace(begun(record), direction=None, size=None, words=f"host: {short(host)}")

    # A request.

    def _asked(self, exchange: Exchange) -> str:
        asking, draft = exchange.asking, exchange.request.draft
        words = [f"{exchange.method} {short(exchange.path)}", BY_THE_TAP if exchange.is_asked_by_the_tap else ""]
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

    def _last_message(self, asking: Asking) -> str:
        """Who said the last message, and its beginning; of results what they are."""
        if not asking.messages:
            return ""
        last = asking.messages[-1]
        if last.role == "model":
            return self._quoted("model", last.text)
        said = said_by_person(last)
        if said:
            return self._quoted("user", said)
        names = {piece.wire_id: piece.name for message in asking.messages for piece in message.of("call")}
        told = results_of(asking.body, asking.protocol, last)
        results = [(piece.name or names.get(piece.wire_id, ""), piece.text) for piece in told]
        if not results:
            return self._quoted("user", last.text)
        name, text = results[-1]
        many = f"{len(results)} results, the last" if len(results) > 1 else "result"
        return self._quoted(f"{many} of {short(name)}" if name else many, text)

    def _quoted(self, role: str, text: str) -> str:
        return f"{role}: {short(self._hide(text[:LOOKED_AT]))}"

    # An answer.

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
        """Status and end, and what went wrong with either."""
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
        """How the body of a complete response ends."""
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
        """What the answer says, asks for and cost; of a refusal its words."""
        asking = exchange.asking
        if exchange.status >= 400:
            told = asking.trouble if asking is not None and not is_broken else ""
            yield short(self._hide(told or decode(bytes(exchange.said))))
            return
        if asking is None or exchange.status >= 300:
            return
        if exchange.coding:
            yield f"its body is in {short(exchange.coding)}, which is not read here"
            return
        if not asking.is_readable:
            yield "its body is too large, or not in the coding that it names"
            return
        fold = asking.fold
        if fold.failure:
            yield f"{ERROR} in the answer: {short(self._hide(fold.failure))}"
        calls = [each.call for each in fold.calls]
        if not calls or fold.text.strip():
            yield said_words(fold, self._hide, SAID)
        for call in calls[:_CALLS]:
            yield call_words(call.name, call.arguments, self._hide, SAID)
        if len(calls) > _CALLS:
            yield f"and {len(calls) - _CALLS} calls more"
        for broken in fold.malformed:
            yield f"{ERROR} a call that cannot be read: {short(broken.reason)}"
        yield _tokens(fold.usage)


def _fault(body: bytes) -> str:
    """The words of the `error` that a JSON object has."""
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
    told = ("?" if count is None else f"{count:,}" for count in (usage.input_total, usage.output_total))
    return f"{'→'.join(told)} tok"


def _joined(words: list[str]) -> str:
    return " · ".join(filter(None, words))
