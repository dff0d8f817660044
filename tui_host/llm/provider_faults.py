"""Reads the errors of providers, in all their forms. Source: the error pages of the vendors' API references."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from urllib.parse import urlsplit

from tui_host.capture.json.narrowing import mapping
from tui_host.capture.json.reading import read_json
from tui_host.errors import JSON, ModelError
from tui_host.llm.events import Failed
from tui_host.settings.urls import shown

MOST_WORDS = 1000
_SHOWN = 500
# What a 429 says that no waiting helps.
_SPENT = re.compile("insufficient_quota|credit_balance|spend|billing|balance|PerDay")
# Vendors' codes and words for a conversation that is longer than the model's context.
_TOO_LONG = re.compile(
    r"context.{0,20}(length|window|size|limit|overflow)|exceed_context|maximum (context|prompt)|too many tokens"
    r"|(prompt|input)( is|\b.{0,10}) too (long|large)|exceeds the maximum number of tokens|exceeded model token limit"
    r"|range of input length|reduce the length of the|prompt.{0,10}超长",
    re.IGNORECASE,
)
# Codes of errors inside a 200 that would be refusals with a status of 429 or above 500.
_TEMPORARY = re.compile(
    r"overloaded|slow_down|unavailable|deadline_exceeded|timeout_error|api_error|internal(_server)?(_error)?$|server_error"
    r"|rate_limit|resource_exhausted|too_many_requests",
    re.IGNORECASE,
)
_BUSY = re.compile(r"overloaded|server busy|too many requests", re.IGNORECASE)  # Ollama has no codes
_RATE = re.compile(r"rate.?limit|per min", re.IGNORECASE)
# Mistral's words for ids of calls that it refuses, even if a gateway before it made them.
SHORT_IDS = re.compile(r"[Tt]ool call id .*must be a-z, A-Z, 0-9, with a length of 9")
_SHORTER = (
    "the conversation is longer than the model reads: start a new session, offer fewer tools, or choose another model"
)


def fault_in(value: JSON) -> tuple[str, str] | None:
    """Return the provider's message and code, if a JSON value is an error."""
    if isinstance(value, list) and value:
        return fault_in(value[0])
    if not isinstance(value, dict):
        return None
    fault = value.get("error")
    if isinstance(fault, dict) and fault:
        words = fault.get("message") or fault.get("msg") or fault.get("detail") or fault.get("error") or ""
        text = _words(words) if words else ", ".join(f"{name} {member}" for name, member in fault.items())
        generation = fault.get("failed_generation")  # Groq's, for a call that it could not parse
        text += f" The model wrote: {generation}" if generation else ""
        return text[:MOST_WORDS], _code(fault)
    if fault:
        return _words(fault), ""
    if "choices" in value and value.get("object") != "error":
        return None
    for name, words in value.items():  # Ollama says there what failed: `error parsing tool call`
        if name.startswith("error") and isinstance(words, str) and words:
            return f"{name}: {words}"[:MOST_WORDS], ""
    words = value.get("message") or value.get("detail") or value.get("errors")
    return (_words(words), _code(value)) if isinstance(words, str | list) else None


def fault_words(body: bytes) -> tuple[str, str]:
    """Return the provider's message and code in an error's body of any form."""
    fault = None
    with suppress(ValueError):
        fault = fault_in(read_json(body)) if body else None
    return fault or (body[: 4 * _SHOWN].decode("utf-8", "replace").strip()[:_SHOWN], "")


def refusal(status: int, headers: Sequence[tuple[str, str]], body: bytes) -> ModelError:
    """Make the error for a response with a bad status, with the provider's message and our remedy."""
    head = {name.lower(): value for name, value in headers}
    if 300 <= status < 400:
        try:
            parts = urlsplit(head.get("location", ""))
            there = shown(parts) if parts.hostname else "another path"
        except ValueError:
            there = "somewhere that is no URL"
        remedy = f"set base_url to {there} if that is right"
        return ModelError(f"{status}: redirected to {there}", remedy=remedy, status=status)
    words, code = fault_words(body)
    named = f" {code}" if code and code not in words else ""
    what = f"{status}{named}: {words}" if words else f"{status}{named}, without a word"
    wait: float | None = None
    for name, divisor in (("retry-after", 1), ("retry-after-ms", 1000)):  # the second, OpenAI's and Azure's, wins
        with suppress(KeyError, ValueError):
            seconds = float(head[name]) / divisor
            if 0 <= seconds < 10**9:
                wait = seconds or None  # for a wait of 0 our own pause is good
    error = _error(status, what, f"{code} {words}", wait)
    error.status = status
    if not error.is_full and (word := head.get("x-should-retry")) in {"true", "false"}:
        error.passes = word == "true"  # OpenAI and Anthropic say themselves whether another try helps
    return error


def failure(fault: Failed | None) -> ModelError:
    """Make the error for a failure inside an answer, with the provider's code."""
    if fault is None:
        return ModelError("the provider ended the answer with an error", remedy="try again")
    what = fault.message if fault.vendor in fault.message else f"{fault.vendor}: {fault.message}"
    status = 200  # the answer's own; the code tells which it would have been for a refusal
    if _is_overflow(what):
        status = 400
    elif fault.vendor.isdecimal() and len(fault.vendor) == 3:
        status = int(fault.vendor)
    elif "insufficient_quota" in fault.vendor:
        status = 429
    elif _TEMPORARY.search(fault.vendor) or _BUSY.search(fault.message):
        status = 503
    return _error(status, what, what, None)


def _error(status: int, what: str, said: str, wait: float | None) -> ModelError:
    what = what[:MOST_WORDS]
    if (status in {400, 413, 422} or status >= 500) and _is_overflow(said):
        return ModelError(f"context overflow: {what}"[:MOST_WORDS], remedy=_SHORTER, is_full=True)
    passes, remedy = False, "look at the request: in the inspector, or by tui-host sessions show last"
    if status in {401, 403}:
        remedy = "check the credential"
    elif status == 402 or (status == 429 and _SPENT.search(said)):
        remedy = "the account's credit or quota is used up"
    elif status == 404:
        remedy = "check the model's name, and whether the base URL lacks /v1 or has it twice"
    elif status in {408, 429} or status >= 500:
        passes, remedy = True, f"try again in {wait:.0f} s" if wait else "try again in a while"
    elif status == 200:
        remedy = "try again"
    return ModelError(what, remedy=remedy, retry_after=wait, passes=passes)


def _is_overflow(said: str) -> bool:
    return _TOO_LONG.search(said) is not None and _RATE.search(said) is None


def _words(words: JSON) -> str:
    if isinstance(words, str):
        return words.strip()[:MOST_WORDS]
    if isinstance(words, Sequence):
        return "; ".join(_words(word) for word in words)[:MOST_WORDS]
    text, place = mapping(words).get("msg") or mapping(words).get("message"), mapping(words).get("loc")
    if not isinstance(text, str):
        return str(words)[:MOST_WORDS]
    return f"{'.'.join(map(str, place))}: {text}" if isinstance(place, list) else text  # FastAPI's: where it is wrong


def _code(fault: Mapping[str, JSON]) -> str:
    status = fault.get("status")
    if isinstance(status, str) and status.isupper():  # Gemini's name; its `code` is the status in digits
        return status[:100]
    codes = (fault.get("code"), fault.get("type"))
    return next((str(code)[:100] for code in codes if code and isinstance(code, str | int) and code is not True), "")
