"""What a turn took; the schemas of its calls are foreign."""

from __future__ import annotations

import json
import os

import pytest

from tui_host.host import turn_measurements as measuring
from tui_host.host.turn_measurements import check_schemas


async def test_a_schema_that_takes_for_ever_leaves_open_whether_the_arguments_fit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(measuring, "FIT_SECONDS", 0.5)
    endless = {"type": "object", "properties": {"a": {"pattern": "^(a+)+$"}}}
    assert await check_schemas([json.dumps([endless, {"a": "a" * 60 + "!"}])], os.environ) == [None]


async def test_each_call_is_looked_at_by_its_own_schema() -> None:
    lines = [json.dumps([{"type": kind}, {}]) for kind in ("object", "array", 3)]
    assert await check_schemas(lines, os.environ) == [[], ["{} is not of type 'array'"], None]
