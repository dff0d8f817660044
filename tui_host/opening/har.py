"""Reads HTTP archives of browsers, mitmproxy and other proxies. Source: HAR 1.2; mitmproxy's `savehar`; Chrome's `_eventSourceMessages`.

An archive holds each body decoded and in one piece, as text or as base64. Exchanges that are neither with a model nor with an
MCP server are counted and left out.
"""

from __future__ import annotations

import base64
import binascii
import codecs
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import lru_cache, partial
from heapq import heappop, heappush
from itertools import islice
from typing import NamedTuple
from urllib.parse import urljoin

from tui_host.capture.http.http_frames import is_rpc
from tui_host.capture.http.observer import ObservedExchange, Observer
from tui_host.capture.json.file_values import BrokenError, elements, read_value
from tui_host.capture.json.narrowing import items, mapping, short
from tui_host.capture.record import MISSING
from tui_host.errors import JSON
from tui_host.llm.dialects.table import dialect_at
from tui_host.opening.bodies import is_frame
from tui_host.opening.file_wires import FileWires, lacks
from tui_host.opening.files import LATEST_NS, CapturedFile
from tui_host.settings.presets import service_at
from tui_host.settings.urls import parts_of

OTHERS = "exchanges with neither a model nor an MCP server"
UNREAD = "entries that cannot be read"
SOCKETS = "WebSocket conversations"
NO_STREAM = "bytes of the stream: the file has its events, of which it is put together anew"
NO_ANSWER = "no response came"

_LOG = re.compile(rb'\s*\{\s*(?:"[^"\\]*"\s*:\s*(?:"[^"\\]*"|[^{}\[\]",]+),\s*){0,3}"log"\s*:\s*\{')
# no text in JSON contains this: its quotation marks have a backslash before them
_ENTRIES = re.compile(rb'"entries"\s*:\s*\[')
_BREAK = re.compile(r"\r\n|\r|\n")
_NUMBER = re.compile(r"\d{1,15}(?:\.\d{1,15})?", re.ASCII)
_EVENT_STREAM = "text/event-stream"
_BODILESS = frozenset({204, 304})
_NAME = 60
_BEYOND = 1 << 62
_YEAR_NS = 366 * 86_400 * 1_000_000_000
_ROUNDED_NS = 5_000_000  # how much too late a time may be that adds up six others, each rounded
_SORTED = 32 << 20  # bytes of an archive whose entries are put in order: proxies write them as they end
_FIRST_EVENTS = 20
_HIGH = {byte: bytes([byte]).decode("cp1252", "ignore") for byte in range(0x80, 0xA0)}
# what windows-1252 has where Latin-1 has control characters, as the byte that it is
_WINDOWS = {ord(character): byte for byte, character in _HIGH.items() if character}
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def recognise(file: CapturedFile) -> bool:
    """Whether a file is an archive: an object with `log` among the first members."""
    return _LOG.match(file.head) is not None


class _Event(NamedTuple):
    """Something of an exchange, with its time; a time that the file does not tell is no more than a place in the order."""

    ns: int
    is_told: bool
    report: Callable[[], None]


def read(file: CapturedFile, wires: FileWires) -> None:
    """Report the exchanges with models and MCP servers.

    Raises:
        TuiHostError: The archive has no entries, or is broken. What stands before was reported.
    """
    exchanges = _Exchanges(file, wires)
    waiting: list[tuple[int, int, _Event]] = []  # what comes later than the next entry begins
    number = 0
    try:
        for entry, started_ns, at in _in_order(file):
            while waiting and waiting[0][0] <= started_ns + _ROUNDED_NS:
                _report(heappop(waiting)[2], wires, started_ns)
            for event in exchanges.events(entry, started_ns, at):
                number += 1
                heappush(waiting, (event.ns, number, event))
    except BrokenError as error:
        where = f"{file.line_at(error.at)}, byte {error.at}"
        raise file.unreadable(f"this HTTP archive is broken: {error}", where) from error
    finally:
        while waiting:
            event = heappop(waiting)[2]
            _report(event, wires, event.ns)


def _report(event: _Event, wires: FileWires, latest_ns: int) -> None:
    wires.at(min(event.ns, latest_ns) if event.is_told else None)
    event.report()


def _in_order(file: CapturedFile) -> Iterator[tuple[JSON, int, int]]:
    """Yield the entries, each with its start and its place; those of a large archive as they stand."""
    stored = _entries(file)
    if len(file.data) > _SORTED:
        yield from stored
        return
    entries: list[tuple[JSON, int, int]] = []
    broken: BrokenError | None = None
    try:
        entries.extend(stored)
    except BrokenError as error:
        broken = error
    yield from sorted(entries, key=lambda entry: entry[1])
    if broken is not None:
        raise broken


def _entries(file: CapturedFile) -> Iterator[tuple[JSON, int, int]]:
    entries = _ENTRIES.search(file.data)
    if entries is None:
        raise file.unreadable("this HTTP archive has no entries")
    last_ns = file.time_ns
    for value, at, _ in elements(file.data, entries.end() - 1):
        told_ns = _time_ns(value)
        last_ns = last_ns if told_ns is None else told_ns
        yield value, last_ns, at


def _time_ns(entry: JSON) -> int | None:
    """Return when an entry began; None if it does not say so."""
    try:
        moment = datetime.fromisoformat(_text(mapping(entry).get("startedDateTime")))
        moment = moment.astimezone(UTC) if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
    except (ValueError, OverflowError):  # converting to UTC may leave the range of years
        return None
    return max((moment - _EPOCH) // timedelta(microseconds=1) * 1000, 0)


class _Exchanges:
    """Makes the events of entries, and knows the connections to servers."""

    def __init__(self, file: CapturedFile, wires: FileWires) -> None:
        self._file = file
        self._wires = wires
        self._servers: dict[str, Observer] = {}

    def events(self, entry: JSON, started_ns: int, at: int) -> Sequence[_Event]:
        """Return the events of an entry; none if it is neither with a model nor with an MCP server."""
        if not isinstance(entry, Mapping):
            self._wires.leave_out(UNREAD, lambda: self._file.line_at(at))
            return ()
        if entry.get("_webSocketMessages"):
            self._wires.leave_out(SOCKETS)
            return ()
        replay = _Replay(entry, self._wires)
        observer = self._observer(replay)
        if observer is None:
            self._wires.leave_out(OTHERS)
            return ()
        replay.observer = observer
        return list(replay.events(started_ns, is_timed=_time_ns(entry) is not None))

    def _observer(self, replay: _Replay) -> Observer | None:
        # servers first: both they and models may take `/messages`
        endpoint = _endpoint(replay.url)
        is_server = replay.carries_rpc or (replay.method != "POST" and endpoint in self._servers)
        if is_server:
            return self._server(endpoint, replay)
        is_model = replay.method == "POST" and dialect_at(replay.url) is not None
        return self._wires.model(_peer(replay.url)) if is_model else None

    def _server(self, endpoint: str, replay: _Replay) -> Observer:
        is_begin = b'"initialize"' in replay.sent
        if is_begin or endpoint not in self._servers:
            observer = self._wires.server(_peer(replay.url), is_whole=is_begin)
            self._servers[endpoint] = observer
            if sends_to := replay.announced:  # where the older transport takes what its event stream answers
                self._servers[sends_to] = observer
        return self._servers[endpoint]


class _Replay:
    """Reports an entry's exchange to an observer, event by event."""

    observer: Observer

    def __init__(self, entry: Mapping[str, JSON], wires: FileWires) -> None:
        self._entry = entry
        self._wires = wires
        self._request, self._response = mapping(entry.get("request")), mapping(entry.get("response"))
        self._content = mapping(self._response.get("content"))
        self.method = _text(self._request.get("method")).upper()
        self.url = _text(self._request.get("url"))
        self.sent = _body(mapping(self._request.get("postData")), _media(self._request))
        self._kept = _events_of(entry) if not self._content.get("text") else []
        self._came = b"".join(data for data, _ in self._kept) or _body(self._content, _media(self._response))
        self._exchange: ObservedExchange | None = None

    @property
    def carries_rpc(self) -> bool:
        """Whether JSON-RPC was sent, or came in the answer or its events."""
        if is_rpc(self.sent) and is_frame(read_value(self.sent)):
            return True
        return bool(self.announced) or _is_rpc_answer(self._came)

    @property
    def announced(self) -> str:
        """The endpoint that the first event of a server's stream announces; empty without one."""
        if not self._came.startswith(b"event: endpoint"):
            return ""
        place = next((line[5:] for line in self._came.splitlines() if line.startswith(b"data:")), b"")
        return _endpoint(urljoin(self.url, place.decode("utf-8", "replace").strip()))

    def events(self, started_ns: int, *, is_timed: bool) -> Iterator[_Event]:
        """Yield what was seen of the exchange, in order."""
        timings = mapping(self._entry.get("timings"))
        sent_ns = started_ns + sum(_ns(timings.get(name)) for name in ("blocked", "dns", "connect"))
        waited_ns = _ns(timings.get("wait"))
        head_ns = sent_ns + _ns(timings.get("send")) + waited_ns
        end_ns = max(head_ns + _ns(timings.get("receive")), started_ns + _ns(self._entry.get("time")))
        # timings that are missing, 0 or less do not tell how long it took
        is_head_told, is_end_told = is_timed and waited_ns > 0, is_timed and end_ns > sent_ns
        yield _Event(sent_ns, is_timed, self._begin)
        status = _number(self._response.get("status"))
        is_answered = status > 0 or bool(self._came)
        if is_answered:
            yield _Event(head_ns, is_head_told, partial(self._answer, int(max(status, 0))))
        last_ns = head_ns
        for data, ns in self._kept:
            last_ns = max(last_ns, ns or end_ns)
            yield _Event(last_ns, bool(ns) or is_end_told, partial(self._chunk, data))
        if self._came and not self._kept:
            yield _Event(end_ns, is_end_told, partial(self._chunk, self._came))
        is_held = bool(self._came) or not _is_left_out(self._content, _media(self._response)) or status in _BODILESS
        yield _Event(max(end_ns, last_ns), is_end_told, partial(self._end, is_answered=is_answered, is_held=is_held))

    def _begin(self) -> None:
        has_body = self.method not in {"GET", "HEAD", "DELETE", "OPTIONS"}
        is_held = "text" in mapping(self._request.get("postData")) or self._request.get("bodySize") == 0
        self._exchange = self.observer.begin(
            self.method,
            self.url,
            _headers(self._request),
            self.sent,
            self._wires.place,
            lacks=MISSING if has_body and not is_held else "",
        )

    def _answer(self, status: int) -> None:
        headers = _headers(self._response)
        if self._kept:
            headers = (lacks(NO_STREAM), *headers)
        if self._exchange is not None:
            self._exchange.response(status, headers)

    def _chunk(self, data: bytes) -> None:
        if self._exchange is not None:
            self._exchange.chunk(data)

    def _end(self, *, is_answered: bool, is_held: bool) -> None:
        if self._exchange is None:
            return
        if not is_answered:
            self._exchange.fail(_text(self._response.get("_error")) or NO_ANSWER)
        elif is_held:
            self._exchange.end()
        else:
            self._exchange.not_in_file(int(max(_number(self._content.get("size")), 0)))


def _is_left_out(content: Mapping[str, JSON], media: str) -> bool:
    """Whether an archive has no body where there was one. Browsers state a size of 0 for streams that they did not keep."""
    return "text" not in content and (content.get("size") != 0 or media.startswith(_EVENT_STREAM))


def _is_rpc_answer(body: bytes) -> bool:
    if b'"jsonrpc"' not in body:
        return False
    if body.lstrip()[:1] in {b"{", b"["}:
        return is_frame(read_value(body))
    data = (line[5:] for line in body.splitlines() if line.startswith(b"data:"))
    return any(is_frame(read_value(line)) for line in islice(data, _FIRST_EVENTS))


def _events_of(entry: Mapping[str, JSON]) -> list[tuple[bytes, int]]:
    """Return the events that a browser lists beside a stream, with their times; 0 for none."""
    messages = map(mapping, items(entry.get("_eventSourceMessages")))
    return [_event_of(message) for message in messages if "data" in message]


def _event_of(message: Mapping[str, JSON]) -> tuple[bytes, int]:
    name, identity = (_BREAK.sub(" ", _text(message.get(key))) for key in ("eventName", "eventId"))
    lines = [f"event: {name}"] if name not in {"", "message"} else []
    lines += [f"id: {identity}"] if identity else []
    lines += [f"data: {line}" for line in _BREAK.split(_text(message["data"]))]
    seconds = _number(message.get("time"))
    ns = int(seconds * 1e9) if 0 < seconds < LATEST_NS / 1e9 else 0
    return "\n".join([*lines, "", ""]).encode("utf-8", "surrogatepass"), ns


def _body(held: Mapping[str, JSON], media: str) -> bytes:
    """Return the bytes of a body that an archive has as text or as base64."""
    text = held.get("text")
    if not isinstance(text, str):
        return b""
    if _text(held.get("encoding")).lower() == "base64":
        try:
            return base64.b64decode("".join(text.split()), validate=True)  # some programs break base64 into lines
        except (binascii.Error, ValueError):
            pass  # called base64 but plain text
    data = text.encode("utf-8", "surrogatepass")
    is_own = "charset" in media and not media.startswith((_EVENT_STREAM, "application/json"))
    if len(data) == len(text) or len(data) == _number(held.get("size")) or is_own:
        return data
    return _bytes_of_characters(text) or data


def _bytes_of_characters(text: str) -> bytes:
    """Return a body whose UTF-8 was read byte by byte, as mitmproxy and browsers do without a charset; empty for any other."""
    try:
        data = text.translate(_WINDOWS).encode("latin-1")
        read = codecs.getincrementaldecoder("utf-8")().decode(data)  # which may be cut at the end
    except UnicodeError:
        return b""
    return b"" if read.isascii() else data


def _headers(message: Mapping[str, JSON]) -> tuple[tuple[str, str], ...]:
    named = (
        (_text(header.get("name")), _text(header.get("value")))
        for header in map(mapping, items(message.get("headers")))
    )
    return tuple((name, value) for name, value in named if name)


def _media(message: Mapping[str, JSON]) -> str:
    """Return the content type in lower case: the header's, else the one that the archive states beside the body."""
    header = next((value for name, value in _headers(message) if name.lower() == "content-type"), "")
    held = mapping(message.get("postData") or message.get("content"))
    return (header or _text(held.get("mimeType"))).strip().lower()


def _text(value: JSON) -> str:
    if isinstance(value, str):
        return value
    return "" if value is None else short(value)


def _number(value: JSON) -> float:
    """Return a number, or a number written as text; 0 for anything else or an absurd value."""
    if isinstance(value, str) and _NUMBER.fullmatch(value):
        return float(value)
    return value if isinstance(value, int | float) and abs(value) < _BEYOND else 0


def _ns(milliseconds: JSON) -> int:
    number = _number(milliseconds)
    return int(number * 1e6) if 0 < number < _YEAR_NS / 1e6 else 0


def _endpoint(url: str) -> str:
    return url.partition("?")[0].partition("#")[0]


@lru_cache(1 << 8)
def _peer(url: str) -> str:
    """Return the other side's name: the preset of the service, else the address's host."""
    return service_at(url) or parts_of(url).netloc.rpartition("@")[2][:_NAME] or "unknown"
