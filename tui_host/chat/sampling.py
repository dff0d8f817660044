"""Lets a session's model answer a server's sampling request, in an exchange of its own. Imported late, with httpx.

Source: MCP 2025-11-25, Client features, Sampling.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from typing_extensions import override

from tui_host.capture.json.narrowing import items, mapping, text_or_empty
from tui_host.chat.call_arguments import read_arguments
from tui_host.errors import JSON, ModelError
from tui_host.llm.fold import Fold
from tui_host.llm.messages import Ask, Image, Message, Part, Text, ToolCall, ToolResult, ToolSpec
from tui_host.servers.server_questions import Sampler, SamplingAnswer, SamplingRequest
from tui_host.settings.model_options import Options
from tui_host.settings.schema import ModelRef

if TYPE_CHECKING:
    from tui_host.capture.record import Place
    from tui_host.llm.model_client import ModelClient
    from tui_host.settings.schema import Provider

_STOPS: Mapping[str, str] = {"tools": "toolUse", "length": "maxTokens", "refused": "refusal"}


@dataclass(frozen=True, slots=True)
class ModelSampler(Sampler):
    """Puts sampling requests to a model: that of the session with an id (None: unknown), or another one that its provider has."""

    client: Callable[[], ModelClient]
    provider: Callable[[ModelRef], Awaitable[Provider]]
    model_of: Callable[[str | None], ModelRef]
    providers: Mapping[str, Provider]

    @override
    def model_for(self, session: str | None, hints: Sequence[str]) -> str:
        """Return the model that would answer: the session's, or one of its provider's models that a hint (part of a name) names."""
        own = self.model_of(session)
        offered = (own.model, *(self.providers[own.provider].models if own.provider in self.providers else ()))
        hinted = (name for hint in hints if hint for name in offered if hint.lower() in name.lower())
        return str(ModelRef(provider=own.provider, model=next(hinted, own.model)))

    @override
    async def sample(self, request: SamplingRequest, place: Place) -> SamplingAnswer:
        """Ask the model, in an exchange with the place of the server's call."""
        from tui_host.llm.model_client import Stream

        name, _, model = request.model.partition("/")
        provider = await self.provider(ModelRef(provider=name, model=model))
        fold = Fold(provider=name, model=model, call_id=lambda number: f"sampled_{number + 1}")
        ask = sampling_ask(request, model)
        async with Stream(client=self.client(), provider=provider, ask=ask, place=place) as stream:
            async for events in stream.batches:
                for event in events:
                    fold.add(event)
        if fold.stop in {None, "cut", "failed", "bad call"}:
            raise ModelError("the model's answer to a server broke off", request.model, "let the server ask again")
        # A list of blocks if tools were offered, else the text as the only block.
        content: list[JSON] = [{"type": "text", "text": fold.text}] if fold.text else []
        for call in (folded.call for folded in fold.calls):
            given = read_arguments(call.arguments)
            content.append({"type": "tool_use", "id": call.wire_id or call.id, "name": call.name, "input": given})
        result: Mapping[str, JSON] = {
            "role": "assistant",
            "content": content if items(request.params.get("tools")) else {"type": "text", "text": fold.text},
            "model": request.model,
            "stopReason": _STOPS.get(fold.stop or "", "endTurn"),
        }
        return SamplingAnswer(result=result)


def sampling_ask(request: SamplingRequest, model: str) -> Ask:
    """Return the request to the model. Raises ModelError where a message has content that no model can be given."""
    params = request.params
    system, temperature, most = params.get("systemPrompt"), params.get("temperature"), params.get("maxTokens")
    messages = [Message(role="system", parts=(Text(text=system),))] if isinstance(system, str) and system else []
    calls: dict[str, ToolCall] = {}  # a result names its call by the id alone, and models want the name too
    for message in map(mapping, items(params.get("messages"))):
        content = message.get("content")
        parts = [_part(mapping(block), calls) for block in (content if isinstance(content, list) else [content])]
        results = tuple(part for part in parts if isinstance(part, ToolResult))
        others = tuple(part for part in parts if not isinstance(part, ToolResult))
        if results:
            messages.append(Message(role="tool", parts=results))
        if others:
            role = "assistant" if message.get("role") == "assistant" else "user"
            messages.append(Message(role=role, parts=others))
    # Vendors forbid calls each in their own way, but where no tool is offered, none is called.
    has_tools = mapping(params.get("toolChoice")).get("mode") != "none"
    tools: list[ToolSpec] = []
    for tool in map(mapping, items(params.get("tools")) if has_tools else ()):
        name, description = text_or_empty(tool.get("name")), text_or_empty(tool.get("description"))
        schema = tool.get("inputSchema")
        tools.append(ToolSpec(name=name, description=description, schema=schema, server=request.server, tool=name))
    return Ask(
        model=model,
        messages=tuple(messages),
        tools=tuple(tools),
        options=Options(
            temperature=temperature if isinstance(temperature, int | float) else None,
            max_tokens=most if isinstance(most, int) else None,
            stop=tuple(text for text in items(params.get("stopSequences")) if isinstance(text, str)),
        ),
    )


def _part(block: Mapping[str, JSON], calls: dict[str, ToolCall]) -> Part:
    match block.get("type"):
        case "text":
            return Text(text=text_or_empty(block.get("text")))
        case "image":
            return Image(media_type=text_or_empty(block.get("mimeType")), data=text_or_empty(block.get("data")))
        case "tool_use":
            number, name = text_or_empty(block.get("id")), text_or_empty(block.get("name"))
            calls[number] = ToolCall(id=number, wire_id=number, name=name, arguments=json.dumps(block.get("input")))
            return calls[number]
        case "tool_result" if (call := calls.get(text_or_empty(block.get("toolUseId")))) is not None:
            texts = [text_or_empty(mapping(part).get("text")) for part in items(block.get("content"))]
            content = tuple(Text(text=text) for text in texts)
            return ToolResult(call=call, content=content, is_error=block.get("isError") is True)
        case kind:
            # Left out, the model would answer another question than the one that was approved.
            raise ModelError(f"the server's request has content that cannot be put to a model: {kind!r}"[:200])
