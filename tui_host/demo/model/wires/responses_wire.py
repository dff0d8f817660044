"""Serves OpenAI's Responses. Source: OpenAI API reference, Responses and its streaming events."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import assert_never

from typing_extensions import override

from tui_host.demo.model.http_connection import Request
from tui_host.demo.model.json_values import object_at, objects_at, text_at, texts_at
from tui_host.demo.model.plan import CallBegun, CallEnded, Ended, Fragment, Piece, Said, Thought
from tui_host.demo.model.request_content import (
    AssistantSaid,
    Call,
    Conversation,
    Message,
    SystemSaid,
    Tool,
    ToolSaid,
    UserSaid,
)
from tui_host.demo.model.wires import wire
from tui_host.demo.model.wires.openai_wire import error_body
from tui_host.demo.model.wires.wire import SIGNATURE, ChatRequest, event
from tui_host.errors import JSON


def _read(request: Request) -> ChatRequest:
    body = wire.body_of(request)
    instructions, question, tools = text_at(body, "instructions"), text_at(body, "input"), objects_at(body, "tools")
    messages = (UserSaid(text=question),) if question else _messages(objects_at(body, "input"))
    reasoning = object_at(body, "reasoning")
    conversation = Conversation(
        messages=(*((SystemSaid(text=instructions),) if instructions else ()), *messages),
        tools=() if body.get("tool_choice") == "none" else tuple(_tools(tools)),
        parallel=body.get("parallel_tool_calls") is not False,
        thinking=wire.thinking_for(reasoning.get("effort") or reasoning.get("summary"), "none"),
    )
    return wire.chat_request(
        request,
        conversation,
        model=text_at(body, "model"),
        is_streamed=body.get("stream") is True,
        limits=(body, "max_output_tokens"),
        is_sealed="reasoning.encrypted_content" in texts_at(body, "include"),
        namespaces=[text_at(tool, "name") for tool in tools if "tools" in tool],
    )


def _tools(tools: list[dict[str, object]]) -> Iterator[Tool]:
    """Yield functions, also in namespaces, under joined names; the vendor's own tools have no name."""
    for tool in tools:
        if "tools" in tool:
            for member in _tools(objects_at(tool, "tools")):
                yield replace(member, name=f"{text_at(tool, 'name')}__{member.name}")
        else:
            yield from wire.tools_of([tool], "parameters")


def _messages(items: list[dict[str, object]]) -> Iterator[Message]:
    texts: list[str] = []
    calls: list[Call] = []
    for item in items:
        kind, role = item.get("type", "message"), item.get("role")
        if kind == "function_call":
            space, name = text_at(item, "namespace"), text_at(item, "name")
            name = f"{space}__{name}" if space else name
            calls.append(wire.call_of(text_at(item, "call_id"), name, item.get("arguments")))
            continue
        if kind == "reasoning":
            continue
        if calls or (texts and role != "assistant"):
            yield AssistantSaid(text="\n".join(texts), calls=tuple(calls))
            texts, calls = [], []
        text, images = wire.content_at(item, "output" if kind == "function_call_output" else "content")
        if kind == "function_call_output":
            yield ToolSaid(call_id=text_at(item, "call_id"), text=text, images=images)
        elif role == "assistant":
            texts.append(text)
        else:
            yield UserSaid(text=text, images=images) if role == "user" else SystemSaid(text=text)
    if calls or texts:
        yield AssistantSaid(text="\n".join(texts), calls=tuple(calls))


class ResponsesWriter(wire.ResponseWriter):
    """Writes an answer as events that add, fill and finish items of the output, or as a single `response`."""

    def __init__(self, chat: ChatRequest, identity: str, created: int) -> None:
        super().__init__(chat, identity, created)
        self._sequence = 0
        self._output: list[JSON] = []
        self._kind = ""
        self._texts: list[str] = []
        self._call = CallBegun(index=0, name="")

    @override
    def begin(self) -> bytes:
        response = self._response("in_progress", None)
        created = self._event("response.created", {"response": response})
        return created + self._event("response.in_progress", {"response": response})

    @override
    def piece(self, piece: Piece) -> bytes:
        match piece:
            case Thought(text=text):
                data = self._begin_item("reasoning") + self._event(
                    "response.reasoning_summary_text.delta", {**self._place(), "delta": text}
                )
                self._texts.append(text)
                return data
            case Said(text=text):
                data = self._begin_item("message") + self._event(
                    "response.output_text.delta", {**self._place(), "delta": text, "logprobs": []}
                )
                self._texts.append(text)
                return data
            case CallBegun():
                data = self._end_item("completed", is_last=False)
                self._call = piece
                return data + self._begin_item("function_call")
            case Fragment(text=text):
                self._texts.append(text)
                return self._event("response.function_call_arguments.delta", {**self._place(), "delta": text})
            case CallEnded():
                return b""
        assert_never(piece)

    @override
    def end(self, ended: Ended) -> bytes:
        status = "incomplete" if ended.stop == "length" else "completed"
        data = self._end_item(status)
        return data + self._event(f"response.{status}", {"response": self._response(status, ended)})

    @override
    def failure(self, message: str) -> bytes:
        return self._event("error", {"code": "server_error", "message": message, "param": None})

    @override
    def whole(self, pieces: Sequence[Piece], ended: Ended) -> JSON:
        for piece in pieces:
            self.piece(piece)
        self.end(ended)
        return self._response("incomplete" if ended.stop == "length" else "completed", ended)

    def _event(self, kind: str, values: dict[str, JSON]) -> bytes:
        data = event({"type": kind, "sequence_number": self._sequence, **values}, name=kind)
        self._sequence += 1
        return data

    def _place(self) -> dict[str, JSON]:
        """Return the indexes of the current item and of its only part."""
        part = {"message": "content_index", "reasoning": "summary_index"}.get(self._kind)
        place: dict[str, JSON] = {"item_id": self._item_id(), "output_index": len(self._output)}
        return {**place, part: 0} if part else place

    def _item_id(self) -> str:
        if self._kind == "function_call":
            return f"fc_{self.identity}{self._call.index:02d}"
        return f"{'rs' if self._kind == 'reasoning' else 'msg'}_{self.identity}"

    def _part(self, text: str) -> JSON:
        if self._kind == "reasoning":
            return {"type": "summary_text", "text": text}
        return {"type": "output_text", "text": text, "annotations": [], "logprobs": []}

    def _begin_item(self, kind: str) -> bytes:
        if kind == self._kind:
            return b""
        data = self._end_item("completed", is_last=False)
        self._kind, self._texts = kind, []
        item = self._item("in_progress")
        data += self._event("response.output_item.added", {"output_index": len(self._output), "item": item})
        match kind:
            case "message":
                return data + self._event("response.content_part.added", {**self._place(), "part": self._part("")})
            case "reasoning":
                added = {**self._place(), "part": self._part("")}
                return data + self._event("response.reasoning_summary_part.added", added)
            case _:
                return data

    def _end_item(self, status: str, *, is_last: bool = True) -> bytes:
        if not self._kind:
            return b""
        text, place = "".join(self._texts), self._place()
        done = {**place, "part": self._part(text)}
        match self._kind:
            case "message":
                data = self._event("response.output_text.done", {**place, "text": text, "logprobs": []})
                data += self._event("response.content_part.done", done)
            case "reasoning":
                data = self._event("response.reasoning_summary_text.done", {**place, "text": text})
                data += self._event("response.reasoning_summary_part.done", done)
            case _:
                values = {**place, "name": self._called()["name"], "arguments": text}
                data = self._event("response.function_call_arguments.done", values)
        item = self._item(status, is_last=is_last)
        data += self._event("response.output_item.done", {"output_index": len(self._output), "item": item})
        self._output.append(item)
        self._kind = ""
        return data

    def _item(self, status: str, *, is_last: bool = True) -> dict[str, JSON]:
        text = "".join(self._texts)
        is_begun = status == "in_progress"
        parts: list[JSON] = [] if is_begun else [self._part(text)]
        item: dict[str, JSON] = {"id": self._item_id(), "type": self._kind}
        match self._kind:
            case "reasoning":
                has_seal = self.chat.options["is_sealed"] and not is_begun
                return {**item, "summary": parts, **({"encrypted_content": SIGNATURE} if has_seal else {})}
            case "message":
                phase = "final_answer" if is_last else "commentary"
                return {**item, "status": status, "role": "assistant", "content": parts, "phase": phase}
            case _:
                call_id = f"call_{self.identity}{self._call.index:02d}"
                return {**item, "status": status, "call_id": call_id, **self._called(), "arguments": text}

    def _called(self) -> dict[str, JSON]:
        """Return the name of the current call, and the tool's namespace if it has one."""
        spaces = self.chat.options["namespaces"]
        for space in spaces if isinstance(spaces, list) else ():
            if self._call.name.startswith(f"{space}__"):
                return {"name": self._call.name.removeprefix(f"{space}__"), "namespace": space}
        return {"name": self._call.name}

    def _response(self, status: str, ended: Ended | None) -> JSON:
        is_cut = ended is not None and ended.stop == "length"
        return {
            "id": f"resp_{self.identity}",
            "object": "response",
            "created_at": self.created,
            "status": status,
            "background": False,
            "error": None,
            "incomplete_details": {"reason": "max_output_tokens"} if is_cut else None,
            "instructions": None,
            "metadata": {},
            "model": self.chat.model,
            "output": list(self._output),
            "parallel_tool_calls": self.chat.conversation.parallel,
            "store": False,
            "temperature": 1.0,
            "tool_choice": "auto",
            "tools": [],
            "top_p": 1.0,
            "usage": self._usage(ended) if ended else None,
        }

    def _usage(self, ended: Ended) -> JSON:
        return {
            "input_tokens": self.chat.prompt_tokens,
            "input_tokens_details": {"cached_tokens": self.chat.cached_tokens, "cache_write_tokens": 0},
            "output_tokens": ended.tokens,
            "output_tokens_details": {"reasoning_tokens": ended.thinking_tokens},
            "total_tokens": self.chat.prompt_tokens + ended.tokens,
        }


RESPONSES = wire.Wire(
    model="openai-responses", read=_read, error=error_body, writer=ResponsesWriter, request_id_header="x-request-id"
)
"""The API of `POST /v1/responses`."""
