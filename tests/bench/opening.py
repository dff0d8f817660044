"""Files of others opened: the CPU until all rows stand and until the links stand, against `json.loads` over the JSON in it, and the first row."""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TypeAlias

from tests.bench.measure import Table, at_most
from tests.kit.bodies import DIALECTS, Answer, Call, Entry, Results, Tool, User
from tui_host.capture.record import Record
from tui_host.capture.redact.redaction import Redactor
from tui_host.capture.store.store import Store
from tui_host.errors import JSON
from tui_host.opening import importing
from tui_host.opening.session_intake import SessionIntake

CHAT = DIALECTS["openai"]
MEBIBYTE = 1 << 20
TOOLS = [Tool(name, "Do the thing. " * 10) for name in ("multiply", "add", "sub", "div")]
MODEL, SERVER = "https://api.deepseek.com/v1/chat/completions", "https://mcp.example.com/mcp"
Talk: TypeAlias = tuple[str, str, tuple[JSON, JSON] | None]


def talks() -> Iterator[Talk]:
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
        asked: JSON = {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}
        told: JSON = {"jsonrpc": "2.0", "id": number, "result": {"content": [{"type": "text", "text": text}]}}
        yield request(entries), stream(asks), (asked, told)
        entries += [asks, Results([(call, text)])]
        yield request(entries), stream(Answer("The answer is quite clear now " * 6)), None


def request(entries: Sequence[Entry]) -> str:
    return CHAT.request(entries, system="You are a helpful assistant. " * 40, tools=TOOLS).decode()


def stream(answer: Answer) -> str:
    return b"".join(CHAT.events(answer, 6)).decode()


def write_log(path: Path, size: int) -> None:
    at = datetime(2026, 11, 22, 10, tzinfo=UTC)
    with path.open("w") as file:
        for sent, answer, frames in talks():
            lines = [f"POST {MODEL}\n{sent}\n{answer}"]
            if frames:
                lines += [
                    f"client -> server: {json.dumps(frames[0])}\n",
                    f"server -> client: {json.dumps(frames[1])}\n",
                ]
            for line in lines:
                at += timedelta(milliseconds=40)
                file.write(f"{at.isoformat(timespec='milliseconds')} {line}")
            if file.tell() > size:
                return


def write_har(path: Path, size: int) -> None:
    at = datetime(2026, 11, 22, 10, tzinfo=UTC)
    with path.open("w") as file:
        file.write('{"log":{"version":"1.2","creator":{"name":"Firefox"},"entries":[')
        comma = ""
        for sent, answer, frames in talks():
            entries = [(MODEL, sent, answer, "text/event-stream")]
            if frames:
                entries.append((SERVER, json.dumps(frames[0]), json.dumps(frames[1]), "application/json"))
            for each in entries:
                at += timedelta(milliseconds=500)
                file.write(comma + json.dumps(entry(at, *each)))
                comma = ","
            if file.tell() > size:
                break
        file.write("]}}")


def entry(at: datetime, url: str, sent: str, came: str, kind: str) -> JSON:
    credential: JSON = {"name": "Authorization", "value": "Bearer sk-12345678901234567890"}
    return {
        "startedDateTime": at.isoformat(timespec="milliseconds"),
        "time": 400,
        "request": {"method": "POST", "url": url, "headers": [credential], "postData": {"text": sent}},
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


class Opened:
    """One import: the CPU until its rows stand and until it ends, the seconds to its first row."""

    def __init__(self, path: Path, folder: Path) -> None:
        self.rows = self.all = self.first = 0.0
        store = Store.open(folder / f"{path.name}.db")
        began, began_cpu = time.monotonic(), time.process_time()
        keep_story = importing.keep_story

        def rows_stand(intake: SessionIntake, records: Sequence[Record], *, is_whole: bool) -> None:
            self.rows = time.process_time() - began_cpu
            keep_story(intake, records, is_whole=is_whole)

        importing.keep_story = rows_stand
        try:
            importing.import_files(
                store, [path], Redactor(), begun=lambda _: setattr(self, "first", time.monotonic() - began)
            )
        finally:
            importing.keep_story = keep_story
            store.close()
        self.all = time.process_time() - began_cpu


def run(table: Table) -> None:
    sizes = (2, 10) if table.is_quick else (10, 100)
    table.heading("opening", "a log and an HTTP archive of others, against json.loads over all JSON in them; CPU")
    with tempfile.TemporaryDirectory() as name:
        for size in sizes:
            for suffix, write in (("log", write_log), ("har", write_har)):
                path = Path(name, f"{size}.{suffix}")
                write(path, size * MEBIBYTE)
                base, opened = parsed(path), Opened(path, Path(name))
                table.ratio(f"{suffix}, {size} MiB: until all rows stand", [opened.rows], [base], at_most(5))
                table.ratio(f"{suffix}, {size} MiB: until the links stand", [opened.all], [base], at_most(15))
                table.figure(f"{suffix}, {size} MiB: first row", opened.first, "s", at_most(1))
