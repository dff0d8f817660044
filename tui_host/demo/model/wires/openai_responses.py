"""Serves OpenAI's Responses. Source: OpenAI API reference, Responses and its streaming events."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from typing_extensions import override

from tui_host.demo.model.conversation import DemoCall, DemoConversation, DemoMessage
from tui_host.demo.model.json_values import object_at, objects_at, text_at, texts_at
from tui_host.demo.model.plan import Stop
from tui_host.demo.model.wires import wire
from tui_host.demo.model.wires.openai import OpenAIWire
from tui_host.demo.model.wires.wire import SIGNATURE, ChatRequest, ModelAnswer
from tui_host.errors import JSON

_INSIDE = ".__"  # between a namespace, in which Codex offers a server's tools, and a name; no name has a dot
_STATUS: dict[Stop, str] = {"end": "completed", "calls": "completed", "length": "incomplete"}


class ResponsesWire(OpenAIWire):
    """`POST /v1/responses`: events that add, fill and finish items of the output, or a single `response`."""

    model = "openai-responses"

    @override
    def read(self, path: str, body: bytes) -> ChatRequest:
        values = wire.object_of(body)
        reasoning = object_at(values, "reasoning")
        told = DemoMessage(role="system", text=text_at(values, "instructions"))
        asked = DemoMessage(role="user", text=text_at(values, "input"))  # or items
        messages = [*(message for message in (told, asked) if message.text), *_messages(objects_at(values, "input"))]
        tools: list[str] = []
        for tool in objects_at(values, "tools") if values.get("tool_choice") != "none" else ():
            space = text_at(tool, "name") + _INSIDE if "tools" in tool else ""
            tools += [space + name for name in wire.tools_of(objects_at(tool, "tools") if space else [tool])]
        conversation = DemoConversation(
            messages=tuple(messages),
            tools=tuple(tools),
            parallel=values.get("parallel_tool_calls") is not False,
            thinking=wire.thinking_for(reasoning.get("effort") or reasoning.get("summary"), "none"),
        )
        return ChatRequest(
            conversation=conversation,
            model=text_at(values, "model"),
            is_streamed=values.get("stream") is True,
            most_tokens=values.get("max_output_tokens"),
            is_detailed="reasoning.encrypted_content" in texts_at(values, "include"),
        )

    @override
    def stream(self, answer: ModelAnswer) -> Iterator[bytes]:
        numbers = itertools.count()

        def named(event_type: str, **values: JSON) -> bytes:
            return self.framed({"type": f"response.{event_type}", "sequence_number": next(numbers), **values})

        yield named("created", response=_response(answer, "in_progress", []))
        items = _items(answer)
        for index, (item, pieces) in enumerate(items):
            place: dict[str, JSON] = {"item_id": item["id"], "output_index": index}
            begun: dict[str, JSON] = {
                **item,
                "status": "in_progress",
            }  # as it is announced, without what will be streamed
            if item["type"] == "function_call":
                yield named("output_item.added", output_index=index, item={**begun, "arguments": ""})
                for piece in pieces:
                    yield named("function_call_arguments.delta", **place, delta=piece)
                yield named("function_call_arguments.done", **place, name=item["name"], arguments=item["arguments"])
            else:
                kind, part = ("output_text", "content_part")
                place["content_index"], begun["content"] = 0, []
                if item["type"] == "reasoning":
                    kind, part = ("reasoning_summary_text", "reasoning_summary_part")
                    place["summary_index"] = place.pop("content_index")
                    begun = {"id": item["id"], "type": "reasoning", "summary": []}
                yield named("output_item.added", output_index=index, item=begun)
                yield named(f"{part}.added", **place, part=_part(item, ""))
                for piece in pieces:
                    yield named(f"{kind}.delta", **place, delta=piece)
                yield named(f"{kind}.done", **place, text="".join(pieces))
                yield named(f"{part}.done", **place, part=_part(item, "".join(pieces)))
            yield named("output_item.done", output_index=index, item=item)
        status = _STATUS[answer.pieces.stop]
        yield named(status, response=_response(answer, status, [item for item, _ in items]))

    @override
    def whole(self, answer: ModelAnswer) -> JSON:
        return _response(answer, _STATUS[answer.pieces.stop], [item for item, _ in _items(answer)])

    @override
    def failure(self, message: str) -> bytes:
        error: dict[str, JSON] = {"type": "error", "code": "server_error", "message": message, "param": None}
        return self.framed({**error, "sequence_number": 0})


def _messages(items: list[dict[str, object]]) -> Iterator[DemoMessage]:
    """Read the items; what the model said before the next result or question is one message."""
    texts: list[str] = []
    calls: list[DemoCall] = []
    for item in [*items, {}]:  # the empty one ends what the model said last
        kind, role = item.get("type", "message"), item.get("role")
        text, images = wire.content_at(item, "output" if kind == "function_call_output" else "content")
        if kind == "function_call":
            name = _INSIDE.join(filter(None, (text_at(item, "namespace"), text_at(item, "name"))))
            calls.append(wire.call_of(text_at(item, "call_id"), name, item.get("arguments")))
            continue
        if role == "assistant":
            texts.append(text)
            continue
        if kind == "reasoning":
            continue
        if calls or texts:
            yield DemoMessage(role="assistant", text="\n".join(texts), calls=tuple(calls))
            texts, calls = [], []
        if kind == "function_call_output":
            yield DemoMessage(role="tool", call_id=text_at(item, "call_id"), text=text, images=images)
        elif item:
            yield DemoMessage(role="user" if role == "user" else "system", text=text, images=images)


def _items(answer: ModelAnswer) -> list[tuple[dict[str, JSON], tuple[str, ...]]]:
    """Return the finished items of the output, each with the pieces in which its text is streamed."""
    pieces, identity = answer.pieces, answer.identity
    items: list[tuple[dict[str, JSON], tuple[str, ...]]] = []
    if pieces.thinking:
        item: dict[str, JSON] = {"id": f"rs_{identity}", "type": "reasoning"}
        item["summary"] = [_part(item, "".join(pieces.thinking))]
        if answer.chat.is_detailed:
            item["encrypted_content"] = SIGNATURE
        items.append((item, pieces.thinking))
    if pieces.text:
        item = {"id": f"msg_{identity}", "type": "message", "status": "completed", "role": "assistant"}
        items.append(({**item, "content": [_part(item, "".join(pieces.text))]}, pieces.text))
    for index, call in enumerate(pieces.calls):
        item = {"id": f"fc_{identity}{index:02d}", "type": "function_call", "status": "completed"}
        space, _, name = call.name.rpartition(_INSIDE)
        item |= {"call_id": f"call_{identity}{index:02d}", "name": name, "arguments": call.arguments}
        item |= {"namespace": space} if space else {}
        items.append((item, call.fragments))
    return items


def _part(item: dict[str, JSON], text: str) -> JSON:
    if item["type"] == "reasoning":
        return {"type": "summary_text", "text": text}
    return {"type": "output_text", "text": text, "annotations": []}


def _response(answer: ModelAnswer, status: str, output: list[dict[str, JSON]]) -> JSON:
    usage: JSON = {
        "input_tokens": answer.prompt_tokens,
        "output_tokens": answer.pieces.tokens,
        "output_tokens_details": {"reasoning_tokens": len(answer.pieces.thinking)},
        "total_tokens": answer.prompt_tokens + answer.pieces.tokens,
    }
    return {
        "id": f"resp_{answer.identity}",
        "object": "response",
        "created_at": answer.created,
        "status": status,
        "error": None,
        "incomplete_details": {"reason": "max_output_tokens"} if status == "incomplete" else None,
        "model": answer.chat.model,
        "output": list(output),
        "parallel_tool_calls": answer.chat.conversation.parallel,
        "tool_choice": "auto",
        "tools": [],
        "usage": None if status == "in_progress" else usage,
    }


RESPONSES = ResponsesWire()
