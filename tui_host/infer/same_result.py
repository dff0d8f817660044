"""Compare the result in a request with a server's answer, however the host words or wraps the result."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import lru_cache

from tui_host.capture.json.reading import read_json
from tui_host.errors import JSON
from tui_host.infer.call_values import AnswerContent, canonical

SAME, WHOLE, BEGINNING, END, HINT, OTHER = 5, 4, 3, 2, 1, 0
"""Grades of a result: the answer verbatim; within other words; its beginning; its end; words for content without text; something
else."""

SHORT = 24
"""The length from which a text within another text proves that both are the same."""
_ENDS = 200
_CUT = 0.9
_DEPTH = 6
_LONG = 1000
"""The length from which hosts shorten results in words of their own."""
_READ = 1 << 20
"""The longest result that is parsed as JSON."""
_REFUSED = re.compile(
    r"\b(?:den(?:y|ied)|reject(?:ed|s)?|refus(?:ed|es)|declin(?:ed|es)|disallow(?:ed|s)|not (?:allowed|permitted|approved|run|executed)|"
    r"cancel(?:l?ed)?|abort(?:ed)?|interrupted|skipped|blocked|doesn't want)\b|拒绝|取消|不允许",
    re.IGNORECASE,
)  # fmt: skip
"""Hosts' words for a call that was not sent."""
DENIED = (
    r"(?i:\b(?:den(?:y|ied)|reject(?:ed|s)?|refus(?:ed|es)|declin(?:ed|es)|disallow(?:ed|s)|"
    r"not (?:allow(?:ed)?|permit(?:ted)?|approved?)|doesn['’]t want|user cancell?ed mcp)\b|拒绝|不允许)"
)
"""Words that only a person's denial has."""
DENIAL = (
    r"(?i:The user denied this operation\b"  # Cline and its forks
    r"|The user doesn['’]t want to (?:proceed with this tool use|take this action)\b"  # Claude Code
    r"|(?:\[Operation Cancelled\] Reason: )?User did not allow\b"  # Gemini CLI
    r"|User (?:rejected|cancell?ed) MCP tool call\b"  # Codex
    r"|User (?:rejected|declined|denied) (?:the|this) tool\b)"  # Cursor and others
)
"""How hosts' messages about a person's denial begin."""
_DENIED = re.compile(DENIED)
_DENIAL = re.compile(rf"\s*{DENIAL}")
_GAVE_UP = re.compile(
    r"\btime[d-]?[ -]?out|timeout\b|\bgave up\b|\bno (?:answer|response)\b|\btook too long\b|超时", re.IGNORECASE
)
"""Hosts' words for a call whose answer they stopped waiting for."""
_FAILED = re.compile(
    r"error|fail|exception|unavailable|unreachable|not (?:connected|available|reachable|found|running|responding)|disconnect|"
    r"connection|closed|\blost\b|crash|\bdied\b|exit|broken|reset|\bdown\b|abort|cancel|interrupt|错误|失败|异常|断开",
    re.IGNORECASE,
)
"""Hosts' words for a call without an answer."""
_NO_TEXT = re.compile(r"\b(?:image|audio|video|binary|blob|resource|file)s?\b|base64", re.IGNORECASE)
"""Hosts' words for content that is not text."""
_NOTHING = re.compile(
    r"\b(?:no|empty|without)(?: \w+)? (?:response|output|content|results?|text|data)\b|\bempty\b", re.IGNORECASE
)
"""Hosts' words for an empty result."""
_NO_BLOCKS = "[]"
"""The result of an answer without blocks, or of an answer whose text is `[]`."""
_MOST_REFUSED = 600


def tells(reported: str, answer: AnswerContent) -> int | None:
    """Grade how a result repeats an answer; None if undecidable, as hosts reword errors, images, and long results.

    Args:
        reported: The result as the request has it.
        answer: The content of the server's answer.
    """
    is_large = len(reported) > _READ or any(len(text) > _READ for text in answer.texts)
    return _grade(reported, answer) if is_large else _graded(reported, answer)


@lru_cache(maxsize=1 << 12)
def refuses(reported: str) -> bool:
    """Return whether a host reports that a call was not sent."""
    return denies(reported) or (len(reported) <= _MOST_REFUSED and _REFUSED.search(reported) is not None)


@lru_cache(maxsize=1 << 12)
def denies(reported: str) -> bool:
    """Return whether a host reports that a person or a rule denied a call."""
    return bool(_DENIAL.match(reported)) or (len(reported) <= _MOST_REFUSED and _DENIED.search(reported) is not None)


@lru_cache(maxsize=1 << 12)
def gives_up(reported: str) -> bool:
    """Return whether a host reports that the wait for an answer ended."""
    return len(reported) <= _MOST_REFUSED and _GAVE_UP.search(reported) is not None


@lru_cache(maxsize=1 << 12)
def fails(reported: str) -> bool:
    """Return whether a host may report that no answer came: a failure or the end of the wait."""
    return len(reported) <= _MOST_REFUSED and (gives_up(reported) or _FAILED.search(reported) is not None)


def _grade_without_text(reported: str, answer: AnswerContent) -> int | None:
    """Grade a result whose answer holds more than text."""
    says_so = _NO_TEXT.search(reported) is not None
    if answer.beside and all(_within(text.strip(), reported, refused=False) for text in answer.beside):
        return WHOLE if says_so else BEGINNING
    if refuses(reported) or gives_up(reported):
        return OTHER
    return HINT if says_so and len(reported) <= _MOST_REFUSED else None


@lru_cache(maxsize=1 << 15)
def _graded(reported: str, answer: AnswerContent) -> int | None:
    return _grade(reported, answer)


def _grade(reported: str, answer: AnswerContent) -> int | None:
    if not answer.texts:
        return _grade_without_text(reported, answer)
    reported = reported.strip()
    wanted = [text.strip() for text in answer.texts]
    inner = _values_in(reported)
    if reported in wanted and reported != _NO_BLOCKS:
        return SAME
    if any(text in inner for text in wanted if text not in {"", _NO_BLOCKS}):
        return SAME
    if _NO_BLOCKS in wanted and (reported == _NO_BLOCKS or _NO_BLOCKS in inner):
        return WHOLE if wanted[0] else HINT
    if not wanted[0] and len(reported) <= _MOST_REFUSED:  # hosts have words of their own for an empty answer
        return HINT if _NOTHING.search(reported) else OTHER if refuses(reported) or gives_up(reported) else None
    refused = refuses(reported)
    needed = min((_needed(text) for text in wanted if text), default=0)
    places = [value for value in (reported, *inner) if len(value) >= needed]
    within = max((_within(text, value, refused=refused) for text in wanted if text for value in places), default=OTHER)
    if within or refused:
        return within
    is_shorter = len(reported) < min(map(len, wanted)) >= _LONG and not gives_up(reported)
    return None if answer.is_error or is_shorter else OTHER


@lru_cache(maxsize=1 << 8)
def _values_in(reported: str) -> frozenset[str]:
    """Return texts and canonical values in a result that is JSON, nested JSON texts included."""
    return frozenset(_read(reported, _DEPTH))


def _read(text: str, depth: int) -> Iterator[str]:
    if not depth or text[:1] not in {"{", "[", '"'} or len(text) > _READ:
        return
    try:
        yield from _texts(read_json(text), depth)
    except ValueError:
        return


def _texts(value: JSON, depth: int) -> Iterator[str]:
    if isinstance(value, str):
        text = value.strip()
        yield text
        yield from _read(text, depth - 1)
        return
    yield canonical(value)
    if depth and isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _texts(item, depth - 1)


def _within(text: str, reported: str, *, refused: bool) -> int:
    """Grade how a text stands within a result."""
    if len(text) < SHORT:
        own = rf"(?<!\w)(?<!\d\.)(?<![-+]){re.escape(text)}(?!\w|\.\d)"
        if refused or text not in reported:
            return OTHER
        return WHOLE if re.search(own, reported) or f"\\n{text}\\n" in reported else OTHER
    if len(reported) < _needed(text):
        return OTHER
    if text in reported:
        return WHOLE
    if any(start in reported for start in _written(text[:_ENDS])):
        return BEGINNING
    if len(reported) > _CUT * len(text):  # too long to be the end alone
        return OTHER
    return END if any(end in reported for end in _written(text[-_ENDS:])) else OTHER


def _needed(text: str) -> int:
    """Return the least length of a text that can hold this text or one of its ends."""
    return min(len(text), _ENDS)


def written(text: str) -> tuple[str, str, str]:
    """Return a text as is, as JSON, and as ASCII JSON."""
    return text, json.dumps(text, ensure_ascii=False)[1:-1], json.dumps(text)[1:-1]


_written = lru_cache(maxsize=1 << 12)(written)
"""The cached form for short texts."""
