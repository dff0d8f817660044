"""Messages as the store keeps them: JSON, read tolerantly."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict

from tui_host.errors import JSON
from tui_host.llm.messages import Image, Message, Part, Text, Thinking, ToolCall, ToolResult

PARTS: Mapping[str, type[Text | Thinking | Image | ToolCall]] = {
    "text": Text,
    "thinking": Thinking,
    "image": Image,
    "call": ToolCall,
}
NAMES = {kind: name for name, kind in PARTS.items()}
ROLES = {"system", "user", "assistant", "tool"}


def _part_to_json(part: Part) -> dict[str, JSON]:
    if isinstance(part, ToolResult):
        return {
            "part": "result",
            "call": asdict(part.call),
            "content": [_part_to_json(block) for block in part.content],
            "is_error": part.is_error,
        }
    return {"part": NAMES[type(part)], **asdict(part)}


def message_to_text(message: Message) -> str:
    """The message as one line of JSON."""
    value: JSON = {
        "role": message.role,
        "parts": [_part_to_json(part) for part in message.parts],
        "stop": message.stop,
        "turn": message.turn,
        "source": message.source,
    }
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _part_from_json(value: JSON) -> Part | None:
    if not isinstance(value, Mapping):
        return None
    name = value.get("part")
    if name == "result":
        call, content = value.get("call"), value.get("content")
        if not isinstance(call, Mapping) or not isinstance(content, list):
            return None
        blocks = tuple(block for block in map(_part_from_json, content) if isinstance(block, Text | Image))
        return ToolResult(call=_tool_call(call), content=blocks, is_error=bool(value.get("is_error")))
    if name == "call":
        return _tool_call(value)
    if name == "text":
        return Text(text=str(value.get("text", "")))
    if name == "image":
        return Image(media_type=str(value.get("media_type", "")), data=str(value.get("data", "")))
    if name == "thinking":
        return Thinking(
            text=str(value.get("text", "")),
            provider=str(value.get("provider", "")),
            model=str(value.get("model", "")),
            echo=value.get("echo"),
        )
    return None


def _tool_call(value: Mapping[str, JSON]) -> ToolCall:
    names = ("id", "wire_id", "name", "arguments")
    found = {name: str(value.get(name, "")) for name in names}
    return ToolCall(id=found["id"], wire_id=found["wire_id"], name=found["name"], arguments=found["arguments"])


def message_from_text(text: str) -> Message | None:
    """The message that `message_to_text` wrote; None if it is of a form that this version does not know."""
    try:
        value: JSON = json.loads(text)
    except ValueError:
        return None
    if not isinstance(value, Mapping):
        return None
    role, parts, stop, turn = value.get("role"), value.get("parts"), value.get("stop"), value.get("turn")
    if role not in ROLES or not isinstance(parts, list):
        return None
    return Message(
        role=role,  # pyright: ignore[reportArgumentType] - one of ROLES
        parts=tuple(part for part in map(_part_from_json, parts) if part is not None),
        stop=stop if isinstance(stop, str) else None,  # pyright: ignore[reportArgumentType] - our own word, shown only
        turn=turn if isinstance(turn, int) else 0,
        source="host" if value.get("source") == "host" else "",
    )
