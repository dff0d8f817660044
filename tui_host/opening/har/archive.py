"""HTTP archives, as browsers and mitmproxy write them. Source: HAR 1.2; mitmproxy's `savehar`.

An archive of any size is read entry by entry. It holds each body decoded and in one piece, and so do the records that are made of it.
Exchanges that are neither with a model nor with an MCP server are left out and counted.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from heapq import heappop, heappush

from tui_host.capture.frames.correlator import Correlator
from tui_host.capture.http.exchange_end import Ending
from tui_host.capture.http.http_frames import HttpFrames, is_rpc
from tui_host.capture.http.observer import BODY_LIMIT
from tui_host.capture.json.narrowing import mapping
from tui_host.capture.json.scan import BrokenError, Data, after_space, elements, members, value_end
from tui_host.capture.record import MISSING, NOT_KNOWN, Draft, Head
from tui_host.capture.redact.redaction import Redactor
from tui_host.errors import JSON
from tui_host.opening.body_dialects import url_dialect
from tui_host.opening.exchange_assembly import NO_BYTES, NO_STREAM
from tui_host.opening.har.har_messages import (
    Event,
    body_came,
    body_sent,
    content_type,
    events_came,
    headers,
    is_left_out,
    is_put_back,
    is_text_counted,
    number_of,
    text_of,
)
from tui_host.opening.import_types import (
    LATEST_NS,
    TOO_LATE,
    VALUE_LIMIT,
    File,
    Moment,
    Notes,
    TimedDraft,
    line_of,
    place_of,
    read_value,
    unreadable,
)
from tui_host.settings.presets import service_at
from tui_host.settings.urls import parts_of

_NAME = 60
_BODILESS = frozenset({204, 304})
_ROUNDED_NS = 5_000_000
"""How much too late an end may be computed: it is the sum of a start and up to six times that are each rounded."""
_COUNTS_CONNECTING_APART = "mitmproxy"
"""This creator counts the time to connect even if it passed before the exchange began. Source: `savehar`."""
_COUNTS_TEXT = "playwright"
"""This creator tells the size of the text of a body, not of the bytes that came."""
_YEAR_NS = 366 * 86_400 * 1_000_000_000

OTHERS = "exchanges with neither a model nor an MCP server"
UNREAD = "entries that cannot be read"
SOCKETS = "WebSocket conversations"


def recognise(file: File) -> bool:
    """Whether a file is an archive: an object with `log` among the first members."""
    data = file.data
    at = after_space(data, 0)
    if data[at : at + 1] != b"{":
        return False
    try:
        for count, (key, value) in enumerate(members(data, at)):
            if key == b"log":
                return data[value : value + 1] == b"{"
            if count > 3:
                break
    except BrokenError:
        return False
    return False


def read(file: File, notes: Notes) -> Iterator[TimedDraft]:
    """Read the exchanges with models and MCP servers, in the order of time.

    Raises:
        TuiHostError: The archive has no entries, or is broken before the first.
    """
    notes.progress.expected += len(file.data)
    entries = _Entries(notes, file)
    waiting: list[
        tuple[int, int, TimedDraft]
    ] = []  # the drafts of an exchange that are later than the start of the next
    number = 0
    for started, start, end in in_order(file, notes):
        while waiting and waiting[0][0] < started.ns + _rounded_ns(waiting[0][2]):
            yield _no_later(heappop(waiting)[2], started)
        notes.progress.advance(end - start)
        value = read_value(file.data[start:end], is_shallow=True) if end - start <= 2 * VALUE_LIMIT else None
        if not isinstance(value, Mapping):
            notes.leave_out(UNREAD, file.name, lambda start=start: f"{place_of(file, start)}, byte {start}")
            continue
        for draft in entries.drafts(value, started):
            number += 1
            heappush(waiting, (draft.at.ns, number, draft))
    while waiting:
        yield heappop(waiting)[2]


def _rounded_ns(timed: TimedDraft) -> int:
    return _ROUNDED_NS if timed.draft.direction == "in" and timed.at.is_told else 0


def _no_later(timed: TimedDraft, next_start: Moment) -> TimedDraft:
    """Move a draft to the start of the next exchange if rounding put it later."""
    return timed if timed.at.ns <= next_start.ns else timed._replace(at=next_start)


class _Collected:
    """Takes drafts as a recorder does, for `HttpFrames`, and gives each the present time."""

    def __init__(self, notes: Notes) -> None:
        self.at = Moment(0)
        self.drafts: list[TimedDraft] = []
        self.redactor = Redactor()
        self.new_exchange: Callable[[], str] = notes.new_exchange

    def append(self, draft: Draft) -> int:
        """Take a draft."""
        self.drafts.append(TimedDraft(self.at, draft))
        return len(self.drafts)


class _Entries:
    """Makes the drafts of entries."""

    def __init__(self, notes: Notes, file: File) -> None:
        self._name = file.name
        by = creator(file)
        self._before = () if by.startswith(_COUNTS_CONNECTING_APART) else ("blocked", "dns", "connect")
        self._counts_text = by.lower().startswith(_COUNTS_TEXT)
        self._notes = notes
        self._connections: dict[str, tuple[str, Correlator]] = {}

    def drafts(self, entry: Mapping[str, JSON], started: Moment) -> list[TimedDraft]:
        """Make the drafts of an entry; none if the exchange is neither with a model nor with an MCP server."""
        if entry.get("_webSocketMessages"):
            self._notes.leave_out(SOCKETS, self._name)
            return []
        request, response = mapping(entry.get("request")), mapping(entry.get("response"))
        url, method = text_of(request.get("url")), text_of(request.get("method")).upper()
        sent, events = body_sent(request), events_came(entry)
        came = b"".join(event.data for event in events) or body_came(response, counts_text=self._counts_text)
        if self._is_mcp(method, url, sent, came):  # first: servers take messages at `/messages`, as a model does
            connection, correlator = self._connection(url, sent)
            draft = Draft(wire="mcp", kind="request", peer=_peer(url), connection=connection)
            frames = correlator
        elif method == "POST" and url_dialect(url):
            draft = Draft(wire="llm", kind="request", peer=_peer(url))
            frames = None
        else:
            self._notes.leave_out(OTHERS, self._name)
            return []
        head = Head(method=method, url=url, headers=headers(request))
        draft = replace(draft, direction="out", exchange=self._notes.new_exchange())
        missing = MISSING if method == "POST" and is_left_out(request, "postData", request.get("bodySize")) else None
        whole = replace(draft, head=head, data=sent[:BODY_LIMIT], malformed=missing)
        pieces = events or ([Event(came, 0)] if came else [])
        return self._records(entry, whole, pieces, started, frames)

    def _records(
        self,
        entry: Mapping[str, JSON],
        request: Draft,
        pieces: Sequence[Event],
        started: Moment,
        correlator: Correlator | None,
    ) -> list[TimedDraft]:
        collected = _Collected(self._notes)
        response = mapping(entry.get("response"))
        sent_at, head_at, end_at = _times(entry, started, self._before)
        collected.at = sent_at
        collected.append(request)
        bare = replace(request, head=None, data=b"", malformed=None)
        frames = None if correlator is None else HttpFrames(collected, correlator, bare)
        if frames is not None and request.head is not None and request.head.method == "POST":
            frames.sent(request.data)
        answer = replace(bare, direction="in")
        status = _size(response.get("status"))
        collected.at = head_at
        if status:
            head = Head(status=status, headers=(*_lacking(entry, pieces), *headers(response)))
            collected.append(replace(answer, kind="response", head=head))
            if frames is not None:
                frames.answered(status, content_type(response), None)
        size = 0
        for piece in pieces:
            collected.at = _came_at(piece, collected.at, end_at)
            data = piece.data[: max(BODY_LIMIT - size, 0)]
            size += len(piece.data)
            if data:
                collected.append(replace(answer, kind="chunk", data=data))
            if data and frames is not None:
                frames.received(data)
        collected.at = max(collected.at, end_at, key=lambda at: at.ns)
        if frames is not None:
            frames.finished(whole=True)
        ending = _ending(response, pieces, status)
        collected.append(replace(answer, kind=ending.kind, data=ending.to_bytes()))
        return collected.drafts

    def _is_mcp(self, method: str, url: str, sent: bytes, came: bytes) -> bool:
        if method == "POST":
            return is_rpc(sent) and isinstance(read_value(sent), Mapping | list)
        return _endpoint(url) in self._connections or (method == "GET" and came.startswith(b"event: endpoint"))

    def _connection(self, url: str, sent: bytes) -> tuple[str, Correlator]:
        """The connection of an endpoint; one begins with each `initialize`."""
        endpoint = _endpoint(url)
        if endpoint not in self._connections or b'"initialize"' in sent:
            self._connections[endpoint] = self._notes.new_connection(_peer(url)), Correlator()
        return self._connections[endpoint]


def _lacking(entry: Mapping[str, JSON], pieces: Sequence[Event]) -> Sequence[tuple[str, str]]:
    """The header that says what is missing of an answer."""
    if events_came(entry):
        return ((NOT_KNOWN, NO_STREAM),)
    is_changed = any(is_put_back(mapping(entry.get("response")), piece.data) for piece in pieces)
    return ((NOT_KNOWN, NO_BYTES),) if is_changed else ()


def _came_at(event: Event, last: Moment, end: Moment) -> Moment:
    """The time of an event, but not before the last event; the end of the answer if the event tells no time."""
    return Moment(max(event.ns, last.ns)) if event.ns else max(last, end, key=lambda at: at.ns)


def _ending(response: Mapping[str, JSON], pieces: Sequence[Event], status: int) -> Ending:
    if not status:
        return Ending(reason="failed", error=text_of(response.get("_error")) or "no response came")
    told_size = mapping(response.get("content")).get("size")
    body = pieces[0].data if len(pieces) == 1 else b"".join(piece.data for piece in pieces)
    came = len(body)
    size = came if is_text_counted(response, body) else max(came, _size(told_size))
    if "event-stream" in content_type(response):
        told_size = None  # browsers tell 0 of one that they have not kept
    is_missing = status not in _BODILESS and not came and is_left_out(response, "content", told_size)
    return Ending(reason=MISSING if is_missing else "complete", size=size, kept=min(came, BODY_LIMIT))


def _times(entry: Mapping[str, JSON], started: Moment, before: Sequence[str]) -> tuple[Moment, Moment, Moment]:
    """When the request was sent, when the head of the answer came, and when the answer ended.

    An archive without timings, or with nothing but 0 or -1, does not tell how long the exchange took.

    Args:
        entry: The exchange.
        started: When it began.
        before: The timings that pass before the request is sent. With them, the entry's `time` is the sum of all timings.
    """
    timings = mapping(entry.get("timings"))
    sent_ns = started.ns + sum(_ns(timings.get(name)) for name in before)
    waited, came = _ns(timings.get("wait")), _ns(timings.get("receive"))
    head_ns = sent_ns + _ns(timings.get("send")) + waited
    end_ns = max(head_ns + came, started.ns + _ns(entry.get("time")) if before else 0)
    is_head_told, is_end_told = started.is_told and waited > 0, started.is_told and end_ns > sent_ns
    return Moment(sent_ns, started.is_told), Moment(head_ns, is_head_told), Moment(end_ns, is_end_told)


def _ns(milliseconds: JSON) -> int:
    number = number_of(milliseconds)
    return int(number * 1e6) if 0 < number < _YEAR_NS / 1e6 else 0


def _size(value: JSON) -> int:
    number = number_of(value)
    return int(number) if 0 < number < 1 << 62 else 0


def _endpoint(url: str) -> str:
    return url.partition("?")[0].partition("#")[0]


def _peer(url: str) -> str:
    """The name of the other side: the preset for the service, else the host of the address."""
    place = parts_of(url).netloc.rpartition("@")[2]
    return service_at(url) or place[:_NAME] or "unknown"


_STARTED = re.compile(rb'"startedDateTime"\s*:\s*"([^"\\]{1,40})"')
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def in_order(file: File, notes: Notes) -> Iterator[tuple[Moment, int, int]]:
    """Give the start, the first byte and the last byte of each entry, in order of time.

    Browsers write them so, and each is read as it is found. Who writes an exchange when it is over, as mitmproxy does, mixes them: then
    none is read before all are found, for the last may be the first.
    """
    entries = _entries(file, notes)
    if _are_in_order(file):
        yield from entries
        return
    notes.progress.expected += len(file.data)
    sorted_entries: list[tuple[Moment, int, int]] = []
    for entry in entries:
        notes.progress.advance(entry[2] - entry[1])
        sorted_entries.append(entry)
    yield from sorted(sorted_entries)


def _are_in_order(file: File) -> bool:
    """Whether the times stand in order. Reads the keys without parsing entries: no body has the key unescaped."""
    last_ns = 0
    for match in _STARTED.finditer(file.data):
        now_ns = _time_ns(match[1].decode("ascii", "replace")) or last_ns
        if now_ns > LATEST_NS:
            continue
        if now_ns < last_ns:
            return False
        last_ns = now_ns
    return True


def _entries(file: File, notes: Notes) -> Iterator[tuple[Moment, int, int]]:
    """Give the start, the first byte and the last byte of each entry, in the order of the file."""
    data = file.data
    at = Moment(file.time_ns, is_told=False)
    count = 0
    try:
        entries = _member(data, _member(data, after_space(data, 0), b"log"), b"entries")
        if entries is None:
            raise unreadable(file, "this HTTP archive has no entries")
        for start, end in elements(data, entries):
            count += 1
            started = _STARTED.search(data, start, end)
            told_ns = None if started is None else _time_ns(started[1].decode("ascii", "replace"))
            if told_ns is not None and told_ns > LATEST_NS:
                notes.leave_out(TOO_LATE, file.name, lambda start=start: f"line {line_of(data, start)}, byte {start}")
                told_ns = None
            at = Moment(at.ns, is_told=False) if told_ns is None else Moment(told_ns)
            yield at, start, end
    except BrokenError as error:
        where = f"line {line_of(data, error.at)}, byte {error.at}"
        if not count:
            raise unreadable(file, f"this HTTP archive is broken: {error}", where) from error
        notes.messages.append(
            f"{file.name}, {where}: this HTTP archive is broken ({error}): what stands before is read."
        )


def _member(data: Data, at: int | None, name: bytes) -> int | None:
    """Find where the value of an object's member begins; None without the member. Reads no further."""
    return None if at is None else next((value for key, value in members(data, at) if key == name), None)


def creator(file: File) -> str:
    """The program that wrote the archive, if named before the entries."""
    data = file.data
    try:
        log = _member(data, after_space(data, 0), b"log")
        for key, at in members(data, log) if log is not None else ():
            if key == b"creator":
                return text_of(mapping(read_value(data[at : value_end(data, at)])).get("name"))
            if key == b"entries":
                break
    except BrokenError:
        pass  # who reads the entries tells it
    return ""


def _time_ns(text: str) -> int | None:
    try:
        moment = datetime.fromisoformat(text)
        moment = moment.astimezone(UTC) if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
    except (ValueError, OverflowError):  # in UTC it may be of no year that there is
        return None
    return max((moment - _EPOCH) // timedelta(microseconds=1) * 1000, 0)
