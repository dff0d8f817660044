"""Writes requests for Google's generateContent. Source: Gemini API reference, generateContent."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final
from urllib.parse import quote

from typing_extensions import override

from tui_host.capture.json.narrowing import mapping
from tui_host.capture.json.reading import read_json
from tui_host.errors import JSON, ModelError
from tui_host.llm.dialects.body_kinds import AnswerPart, Fit, are_objects, error_object, first_object, text_member
from tui_host.llm.dialects.dialect import Dialect, Target, WireRequest
from tui_host.llm.dialects.gemini.outline import GeminiParts
from tui_host.llm.dialects.gemini.read import GeminiReading
from tui_host.llm.messages import Ask, Image, Message, Part, Text, Thinking, ToolCall, ToolResult, ToolSpec
from tui_host.llm.provider_faults import refusal
from tui_host.llm.request_writing import (
    CallIds,
    JsonText,
    arguments_object,
    body_bytes,
    echo_of,
    results_in,
    system_text,
    tools_text,
    with_taken_images,
)
from tui_host.llm.schema_adaptation import SchemaRules, adapt
from tui_host.llm.tool_names import NameRule
from tui_host.settings.environment_references import Secret

_LONGEST_ID = 256
_MOST_STOPS = 5
_IMAGES = frozenset({"image/png", "image/jpeg", "image/webp", "image/heic", "image/heif"})
"""The types of images that the API accepts. Source: ai.google.dev, Gemini API, Image understanding."""
_GENERATION = "generationConfig"
_BESIDE = {
    _GENERATION,
    "cachedContent",
    "contents",
    "labels",
    "safetySettings",
    "serviceTier",
    "store",
    "systemInstruction",
    "toolConfig",
    "tools",
}
"""Members of the body outside `generationConfig`, which holds all other options."""
_PREFIXES = ("models/", "tunedModels/")
_THREE = 3

_SIGNATURE: Final = "thoughtSignature"
"""The member of a part with its signature, to be sent back in the same part."""
_DUMMY: Final = "skip_thought_signature_validator"
"""The documented placeholder for the signature of calls made by another model."""

_GENERATION_NUMBER = re.compile(r"gemini-(\d+(?:\.\d+)?)")
_THINKS_SINCE = 2.5
_LEVELS_SINCE = 3
_THINKS_NOT = ("image", "tts", "live", "audio", "embedding")
_LEVELS: Mapping[str, str] = {"none": "MINIMAL", "off": "MINIMAL", "max": "XHIGH"}
_BUDGETS: Mapping[str, int] = {
    "none": 0,
    "off": 0,
    "minimal": 1024,
    "low": 1024,
    "medium": 8192,
    "high": 24_576,
    "xhigh": 24_576,
    "max": 24_576,
    "auto": -1,
}
"""The tokens for each effort, as in the vendor's OpenAI-compatible API."""
_SECONDS = re.compile(r"(\d+(?:\.\d+)?)s")


class Gemini(Dialect):
    """generateContent."""

    name = "gemini"
    versions = ("v1beta", "v1")
    paths = (":streamGenerateContent", ":generateContent")
    models_path = "models?pageSize=1000"
    name_rule = NameRule(first="A-Za-z_", rest="A-Za-z0-9_.:-")
    part_reader = GeminiParts
    answer_reader = GeminiReading

    @override
    def write(self, ask: Ask, target: Target) -> WireRequest:
        named_options, extra = dict(ask.options.others), dict(ask.extra)
        given = {name: value for name, value in named_options.items() if name in _BESIDE} | extra
        body: dict[str, JSON] = {}
        system = system_text(ask.messages)
        if system:
            body["systemInstruction"] = {"parts": [{"text": system}]}
        generation = _generation(ask) | {name: value for name, value in named_options.items() if name not in _BESIDE}
        generation |= mapping(given.pop(_GENERATION, None))
        if generation:
            body[_GENERATION] = generation
        declared = tools_text(ask.tools, _tool)
        tools = None if declared is None else JsonText(f'[{{"functionDeclarations":{declared}}}]')
        contents = _Writer(ask, target.provider, self.name_rule).contents()
        whole, growing = body_bytes(body, given, tools=tools, contents=contents)
        return WireRequest(
            path=f"{_path(ask.model)}:{'streamGenerateContent?alt=sse' if ask.stream else 'generateContent'}",
            body=whole,
            growing=growing,
            unsent=ask.unsent(_stops(ask)),
        )

    @override
    def headers(self, secret: Secret | None, target: Target) -> tuple[tuple[str, str], ...]:
        """Return the key in a header; a key in the URL would be logged."""
        del target
        return () if secret is None else (("x-goog-api-key", secret.reveal()),)

    @override
    def error(self, status: int, headers: Sequence[tuple[str, str]], body: bytes) -> ModelError:
        """Make the error for a refusal, with the wait stated in the body."""
        return _with_wait(refusal(status, headers, body), body)

    @override
    def fits_request(self, body: Mapping[str, JSON]) -> Fit:
        """Return 2 for a body with `contents`."""
        return 2 if are_objects(body.get("contents")) and "jsonrpc" not in body else 0

    @override
    def answer_part(self, body: Mapping[str, JSON]) -> AnswerPart | None:
        """Recognise a response, whole or of a stream (both look the same), and an error."""
        if "candidates" not in body and "usageMetadata" not in body:
            return AnswerPart() if {"code", "status"} <= error_object(body).keys() else None
        candidate = first_object(body.get("candidates"))
        return AnswerPart(
            stream=text_member(body, "responseId"),
            ends=bool(candidate.get("finishReason")),
            is_empty=not mapping(candidate.get("content")).get("parts"),
        )

    @override
    def model_name(self, entry: JSON) -> str:
        methods = mapping(entry).get("supportedGenerationMethods")
        is_for_text = not isinstance(methods, list) or "generateContent" in methods
        return super().model_name(mapping(entry).get("name")).removeprefix("models/") if is_for_text else ""


def _with_wait(error: ModelError, body: bytes) -> ModelError:
    """Add the wait to an error: it stands only in the body. A daily quota gets no wait."""
    try:
        value = read_json(body) if body else None
    except ValueError:
        return error
    waits: list[float] = []
    is_for_today = False
    for detail in _details(value):
        waits += [float(match[1]) for match in [_SECONDS.fullmatch(str(detail.get("retryDelay")))] if match]
        violations = detail.get("violations")
        for violation in violations if isinstance(violations, list) else []:
            is_for_today |= isinstance(violation, Mapping) and "PerDay" in str(violation.get("quotaId"))
        if detail.get("reason") == "API_KEY_INVALID":
            error.remedy = "check the credential"
    if is_for_today:
        error.passes, error.remedy = False, "the quota of this day is used up"
    elif waits and error.retry_after is None:
        error.passes, error.retry_after = True, max(waits)
        error.remedy = f"try again in {max(waits):.0f} s"
    return error


def _details(value: JSON) -> list[Mapping[str, JSON]]:
    value = value[0] if isinstance(value, list) and value else value
    fault = value.get("error") if isinstance(value, Mapping) else None
    details = fault.get("details") if isinstance(fault, Mapping) else None
    return [detail for detail in details if isinstance(detail, Mapping)] if isinstance(details, list) else []


def _generation_of(model: str) -> float | None:
    """Return 2.5 for `gemini-2.5-flash`, 2 for open models, which have the same requirements, None for unknown names."""
    match = _GENERATION_NUMBER.search(model)
    if match is not None:
        return float(match[1])
    return 2.0 if "gemma" in model or "learnlm" in model else None


def _thinking_config(model: str, effort: str | None) -> dict[str, JSON] | None:
    """Return the settings for thinking: the effort, and summaries of thoughts if the model has any. None for neither."""
    generation = _generation_of(model)
    if effort is None:
        thinks = generation is not None and generation >= _THINKS_SINCE
        return {"includeThoughts": True} if thinks and not any(word in model for word in _THINKS_NOT) else None
    word = effort.lower()
    if generation is not None and generation >= _LEVELS_SINCE:
        level: dict[str, JSON] = {} if word == "auto" else {"thinkingLevel": _LEVELS.get(word, word.upper())}
        return {"includeThoughts": True, **level}
    budget = int(word) if word.lstrip("-").isdecimal() else _BUDGETS.get(word)
    if budget is None:
        return {"includeThoughts": True, "thinkingLevel": word.upper()}
    return {"includeThoughts": budget != 0, "thinkingBudget": budget}


def _path(model: str) -> str:
    return quote(model if model.startswith(_PREFIXES) else f"models/{model}", safe="/@")


def _stops(ask: Ask) -> list[str]:
    return list(ask.stops[:_MOST_STOPS])


def _generation(ask: Ask) -> dict[str, JSON]:
    options = ask.options
    written: dict[str, JSON] = {
        "temperature": options.temperature,
        "topP": options.top_p,
        "maxOutputTokens": options.max_tokens,
        "stopSequences": _stops(ask) or None,
        "seed": options.seed,
        "thinkingConfig": _thinking_config(ask.model, options.reasoning_effort),
    }
    return {name: value for name, value in written.items() if value is not None}


def _tool(tool: ToolSpec) -> JSON:
    declared: dict[str, JSON] = {"name": tool.name}
    if tool.description:
        declared["description"] = tool.description
    declared["parametersJsonSchema"] = adapt(tool.schema, SchemaRules()).schema
    return declared


class _Writer:
    """Writes the conversation of a request."""

    def __init__(self, ask: Ask, provider: str, rule: NameRule) -> None:
        self._ask = ask
        self._provider = provider
        self._rule = rule
        self._ids = CallIds(_LONGEST_ID)
        # From generation 3 on a call needs a signature; earlier generations refuse a placeholder.
        generation = _generation_of(ask.model)
        self._wants_signatures = generation is None or generation >= _THREE
        self._takes_images_in_results = self._wants_signatures

    def contents(self) -> list[JSON]:
        """Write all contents, oldest first, without empty contents."""
        contents: list[JSON] = []
        results: list[JSON] = []  # results of one step become one content, in the order of the calls
        for message in self._ask.messages:
            if message.role == "tool":
                if not results:
                    contents.append({"role": "user", "parts": results})
                results += self._results(results_in(message))
                continue
            results = []
            if message.role == "system":
                continue  # written as `systemInstruction`
            parts = self._assistant(message) if message.role == "assistant" else list(_content(message.parts))
            if parts:
                contents.append({"role": "model" if message.role == "assistant" else "user", "parts": parts})
        return contents

    def _assistant(self, message: Message) -> list[JSON]:
        """Write the parts as they came, each with its signature."""
        self._ids.begin_message()
        calls = [part for part in message.parts if isinstance(part, ToolCall)]
        is_signed = any(_SIGNATURE in self._echo(call) for call in calls)
        lacking = calls[0] if calls and not is_signed and self._wants_signatures else None
        written = (self._part(part, is_lacking=part is lacking) for part in message.parts)
        return [part for part in written if part]

    def _part(self, part: Part, *, is_lacking: bool) -> dict[str, JSON]:
        echo = self._echo(part)
        match part:
            case ToolCall():
                return {"functionCall": self._call(part), **({_SIGNATURE: _DUMMY} if is_lacking else {}), **echo}
            case Text():
                has_words = bool(part.text) or set(echo) == {_SIGNATURE}
                return {**({"text": part.text} if has_words else {}), **echo}
            case Thinking() if echo:
                return {"text": part.text, "thought": True, **echo}
            case _:
                return {}  # thoughts need not be sent back

    def _echo(self, part: Part) -> Mapping[str, JSON]:
        return echo_of(part, provider=self._provider, model=self._ask.model, dialect="gemini")

    def _call(self, call: ToolCall) -> JSON:
        return {**self._named(call), "args": arguments_object(call.arguments)}

    def _named(self, call: ToolCall) -> dict[str, JSON]:
        """Return the name of a call or result, with the id if the vendor gave one."""
        name = self._rule.clean(call.name)
        return {**({"id": self._ids.of(call)} if call.wire_id else {}), "name": name}

    def _results(self, results: Sequence[ToolResult]) -> list[JSON]:
        responses: list[JSON] = []
        beside: list[JSON] = []
        for result in results:
            content = with_taken_images(result.content, _IMAGES)
            text = "\n".join(part.text for part in content if isinstance(part, Text))
            response: dict[str, JSON] = self._named(result.call)
            response["response"] = {"error" if result.is_error else "output": text}
            images: list[JSON] = [_image(part) for part in content if isinstance(part, Image)]
            if images and self._takes_images_in_results:
                response["parts"] = images
            else:
                beside += images
            responses.append({"functionResponse": response})
        return responses + beside


def _content(parts: Sequence[object]) -> Iterator[JSON]:
    for part in with_taken_images(parts, _IMAGES):
        if isinstance(part, Image):
            yield _image(part)
        elif isinstance(part, Text) and part.text:
            yield {"text": part.text}


def _image(image: Image) -> JSON:
    return {"inlineData": {"mimeType": image.media_type, "data": image.data}}
