"""Recognises a JSON body without its address: a request in some dialect, an answer, or one event of a streamed answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from tui_host.capture.json.narrowing import items, mapping, said, text_or_empty
from tui_host.errors import JSON

_BESIDE_MESSAGES = frozenset(
    (*("stream", "temperature", "max_tokens", "max_completion_tokens", "top_p"), "tools", "tool_choice")
)
_ANTHROPICS = frozenset({"system", "anthropic_version", "stop_sequences", "thinking", "top_k"})
_OLLAMAS = frozenset({"options", "keep_alive", "think", "format", "raw"})


class AnswerPart(NamedTuple):
    """What a JSON object is of an answer: the whole, or an event of its stream."""

    is_event: bool = False
    stream: str = ""  # the answer's id, which each event of some dialects repeats
    begins: bool = False  # the event with which every stream of this dialect begins
    ends: bool = False  # it holds the reason why the message ended
    is_empty: bool = False  # no content, only the end or the number of tokens


def request_kinds(body: Mapping[str, JSON]) -> Sequence[str]:
    """Return the dialects in which a body may be a request, the likeliest first; nothing for any other body."""
    if "jsonrpc" in body:
        return ()
    asked = body.get("input")
    if "model" in body and (isinstance(asked, str) or are_objects(asked)):
        return ("openai-responses",)
    are_messages = are_objects(body.get("messages")) and "choices" not in body
    messages = [mapping(message) for message in items(body["messages"])] if are_messages else []
    if "model" not in body:
        # Azure and Bedrock have the model in the address: another usual member stands in for it.
        has_roles = all({"role", "content"} <= message.keys() for message in messages)
        messages = messages if has_roles and body.keys() & _BESIDE_MESSAGES else []
    if messages:
        kinds = {said(mapping(block).get("type")) for message in messages for block in items(message.get("content"))}
        has_blocks = bool(kinds & {"tool_use", "tool_result", "thinking"})
        has_schemas = any("input_schema" in mapping(tool) for tool in items(body.get("tools")))
        if has_blocks or has_schemas or ("max_tokens" in body and body.keys() & _ANTHROPICS):
            return ("anthropic",)
    if are_objects(body.get("contents")):
        return ("gemini",)
    if not messages:
        return ()
    calls = (
        mapping(mapping(call).get("function")) for message in messages for call in items(message.get("tool_calls"))
    )
    if body.keys() & _OLLAMAS or any(isinstance(call.get("arguments"), Mapping) for call in calls):
        return ("ollama",)
    is_plain = "max_tokens" in body and not items(body.get("tools"))
    has_two_roles = {said(message.get("role")) for message in messages} <= {"user", "assistant"}
    return ("openai", "anthropic", "ollama") if is_plain and has_two_roles else ("openai", "ollama")


def are_objects(value: JSON) -> bool:
    """Tell whether a value is a non-empty list of objects."""
    return isinstance(value, list) and bool(value) and all(isinstance(item, (dict, Mapping)) for item in value)


def answer_part(body: Mapping[str, JSON]) -> tuple[str, AnswerPart] | None:
    """Recognise an answer, an event of a streamed answer, or an error: its dialect, and its part. None for other bodies."""
    kind, message = text_or_empty(body.get("type")), body.get("message")
    if "choices" in body and "messages" not in body:
        choice = _first(body["choices"])
        has_words = any(value for name, value in mapping(choice.get("delta")).items() if name != "role")
        return "openai", AnswerPart(
            is_event=body.get("object") == "chat.completion.chunk" or "delta" in choice or not choice,
            stream=text_or_empty(body.get("id")),
            ends=bool(choice.get("finish_reason")),
            is_empty=not has_words and "message" not in choice and not choice.get("text"),
        )
    if kind.startswith("response."):
        ends = kind in {"response.completed", "response.failed", "response.incomplete"}
        return "openai-responses", AnswerPart(
            is_event=True, begins=kind == "response.created", ends=ends, is_empty=ends
        )
    if body.get("object") == "response":
        return "openai-responses", AnswerPart(stream=text_or_empty(body.get("id")))
    if kind.startswith(("message_", "content_block_")):
        ends = kind == "message_stop"
        return "anthropic", AnswerPart(is_event=True, begins=kind == "message_start", ends=ends, is_empty=ends)
    if kind == "message" and body.get("role") == "assistant":
        return "anthropic", AnswerPart(stream=text_or_empty(body.get("id")))
    if "candidates" in body or "usageMetadata" in body:
        candidate, stream = _first(body.get("candidates")), text_or_empty(body.get("responseId"))
        is_empty = not mapping(candidate.get("content")).get("parts")
        return "gemini", AnswerPart(stream=stream, ends=bool(candidate.get("finishReason")), is_empty=is_empty)
    if "done" in body and isinstance(message, Mapping):
        is_empty = not any(message.get(name) for name in ("content", "thinking", "tool_calls"))
        return "ollama", AnswerPart(is_event=True, ends=body["done"] is True, is_empty=is_empty)
    return _error(body, kind)


def _first(values: JSON) -> Mapping[str, JSON]:
    return next((value for value in map(mapping, items(values)) if not value.get("index")), mapping(None))


def _error(body: Mapping[str, JSON], kind: str) -> tuple[str, AnswerPart] | None:
    error = mapping(body.get("error"))
    if not body.keys() <= {"type", "error", "request_id"} or not isinstance(error.get("message"), str):
        return None
    if kind == "error":
        return "anthropic", AnswerPart(ends=True)
    if "status" in error:
        return ("gemini", AnswerPart()) if "code" in error else None
    return ("openai", AnswerPart()) if error.keys() & {"type", "code", "param"} else None
