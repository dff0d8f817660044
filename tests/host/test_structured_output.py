"""Structured content is checked against its schema beside the result, and hides nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.host.test_host import asked, configured, serving
from tests.kit.bodies import asks, text
from tests.kit.peer import peer_in_thread
from tests.servers.rich_server import RICH
from tui_host.chat.conversation import CallItem
from tui_host.chat.result_words import NO_STRUCTURE


@pytest.mark.parametrize(
    ("tool", "misfits", "result"),
    [
        ("everything", ["count: 'many' is not of type 'integer'"], "here is everything"),
        ("nothing", ["None is not of type 'object'"], "null"),
        ("missing", [NO_STRUCTURE], "no count"),
        ("touch", None, "touched"),
    ],
)
async def test_a_mismatch_stands_beside_the_result(
    tmp_path: Path, tool: str, misfits: list[str] | None, result: str
) -> None:
    with peer_in_thread(asks((f"rich__{tool}", "{}")), text("so be it")) as peer:
        rule = '[[rules]]\nserver = "rich"\ntool = "*"\naction = "allow"\n'
        async with serving(configured(tmp_path, peer.url, RICH.table("rich") + rule)) as host:
            assert host.pool is not None
            await host.pool.settled(20)
            session = host.sessions.new()
            await asked(host, session, "go")
            turn = host.turns.result(session)
            item = next(item for item in session.conversation.items if isinstance(item, CallItem))
    assert turn is not None
    assert turn.outcomes[0].to_json()["output_errors"] == misfits
    assert item.output_misfits.splitlines() == (misfits or [])
    assert item.result.startswith(result)
    assert (item.state, item.page) == ("done", "ui://everything/page.html" if tool == "everything" else "")
