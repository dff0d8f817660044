"""Values against foreign schemas: checked in a process that is kept, and given up where a schema takes too long."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.chat.bench import Answers
from tests.host.test_host import asked, configured, serving, settled
from tests.kit.bodies import asks, text
from tests.kit.peer import peer_in_thread
from tests.servers.rich_server import RICH
from tui_host.chat.conversation import CallItem
from tui_host.chat.result_words import NO_STRUCTURE
from tui_host.errors import JSON
from tui_host.guard.guard_client import Guard
from tui_host.host import helper_process
from tui_host.host.helper_process import SchemaChecker


async def test_each_value_is_looked_at_by_its_own_schema_and_one_that_takes_for_ever_leaves_it_open(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    guard = Guard()
    checker = SchemaChecker(os.environ, guard)
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


async def test_arguments_that_do_not_fit_are_told_before_anybody_decides(tmp_path: Path) -> None:
    seen = Answers(lambda question: question.reject())
    with peer_in_thread(asks(("math__add", '{"a": "1"}')), text("so be it")) as peer:
        settings = configured(tmp_path, peer.url, '[servers.math]\nbundled = "math"\n')
        async with serving(settings) as host:
            host.approver = seen
            await settled(host)
            session = host.sessions.new()
            result = await asked(host, session, "add")
    misfits = list(seen.seen[0].request.misfits or ())
    assert sorted(misfits) == ["'b' is a required property", "a: '1' is not of type 'number'"]
    assert result.outcomes[0].to_json()["schema_errors"] == misfits


RESULTS: dict[str, tuple[list[str] | None, str]] = {
    "everything": (["count: 'many' is not of type 'integer'"], "here is everything"),
    "nothing": (["None is not of type 'object'"], "null"),
    "missing": ([NO_STRUCTURE], "no count"),
    "touch": (None, "touched"),
}


async def test_a_result_that_does_not_fit_stands_beside_what_is_wrong(tmp_path: Path) -> None:
    calls = [answer for tool in RESULTS for answer in (asks((f"rich__{tool}", "{}")), text("so be it"))]
    with peer_in_thread(*calls) as peer:
        rule = '[[rules]]\nserver = "rich"\ntool = "*"\naction = "allow"\n'
        async with serving(configured(tmp_path, peer.url, RICH.table("rich") + rule)) as host:
            await settled(host)
            for tool, (misfits, result) in RESULTS.items():
                session = host.sessions.new()
                turn = await asked(host, session, "go")
                assert turn.outcomes[0].to_json()["output_errors"] == misfits
                item = next(item for item in session.conversation.items if isinstance(item, CallItem))
                assert item.output_misfits.splitlines() == (misfits or [])
                assert item.result.startswith(result)
                page = "ui://everything/page.html" if tool == "everything" else ""
                assert (item.state, item.page) == ("done", page)
