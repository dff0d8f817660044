"""The host with real parts: turns from start to end, sessions that come back, and what becomes of it when something fails."""

import gc
import os
import signal
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from pathlib import Path

import anyio
import pytest

from tests.capture.stores import FIRST, keep_session
from tests.cases import some
from tests.cli.desk import server
from tests.kit.bodies import chunk, text
from tests.kit.peer import PATIENCE, hangs, head, peer_in_thread, until
from tui_host.capture.session_summary import Source
from tui_host.capture.store.store import Store
from tui_host.chat.attachments import Attached
from tui_host.chat.conversation import AnswerItem, NoteItem, UserItem
from tui_host.chat.queued_messages import Queued
from tui_host.chat.session import Session, Waits
from tui_host.chat.turn_result import TurnResult
from tui_host.errors import ServerError, StoreError, TuiHostError
from tui_host.host import store_cleanup as pruning
from tui_host.host.host import Host
from tui_host.llm.messages import Image, Text
from tui_host.servers.pool import Pool
from tui_host.settings.load import Overrides, load
from tui_host.settings.model_options import Options
from tui_host.settings.schema import ModelRef, Profile, Settings, StoreLimits
from tui_host.tui.sources.live import SessionSource

DEMO = ModelRef(provider="demo", model="openai")


def configured(
    folder: Path, url: str = "http://127.0.0.1:9/v1", servers: str = "", other: str = "", **environment: str
) -> Settings:
    off = "" if servers else '[servers.off]\ncommand = "true"\nenabled = false\n'
    second = f'[providers.other]\nbase_url = "{other}"\n' if other else ""
    own = f'model = "mine/m"\n[providers.mine]\nbase_url = "{url}"\n'
    (folder / "config.toml").write_text(f"{own}{servers}{second}{off}")
    variables = {"HOME": str(folder), "PATH": os.environ["PATH"], **environment}
    return load(Overrides(config=folder / "config.toml", data_dir=folder / "data"), variables)


@asynccontextmanager
async def serving(settings: Settings, *, record: bool = True, source: Source = "chat") -> AsyncGenerator[Host]:
    """A host that is ready; at the end it has ended, and without a fault."""
    host = Host(settings, record=record, source=source)
    with anyio.fail_after(2 * PATIENCE):
        async with anyio.create_task_group() as group:
            group.start_soon(host.serve)
            try:
                await host.ready()
                yield host
            finally:
                host.stop()
    assert host.fault is None


async def settled(host: Host) -> Pool:
    assert host.pool is not None
    await host.pool.settled(PATIENCE)
    return host.pool


async def asked(host: Host, session: Session, words: str) -> TurnResult:
    host.send(session, words)
    await until(lambda: not session.busy)
    return some(host.turns.result(session))


def answers(session: Session) -> list[str]:
    return [item.text for item in session.conversation if isinstance(item, AnswerItem)]


async def test_what_is_sent_before_the_host_is_ready_is_answered_when_it_is(tmp_path: Path) -> None:
    with peer_in_thread(text("early")) as peer:
        host = Host(configured(tmp_path, peer.url))
        session = host.sessions.new()
        host.send(session, "good morning")
        assert session.busy
        async with anyio.create_task_group() as group:
            group.start_soon(host.serve)
            await until(lambda: not session.busy)
            host.stop()
    result = some(host.turns.result(session))
    assert (result.answer, result.stop) == ("early", "done")
    assert len(peer.requests) == 1
    assert [item.text for item in session.conversation if isinstance(item, UserItem)] == ["good morning"]


async def test_what_is_written_during_turns_goes_out_in_order_waits_after_a_failure_and_returns(tmp_path: Path) -> None:
    file = Attached(name="a.txt", kind="text", size=1, part=Text(text="inside"))
    image = Attached(name="b.png", kind="image/png", size=1, part=Image(media_type="image/png", data="AAAA"))

    def said(session: Session) -> list[str]:
        return [item.text for item in session.conversation if isinstance(item, UserItem)]

    with peer_in_thread(*map(text, "123456")) as peer:
        settings = configured(tmp_path, peer.url)
        async with serving(settings) as host:
            session = host.sessions.new()
            for words in ("one", "two", "three"):
                host.send(session, words)
            assert said(session) == ["one"]
            await until(lambda: not session.busy)
            assert (said(session), answers(session)) == (["one", "two", "three"], ["1", "2", "3"])
            session.model = ModelRef(provider="gone", model="m")
            host.send(session, "four")
            host.send(session, "five", [file, image])
            host.send(session, "six", joins_step=True)
            await until(lambda: not session.busy)
            assert said(session)[-1] == "four"
            session.draft = "a draft"
            session.save()
        async with serving(settings, source="ask") as host:  # a command has one turn, and leaves the rest as it is
            by_command = host.sessions.open(session.id)
            by_command.model = ModelRef(provider="mine", model="m")
            assert (await asked(host, by_command, "by command")).answer == "4"
        async with serving(settings) as host:
            again = host.sessions.open(session.id)
            assert again.queued == [Queued(text="five", attached=(file, image)), Queued(text="six")]
            host.turns.send_queued(again)
            await until(lambda: not again.busy)
            assert said(again)[3:] == ["four", "by command", "five", "six"]
            assert host.store is not None
            host.store.run(lambda _: None)
            stored = some(host.store.sessions.get(again.id))
            assert (stored.facts, stored.draft) == ("{}", "a draft")
    assert b"inside" in peer.requests[4].body
    assert b"AAAA" in peer.requests[4].body


async def test_turns_of_several_sessions_run_at_once_and_each_is_stopped_alone(tmp_path: Path) -> None:
    with (
        peer_in_thread(hangs(head() + chunk({"content": "slow"}))) as slow,
        peer_in_thread(text("quick"), text("more")) as quick,
    ):
        async with serving(configured(tmp_path, slow.url, other=quick.url)) as host:
            first, second = host.sessions.new(), host.sessions.new(model=ModelRef(provider="other", model="m"))
            host.send(first, "one")
            await until(lambda: bool(slow.requests))
            await asked(host, second, "two")
            assert first.busy
            assert host.turns.result(first) is None
            await until(lambda: answers(first) == ["slow"])
            assert host.turns.stop(first)
            await until(lambda: not first.busy)
            assert not host.turns.stop(first)
            await asked(host, second, "three")
            ended = some(host.turns.result(first))
            assert (ended.stop, ended.answer) == ("stopped", "slow")
            assert answers(second) == ["quick", "more"]
            await until(lambda: slow.ended > 0)


async def test_a_turn_without_a_provider_says_so(tmp_path: Path) -> None:
    async with serving(configured(tmp_path)) as host:
        session = host.sessions.new(model=ModelRef(provider="gone", model="m"))
        await asked(host, session, "hello")
        [note] = [item for item in session.conversation if isinstance(item, NoteItem)]
    assert (note.kind, note.what) == ("error", "no provider gone")
    assert "--model" in note.remedy


async def test_a_session_that_is_left_or_whose_host_ended_comes_back_whole_from_the_disk(tmp_path: Path) -> None:
    with peer_in_thread(text("Ann, ", "I see"), text("two"), text("Ann")) as peer:
        settings = configured(tmp_path, peer.url)
        profiles = {"p": Profile(name="p", model=ModelRef(provider="mine", model="other"), protocol="json")}
        settings = replace(settings, profiles=profiles)
        options = Options(seed=7, stop=("a, b",), others={"odd": True}, extra_body={"k": [1]})
        async with serving(settings) as host:
            session = host.sessions.new()
            host.leave(session)
            assert session.id in host.sessions, "nothing of it is on the disk"
            host.sessions.take_profile(session, "p")
            session.options = options
            await asked(host, session, "I am Ann\nreally")
            assert host.sessions.open(session.id) is session
            name, items = session.id, list(session.conversation)
            host.leave(session)
            assert host.turns.result(session) is None
            del session
            gc.collect()
            assert not [kept for kept in gc.get_objects() if isinstance(kept, Session) and kept.id == name]
            again = await anyio.to_thread.run_sync(host.sessions.open, name)
            assert list(again.conversation) == items
            await asked(host, again, "second")
            messages = list(again.messages)
        async with serving(settings) as host:
            last = host.sessions.open("last")
            assert (last.id, last.title, last.turn, last.options) == (name, "I am Ann", 2, options)
            assert (last.profile, str(last.model), last.protocol) == ("p", "mine/other", "json")
            assert list(last.messages) == messages
            await asked(host, last, "who am I?")
            assert (answers(last), last.turn) == (["Ann, I see", "two", "Ann"], 3)
            with pytest.raises(TuiHostError, match="there is no such session"):
                host.sessions.open("nope")
    sent = [message["content"] for message in peer.messages(2) if message["role"] != "system"]
    assert sent == ["I am Ann\nreally", "Ann, I see", "second", "two", "who am I?"]


async def test_opening_an_old_session_adds_nothing_to_it_before_its_next_turn(tmp_path: Path) -> None:
    with peer_in_thread(text("one"), text("two")) as peer:
        settings = configured(tmp_path, peer.url, servers='[servers.math]\nbundled = "math"\n')

        def rows(host: Host, session: Session) -> int:
            assert some(host.recorder).flush()
            source = SessionSource(host, session)
            while not source.is_settled:
                source.look()
            return len(source.ladder.rows)

        async with serving(settings) as host:
            await settled(host)  # else the server's lists go on behind the turn
            session = host.sessions.new()
            await asked(host, session, "hello")
            shown = rows(host, session)
        async with serving(settings) as host:
            assert host.store is not None
            (info,) = host.store.sessions.list()
            session = host.sessions.open("last")
            session.save()
            await until(lambda: host.recorder is not None and host.recorder.last > 5)  # of the server's new connection
            assert rows(host, session) <= shown
            assert replace(host.store.sessions.list()[0], live=False) == info
            await asked(host, session, "and now?")
            assert rows(host, session) > shown + 5
            assert host.store.sessions.list()[0].updated_ns > info.updated_ns


async def test_without_a_record_nothing_is_opened_and_a_database_that_cannot_be_is_a_host_fault(tmp_path: Path) -> None:
    with peer_in_thread(text("gone")) as peer:
        async with serving(configured(tmp_path, peer.url), record=False) as host:
            session = host.sessions.new()
            await asked(host, session, "hello")
            assert answers(session) == ["gone"]
            assert host.sessions.open(session.id) is session
            with pytest.raises(StoreError, match="nothing is stored here"):
                host.sessions.open("last")
    assert not (tmp_path / "data").exists()
    (tmp_path / "data" / "tui-host.db").mkdir(parents=True)
    host = Host(configured(tmp_path))
    with anyio.fail_after(PATIENCE):
        await host.serve()
        with pytest.raises(StoreError) as caught:
            await host.ready()
    assert caught.value is host.fault


async def test_a_host_that_is_cancelled_in_a_turn_writes_what_it_has_recorded(tmp_path: Path) -> None:
    with peer_in_thread(hangs(head() + chunk({"content": "half an answer"}))) as peer:
        host = Host(configured(tmp_path, peer.url, server("good", "good")))
        session = host.sessions.new()
        with anyio.fail_after(PATIENCE):
            async with anyio.create_task_group() as group:
                group.start_soon(host.serve)
                await host.ready()
                host.send(session, "remember me")
                await until(lambda: answers(session) == ["half an answer"])
                group.cancel_scope.cancel()
    assert not session.busy
    store = Store.open_to_read(tmp_path / "data" / "tui-host.db")
    records = [record for record, _ in store.session_records(session.id) if record.wire == "llm"]
    store.close()
    kinds = [record.kind for record in records]
    assert (kinds[:3], kinds[-1] in {"end", "error"}) == (["request", "response", "chunk"], True)


async def test_the_demo_model_starts_once_used_and_once_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[Waits] = []  # what is waited for may be over before anybody looks

    def wait_for(session: Session, waits: Waits, detail: str = "", **more: object) -> None:
        told.append(waits)
        waits_for(session, waits, detail, **more)  # pyright: ignore[reportArgumentType] - passed on

    waits_for = Session.wait_for
    monkeypatch.setattr(Session, "wait_for", wait_for)
    async with serving(configured(tmp_path)) as host:
        first, second = host.sessions.new(model=DEMO), host.sessions.new(model=DEMO)
        host.send(first, "hello")
        host.send(second, "hello")
        await until(lambda: not first.busy and not second.busy)
        assert "demo model" in told
        assert all("no AI" in answer for answer in (*answers(first), *answers(second)))
        [pid] = demo_models()
        os.kill(pid, signal.SIGKILL)
        await until(lambda: demo_models() == [])
        while (await asked(host, first, "hello again")).stop != "done":
            pass  # the host has not heard yet that it is gone
        assert len(demo_models()) == 1
    assert demo_models() == []


def demo_models() -> list[int]:
    found: list[int] = []
    for children in Path("/proc/self/task").glob("*/children"):
        with suppress(OSError):  # a thread or a child that has just ended
            pids = map(int, children.read_text().split())
            found += [pid for pid in pids if b"demo-model" in Path(f"/proc/{pid}/cmdline").read_bytes()]
    return found


async def test_a_demo_model_that_does_not_start_costs_its_turn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with peer_in_thread(text("still here")) as peer:
        async with serving(configured(tmp_path, peer.url)) as host:
            for program in ("/bin/false", "no such program"):
                with monkeypatch.context() as patched:
                    patched.setattr(sys, "executable", program)
                    error = (await asked(host, host.sessions.new(model=DEMO), "hello")).error
                assert error is not None
                assert (error.where, error.what[:28]) == ("demo", "the demo model did not start")
            other = host.sessions.new()
            await asked(host, other, "hello")
            assert answers(other) == ["still here"]


async def test_a_chat_under_way_says_once_that_a_server_went_and_once_that_it_is_back(tmp_path: Path) -> None:
    with peer_in_thread(text("hi")) as peer:
        async with serving(configured(tmp_path, peer.url, servers=server("mine", "dies"))) as host:
            pool = await settled(host)
            session, unused = host.sessions.new(), host.sessions.new()
            await asked(host, session, "hello")
            (tool,) = (tool for tool in pool.tools() if tool.name == "echo")
            place, mark = session.place(), tool.fingerprint
            with pytest.raises(ServerError):
                await pool.call("mine", "echo", b"{}", place=place, fingerprint=mark, on_progress=lambda _: None)
            await until(lambda: len(notes(session)) == 2)
            assert notes(session) == ["the server mine went away: exited 3", "the server mine is back"]
            assert not unused.conversation
            assert session.end_note is None, "such a note is not how the turn ended"


def notes(session: Session) -> list[str]:
    return [item.what for item in session.conversation if isinstance(item, NoteItem)]


# The paces are for people; nothing here waits for a person.
setattr(pruning, "FIRST_SECONDS", 0)  # noqa: B010


async def test_a_session_older_than_keep_goes_in_the_background_and_one_that_is_open_stays(tmp_path: Path) -> None:
    store = Store.open(tmp_path / "data" / "tui-host.db")
    keep_session(store, FIRST, 1, count=5)
    store.close()
    async with serving(replace(configured(tmp_path), store=StoreLimits(keep=3600))) as host:
        store = some(host.store)
        session = host.sessions.new()
        session.begin_turn("hello")
        await until(lambda: store.sessions.get(session.id) and not store.sessions.get(FIRST))
        assert [info.id for info in store.sessions.list()] == [session.id]
        await until(lambda: host.notices)
        assert host.notices == ["1 old session was deleted, as [store] keep and max say"]


async def test_what_cannot_be_removed_is_told(tmp_path: Path) -> None:
    store = Store.open(tmp_path / "data" / "tui-host.db")
    keep_session(store, FIRST, 1, count=5)
    trigger = "CREATE TRIGGER kept BEFORE DELETE ON sessions BEGIN SELECT RAISE(ABORT, 'not now'); END"
    store.run(lambda connection: connection.execute(trigger))
    store.close()
    async with serving(replace(configured(tmp_path), store=StoreLimits(keep=3600))) as host:
        await until(lambda: host.notices)
        assert "could not be deleted" in host.notices[0]
        assert "not now" in host.notices[0]
