"""Parses a call's arguments strictly, so that the bytes shown, hashed and sent are the same."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from decimal import Decimal, InvalidOperation
from math import isinf

from tui_host.capture.json.reading import DEPTH, is_deeper
from tui_host.errors import JSON, TuiHostError
from tui_host.llm.protocols.grammar import json_fault

LIMIT = 4 << 20  # characters of arguments
_SURROGATE = re.compile("[\ud800-\udfff]")


def read_json(text: str, subject: str = "the contents") -> JSON:
    """Parse JSON written by a model or a user; `subject` says what it is, in the plural. An empty text means null.

    Raises TuiHostError, which says where: no JSON, a key twice, NaN, infinities, lone surrogates, over 4 MB, over 100 levels.
    """
    if not text.strip():
        return None
    if len(text) > LIMIT:
        raise TuiHostError(f"{subject} are {len(text):,} characters long", remedy=f"shorten them to {LIMIT:,} at most")
    if is_deeper(text):
        raise TuiHostError(f"{subject} nest deeper than {DEPTH} levels")
    try:
        value: JSON = json.loads(text, object_pairs_hook=_no_duplicates, parse_constant=_finite, parse_float=_finite)
    except json.JSONDecodeError as error:
        if text[: error.pos].strip() == text[error.pos :].strip():  # a gateway's fault, not the model's
            raise TuiHostError(f"the server sent {subject} twice: the second time repeats the first") from error
        raise TuiHostError(f"{subject} are not JSON: {json_fault(text, error)}") from error
    except ValueError as error:  # an integer has more digits than Python converts
        raise TuiHostError(f"{subject} cannot be read: {error}") from error
    if _SURROGATE.search(json.dumps(value, ensure_ascii=False)):
        raise TuiHostError(f"{subject} contain a lone surrogate")
    return value


def read_arguments(text: str) -> dict[str, JSON]:
    """Parse arguments written by a model or a user as a JSON object, as `read_json` does. An empty text means no arguments."""
    value = read_json(text, "the arguments")
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise TuiHostError("the arguments are not a JSON object", remedy='write {"name": value}')
    return value


def _no_duplicates(pairs: list[tuple[str, JSON]]) -> dict[str, JSON]:
    value: dict[str, JSON] = {}
    for name, member in pairs:
        if name in value:
            raise TuiHostError(f"the key {json.dumps(name)} stands twice")
        value[name] = member
    return value


def _finite(text: str) -> float:
    value = float(text)
    if not text[-1].isdigit():  # a word that Python takes for a number
        raise TuiHostError(f"{text} is not JSON")
    if isinf(value):
        raise TuiHostError(f"the number {text[:40]} is too large")
    return value


def changed_numbers(text: str) -> Sequence[tuple[str, str]]:
    """Return the numbers in the arguments whose value changes when sent, as pairs: as written, and as sent."""
    changed: dict[str, str] = {}

    def read(number: str) -> float:
        value = float(number)
        sent = json.dumps(value)
        try:
            is_same = Decimal(number) == Decimal(sent)
        except InvalidOperation:  # the exponent is beyond every float, so the value is sent as 0
            is_same = False
        if not is_same:
            changed[number] = sent
        return value

    json.loads(text or "{}", parse_float=read)
    return list(changed.items())


def canonical(value: JSON) -> bytes:
    """Return the canonical JSON to hash, show and send: compact UTF-8, with the keys in their given order."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()


def pretty(value: JSON) -> str:
    """Return indented JSON for a person to read."""
    return json.dumps(value, ensure_ascii=False, indent=2)
