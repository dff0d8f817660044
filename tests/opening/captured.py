"""What others captured, as tests have it, and how it is read."""

from __future__ import annotations

import json
from collections.abc import Sequence

from tui_host.errors import JSON
from tui_host.opening.import_types import File, TimedDraft
from tui_host.opening.recognition import read

NOW_NS = 1_795_268_701_000_000_000
CHAT: JSON = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}
WHOLE: JSON = {"object": "chat.completion", "choices": [{"index": 0, "message": {"role": "assistant", "content": "x"}}]}
PIECE: JSON = {"object": "chat.completion.chunk", "choices": [{"index": 0, "delta": {"content": "hello"}}]}
ASK: dict[str, JSON] = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "add", "arguments": {}}}
TELL: JSON = {"jsonrpc": "2.0", "id": 1, "result": {"content": []}}


def seen(*texts: bytes | str, names: Sequence[str] = ("math.log", "model.log")) -> list[TimedDraft]:
    files = [
        File(name=name, data=text.encode() if isinstance(text, str) else text, time_ns=NOW_NS)
        for name, text in zip(names, texts, strict=False)
    ]
    return list(read(files).drafts)


def told(found: Sequence[TimedDraft]) -> list[tuple[str, str, str]]:
    return [(each.record.wire, each.record.kind, each.record.direction or "") for each in found]


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
