"""Recognises JSON of unknown origin by asking the dialects: a JSON-RPC frame, a request to a model, or an answer."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Literal, NamedTuple

from tui_host.capture.json.narrowing import mapping
from tui_host.errors import JSON
from tui_host.llm.body_kinds import AnswerPart, answer_part, are_objects, request_kinds
from tui_host.llm.dialects.table import dialect_at


class Body(NamedTuple):
    """A JSON value that was sent or received.

    Attributes:
        part: For an answer, what this value contributes to it; None for others.
    """

    kind: Literal["frame", "request", "answer"]
    dialect: str = ""
    part: AnswerPart | None = None


def body_of(value: JSON) -> Body | None:
    """Recognise a value as a frame, request or answer; None for anything else."""
    if is_frame(value):
        return Body("frame")
    if answer := answer_of(value):
        return answer
    dialect = request_dialect(value)
    return Body("request", dialect) if dialect else None


def answer_of(value: JSON) -> Body | None:
    """Recognise an answer, or one event of an answer; None for anything else."""
    if isinstance(value, list):  # Gemini streams an array without `alt=sse`
        first = answer_of(value[0]) if value and isinstance(value[0], Mapping) else None
        return first if first is not None and first.dialect == "gemini" else None
    found = answer_part(value) if isinstance(value, Mapping) else None
    return None if found is None else Body("answer", *found)


def part_of_answer(value: JSON, dialect: str) -> AnswerPart | None:
    """Recognise an answer in a dialect, or one event of an answer; None for anything else."""
    answer = answer_of(value) if isinstance(value, dict) else None
    return answer.part if answer is not None and answer.dialect == dialect else None


def is_frame(value: JSON) -> bool:
    """Whether a value is a JSON-RPC message or a batch."""
    return "jsonrpc" in mapping(value) or (isinstance(value, list) and bool(value) and "jsonrpc" in mapping(value[0]))


def is_bare_error(value: JSON) -> bool:
    """Whether a value is an error with only a text, as Ollama sends; other programs may write the same."""
    body = mapping(value)
    return len(body) == 1 and isinstance(body.get("error"), str)


def request_dialect(value: JSON) -> str:
    """The most likely dialect of a request's body; empty for any other value."""
    return next(iter(request_kinds(mapping(value))), "")


def request_dialects(value: JSON) -> frozenset[str]:
    """All possible dialects of a request's body."""
    return frozenset(request_kinds(mapping(value)))


def history_dialect(value: JSON) -> str:
    """The dialect of a bare list of messages; empty for any other value."""
    if not are_objects(value):
        return ""
    return request_dialect({"model": "", "messages": value}) if _all_have_content(value) else ""


def _all_have_content(value: JSON) -> bool:
    return isinstance(value, list) and all({"role", "content"} <= mapping(item).keys() for item in value)


def url_dialect(url: str) -> str:
    """The dialect of a URL; empty if it belongs to none."""
    dialect = dialect_at(url)
    return "" if dialect is None else dialect.name


def unknown_address(dialect: str) -> str:
    """The URL to show if none is known: only a scheme with the dialect's name."""
    return f"{dialect}:"


def answer_with(message: Mapping[str, JSON], dialect: str) -> JSON:
    """Make an answer that contains a message; None if the dialect needs more than a message."""
    content = message.get("content")
    match dialect:
        case "anthropic":
            blocks: JSON = [{"type": "text", "text": content}] if isinstance(content, str) else content
            return {"type": "message", "role": "assistant", "content": blocks}
        case "ollama":
            return {"message": message, "done": True}
        case "openai":
            return {"choices": [{"index": 0, "message": message}]}
        case "openai-responses" if isinstance(content, str):
            parts: JSON = [{"type": "output_text", "text": content}]
            return {"object": "response", "output": [{"type": "message", "role": "assistant", "content": parts}]}
        case "gemini" if isinstance(content, str):
            return {"candidates": [{"index": 0, "content": {"role": "model", "parts": [{"text": content}]}}]}
        case _:
            return None


def to_json(value: JSON) -> bytes:
    """Format a value as JSON, for a body whose bytes are not in the file."""
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass")
