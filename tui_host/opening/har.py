"""Reads HTTP archives of browsers, mitmproxy and other proxies. Source: HAR 1.2; mitmproxy's `savehar`; Chrome's `_eventSourceMessages`.

An archive holds each body decoded and in one piece, as text or as base64. Exchanges that are neither with a model nor with an
MCP server are counted and left out.
"""

from __future__ import annotations

import base64
import binascii
import codecs
import re
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from functools import partial
from heapq import heappop, heappush
from itertools import count, islice
from typing import NamedTuple
from urllib.parse import urljoin

from tui_host.capture.http.http_frames import is_rpc
from tui_host.capture.http.observer import ObservedExchange, Observer
from tui_host.capture.json.narrowing import items, mapping, short
from tui_host.capture.json.spans import BrokenError, elements, read_value
from tui_host.capture.record import MISSING
from tui_host.errors import JSON
from tui_host.llm.dialects.table import dialect_at
from tui_host.opening.bodies import is_frame
from tui_host.opening.file_wires import FileWires, lacks
from tui_host.opening.files import LATEST_NS, CapturedFile
from tui_host.settings.presets import service_at
from tui_host.settings.urls import parts_of

OTHERS = "exchanges with neither a model nor an MCP server"
NO_STREAM = "bytes of the stream: the file has its events, of which it is put together anew"
NO_ANSWER = "no response came"

_LOG = re.compile(rb'\s*\{\s*(?:"[^"\\]*"\s*:\s*(?:"[^"\\]*"|[^{}\[\]",]+),\s*){0,3}"log"\s*:\s*\{')
# no text in JSON contains this: its quotation marks have a backslash before them
_ENTRIES = re.compile(rb'"entries"\s*:\s*\[')
_BREAK = re.compile(r"\r\n|\r|\n")
_EVENT_STREAM = "text/event-stream"
_BODILESS = frozenset({204, 304})
_NAME = 60
_MOST = 1 << 53  # beyond it, a number is none that was measured
_YEAR_MS = 366 * 86_400_000
_ROUNDED_NS = 5_000_000  # how much too late an end may be that adds up a start and six times, each rounded
_SORTED = 16 << 20  # bytes of an archive that is put in order as a whole: proxies write entries as they end
_FIRST_EVENTS = 20
_HIGH = {byte: bytes([byte]).decode("cp1252", "ignore") for byte in range(0x80, 0xA0)}
# what windows-1252 has where Latin-1 has control characters, as the byte that it is
_WINDOWS = {ord(character): byte for byte, character in _HIGH.items() if character}
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def recognise(file: CapturedFile) -> bool:
    """Whether a file is an archive: an object with `log` among the first members."""
    return _LOG.match(file.head) is not None


class _Event(NamedTuple):
    """Something of an exchange; a time that the file does not tell is no more than a place in the order."""

    ns: int
    is_told: bool
    report: Callable[[], None]


def read(file: CapturedFile, wires: FileWires) -> None:
    """Report the exchanges with models and MCP servers in the order of time, as far as they are held at once.

    Raises:
        TuiHostError: The archive has no entries, or is broken. What stands before was reported.
    """
    servers: dict[str, Observer] = {}
    waiting: list[tuple[int, int, _Event]] = []
    numbers = count()
    try:
        for entry, started_ns in _entries(file):
            while waiting and waiting[0][0] <= started_ns and len(file.data) > _SORTED:
                _report(heappop(waiting)[2], wires)
            exchange = _Exchange(mapping(entry), wires)
            if not exchange.finds_observer(servers):
                wires.leave_out(OTHERS)
                continue
            begun_ns = 0
            for event in exchange.events(started_ns, is_timed=_started_ns(entry) is not None):
                begun_ns = begun_ns or event.ns
                heappush(waiting, (max(event.ns - _ROUNDED_NS, begun_ns), next(numbers), event))
    except BrokenError as error:
        where = f"{file.line_at(error.at)}, byte {error.at}"
        raise file.unreadable(f"this HTTP archive is broken: {error}", where) from error
    finally:
        while waiting:
            _report(heappop(waiting)[2], wires)


def _report(event: _Event, wires: FileWires) -> None:
    wires.at(event.ns if event.is_told else None)
    event.report()


def _entries(file: CapturedFile) -> Iterator[tuple[JSON, int]]:
    """Yield the entries as they stand, each with its start, or that of the one before."""
    entries = _ENTRIES.search(file.data)
    if entries is None:
        raise file.unreadable("this HTTP archive has no entries")
    last_ns = file.time_ns
    for value, _, _ in elements(file.data, entries.end() - 1):
        last_ns = _started_ns(value) or last_ns
        yield value, last_ns


def _started_ns(entry: JSON) -> int | None:
    try:
        moment = datetime.fromisoformat(_text(mapping(entry).get("startedDateTime")))
        moment = moment.astimezone(UTC) if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
    except (ValueError, OverflowError):  # converting to UTC may leave the range of years
        return None
    return max((moment - _EPOCH) // timedelta(microseconds=1) * 1000, 0)


class _Exchange:
    """An entry, which reports itself to an observer event by event."""

    _observer: Observer
    _observed: ObservedExchange

    def __init__(self, entry: Mapping[str, JSON], wires: FileWires) -> None:
        self._entry = entry
        self._wires = wires
        self._request, self._response = mapping(entry.get("request")), mapping(entry.get("response"))
        self._content = mapping(self._response.get("content"))
        self._method, self._url = _text(self._request.get("method")).upper(), _text(self._request.get("url"))
        self._sent = _body(mapping(self._request.get("postData")), _media(self._request))
        self._kept = [] if self._content.get("text") else _events_of(entry)
        self._came = b"".join(data for data, _ in self._kept) or _body(self._content, _media(self._response))

    def finds_observer(self, servers: dict[str, Observer]) -> bool:
        """Find who observes it, by what it carries and by the servers known; return whether it is with a model or a server."""
        endpoint, announced = _endpoint(self._url), self._announced
        # servers first: both they and models may take `/messages`
        is_asked = is_rpc(self._sent) and is_frame(read_value(self._sent))
        is_known = self._method != "POST" and endpoint in servers
        if is_asked or is_known or announced or _is_rpc_answer(self._came):
            is_begin = b'"initialize"' in self._sent
            if is_begin or endpoint not in servers:
                servers[endpoint] = self._wires.server(_peer(self._url), is_whole=is_begin)
            if announced:  # where the older transport takes what its event stream answers
                servers[announced] = servers[endpoint]
            self._observer = servers[endpoint]
            return True
        if self._method != "POST" or dialect_at(self._url) is None or self._entry.get("_webSocketMessages"):
            return False
        self._observer = self._wires.model(_peer(self._url))
        return True

    @property
    def _announced(self) -> str:
        """The endpoint that the first event of a server's stream announces; empty without one."""
        if not self._came.startswith(b"event: endpoint"):
            return ""
        place = next((line[5:] for line in self._came.splitlines() if line.startswith(b"data:")), b"")
        return _endpoint(urljoin(self._url, place.decode("utf-8", "replace").strip()))

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
        status = int(_number(self._response.get("status")))
        is_answered = status > 0 or bool(self._came)
        if is_answered:
            yield _Event(head_ns, is_head_told, partial(self._answer, max(status, 0)))
        last_ns = head_ns
        for data, ns in self._kept:
            last_ns = max(last_ns, ns or end_ns)
            yield _Event(last_ns, bool(ns) or is_end_told, lambda data=data: self._observed.chunk(data))
        if self._came and not self._kept:
            yield _Event(end_ns, is_end_told, lambda: self._observed.chunk(self._came))
        yield _Event(max(end_ns, last_ns), is_end_told, partial(self._end, is_answered=is_answered, status=status))

    def _begin(self) -> None:
        has_body = self._method not in {"GET", "HEAD", "DELETE", "OPTIONS"}
        is_held = "text" in mapping(self._request.get("postData")) or self._request.get("bodySize") == 0
        missing = MISSING if has_body and not is_held else ""
        headers = _headers(self._request)
        self._observed = self._observer.begin(
            self._method, self._url, headers, self._sent, self._wires.place, lacks=missing
        )

    def _answer(self, status: int) -> None:
        rebuilt = (lacks(NO_STREAM),) if self._kept else ()
        self._observed.response(status, (*rebuilt, *_headers(self._response)))

    def _end(self, *, is_answered: bool, status: int) -> None:
        # browsers state a size of 0 for streams that they did not keep
        has_none = self._content.get("size") == 0 and not _media(self._response).startswith(_EVENT_STREAM)
        if not is_answered:
            self._observed.fail(_text(self._response.get("_error")) or NO_ANSWER)
        elif self._came or has_none or "text" in self._content or status in _BODILESS:
            self._observed.end()
        else:
            self._observed.not_in_file(max(int(_number(self._content.get("size"))), 0))


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
    text = _text(held.get("text"))
    if held.get("encoding") == "base64":
        try:
            return base64.b64decode("".join(text.split()), validate=True)  # some programs break base64 into lines
        except (binascii.Error, ValueError):
            pass  # called base64 but plain text
    data = text.encode("utf-8", "surrogatepass")
    is_own = "charset" in media and not media.startswith((_EVENT_STREAM, "application/json"))
    if len(data) == len(text) or len(data) == held.get("size") or is_own:
        return data
    try:  # UTF-8 that was read byte by byte, as mitmproxy and browsers do without a charset, and perhaps cut
        characters = text.translate(_WINDOWS).encode("latin-1")
        read_back = codecs.getincrementaldecoder("utf-8")().decode(characters)
    except UnicodeError:
        return data
    return data if read_back.isascii() else characters


def _headers(message: Mapping[str, JSON]) -> tuple[tuple[str, str], ...]:
    headers = map(mapping, items(message.get("headers")))
    named = ((_text(header.get("name")), _text(header.get("value"))) for header in headers)
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
    """Return a number; 0 for anything else, or for one that nobody measured."""
    return value if isinstance(value, int | float) and abs(value) < _MOST else 0


def _ns(milliseconds: JSON) -> int:
    number = _number(milliseconds)
    return int(number * 1e6) if 0 < number < _YEAR_MS else 0


def _endpoint(url: str) -> str:
    return url.partition("?")[0].partition("#")[0]


def _peer(url: str) -> str:
    """Return the other side's name: the preset of the service, else the address's host."""
    return service_at(url) or parts_of(url).netloc.rpartition("@")[2][:_NAME] or "unknown"
