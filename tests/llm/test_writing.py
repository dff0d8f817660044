"""JSON on lines is what the standard library writes."""

from __future__ import annotations

import json

import pytest

from tui_host.errors import JSON
from tui_host.llm.writing import json_lines

SCHEMA: JSON = {
    "type": "object",
    "properties": {"a": {"type": ["string", "null"], "enum": [1, 2.5, None, True, 'é\n"中\\']}, "b": {}},
    "required": [],
}


@pytest.mark.parametrize("value", [SCHEMA, None, "text", [], {}, [[]], 0])
def test_json_on_lines_is_what_the_standard_library_writes(value: JSON) -> None:
    whole = json.dumps(value, ensure_ascii=False, indent=2)
    assert json_lines(value) == whole
    assert json_lines(value, "\n    ") == whole.replace("\n", "\n    ")
