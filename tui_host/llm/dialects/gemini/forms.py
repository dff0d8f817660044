"""The words of generateContent: generations of models, efforts, reasons to stop, counts, waits. Source: llm-dialects.md, section 6."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from tui_host.capture.json.reading import read_json
from tui_host.errors import JSON, ModelError
from tui_host.llm.body_framing import count_of
from tui_host.llm.messages import Stop, Usage

SIGNATURE: Final = "thoughtSignature"
"""The member that stands beside a part's own, and has to go back beside it."""
DUMMY: Final = "skip_thought_signature_validator"
"""What stands in its place with calls that this model has not made, as the vendor documents it."""

_GENERATION = re.compile(r"gemini-(\d+(?:\.\d+)?)")
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
"""Tokens for the words of an effort, as the vendor's own OpenAI face counts them."""
_SECONDS = re.compile(r"(\d+(?:\.\d+)?)s")
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


def generation_of(model: str) -> float | None:
    """2.5 for `gemini-2.5-flash`; 2 for the open models, which are as little demanding; None where the name does not tell."""
    match = _GENERATION.search(model)
    if match is not None:
        return float(match[1])
    return 2.0 if "gemma" in model or "learnlm" in model else None


def thinking_config(model: str, effort: str | None) -> dict[str, JSON] | None:
    """How the model shall think: that its thoughts are told, where it has any, and for how long. None says nothing."""
    generation = generation_of(model)
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


def stop_of(word: str, *, has_calls: bool) -> Stop:
    """A finish reason, or the reason why a prompt was blocked, as ours; images have reasons like those of text."""
    if word.removeprefix("IMAGE_") in _REFUSED:
        return "refused"
    stop = _STOPS.get(word, "end")
    return "tools" if stop == "end" and has_calls else stop


def usage_of(value: Mapping[str, JSON]) -> Usage | None:
    """The tokens that a chunk reports; thoughts are not counted among the candidates' here. None if it reports none."""
    counts = value.get("usageMetadata")
    if not isinstance(counts, Mapping):
        return None
    reasoning = count_of(counts, "thoughtsTokenCount")
    found = Usage(
        input_total=_sum(count_of(counts, "promptTokenCount"), count_of(counts, "toolUsePromptTokenCount")),
        input_cached=count_of(counts, "cachedContentTokenCount"),
        output_total=_sum(count_of(counts, "candidatesTokenCount"), reasoning),
        reasoning=reasoning,
    )
    return found if found != Usage() else None


def _sum(one: int | None, other: int | None) -> int | None:
    return other if one is None else one + (other or 0)


def with_wait(error: ModelError, body: bytes) -> ModelError:
    """The error of a refusal, with the wait that stands in its body: no header tells it. A day's quota is not waited for."""
    try:
        value = read_json(body) if body else None
    except ValueError:
        return error
    waits: list[float] = []
    is_for_today = False
    for detail in _details(value):
        waits += [float(match[1]) for match in [_SECONDS.fullmatch(str(detail.get("retryDelay")))] if match]
        violations = detail.get("violations")
        for each in violations if isinstance(violations, list) else []:
            is_for_today |= isinstance(each, Mapping) and "PerDay" in str(each.get("quotaId"))
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


def models_in(body: bytes) -> tuple[str, ...]:
    """The names in a list of models: those that generate content."""
    try:
        value = read_json(body)
    except ValueError:
        return ()
    listed = value.get("models") if isinstance(value, Mapping) else None
    names = [_name_of(entry) for entry in listed if isinstance(entry, Mapping)] if isinstance(listed, list) else []
    return tuple(dict.fromkeys(name for name in names if name))


def _name_of(entry: Mapping[str, JSON]) -> str:
    name, methods = entry.get("name"), entry.get("supportedGenerationMethods")
    if not isinstance(name, str) or (isinstance(methods, list) and "generateContent" not in methods):
        return ""
    return name.removeprefix("models/")
