"""A defect that is met in one turn ends that turn: it is told, and everything else goes on."""

from __future__ import annotations

import json
import stat
from collections.abc import Sequence
from pathlib import Path

import anyio
from typing_extensions import override

from tests.cli.desk import server
from tests.host.test_host import PATIENCE, answers, asked, configured, serving, until
from tests.kit.bodies import DONE, asks, chunk, text
from tests.kit.peer import Exchange, head, peer, peer_in_thread
from tui_host.chat.conversation import CallItem, NoteItem
from tui_host.chat.policy import Question, Refuse
from tui_host.host.host import Host
from tui_host.settings.load import Overrides, load
from tui_host.settings.schema import ModelRef, Settings

TOKEN = "tok-12345678"  # noqa: S105 - one that opens nothing


class Broken(Refuse):
    """A front that fails when it is to ask."""

    @override
    async def decide(self, questions: Sequence[Question]) -> None:
        raise RuntimeError(f"no room for {len(questions)} and {TOKEN}")


def two_providers(folder: Path, first: str, second: str) -> Settings:
    settings = configured(folder, first, server("good", "good", 'env = { T = "${MY_TOKEN}" }'), MY_TOKEN=TOKEN)
    (folder / "providers.d").mkdir()
    (folder / "providers.d" / "other.toml").write_text(f'base_url = "{second}"\n')
    return load(Overrides(config=settings.config_file, data_dir=settings.data_dir), settings.environment)


async def broken_turn(host: Host) -> NoteItem:
    """A session whose turn meets the defect, and can be gone on with; returns its error card."""
    session = host.sessions.new()
    host.approver = Broken()
    await asked(host, session, "call it")
    result = host.result(session)
    assert result is not None
    assert (result.stop, host.fault) == ("error", None)
    [card] = [item for item in session.conversation.items if isinstance(item, NoteItem)]
    assert result.error is not None
    assert (card.kind, card.what) == ("error", result.error.what)
    [call] = [item for item in session.conversation.items if isinstance(item, CallItem)]
    assert (call.state, call.sent) == ("stopped", "")
    await asked(host, session, "go on")
    assert answers(session) == ["I will"]
    return card


async def test_a_defect_in_one_turn_leaves_its_history_the_other_turns_and_the_servers_whole(tmp_path: Path) -> None:
    release = anyio.Event()

    async def slowly(exchange: Exchange) -> None:
        await exchange.send(head(), chunk({"content": "half"}))
        await release.wait()
        await exchange.send(chunk({"content": " and half"}), chunk(finish="stop"), DONE)

    async with (
        peer(asks(("good__echo", "{}")), text("I will")) as first,
        peer(slowly) as second,
        serving(two_providers(tmp_path, first.url, second.url)) as host,
    ):
        assert host.pool is not None
        await host.pool.settled(PATIENCE)
        other = host.sessions.new(model=ModelRef(provider="other", model="m"))
        host.send(other, "hello")
        await until(lambda: answers(other) == ["half"])
        card = await broken_turn(host)
        assert other.busy
        release.set()
        await until(lambda: not other.busy)
        assert answers(other) == ["half and half"]
        assert [status.state for status in host.pool.statuses()] == ["ready"]

    assert card.what == "a bug in tui-host ended this turn (RuntimeError)"
    assert card.where.startswith("tui_host/chat/calls.py:")
    told = first.messages(1)
    assert [message["role"] for message in told] == ["user", "assistant", "tool", "assistant", "user"]
    assert told[2]["content"] == "A fault in the host ended the turn before this call was run."
    [log] = await anyio.to_thread.run_sync(lambda: list((tmp_path / "data").glob("crash-*.log")))
    assert f"see {log}" in card.remedy
    assert stat.S_IMODE(log.stat().st_mode) == 0o600
    written = log.read_text()
    assert "RuntimeError: no room for 1 and ⟨secret:MY_TOKEN⟩" in written
    assert TOKEN not in json.dumps(told)


async def test_without_a_record_a_defect_leaves_no_log(tmp_path: Path) -> None:
    with peer_in_thread(asks(("good__echo", "{}")), text("I will")) as peer:
        async with serving(configured(tmp_path, peer.url, server("good", "good")), record=False) as host:
            card = await broken_turn(host)
    assert card.remedy == "report it, and try again"
    assert not (tmp_path / "data").exists()


def test_the_log_of_a_mistake_outlives_a_database_that_is_elsewhere_for_a_while(tmp_path: Path) -> None:
    host = Host(configured(tmp_path, "http://127.0.0.1:9/v1"), database=tmp_path / "gone soon" / "tui-host.db")
    told = host.mistake(ZeroDivisionError())
    [log] = (tmp_path / "data").glob("crash-*.log")
    assert f"see {log}" in told.remedy
