"""Strict reading of a call's arguments: the bytes shown, hashed and sent are the same."""

from __future__ import annotations

import json
import re

from tui_host.capture.json.reading import DEPTH, is_deeper
from tui_host.errors import JSON, TuiHostError

LIMIT = 4 << 20
_SURROGATE = re.compile("[\ud800-\udfff]")


def _no_duplicates(pairs: list[tuple[str, JSON]]) -> dict[str, JSON]:
    value = dict(pairs)
    if len(value) != len(pairs):
        seen: set[str] = set()
        twice = next(name for name, _ in pairs if name in seen or seen.add(name))
        raise TuiHostError(f"the key {json.dumps(twice)} stands twice")
    return value


def _no_constant(word: str) -> JSON:
    raise TuiHostError(f"{word} is not JSON")


def _finite(text: str) -> float:
    value = float(text)
    if value in (float("inf"), float("-inf")):
        raise TuiHostError(f"the number {text[:40]} is too large")
    return value


def read_arguments(text: str) -> dict[str, JSON]:
    """Parse arguments written by a model or a user as a JSON object; empty text means no arguments.

    Raises:
        TuiHostError: The text is not JSON, not an object, has a key twice, NaN, infinities or lone surrogates, is larger than
            4 MB or deeper than 100 levels. The message says where.
    """
    if not text.strip():
        return {}
    if len(text) > LIMIT:
        raise TuiHostError(
            f"the arguments are {len(text):,} characters long", remedy=f"shorten them to {LIMIT:,} at most"
        )
    if is_deeper(text):
        raise TuiHostError(f"the arguments nest deeper than {DEPTH} levels")
    try:
        value: JSON = json.loads(
            text, object_pairs_hook=_no_duplicates, parse_constant=_no_constant, parse_float=_finite
        )
    except json.JSONDecodeError as error:
        near = text[max(0, error.pos - 20) : error.pos + 20]
        place = f"line {error.lineno}, column {error.colno}"
        what = error.msg.removesuffix(" at")  # some of Python's complaints end with it
        raise TuiHostError(f"the arguments are not JSON: {what} at {place}, near {near!r}") from error
    except ValueError as error:  # more digits than an integer may have
        raise TuiHostError(f"the arguments cannot be read: {error}") from error
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise TuiHostError("the arguments are not a JSON object", remedy='write {"name": value}')
    if _SURROGATE.search(json.dumps(value, ensure_ascii=False)):
        raise TuiHostError("the arguments contain a lone surrogate")
    return value


def canonical(value: JSON) -> bytes:
    """Return the canonical JSON to hash, show and send: compact UTF-8, keys in the given order."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()


def pretty(value: JSON) -> str:
    """Return indented JSON for reading."""
    return json.dumps(value, ensure_ascii=False, indent=2)
