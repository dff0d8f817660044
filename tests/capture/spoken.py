"""Logs of a model's half, made of questions and of streams, and what is read of them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import chain, zip_longest
from typing import NamedTuple

from tests.capture.captured import NOW_NS, WIRES
from tui_host.capture.json.narrowing import items, mapping
from tui_host.errors import JSON
from tui_host.opening import File, read
from tui_host.opening.logs.tangle import WORDS

DONE = "data: [DONE]"


class Talk(NamedTuple):
    """An exchange as it was read.

    Attributes:
        question: What was asked; empty where that is not known.
        answer: All texts that were said.
        is_tangled: It is of several answers.
    """

    question: str
    answer: str
    is_tangled: bool = False


def asked(question: str) -> str:
    return json.dumps({"model": "m", "stream": True, "messages": [{"role": "user", "content": question}]})


def openai(
    text: str, *, name: str = "", roles: str = "first", usage: str = "", is_closed: bool = True, created: int = 1
) -> list[str]:
    """A stream that says each character by itself; `name` is its id."""

    def chunk(delta: JSON, reason: str | None = None, **beside: JSON) -> str:
        choice: JSON = {"index": 0, "delta": delta, "finish_reason": reason}
        named: dict[str, JSON] = {"id": name} if name else {}
        whole = {**named, "object": "chat.completion.chunk", "created": created, "choices": [choice], **beside}
        return f"data: {json.dumps(whole)}"

    role: dict[str, JSON] = {"role": "assistant"}
    firsts = {"first": 1, "twice": 2, "every": 1}.get(roles, 0)
    lines = [chunk({**role, "content": ""}) for _ in range(firsts)]
    lines += [chunk({**(role if roles == "every" else {}), "content": each}) for each in text]
    lines.append(chunk({}, "stop"))
    match usage:
        case "apart":
            lines.append(chunk({}, choices=[], usage={"completion_tokens": 1}))
        case "with the end again":
            lines.append(chunk({}, "stop", usage={"completion_tokens": 1}))
        case "with a role":
            lines.append(chunk({**role, "content": ""}, usage={"completion_tokens": 1}))
        case _:
            pass
    return [*lines, DONE] if is_closed else lines


def ollama(text: str, *, second: int | None = None, do_count: bool = False) -> list[str]:
    """Objects, each of a character; `second` is that in which the first of them was made."""

    def piece(said: str, number: int, **beside: JSON) -> str:
        made: dict[str, JSON] = {} if second is None else {"created_at": f"2026-11-20T14:00:{second:02}.{number:09}Z"}
        return json.dumps(
            {"model": "m", **made, "message": {"role": "assistant", "content": said}, "done": False, **beside}
        )

    counted: dict[str, JSON] = {"eval_count": len(text) + 1} if do_count else {}
    said = [piece(each, number) for number, each in enumerate(text)]
    return [*said, piece("", len(text), done=True, done_reason="stop", **counted)]


def in_turn(*streams: Sequence[str]) -> list[str]:
    """A line of each, and so on."""
    return [line for line in chain.from_iterable(zip_longest(*streams)) if line is not None]


def talks(lines: Sequence[str]) -> tuple[list[Talk], list[str]]:
    """What was asked and said in each exchange, and what a person is told."""
    reading = read([File(name="llm.log", data="\n".join(lines).encode(), time_ns=NOW_NS)], WIRES)
    found: dict[str, Talk] = {}
    for each in reading.seen:
        draft = each.draft
        talk = found.setdefault(draft.exchange or "", Talk("", ""))
        if draft.kind == "request" and draft.data:
            (message,) = items(mapping(json.loads(draft.data)).get("messages"))
            talk = talk._replace(question=str(mapping(message)["content"]))
        elif draft.kind == "response":
            talk = talk._replace(is_tangled=draft.malformed == WORDS)
        elif draft.kind == "chunk":
            talk = talk._replace(answer=talk.answer + "".join(map(_said, draft.data.decode().splitlines())))
        found[draft.exchange or ""] = talk
    return list(found.values()), reading.notes.told


def _said(line: str) -> str:
    text = line.removeprefix("data: ")
    if not text.startswith("{"):
        return ""
    body = mapping(json.loads(text))
    choices = [mapping(each) for each in items(body.get("choices"))] or [body]
    return "".join(str(mapping(each.get("delta") or each.get("message")).get("content", "")) for each in choices)
