"""Reads HTTP archives of browsers, mitmproxy and other proxies. Source: HAR 1.2; mitmproxy's `savehar`; Chrome's `_eventSourceMessages`.

An archive holds each body decoded and in one piece, as text or as base64. Exchanges that are neither with a model nor with an
MCP server are counted and left out.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from heapq import heappop, heappush
from itertools import islice
from typing import TypeAlias
from urllib.parse import urljoin

from tui_host.capture.frames.correlator import Correlator
from tui_host.capture.http.http_frames import is_rpc
from tui_host.capture.http.observer import Observer
from tui_host.capture.json.narrowing import items, mapping, short
from tui_host.capture.json.reading import read_value
from tui_host.capture.json.spans import BrokenError, elements
from tui_host.capture.record import MISSING, NOT_KNOWN, Head
from tui_host.errors import JSON
from tui_host.llm.dialects.table import dialect_at
from tui_host.opening.bodies import form_of
from tui_host.opening.file_wires import FileWires
from tui_host.opening.files import CapturedFile
from tui_host.settings.presets import service_at
from tui_host.settings.urls import parts_of

_REBUILT = NOT_KNOWN, "bytes of the stream: the file has its events, of which it is put together anew"
# an archive is an object with `log` among the first members
BEGINS = re.compile(rb'\s*\{\s*(?:"[^"\\]*"\s*:\s*(?:"[^"\\]*"|[^{}\[\]",]+),\s*){0,3}"log"\s*:\s*\{')
# no text in JSON contains this: its quotation marks have a backslash before them
_ENTRIES = re.compile(rb'"entries"\s*:\s*\[')
_BREAK = re.compile(r"\r\n|\r|\n")
_MOST = 1 << 53  # beyond it, a number is none that was measured
_BEHIND_PATH = re.compile(r"[?#].*", re.DOTALL)
_ROUNDED_NS = 5_000_000  # how much too late an end may be that adds up a start and six times, each rounded
_SORTED = 16 << 20  # bytes of an archive that is put in order as a whole: proxies write entries as they end
_FIRST_EVENTS = 20
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# exchanges by when their next event is due, and by their numbers; each with that event's time, and what reports it
_Waiting: TypeAlias = "list[tuple[int, int, int | None, Iterator[tuple[int, int | None]]]]"


def read(file: CapturedFile, wires: FileWires) -> None:
    """Report the exchanges with models and MCP servers in the order of time, as far as they are held at once.

    Raises:
        TuiHostError: The archive has no entries, or is broken. What stands before was reported.
    """
    if (entries := _ENTRIES.search(file.data)) is None:
        raise file.unreadable("this HTTP archive has no entries")
    servers: dict[str, Observer] = {}
    waiting: _Waiting = []
    started_ns = file.time_ns
    try:
        for number, (value, _, _) in enumerate(elements(file.data, entries.end() - 1)):
            entry = _Entry(mapping(value), started_ns)
            started_ns = entry.started_ns
            while waiting and waiting[0][0] <= started_ns and len(file.data) > _SORTED:
                _report_next(waiting, wires)
            if (observer := entry.observer(servers, wires)) is None:
                wires.leave_out("exchanges with neither a model nor an MCP server")
            else:
                heappush(waiting, (started_ns, number, None, entry.replay(observer, wires)))
    except BrokenError as error:
        what = f"this HTTP archive is broken: {error}"
        raise file.unreadable(what, f"{file.line_at(error.at)}, byte {error.at}") from error
    finally:
        while waiting:
            _report_next(waiting, wires)


def _report_next(waiting: _Waiting, wires: FileWires) -> None:
    _, number, at_ns, events = heappop(waiting)
    wires.at(at_ns)
    for due_ns, next_ns in islice(events, 1):
        heappush(waiting, (due_ns, number, next_ns, events))


class _Entry:
    """An exchange with its bodies; one without a start has the place of the one before."""

    def __init__(self, entry: Mapping[str, JSON], started_ns: int) -> None:
        self.started_ns, self._is_timed = started_ns, False
        with suppress(ValueError):
            moment = datetime.fromisoformat(_text(entry.get("startedDateTime")))
            since = moment.replace(tzinfo=moment.tzinfo or UTC) - _EPOCH
            self.started_ns, self._is_timed = max(since // timedelta(microseconds=1) * 1000, 0), True
        self._entry = entry
        self._request, self._response = mapping(entry.get("request")), mapping(entry.get("response"))
        self._posted, self._content = mapping(self._request.get("postData")), mapping(self._response.get("content"))
        self._method, self._url = _text(self._request.get("method")).upper(), _text(self._request.get("url"))
        self._sent = _body(self._posted)
        listed = () if self._content.get("text") else map(mapping, items(entry.get("_eventSourceMessages")))
        self._events: list[tuple[bytes, int]] = []  # as a browser lists them beside a stream, each with its time
        for message in (message for message in listed if "data" in message):
            name, identity = (_BREAK.sub(" ", _text(message.get(key))) for key in ("eventName", "eventId"))
            fields = [f"event: {name}"] * (name not in {"", "message"}) + [f"id: {identity}"] * bool(identity)
            fields += [f"data: {line}" for line in _BREAK.split(_text(message["data"]))]
            event = "\n".join([*fields, "", ""]).encode("utf-8", "surrogatepass")
            self._events.append((event, _amount(message.get("time"), 1e9)))
        self._came = b"".join(data for data, _ in self._events) or _body(self._content)

    def observer(self, servers: dict[str, Observer], wires: FileWires) -> Observer | None:
        """Find who observes it, by what it carries and by the servers known; None if it is with neither model nor server."""
        endpoint, announced = _BEHIND_PATH.sub("", self._url), ""
        if self._came.startswith(b"event: endpoint"):  # where the older transport takes what its event stream answers
            place = next((line[5:] for line in self._came.splitlines() if line.startswith(b"data:")), b"")
            announced = _BEHIND_PATH.sub("", urljoin(self._url, place.decode("utf-8", "replace").strip()))
        peer = service_at(self._url) or parts_of(self._url).netloc.rpartition("@")[2][:60] or "unknown"
        # servers first: both they and models may take `/messages`
        is_of_server = self._method != "POST" and endpoint in servers
        if is_of_server or announced or _carries_rpc(self._sent) or _carries_rpc(self._came):
            is_begin = b'"initialize"' in self._sent
            if is_begin or endpoint not in servers:
                connection = wires.intake.new_connection(peer)
                servers[endpoint] = Observer(
                    wires.intake,
                    wire="mcp",
                    peer=peer,
                    connection=connection,
                    correlator=Correlator(is_whole=is_begin),
                    is_decoded=True,
                )
            if announced:
                servers[announced] = servers[endpoint]
            return servers[endpoint]
        if self._method != "POST" or dialect_at(self._url) is None or self._entry.get("_webSocketMessages"):
            return None
        return wires.model(peer)

    def replay(self, observer: Observer, wires: FileWires) -> Iterator[tuple[int, int | None]]:
        """Report the exchange event by event; before each, yield when it is due, and the time that the file tells."""
        timings = mapping(self._entry.get("timings"))
        parts = "blocked", "dns", "connect", "send", "wait", "receive"
        *before, send, wait, receive = (_amount(timings.get(name), 1e6) for name in parts)
        begun_ns = self.started_ns + sum(before)
        head_ns = last_ns = begun_ns + send + wait
        end_ns = max(head_ns + receive, self.started_ns + _amount(self._entry.get("time"), 1e6))
        is_end_timed = self._is_timed and end_ns > begun_ns  # timings of 0 or less do not tell how long it took

        def due(ns: int, *, is_measured: bool) -> tuple[int, int | None]:
            return max(ns - _ROUNDED_NS, begun_ns), ns if is_measured else None

        yield due(begun_ns, is_measured=self._is_timed)
        has_body = self._method not in {"GET", "HEAD", "DELETE", "OPTIONS"}
        size = self._request.get("bodySize")
        is_held = not has_body or size == 0 or _is_held(self._sent, self._posted, size)
        sent = self._method, self._url, _headers(self._request), self._sent
        observed = observer.begin(*sent, wires.place, lacks="" if is_held else MISSING)
        status, headers = _amount(self._response.get("status")), _headers(self._response)
        if status or self._came:
            yield due(head_ns, is_measured=self._is_timed and wait > 0)
            observed.response(status, [_REBUILT, *headers] if self._events else headers)
        for data, ns in self._events or ([(self._came, 0)] if self._came else []):
            last_ns = max(last_ns, ns or end_ns)
            yield due(last_ns, is_measured=bool(ns) or is_end_timed)
            observed.chunk(data)
        yield due(max(end_ns, last_ns), is_measured=is_end_timed)
        media = Head(headers=tuple(headers)).value("content-type") or _text(self._content.get("mimeType"))
        # browsers state a size of 0 for streams that they did not keep
        size = self._content.get("size")
        has_none = status in {204, 304} or (size == 0 and not media.lower().startswith("text/event-stream"))
        if not status and not self._came:
            observed.end("failed", _text(self._response.get("_error")) or "no response came")
        elif has_none or _is_held(self._came, self._content, size):
            observed.end()
        else:
            observed.end(MISSING, missed=_amount(size))


def _carries_rpc(body: bytes) -> bool:
    """Whether a body is JSON-RPC, or a stream of it."""
    if b'"jsonrpc"' not in body:
        return False
    data = (line[5:] for line in body.splitlines() if line.startswith(b"data:"))
    forms = (form_of(read_value(value)) for value in ([body] if is_rpc(body) else islice(data, _FIRST_EVENTS)))
    return any(form is not None and form.kind == "frame" for form in forms)


def _is_held(body: bytes, held: Mapping[str, JSON], size: JSON) -> bool:
    """Whether a body is there, or an empty text says that there was none; beside a size it says that nothing was kept."""
    return bool(body) or (isinstance(held.get("text"), str) and not _amount(size))


def _body(held: Mapping[str, JSON]) -> bytes:
    """Return the bytes of a body that an archive has as text or as base64."""
    text = _text(held.get("text"))
    if held.get("encoding") == "base64":
        try:
            return base64.b64decode("".join(text.split()), validate=True)  # some programs break base64 into lines
        except (binascii.Error, ValueError):
            pass  # called base64 but plain text
    data = text.encode("utf-8", "surrogatepass")
    if len(data) == len(text) or len(data) == held.get("size"):
        return data
    try:  # UTF-8 that was read byte by byte, as mitmproxy and browsers do without a charset
        characters = text.encode("latin-1")
        characters.decode()
    except UnicodeError:
        return data
    return characters


def _headers(message: Mapping[str, JSON]) -> list[tuple[str, str]]:
    headers = map(mapping, items(message.get("headers")))
    return [(name, _text(header.get("value"))) for header in headers if (name := _text(header.get("name")))]


def _text(value: JSON) -> str:
    if isinstance(value, str):
        return value
    return "" if value is None else short(value)


def _amount(value: JSON, scale: float = 1) -> int:
    """Return a number in another unit; 0 for anything else, or for one that nobody measured."""
    return int(value * scale) if isinstance(value, int | float) and 0 < value < _MOST else 0
