"""Responses, from the vendor's side. Source: OpenAI API reference, Responses and its streaming, as its SDK 3 reads it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import assert_never

from tui_host.demo.model.http_connection import Request
from tui_host.demo.model.plan import CallBegun, Ended, Fragment, Piece, Said, Thought
from tui_host.demo.model.wires.openai import openai_refusal, request_headers, unknown_model
from tui_host.demo.model.wires.responses_items import SEALED, THOUGHT_CALL, reasoning_id, taken_apart
from tui_host.demo.model.wires.responses_request import read_request
from tui_host.demo.model.wires.seals import seal
from tui_host.demo.model.wires.wire import Asked, RequestRefused
from tui_host.demo.model.wires.wire_writing import event, line
from tui_host.errors import JSON

MODEL = "openai-responses"


class ResponsesWire:
    """Reads requests for `POST /v1/responses` and writes their responses."""

    def read(self, request: Request) -> Asked:
        """The body of a request. Raises `RequestRefused`."""
        asked = read_request(request.body)
        if asked.model != MODEL:
            raise unknown_model(asked.model, MODEL)
        return asked

    def headers(self, identity: str, status: int) -> list[tuple[str, str]]:
        """`x-request-id`, and when to come again."""
        return request_headers(identity, status)

    def refusal(self, refused: RequestRefused, *, identity: str = "", request: Request | None = None) -> bytes:
        """`{"error": {"message", "type", "param", "code"}}`."""
        del identity, request
        return openai_refusal(refused)

    def writer(self, asked: Asked, *, identity: str, created: int) -> ResponsesWriter:
        """A writer for one answer."""
        return ResponsesWriter(asked=asked, identity=identity, created=created)


@dataclass(slots=True, kw_only=True)
class ResponsesWriter:
    """One answer as events that add, fill and finish the items of the output, or as one `response`."""

    asked: Asked
    identity: str
    created: int
    stream_type: str = field(default="text/event-stream; charset=utf-8", init=False)
    _sequence: int = field(default=0, init=False)
    _output: list[JSON] = field(default_factory=list[JSON], init=False)
    _open: str = field(default="", init=False)
    _texts: list[str] = field(default_factory=list[str], init=False)
    _call: CallBegun | None = field(default=None, init=False)

    def begin(self) -> bytes:
        """The response, without output."""
        response = self._response("in_progress", None)
        created = self._event("response.created", {"response": response})
        return created + self._event("response.in_progress", {"response": response})

    def piece(self, piece: Piece) -> bytes:
        """A delta, with a new item before it where the kind changes."""
        match piece:
            case Thought(text=text):
                data = self._begin_item("reasoning")
                self._texts.append(text)
                if not self.asked.shows_thinking:
                    return data
                return data + self._event(
                    "response.reasoning_summary_text.delta", {**self._place(), "summary_index": 0, "delta": text}
                )
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
        assert_never(piece)

    def end(self, ended: Ended) -> bytes:
        """The whole response once more, with the usage."""
        status = "incomplete" if ended.stop == "length" else "completed"
        data = self._end_item(status)
        return data + self._event(f"response.{status}", {"response": self._response(status, ended)})

    def failure(self, message: str) -> bytes:
        """An error event."""
        return self._event("error", {"code": "server_error", "message": message, "param": None})

    def whole(self, pieces: Sequence[Piece], ended: Ended) -> bytes:
        """A `response`."""
        self.begin()
        for piece in pieces:
            self.piece(piece)
        status = "incomplete" if ended.stop == "length" else "completed"
        self._end_item(status)
        return line(self._response(status, ended))

    def _event(self, kind: str, values: dict[str, JSON]) -> bytes:
        data = event({"type": kind, "sequence_number": self._sequence, **values}, name=kind)
        self._sequence += 1
        return data

    def _place(self) -> dict[str, JSON]:
        return {"item_id": self._item_id(), "output_index": len(self._output)}

    def _item_id(self) -> str:
        match self._open:
            case "reasoning":
                return reasoning_id(self.identity)
            case "message":
                return f"msg_{self.identity}"
            case _:
                index = self._call.index if self._call else 0
                thought = any(isinstance(item, dict) and item.get("type") == "reasoning" for item in self._output)
                return f"{THOUGHT_CALL if thought else 'fc_'}{self.identity}{index:02d}"

    def _begin_item(self, kind: str) -> bytes:
        if kind == self._open and kind != "function_call":
            return b""
        data = self._end_item("completed", leads_on=True)
        self._open = kind
        self._texts = []
        item = self._item("in_progress")
        if kind in {"message", "reasoning"}:
            item["content" if kind == "message" else "summary"] = list[JSON]()
        data += self._event("response.output_item.added", {"output_index": len(self._output), "item": item})
        if kind == "message":
            part = {**self._place(), "content_index": 0, "part": _text_part("")}
            data += self._event("response.content_part.added", part)
        elif kind == "reasoning" and self.asked.shows_thinking:
            part = {**self._place(), "summary_index": 0, "part": {"type": "summary_text", "text": ""}}
            data += self._event("response.reasoning_summary_part.added", part)
        return data

    def _end_item(self, status: str, *, leads_on: bool = False) -> bytes:
        if not self._open:
            return b""
        text = "".join(self._texts)
        data = b""
        match self._open:
            case "message":
                place = {**self._place(), "content_index": 0}
                data += self._event("response.output_text.done", {**place, "text": text, "logprobs": []})
                data += self._event("response.content_part.done", {**place, "part": _text_part(text)})
            case "reasoning" if self.asked.shows_thinking:
                place = {**self._place(), "summary_index": 0}
                data += self._event("response.reasoning_summary_text.done", {**place, "text": text})
                part: JSON = {"type": "summary_text", "text": text}
                data += self._event("response.reasoning_summary_part.done", {**place, "part": part})
            case "function_call":
                values = {**self._place(), "name": self._called()["name"], "arguments": text}
                data += self._event("response.function_call_arguments.done", values)
            case _:
                pass
        item = self._item(status, leads_on=leads_on)
        data += self._event("response.output_item.done", {"output_index": len(self._output), "item": item})
        self._output.append(item)
        self._open = ""
        return data

    def _item(self, status: str, *, leads_on: bool = False) -> dict[str, JSON]:
        text = "".join(self._texts)
        item: dict[str, JSON] = {"id": self._item_id(), "type": self._open}
        match self._open:
            case "reasoning":
                summary: list[JSON] = [{"type": "summary_text", "text": text}] if self.asked.shows_thinking else []
                item["summary"] = summary
                if self.asked.options.get("sealed") and status != "in_progress":
                    item["encrypted_content"] = seal(SEALED, self._item_id())
            case "message":
                phase = "commentary" if leads_on else "final_answer"
                item |= {"status": status, "role": "assistant", "content": [_text_part(text)], "phase": phase}
            case _:
                call_id = f"call_{self.identity}{self._call.index if self._call else 0:02d}"
                item |= {"status": status, "call_id": call_id, **self._called(), "arguments": text}
        return item

    def _called(self) -> dict[str, JSON]:
        return taken_apart(self._call.name if self._call else "", self.asked.options.get("namespaces"))

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
