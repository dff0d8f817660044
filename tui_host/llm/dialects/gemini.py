"""`gemini`: Google's generateContent. Source: Gemini API reference, generateContent and Content."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, Literal
from urllib.parse import quote

from tui_host.capture.json.narrowing import items, mapping, text_or_empty
from tui_host.capture.json.reading import read_json
from tui_host.errors import JSON, ModelError
from tui_host.llm.answer_state import AnswerState
from tui_host.llm.body_framing import count_of, source
from tui_host.llm.dialects.body_kinds import AnswerPart, Fit, are_objects, error_object, first_object
from tui_host.llm.dialects.dialect import Dialect, Target, WireRequest, name_or_id
from tui_host.llm.events import CallMalformed
from tui_host.llm.images import with_taken_images
from tui_host.llm.layout import Layout, Spot
from tui_host.llm.messages import Ask, Image, Message, Part, Stop, Text, Thinking, ToolCall, ToolResult, ToolSpec, Usage
from tui_host.llm.provider_faults import fault_in
from tui_host.llm.request_writing import (
    CallIds,
    JsonText,
    arguments_object,
    body_bytes,
    echo_for,
    echo_of,
    results_in,
    system_text,
    tools_text,
)
from tui_host.llm.schema_adaptation import SchemaRules, adapt
from tui_host.llm.tool_names import NameRule
from tui_host.settings.environment_references import Secret

NAME: Final = "gemini"
_LONGEST_ID = 256
_MOST_STOPS = 5
_IMAGES = frozenset({"image/png", "image/jpeg", "image/webp", "image/heic", "image/heif"})
"""The types of images that the API accepts. Source: ai.google.dev, Gemini API, Image understanding."""
_NAMES = NameRule(first="A-Za-z_", rest="A-Za-z0-9_.:-")
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
_SIGNATURE: Final = "thoughtSignature"
"""The member of a part with its signature, to be sent back in the same part."""
_DUMMY: Final = "skip_thought_signature_validator"
"""The documented placeholder for the signature of calls made by another model."""
_GENERATION_NUMBER = re.compile(r"gemini-(\d+(?:\.\d+)?)")
_THINKS_SINCE = 2.5
_THREE = 3
"""The generation that has levels of thinking, wants signatures, and takes images in results."""
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
_MESSAGE_CHARACTERS = 500
_STOPS: Mapping[str, Stop] = {
    "STOP": "end",
    "MAX_TOKENS": "length",
    "CONTINUATION": "paused",
    "MALFORMED_FUNCTION_CALL": "bad call",
    "UNEXPECTED_TOOL_CALL": "bad call",
    "TOO_MANY_TOOL_CALLS": "bad call",
    "MALFORMED_RESPONSE": "failed",
    "MISSING_THOUGHT_SIGNATURE": "failed",
}
_REFUSED = (
    "BLOCKLIST",
    "ESCALATION",
    "LANGUAGE",
    "MODEL_ARMOR",
    "NO_IMAGE",
    "OTHER",
    "PROHIBITED_CONTENT",
    "RECITATION",
    "SAFETY",
    "SPII",
)


# Requests


def write(ask: Ask, target: Target) -> WireRequest:
    """Write a request."""
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
    whole, growing = body_bytes(body, given, tools=tools, contents=_Writer(ask, target.provider).contents())
    model = ask.model if ask.model.startswith(_PREFIXES) else f"models/{ask.model}"
    method = "streamGenerateContent?alt=sse" if ask.stream else "generateContent"
    path = f"{quote(model, safe='/@')}:{method}"
    return WireRequest(path=path, body=whole, growing=growing, unsent=ask.unsent(_stops(ask)))


def headers(secret: Secret | None, target: Target) -> tuple[tuple[str, str], ...]:
    """Return the key in a header; a key in the URL would be logged."""
    del target
    return () if secret is None else (("x-goog-api-key", secret.reveal()),)


def refine(error: ModelError, body: bytes) -> ModelError:
    """Add the wait to an error: it stands only in the body. A daily quota gets no wait."""
    try:
        value = read_json(body) if body else None
    except ValueError:
        return error
    fault = mapping(first_object(value) if isinstance(value, list) else value).get("error")
    waits: list[float] = []
    is_for_today = False
    for detail in map(mapping, items(mapping(fault).get("details"))):
        waits += [float(match[1]) for match in [_SECONDS.fullmatch(str(detail.get("retryDelay")))] if match]
        violations = map(mapping, items(detail.get("violations")))
        is_for_today |= any("PerDay" in str(violation.get("quotaId")) for violation in violations)
        if detail.get("reason") == "API_KEY_INVALID":
            error.remedy = "check the credential"
    if is_for_today:
        error.passes, error.remedy = False, "the quota of this day is used up"
    elif waits and error.retry_after is None:
        error.passes, error.retry_after = True, max(waits)
        error.remedy = f"try again in {max(waits):.0f} s"
    return error


def model_name(entry: JSON) -> str:
    """Return the name of a model that answers in text."""
    methods = mapping(entry).get("supportedGenerationMethods")
    is_for_text = not isinstance(methods, list) or "generateContent" in methods
    return name_or_id(mapping(entry).get("name")).removeprefix("models/") if is_for_text else ""


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
    if generation is not None and generation >= _THREE:
        level: dict[str, JSON] = {} if word == "auto" else {"thinkingLevel": _LEVELS.get(word, word.upper())}
        return {"includeThoughts": True, **level}
    budget = int(word) if word.lstrip("-").isdecimal() else _BUDGETS.get(word)
    if budget is None:
        return {"includeThoughts": True, "thinkingLevel": word.upper()}
    return {"includeThoughts": budget != 0, "thinkingBudget": budget}


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
    described: dict[str, JSON] = {"description": tool.description} if tool.description else {}
    return {"name": tool.name, **described, "parametersJsonSchema": adapt(tool.schema, SchemaRules()).schema}


class _Writer:
    """Writes the conversation of one request."""

    def __init__(self, ask: Ask, provider: str) -> None:
        self._ask = ask
        self._provider = provider
        self._ids = CallIds(_LONGEST_ID)
        # From generation 3 on a call needs a signature; earlier generations refuse a placeholder.
        generation = _generation_of(ask.model)
        self._is_new = generation is None or generation >= _THREE

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
            parts = self._answer(message) if message.role == "assistant" else list(_content(message.parts))
            if parts:
                contents.append({"role": "model" if message.role == "assistant" else "user", "parts": parts})
        return contents

    def _answer(self, message: Message) -> list[JSON]:
        """Write the parts as they came, each with its signature."""
        self._ids.begin_message()
        calls = [part for part in message.parts if isinstance(part, ToolCall)]
        is_signed = any(_SIGNATURE in self._echo(call) for call in calls)
        unsigned = calls[0] if calls and not is_signed and self._is_new else None
        written = (self._part(part, {_SIGNATURE: _DUMMY} if part is unsigned else {}) for part in message.parts)
        return [part for part in written if part]

    def _part(self, part: Part, dummy: Mapping[str, JSON]) -> dict[str, JSON]:
        echo = self._echo(part)
        match part:
            case ToolCall():
                call: JSON = {**self._named(part), "args": arguments_object(part.arguments)}
                return {"functionCall": call, **dummy, **echo}
            case Text():
                has_words = bool(part.text) or set(echo) == {_SIGNATURE}
                return {**({"text": part.text} if has_words else {}), **echo}
            case Thinking() if echo:
                return {"text": part.text, "thought": True, **echo}
            case _:
                return {}  # thoughts need not be sent back

    def _echo(self, part: Part) -> Mapping[str, JSON]:
        return echo_of(part, provider=self._provider, model=self._ask.model, dialect=NAME)

    def _named(self, call: ToolCall) -> dict[str, JSON]:
        """Return the name of a call or result, with the id if the vendor gave one."""
        return {**({"id": self._ids.of(call)} if call.wire_id else {}), "name": _NAMES.clean(call.name)}

    def _results(self, results: Sequence[ToolResult]) -> list[JSON]:
        responses: list[JSON] = []
        beside: list[JSON] = []
        for result in results:
            content = with_taken_images(result.content, _IMAGES)
            text = "\n".join(part.text for part in content if isinstance(part, Text))
            response: dict[str, JSON] = self._named(result.call)
            response["response"] = {"error" if result.is_error else "output": text}
            images: list[JSON] = [_image(part) for part in content if isinstance(part, Image)]
            if images and self._is_new:
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


# Answers


class GeminiReading:
    """Turns chunks of new parts, or a whole answer, into events."""

    def __init__(self) -> None:
        self.state = AnswerState()
        self._words: Literal["text", "thinking"] | None = None  # the kind of part to which text of that kind is added
        self._finish = ""
        self._finish_message = ""

    def event(self, value: dict[str, JSON], data: bytes) -> None:
        """Read a chunk."""
        state = self.state
        if state.has_failed:
            return
        candidate, feedback = _candidate(value), value.get("promptFeedback")
        is_answer = candidate is not None or feedback is not None or "usageMetadata" in value
        fault = fault_in(value) if "error" in value or not is_answer else None
        if fault is not None:
            state.fail(*fault)
            return
        state.has_read = state.has_read or is_answer
        state.has_foreign = state.has_foreign or not is_answer
        if candidate is not None:
            for number, part in enumerate(items(mapping(candidate.get("content")).get("parts"))):
                self._part(part, number, data)
            if "groundingMetadata" in candidate:
                grounding = mapping(candidate["groundingMetadata"])
                queries = grounding.get("webSearchQueries")
                if queries:
                    state.used("google_search", {"queries": queries})
                state.cite(grounding.get("groundingChunks"))
            if "finishReason" in candidate:
                self._finished(candidate["finishReason"], candidate.get("finishMessage"))
        elif isinstance(feedback, dict):
            self._finished(feedback.get("blockReason"), feedback.get("blockReasonMessage"))
        if "usageMetadata" in value:
            state.report(_usage(value["usageMetadata"]))

    def whole(self, value: dict[str, JSON], data: bytes) -> Sequence[dict[str, JSON]]:
        """Return an answer without streaming, which looks like a chunk."""
        del data
        return [value] if value.keys() & {"candidates", "promptFeedback", "usageMetadata"} else ()

    def closing(self) -> None:
        """Tell a malformed call, or a provider's fault, that the finish reason reports."""
        state, reason, message = self.state, self._finish, self._finish_message
        stop = _stop(reason, has_calls=False)
        if stop == "bad call":
            words = message or f"the provider could not read it ({reason})"
            state.events.append(CallMalformed(reason=words, start=state.start, end=state.end))
        elif stop == "failed" and not state.has_failed:
            state.fail(message or f"the provider ended the answer with {reason!r}", reason)

    def stop(self) -> Stop:
        """Translate the finish reason."""
        return _stop(self._finish, has_calls=self.state.calls > 0)

    def _finished(self, reason: JSON, message: JSON) -> None:
        if isinstance(reason, str) and reason and not reason.endswith("_UNSPECIFIED"):
            self._finish = reason
            self._finish_message = text_or_empty(message)[:_MESSAGE_CHARACTERS]
            self.state.finish(f"{reason}: {self._finish_message}" if self._finish_message else reason)

    def _part(self, part: JSON, number: int, data: bytes) -> None:
        """Read a part. Two texts are joined only if neither carries data to send back."""
        state = self.state
        if not isinstance(part, dict):
            state.unreadable("a part that is no object")
            return
        text = part.get("text")
        if isinstance(text, str) and text and len(part) == 1:  # the most frequent part
            self._words = "text"
            state.text(text)
            return
        call = part.get("functionCall")
        if isinstance(call, dict):
            self._words = None
            echo = {name: value for name, value in part.items() if name != "functionCall"}
            index = state.open_call(call.get("id"), call.get("name"), echo_for(NAME, echo))
            state.arguments(index, _arguments(call.get("args"), number, data) if index is not None else "")
            return
        has_text = isinstance(text, str)
        kind: Literal["text", "thinking"] = "thinking" if has_text and part.get("thought") is True else "text"
        # Beside a text stands its signature; a part of an unknown kind goes back whole.
        echo = {name: value for name, value in part.items() if not (has_text and name in {"text", "thought"})}
        if echo and self._words == kind:
            state.end_part(kind)
        if kind == "thinking":
            state.thinking(text)
        else:
            state.text(text)
        if echo:
            state.end_part(kind, echo_for(NAME, echo))
        if echo or text:
            self._words = None if echo else kind


def _candidate(value: Mapping[str, JSON]) -> Mapping[str, JSON] | None:
    """Return the first candidate; requests never ask for several."""
    candidates = value.get("candidates")
    first = candidates[0] if isinstance(candidates, list) and candidates else None
    return first if isinstance(first, dict) and not first.get("index") else None


def _arguments(value: JSON, number: int, data: bytes) -> str:
    """Return the arguments of the call in a part, byte for byte; serialised again if their place is unknown."""
    if value is None or isinstance(value, str):
        return value or ""
    text = source(data, "candidates", 0, "content", "parts", number, "functionCall", "args")
    return text or json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _stop(reason: str, *, has_calls: bool) -> Stop:
    """Translate a finish reason, or the reason for a blocked prompt. Reasons for images are named like those for text."""
    if reason.removeprefix("IMAGE_") in _REFUSED:
        return "refused"
    stop = _STOPS.get(reason, "end")
    return "tools" if stop == "end" and has_calls else stop


def _usage(counts: JSON) -> Usage:
    """Read the tokens of a chunk, whose `candidatesTokenCount` does not include the thoughts."""
    reasoning = count_of(counts, "thoughtsTokenCount")
    return Usage(
        input_total=_sum(count_of(counts, "promptTokenCount"), count_of(counts, "toolUsePromptTokenCount")),
        input_cached=count_of(counts, "cachedContentTokenCount"),
        output_total=_sum(count_of(counts, "candidatesTokenCount"), reasoning),
        reasoning=reasoning,
    )


def _sum(first: int | None, second: int | None) -> int | None:
    return second if first is None else first + (second or 0)


# Bodies without an address


def fits_request(body: Mapping[str, JSON]) -> Fit:
    """Return 2 for a body with `contents`."""
    return 2 if are_objects(body.get("contents")) and "jsonrpc" not in body else 0


def answer_part(body: Mapping[str, JSON]) -> AnswerPart | None:
    """Recognise a response, whole or of a stream (both look the same), and an error."""
    if "candidates" not in body and "usageMetadata" not in body:
        return AnswerPart() if {"code", "status"} <= error_object(body).keys() else None
    candidate = first_object(body.get("candidates"))
    return AnswerPart(
        stream=text_or_empty(body.get("responseId")),
        ends=bool(candidate.get("finishReason")),
        is_empty=not mapping(candidate.get("content")).get("parts"),
    )


GEMINI: Final = Dialect(
    name=NAME,
    paths=(":streamGenerateContent", ":generateContent"),
    versions=("v1beta", "v1"),
    models_path="models?pageSize=1000",
    model_name=model_name,
    name_rule=_NAMES,
    write=write,
    headers=headers,
    reading=GeminiReading,
    refine=refine,
    fits_request=fits_request,
    answer_part=answer_part,
    layout=Layout(
        messages="contents",
        system=("systemInstruction", "system_instruction"),
        content="parts",
        role="user",
        tool_lists=("functionDeclarations", "function_declarations"),
        schemas=("parametersJsonSchema", "parameters_json_schema", "parameters"),
        call=Spot(members=("functionCall", "function_call"), text=("args",)),
        result=Spot(members=("functionResponse", "function_response"), text=("response",)),
        image=Spot(members=("inlineData", "inline_data", "fileData", "file_data")),
        thought=Spot(members=("thought",)),
    ),
)
