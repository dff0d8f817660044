"""`ollama`: Ollama's `/api/chat`. Source: Ollama's API reference, Generate a chat completion."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import ClassVar, Final

from typing_extensions import override

from tui_host.capture.json.narrowing import mapping
from tui_host.errors import JSON
from tui_host.llm.body_framing import count_of, source
from tui_host.llm.dialects.chat_shape import ChatWriter
from tui_host.llm.dialects.dialect import Dialect
from tui_host.llm.messages import Ask, Image, Message, Part, Stop, ToolCall, Usage
from tui_host.llm.outgoing import Target, Window
from tui_host.llm.request_writing import arguments_object, text_of
from tui_host.llm.thinktags import TaggedReader
from tui_host.llm.tool_names import OPENAI_NAMES

# Any other option without a neutral name (`num_ctx`) goes into `options`.
_BESIDE = ("think", "format", "keep_alive", "truncate", "shift", "logprobs", "top_logprobs")
_WINDOW_TOKENS = 4096  # the default of `num_ctx` on servers with less than 24 GiB of video memory
_YES_AND_NO: Mapping[str, bool] = {"true": True, "on": True, "false": False, "off": False, "none": False}
_NANOSECONDS = 1e9
_ROOM = "give it more room (options.num_ctx), or start a new session"
_USUAL_WINDOW = Window(
    tokens=_WINDOW_TOKENS,
    remedy=f"say how much room there is (options.num_ctx): most servers take {_WINDOW_TOKENS:,} tokens where nothing is said",
)
_REMEDIES: Mapping[str, str] = {
    "does not support tools": "choose another model, or a tool protocol that needs none of the model's own",
    "does not support thinking": "choose another model, or take reasoning_effort out of its options",
    "try pulling it": "pull it (ollama pull NAME), or choose another model",
    "context length": _ROOM,
}


class OllamaWriter(ChatWriter):
    """Writes a request."""

    path = "chat"
    headers = (("Content-Type", "application/json"), ("Accept", "application/x-ndjson"))
    names_tools = True

    def __init__(self, ask: Ask, target: Target) -> None:
        super().__init__(ask, target)
        asked = [number for number, message in enumerate(ask.messages) if message.role == "user" and not message.source]
        # The server ignores the thinking before the current turn.
        self._thinks = {id(message) for message in ask.messages[asked[-1] + 1 if asked else 0 :]}
        size = {**ask.options.others, **mapping(dict(ask.extra).get("options"))}.get("num_ctx")
        self.window = Window(tokens=size, remedy=_ROOM) if isinstance(size, int) and size > 0 else _USUAL_WINDOW

    @override
    def body(self) -> dict[str, JSON]:
        ask, others = self.ask, self.ask.options.others
        # With both of these false the server refuses a conversation longer than the model's window. Otherwise it
        # silently cuts the tools and the oldest messages, as older servers do.
        body: dict[str, JSON] = {"model": ask.model, "stream": ask.stream, "truncate": False, "shift": False}
        if ask.options.reasoning_effort is not None:
            body["think"] = _YES_AND_NO.get(ask.options.reasoning_effort, ask.options.reasoning_effort)
        names = {"temperature": "temperature", "top_p": "top_p", "max_tokens": "num_predict", "seed": "seed"}
        options = self.options(**names, stop="stop")
        options |= {name: value for name, value in others.items() if name not in _BESIDE}
        options |= mapping(self.added.pop("options", None))
        if options:
            body["options"] = options
        return body | {name: value for name, value in others.items() if name in _BESIDE}

    @override
    def user(self, parts: Sequence[Part]) -> Iterable[JSON]:
        parts = self.taken(parts)
        images: list[JSON] = [part.data for part in parts if isinstance(part, Image)]
        yield {"role": "user", "content": text_of(parts), **({"images": images} if images else {})}

    @override
    def answer(self, message: Message) -> Iterable[JSON]:
        text, calls = text_of(message.parts), [part for part in message.parts if isinstance(part, ToolCall)]
        if not (text or calls):
            return  # an empty answer would be refused; it is only stored
        written: dict[str, JSON] = {"role": "assistant", "content": text}
        thoughts = "".join(part.text for part in self.thoughts(message))
        if thoughts and id(message) in self._thinks:
            written["thinking"] = thoughts
        asked: list[JSON] = []
        for call in calls:
            wire_id: dict[str, JSON] = {"id": self.ids.of(call)} if call.wire_id else {}
            name, arguments = OPENAI_NAMES.clean(call.name), arguments_object(call.arguments)
            asked.append({**wire_id, "function": {"name": name, "arguments": arguments}})
        yield {**written, **({"tool_calls": asked} if asked else {})}


class OllamaReader(TaggedReader):
    """Turns lines into events."""

    stops: ClassVar[Mapping[str, Stop]] = {"length": "length"}
    answers = ("message", "done")

    @override
    def event(self, value: dict[str, JSON], data: bytes) -> None:
        message = value.get("message")
        if isinstance(message, dict):
            self.has_read = True
            thought = message.get("thinking") or message.get("reasoning_content")  # some imitating servers name it so
            if thought:
                self.thinking(thought)
            text, calls = message.get("content"), message.get("tool_calls")
            if isinstance(text, str):
                self.tagged(text)
            for number, call in enumerate(calls if isinstance(calls, list) else ()):
                # Calls are never split, and their indexes are ignored: older servers give 0 to all.
                function = mapping(mapping(call).get("function"))
                if not function:
                    self.unreadable("a tool call that is no object")
                    continue
                index, arguments = (
                    self.call(None, mapping(call).get("id"), function.get("name")),
                    function.get("arguments"),
                )
                if not isinstance(arguments, str):  # servers that imitate OpenAI send a text
                    arguments = source(data, "message", "tool_calls", number, "function", "arguments")
                self.arguments(index, arguments)
        elif not isinstance(value.get("done"), bool):
            self.outside(value)
            return
        if value.get("error"):
            self.outside(value)
        elif value.get("done") is True:
            reason = value.get("done_reason")
            self.is_over = self.has_read = True
            self.finish(reason if isinstance(reason, str) and reason else "done")
            usage = Usage(
                input_total=count_of(value, "prompt_eval_count"),
                output_total=count_of(value, "eval_count"),
                loading=_seconds(value, "load_duration"),
                reading=_seconds(value, "prompt_eval_duration"),
                writing=_seconds(value, "eval_duration"),
            )
            self.report(usage)


def _seconds(value: Mapping[str, JSON], name: str) -> float | None:
    nanoseconds = count_of(value, name)
    return None if nanoseconds is None else nanoseconds / _NANOSECONDS


OLLAMA: Final = Dialect(
    name="ollama",
    paths=("/api/chat",),
    versions=("api",),
    models_path="tags",
    writer=OllamaWriter,
    reader=OllamaReader,
    framing="lines",
    takes_calls_without_tools=True,
    remedies=_REMEDIES,
)
