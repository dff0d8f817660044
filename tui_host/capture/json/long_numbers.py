"""JSON with numbers of any length: of integers with thousands of digits Python reads none, though JSON has no limit, and a proxy none either."""

from __future__ import annotations

import json

from tui_host.errors import JSON

_TOLERANT = json.JSONDecoder(strict=False)


def load(text: str | bytes) -> JSON:
    """Read JSON; a number that Python does not compute with is its text.

    Raises:
        ValueError: It is none.
        RecursionError: It goes deeper than a parser may.
    """
    try:
        value: JSON = json.loads(text)
    except (json.JSONDecodeError, UnicodeDecodeError):
        raise
    except ValueError:  # by far the slower way: calls back for each integer
        value = json.loads(text, parse_int=integer)
    return value


def load_tolerantly(text: str) -> JSON:
    """The same of what somebody wrote down: control characters may stand in texts as they are.

    Raises:
        ValueError: It is none.
        RecursionError: It goes deeper than a parser may.
    """
    try:
        value: JSON = _TOLERANT.decode(text)
    except json.JSONDecodeError:
        raise
    except ValueError:
        value = json.loads(text, parse_int=integer, strict=False)
    return value


def integer(text: str) -> int | str:
    """What an integer's digits say; themselves where Python does not compute with so many."""
    try:
        return int(text)
    except ValueError:
        return text
