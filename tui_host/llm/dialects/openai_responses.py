"""`openai-responses`: OpenAI's Responses API, without state at the provider: every request holds all items.

Source: OpenAI API reference, Responses and streaming events.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Final, Literal

from typing_extensions import override

from tui_host.capture.json.narrowing import items, mapping, text_or_empty
from tui_host.errors import JSON
from tui_host.llm.answer_state import AnswerReader
from tui_host.llm.body_framing import count_of
from tui_host.llm.dialects.dialect import Dialect
from tui_host.llm.layout import full_name
from tui_host.llm.messages import Image, Message, Part, Stop, Text, Thinking, ToolCall, ToolResult, Usage
from tui_host.llm.request_writing import RequestWriter, arguments_text, text_of
from tui_host.llm.schema_adaptation import OPENAI_SCHEMAS
from tui_host.llm.tool_names import OPENAI_NAMES

NAME: Final = "openai-responses"
_THINKS_NOT = re.compile(r"(^|[/:])(gpt-3|gpt-4|chatgpt|gpt-5[\w.-]*-chat)")  # and refuse any option about it
_THINKS = re.compile(r"(^|[/:])(o\d|gpt-[5-9]|gpt-oss|codex)")
_FINAL = ("completed", "incomplete", "failed", "cancelled")
_REFUSAL = "response.refusal.delta"
_DELTAS: Mapping[str, Literal["text", "thinking"]] = {
    "response.output_text.delta": "text",
    _REFUSAL: "text",
    "response.reasoning_summary_text.delta": "thinking",
    "response.reasoning_text.delta": "thinking",
    "response.reasoning.delta": "thinking",
}
_CALL = "function_call"
# These calls cannot be sent back, because they have no results.
_NEVER_OFFERED = ("custom_tool_call", "computer_call", "local_shell_call", "shell_call", "apply_patch_call")
# What each kind of item has in our own form already.
_OWN: Mapping[str, tuple[str, ...]] = {
    "message": ("role", "content"),
    _CALL: ("call_id", "name", "arguments"),
}


class ResponsesWriter(RequestWriter):
    """Writes a request, the conversation as a list of items."""

    dialect = NAME
    path = "responses"
    is_dated = True
    conversation = "input"
    # `strict` defaults to true, and the service would then change or refuse the schema.
    around_tool = ({"type": "function"}, {"strict": False})
    rules = OPENAI_SCHEMAS
    missing: Mapping[str, str] = {"seed": "this API has no seed", "stop": "this API has no texts to stop at"}

    @override
    def body(self) -> dict[str, JSON]:
        body: dict[str, JSON] = {"model": self.ask.model, "store": False}
        if self.ask.stream:
            body["stream"] = True
        model, effort = self.ask.model, self.ask.options.reasoning_effort
        if effort is not None or not _THINKS_NOT.search(model):
            # Summaries of the thinking, and encrypted thinking to send back, as the vendor's own client asks for them.
            body["include"] = ["reasoning.encrypted_content"]
            if effort is not None:
                body["reasoning"] = {"effort": "none" if effort == "off" else effort, "summary": "auto"}
            elif _THINKS.search(model):  # only the vendor's own are known to take a `reasoning` that nobody set
                body["reasoning"] = {"summary": "auto"}
        if self.system:
            body["instructions"] = self.system
        options = self.options(temperature="temperature", top_p="top_p", max_tokens="max_output_tokens")
        return {**body, **options, **self.ask.options.others}

    @override
    def user(self, parts: Sequence[Part]) -> Iterable[JSON]:
        yield {"role": "user", "content": self._content(parts)}

    @override
    def answer(self, message: Message) -> Iterable[JSON]:
        # In order: the service refuses a reasoning item without its next item, and the reverse.
        last = max((n for n, part in enumerate(message.parts) if not isinstance(part, Thinking)), default=-1)
        written: list[dict[str, JSON]] = []
        is_whole = True
        for part in message.parts[: last + 1]:
            echo = self.echo(part)
            match part:
                case Thinking() if echo.get("encrypted_content") or echo.get("content"):
                    written.append(dict(echo))
                case Thinking():
                    is_whole = False  # the service stores no thinking, so an item can only go back with all of it
                case ToolCall():
                    name, arguments = OPENAI_NAMES.clean(part.name), arguments_text(part.arguments)
                    call = {"type": _CALL, **echo, "call_id": self.ids.of(part), "name": name, "arguments": arguments}
                    written.append(call)
                case Text() if echo.get("type") == "message":
                    content: JSON = [{"type": "output_text", "text": part.text, "annotations": []}]
                    written.append({"role": "assistant", "content": content, **echo})
                case Text() if echo:
                    written.append(dict(echo))
                case Text() if part.text:
                    written.append({"role": "assistant", "content": part.text})
                case _:
                    pass
        for item in () if is_whole else written:
            item.pop("id", None)  # an id would make the service demand the missing thought
        return filter(None, written)

    @override
    def results(self, results: Sequence[ToolResult]) -> Iterable[JSON]:
        for result in results:
            output = self._content(result.content, "\n")
            yield {"type": "function_call_output", "call_id": self.ids.of(result.call), "output": output}

    def _content(self, parts: Sequence[Part], between: str = "") -> JSON:
        if not any(isinstance(part, Image) for part in parts):
            return text_of(parts, between)
        content: list[JSON] = []
        for part in self.taken(parts):
            if isinstance(part, Image):
                url = f"data:{part.media_type};base64,{part.data}"
                content.append({"type": "input_image", "image_url": url, "detail": "auto"})
            else:
                content.append({"type": "input_text", "text": part.text})
        return content


@dataclass(slots=True)
class _Item:
    """An item of the output being streamed."""

    id: str = ""
    call: int | None = None  # the number of the call
    pieces: list[str] = field(default_factory=list[str])  # of its text or arguments
    is_done: bool = False


@dataclass(eq=False)
class ResponsesReader(AnswerReader):
    """Turns the vendor's events, or a whole answer, into ours.

    Complete items are authoritative; the pieces before them only serve to draw the answer early.
    """

    dialect = NAME
    stops: ClassVar[Mapping[str, Stop]] = {
        "": "end",
        "completed": "end",
        "queued": "cut",
        "in_progress": "cut",
        "failed": "failed",
        "cancelled": "failed",
        "content_filter": "refused",
    }
    otherwise = "length"  # incomplete for any reason

    # By their places, and by their ids, for some services lack one.
    _items: dict[int | str, _Item] = field(default_factory=dict[int | str, _Item])
    _last: _Item | None = None
    _is_whole: bool = False

    @override
    def event(self, value: dict[str, JSON], data: bytes) -> None:
        kind = text_or_empty(value.get("type"))
        words = _DELTAS.get(kind)
        if words is not None:  # the most frequent event
            self.has_read = True
            self.refuses = self.refuses or kind == _REFUSAL
            self._words(self._find(value) or self._add(value, {}), value.get("delta"), words)
            return
        if not kind.startswith("response."):
            self.outside(value)
            return
        self.has_read = True
        name = kind.removeprefix("response.")
        if name in _FINAL or self._is_whole:
            self.is_over = True
            self._end(mapping(value.get("response")), name)
            return
        opened, item = self._find(value), mapping(value.get("item"))
        match name:
            case "output_item.added":
                opened = self._add(value, item)
                if item.get("type") == _CALL:
                    self._call(opened, item, None)
            case "output_item.done" if item:
                if opened is not None and opened.is_done and opened.id != item.get("id"):
                    opened = None  # another item in the place of the last
                self._whole_item(opened or self._add(value, item), item)
            case "function_call_arguments.delta" if opened is not None:
                piece = text_or_empty(value.get("delta"))
                opened.pieces.append(piece)
                self.arguments(opened.call, piece)
            case "reasoning_summary_part.added" if opened is not None and opened.pieces:
                self._words(opened, "\n\n", "thinking")
            case _:
                pass  # ends of parts, progress, the vendor's own tools: only recorded

    @override
    def whole(self, value: dict[str, JSON], data: bytes) -> Sequence[dict[str, JSON]]:
        if not isinstance(value.get("output"), list) and "status" not in value:
            return ()
        self._is_whole = True
        return [{"type": f"response.{text_or_empty(value.get('status')) or 'completed'}", "response": value}]

    def _add(self, event: Mapping[str, JSON], item: Mapping[str, JSON]) -> _Item:
        opened = self._last = _Item(id=text_or_empty(item.get("id")))
        for key in (event.get("output_index"), opened.id, event.get("item_id")):
            if key != "" and isinstance(key, int | str):
                self._items[key] = opened
        return opened

    def _find(self, event: Mapping[str, JSON]) -> _Item | None:
        """Find the item of an event: by id (some services make a new id each time), by place, else the last item."""
        index, item_id = event.get("output_index"), event.get("item_id")
        if item_id is None:
            item_id = mapping(event.get("item")).get("id")
        if isinstance(item_id, str) and item_id in self._items:
            return self._items[item_id]
        if isinstance(index, int) and index in self._items:
            return self._items[index]
        return None if type(index) is int else self._last

    def _whole_item(self, opened: _Item, item: Mapping[str, JSON]) -> None:
        """Read a complete item: whatever was not streamed before, and the members to send back."""
        if opened.is_done:
            return  # sent twice
        opened.is_done = True
        parts, kind = list(map(mapping, items(item.get("content")))), text_or_empty(item.get("type"))
        own = _OWN.get(kind, ())
        if kind == "message" and any(part.get("refusal") for part in parts):
            own, self.refuses = (), True  # our form cannot hold refusals
        # The members that our own form lacks, to send them back.
        echo = {name: value for name, value in item.items() if name not in own and value is not None}
        echo = None if not kind or kind in _NEVER_OFFERED else echo
        match kind:
            case "function_call":
                self._call(opened, item, echo)
            case "message":
                said = [text_or_empty(part.get("text") or part.get("refusal")) for part in parts]
                self._rest(opened, "".join(said), "text")
                for part in parts:
                    self.cite(part.get("annotations"))
                self.end_part("text", echo)
            case "reasoning":
                # The summary of the thinking, or the thinking itself of open models.
                summary = map(mapping, items(item.get("summary")))
                texts = list(filter(None, (text_or_empty(part.get("text")) for part in summary)))
                texts = texts or list(filter(None, (text_or_empty(part.get("text")) for part in parts)))
                self._rest(opened, "\n\n".join(texts), "thinking")
                self.end_part("thinking", echo)
            case _:
                action = mapping(item.get("action")) or item
                if kind.endswith("_call") and kind not in _NEVER_OFFERED:  # a tool that the vendor itself has run
                    self.used(kind.removesuffix("_call"), action)
                self.cite(action.get("sources"))
                if echo:
                    self.end_part("text", echo)

    def _call(self, opened: _Item, item: Mapping[str, JSON], echo: Mapping[str, JSON] | None) -> None:
        name = full_name(text_or_empty(item.get("name")), text_or_empty(item.get("namespace")))
        arguments = text_or_empty(item.get("arguments"))
        opened.call = self.call(opened.call, item.get("call_id"), name, echo)
        if arguments and arguments != "".join(opened.pieces):
            self.arguments(opened.call, arguments, anew=bool(opened.pieces))
            opened.pieces = [arguments]

    def _words(self, opened: _Item, piece: JSON, kind: Literal["text", "thinking"]) -> None:
        if isinstance(piece, str) and piece:
            opened.pieces.append(piece)
            (self.text if kind == "text" else self.thinking)(piece)

    def _rest(self, opened: _Item, text: str, kind: Literal["text", "thinking"]) -> None:
        streamed = "".join(opened.pieces)
        if text.startswith(streamed):
            self._words(opened, text[len(streamed) :], kind)

    def _end(self, response: Mapping[str, JSON], event_status: str) -> None:
        """Read the end of the response: the reason, the usage, an error, and the items if none came before."""
        if self._last is None:
            for item in map(mapping, items(response.get("output"))):
                self._whole_item(_Item(), item)
        # Some services say the status only in the event's name.
        status = text_or_empty(response.get("status"))
        reason = status if status in _FINAL else event_status
        details = text_or_empty(mapping(response.get("incomplete_details")).get("reason"))
        self.finish(details if reason == "incomplete" and details else reason)
        counts = response.get("usage")
        usage = Usage(
            input_total=count_of(counts, "input_tokens"),
            input_cached=count_of(counts, "input_tokens_details", "cached_tokens"),
            cache_written=count_of(counts, "input_tokens_details", "cache_write_tokens"),
            output_total=count_of(counts, "output_tokens"),
            reasoning=count_of(counts, "output_tokens_details", "reasoning_tokens"),
        )
        self.report(usage)
        if response.get("error") and not self.has_failed:
            self.outside({"error": response.get("error")})


OPENAI_RESPONSES: Final = Dialect(
    name=NAME,
    paths=("/responses",),
    writer=ResponsesWriter,
    reader=ResponsesReader,
)
