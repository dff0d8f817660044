"""Fills in URI templates of resources. Source: RFC 6570, levels 1 to 3; MCP 2025-11-25, Resources, Resource Templates."""

from __future__ import annotations

import re
from collections.abc import Mapping
from urllib.parse import quote

_EXPRESSION = re.compile(r"\{([+#./;?&]?)([^{}]*)\}")


def variables(template: str) -> tuple[str, ...]:
    """Return the names of a template's variables, in order, without repeats."""
    names = (_name(part) for _, body in _EXPRESSION.findall(template) for part in body.split(","))
    return tuple(dict.fromkeys(filter(None, names)))


def expand(template: str, values: Mapping[str, str]) -> str:
    """Return the URI of a template with these values; empty values are left out."""

    def fill(match: re.Match[str]) -> str:
        operator = match[1]
        safe = ":/?#[]@!$&'()*+,;=%" if operator in {"+", "#"} else ""
        given = {name: quote(values[name], safe=safe) for name in map(_name, match[2].split(",")) if values.get(name)}
        parts = [f"{name}={text}" if operator in {"?", "&", ";"} else text for name, text in given.items()]
        between = {"": ",", "+": ",", "#": ",", "?": "&"}.get(operator, operator)
        return f"{operator.strip('+')}{between.join(parts)}" if parts else ""

    return _EXPRESSION.sub(fill, template)


def _name(part: str) -> str:
    return part.strip().rstrip("*").partition(":")[0]
