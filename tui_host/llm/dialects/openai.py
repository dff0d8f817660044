"""`openai`: Chat Completions, as OpenAI and many others take and answer it.

Source: OpenAI API reference, Chat; the APIs of DeepSeek, Mistral, Groq, OpenRouter and Azure where they differ.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from typing_extensions import override

from tui_host.capture.json.narrowing import items, mapping, text_or_empty
from tui_host.errors import JSON
from tui_host.llm.body_framing import count_of
from tui_host.llm.dialects.chat_shape import ChatWriter
from tui_host.llm.dialects.dialect import Dialect
from tui_host.llm.events import PartEnded
from tui_host.llm.messages import Ask, Image, Message, Part, Stop, ToolCall, Usage
from tui_host.llm.outgoing import AZURE, Target
from tui_host.llm.provider_faults import fault_in
from tui_host.llm.request_writing import CallIds, arguments_text, text_of
from tui_host.llm.schema_adaptation import OPENAI_SCHEMAS
from tui_host.llm.thinktags import TaggedReader
from tui_host.llm.tool_names import OPENAI_NAMES

NAME: Final = "openai"
ECHOED: Final = "reasoning_content"  # in it some services want the thinking sent back (DeepSeek, Moonshot)
DETAILS: Final = (
    "reasoning_details"  # in it OpenRouter sends thinking with signatures, and wants all of it back unchanged
)
_GROWING = frozenset(("text", "summary", "data"))
_NEW_NAME = ("openai", AZURE)  # the services known to take `max_completion_tokens`
_MISTRAL = "mistral"
_STOPS: Mapping[str, Stop] = {
    **dict.fromkeys(("length", "max_tokens"), "length"),
    **dict.fromkeys(("content_filter", "sensitive"), "refused"),
    **dict.fromkeys(("error", "network_error", "insufficient_system_resource"), "failed"),
}
_WORDS = frozenset(("role", "content"))  # the members of a delta that holds only text
_BESIDE = frozenset(("x_groq", "error"))
_OF_CALL = frozenset(("index", "id", "type", "function", "name", "arguments"))
"""The members of a call that our own form holds; all others go back to the provider."""


class ChatCompletionsWriter(ChatWriter):
    """Writes a request."""

    dialect = NAME
    rules = OPENAI_SCHEMAS
    most_stops = 4
    path = "chat/completions"
    is_dated = True

    def __init__(self, ask: Ask, target: Target) -> None:
        super().__init__(ask, target)
        # Mistral wants no user's message directly behind the results of tools. Source: Mistral API reference, Chat.
        self.shows_images = target.service != _MISTRAL
        if target.service == _MISTRAL or target.has_short_ids:
            self.ids = CallIds(9, "A-Za-z0-9", least=9)
        # DeepSeek refuses a conversation with calls in which any answer lacks the thinking; without calls it ignores it.
        has_calls = any(isinstance(part, ToolCall) for message in ask.messages for part in message.parts)
        thoughts = (thought for message in ask.messages for thought in self.thoughts(message))
        self._echoes = has_calls and any(thought.echo == ECHOED for thought in thoughts)

    @override
    def body(self) -> dict[str, JSON]:
        body: dict[str, JSON] = {"model": self.ask.model}
        if self.ask.stream:
            body |= {"stream": True, "stream_options": {"include_usage": True}}
        body |= self.options(
            temperature="temperature",
            top_p="top_p",
            max_tokens="max_completion_tokens" if self.target.service in _NEW_NAME else "max_tokens",
            reasoning_effort="reasoning_effort",
            seed="random_seed" if self.target.service == _MISTRAL else "seed",
            stop="stop",
        )
        return {**body, **self.ask.options.others}

    @override
    def user(self, parts: Sequence[Part]) -> Iterable[JSON]:
        content: list[JSON] = []
        for part in self.taken(parts):
            if isinstance(part, Image):
                url = f"data:{part.media_type};base64,{part.data}"
                content.append({"type": "image_url", "image_url": {"url": url, "detail": "auto"}})
            else:
                content.append({"type": "text", "text": part.text})
        has_images = any(isinstance(part, Image) for part in parts)
        yield {"role": "user", "content": content if has_images else text_of(parts)}

    @override
    def answer(self, message: Message) -> Iterable[JSON]:
        text, calls = text_of(message.parts), [part for part in message.parts if isinstance(part, ToolCall)]
        if not (text or calls):
            return  # an empty answer would be refused; it is only stored
        thoughts, written = self.thoughts(message), dict[str, JSON](role="assistant")
        if self._echoes:
            written[ECHOED] = "".join(thought.text for thought in thoughts)
        details = [item for thought in thoughts for item in items(mapping(thought.echo).get(DETAILS))]
        if details:
            written[DETAILS] = details
        asked: list[JSON] = []
        for call in calls:
            echo = dict(self.echo(call))
            function: JSON = {
                "name": OPENAI_NAMES.clean(call.name),
                "arguments": arguments_text(call.arguments),
                **mapping(echo.pop("function", None)),
            }
            asked.append({"id": self.ids.of(call), "type": "function", "function": function, **echo})
        yield {**written, "content": text or None, **({"tool_calls": asked} if asked else {})}


@dataclass(slots=True)
class _Call:
    """A piece of a call, or a call as far as it was read."""

    index: int | None
    id: str
    name: str
    arguments: str
    echo: dict[str, JSON]
    number: int | None = None  # None until it has a name or arguments
    pieces: list[str] = field(default_factory=list[str])  # all arguments so far

    def is_whole(self) -> bool:
        if not self.pieces or not self.pieces[-1].rstrip().endswith("}"):
            return False
        try:
            return isinstance(json.loads("".join(self.pieces), strict=False), dict)
        except (ValueError, RecursionError):
            return False


@dataclass(eq=False)
class ChatCompletionsReader(TaggedReader):
    """Turns chunks into events; a whole answer is one chunk with a message in it.

    Calls are put together from pieces. A piece names its call by index, by id, or not at all.
    """

    dialect = NAME
    stops = _STOPS
    answers = ("choices",)

    _open_calls: list[_Call] = field(default_factory=list[_Call])
    _has_words: bool = False
    _echoes: bool = False
    _details: list[dict[str, JSON]] = field(default_factory=list[dict[str, JSON]])

    @override
    def event(self, value: dict[str, JSON], data: bytes) -> None:
        # Requests never ask for several choices, but LiteLLM before Bedrock gives calls an index of their own.
        choice = next(iter(items(value.get("choices"))), None)
        if not isinstance(choice, dict) or (
            choice.get("index") and "message" not in choice and not mapping(choice.get("delta")).get("tool_calls")
        ):
            self.has_read = self.has_read or "choices" in value
            self._around(value, {})
            return
        self.has_read = True
        delta = choice.get("delta")
        if not isinstance(delta, dict) and not self._has_words:
            delta = choice.get("message")  # of a whole answer; behind a stream it is a repetition
        if isinstance(delta, dict):
            content = delta.get("content")
            if isinstance(content, str) and _WORDS.issuperset(delta):  # the most frequent chunk
                self._has_words = self._has_words or bool(content)
                self.tagged(content)
            else:
                self._delta(delta)
        if choice.get("finish_reason") or value.get("usage") or "usage" in choice or not _BESIDE.isdisjoint(value):
            self.finish(choice.get("finish_reason"))
            self._around(value, choice)

    @override
    def closing(self) -> None:
        self.give_held()
        if self._details or self._echoes:
            echo: JSON = {DETAILS: [*self._details]} if self._details else ECHOED
            self.events.append(PartEnded(kind="thinking", echo=echo, start=self.start, end=self.end))
        super().closing()

    def _around(self, value: Mapping[str, JSON], choice: Mapping[str, JSON]) -> None:
        """Read usage and errors, which stand outside the choices."""
        # Beside the choices; Moonshot has it in the choice, and Groq in a member of its own.
        places = (value, choice, mapping(value.get("x_groq")))
        counts = next((usage for place in places if isinstance(usage := place.get("usage"), dict)), None)
        if counts is not None:
            cost = counts.get("cost")
            # Moonshot and DeepSeek have the cached ones under names of their own.
            cached = [("prompt_tokens_details", "cached_tokens"), ("cached_tokens",), ("prompt_cache_hit_tokens",)]
            usage = Usage(
                input_total=count_of(counts, "prompt_tokens"),
                input_cached=next((count for path in cached if (count := count_of(counts, *path)) is not None), None),
                cache_written=count_of(counts, "prompt_tokens_details", "cache_write_tokens"),
                output_total=count_of(counts, "completion_tokens"),
                reasoning=count_of(counts, "completion_tokens_details", "reasoning_tokens"),
                cost=float(cost) if isinstance(cost, int | float) and not isinstance(cost, bool) else None,
            )
            self.report(usage)
        if fault_in(value) is not None or (counts is None and value and "choices" not in value):
            self.outside(value)

    def _delta(self, delta: Mapping[str, JSON]) -> None:
        # Services have several members for the thinking, some use two at once.
        details, echoed = list(map(mapping, items(delta.get(DETAILS)))), delta.get(ECHOED)
        texts = [text_or_empty(piece.get("text") or piece.get("summary")) for piece in details]
        thought = text_or_empty(echoed) or text_or_empty(delta.get("reasoning")) or "".join(texts)
        if isinstance(echoed, str) and (echoed or not (thought or details)):
            self._echoes = True
        for piece in details:  # the pieces of an item: texts grow, other members are replaced
            last = self._details[-1] if self._details else {}
            if (piece.get("index"), piece.get("type")) != (last.get("index", -1), last.get("type")):
                self._details.append(dict(piece))
                continue
            for name, value in piece.items():
                before = last.get(name)
                if name in _GROWING and isinstance(value, str) and isinstance(before, str):
                    last[name] = before + value
                elif value is not None:
                    last[name] = value
        self.thinking(thought)
        content, refusal, calls = delta.get("content"), delta.get("refusal"), items(delta.get("tool_calls"))
        for part in content if isinstance(content, list) else [content]:  # a list of parts, as Mistral sends them
            if isinstance(part, dict) and part.get("type") == "thinking":
                self.thinking(_flat(part.get("thinking")))
            else:
                self.tagged(_flat(part))
        self.cite(delta.get("annotations"))
        self.refuses = self.refuses or bool(refusal)
        self.text(refusal)
        for call in calls:
            self._add_call(call)
        self._has_words = self._has_words or bool(thought or content or refusal or calls)

    def _add_call(self, value: JSON) -> None:
        """Begin a call, or add a piece to one."""
        piece = _call_in(value)
        if piece is None:
            self.unreadable("a tool call that is no object")
            return
        if not (piece.id or piece.name or piece.arguments or piece.echo):
            return  # LM Studio sends empty calls
        call = self._continued(piece)
        if call is None:
            call = replace(piece, name="")
            self._open_calls.append(call)
        elif call.id and call.id == piece.id and piece.arguments == "".join(call.pieces) != "":
            self.repeat()
            return
        before = call.id, call.name
        call.echo |= piece.echo
        call.id = call.id or piece.id
        if call.pieces and call.name:
            pass  # some services repeat the name with each piece
        elif piece.name.startswith(call.name):
            call.name = piece.name
        else:
            call.name = f"{call.name}{piece.name}"[:1000]  # others send it in pieces
        if call.number is None:
            is_due = bool(call.name or piece.arguments)
        else:
            is_due = bool(piece.echo) or before != (call.id, call.name)
        if is_due:
            call.number = self.call(call.number, call.id, call.name, call.echo)
        if piece.arguments:
            call.pieces.append(piece.arguments)
            self.arguments(call.number, piece.arguments)

    def _continued(self, piece: _Call) -> _Call | None:
        """Find the call that a piece continues, None if it begins one."""
        near = [call for call in self._open_calls if piece.index in {None, call.index}]
        same = [call for call in near if piece.id and call.id == piece.id]
        call = next(reversed(same or near), None)
        if call is None:
            # A new index alone begins no call; with a name it does, whatever its id: some services give all the same.
            return None if piece.name or piece.id or not self._open_calls else self._open_calls[-1]
        if not piece.name:
            return call
        if same or not (piece.id and call.id):
            has_more = piece.arguments.strip() and piece.arguments != "".join(call.pieces)
            return None if has_more and call.is_whole() else call
        # Another id under the same index: another call, or (GLM behind gateways) the same whose id changes.
        is_same = piece.index is not None and piece.name == call.name and not call.is_whole()
        return call if is_same and (call.pieces or piece.arguments) else None


def _flat(part: JSON) -> str:
    if isinstance(part, str):
        return part
    if isinstance(part, dict):
        return _flat(part.get("text"))
    return "".join(_flat(piece) for piece in part) if isinstance(part, list) else ""


def _call_in(value: JSON) -> _Call | None:
    if not isinstance(value, dict):
        return None
    function = value.get("function") or value
    if not isinstance(function, dict):
        return None
    index, wire_id, arguments = value.get("index"), value.get("id"), function.get("arguments")
    if not isinstance(arguments, str):  # some services send an object
        arguments = "" if arguments is None else json.dumps(arguments, ensure_ascii=False, separators=(",", ":"))
    unknown = [
        {name: member for name, member in members.items() if name not in _OF_CALL and member is not None}
        for members in ((value,) if function is value else (value, function))
    ]
    return _Call(
        index if type(index) is int and index >= 0 else None,
        str(wire_id) if isinstance(wire_id, int) else text_or_empty(wire_id),
        text_or_empty(function.get("name")),
        arguments,
        unknown[0] | ({"function": unknown[1]} if any(unknown[1:]) else {}),
    )


OPENAI: Final = Dialect(
    name=NAME,
    paths=("/chat/completions",),
    writer=ChatCompletionsWriter,
    reader=ChatCompletionsReader,
)
