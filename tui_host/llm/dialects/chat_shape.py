"""What Chat Completions and Ollama share: messages with roles, calls beside the text, each result a message of its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from tui_host.errors import JSON
from tui_host.llm.messages import Ask, Image, Message, ToolCall, ToolResult, ToolSpec
from tui_host.llm.request_writing import CallIds, result_texts, results_in, text_of
from tui_host.llm.schema_adaptation import SchemaRules, adapt


class ChatForm(Protocol):
    """How one dialect writes what the two do not share."""

    ids: CallIds

    def content(self, parts: Sequence[object]) -> dict[str, JSON]:
        """Return the members with a user's words and images."""
        ...

    def answer(self, message: Message, text: str, calls: Sequence[ToolCall]) -> dict[str, JSON]:
        """Return the message with an answer, without its calls."""
        ...

    def call(self, call: ToolCall) -> JSON:
        """Write a call."""
        ...

    def result(self, result: ToolResult, text: str) -> JSON:
        """Write the message with a result."""
        ...


def written_messages(ask: Ask, form: ChatForm, *, shows_images: bool = True) -> list[JSON]:
    """Write the conversation, oldest message first. Without `shows_images` no images may follow results."""
    written: list[JSON] = []
    for message in ask.messages:
        match message.role:
            case "system":
                written.append({"role": "system", "content": text_of(message.parts)})
            case "user":
                written.append({"role": "user", **form.content(message.parts)})
            case "assistant":
                text, calls = text_of(message.parts), [part for part in message.parts if isinstance(part, ToolCall)]
                if text or calls:  # an empty answer would be refused; it is only stored
                    form.ids.begin_message()
                    asked = {"tool_calls": [form.call(call) for call in calls]} if calls else {}
                    written.append({**form.answer(message, text, calls), **asked})
            case "tool":
                texts, images = result_texts(results_in(message), shows_images=shows_images)
                written += [form.result(result, text) for result, text in texts]
                if images:  # no message may stand between the results of one step, and they hold only text
                    written.append({"role": "user", **form.content(images)})
    return written


def image_data(parts: Sequence[object]) -> list[Image]:
    """Return the images among some parts."""
    return [part for part in parts if isinstance(part, Image)]


def function_tool(tool: ToolSpec, rules: SchemaRules) -> JSON:
    """Write a tool as a function."""
    described: dict[str, JSON] = {"description": tool.description} if tool.description else {}
    function: JSON = {"name": tool.name, **described, "parameters": adapt(tool.schema, rules).schema}
    return {"type": "function", "function": function}
