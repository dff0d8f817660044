"""Objects that are a request with its answer among its members, as who writes one for each exchange puts the answer to what was asked."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

from tui_host.capture.json.narrowing import mapping
from tui_host.errors import JSON

DEPTH = 2
"""Levels of objects around an answer among the members of its request."""
_SAID = re.compile(r"resp|^res|repl|answ|^output|result|receiv|completion|chunk|stream|events|assistant", re.IGNORECASE)
_ASKED = frozenset(
    {"response_format", "response_schema", "response_modalities", "output_config", "output_format", "stream_options"}
)
"""Members of a request that sound as if they held an answer."""
_OF_A_RECORD = re.compile(
    r"ts|time|date|timestamp|(?:date_?time|created|logged|started|ended|finished|received|sent)(?:_?at)?|(?:start|end)_?time"
    r"|(?:duration|latency|elapsed|took|response_?time)\w*|status(?:_?code)?|level|error|id|\w+_id|\w+Id|_\w+",
    re.IGNORECASE,
)
"""Members that no request has, but one: what was asked before it."""
_OF_A_REQUEST = frozenset({"previous_response_id"})
_SAYS = re.compile(r"(?:assistant_?)?(?:response|reply|answer|completion|output|assistant)(?:_?text)?", re.IGNORECASE)
"""So is called what holds the answer's text alone."""


def names_of_answers(body: Mapping[str, JSON]) -> list[str]:
    """The members of a request in which an answer may stand."""
    return [
        name
        for name, item in body.items()
        if isinstance(item, str | Mapping | list) and item and _SAID.search(name) and name not in _ASKED | _OF_A_REQUEST
    ]


def request_alone(body: Mapping[str, JSON], answers: Collection[str]) -> Mapping[str, JSON]:
    """The request without its answers, and without what is told of both."""
    return {
        name: item
        for name, item in body.items()
        if name not in answers and (name in _OF_A_REQUEST or _OF_A_RECORD.fullmatch(name) is None)
    }


def answer_of(name: str, item: JSON, dialect: str) -> Mapping[str, JSON] | None:
    """The answer that has this as its message, where it is the model's or the text of one; None if it is none.

    Args:
        name: The member in which it stands.
        item: It.
        dialect: In which the request is written.
    """
    is_text = isinstance(item, str) and bool(item.strip()) and _SAYS.fullmatch(name) is not None
    if not is_text and mapping(item).get("role") != "assistant":
        return None
    message: Mapping[str, JSON] = {"role": "assistant", "content": item} if is_text else mapping(item)
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
