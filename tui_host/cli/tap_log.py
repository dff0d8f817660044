"""`--log -`: prints the ladder's rows as plain lines while a tap relays, for people and `grep`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime
from signal import Signals
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from tui_host.capture.ladder.ladder import Ladder
from tui_host.capture.record import lasted
from tui_host.capture.short_units import short_size, short_time
from tui_host.capture.visible import line, visible
from tui_host.cli.columns import clipped, padded

if TYPE_CHECKING:
    from tui_host.capture.ladder.row import Row
    from tui_host.capture.record import Record
    from tui_host.capture.session_summary import SessionInfo
    from tui_host.infer.conversations.model_exchange import ModelExchange
    from tui_host.infer.conversations.request_messages import RequestReader

ERROR = "ERROR"
"""Marks every line about a failure. No other text of the log contains it in capitals."""
_NAME_CELLS, _SIZE_CELLS, _TIME_CELLS, _QUOTED_CELLS, _LINE_CHARACTERS = 16, 6, 7, 80, 1000
_SEARCHED_CHARACTERS = 16 << 10  # for secrets, before the beginning of a text is shown
_KEPT_ROWS = 100_000
_ENDED_BY_HOST = frozenset((Signals.SIGTERM, Signals.SIGINT, Signals.SIGHUP))
"""Signals by which hosts usually end a server."""


class PlainLines:
    """Passes a line to `write` for each row, for begin and end; skips what is already on standard error."""

    def __init__(self, write: Callable[[str], None]) -> None:
        self.written = 0
        self._take = write
        self._peer = ""
        self._hide: Callable[[str], str] = str
        self._ladder = Ladder()
        self._exchanges: dict[str, ModelExchange] = {}
        self._requests: RequestReader | None = None

    def begin(self, session: SessionInfo, hide: Callable[[str], str], *, is_there: bool = False) -> None:
        """Set the tap's session, and write the log's first line. `hide` removes secrets that the records hold compressed."""
        self._peer, self._hide = session.title, hide
        if not is_there:
            self._write(session.created_ns, f" *  {self._peer} begins: session {session.id}")

    def write(self, record: Record) -> None:
        """Write the lines for a record, if it has any."""
        try:
            lines = list(self._lines(record))
        except Exception as error:  # noqa: BLE001 - foreign data may break a reader in any way, and the lines that follow must still come
            lines = [f" *  {ERROR} cannot be shown: {error!r}"]
        for text in lines:
            self._write(record.time_ns, text)

    def exited(self, code: int, time_ns: int) -> None:
        """Write how the server's process ended."""
        killed_by = next((number.name for number in Signals if number == -code), f"signal {-code}")
        words = f"exit code {code}" if code >= 0 else f"killed by {killed_by}"
        failed = "" if code == 0 or -code in _ENDED_BY_HOST else f"{ERROR} "
        self._write(time_ns, f" *  {self._peer} ends: {failed}{words}")

    def _write(self, time_ns: int, text: str) -> None:
        moment = datetime.fromtimestamp(time_ns / 1_000_000_000).astimezone()
        clock = f"{moment:%H:%M:%S}.{time_ns // 1_000_000 % 1000:03d}"
        self._take(f"{clock} {line(' '.join(text.split(chr(10))), _LINE_CHARACTERS)}".rstrip())
        self.written += 1

    def _lines(self, record: Record) -> Iterator[str]:
        if len(self._ladder.rows) >= _KEPT_ROWS:
            self._ladder = Ladder()  # a tap may run for months; what is open then loses its other half
        before = self._ladder.revision
        self._ladder.feed([record])  # as the inspector does, so that both word the same rows
        # Rows of models have no words of their own.
        exchange = self._exchange(record) if record.draft.wire == "llm" else None
        for number in self._ladder.changed_since(before):
            row = self._ladder.rows[number]
            if _is_due(row, record):
                words = _model_words(row, exchange, self._hide) if exchange is not None else _row_words(row, self._hide)
                yield self._columns(row, record, " ".join(" · ".join(filter(None, words)).split()))

    def _exchange(self, record: Record) -> ModelExchange | None:
        """Read what the record tells of an exchange with a model; None if it asks none, or cannot be read."""
        # Imported late, since they load all dialects: the frames of a stdio server need none.
        from tui_host.infer.conversations.model_exchange import exchange_of
        from tui_host.infer.conversations.request_messages import RequestReader

        name, moment = record.draft.exchange or "", record.mono_ns or 0
        self._requests = self._requests or RequestReader()
        exchange = self._exchanges.get(name)
        if record.draft.kind == "request" and (exchange := exchange_of(record, moment, self._requests)) is not None:
            self._exchanges[name] = exchange
        elif exchange is not None:
            exchange.feed(record, moment)
        if record.draft.kind in {"end", "error"}:
            self._exchanges.pop(name, None)
        return exchange

    def _columns(self, row: Row, record: Record, words: str) -> str:
        """Lay out a row: direction, name, size, time since what it answers, and words."""
        is_end = (
            row.kind == "request" and row.seq != record.seq
        )  # of an exchange that is one row, which is printed twice
        partner = self._ladder.partner(row.number)
        took = ""
        if is_end or (partner is not None and not (row.kind == "frame" and not row.answer)):
            began = row if partner is None else self._ladder.rows[partner]
            took_ns = lasted(began.mono_ns, record.mono_ns)
            took = "" if took_ns is None else short_time(took_ns / 1_000_000)
        arrow = "-->" if row.outward and not is_end else "<--"
        name = padded(clipped(self._ladder.numbers.name(row), _NAME_CELLS), _NAME_CELLS)
        return f"{arrow} {name} {short_size(row.size):>{_SIZE_CELLS}} {took:>{_TIME_CELLS}} {words}"


def _is_due(row: Row, record: Record) -> bool:
    """Whether a row that the record made or changed has something new to say."""
    match row.kind:
        case "frame" | "fault":
            return row.last_seq == record.seq  # new, or a repeat that was folded into it
        case "request":
            return row.seq == record.seq or (row.lane == "mcp" and row.state != "open")
        case "response":
            return row.state != "open"
        case _:
            return False


def _row_words(row: Row, hide: Callable[[str], str]) -> Iterator[str]:
    """Word a frame, or an exchange of which nothing but its row is known."""
    said = _quoted(row.words, hide)
    if row.kind == "frame" and row.answer:
        what = f"{row.method} {row.tool}".strip() or "answer"
        yield f"{what} {ERROR if row.error else 'ok'}{': ' if said else ''}{said}"
    elif row.kind == "frame":
        yield f"{row.method} {said}"
    else:
        url = urlsplit(row.url)
        path = f"{url.path}{'?' if url.query else ''}{url.query}"
        yield " ".join(filter(None, (ERROR if row.error else "", str(row.status or ""), row.method, path, said)))
    if row.malformed:
        yield f"{ERROR} {row.malformed}" if row.kind == "fault" else row.malformed


def _model_words(row: Row, exchange: ModelExchange, hide: Callable[[str], str]) -> Iterator[str]:
    """Word a request to a model, or its answer."""
    from tui_host.infer.conversations.text_protocols import results_of, said_by_person
    from tui_host.llm.exchange_summary import call_words, request_words, said_words

    if row.kind == "request":
        yield f"{row.method} {urlsplit(row.url).path}"
        asking = f" for {exchange.host}" if exchange.host else ""
        yield f"{_quoted(exchange.model, hide) or 'no model'} ({exchange.dialect}, {exchange.protocol}){asking}"
        yield request_words(exchange.body)
        if exchange.messages:
            last = exchange.messages[-1]
            results = results_of(exchange.body, exchange.protocol, last)
            text = results[-1].text if results else said_by_person(last) or last.text
            yield f"{'result' if results else last.role}: {_quoted(text, hide)}"
        return
    fold = exchange.fold
    is_failed = exchange.is_readable and not exchange.is_answered
    end = fold.vendor_stop or exchange.trouble or row.words
    yield " ".join(filter(None, (ERROR if is_failed else "", str(row.status or ""), _quoted(end, hide))))
    if not exchange.is_readable:
        yield "its body is too large, or not in its declared coding"
    elif row.status < 300:
        if fold.text.strip() or not fold.calls:
            yield said_words(fold, hide, _QUOTED_CELLS)
        for folded in fold.calls:
            yield call_words(folded.call.name, folded.call.arguments, hide, _QUOTED_CELLS)
        for broken in fold.malformed:
            yield f"{ERROR} unreadable call: {_quoted(broken.reason, hide)}"
        counts = (fold.usage.input_total, fold.usage.output_total)
        if any(count is not None for count in counts):
            yield f"{'→'.join('?' if count is None else f'{count:,}' for count in counts)} tok"


def _quoted(text: str, hide: Callable[[str], str]) -> str:
    """Return the beginning of foreign text, without what a terminal obeys."""
    return clipped(visible(" ".join(hide(text[:_SEARCHED_CHARACTERS]).split()), newlines=False), _QUOTED_CELLS)
