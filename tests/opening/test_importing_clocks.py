"""Two logs that were written on machines whose clocks differ: no call is given a frame that fits by chance."""

from __future__ import annotations

import json
import random
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from tests.opening.imports import written
from tui_host.capture.redact.redaction import Redactor
from tui_host.capture.store.store import Store
from tui_host.errors import JSON
from tui_host.opening.importing import import_files

CALLS = 8
TOOLS: JSON = [{"type": "function", "function": {"name": "get_status", "parameters": {"type": "object"}}}]


def stamped(seconds: float, arrow: str, value: JSON) -> str:
    at = datetime(2026, 11, 20, 10) + timedelta(seconds=seconds)  # noqa: DTZ001 - as logs have it
    return f"{at.isoformat(timespec='milliseconds')} {arrow} {json.dumps(value)}"


def logs(off: float, chance: random.Random, pause: float = 0.0, same: int = 2) -> tuple[str, str]:
    """What a proxy before the model and a wrapper of the server wrote of a host that asks again, and is told the same so many times."""
    model: list[str] = []
    server: list[str] = []
    messages: list[JSON] = [{"role": "user", "content": "watch the job until it is done"}]
    now = 0.0
    for number in range(CALLS):
        text = f"{number // same * 12} % done"
        call: JSON = {
            "id": f"call_{number}x{chance.randrange(10**9)}",
            "type": "function",
            "function": {"name": "get_status", "arguments": "{}"},
        }
        said: JSON = {"role": "assistant", "content": None, "tool_calls": [call]}
        model.append(stamped(now, "->", {"model": "gpt-x", "messages": messages, "tools": TOOLS}))
        now += pause + chance.uniform(0.8, 1.5)
        answer: JSON = {"choices": [{"index": 0, "finish_reason": "tool_calls", "message": said}]}
        model.append(stamped(now, "<-", answer))
        asked: JSON = {"method": "tools/call", "params": {"name": "get_status", "arguments": {}}}
        server.append(stamped(now + 0.01 + off, "->", {"jsonrpc": "2.0", "id": number, **asked}))
        now += chance.uniform(0.05, 0.2)
        brought: JSON = {"content": [{"type": "text", "text": text}]}
        server.append(stamped(now + off, "<-", {"jsonrpc": "2.0", "id": number, "result": brought}))
        now += 0.02
        messages = [*messages, said, {"role": "tool", "tool_call_id": call["id"], "content": text}]
    model.append(stamped(now, "->", {"model": "gpt-x", "messages": messages, "tools": TOOLS}))
    return "\n".join(model), "\n".join(server)


def joined(store: Store, folder: Path, texts: tuple[str, str]) -> list[tuple[int, int]]:
    """The calls of two logs, by their numbers, with the numbers of what was found to carry and to answer them."""
    paths = [written(folder, name, text) for name, text in zip(("model.log", "mcp.log"), texts, strict=True)]
    imported = import_files(store, paths, Redactor())
    numbers: dict[int, int] = {}
    exchanges: list[str | None] = []
    links: list[tuple[str, int]] = []
    for record, _ in store.session_records(imported.id):
        draft = record.draft
        if draft.kind == "frame":
            numbers[record.seq] = json.loads(draft.data)["id"]
        elif draft.kind == "request":
            exchanges.append(draft.exchange)
        elif draft.kind == "link":
            link = json.loads(draft.data)
            if link["relation"] in {"sent", "answered"}:
                links.append((link["call"], link["span"]["seq"]))
    return [(exchanges.index(call.rsplit(".", 2)[1]), numbers[seq]) for call, seq in links]


@pytest.mark.parametrize("off", [-2.5, -1.2, 0.0, 1.2, 2.5])
def test_no_call_of_a_log_is_given_a_frame_that_fits_a_clock_which_is_off(
    store: Store, tmp_path: Path, off: float
) -> None:
    for seed in range(4):
        found = joined(store, tmp_path, logs(off, random.Random(seed)))  # noqa: S311
        assert all(asked == sent for asked, sent in found), found
        assert off or len(found) == 2 * CALLS


@pytest.mark.parametrize(
    ("off", "words"),
    [
        (0.0, []),
        (3600.0, ["The servers' times are taken to be 3,600 s later than the model's, so that the calls fit, if it was one run."]),
        (-3625.0, ["The servers' times are taken to be 3,625 s earlier than the model's, so that the calls fit, if it was one run."]),
        (864_000.0, []),
    ],
)  # fmt: skip
def test_that_clocks_were_taken_to_differ_is_told_and_what_another_day_brought_is_not_joined(
    store: Store, tmp_path: Path, off: float, words: list[str]
) -> None:
    texts = logs(off, random.Random(1), 2.0, same=1)  # noqa: S311
    paths = [written(tmp_path, name, text) for name, text in zip(("model.log", "mcp.log"), texts, strict=True)]
    assert list(import_files(store, paths, Redactor()).notices) == words
    assert (len(joined(store, tmp_path, texts)) > 0) == (off < 864_000)
