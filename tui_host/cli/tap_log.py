"""`--log -`: prints the ladder's rows as plain lines while a tap relays, for people and `grep`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from typing_extensions import override

from tui_host.capture.connection_end import ORDERLY, reason_of_end
from tui_host.capture.content_codings import decode_records
from tui_host.capture.ladder.ladder import Ladder
from tui_host.capture.record import lasted
from tui_host.capture.short_units import local_clock, short_size, short_time
from tui_host.capture.visible import line, visible
from tui_host.cli.output import clipped, padded
from tui_host.tap.recorder import LogForm

if TYPE_CHECKING:
    from tui_host.capture.ladder.row import Row
    from tui_host.capture.record import Record
    from tui_host.capture.session_summary import SessionInfo

ERROR = "ERROR"  # marks every line about a failure: no other text of the log contains it in capitals
_NAME_CELLS, _SIZE_CELLS, _TIME_CELLS, _QUOTED_CELLS, _LINE_CHARACTERS = 16, 6, 7, 80, 1000
_SEARCHED_CHARACTERS = 16 << 10  # for secrets, before the beginning of a text is shown
_KEPT_ROWS = 100_000


@dataclass(eq=False)
class PlainLines(LogForm):
    """Words the records of a tap: a line for each row, for begin and end; skips what is already on standard error."""

    _hide: Callable[[str], str]  # removes secrets that the records hold compressed
    _peer: str = ""
    _ladder: Ladder = field(default_factory=Ladder)

    @override
    def begin(self, session: SessionInfo) -> bytes:
        """Set the tap's session, and return the first line."""
        self._peer = session.title
        return _line(session.created_ns, f" *  {self._peer} begins: session {session.id}")

    @override
    def line(self, record: Record) -> bytes:
        """Return the lines for a record, if it has any."""
        lines: list[str] = []
        try:
            if len(self._ladder.rows) >= _KEPT_ROWS:
                self._ladder = Ladder()  # a tap may run for months; what is open then loses its other half
            before = self._ladder.revision
            self._ladder.feed([record])  # as the inspector does, so that both word the same rows
            for row in (self._ladder.rows[number] for number in self._ladder.changed_since(before)):
                is_new = row.last_seq == record.seq  # or a repeat that was folded into it
                is_due = {
                    "frame": is_new,
                    "fault": is_new,
                    "request": row.seq == record.seq or (row.lane == "mcp" and row.state != "open"),
                    "response": row.state != "open",
                }
                if is_due.get(row.kind):
                    words = " · ".join(filter(None, self._row_words(row, record)))
                    lines.append(self._columns(row, record, " ".join(words.split())))
            if record.kind == "end" and record.exchange is None:
                reason = reason_of_end(record)
                failed = "" if reason in ORDERLY else f"{ERROR} "
                lines.append(f" *  {self._peer} ends: {failed}{reason}")
        except Exception as error:  # noqa: BLE001 - foreign data may break a reader in any way, and the lines that follow must still come
            lines = [f" *  {ERROR} cannot be shown: {error!r}"]
        return b"".join(_line(record.time_ns, text) for text in lines)

    def _columns(self, row: Row, record: Record, words: str) -> str:
        """Lay out a row: direction, name, size, time since what it answers, and words."""
        # Of an exchange that is one row, which is printed twice.
        is_end = row.kind == "request" and row.seq != record.seq
        partner = self._ladder.partner(row.number)
        took = ""
        if is_end or (partner is not None and not (row.kind == "frame" and not row.answer)):
            began = row if partner is None else self._ladder.rows[partner]
            took_ns = lasted(began.mono_ns, record.mono_ns)
            took = "" if took_ns is None else short_time(took_ns / 1_000_000)
        arrow = "-->" if row.outward and not is_end else "<--"
        name = padded(clipped(self._ladder.numbers.name(row), _NAME_CELLS), _NAME_CELLS)
        return f"{arrow} {name} {short_size(row.size):>{_SIZE_CELLS}} {took:>{_TIME_CELLS}} {words}"

    def _row_words(self, row: Row, record: Record) -> Iterator[str]:
        said = self._quoted(row.words)
        if row.kind == "frame" and row.answer:
            what = f"{row.method} {row.tool}".strip() or "answer"
            yield f"{what} {ERROR if row.error else 'ok'}{': ' if said else ''}{said}"
        elif row.kind == "frame":
            yield f"{row.method} {said}"
        else:
            url = urlsplit(row.url)
            path = f"{url.path}{'?' if url.query else ''}{url.query}"
            failed = ERROR if row.error or row.state == "cut" else ""
            yield " ".join(filter(None, (failed, str(row.status or ""), row.method, path, said)))
        if row.malformed:
            yield f"{ERROR} {row.malformed}" if row.kind == "fault" else row.malformed
        if row.lane == "llm" and row.kind == "request" and row.method == "POST":  # what it asks of a model
            # Imported late, since they load all dialects: the frames of a stdio server need none.
            from tui_host.infer.conversations.host_names import model_asked
            from tui_host.llm.exchange_summary import request_words

            body, _ = decode_records([record])
            yield self._quoted(model_asked(row.url, body))
            yield request_words(body)

    def _quoted(self, text: str) -> str:
        """Return the beginning of foreign text, without what a terminal obeys."""
        shown = " ".join(self._hide(text[:_SEARCHED_CHARACTERS]).split())
        return clipped(visible(shown, newlines=False), _QUOTED_CELLS)


def _line(time_ns: int, text: str) -> bytes:
    words = line(" ".join(text.split("\n")), _LINE_CHARACTERS)
    return f"{local_clock(time_ns)} {words}".rstrip().encode(errors="backslashreplace") + b"\n"
