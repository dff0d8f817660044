"""`gemini`: Google's generateContent. Source: Gemini API reference, generateContent and Content."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal
from urllib.parse import quote

from typing_extensions import override

from tui_host.capture.json.narrowing import items, mapping, text_or_empty
from tui_host.capture.json.reading import read_json
from tui_host.errors import JSON, ModelError
from tui_host.llm.answer_state import AnswerReader
from tui_host.llm.body_framing import count_of, source
from tui_host.llm.dialects.dialect import Dialect
from tui_host.llm.messages import Ask, Image, Message, Part, Stop, Text, Thinking, ToolCall, ToolResult, Usage
from tui_host.llm.outgoing import Target
from tui_host.llm.provider_faults import fault_in
from tui_host.llm.request_writing import CallIds, RequestWriter, arguments_object, message_of, text_of
from tui_host.llm.tool_names import NameRule

NAME: Final = "gemini"
# Source: ai.google.dev, Gemini API, Image understanding.
_IMAGES = frozenset({"image/png", "image/jpeg", "image/webp", "image/heic", "image/heif"})
_NAMES = NameRule(first="A-Za-z_", rest="A-Za-z0-9_.:-")
_GENERATION = "generationConfig"
# Beside `generationConfig`, which holds all other options.
_BESIDE = frozenset(
    (
        *(_GENERATION, "cachedContent", "contents", "labels", "safetySettings"),
        *("serviceTier", "store", "systemInstruction", "toolConfig", "tools"),
    )
)
_SIGNATURE: Final = "thoughtSignature"  # to be sent back in the same part
_DUMMY: Final = "skip_thought_signature_validator"  # documented, for calls made by another model
_GENERATION_NUMBER = re.compile(r"gemini-(\d+(?:\.\d+)?)")
_THINKS_SINCE = 2.5
_THREE = 3  # the generation that has levels of thinking, wants signatures, and takes images in results
_THINKS_NOT = ("image", "tts", "live", "audio", "embedding")
_LEVELS: Mapping[str, str] = {"none": "MINIMAL", "off": "MINIMAL", "max": "XHIGH"}
# The tokens for each effort, as in the vendor's OpenAI-compatible API.
_BUDGETS: Mapping[str, int] = {
    "none": 0,
    "off": 0,
    "minimal": 1024,
    "low": 1024,
    "medium": 8192,
    "auto": -1,
    **dict.fromkeys(("high", "xhigh", "max"), 24_576),
}
_SECONDS = re.compile(r"(\d+(?:\.\d+)?)s")
_MESSAGE_CHARACTERS = 500
_REFUSED: tuple[str, ...] = (
    *("BLOCKLIST", "ESCALATION", "LANGUAGE", "MODEL_ARMOR", "NO_IMAGE"),
    *("OTHER", "PROHIBITED_CONTENT", "RECITATION", "SAFETY", "SPII"),
)
_STOPS: Mapping[str, Stop] = {
    "STOP": "end",
    "MAX_TOKENS": "length",
    "CONTINUATION": "paused",
    **dict.fromkeys(("MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "TOO_MANY_TOOL_CALLS"), "bad call"),
    **dict.fromkeys(("MALFORMED_RESPONSE", "MISSING_THOUGHT_SIGNATURE"), "failed"),
    **dict.fromkeys(_REFUSED, "refused"),
    **dict.fromkeys((f"IMAGE_{word}" for word in _REFUSED), "refused"),
}


class GeminiWriter(RequestWriter):
    """Writes a request, the conversation as contents of parts."""

    dialect = NAME
    conversation = "contents"
    schema = "parametersJsonSchema"
    images = _IMAGES
    most_stops = 5
    around_tools = ('[{"functionDeclarations":', "}]")

    def __init__(self, ask: Ask, target: Target) -> None:
        model = ask.model if ask.model.startswith("models/") else f"models/{ask.model}"
        method = "streamGenerateContent?alt=sse" if ask.stream else "generateContent"
        super().__init__(ask, target)
        self.path = f"{quote(model, safe='/@')}:{method}"
        self.ids = CallIds(256)
        number = _GENERATION_NUMBER.search(ask.model)
        open_models = 2.0 if "gemma" in ask.model else None  # have the requirements of that generation
        self._generation = open_models if number is None else float(number[1])  # 2.5 for `gemini-2.5-flash`
        # From generation 3 on a call needs a signature; earlier generations refuse a placeholder.
        self._is_new = self._generation is None or self._generation >= _THREE

    @override
    def body(self) -> dict[str, JSON]:
        others = self.ask.options.others
        self.added = {name: value for name, value in others.items() if name in _BESIDE} | self.added
        body: dict[str, JSON] = {"systemInstruction": {"parts": [{"text": self.system}]}} if self.system else {}
        names = {"temperature": "temperature", "top_p": "topP", "max_tokens": "maxOutputTokens"}
        options = self.options(**names, stop="stopSequences", seed="seed")
        effort, generation = self.ask.options.reasoning_effort, self._generation or 0
        word = (effort or "auto").lower()
        budget = int(word) if word.lstrip("-").isdecimal() else _BUDGETS.get(word)
        thinking: dict[str, JSON] = {"includeThoughts": True}
        if effort is None:
            thinks = generation >= _THINKS_SINCE and not any(name in self.ask.model for name in _THINKS_NOT)
            thinking = thinking if thinks else {}
        elif generation >= _THREE:
            thinking |= {} if word == "auto" else {"thinkingLevel": _LEVELS.get(word, word.upper())}
        elif budget is not None:
            thinking = {"includeThoughts": budget != 0, "thinkingBudget": budget}
        else:
            thinking["thinkingLevel"] = word.upper()
        options |= {"thinkingConfig": thinking} if thinking else {}
        options |= {name: value for name, value in others.items() if name not in _BESIDE}
        options |= mapping(self.added.pop(_GENERATION, None))
        return body | ({_GENERATION: options} if options else {})

    @override
    def user(self, parts: Sequence[Part]) -> Iterable[JSON]:
        return message_of("user", "parts", [_said(part) for part in self.taken(parts)])

    @override
    def answer(self, message: Message) -> Iterable[JSON]:
        calls = [part for part in message.parts if isinstance(part, ToolCall)]
        is_signed = any(_SIGNATURE in self.echo(call) for call in calls)
        unsigned = calls[0] if calls and not is_signed and self._is_new else None
        written: list[Mapping[str, JSON]] = []
        for part in message.parts:
            echo = self.echo(part)
            match part:
                case ToolCall():
                    call: JSON = {**self._named(part), "args": arguments_object(part.arguments)}
                    signature: Mapping[str, JSON] = {_SIGNATURE: _DUMMY} if part is unsigned else {}
                    written.append({"functionCall": call, **signature, **echo})
                case Text() if part.text or set(echo) == {_SIGNATURE}:
                    written.append({"text": part.text, **echo})
                case Thinking() if echo:
                    written.append({"text": part.text, "thought": True, **echo})
                case Text():
                    written.append(echo)
                case _:
                    pass  # thoughts need not be sent back
        return message_of("model", "parts", written)

    @override
    def results(self, results: Sequence[ToolResult]) -> Iterable[JSON]:
        responses: list[Mapping[str, JSON]] = []
        beside: list[Mapping[str, JSON]] = []
        for result in results:
            content = self.taken(result.content)
            said: JSON = {"error" if result.is_error else "output": text_of(content, "\n")}
            images = [_said(part) for part in content if isinstance(part, Image)]
            inside: dict[str, JSON] = {"parts": images} if images and self._is_new else {}
            beside += [] if inside else images
            responses.append({"functionResponse": {**self._named(result.call), "response": said, **inside}})
        return message_of("user", "parts", responses + beside)

    def _named(self, call: ToolCall) -> dict[str, JSON]:
        return {**({"id": self.ids.of(call)} if call.wire_id else {}), "name": _NAMES.clean(call.name)}


def _refine(error: ModelError, body: bytes) -> None:
    """Add what the error's details say of the key, the quota, and how long to wait: no header has it."""
    try:
        value = read_json(body) if body else None
    except ValueError:
        return
    value = next(iter(value), None) if isinstance(value, list) else value
    details = [mapping(detail) for detail in items(mapping(mapping(value).get("error")).get("details"))]
    waits = [float(wait[1]) for detail in details if (wait := _SECONDS.fullmatch(str(detail.get("retryDelay"))))]
    if any(detail.get("reason") == "API_KEY_INVALID" for detail in details):
        error.remedy = "check the credential"
    if any("PerDay" in str(detail.get("violations")) for detail in details):
        error.passes, error.remedy = False, "the quota of this day is used up"  # no waiting helps
    elif waits and error.retry_after is None:
        error.passes, error.retry_after = True, max(waits)
        error.remedy = f"try again in {max(waits):.0f} s"


def _said(part: Part) -> Mapping[str, JSON]:
    if isinstance(part, Image):
        return {"inlineData": {"mimeType": part.media_type, "data": part.data}}
    return {"text": part.text} if isinstance(part, Text) and part.text else {}


@dataclass(eq=False)
class GeminiReader(AnswerReader):
    """Turns chunks of new parts into events; a whole answer looks like a chunk."""

    dialect = NAME
    stops = _STOPS
    answers = ("candidates", "promptFeedback", "usageMetadata")

    _words: Literal["text", "thinking"] | None = None  # the kind of part to which text of that kind is added

    @override
    def event(self, value: dict[str, JSON], data: bytes) -> None:
        # Requests never ask for several candidates.
        candidates, feedback = value.get("candidates"), value.get("promptFeedback")
        candidate = mapping(candidates[0]) if isinstance(candidates, list) and candidates else None
        if value.keys().isdisjoint(self.answers) or ("error" in value and fault_in(value) is not None):
            self.outside(value)
            return
        self.has_read, reason, message = True, None, None
        if candidate:
            for number, part in enumerate(items(mapping(candidate.get("content")).get("parts"))):
                self._part(part, number, data)
            if "groundingMetadata" in candidate:
                grounding = mapping(candidate["groundingMetadata"])
                queries = grounding.get("webSearchQueries")
                self.used("google_search" if queries else "", {"queries": queries})
                self.cite(grounding.get("groundingChunks"))
            reason, message = candidate.get("finishReason"), candidate.get("finishMessage")
        elif isinstance(feedback, dict):
            reason, message = feedback.get("blockReason"), feedback.get("blockReasonMessage")
        if isinstance(reason, str) and reason and not reason.endswith("_UNSPECIFIED"):
            words = text_or_empty(message)[:_MESSAGE_CHARACTERS]
            self.finish(f"{reason}: {words}" if words else reason)
        if "usageMetadata" in value:
            counts = value["usageMetadata"]
            usage = Usage(
                input_total=_sum(counts, "promptTokenCount", "toolUsePromptTokenCount"),
                input_cached=count_of(counts, "cachedContentTokenCount"),
                output_total=_sum(
                    counts, "candidatesTokenCount", "thoughtsTokenCount"
                ),  # the first is without thoughts
                reasoning=count_of(counts, "thoughtsTokenCount"),
            )
            self.report(usage)

    def _part(self, part: JSON, number: int, data: bytes) -> None:
        if not isinstance(part, dict):
            self.unreadable("a part that is no object")
            return
        text = part.get("text")
        if isinstance(text, str) and text and len(part) == 1:  # the most frequent part
            self._words = "text"
            self.text(text)
            return
        call = part.get("functionCall")
        if isinstance(call, dict):
            self._words = None
            echo = {name: value for name, value in part.items() if name != "functionCall"}
            index = self.call(None, call.get("id"), call.get("name"), echo)
            self.arguments(index, source(data, "candidates", 0, "content", "parts", number, "functionCall", "args"))
            return
        has_text = isinstance(text, str)
        kind: Literal["text", "thinking"] = "thinking" if has_text and part.get("thought") is True else "text"
        # Beside a text stands its signature; a part of an unknown kind goes back whole.
        echo = {name: value for name, value in part.items() if not (has_text and name in {"text", "thought"})}
        if echo and self._words == kind:  # two texts are joined only if neither carries data to send back
            self.end_part(kind)
        (self.thinking if kind == "thinking" else self.text)(text)
        if echo:
            self.end_part(kind, echo)
        if echo or text:
            self._words = None if echo else kind


def _sum(counts: JSON, *names: str) -> int | None:
    reported = [count for name in names if (count := count_of(counts, name)) is not None]
    return sum(reported) if reported else None


GEMINI: Final = Dialect(
    name=NAME,
    paths=(":streamGenerateContent", ":generateContent"),
    versions=("v1beta", "v1"),
    models_path="models?pageSize=1000",
    model_prefix="models/",
    name_rule=_NAMES,
    writer=GeminiWriter,
    key_header="x-goog-api-key",
    reader=GeminiReader,
    refine=_refine,
)
