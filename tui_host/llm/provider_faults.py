"""Reads the errors of providers, in all their forms. Source: the error pages of the vendors' API references."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from urllib.parse import urlsplit

from tui_host.capture.json.reading import read_json
from tui_host.errors import JSON, ModelError
from tui_host.llm.events import Failed

MOST_WORDS = 1000
_SHOWN = 500
_DIGITS = 3
_SPENT = ("insufficient_quota", "credit_balance", "spend", "billing", "balance", "PerDay")
_TOO_LONG = re.compile(
    r"context.{0,20}(length|window|size|limit|overflow)|exceed_context|maximum (context|prompt)|too many tokens"
    r"|(prompt|input)( is|\b.{0,10}) too (long|large)|exceeds the maximum number of tokens|exceeded model token limit"
    r"|range of input length|reduce the length of the|prompt.{0,10}超长",
    re.IGNORECASE,
)
"""Vendors' codes and words for a conversation that is longer than the model's context."""
_TEMPORARY = re.compile(
    r"overloaded|slow_down|unavailable|deadline_exceeded|timeout_error|api_error|internal(_server)?(_error)?$|server_error"
    r"|rate_limit|resource_exhausted|too_many_requests",
    re.IGNORECASE,
)
"""Codes of errors inside a 200 that would be refusals with a status of 429 or above 500. Source: the vendors' API references."""
_BUSY = re.compile(r"overloaded|server busy|too many requests", re.IGNORECASE)
"""Words for a busy provider, for those without error codes (Ollama)."""
_RATE = re.compile(r"rate.?limit|per min", re.IGNORECASE)
SHORT_IDS = re.compile(r"[Tt]ool call id .*must be a-z, A-Z, 0-9, with a length of 9")
"""Mistral's words for ids of calls that it refuses, even if a gateway before it made them."""
OVERFLOW = "context overflow"
SHORTER = (
    "the conversation is longer than the model reads: start a new session, offer fewer tools, or choose another model"
)


def fault_in(value: JSON) -> tuple[str, str] | None:
    """Return the provider's message and code, if a JSON value is an error."""
    if isinstance(value, list) and value:
        return fault_in(value[0])
    if not isinstance(value, dict):
        return None
    if value.get("error"):
        return _of(value["error"])
    if "choices" in value and value.get("object") != "error":
        return None
    for name, words in value.items():  # Ollama says there what failed: `error parsing tool call`
        if name.startswith("error") and isinstance(words, str) and words:
            return f"{name}: {words}"[:MOST_WORDS], ""
    words = value.get("message") or value.get("detail") or value.get("errors")
    return (_words(words), _code(value)) if isinstance(words, str | list) else None


def fault_words(body: bytes) -> tuple[str, str]:
    """Return the provider's message and code in an error's body of any form."""
    text = body[: 4 * _SHOWN].decode("utf-8", "replace").strip()
    try:
        fault = fault_in(read_json(body)) if body else None
    except ValueError:
        fault = None
    return fault or (text[:_SHOWN], "")


def refusal(status: int, headers: Sequence[tuple[str, str]], body: bytes) -> ModelError:
    """Make the error for a response with a bad status, with the provider's message and our remedy."""
    words, code = fault_words(body)
    head = {name.lower(): value for name, value in headers}
    if 300 <= status < 400:
        there = _origin(head.get("location", ""))
        return ModelError(
            f"{status}: redirected to {there}", remedy=f"set base_url to {there} if that is right", status=status
        )
    named = f" {code}" if code and code not in words else ""
    what = f"{status}{named}: {words}" if words else f"{status}{named}, without a word"
    wait = wait_seconds(head)
    if is_overflow(status, f"{code} {words}"):
        return ModelError(f"{OVERFLOW}: {what}"[:MOST_WORDS], remedy=SHORTER, status=status, is_full=True)
    return ModelError(
        what[:MOST_WORDS],
        remedy=_remedy(status, f"{code} {words}", wait),
        status=status,
        retry_after=wait,
        passes=_passes(status, f"{code} {words}", head.get("x-should-retry", "")),
    )


def failure(fault: Failed | None) -> ModelError:
    """Make the error for a failure inside an answer, with the provider's code."""
    if fault is None:
        return ModelError("the provider ended the answer with an error", remedy="try again")
    what = fault.message if fault.vendor in fault.message else f"{fault.vendor}: {fault.message}"
    if is_overflow(400, what):
        return ModelError(f"{OVERFLOW}: {what}"[:MOST_WORDS], remedy=SHORTER, is_full=True)
    status = _status_of(fault)
    passes = _passes(status, what, "")
    return ModelError(what[:MOST_WORDS], remedy=_remedy(status, what, None) if passes else "try again", passes=passes)


def _status_of(fault: Failed) -> int:
    """Return the status that an error inside a 200 stands for; 200 if unknown."""
    if fault.vendor.isdecimal() and len(fault.vendor) == _DIGITS:
        return int(fault.vendor)
    if "insufficient_quota" in fault.vendor:
        return 429
    return 503 if _TEMPORARY.search(fault.vendor) or _BUSY.search(fault.message) else 200


def is_overflow(status: int, words: str) -> bool:
    """Tell whether the conversation is longer than the model's context, by the provider's code and words."""
    may_be = status in {400, 413, 422} or status >= 500
    return may_be and _TOO_LONG.search(words) is not None and _RATE.search(words) is None


def _passes(status: int, words: str, word: str) -> bool:
    """Tell whether a refusal is temporary. The provider's own statement, `word`, decides if present."""
    if word in {"true", "false"}:
        return word == "true"
    return (status in {408, 429} or status >= 500) and not _is_spent(status, words)


def _is_spent(status: int, words: str) -> bool:
    return status == 402 or (status == 429 and any(word in words for word in _SPENT))


def wait_seconds(head: Mapping[str, str]) -> float | None:
    """Return the seconds to wait according to the headers (names in lower case). None for a wait of 0 too."""
    milliseconds = _number(head.get("retry-after-ms"))
    seconds = milliseconds / 1000 if milliseconds is not None else _number(head.get("retry-after"))
    return seconds or None


def _of(fault: JSON) -> tuple[str, str]:
    if isinstance(fault, dict):
        words = fault.get("message") or fault.get("msg") or fault.get("detail") or fault.get("error") or ""
        text = _words(words) if words else ", ".join(f"{name} {value}" for name, value in fault.items())
        generation = fault.get("failed_generation")
        if isinstance(generation, str) and generation:
            text = f"{text} The model wrote: {generation}"
        return text[:MOST_WORDS], _code(fault)
    return _words(fault), ""


def _words(words: JSON) -> str:
    if isinstance(words, str):
        return words.strip()[:MOST_WORDS]
    if isinstance(words, Sequence):
        return "; ".join(_words(word) for word in words)[:MOST_WORDS]
    if isinstance(words, dict):
        place = words.get("loc")
        where = ".".join(str(step) for step in place) if isinstance(place, list) else ""
        text = words.get("msg") or words.get("message")
        if isinstance(text, str):
            return f"{where}: {text}" if where else text
    return str(words)[:MOST_WORDS]


def _code(fault: Mapping[str, JSON]) -> str:
    status = fault.get("status")
    if isinstance(status, str) and status.isupper():  # Gemini's name; its `code` is the status in digits
        return status[:100]
    for name in ("code", "type"):
        code = fault.get(name)
        if isinstance(code, str) and code:
            return code[:100]
        if isinstance(code, int) and not isinstance(code, bool):
            return str(code)
    return ""


def _number(text: str | None) -> float | None:
    try:
        value = float(text or "")
    except ValueError:
        return None
    return value if 0 <= value < 10**9 else None


def _origin(location: str) -> str:
    try:
        parts = urlsplit(location)
        port = f":{parts.port}" if parts.port else ""
    except ValueError:
        return "somewhere that is no URL"
    return f"{parts.scheme}://{parts.hostname}{port}" if parts.hostname else "another path"


def _remedy(status: int, words: str, wait: float | None) -> str:
    if status in {401, 403}:
        return "check the credential"
    if _is_spent(status, words):
        return "the account's credit or quota is used up"
    if status == 404:
        return "check the model's name, and whether the base URL lacks /v1 or has it twice"
    if status in {408, 429} or status >= 500:
        return f"try again in {wait:.0f} s" if wait else "try again in a while"
    return "look at the request: in the inspector, or by tui-host sessions show last"
