"""A defect, a failing server, or a process that is killed costs what it must and is told; nothing else."""

import json
import stat
import sys
from collections.abc import Sequence
from pathlib import Path

import anyio
import pytest
from typing_extensions import override

from tests.cases import some
from tests.cli.desk import rule, server
from tests.host.test_host import answers, asked, configured, serving, settled
from tests.kit.bodies import DONE, asks, calls, chunk, fragment, text
from tests.kit.mcp_http import mcp_http
from tests.kit.mcp_server import tool
from tests.kit.peer import Exchange, hangs, head, peer, peer_in_thread, until
from tui_host.capture.exports.formats import FORMATS
from tui_host.capture.record import Head, Record
from tui_host.capture.store.search import search_chats
from tui_host.capture.store.store import Store
from tui_host.chat.conversation import AnswerItem, CallItem, NoteItem
from tui_host.chat.policy import Question, Refuse
from tui_host.cli.recorded import recorded
from tui_host.errors import StoreError
from tui_host.host.cut_answers import CUT_OFF
from tui_host.host.host import Host
from tui_host.settings.schema import ModelRef

TOKEN = "tok-12345678"  # noqa: S105 - one that opens nothing


GOOD = server("good", "good", 'env = { T = "${MY_TOKEN}" }')


class Broken(Refuse):
    """A front that fails when it is to ask."""

    @override
    async def decide(self, questions: Sequence[Question]) -> None:
        raise RuntimeError(f"no room for {len(questions)} and {TOKEN}")


async def broken_turn(host: Host) -> NoteItem:
    """A session whose turn meets the defect, and can be gone on with; returns its error card."""
    session = host.sessions.new()
    host.approver = Broken()
    result = await asked(host, session, "call it")
    assert (result.stop, host.fault) == ("error", None)
    [card] = [item for item in session.conversation if isinstance(item, NoteItem)]
    assert (card.kind, card.what) == ("error", some(result.error).what)
    [call] = [item for item in session.conversation if isinstance(item, CallItem)]
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
        serving(configured(tmp_path, first.url, GOOD, second.url, MY_TOKEN=TOKEN)) as host,
    ):
        pool = await settled(host)
        other = host.sessions.new(model=ModelRef(provider="other", model="m"))
        host.send(other, "hello")
        await until(lambda: answers(other) == ["half"])
        card = await broken_turn(host)
        assert other.busy
        release.set()
        await until(lambda: not other.busy)
        assert answers(other) == ["half and half"]
        assert [status.state for status in pool.statuses()] == ["ready"]

    assert card.what == "a bug in tui-host ended this turn (RuntimeError)"
    assert card.where.startswith("tui_host/chat/calls.py:")
    told = first.messages(1)
    assert [message["role"] for message in told] == ["user", "assistant", "tool", "assistant", "user"]
    assert told[2]["content"] == "A fault in the host ended the turn before this call was run."
    [log] = await anyio.to_thread.run_sync(lambda: list((tmp_path / "data").glob("crash-*.log")))
    assert f"see {log}" in card.remedy
    assert stat.S_IMODE(log.stat().st_mode) == 0o600
    assert "RuntimeError: no room for 1 and ⟨secret:MY_TOKEN⟩" in log.read_text()
    assert TOKEN not in json.dumps(told)


async def test_without_a_record_a_defect_leaves_no_log_and_else_one_wherever_the_database_is(tmp_path: Path) -> None:
    with peer_in_thread(asks(("good__echo", "{}")), text("I will")) as peer:
        settings = configured(tmp_path, peer.url, server("good", "good"))
        async with serving(settings, record=False) as host:
            card = await broken_turn(host)
    assert card.remedy == "report it, and try again"
    assert not (tmp_path / "data").exists()
    told = Host(settings, database=tmp_path / "gone soon" / "tui-host.db").mistake(ZeroDivisionError())
    [log] = (tmp_path / "data").glob("crash-*.log")
    assert f"see {log}" in told.remedy


MARK = "⟨secret:MY_TOKEN⟩"


async def told(folder: Path, spec: str, *, has_words: bool = False) -> tuple[str, tuple[str, ...]]:
    """What the model is told of its call to `bad.echo`, and what a person reads of the server's standard error, if it has words."""
    with peer_in_thread(asks(("bad__echo", "{}")), text("so be it")) as peer:
        async with serving(configured(folder, peer.url, spec + rule("bad.*", "allow"), MY_TOKEN=TOKEN)) as host:
            pool = await settled(host)
            session = host.sessions.new()
            await asked(host, session, "call it")
            assert answers(session) == ["so be it"]
            await until(lambda: bool(pool.statuses()[0].stderr) or not has_words)
            [status] = pool.statuses()
        assert TOKEN.encode() not in b"".join(request.data for request in peer.requests)
        return str(peer.messages(1)[-1]["content"]), status.stderr


async def test_a_server_s_last_words_are_for_the_person_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tui_host.servers.server.RETRY_SECONDS", (600.0,))  # the next process says nothing
    last_words = 'env = { LAST_WORDS = "no way with ${MY_TOKEN}" }'
    words, errors = await told(tmp_path, server("bad", "dies", last_words), has_words=True)
    assert words == "Error: bad: the server exited 3 during the call; the tool may have run (reconnect it)"
    assert errors == (f"no way with {MARK}",)


async def test_a_secret_too_short_to_be_found_is_taken_out_of_the_header_it_was_configured_for(tmp_path: Path) -> None:
    with peer_in_thread(text("fine")) as peer:
        servers = '[servers.x]\nurl = "http://127.0.0.1:9"\nenabled = false\nheaders = { X-Team = "${TEAM}" }\n'
        servers += '[providers.mine.headers]\nX-Own = "${OWN}"\n'
        async with serving(configured(tmp_path, peer.url, servers, TEAM="ab", OWN="cd")) as host:
            await asked(host, host.sessions.new(), "hello")
            assert host.recorder is not None
            assert host.recorder.flush()
            [request] = [record for record in host.recorder.since(0, limit=100) if record.kind == "request"]
            assert ("X-Own", "⟨secret:OWN⟩") in some(request.head).headers
            head = Head(headers=(("x-team", "ab"), ("x-other", "ab")))
            sent = host.recorder.redactor.record(Record(wire="mcp", kind="request", head=head)).head
        assert sent == Head(headers=(("x-team", "⟨secret:TEAM⟩"), ("x-other", "ab")))
        assert b"X-Own: cd" in peer.requests[0].head


async def test_a_credential_that_a_server_repeats_in_its_refusal_is_not_told(tmp_path: Path) -> None:
    async def refuse(exchange: Exchange) -> None:
        await exchange.respond("401 Unauthorized", f"not with {exchange.request.headers['authorization']}".encode())

    async with peer(always=mcp_http({"tools": [tool("echo")]}, **{"tools/call": refuse}), path="/mcp") as there:
        headers = 'headers = { Authorization = "Bearer ${MY_TOKEN}" }'
        words, _ = await told(tmp_path, f'[servers.bad]\nurl = "{there.url}"\n{headers}\n')
    assert words.startswith(f"Error: bad: HTTP 401 Unauthorized: not with Bearer {MARK}")


FIRST, REST = "The first words", " and all of the rest, 也有中文"
HALF_A_CALL = "<tool_use>\n  <name>math__add</name>\n  <argu"


def kept(folder: Path) -> bytes:
    """The answers' bytes on the disk by now."""
    try:
        store = Store.open_to_read(folder / "data" / "tui-host.db")
    except StoreError:  # there is none yet
        return b""
    records = (record for info in store.sessions.list() for record, _ in store.session_records(info.id))
    data = b"".join(record.data for record in records if record.kind == "chunk")
    store.close()
    return data


async def killed(folder: Path, rest: bytes, *options: str) -> None:
    """Run `ask`, let the first words come, then the rest, and kill the program once all of it is on the disk."""
    more = anyio.Event()

    async def script(exchange: Exchange) -> None:
        await exchange.send(head(), chunk({"reasoning_content": "hm"}), chunk({"content": FIRST}))
        await more.wait()
        await hangs(rest)(exchange)

    async with peer(script) as there:
        settings = configured(folder, there.url)
        words = ("--config", str(settings.config_file), "--data-dir", str(settings.data_dir), *options)
        command = [sys.executable, "-m", "tui_host", "ask", *words, "say much"]
        process = await anyio.open_process(command, env=dict(settings.environment))
        try:
            await until(lambda: FIRST.encode() in kept(folder))
            more.set()
            await until(lambda: rest in kept(folder))
        finally:
            more.set()
            process.kill()
            await process.aclose()


BEGUN = fragment(wire_id="c1", name="math__add", arguments='{"a":')


@pytest.mark.parametrize(
    ("protocol", "rest", "called"),
    [
        ("native", chunk({"content": REST}), []),
        ("native", chunk({"content": REST}) + calls(BEGUN), ['{"a":']),
        ("cherry", chunk({"content": f"{REST}\n{HALF_A_CALL}"}), []),
    ],
)
async def test_an_answer_whose_process_was_killed_comes_back_whole(
    tmp_path: Path, protocol: str, rest: bytes, called: list[str]
) -> None:
    await killed(tmp_path, rest, "--protocol", protocol)
    with recorded(configured(tmp_path, "http://127.0.0.1:9")) as store:  # by a command, before any app
        (info,) = store.sessions.list()
        assert f"{REST.rstrip()}\n>\n> {CUT_OFF}\n" in b"".join(FORMATS["markdown"].export(store, info)).decode()
        assert [match.session.id for match in search_chats(store, "也有中文")] == [info.id]
    with peer_in_thread(text("going on")) as peer:
        async with serving(configured(tmp_path, peer.url)) as host:
            store = host.store
            assert some(store).sessions.list()[0].updated_ns == info.updated_ns
            session = await anyio.to_thread.run_sync(host.sessions.open, "last")
            (answer,) = [item for item in session.conversation if isinstance(item, AnswerItem)]
            assert (answer.text.rstrip(), answer.thinking, answer.state) == (f"{FIRST}{REST}\n\n{CUT_OFF}", "hm", "cut")
            assert [item.asked for item in session.conversation if isinstance(item, CallItem)] == called
            notes = [item.what for item in session.conversation if isinstance(item, NoteItem)]
            assert [HALF_A_CALL in note for note in notes] == [True] * (protocol == "cherry")
            await asked(host, session, "go on")
        told = [(message["role"], message["content"]) for message in peer.messages(0) if message["role"] != "system"]
    assert told[0] == ("user", "say much")
    assert (told[1][0], str(told[1][1]).rstrip()) == ("assistant", FIRST + REST)
    assert told[2] == ("user", "[The host ended here; the previous answer is not complete.]\n\ngo on")
