"""Compare what a host reports to the model as a call's result with what the server answered."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import suppress
from functools import lru_cache

from tui_host.capture.json.reading import read_json
from tui_host.errors import JSON
from tui_host.infer.call_values import Answer, canonical

DISTINCTIVE = 24  # the length from which two equal texts are no chance
_ENDS = 200  # how much of a long text hosts keep at least when they cut it
_LONG = 1000  # the length from which hosts summarise results in words of their own
_MOST_READ = 1 << 20
_DEPTH = 6
_MOST_WORDS = 600  # the longest text that is taken for a host's own words
# What says that a call was never sent does not stand for an answer that never came.
_DENIED = re.compile(
    r"(?i:\bden(?:y|ied)\b|reject|refus|declin|disallow|cancel|not (?:allow|permit|approv))|拒绝|不允许|取消"
)
_FAILED = re.compile(r"(?i:time[d-]?[ -]?out|error|fail|no (?:answer|response)|closed|connect|lost|超时|错误|失败)")


@lru_cache(maxsize=1 << 12)
def is_failure(reported: str) -> bool:
    """Return whether a result may state that no answer came."""
    return len(reported) <= _MOST_WORDS and bool(_FAILED.search(reported)) and not _DENIED.search(reported)


@lru_cache(maxsize=1 << 15)
def repeats(reported: str, answer: Answer) -> bool | None:
    """Return whether a reported result repeats an answer; None where a host's own words may stand for the answer."""
    texts, reported = [text.strip() for text in answer.texts], reported.strip()
    if not texts:  # an image and the like, for which each host has its own words
        return None if all(text.strip() in reported for text in answer.beside) else False
    if any(texts) and any(_is_within(text, value) for text in texts if text for value in _values_in(reported)):
        return True
    is_end = any(len(text) >= _ENDS and text[-_ENDS:] in reported for text in texts)
    is_shorter = len(reported) < min(map(len, texts)) >= _LONG
    if answer.is_error or not texts[0] or is_shorter or is_end:
        return None
    return False


def _is_within(text: str, reported: str) -> bool:
    """Return whether a text, or the beginning of a long text as it is or in JSON, stands in a reported result."""
    if len(text) < DISTINCTIVE:
        if text == reported:
            return True
        bounds = rf"(?<![\w+-])(?<!\d\.){re.escape(text)}(?!\w|\.\d)"
        return text in reported and re.search(bounds, reported) is not None
    if len(reported) < min(len(text), _ENDS):
        return False
    start = text[:_ENDS]
    spellings = (text, start, json.dumps(start, ensure_ascii=False)[1:-1], json.dumps(start)[1:-1])
    return any(spelling in reported for spelling in spellings)


@lru_cache(maxsize=1 << 8)
def _values_in(reported: str) -> frozenset[str]:
    return frozenset(_values(reported, _DEPTH))


def _values(value: JSON, depth: int) -> Iterator[str]:
    """Yield a text and, if it is JSON, its texts and canonical values, also where JSON stands in one of the texts."""
    text = value.strip() if isinstance(value, str) else canonical(value)
    yield text
    if not depth or len(text) > _MOST_READ:
        return
    if isinstance(value, str) and text[:1] in {"{", "[", '"'}:
        with suppress(ValueError):
            yield from _values(read_json(text), depth - 1)
    elif isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _values(item, depth - 1)
