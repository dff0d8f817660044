"""Reads HTTP archives of browsers and mitmproxy. Source: HAR 1.2; mitmproxy's `savehar`.

Archives of any size are read entry by entry. They store each body decoded and in one piece, and so do the records.
Exchanges that are neither with a model nor with an MCP server are counted and left out.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from heapq import heappop, heappush

from tui_host.capture.frames.correlator import Correlator
from tui_host.capture.http.exchange_end import Ending
from tui_host.capture.http.http_frames import HttpFrames, is_rpc
from tui_host.capture.http.observer import BODY_LIMIT
from tui_host.capture.json.file_values import BrokenError, elements, read_value, value_at
from tui_host.capture.json.narrowing import mapping
from tui_host.capture.record import MISSING, NOT_KNOWN, Direction, Head, Kind, Record
from tui_host.capture.redact.redaction import Redactor
from tui_host.errors import JSON
from tui_host.opening.body_dialects import url_dialect
from tui_host.opening.exchange_assembly import MIXED, NO_BYTES, NO_STREAM, REMEDY
from tui_host.opening.har_messages import (
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
    File,
    Moment,
    Notes,
    TimedDraft,
    line_of,
    place_of,
    unreadable,
)
from tui_host.settings.presets import service_at
from tui_host.settings.urls import parts_of

_NAME = 60
_STREAM_ENDS = re.compile(rb'(?m)^data: ?(?:\[DONE\]|\{"type": ?"(?:message_stop|response\.completed)")')
_BODILESS = frozenset({204, 304})
_ROUNDED_NS = 5_000_000
"""How much too late a computed end may be, in ns: it adds a start and up to six times, each rounded."""
_COUNTS_CONNECTING_APART = "mitmproxy"
"""This program counts the time to connect even if the connection was made before the exchange. Source: `savehar`."""
_COUNTS_TEXT = "playwright"
"""This program states the size of a body's text, not of the received bytes."""
_YEAR_NS = 366 * 86_400 * 1_000_000_000

OTHERS = "exchanges with neither a model nor an MCP server"
UNREAD = "entries that cannot be read"
SOCKETS = "WebSocket conversations"


def recognise(file: File) -> bool:
    """Whether a file is an archive: an object with `log` among the first members."""
    return _LOG.match(file.data[:_BEGINNING]) is not None


def read(file: File, notes: Notes) -> Iterator[TimedDraft]:
    """Read the exchanges with models and MCP servers, in order of time.

    Raises:
        TuiHostError: The archive has no entries, or is broken before the first.
    """
    notes.progress.expected += len(file.data)
    entries = _Entries(notes, file)
    waiting: list[tuple[int, int, TimedDraft]] = []  # drafts that are later than the start of the next exchange
    number = 0
    for started, value, start, end in in_order(file, notes):
        while waiting and waiting[0][0] < started.ns + _rounded_ns(waiting[0][2]):
            yield _no_later(heappop(waiting)[2], started)
        notes.progress.advance(end - start)
        if not isinstance(value, dict):
            notes.leave_out(UNREAD, file.name, lambda start=start: f"{place_of(file, start)}, byte {start}")
            continue
        for draft in entries.drafts(value, started):
            number += 1
            heappush(waiting, (draft.at.ns, number, draft))
    while waiting:
        yield heappop(waiting)[2]


def _rounded_ns(timed: TimedDraft) -> int:
    return _ROUNDED_NS if timed.record.direction == "in" and timed.at.is_told else 0


def _no_later(timed: TimedDraft, next_start: Moment) -> TimedDraft:
    """Move a draft to the start of the next exchange if rounding has put it later."""
    return timed if timed.at.ns <= next_start.ns else timed._replace(at=next_start)


class _Collected:
    """Makes the drafts of an exchange. Acts as a recorder for `HttpFrames`; each draft gets the current time."""

    redactor = Redactor()
    """Removes no secrets: the store removes them."""

    def __init__(self, notes: Notes, url: str, connection: str | None) -> None:
        self.at = Moment(0)
        self.drafts: list[TimedDraft] = []
        self.frames: HttpFrames | None = None
        self.new_exchange: Callable[[], str] = notes.new_exchange
        self.bare = Record(
            wire="llm" if connection is None else "mcp",
            kind="request",
            peer=_peer(url),
            direction="out",
            place=notes.place,
            connection=connection,
            exchange=notes.new_exchange(),
        )

    def append(self, draft: Record) -> int:
        """Add a draft from `HttpFrames`."""
        self.drafts.append(TimedDraft(self.at, draft))
        return len(self.drafts)

    def add(self, kind: Kind, *, head: Head | None = None, data: bytes = b"", malformed: str | None = None) -> None:
        """Make and add a draft."""
        direction: Direction = "out" if kind == "request" else "in"
        self.append(replace(self.bare, kind=kind, direction=direction, head=head, data=data, malformed=malformed))


class _Entries:
    """Makes drafts of an archive's entries."""

    def __init__(self, notes: Notes, file: File) -> None:
        self._name = file.name
        by = creator(file)
        self._before = () if by.startswith(_COUNTS_CONNECTING_APART) else ("blocked", "dns", "connect")
        self._counts_text = by.lower().startswith(_COUNTS_TEXT)
        self._notes = notes
        self._connections: dict[str, tuple[str, Correlator]] = {}

    def drafts(self, entry: Mapping[str, JSON], started: Moment) -> list[TimedDraft]:
        """Return the drafts of an entry; none if the exchange is neither with a model nor with an MCP server."""
        if entry.get("_webSocketMessages"):
            self._notes.leave_out(SOCKETS, self._name)
            return []
        request, response = mapping(entry.get("request")), mapping(entry.get("response"))
        url, method = text_of(request.get("url")), text_of(request.get("method")).upper()
        sent, events = body_sent(request), events_came(entry)
        came = b"".join(event.data for event in events) or body_came(response, counts_text=self._counts_text)
        pieces = events or ([Event(came, 0)] if came else [])
        if self._is_mcp(method, url, sent, came):  # check MCP first: servers and models may both use `/messages`
            connection, correlator = self._connection(url, sent)
            collected = _Collected(self._notes, url, connection)
            collected.frames = HttpFrames(collected, correlator, collected.bare)
        elif method == "POST" and url_dialect(url):
            collected = _Collected(self._notes, url, None)
        else:
            self._notes.leave_out(OTHERS, self._name)
            return []
        collected.at, head_at, end_at = _times(entry, started, self._before)
        missing = MISSING if method == "POST" and is_left_out(request, "postData", request.get("bodySize")) else None
        head, data = Head(method=method, url=url, headers=headers(request)), sent[:BODY_LIMIT]
        collected.add("request", head=head, data=data, malformed=missing)
        if collected.frames is not None and method == "POST":
            collected.frames.sent(data)
        collected.at = head_at
        lacks = NO_STREAM if events else NO_BYTES if is_put_back(response, came) else ""
        self._answer(response, pieces, lacks, collected, end_at)
        return collected.drafts

    def _answer(
        self, response: Mapping[str, JSON], pieces: Sequence[Event], lacks: str, collected: _Collected, end_at: Moment
    ) -> None:
        """Make the drafts of the response."""
        frames, status = collected.frames, _size(response.get("status"))
        if status:
            missing = ((NOT_KNOWN, lacks),) if lacks else ()
            collected.add("response", head=Head(status=status, headers=(*missing, *headers(response))))
            if frames is not None:
                frames.answered(status, content_type(response), None)
        size = 0
        for piece in pieces:
            collected.at = _came_at(piece, collected.at, end_at)
            data = piece.data[: max(BODY_LIMIT - size, 0)]
            size += len(piece.data)
            if data:
                collected.add("chunk", data=data)
            if data and frames is not None:
                frames.received(data)
        collected.at = max(collected.at, end_at, key=lambda at: at.ns)
        if frames is not None:
            frames.finished(whole=True)
        ending = _ending(response, pieces, status)
        if len(_STREAM_ENDS.findall(b"".join(piece.data for piece in pieces))) > 1:
            ending = replace(ending, reason="failed", error=MIXED)
            self._notes.messages.append(f"{self._name}, {collected.bare.exchange}: {MIXED}: marked as failed. {REMEDY}")
        collected.add(ending.kind, data=ending.to_bytes())

    def _is_mcp(self, method: str, url: str, sent: bytes, came: bytes) -> bool:
        if method == "POST":
            return is_rpc(sent) and isinstance(read_value(sent), Mapping | list)
        return _endpoint(url) in self._connections or (method == "GET" and came.startswith(b"event: endpoint"))

    def _connection(self, url: str, sent: bytes) -> tuple[str, Correlator]:
        """Return the connection to an endpoint; each `initialize` begins a new one."""
        endpoint = _endpoint(url)
        if endpoint not in self._connections or b'"initialize"' in sent:
            self._connections[endpoint] = self._notes.new_connection(_peer(url)), Correlator()
        return self._connections[endpoint]


def _came_at(event: Event, last: Moment, end: Moment) -> Moment:
    """Return the time of an event, but not before the last event; the end of the answer if the event has no time."""
    return Moment(max(event.ns, last.ns)) if event.ns else max(last, end, key=lambda at: at.ns)


def _ending(response: Mapping[str, JSON], pieces: Sequence[Event], status: int) -> Ending:
    if not status:
        return Ending(reason="failed", error=text_of(response.get("_error")) or "no response came")
    told_size = mapping(response.get("content")).get("size")
    body = pieces[0].data if len(pieces) == 1 else b"".join(piece.data for piece in pieces)
    came = len(body)
    size = came if is_text_counted(response, body) else max(came, _size(told_size))
    if "event-stream" in content_type(response):
        told_size = None  # browsers state 0 for a body that they did not store
    is_missing = status not in _BODILESS and not came and is_left_out(response, "content", told_size)
    return Ending(reason=MISSING if is_missing else "complete", size=size, kept=min(came, BODY_LIMIT))


def _times(entry: Mapping[str, JSON], started: Moment, before: Sequence[str]) -> tuple[Moment, Moment, Moment]:
    """Return when the request was sent, when the response's head came, and when the response ended.

    Timings that are missing, or all 0 or -1, do not tell how long the exchange took.

    Args:
        entry: The exchange.
        started: When the exchange began.
        before: The timings that pass before the request is sent. With these, the entry's `time` is the sum of all.
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


@lru_cache(1 << 8)
def _peer(url: str) -> str:
    """Return the other side's name: the preset of the service, else the address's host."""
    place = parts_of(url).netloc.rpartition("@")[2]
    return service_at(url) or place[:_NAME] or "unknown"


_LOG = re.compile(rb'\s*\{\s*(?:"[^"\\]*"\s*:\s*(?:"[^"\\]*"|[^{}\[\]",]+),\s*){0,3}"log"\s*:\s*\{')
_CREATOR = re.compile(rb'"creator"\s*:\s*(?=\{)')
_ENTRIES = re.compile(rb'"entries"\s*:\s*\[')
"""Matches no text in JSON: quotation marks in a text have a backslash before them."""
_BEGINNING = 1 << 16
_STARTED = re.compile(rb'"startedDateTime"\s*:\s*"([^"\\]{1,40})"')
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def in_order(file: File, notes: Notes) -> Iterator[tuple[Moment, JSON, int, int]]:
    """Yield each entry with its start time and the positions of its first byte and end, in order of time.

    Browsers write entries in order of time, so each is read when found. Programs that write an exchange at its end, as
    mitmproxy does, mix them: then all are found before any is read, since the last may be the first.
    """
    entries = _entries(file, notes)
    if _are_in_order(file):
        yield from entries
        return
    notes.progress.expected += len(file.data)
    places: list[tuple[Moment, int, int]] = []
    for started, _, start, end in entries:
        notes.progress.advance(end - start)
        places.append((started, start, end))
    for started, start, end in sorted(places):
        yield started, value_at(file.data, start)[0], start, end


def _are_in_order(file: File) -> bool:
    """Whether the entries are in order of time. Searches the keys without parsing: in a body the key would be escaped."""
    last_ns = 0
    for match in _STARTED.finditer(file.data):
        now_ns = _time_ns(match[1].decode("ascii", "replace")) or last_ns
        if now_ns > LATEST_NS:
            continue
        if now_ns < last_ns:
            return False
        last_ns = now_ns
    return True


def _entries(file: File, notes: Notes) -> Iterator[tuple[Moment, JSON, int, int]]:
    """Yield the same in the order of the file."""
    data = file.data
    at = Moment(file.time_ns, is_told=False)
    count = 0
    try:
        entries = _ENTRIES.search(data)
        if entries is None:
            raise unreadable(file, "this HTTP archive has no entries")
        for value, start, end in elements(data, entries.end() - 1):
            count += 1
            started = mapping(value).get("startedDateTime")
            told_ns = _time_ns(started) if isinstance(started, str) else None
            if told_ns is not None and told_ns > LATEST_NS:
                notes.leave_out(TOO_LATE, file.name, lambda start=start: f"line {line_of(data, start)}, byte {start}")
                told_ns = None
            at = Moment(at.ns, is_told=False) if told_ns is None else Moment(told_ns)
            yield at, value, start, end
    except BrokenError as error:
        where = f"line {line_of(data, error.at)}, byte {error.at}"
        if not count:
            raise unreadable(file, f"this HTTP archive is broken: {error}", where) from error
        notes.messages.append(
            f"{file.name}, {where}: this HTTP archive is broken ({error}): what stands before is read."
        )


def creator(file: File) -> str:
    """Return the program that wrote the archive, if named before the entries."""
    match = _CREATOR.search(file.data[:_BEGINNING])
    if match is not None:
        with suppress(BrokenError):  # reading the entries reports the error
            return text_of(mapping(value_at(file.data, match.end())[0]).get("name"))
    return ""


def _time_ns(text: str) -> int | None:
    try:
        moment = datetime.fromisoformat(text)
        moment = moment.astimezone(UTC) if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
    except (ValueError, OverflowError):  # converting to UTC may leave the range of years
        return None
    return max((moment - _EPOCH) // timedelta(microseconds=1) * 1000, 0)
