"""Checks a call's arguments against the tool's input schema, in a separate process: such a check may never end.

`python -m tui_host.chat.schema_check` reads lines `[SCHEMA, VALUE]` and answers each line with a line: an array of
errors, or null if the schema itself is unusable. Source: JSON Schema 2020-12.
"""

from __future__ import annotations

import json
import re
import sys
from datetime import datetime
from functools import cache
from itertools import islice
from typing import TYPE_CHECKING

from tui_host.errors import JSON

if TYPE_CHECKING:
    from jsonschema import FormatChecker

MOST = 10
"""Largest number of errors reported for a call."""
_LENGTH = 200
_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:\S+")


def misfits(schema: JSON, value: JSON) -> list[str] | None:
    """Return the schema errors of a value, in the schema's own order; None if the schema is unusable.

    Resolves `$ref` only within the schema. There is no limit to the time that a schema can take.
    """
    from jsonschema import Draft202012Validator
    from jsonschema.validators import validator_for
    from referencing import Registry

    if not isinstance(schema, dict):
        return [] if schema is True else None
    try:
        kind = validator_for(schema, default=Draft202012Validator)
        kind.check_schema(schema)
        errors: list[str] = []
        for error in islice(kind(schema, registry=Registry(), format_checker=_formats()).iter_errors(value), MOST):
            words = ": ".join(filter(None, (".".join(map(str, error.absolute_path)), error.message)))
            is_short = len(words) <= _LENGTH  # else the reason is the last part of the message
            errors.append(words if is_short else f"{words[: _LENGTH // 2 - 1]}…{words[-_LENGTH // 2 :]}")
    except Exception:  # noqa: BLE001 - a foreign schema has endless ways to break what reads it, and none is a defect here
        return None
    return errors


@cache
def _formats() -> FormatChecker:
    """Return what checks the formats of forms. jsonschema checks addresses and times only with further packages."""
    from jsonschema import FormatChecker

    checker = FormatChecker(("email", "date"))
    checker.checks("uri")(_is_address)
    checker.checks("date-time", ValueError)(_is_time)
    return checker


def _is_address(value: object) -> bool:
    return not isinstance(value, str) or _ADDRESS.fullmatch(value) is not None


def _is_time(value: object) -> bool:
    return not isinstance(value, str) or datetime.fromisoformat(value.upper()).tzinfo is not None


def main() -> None:
    """Answer each line of standard input."""
    for line in sys.stdin.buffer:
        schema, value = json.loads(line)
        print(json.dumps(misfits(schema, value)), flush=True)  # noqa: T201 - this is a program


if __name__ == "__main__":
    main()
