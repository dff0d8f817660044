"""What can be told of a body or an address alone: which dialect of a model's API it is, and where it is sent.

The dialects themselves stand above; they lend their names and paths. Source: llm-dialects.md, the forms of request and answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple

from tui_host.capture.json.narrowing import items, mapping, said
from tui_host.errors import JSON
from tui_host.settings.urls import parts_of

_OF_ANTHROPIC = frozenset({"system", "anthropic_version", "stop_sequences", "thinking", "top_k"})
BESIDE_MESSAGES = frozenset(
    {
        "stream",
        "temperature",
        "max_tokens",
        "max_completion_tokens",
        "top_p",
        "tools",
        "tool_choice",
        "anthropic_version",
    }
)
_OF_OLLAMA = frozenset({"options", "keep_alive", "think", "format", "raw"})


@dataclass(frozen=True, slots=True)
class Wires:
    """The dialects that are known.

    Attributes:
        paths: By the dialect's name, how its paths end.
    """

    paths: Mapping[str, tuple[str, ...]]

    def dialect_at(self, url: str) -> str:
        """The dialect spoken at an address; empty if none is."""
        path = parts_of(url).path.rstrip("/")
        return next((name for name, ends in self.paths.items() if path.endswith(ends)), "")


def is_frame(value: JSON) -> bool:
    """Whether it is a JSON-RPC message, or a batch of them."""
    return "jsonrpc" in mapping(value) or (isinstance(value, list) and bool(value) and "jsonrpc" in mapping(value[0]))


class Known(NamedTuple):
    """What was on one of the wires itself.

    Attributes:
        kind: A frame, a request to a model or an answer.
        dialect: Of these two.
        is_message: Of an answer its message is known, and nothing else.
        is_cut: Its end is not there.
    """

    kind: Literal["frame", "request", "answer"]
    dialect: str = ""
    is_message: bool = False
    is_cut: bool = False


def known(value: JSON) -> Known | None:
    """What a value is that was on a wire itself; None if it is nothing of that."""
    if is_frame(value):
        return Known("frame")
    if dialect := dialect_of_answer(value):
        return Known("answer", dialect)
    dialect = dialect_of_request(value)
    return Known("request", dialect) if dialect else None


def is_piece(value: JSON) -> bool:
    """Whether an answer is one piece of a stream, by what such a piece says of itself."""
    body = mapping(value)
    kind = body.get("type")
    is_event = isinstance(kind, str) and kind.startswith(("response.", "message_", "content_block_"))
    return body.get("object") == "chat.completion.chunk" or is_event


def dialect_of_request(value: JSON) -> str:
    """The dialect of a request's body; empty if it is none."""
    body = mapping(value)
    if "jsonrpc" in body or "choices" in body:
        return ""
    if _are_objects(body.get("contents")):
        return "gemini"
    if "model" not in body and not (body.keys() & BESIDE_MESSAGES and dialect_of_history(body.get("messages"))):
        return ""  # some APIs have the model in the address: Azure, Bedrock
    if _are_objects(body.get("messages")):
        return dialect_of_messages(body)
    return "openai-responses" if isinstance(body.get("input"), str) or _are_objects(body.get("input")) else ""


def dialects_of_request(value: JSON, dialect: str) -> frozenset[str]:
    """All dialects in which a request's body may be written that is taken for one of a dialect."""
    body = mapping(value)
    if dialect != "openai":
        return frozenset({dialect})
    roles = {said(mapping(message).get("role")) for message in items(body.get("messages"))}
    is_plain = roles <= {"user", "assistant"} and "max_tokens" in body and "tools" not in body
    return frozenset({"openai", "ollama", *(("anthropic",) if is_plain else ())})


def dialect_of_history(value: JSON) -> str:
    """The dialect of a list of messages, which a request would tell; empty if it is none."""
    if not isinstance(value, list) or not _are_objects(value):
        return ""
    are_messages = all({"role", "content"} <= mapping(each).keys() for each in value)
    return dialect_of_messages({"messages": value}) if are_messages else ""


def dialect_of_answer(value: JSON) -> str:
    """The dialect of an answer, whole or one piece of its stream; empty if it is none."""
    if isinstance(value, list) and value:
        return dialect_of_answer(value[0]) if "candidates" in mapping(value[0]) else ""
    body = mapping(value)
    kind = body.get("type")
    if "choices" in body and "messages" not in body:
        return "openai"
    if "candidates" in body or "usageMetadata" in body:
        return "gemini"
    if body.get("object") == "response" or (isinstance(kind, str) and kind.startswith("response.")):
        return "openai-responses"
    if kind == "message" and body.get("role") == "assistant":
        return "anthropic"
    if isinstance(kind, str) and kind.startswith(("message_", "content_block_")):
        return "anthropic"
    if "done" in body and isinstance(body.get("message"), Mapping):
        return "ollama"
    return _dialect_of_error(body, body.get("error"))


def _dialect_of_error(body: Mapping[str, JSON], error: JSON) -> str:
    """The dialect of an error body; empty if it is none, or may be anything's."""
    told = mapping(error)
    if not body.keys() <= {"type", "error", "request_id"} or not isinstance(told.get("message"), str):
        return ""
    if body.get("type") == "error":
        return "anthropic"
    return (
        "gemini" if {"code", "status"} <= told.keys() else "openai" if told.keys() & {"type", "code", "param"} else ""
    )


def is_bare_error(value: JSON) -> bool:
    """Whether it is an error in a word, as Ollama answers with one: between other things it may be anything's."""
    body = mapping(value)
    return set(body) == {"error"} and isinstance(body["error"], str)


def dialect_of_messages(body: Mapping[str, JSON]) -> str:
    """The dialect of a request whose messages are there, whatever else is."""
    tools = [mapping(tool) for tool in items(body.get("tools"))]
    pieces = [mapping(piece) for message in items(body["messages"]) for piece in items(mapping(message).get("content"))]
    kinds = {said(piece.get("type")) for piece in pieces}
    if any("input_schema" in tool for tool in tools) or kinds & {"tool_use", "tool_result", "thinking"}:
        return "anthropic"
    if body.keys() & _OF_ANTHROPIC and "max_tokens" in body:
        return "anthropic"
    calls = [
        mapping(mapping(call).get("function"))
        for message in items(body["messages"])
        for call in items(mapping(message).get("tool_calls"))
    ]
    if body.keys() & _OF_OLLAMA or any(isinstance(call.get("arguments"), Mapping) for call in calls):
        return "ollama"
    return "openai"


def _are_objects(value: JSON) -> bool:
    found = items(value)
    return bool(found) and all(isinstance(each, Mapping) for each in found)
