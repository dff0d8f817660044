"""`--log -`: prints a plain line for each message that passes a tap, for people and `grep`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from signal import Signals
from typing import TYPE_CHECKING, TypeAlias

from tui_host.capture.frames.frame_heads import WHOLE, FrameHead, frame_head, frames_in
from tui_host.capture.record import Direction, Record, lasted
from tui_host.capture.session_summary import SessionInfo
from tui_host.capture.visible import decode
from tui_host.cli.plain_log_line import ERROR, Line, begun, short

if TYPE_CHECKING:
    from tui_host.cli.plain_log_exchanges import Exchanges

_REMEMBERED = 10_000
"""Largest number of requests to remember while they wait for their answers."""
_IN_A_BATCH = 20
"""Largest number of messages of a batch that get a line each."""
_ENDED_BY_HOST = frozenset((Signals.SIGTERM, Signals.SIGINT, Signals.SIGHUP))
"""Signals by which hosts usually end a server."""

_Key: TypeAlias = tuple[str, Direction, str]


class PlainLines:
    """Passes a line to `write` for each message, for begin and end; skips what is already on standard error."""

    def __init__(self, write: Callable[[str], None]) -> None:
        self.written = 0
        self._take = write
        self._peer = ""
        self._hide: Callable[[str], str] = str
        self._frames = _Frames(str)
        self._exchanges: Exchanges | None = None

    def begin(self, session: SessionInfo, hide: Callable[[str], str], *, is_there: bool = False) -> None:
        """Set the tap's session, and write the log's first line."""
        self._peer = session.title
        self._hide = hide
        self._frames = _Frames(hide)
        if not is_there:
            words = f"begins: session {session.id}"
            self._write(Line(time_ns=session.created_ns, peer=session.title, words=words).text)

    def write(self, record: Record) -> None:
        """Write the lines for a record, if it has any."""
        try:
            lines = list(self._lines(record))
        except Exception as error:  # noqa: BLE001 - foreign data may break a reader in any way, and the lines that follow must still come
            lines = [replace(begun(record), words=f"{ERROR} cannot be shown: {error!r}")]
        for line in lines:
            self._write(line.text)

    def exited(self, code: int, time_ns: int) -> None:
        """Write how the server's process ended."""
        killed_by = next((number.name for number in Signals if number == -code), f"signal {-code}")
        words = f"exit code {code}" if code >= 0 else f"killed by {killed_by}"
        failed = "" if code == 0 or -code in _ENDED_BY_HOST else f"{ERROR} "
        self._write(Line(time_ns=time_ns, peer=self._peer, words=f"ends: {failed}{words}").text)

    def _write(self, line: str) -> None:
        self._take(line)
        self.written += 1

    def _lines(self, record: Record) -> Iterator[Line]:
        if record.draft.kind == "frame":
            for line in self._frames.lines(record):
                if self._exchanges is not None:
                    self._exchanges.carries(record, line.ref)
                yield line
        elif record.draft.exchange is not None:
            if self._exchanges is None:
                from tui_host.cli.plain_log_exchanges import (
                    Exchanges,  # imported late, since it loads all dialects: the frames of a stdio server need none
                )

                self._exchanges = Exchanges(self._hide)
            yield from self._exchanges.lines(record)


@dataclass(frozen=True, slots=True)
class _Asked:
    """A request that waits for its answer."""

    words: str
    mono_ns: int | None


class _Frames:
    """Makes the lines for JSON-RPC messages, and pairs each answer with its request."""

    def __init__(self, hide: Callable[[str], str]) -> None:
        self._hide = hide
        self._asked: dict[_Key, _Asked] = {}

    def lines(self, record: Record) -> Iterator[Line]:
        """Yield the line for a message, or the lines for a batch; messages beyond the batch's limit are only counted."""
        draft = record.draft
        head = frame_head(draft.data)
        if head.kind != "batch" or len(draft.data) > WHOLE:
            yield self._line(record, head)
            return
        batch = frames_in(draft.data)
        for data in batch[:_IN_A_BATCH]:
            yield self._line(replace(record, draft=replace(draft, data=data, malformed=None)), frame_head(data))
        if len(batch) > _IN_A_BATCH:
            yield replace(begun(record), size=None, words=f"and {len(batch) - _IN_A_BATCH} more of this batch")

    def _line(self, record: Record, head: FrameHead) -> Line:
        asked = self._question(record, head)
        if head.kind == "request":
            self._remember(record, head)
        line = replace(begun(record), ref=head.id, words=" ".join(self._words(record, head, asked)))
        return line if asked is None else replace(line, took_ns=lasted(asked.mono_ns, record.mono_ns))

    def _words(self, record: Record, head: FrameHead, asked: _Asked | None) -> Iterator[str]:
        quoted = short(self._hide(head.words))
        match head.kind:
            case "request" | "notification":
                yield f"{head.method} {quoted}"
            case "result":
                outcome = ERROR if head.is_error else "ok"
                yield f"{asked.words if asked is not None else 'result'} {outcome}{': ' if quoted else ''}{quoted}"
            case "error":
                yield f"{asked.words if asked is not None else 'error'} {ERROR}{': ' if quoted else ''}{quoted}"
            case "batch":
                yield f"a batch of {quoted}, not read"
            case "malformed":
                text = decode(record.draft.data[:800])
                yield f"{ERROR} no message ({record.draft.malformed or head.reason}): {short(self._hide(text))}"
                return
        odd = record.draft.malformed or head.reason
        if odd:
            yield f"({odd})"

    def _remember(self, record: Record, head: FrameHead) -> None:
        draft = record.draft
        words = f"{head.method} {short(head.name)}" if head.name else head.method
        self._asked[draft.connection or "", draft.direction or "out", head.id.strip('"')] = _Asked(
            words, record.mono_ns
        )
        if len(self._asked) > _REMEMBERED:
            del self._asked[next(iter(self._asked))]

    def _question(self, record: Record, head: FrameHead) -> _Asked | None:
        if not head.answers:
            return None
        draft = record.draft
        direction: Direction = "out" if draft.direction == "in" else "in"
        return self._asked.pop((draft.connection or "", direction, head.id.strip('"')), None)
