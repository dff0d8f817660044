"""`--log -`: a plain line for each thing that passes a tap, for a person who looks on, or `grep`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from signal import Signals
from typing import TYPE_CHECKING, TypeAlias

from tui_host.capture.frames.frame_heads import WHOLE, FrameHead, frame_head, frames_in
from tui_host.capture.record import Direction, Record, lasted
from tui_host.capture.session_summary import SessionInfo
from tui_host.capture.visible import decode
from tui_host.cli.tap_line import ERROR, Line, begun, short

if TYPE_CHECKING:
    from tui_host.cli.tap_exchanges import Exchanges

_REMEMBERED = 10_000
"""Requests whose answer is still waited for."""
_IN_A_BATCH = 20
"""Messages of one batch that have lines of their own."""
_READ_OF_A_BATCH = 1000
"""Messages of one batch that are read."""
_ENDED_BY_HOST = frozenset((Signals.SIGTERM, Signals.SIGINT, Signals.SIGHUP))
"""So hosts end servers."""

_Key: TypeAlias = tuple[str, Direction, str]


class PlainLines:
    """A line for each message, and for what begins and ends; none for what stands on standard error anyway.

    Args:
        write: Takes a line without its end.

    Attributes:
        written: Lines that it has taken.
    """

    def __init__(self, write: Callable[[str], None]) -> None:
        self.written = 0
        self._take = write
        self._peer = ""
        self._hide: Callable[[str], str] = str
        self._frames = _Frames(str)
        self._exchanges: Exchanges | None = None

    def begin(self, session: SessionInfo, hide: Callable[[str], str], *, is_there: bool = False) -> None:
        """Which session it is."""
        self._peer = session.title
        self._hide = hide
        self._frames = _Frames(hide)
        if not is_there:
            words = f"begins: session {session.id}"
            self._write(Line(time_ns=session.created_ns, peer=session.title, words=words).text)

    def write(self, record: Record) -> None:
        """One record, in no line, one, or some."""
        try:
            lines = list(self._lines(record))
        except Exception as error:  # noqa: BLE001 - whatever it is in what others said, the lines after this one do not suffer for it
            lines = [replace(begun(record), words=f"{ERROR} this cannot be told: {error!r}")]
        for line in lines:
            self._write(line.text)

    def exited(self, code: int, time_ns: int) -> None:
        """The server has ended."""
        killed_by = next((each.name for each in Signals if each == -code), f"signal {-code}")
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
                from tui_host.cli.tap_exchanges import (
                    Exchanges,  # knows all dialects: a stdio server's frames need none
                )

                self._exchanges = Exchanges(self._hide)
            yield from self._exchanges.lines(record)


@dataclass(frozen=True, slots=True)
class _Asked:
    """A request that waits for its answer."""

    words: str
    mono_ns: int | None


class _Frames:
    """JSON-RPC messages, each answer joined to its request."""

    def __init__(self, hide: Callable[[str], str]) -> None:
        self._hide = hide
        self._asked: dict[_Key, _Asked] = {}

    def lines(self, record: Record) -> Iterator[Line]:
        """The line of the next one, or those of a batch: of the messages that have none the errors are counted."""
        draft = record.draft
        head = frame_head(draft.data)
        if head.kind != "batch" or len(draft.data) > WHOLE:
            yield self._line(record, head)
            return
        batch = frames_in(draft.data)
        failed = 0
        for number, data in enumerate(batch[:_READ_OF_A_BATCH]):
            single = replace(record, draft=replace(draft, data=data, malformed=None))
            head = frame_head(data)
            line = self._line(single, head)
            if number < _IN_A_BATCH:
                yield line
            else:
                failed += head.is_error or head.kind == "malformed"
        if len(batch) > _IN_A_BATCH:
            errors = f", {ERROR} in {failed}" if failed else ""
            unread = f", not looked into behind message {_READ_OF_A_BATCH:,}" if len(batch) > _READ_OF_A_BATCH else ""
            words = f"and {len(batch) - _IN_A_BATCH} more of this batch{errors}{unread}"
            yield replace(begun(record), size=None, words=words)

    def _line(self, record: Record, head: FrameHead) -> Line:
        asked = self._question(record, head)
        if head.kind == "request":
            self._remember(record, head)
        found = replace(begun(record), ref=head.id, words=" ".join(self._words(record, head, asked)))
        return found if asked is None else replace(found, took_ns=lasted(asked.mono_ns, record.mono_ns))

    def _words(self, record: Record, head: FrameHead, asked: _Asked | None) -> Iterator[str]:
        said = short(self._hide(head.words))
        match head.kind:
            case "request" | "notification":
                yield f"{head.method} {said}"
            case "result":
                outcome = ERROR if head.is_error else "ok"
                yield f"{asked.words if asked is not None else 'result'} {outcome}{': ' if said else ''}{said}"
            case "error":
                yield f"{asked.words if asked is not None else 'error'} {ERROR}{': ' if said else ''}{said}"
            case "batch":
                yield f"a batch of {said}, not looked into"
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
        other: Direction = "out" if draft.direction == "in" else "in"
        return self._asked.pop((draft.connection or "", other, head.id.strip('"')), None)
