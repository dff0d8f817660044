"""The writer of bodies: a neutral talk as requests and answers of any dialect, streamed or not.

    add = Call("c1", "math__add", {"a": 1, "b": 2})
    talk = [User("what is 1 + 2?"), Answer("Let me see.", [add]), Results([(add, "3")])]
    DIALECTS["anthropic"].request(talk, tools=[Tool("math__add", "Add.", {"type": "object"})])     # the body of a request
    DIALECTS["gemini"].whole(Answer("It is 3."))                                                 # the body of an answer
    DIALECTS["ollama"].events(Answer("It is 3."), size=4)                                       # events, four letters a piece
    peer(says("anthropic", Answer(calls=[add])), says("anthropic", Answer("It is 3.")))             # what a provider sends
    peer_in_thread(asks(("math__add", "{}")), text("It ", "is 3."))                            # the same of Chat Completions

The bodies are written here by hand, from the vendors' documents, and know nothing of the program: they are what it is tried against.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from typing_extensions import override

from tests.kit.peer import head, response
from tui_host.errors import JSON

SYSTEM = "You help."


@dataclass(frozen=True, slots=True)
class Call:
    """A call as a model writes it; `written` stands for `arguments` where the model does not write an object."""

    id: str
    name: str
    arguments: Mapping[str, JSON]
    written: str | None = None

    @property
    def text(self) -> str:
        """The arguments as JSON, with white space as models put it."""
        return json.dumps(self.arguments, ensure_ascii=False) if self.written is None else self.written


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens; those read from a cache are among the input, those of thinking among the output."""

    input: int = 10
    output: int = 5
    cached: int = 0
    thinking: int = 0


@dataclass(frozen=True, slots=True)
class User:
    text: str


@dataclass(frozen=True, slots=True)
class Answer:
    """What a model answers; `stop` is the vendor's own word where it is not the usual one."""

    text: str = ""
    calls: Sequence[Call] = ()
    thinking: str = ""
    usage: Usage | None = None
    stop: str = ""


@dataclass(frozen=True, slots=True)
class Results:
    """What the model is told of its calls, in this order."""

    told: Sequence[tuple[Call, str]]


@dataclass(frozen=True, slots=True)
class Tool:
    name: str
    description: str = ""
    schema: Mapping[str, JSON] | None = None

    @property
    def function(self) -> dict[str, JSON]:
        return {"name": self.name, "description": self.description, "parameters": self.schema or {"type": "object"}}


Entry = User | Answer | Results
Entries: TypeAlias = Sequence[Entry]


def dumped(value: JSON) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode()


def event(value: JSON, name: str = "") -> bytes:
    """An event of an event stream, with a name where the vendor gives them."""
    return (f"event: {name}\n" if name else "").encode() + b"data: " + dumped(value) + b"\n\n"


def pieces(text: str, size: int = 0) -> Iterator[str]:
    return (text[place : place + (size or len(text))] for place in range(0, len(text), size or len(text) or 1))


CHUNK: Mapping[str, JSON] = {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "m"}
DONE = b"data: [DONE]\n\n"


def chunk(delta: JSON = None, *, finish: str | None = None, **more: JSON) -> bytes:
    choice: JSON = {"index": 0, "delta": {} if delta is None else delta, "finish_reason": finish}
    return event({**CHUNK, "choices": [choice], **more})


def calls(*fragments: JSON) -> bytes:
    return chunk({"tool_calls": list(fragments)})


def fragment(
    *, index: int | None = None, wire_id: str | None = None, name: str | None = None, arguments: JSON = None
) -> dict[str, JSON]:
    function = {key: value for key, value in (("name", name), ("arguments", arguments)) if value is not None}
    found: dict[str, JSON] = {"function": function}
    if index is not None:
        found["index"] = index
    if wire_id is not None:
        found |= {"id": wire_id, "type": "function"}
    return found


class OpenAI:
    path = "/v1/chat/completions"

    def request(self, entries: Entries, *, system: str = SYSTEM, tools: Sequence[Tool] = (), model: str = "m") -> bytes:
        messages: list[JSON] = [{"role": "system", "content": system}] if system else []
        for entry in entries:
            match entry:
                case User():
                    messages.append({"role": "user", "content": [{"type": "text", "text": entry.text}]})
                case Answer():
                    messages.append(self._message(entry))
                case Results():
                    messages += [{"role": "tool", "tool_call_id": it.id, "content": told} for it, told in entry.told]
        offered: JSON = [{"type": "function", "function": tool.function} for tool in tools]
        body: dict[str, JSON] = {"model": model, "stream": True, "messages": messages}
        return dumped(body | ({"tools": offered} if tools else {}))

    def whole(self, answer: Answer) -> bytes:
        message = self._message(answer) | ({"reasoning_content": answer.thinking} if answer.thinking else {})
        choice: JSON = {"index": 0, "message": message, "finish_reason": self._finish(answer)}
        return dumped({"id": "c1", "object": "chat.completion", "choices": [choice], **self.usage(answer.usage)})

    def events(self, answer: Answer, size: int = 0) -> list[bytes]:
        found = [chunk({"reasoning_content": piece}) for piece in pieces(answer.thinking, size)]
        found += [chunk({"content": piece}) for piece in pieces(answer.text, size)]
        for number, call in enumerate(answer.calls):
            found.append(calls(fragment(index=number, wire_id=call.id, name=call.name, arguments="")))
            found += [calls(fragment(index=number, arguments=piece)) for piece in pieces(call.text, size)]
        found.append(chunk(finish=self._finish(answer)))
        if answer.usage is not None:
            found.append(event({**CHUNK, "choices": [], **self.usage(answer.usage)}))
        return [*found, DONE]

    @staticmethod
    def _message(answer: Answer) -> dict[str, JSON]:
        message: dict[str, JSON] = {"role": "assistant", "content": answer.text or None}
        if answer.calls:
            message["tool_calls"] = [
                {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.text}}
                for call in answer.calls
            ]
        return message

    @staticmethod
    def _finish(answer: Answer) -> str:
        return answer.stop or ("tool_calls" if answer.calls else "stop")

    @staticmethod
    def usage(usage: Usage | None) -> dict[str, JSON]:
        if usage is None:
            return {}
        counts: dict[str, JSON] = {
            "prompt_tokens": usage.input,
            "completion_tokens": usage.output,
            "total_tokens": usage.input + usage.output,
        }
        if usage.cached:
            counts["prompt_tokens_details"] = {"cached_tokens": usage.cached}
        if usage.thinking:
            counts["completion_tokens_details"] = {"reasoning_tokens": usage.thinking}
        return {"usage": counts}


class Responses:
    path = "/v1/responses"

    def request(self, entries: Entries, *, system: str = SYSTEM, tools: Sequence[Tool] = (), model: str = "m") -> bytes:
        items: list[JSON] = []
        for entry in entries:
            match entry:
                case User():
                    items.append({"role": "user", "content": entry.text})
                case Answer():
                    items += self._items(entry)
                case Results():
                    items += [
                        {"type": "function_call_output", "call_id": call.id, "output": told}
                        for call, told in entry.told
                    ]
        offered: JSON = [{"type": "function", **tool.function} for tool in tools]
        body: dict[str, JSON] = {"model": model, "instructions": system, "input": items}
        return dumped(body | ({"tools": offered} if tools else {}))

    def whole(self, answer: Answer) -> bytes:
        return dumped(self._response(answer, self._items(answer)))

    def events(self, answer: Answer, size: int = 0) -> list[bytes]:
        begun: JSON = {**self._response(Answer(), []), "status": "in_progress"}
        found: list[dict[str, JSON]] = [{"type": "response.created", "response": begun}]
        for number, item in enumerate(self._items(answer)):
            place: dict[str, JSON] = {"item_id": item["id"], "output_index": number}
            kind, text, begun, part = self._streamed(item)
            found.append({"type": "response.output_item.added", "output_index": number, "item": begun})
            if part is not None:
                index = "summary_index" if "summary" in kind else "content_index"
                place[index] = 0
                name = "reasoning_summary_part" if "summary" in kind else "content_part"
                found.append({"type": f"response.{name}.added", **place, "part": part})
            found += [{"type": f"response.{kind}.delta", **place, "delta": piece} for piece in pieces(text, size)]
            found.append({"type": "response.output_item.done", "output_index": number, "item": item})
        response = self._response(answer, self._items(answer))
        found.append({"type": f"response.{response['status']}", "response": response})
        return [event({**value, "sequence_number": number}, str(value["type"])) for number, value in enumerate(found)]

    @staticmethod
    def _streamed(item: Mapping[str, JSON]) -> tuple[str, str, JSON, JSON]:
        """The name of an item's deltas, all of their text, the item before the first of them, and its part if it has some."""
        match dict(item):
            case {"type": "reasoning", "summary": [{"text": str() as text} as part, *_]}:
                return "reasoning_summary_text", text, {**item, "summary": []}, {**part, "text": ""}
            case {"type": "message", "content": [{"text": str() as text} as part, *_]}:
                return "output_text", text, {**item, "content": []}, {**part, "text": ""}
            case _:
                return "function_call_arguments", str(item["arguments"]), {**item, "arguments": ""}, None

    @staticmethod
    def _items(answer: Answer) -> list[dict[str, JSON]]:
        items: list[dict[str, JSON]] = []
        if answer.thinking:
            summary: JSON = [{"type": "summary_text", "text": answer.thinking}]
            items.append({"type": "reasoning", "id": "rs_1", "summary": summary})
        if answer.text:
            content: JSON = [{"type": "output_text", "text": answer.text, "annotations": []}]
            items.append({"type": "message", "id": "msg_1", "role": "assistant", "content": content})
        for number, call in enumerate(answer.calls):
            named: dict[str, JSON] = {"id": f"fc_{number}", "call_id": call.id, "name": call.name}
            items.append({"type": "function_call", **named, "arguments": call.text})
        return items

    @staticmethod
    def _response(answer: Answer, output: Sequence[JSON]) -> dict[str, JSON]:
        value: dict[str, JSON] = {"id": "resp_1", "object": "response", "status": answer.stop or "completed"}
        value["output"] = output
        if (usage := answer.usage) is not None:
            value["usage"] = {
                "input_tokens": usage.input,
                "input_tokens_details": {"cached_tokens": usage.cached},
                "output_tokens": usage.output,
                "output_tokens_details": {"reasoning_tokens": usage.thinking},
                "total_tokens": usage.input + usage.output,
            }
        return value


class Anthropic:
    """Messages, with the mark for the cache on the last block."""

    path = "/v1/messages"

    def request(self, entries: Entries, *, system: str = SYSTEM, tools: Sequence[Tool] = (), model: str = "m") -> bytes:
        messages: list[dict[str, JSON]] = []
        blocks: list[dict[str, JSON]] = []
        for entry in entries:
            match entry:
                case User():
                    blocks = [{"type": "text", "text": entry.text}]
                case Answer():
                    blocks = self._blocks(entry)
                case Results():
                    blocks = [
                        {"type": "tool_result", "tool_use_id": call.id, "content": [{"type": "text", "text": told}]}
                        for call, told in entry.told
                    ]
            messages.append({"role": "assistant" if isinstance(entry, Answer) else "user", "content": blocks})
        if blocks:
            blocks[-1]["cache_control"] = {"type": "ephemeral"}
        offered: JSON = [
            {"name": tool.name, "description": tool.description, "input_schema": tool.function["parameters"]}
            for tool in tools
        ]
        body: dict[str, JSON] = {"model": model, "max_tokens": 99, "system": system, "messages": [*messages]}
        return dumped(body | ({"tools": offered} if tools else {}))

    def whole(self, answer: Answer) -> bytes:
        content: JSON = [*self._blocks(answer)]
        message: dict[str, JSON] = {"id": "msg_1", "type": "message", "role": "assistant", "content": content}
        return dumped({**message, "stop_reason": self._stop(answer), **self._usage(answer)})

    def events(self, answer: Answer, size: int = 0) -> list[bytes]:
        empty: dict[str, JSON] = {"id": "msg_1", "type": "message", "role": "assistant", "content": []}
        found: list[dict[str, JSON]] = [{"type": "message_start", "message": {**empty, **self._usage(answer)}}]
        for number, block in enumerate(self._blocks(answer)):
            begun, deltas = self._streamed(block, size)
            found.append({"type": "content_block_start", "index": number, "content_block": begun})
            found += [{"type": "content_block_delta", "index": number, "delta": delta} for delta in deltas]
            found.append({"type": "content_block_stop", "index": number})
        found.append({"type": "message_delta", "delta": {"stop_reason": self._stop(answer)}, **self._usage(answer)})
        found.append({"type": "message_stop"})
        return [event(value, str(value["type"])) for value in found]

    @staticmethod
    def _streamed(block: Mapping[str, JSON], size: int) -> tuple[JSON, list[JSON]]:
        """A block before its first delta, and its deltas."""
        match dict(block):
            case {"type": "thinking", "thinking": str() as text, "signature": signature}:
                deltas: list[JSON] = [{"type": "thinking_delta", "thinking": piece} for piece in pieces(text, size)]
                deltas.append({"type": "signature_delta", "signature": signature})
                return {"type": "thinking", "thinking": "", "signature": ""}, deltas
            case {"type": "text", "text": str() as text}:
                return {"type": "text", "text": ""}, [{"type": "text_delta", "text": it} for it in pieces(text, size)]
            case _:
                written = json.dumps(block["input"], ensure_ascii=False)
                return {**block, "input": {}}, [
                    {"type": "input_json_delta", "partial_json": piece} for piece in pieces(written, size)
                ]

    @staticmethod
    def _blocks(answer: Answer) -> list[dict[str, JSON]]:
        blocks: list[dict[str, JSON]] = []
        if answer.thinking:
            blocks.append({"type": "thinking", "thinking": answer.thinking, "signature": "c2lnbmVk"})
        if answer.text:
            blocks.append({"type": "text", "text": answer.text})
        return blocks + [
            {"type": "tool_use", "id": call.id, "name": call.name, "input": dict(call.arguments)}
            for call in answer.calls
        ]

    @staticmethod
    def _stop(answer: Answer) -> str:
        return answer.stop or ("tool_use" if answer.calls else "end_turn")

    @staticmethod
    def _usage(answer: Answer) -> dict[str, JSON]:
        if (usage := answer.usage) is None:
            return {}
        counts: JSON = {
            "input_tokens": usage.input - usage.cached,
            "cache_read_input_tokens": usage.cached,
            "output_tokens": usage.output,
        }
        return {"usage": counts}


class Gemini:
    """generateContent, whose calls have no ids."""

    path = "/v1beta/models/gemini-x:streamGenerateContent?alt=sse"

    def request(self, entries: Entries, *, system: str = SYSTEM, tools: Sequence[Tool] = (), model: str = "m") -> bytes:
        del model  # stands in the path
        contents: list[JSON] = []
        for entry in entries:
            match entry:
                case User():
                    contents.append({"role": "user", "parts": [{"text": self.asked(entry.text)}]})
                case Answer():
                    contents.append({"role": "model", "parts": self.answered(entry)})
                case Results():
                    contents.append({"role": "user", "parts": [self.result(call, told) for call, told in entry.told]})
        body: dict[str, JSON] = {"systemInstruction": {"parts": [{"text": system}]}, "contents": contents}
        offered: JSON = [{"functionDeclarations": [tool.function for tool in tools]}]
        return dumped(body | ({"tools": offered} if tools else {}))

    def whole(self, answer: Answer) -> bytes:
        return dumped(self._value(self._parts(answer), answer, is_last=True))

    def events(self, answer: Answer, size: int = 0) -> list[bytes]:
        said: list[JSON] = [{"text": piece, "thought": True} for piece in pieces(answer.thinking, size)]
        said += [{"text": piece} for piece in pieces(answer.text, size)]
        said += self._calls(answer)
        return [*(event(self._value([part], answer)) for part in said), event(self._value([], answer, is_last=True))]

    def asked(self, text: str) -> str:
        return text

    def answered(self, answer: Answer) -> list[JSON]:
        return self._parts(answer)

    def result(self, call: Call, text: str) -> JSON:
        return {"functionResponse": {"name": call.name, "response": {"result": text}}}

    def _parts(self, answer: Answer) -> list[JSON]:
        parts: list[JSON] = [{"text": answer.thinking, "thought": True}] if answer.thinking else []
        parts += [{"text": answer.text}] if answer.text else []
        return parts + self._calls(answer)

    @staticmethod
    def _calls(answer: Answer) -> list[JSON]:
        return [{"functionCall": {"name": call.name, "args": dict(call.arguments)}} for call in answer.calls]

    @staticmethod
    def _value(parts: Sequence[JSON], answer: Answer, *, is_last: bool = False) -> JSON:
        candidate: dict[str, JSON] = {"content": {"role": "model", "parts": parts}, "index": 0}
        value: dict[str, JSON] = {"candidates": [candidate]}
        if is_last:
            candidate["finishReason"] = answer.stop or "STOP"
        if is_last and (usage := answer.usage) is not None:
            value["usageMetadata"] = {
                "promptTokenCount": usage.input,
                "cachedContentTokenCount": usage.cached,
                "candidatesTokenCount": usage.output - usage.thinking,
                "thoughtsTokenCount": usage.thinking,
                "totalTokenCount": usage.input + usage.output,
            }
        return value


class GeminiCli(Gemini):
    """The same as Gemini CLI tells it: calls get ids of its own, results and what was asked are framed."""

    @override
    def asked(self, text: str) -> str:
        return f"<session_context>\nToday is Monday.\n</session_context>\n\n{text}"

    @override
    def answered(self, answer: Answer) -> list[JSON]:
        parts: list[JSON] = [{"text": answer.text}] if answer.text else []
        return parts + [
            {"functionCall": {"id": f"own_{call.id}", "name": call.name, "args": dict(call.arguments)}}
            for call in answer.calls
        ]

    @override
    def result(self, call: Call, text: str) -> JSON:
        framed = f"<untrusted_context>\n{text}\n</untrusted_context>"
        return {"functionResponse": {"id": f"own_{call.id}", "name": call.name, "response": {"output": framed}}}


class Ollama:
    """`/api/chat`: lines; the server names its calls, and its SDKs drop that."""

    path = "/api/chat"

    def request(self, entries: Entries, *, system: str = SYSTEM, tools: Sequence[Tool] = (), model: str = "m") -> bytes:
        messages: list[JSON] = [{"role": "system", "content": system}] if system else []
        for entry in entries:
            match entry:
                case User():
                    messages.append({"role": "user", "content": entry.text})
                case Answer():
                    messages.append(self._message(entry.text, entry.calls))
                case Results():
                    messages += [{"role": "tool", "tool_name": call.name, "content": told} for call, told in entry.told]
        offered: JSON = [{"type": "function", "function": tool.function} for tool in tools]
        body: dict[str, JSON] = {"model": model, "messages": messages}
        return dumped(body | ({"tools": offered} if tools else {}))

    def whole(self, answer: Answer) -> bytes:
        message = self._message(answer.text, answer.calls, is_named=True)
        if answer.thinking:
            message["thinking"] = answer.thinking
        return self._line(message, answer, is_last=True)

    def events(self, answer: Answer, size: int = 0) -> list[bytes]:
        said: list[dict[str, JSON]] = [{**self._message(""), "thinking": it} for it in pieces(answer.thinking, size)]
        said += [self._message(piece) for piece in pieces(answer.text, size)]
        said += [self._message("", [call], is_named=True) for call in answer.calls]
        return [*(self._line(each, answer) for each in said), self._line(self._message(""), answer, is_last=True)]

    @staticmethod
    def _message(text: str, calls: Sequence[Call] = (), *, is_named: bool = False) -> dict[str, JSON]:
        message: dict[str, JSON] = {"role": "assistant", "content": text}
        if calls:
            message["tool_calls"] = [
                ({"id": call.id} if is_named else {})
                | {"function": {"name": call.name, "arguments": dict(call.arguments)}}
                for call in calls
            ]
        return message

    @staticmethod
    def _line(message: JSON, answer: Answer, *, is_last: bool = False) -> bytes:
        value: dict[str, JSON] = {"model": "m", "message": message, "done": is_last}
        if is_last:
            value["done_reason"] = answer.stop or "stop"
        if is_last and answer.usage is not None:
            value |= {"prompt_eval_count": answer.usage.input, "eval_count": answer.usage.output}
        return dumped(value) + b"\n"


Dialect = OpenAI | Responses | Anthropic | Gemini | Ollama
"""A way to speak to models: `path`, that of its requests behind the origin; `request`, the body of one; of an answer `whole`, its body
where it is not streamed, and `events`, those of a stream: texts and arguments in pieces of so many characters, 0 for whole."""
DIALECTS: Mapping[str, Dialect] = {
    "openai": OpenAI(),
    "openai-responses": Responses(),
    "anthropic": Anthropic(),
    "gemini": Gemini(),
    "gemini-cli": GeminiCli(),
    "ollama": Ollama(),
}


def says(dialect: str, answer: Answer, *, size: int = 0, is_streamed: bool = True) -> list[bytes]:
    """An answer as a provider sends it: the head, and each event as a piece of its own."""
    form = DIALECTS[dialect]
    if not is_streamed:
        return [response(form.whole(answer))]
    kind = "application/x-ndjson" if dialect == "ollama" else "text/event-stream"
    return [head(kind=kind), *form.events(answer, size)]


def text(*words: str, tokens: tuple[int, int] = (10, 5)) -> list[bytes]:
    """An answer of Chat Completions in words, in these pieces, as a provider sends it."""
    usage = event({**CHUNK, "choices": [], **OpenAI.usage(Usage(*tokens))})
    return [head(), *(chunk({"content": word}) for word in words), chunk(finish="stop"), usage, DONE]


def asks(*called: tuple[str, str], words: str = "") -> list[bytes]:
    """An answer of Chat Completions that asks for calls: names and arguments as they are written."""
    wanted = [Call(f"call_{number}", name, {}, written=written) for number, (name, written) in enumerate(called)]
    return says("openai", Answer(words, wanted, usage=Usage()))
