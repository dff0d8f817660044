"""What others captured, as tests have it, and how it is read."""

import json
from collections.abc import Sequence
from dataclasses import replace

from typing_extensions import override

from tui_host.capture.record import Place, Record
from tui_host.capture.redact.redaction import Redactor
from tui_host.capture.store.imported_records import Intake
from tui_host.capture.store.store import Store
from tui_host.errors import JSON
from tui_host.opening.file_wires import FileWires
from tui_host.opening.files import in_utf_8
from tui_host.opening.importing import FORMATS

NOW_NS = 1_795_268_701_000_000_000
CHAT: JSON = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}
WHOLE: JSON = {"object": "chat.completion", "choices": [{"index": 0, "message": {"role": "assistant", "content": "x"}}]}
PIECE: JSON = {"object": "chat.completion.chunk", "choices": [{"index": 0, "delta": {"content": "hello"}}]}
END: JSON = {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
CALL: JSON = {"index": 0, "id": "call_1", "type": "function", "function": {"name": "add", "arguments": '{"a":1}'}}
ASKS: JSON = {"choices": [{"index": 0, "delta": {"tool_calls": [CALL]}, "finish_reason": "tool_calls"}]}
ASK: dict[str, JSON] = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "add", "arguments": {}}}
TELL: JSON = {"jsonrpc": "2.0", "id": 1, "result": {"content": []}}


class Nowhere(Store):
    """A store that nothing is kept in."""

    def __init__(self) -> None: ...


class Seen(Intake):
    """Keeps what a file's reader reports, instead of passing it on."""

    def __init__(self) -> None:
        super().__init__(Nowhere(), "c1", Redactor())
        self.records: list[Record] = []

    @override
    def append(self, record: Record, at_ns: int | None = None) -> int:
        self._last += 1
        mono_ns = self._time_ns if self._is_timed else None
        stamped = replace(record, capture=self.capture, seq=self._last, time_ns=self._time_ns, mono_ns=mono_ns)
        self.records.append(stamped)
        return self._last


def read(data: bytes | str, name: str = "math.log") -> tuple[list[Record], FileWires]:
    file = in_utf_8(name, data if isinstance(data, bytes) else data.encode(), NOW_NS)
    wires = FileWires(intake := Seen(), Place(session="s1"))
    next(read for begins, most, read in FORMATS if len(file.data) <= most and begins.match(file.head))(file, wires)
    return intake.records, wires


def seen(data: bytes | str, name: str = "math.log") -> list[Record]:
    return read(data, name)[0]


def told(found: Sequence[Record]) -> list[tuple[str, str, str]]:
    return [(record.wire, record.kind, record.direction or "") for record in found]


def is_timed(record: Record) -> bool:
    return record.mono_ns is not None


def stream(*events: JSON) -> str:
    return "".join(f"data: {json.dumps(event)}\n\n" for event in events) + "data: [DONE]\n\n"


def archive(*entries: JSON, creator: str = "x") -> bytes:
    return json.dumps({"log": {"version": "1.2", "creator": {"name": creator}, "entries": entries}}).encode()


def entry(url: str, sent: JSON, came: str, at: str = "2026-11-22T02:13:06.890Z", **more: JSON) -> dict[str, JSON]:
    headers = [{"name": "Authorization", "value": "Bearer sk-1"}, {"name": "content-encoding", "value": "gzip"}]
    kind = "text/event-stream" if came.startswith(("data:", "event:")) else "application/json"
    return {
        "startedDateTime": at,
        "time": 50.5,
        "request": {"method": "POST", "url": url, "headers": headers, "postData": {"text": json.dumps(sent)}},
        "response": {
            "status": 200,
            "headers": [{"name": "Content-Type", "value": kind}, {"name": "Content-Encoding", "value": "br"}],
            "content": {"text": came, "size": len(came)},
        },
        "timings": {"blocked": -1, "send": 1, "wait": 9.5, "receive": 40},
        **more,
    }


MODEL = entry("https://api.deepseek.com/v1/chat/completions", CHAT, f"data: {json.dumps(PIECE)}\n\n")
