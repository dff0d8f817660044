"""Arguments against foreign schemas: checked in a process that is kept, and given up where a schema takes too long."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import anyio.lowlevel
import pytest
from typing_extensions import override

from tests.host.test_host import asked, configured, serving
from tests.kit.bodies import asks, text
from tests.kit.peer import peer_in_thread
from tui_host.chat.policy import Question, Refuse
from tui_host.errors import JSON
from tui_host.guard.guard_client import Guard
from tui_host.host import schema_checker
from tui_host.host.schema_checker import SchemaChecker


@pytest.fixture
async def checker() -> AsyncIterator[SchemaChecker]:
    guard = Guard()
    made = SchemaChecker(os.environ, guard)
    yield made
    await made.close()
    guard.bye()


async def test_each_call_is_looked_at_by_its_own_schema(checker: SchemaChecker) -> None:
    found = [await checker.misfits({"type": kind}, {}) for kind in ("object", "array", 3)]
    assert found == [[], ["{} is not of type 'array'"], None]


async def test_a_schema_that_takes_for_ever_leaves_open_whether_the_arguments_fit(
    checker: SchemaChecker, monkeypatch: pytest.MonkeyPatch
) -> None:
    endless: JSON = {"type": "object", "properties": {"a": {"pattern": "^(a+)+$"}}}
    assert await checker.misfits({"type": "object"}, {}) == []
    monkeypatch.setattr(schema_checker, "ANSWER_SECONDS", 0.3)
    assert await checker.misfits(endless, {"a": "a" * 60 + "!"}) is None
    assert await checker.misfits({"type": "array"}, {}) == ["{} is not of type 'array'"]


async def test_arguments_that_do_not_fit_are_told_before_anybody_decides(tmp_path: Path) -> None:
    seen: list[Question] = []

    class Refuses(Refuse):
        @override
        async def decide(self, questions: Sequence[Question]) -> None:
            seen.extend(questions)
            await anyio.lowlevel.checkpoint()

    with peer_in_thread(asks(("math__add", '{"a": "1"}')), text("so be it")) as peer:
        settings = configured(tmp_path, peer.url, '[servers.math]\nbundled = "math"\n')
        async with serving(settings) as host:
            host.approver = Refuses()
            assert host.pool is not None
            await host.pool.settled(20)
            session = host.sessions.new()
            await asked(host, session, "add")
            result = host.turns.result(session)
    assert result is not None
    wanted = ["'b' is a required property", "a: '1' is not of type 'number'"]
    assert sorted(seen[0].request.misfits or ()) == wanted
    assert result.outcomes[0].to_json()["schema_errors"] == list(seen[0].request.misfits or ())
