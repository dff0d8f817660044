"""Serves Responses. Source: OpenAI API reference, Responses and its streaming events."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import assert_never

from tui_host.demo.model.http_connection import Request
from tui_host.demo.model.json_values import limit_at, object_at, objects_at, text_at, texts_at
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
from tui_host.demo.model.wires.openai_wire import OpenAIWire, thinking_for
from tui_host.demo.model.wires.wire import (
    Asked,
    RequestRefused,
    body_of,
    check_seal,
    event,
    json_line,
    picture_at,
    seal,
    token_counts,
    tool_of,
)
from tui_host.errors import JSON

_SEALED = "reasoning"
_REPEATED = ("instructions", "max_output_tokens", "parallel_tool_calls", "tool_choice", "store", "truncation")


class ResponsesWire:
    """Reads requests for `POST /v1/responses` and writes their responses."""

    model = "openai-responses"
    request_id_header = "x-request-id"

    def read(self, request: Request) -> Asked:
        """Read a request."""
        body = body_of(request)
        instructions, question = text_at(body, "instructions"), text_at(body, "input")
        messages = (
            *((SystemSaid(text=instructions),) if instructions else ()),
            *((UserSaid(text=question),) if question else _messages(objects_at(body, "input"))),
        )
        tokens, cached = token_counts(request.body, messages)
        reasoning = object_at(body, "reasoning")
        thinking, summary = thinking_for(reasoning.get("effort")), reasoning.get("summary")
        options: dict[str, JSON] = {"sealed": "reasoning.encrypted_content" in texts_at(body, "include")}
        options["namespaces"] = [text_at(tool, "name") for tool in objects_at(body, "tools") if "tools" in tool]
        for name in _REPEATED:
            value = body.get(name)
            if isinstance(value, str | int):
                options[name] = value
        return Asked(
            conversation=Conversation(
                messages=messages,
                tools=() if body.get("tool_choice") == "none" else tuple(_tools(objects_at(body, "tools"))),
                parallel=body.get("parallel_tool_calls") is not False,
                thinking="always" if thinking == "asked" and summary else thinking,
            ),
            model=text_at(body, "model"),
            is_streamed=body.get("stream") is True,
            most_tokens=limit_at(body, "max_output_tokens"),
            prompt_tokens=tokens,
            cached_tokens=cached,
            shows_thinking=bool(summary) or reasoning.get("effort") is None,
            options=options,
        )

    def refusal(self, refused: RequestRefused, *, identity: str = "", request: Request | None = None) -> bytes:
        """Write an error as Chat Completions does."""
        return OpenAIWire().refusal(refused, identity=identity, request=request)

    def writer(self, asked: Asked, *, identity: str, created: int) -> ResponsesWriter:
        """Make a writer for an answer."""
        return ResponsesWriter(asked=asked, identity=identity, created=created)


def _tools(tools: list[dict[str, object]]) -> Iterator[Tool]:
    """Yield functions, also in namespaces, under joined names; the vendor's own tools have no name."""
    for tool in tools:
        name = text_at(tool, "name")
        if "tools" in tool:
            for inner in _tools(objects_at(tool, "tools")):
                yield replace(inner, name=f"{name}__{inner.name}")
        elif name:
            yield tool_of(name, text_at(tool, "description"), tool.get("parameters"))


def _messages(items: list[dict[str, object]]) -> Iterator[Message]:
    texts: list[str] = []
    calls: list[Call] = []
    for item in items:
        kind, role = item.get("type", "message"), item.get("role")
        if kind == "function_call":
            space, name = text_at(item, "namespace"), text_at(item, "name")
            joined = f"{space}__{name}" if space else name
            calls.append(Call(id=text_at(item, "call_id"), name=joined, arguments=text_at(item, "arguments")))
            continue
        if kind == "reasoning":
            check_seal(item.get("encrypted_content"), _SEALED, text_at(item, "id"))
            continue
        if calls or (texts and role != "assistant"):
            yield AssistantSaid(text="\n".join(texts), calls=tuple(calls))
            texts, calls = [], []
        if kind == "function_call_output":
            text, images = _content(item, "output")
            yield ToolSaid(call_id=text_at(item, "call_id"), text=text, images=images)
        elif role == "assistant":
            texts.append(_content(item, "content")[0])
        else:
            text, images = _content(item, "content")
            yield UserSaid(text=text, images=images) if role == "user" else SystemSaid(text=text)
    if calls or texts:
        yield AssistantSaid(text="\n".join(texts), calls=tuple(calls))


def _content(item: dict[str, object], name: str) -> tuple[str, tuple[str, ...]]:
    if text := text_at(item, name):
        return text, ()
    parts = objects_at(item, name)
    texts = [text_at(part, "text") for part in parts if part.get("type") in ("input_text", "output_text")]
    images = tuple(picture_at(part.get("image_url")) for part in parts if part.get("type") == "input_image")
    return "\n".join(texts), images


@dataclass(slots=True, kw_only=True)
class ResponsesWriter:
    """Writes an answer as events adding, filling and finishing the output's items, or as a `response`."""

    asked: Asked
    identity: str
    created: int
    stream_type: str = field(default="text/event-stream; charset=utf-8", init=False)
    _sequence: int = field(default=0, init=False)
    _output: list[JSON] = field(default_factory=list[JSON], init=False)
    _kind: str = field(default="", init=False)
    _texts: list[str] = field(default_factory=list[str], init=False)
    _call: CallBegun = field(default=CallBegun(index=0, name=""), init=False)

    def begin(self) -> bytes:
        """Write the response without output."""
        response = self._response("in_progress", None)
        created = self._event("response.created", {"response": response})
        return created + self._event("response.in_progress", {"response": response})

    def piece(self, piece: Piece) -> bytes:
        """Write a delta, after a new item where the kind changes."""
        match piece:
            case Thought(text=text):
                data = self._begin_item("reasoning")
                self._texts.append(text)
                if not self.asked.shows_thinking:
                    return data
                return data + self._event("response.reasoning_summary_text.delta", {**self._summary(), "delta": text})
            case Said(text=text):
                data = self._begin_item("message")
                self._texts.append(text)
                place = {**self._place(), "content_index": 0}
                return data + self._event("response.output_text.delta", {**place, "delta": text, "logprobs": []})
            case CallBegun():
                data = self._end_item("completed", leads_on=True)
                self._call = piece
                return data + self._begin_item("function_call")
            case Fragment(text=text):
                self._texts.append(text)
                return self._event("response.function_call_arguments.delta", {**self._place(), "delta": text})
            case CallEnded():
                return b""
        assert_never(piece)

    def end(self, ended: Ended) -> bytes:
        """Write the whole response once more, with the usage."""
        status = "incomplete" if ended.stop == "length" else "completed"
        data = self._end_item(status)
        return data + self._event(f"response.{status}", {"response": self._response(status, ended)})

    def failure(self, message: str) -> bytes:
        """Write an error event."""
        return self._event("error", {"code": "server_error", "message": message, "param": None})

    def whole(self, pieces: Sequence[Piece], ended: Ended) -> bytes:
        """Write a `response`."""
        for piece in pieces:
            self.piece(piece)
        status = "incomplete" if ended.stop == "length" else "completed"
        self._end_item(status)
        return json_line(self._response(status, ended))

    def _event(self, kind: str, values: dict[str, JSON]) -> bytes:
        data = event({"type": kind, "sequence_number": self._sequence, **values}, name=kind)
        self._sequence += 1
        return data

    def _place(self) -> dict[str, JSON]:
        return {"item_id": self._item_id(), "output_index": len(self._output)}

    def _summary(self) -> dict[str, JSON]:
        return {**self._place(), "summary_index": 0}

    def _item_id(self) -> str:
        if self._kind == "function_call":
            return f"fc_{self.identity}{self._call.index:02d}"
        return f"{'rs' if self._kind == 'reasoning' else 'msg'}_{self.identity}"

    def _begin_item(self, kind: str) -> bytes:
        if kind == self._kind and kind != "function_call":
            return b""
        data = self._end_item("completed", leads_on=True)
        self._kind, self._texts = kind, []
        item = self._item("in_progress")
        if kind != "function_call":
            item["content" if kind == "message" else "summary"] = list[JSON]()
        data += self._event("response.output_item.added", {"output_index": len(self._output), "item": item})
        if kind == "message":
            part = {**self._place(), "content_index": 0, "part": _text_part("")}
            data += self._event("response.content_part.added", part)
        elif kind == "reasoning" and self.asked.shows_thinking:
            part = {**self._summary(), "part": {"type": "summary_text", "text": ""}}
            data += self._event("response.reasoning_summary_part.added", part)
        return data

    def _end_item(self, status: str, *, leads_on: bool = False) -> bytes:
        if not self._kind:
            return b""
        text = "".join(self._texts)
        data = b""
        if self._kind == "message":
            place = {**self._place(), "content_index": 0}
            data += self._event("response.output_text.done", {**place, "text": text, "logprobs": []})
            data += self._event("response.content_part.done", {**place, "part": _text_part(text)})
        elif self._kind == "function_call":
            values = {**self._place(), "name": self._called()["name"], "arguments": text}
            data += self._event("response.function_call_arguments.done", values)
        elif self.asked.shows_thinking:
            part: JSON = {"type": "summary_text", "text": text}
            data += self._event("response.reasoning_summary_text.done", {**self._summary(), "text": text})
            data += self._event("response.reasoning_summary_part.done", {**self._summary(), "part": part})
        item = self._item(status, leads_on=leads_on)
        data += self._event("response.output_item.done", {"output_index": len(self._output), "item": item})
        self._output.append(item)
        self._kind = ""
        return data

    def _item(self, status: str, *, leads_on: bool = False) -> dict[str, JSON]:
        text = "".join(self._texts)
        item: dict[str, JSON] = {"id": self._item_id(), "type": self._kind}
        match self._kind:
            case "reasoning":
                item["summary"] = [{"type": "summary_text", "text": text}] if self.asked.shows_thinking else []
                if self.asked.options.get("sealed") and status != "in_progress":
                    item["encrypted_content"] = seal(_SEALED, self._item_id())
            case "message":
                phase = "commentary" if leads_on else "final_answer"
                item |= {"status": status, "role": "assistant", "content": [_text_part(text)], "phase": phase}
            case _:
                call_id = f"call_{self.identity}{self._call.index:02d}"
                item |= {"status": status, "call_id": call_id, **self._called(), "arguments": text}
        return item

    def _called(self) -> dict[str, JSON]:
        """Return the name of the current call, and the tool's namespace if any."""
        spaces = self.asked.options.get("namespaces")
        for space in spaces if isinstance(spaces, list) else ():
            if self._call.name.startswith(f"{space}__"):
                return {"name": self._call.name.removeprefix(f"{space}__"), "namespace": space}
        return {"name": self._call.name}

    def _response(self, status: str, ended: Ended | None) -> dict[str, JSON]:
        options = self.asked.options
        is_cut = ended is not None and ended.stop == "length"
        return {
            "id": f"resp_{self.identity}",
            "object": "response",
            "created_at": self.created,
            "status": status,
            "background": False,
            "error": None,
            "incomplete_details": {"reason": "max_output_tokens"} if is_cut else None,
            "instructions": options.get("instructions"),
            "max_output_tokens": options.get("max_output_tokens"),
            "metadata": {},
            "model": self.asked.model,
            "output": list(self._output),
            "parallel_tool_calls": options.get("parallel_tool_calls", True),
            "previous_response_id": None,
            "store": options.get("store", True),
            "temperature": 1.0,
            "tool_choice": options.get("tool_choice", "auto"),
            "tools": [],
            "top_p": 1.0,
            "truncation": options.get("truncation", "disabled"),
            "usage": self._usage(ended) if ended else None,
        }

    def _usage(self, ended: Ended) -> JSON:
        return {
            "input_tokens": self.asked.prompt_tokens,
            "input_tokens_details": {"cached_tokens": self.asked.cached_tokens, "cache_write_tokens": 0},
            "output_tokens": ended.tokens,
            "output_tokens_details": {"reasoning_tokens": ended.thinking_tokens},
            "total_tokens": self.asked.prompt_tokens + ended.tokens,
        }


def _text_part(text: str) -> JSON:
    return {"type": "output_text", "text": text, "annotations": [], "logprobs": []}
