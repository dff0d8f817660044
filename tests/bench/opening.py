"""Files of others imported: the CPU until all rows stand, against `json.loads` over the JSON in them, and the first row."""

import json
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

from tests.bench.measure import Table, at_most
from tests.kit.bodies import DIALECTS, Answer, Call, Entry, Results, Tool, User
from tui_host.capture.redact.redaction import Redactor
from tui_host.capture.store.store import Store
from tui_host.errors import JSON
from tui_host.opening.importing import import_files

CHAT = DIALECTS["openai"]
MEBIBYTE = 1 << 20
TOOLS = [Tool(name, "Do the thing. " * 10) for name in ("multiply", "add", "sub", "div")]
MODEL, SERVER = "https://api.deepseek.com/v1/chat/completions", "https://mcp.example.com/mcp"
BEGAN = datetime(2026, 11, 22, 10, tzinfo=UTC)


def talks() -> Iterator[tuple[str, str, Sequence[JSON]]]:
    """A request, the stream that answers it, and the frames of the call that this asks for."""
    entries: list[Entry] = []
    for number in range(1, 1 << 30):
        if number % 12 == 1:
            entries = []
        entries.append(User(f"what's {number} x 5? use the tools {'please ' * 20}"))
        call = Call(f"call_{number}", "multiply", {"a": number, "b": 5})
        asks = Answer("Let me compute that for you with the tool " * 4, [call])
        text = f"{number * 5} {'detail ' * 50}"
        params: JSON = {"name": "multiply", "arguments": call.arguments}
        result: JSON = {"content": [{"type": "text", "text": text}]}
        frames: Sequence[JSON] = (
            {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params},
            {"jsonrpc": "2.0", "id": number, "result": result},
        )
        yield request(entries), stream(asks), frames
        entries += [asks, Results([(call, text)])]
        yield request(entries), stream(Answer("The answer is quite clear now " * 6)), ()


def request(entries: Sequence[Entry]) -> str:
    return CHAT.request(entries, system="You are a helpful assistant. " * 40, tools=TOOLS).decode()


def stream(answer: Answer) -> str:
    return b"".join(CHAT.events(answer, 6)).decode()


def write_log(path: Path, size: int) -> None:
    at = BEGAN
    with path.open("w") as file:
        for sent, answer, frames in talks():
            arrows = zip(("client -> server", "server -> client"), frames, strict=False)
            for line in (f"POST {MODEL}\n{sent}\n{answer}", *(f"{way}: {json.dumps(each)}\n" for way, each in arrows)):
                at += timedelta(milliseconds=40)
                file.write(f"{at.isoformat(timespec='milliseconds')} {line}")
            if file.tell() > size:
                return


def write_har(path: Path, size: int) -> None:
    entries: list[str] = []
    at = BEGAN
    for sent, answer, frames in talks():
        parts = [(MODEL, sent, answer, "text/event-stream")]
        if frames:
            asked, told = map(json.dumps, frames)
            parts.append((SERVER, asked, told, "application/json"))
        for part in parts:
            at += timedelta(milliseconds=500)
            entries.append(json.dumps(entry(at, *part)))
        if sum(map(len, entries[-2:])) * len(entries) / 2 > size and sum(map(len, entries)) > size:
            break
    path.write_text(f'{{"log":{{"version":"1.2","creator":{{"name":"Firefox"}},"entries":[{",".join(entries)}]}}}}')


def entry(at: datetime, url: str, sent: str, came: str, kind: str) -> JSON:
    return {
        "startedDateTime": at.isoformat(timespec="milliseconds"),
        "time": 400,
        "request": {
            "method": "POST",
            "url": url,
            "headers": [{"name": "Authorization", "value": "Bearer sk-12345678901234567890"}],
            "postData": {"text": sent},
        },
        "response": {
            "status": 200,
            "headers": [{"name": "Content-Type", "value": kind}],
            "content": {"mimeType": kind, "text": came, "size": len(came)},
        },
        "timings": {"send": 1, "wait": 100, "receive": 299},
    }


def parsed(path: Path) -> float:
    """The CPU of `json.loads` over all JSON in a file: the lines of a log; an archive, and then the lines of its bodies."""
    data = path.read_bytes()
    began = time.process_time()
    lines = data.split(b"\n")
    if path.suffix == ".har":
        entries = json.loads(data)["log"]["entries"]
        texts = (text for each in entries for text in (each["request"]["postData"], each["response"]["content"]))
        lines = [line.encode() for text in texts for line in text["text"].split("\n")]
    for line in lines:
        if (at := line.find(b"{")) >= 0:
            json.loads(line[at:])
    return time.process_time() - began


def imported(path: Path, folder: Path) -> tuple[float, float]:
    """Import a file; return the CPU, and the seconds to its first row on the disk."""
    store = Store.open(folder / f"{path.name}-{time.time_ns()}.db")
    began, began_cpu, ended = time.monotonic(), time.process_time(), threading.Event()
    first: list[float] = []

    def watch() -> None:
        while not first and not ended.wait(0.02):
            if store.read("SELECT 1 FROM captures"):
                first.append(time.monotonic() - began)

    watching = threading.Thread(target=watch)
    watching.start()
    try:
        import_files(store, [path], Redactor())
    finally:
        ended.set()
        watching.join()
        store.close()
    return time.process_time() - began_cpu, first[0] if first else time.monotonic() - began


def run(table: Table) -> None:
    table.heading("opening", "a log and an HTTP archive of others, against json.loads over all JSON in them; CPU")
    with tempfile.TemporaryDirectory() as name:
        for size in (2, 10) if table.is_quick else (10, 100):
            for suffix, write in (("log", write_log), ("har", write_har)):
                path = Path(name, f"{size}.{suffix}")
                write(path, size * MEBIBYTE)
                rounds = [(parsed(path), *imported(path, Path(name))) for _ in range(3)]
                bases, took, first = zip(*rounds, strict=True)
                table.ratio(f"{suffix}, {size} MiB: until all rows stand", took, bases, at_most(5))
                table.figure(f"{suffix}, {size} MiB: first row", max(first), "s", at_most(1))
