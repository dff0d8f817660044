"""Whether arguments fit a tool's schema."""

from __future__ import annotations

import socket

import pytest

from tui_host.chat.schema_check import MOST, misfits
from tui_host.errors import JSON

NUMBERS: JSON = {
    "type": "object",
    "properties": {"a": {"type": "number"}, "list": {"type": "array", "items": {"type": "string"}}},
    "required": ["a"],
}


@pytest.mark.parametrize(
    ("schema", "value", "found"),
    [
        (NUMBERS, {"a": 1}, []),
        (NUMBERS, {}, ["'a' is a required property"]),
        (NUMBERS, {"a": "1"}, ["a: '1' is not of type 'number'"]),
        (NUMBERS, {"a": 1, "list": ["x", 2]}, ["list.1: 2 is not of type 'string'"]),
        ({"type": 3}, {}, None),
        ({"$ref": "#/nowhere"}, {}, None),
        (None, {}, None),
    ],
)
def test_what_does_not_fit_is_told_with_its_place(schema: JSON, value: JSON, found: list[str] | None) -> None:
    assert misfits(schema, value) == found


def test_what_does_not_fit_is_told_so_often_and_so_long_at_most() -> None:
    found = misfits({"items": {"maxLength": 9, "type": "string"}}, ["x", "y" * 5000 + "z", 1] * 100)
    assert found is not None
    assert len(found) == MOST
    assert max(map(len, found)) == 200
    assert found[0].endswith("yz' is too long")


def test_a_schema_leads_to_no_other_machine() -> None:
    with socket.create_server(("127.0.0.1", 0)) as there:
        there.setblocking(False)
        assert misfits({"$ref": f"http://127.0.0.1:{there.getsockname()[1]}/schema.json"}, {}) is None
        with pytest.raises(BlockingIOError):
            there.accept()
