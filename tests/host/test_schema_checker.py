"""Values against foreign schemas: checked in a process that is kept, and given up where a schema takes too long."""

import os
from pathlib import Path

import pytest

from tests.chat.bench import Answers
from tests.host.test_host import asked, configured, serving, settled
from tests.kit.bodies import asks, text
from tests.kit.peer import peer_in_thread
from tui_host.errors import JSON
from tui_host.guard.guard_client import Guard
from tui_host.host import helper_process
from tui_host.host.helper_process import SchemaChecker


async def test_each_value_is_looked_at_by_its_own_schema_and_one_that_takes_for_ever_leaves_it_open(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    guard = Guard()
    checker = SchemaChecker("tui_host.chat.schema_check", os.environ, guard)
    found = [await checker.misfits({"type": kind}, {}) for kind in ("object", "array", 3)]
    assert found == [[], ["{} is not of type 'array'"], None]
    large: JSON = {"a": ["x" * 100] * 10_000}  # more than a pipe holds
    words = await checker.misfits({"type": "array"}, large) or [""]
    assert words[0].endswith("is not of type 'array'")
    endless: JSON = {"type": "object", "properties": {"a": {"pattern": "^(a+)+$"}}}
    monkeypatch.setattr(helper_process, "ANSWER_SECONDS", 0.3)
    assert await checker.misfits(endless, {"a": "a" * 60 + "!"}) is None
    await checker.close()
    guard.bye()


async def test_arguments_that_do_not_fit_are_told_before_anybody_decides_and_the_end_waits_for_no_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bye, left = Guard.bye, list[set[int]]()

    def look(guard: Guard) -> None:
        left.append({*guard._groups})  # pyright: ignore[reportPrivateUsage] - it waits for these
        bye(guard)

    monkeypatch.setattr(Guard, "bye", look)
    seen = Answers(lambda question: question.reject())
    with peer_in_thread(asks(("math__add", '{"a": "1"}')), text("so be it")) as peer:
        async with serving(configured(tmp_path, peer.url, '[servers.math]\nbundled = "math"\n')) as host:
            host.approver = seen
            await settled(host)
            result = await asked(host, host.sessions.new(), "add")
    misfits = list(seen.seen[0].request.misfits or ())
    assert sorted(misfits) == ["'b' is a required property", "a: '1' is not of type 'number'"]
    assert result.outcomes[0].to_json()["schema_errors"] == misfits
    assert left == [set()]
