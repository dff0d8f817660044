"""Compare what a host reports to the model as a call's result with what the server answered."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import lru_cache

from tui_host.capture.json.reading import read_json
from tui_host.errors import JSON
from tui_host.infer.call_values import Answer, canonical

DISTINCTIVE = 24
"""The length from which two equal texts are no chance."""
_ENDS = 200
"""How much of a long text hosts keep at least when they cut it."""
_LONG = 1000
"""The length from which hosts summarise results in words of their own."""
_MOST_READ = 1 << 20
_DEPTH = 4
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
_NOT_SENT = re.compile(rf"{DENIED}|(?i:\bcancell?ed\b|\bnot (?:run|executed)\b|取消)")
_DENIAL = re.compile(rf"\s*{DENIAL}")
_MOST_WORDS = 600
"""The longest text that is taken for a host's own words."""
_FAILED = re.compile(r"(?i:time[d-]?[ -]?out|error|fail|no (?:answer|response)|closed|connect|lost|超时|错误|失败)")


@lru_cache(maxsize=1 << 12)
def is_denial(reported: str) -> bool:
    """Return whether a result states that the call was never sent."""
    return bool(_DENIAL.match(reported)) or (len(reported) <= _MOST_WORDS and bool(_NOT_SENT.search(reported)))


@lru_cache(maxsize=1 << 12)
def is_failure(reported: str) -> bool:
    """Return whether a result may state that no answer came."""
    return len(reported) <= _MOST_WORDS and bool(_FAILED.search(reported))


@lru_cache(maxsize=1 << 15)
def repeats(reported: str, answer: Answer) -> bool | None:
    """Return whether a reported result repeats an answer; None where a host's own words may stand for the answer."""
    texts = [text.strip() for text in answer.texts]
    if not texts:  # an image and the like, for which each host has its own words
        return None if all(text.strip() in reported for text in answer.beside) else False
    reported = reported.strip()
    if any(texts):
        values = (reported, *_values_in(reported))
        if any(_is_within(text, value) for text in texts if text for value in values):
            return True
    is_end = any(len(text) >= _ENDS and text[-_ENDS:] in reported for text in texts)
    is_shorter = len(reported) < min(map(len, texts)) and min(map(len, texts)) >= _LONG
    if answer.is_error or not texts[0] or is_shorter or is_end:
        return False if is_denial(reported) else None
    return False


def _is_within(text: str, reported: str) -> bool:
    """Return whether a text, or the beginning of a long text, stands in a reported result."""
    if len(text) < DISTINCTIVE:
        if text == reported:
            return True
        bounds = rf"(?<![\w+-])(?<!\d\.){re.escape(text)}(?!\w|\.\d)"
        return text in reported and not is_denial(reported) and re.search(bounds, reported) is not None
    if len(reported) < min(len(text), _ENDS):
        return False
    return text in reported or any(start in reported for start in _spellings(text[:_ENDS]))


def _spellings(text: str) -> tuple[str, str, str]:
    """Return a text as it is, as JSON, and as JSON in ASCII."""
    return text, json.dumps(text, ensure_ascii=False)[1:-1], json.dumps(text)[1:-1]


@lru_cache(maxsize=1 << 8)
def _values_in(reported: str) -> frozenset[str]:
    """Return the texts and canonical values in a result that is JSON, also where JSON stands in a text."""
    return frozenset(_read(reported, _DEPTH))


def _read(text: str, depth: int) -> Iterator[str]:
    if not depth or text[:1] not in {"{", "[", '"'} or len(text) > _MOST_READ:
        return
    try:
        yield from _values(read_json(text), depth)
    except ValueError:
        return


def _values(value: JSON, depth: int) -> Iterator[str]:
    if isinstance(value, str):
        yield value.strip()
        yield from _read(value.strip(), depth - 1)
        return
    yield canonical(value)
    if depth and isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _values(item, depth - 1)
