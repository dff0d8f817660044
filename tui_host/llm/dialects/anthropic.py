"""`anthropic`: the Messages API. Source: Anthropic API reference, Messages and Streaming.

Blocks that our own form cannot hold (signed thinking, runs of the vendor's own tools) are kept verbatim as an echo, and go
back only to where they came from.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from typing_extensions import override

from tui_host.capture.json.narrowing import items, mapping, text_or_empty
from tui_host.errors import JSON
from tui_host.llm.answer_state import AnswerReader
from tui_host.llm.body_framing import count_of, source
from tui_host.llm.dialects.dialect import Dialect
from tui_host.llm.messages import Ask, Image, Message, Part, Stop, Text, Thinking, ToolCall, ToolResult, Usage
from tui_host.llm.outgoing import Target
from tui_host.llm.request_writing import CallIds, RequestWriter, arguments_object, message_of
from tui_host.llm.schema_adaptation import SchemaRules
from tui_host.llm.tool_names import OPENAI_NAMES

NAME: Final = "anthropic"
MOST_TOKENS: Final = 8192  # the default for `max_tokens`, which the API requires; every model allows this many
MOST_TOKENS_THINKING: Final = 32_768  # the same with thinking, for every model that has efforts
_NEW_VERSION = "2026-10-21"
_OLD_VERSION = "2023-06-01"
_THINKING = ("thinking", "redacted_thinking")
_SCHEMAS = SchemaRules(root=frozenset({"oneOf", "allOf", "anyOf"}), property_name=re.compile(r"[a-zA-Z0-9_.-]{1,64}"))
_STOPS: Mapping[str, Stop] = {  # others: by whether calls came
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "refused",
    "pause_turn": "paused",
}
_INPUT = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
_OF_CALL = frozenset(("type", "id", "name", "input"))  # the members of a call that our own form holds


class MessagesWriter(RequestWriter):
    """Writes a request, the conversation as messages of blocks. The base class adds messages and tools to `body`."""

    dialect = NAME
    path = "messages"
    schema = "input_schema"
    rules = _SCHEMAS

    def __init__(self, ask: Ask, target: Target) -> None:
        super().__init__(ask, target)
        self.ids = CallIds(64, "A-Za-z0-9_-")
        self.stops = [stop for stop in self.stops if stop.strip()]  # the API refuses stop sequences of white space
        self.missing = {"seed": "this API has no seed"}
        if _version(target) >= _NEW_VERSION:
            no_choice = f"version {_NEW_VERSION} of this API does not have it: an earlier api_version does"
            self.missing |= {"temperature": no_choice, "top_p": no_choice}
        answers = [message for message in ask.messages if message.role == "assistant"]
        self._last_answer = answers[-1] if answers else None
        echoes = [self.echo(part) for message in answers for part in message.parts]
        self._ended_runs = {text_or_empty(echo.get("tool_use_id")) for echo in echoes}

    @override
    def body(self) -> dict[str, JSON]:
        effort = self.ask.options.reasoning_effort
        thinks = effort is not None and effort not in {"none", "off"}
        default = MOST_TOKENS_THINKING if thinks else MOST_TOKENS
        most = self.ask.options.max_tokens  # for thinking and answer together
        body: dict[str, JSON] = {"model": self.ask.model, "max_tokens": default if most is None else most}
        if thinks:
            body["thinking"] = {"type": "adaptive", "display": "summarized"}
            body["output_config"] = {"effort": effort}
        elif effort is not None:
            body["thinking"] = {"type": "disabled"}
        body |= self.options(temperature="temperature", top_p="top_p", stop="stop_sequences")
        body |= self.ask.options.others
        if self.ask.stream:
            body["stream"] = True
        return body | ({"system": self.system} if self.system else {})

    @override
    def messages(self) -> list[JSON]:
        """Return the conversation; what the user says behind results stands in one message with them, as the API wants it."""
        written: list[JSON] = []
        for message in super().messages():
            before, said = mapping(written[-1] if written else None), mapping(message)
            content = items(before.get("content"))
            if said.get("role") == "user" and content and mapping(content[0]).get("type") == "tool_result":
                written[-1] = {**before, "content": [*content, *items(said.get("content"))]}
            else:
                written.append(message)
        return written

    @override
    def user(self, parts: Sequence[Part]) -> Iterable[JSON]:
        return message_of("user", "content", self._content(parts))

    @override
    def answer(self, message: Message) -> Iterable[JSON]:
        # In order: the API refuses changed or moved thinking.
        blocks: list[Mapping[str, JSON]] = []
        for part in message.parts:
            echo = self.echo(part)
            if isinstance(part, Text) and part.text.strip():
                blocks.append({"type": "text", "text": part.text})
            elif isinstance(part, ToolCall):
                name, given = OPENAI_NAMES.clean(part.name), arguments_object(part.arguments)
                blocks.append({"type": "tool_use", "id": self.ids.of(part), "name": name, "input": given, **echo})
            elif echo.get("type") == "thinking":
                # Anthropic refuses unsigned thinking; DeepSeek's and Kimi's services demand it back beside calls.
                has_calls = any(isinstance(part, ToolCall) for part in message.parts)
                if "signature" in echo or (has_calls and self.target.service != NAME):
                    text = part.text if isinstance(part, Thinking) else ""
                    blocks.append({"type": "thinking", "thinking": text, **echo})
            elif echo:
                # A run of the vendor's own tool needs an end. Only the answer to this request may still bring it: where
                # the last one paused, or waits for results of our tools.
                has_ended = echo.get("type") != "server_tool_use" or echo.get("id") in self._ended_runs
                if has_ended or (message is self._last_answer and message.stop in {"paused", "tools"}):
                    blocks.append(echo)
        while blocks and blocks[-1].get("type") in _THINKING:
            blocks.pop()  # the API refuses an answer that ends in thinking, as one that was stopped may
        return message_of("assistant", "content", blocks)

    @override
    def results(self, results: Sequence[ToolResult]) -> Iterable[JSON]:
        blocks: list[Mapping[str, JSON]] = []
        for result in results:
            written: dict[str, JSON] = {"type": "tool_result", "tool_use_id": self.ids.of(result.call)}
            content = self._content(result.content)
            written |= {"content": content} if content else {}
            written |= {"is_error": True} if result.is_error else {}
            blocks.append(written)
        return message_of("user", "content", blocks)

    def _content(self, parts: Sequence[Part]) -> Sequence[Mapping[str, JSON]]:
        blocks: list[Mapping[str, JSON]] = []
        for part in self.taken(parts):
            if isinstance(part, Image):
                encoded: JSON = {"type": "base64", "media_type": part.media_type, "data": part.data}
                blocks.append({"type": "image", "source": encoded})
            elif part.text.strip():  # blank ones are refused
                blocks.append({"type": "text", "text": part.text})
        return blocks


def _version(target: Target) -> str:
    return target.api_version or (_NEW_VERSION if target.service == NAME else _OLD_VERSION)


@dataclass(slots=True)
class _Block:
    """A content block being streamed."""

    value: dict[str, JSON]  # as it began; signature and input are added
    kind: str
    call: int | None = None  # the number of the call
    first_text: str = ""  # what it began with, until the first piece came
    pieces: list[str] = field(default_factory=list[str])  # of the input as JSON text
    given: str = ""  # the whole input, as the event that began the block had it
    has_ended: bool = False


@dataclass(eq=False)
class MessagesReader(AnswerReader):
    """Turns the vendor's events, or a whole answer, into ours."""

    dialect = NAME
    stops = _STOPS

    _blocks: dict[int, _Block] = field(default_factory=dict[int, _Block])
    _last_block: _Block | None = None
    _counts: dict[str, JSON] = field(default_factory=dict[str, JSON])
    _begins_again: bool = False  # a second message_start came: a known block next is a restart

    @override
    def event(self, value: dict[str, JSON], data: bytes) -> None:
        match value.get("type"):  # not all services name their events
            case "content_block_delta":  # the most frequent event
                self._delta(value)
            case "message_start":
                self._begins_again = bool(self._blocks)
                usage = mapping(mapping(value.get("message")).get("usage"))
                # The count of the output is only a placeholder as yet.
                self._count({name: count for name, count in usage.items() if name != "output_tokens"})
            case "content_block_start":
                opened = mapping(value.get("content_block"))
                if self._begins_again and self._block_of(value) is not None:
                    # A proxy asked again: the blocks come anew from the first on, perhaps with other words.
                    self.repeat(restarts=True)
                    self._blocks.clear()
                self._begins_again = False
                block = self._add(value, opened)
                if block.kind in {"text", "thinking"}:
                    block.first_text = text_or_empty(opened.get(block.kind))
                    (self.thinking if block.kind == "thinking" else self.text)(block.first_text)
                elif block.kind == "tool_use":
                    echo = {name: held for name, held in opened.items() if name not in _OF_CALL and held is not None}
                    block.call = self.call(None, opened.get("id"), opened.get("name"), echo)
                    block.given = source(data, "content_block", "input")
            case "content_block_stop":
                self._close(self._block_of(value))
            case "message_delta":
                delta = mapping(value.get("delta"))
                reason, details = text_or_empty(delta.get("stop_reason")), mapping(delta.get("stop_details"))
                texts = [text for name in ("category", "explanation") if (text := text_or_empty(details.get(name)))]
                self.finish(f"{reason}: {', '.join(texts)}" if reason and texts else reason)
                self._count(value.get("usage"))
            case "message_stop":
                self.mark, self.is_over = "message_stop", True
            case kind:
                if kind != "ping":
                    self.outside(value)
                    return
        self.has_read = True

    @override
    def whole(self, value: dict[str, JSON], data: bytes) -> Sequence[dict[str, JSON]]:
        content = value.get("content")
        if not isinstance(content, list):
            return ()
        events: list[dict[str, JSON]] = []
        for number, block in enumerate(content):
            # The input as a piece, so that the arguments are the model's own bytes; empty for blocks without one.
            given: JSON = {"type": "input_json_delta", "partial_json": source(data, "content", number, "input")}
            events.append({"type": "content_block_start", "index": number, "content_block": block})
            events.append({"type": "content_block_delta", "index": number, "delta": given})
            events.append({"type": "content_block_stop", "index": number})
        events.append({"type": "message_delta", "delta": value, "usage": value.get("usage")})
        self.mark = "message"
        return events

    def _block_of(self, event: Mapping[str, JSON]) -> _Block | None:
        index = event.get("index")
        return self._blocks.get(index) if type(index) is int else self._last_block  # not all services send an index

    def _add(self, event: Mapping[str, JSON], value: Mapping[str, JSON]) -> _Block:
        index = event.get("index")
        block = _Block(dict(value), text_or_empty(value.get("type")))
        self._blocks[index if type(index) is int else len(self._blocks)] = self._last_block = block
        return block

    def _delta(self, event: Mapping[str, JSON]) -> None:
        delta, block = event.get("delta"), self._block_of(event)
        if not isinstance(delta, dict):
            self.unreadable("a piece of nothing")
            return
        kind = delta.get("type")
        if block is None:  # the event that begins the block is missing
            is_thinking = kind in {"thinking_delta", "signature_delta"}
            block = self._add(event, {"type": "thinking" if is_thinking else "text"})
        match kind:
            case "text_delta" | "thinking_delta":
                text = delta.get("text" if kind == "text_delta" else "thinking")
                begun, block.first_text = block.first_text, ""
                if begun and text == begun:  # some gateways repeat what the block began with
                    self.repeat()
                else:
                    (self.thinking if block.kind == "thinking" else self.text)(text)
            case "signature_delta":
                block.value["signature"] = delta.get("signature")
            case "input_json_delta":
                piece = text_or_empty(delta.get("partial_json"))
                block.pieces.append(piece)
                self.arguments(block.call, piece)
            case "citations_delta":
                self.cite(delta.get("citation"))
            case _:
                pass  # kinds to come: they stay in the record

    def _close(self, block: _Block | None) -> None:
        if block is None or block.has_ended:
            return
        block.has_ended = True
        match block.kind:
            case "tool_use":
                if not any(block.pieces):
                    self.arguments(block.call, block.given)
            case "text":
                self.cite(block.value.get("citations"))  # of an answer that was not streamed
                self.end_part("text")
            case "thinking":
                signature = text_or_empty(block.value.get("signature"))
                self.end_part("thinking", {"type": "thinking"} | ({"signature": signature} if signature else {}))
            case kind:
                if any(block.pieces):
                    block.value["input"] = arguments_object("".join(block.pieces))
                if kind == "server_tool_use":
                    self.used(block.value.get("name"), block.value.get("input"))
                elif kind.endswith("_tool_result"):
                    self.cite(block.value.get("content"))
                # Redacted thinking and what the vendor's tools did are kept as thinking without words, with the block
                # beside it: so they go back whole, and at the same place.
                self.end_part("thinking", block.value if kind else None)

    def _count(self, usage: JSON) -> None:
        self._counts |= {name: count for name, count in mapping(usage).items() if count is not None}
        # `input_tokens` does not include the tokens that the cache read and wrote.
        plain, written, read = (count_of(self._counts, name) for name in _INPUT)
        reported = [count for count in (plain, written, read) if count is not None]
        total = Usage(
            input_total=sum(reported) if reported else None,
            input_cached=read,
            cache_written=written,
            output_total=count_of(self._counts, "output_tokens"),
            reasoning=count_of(self._counts, "output_tokens_details", "thinking_tokens"),
        )
        self.report(total)


ANTHROPIC: Final = Dialect(
    name=NAME,
    paths=("/messages",),
    versions=("v1",),
    models_path="models?limit=1000",
    writer=MessagesWriter,
    key_header="x-api-key",
    version=_version,
    reader=MessagesReader,
)
