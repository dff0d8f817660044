"""Each way in which a stdio server can misbehave costs itself alone: a good server beside it keeps answering."""

import json
import os
import re
from collections.abc import AsyncGenerator, Callable
from dataclasses import replace

import anyio
import pytest

from tests.cases import some
from tests.servers.running import END_SECONDS, Running, hostile, started
from tui_host.capture.ladder.ladder import Ladder
from tui_host.errors import ServerError


async def answers_at_once(running: Running, name: str = "good") -> None:
    with anyio.fail_after(45):  # less than the minute that a bad one may be silent
        output = await running.call(name, "echo", b'{"a":1}')
    assert output.content[0].text == '{"a":1}'


LIVES = {
    "bad-utf8": "caf\ufffd",
    "banner": "after the banner",
    "hostile-schema": "x",
    "id-as-text": "an id as text",
    "twice": "first",
    "asks": "asked",
    "surrogate": "\ufffd",
}
"""Modes whose odd answer still reaches the caller, and its text."""
REFUSED = {
    "malformed-answer": "no JSON-RPC message",
    "not-json": "no JSON-RPC message",
    "many-parts": "parts or more",
    "deep": "nested more than 100 levels deep",
    "rpc-error": "error -32050: the printer is on fire",
}
"""Modes whose answer cannot be used, and the error."""


@pytest.fixture(scope="module")
async def fleet() -> AsyncGenerator[Running]:
    """All servers whose connection survives what they do, each named by its mode."""
    modes = (*LIVES, *REFUSED, "no-content", "odd-blocks", "bad-banner", "good")
    async with started(*(hostile(mode, mode) for mode in modes)) as running:
        yield running


@pytest.mark.parametrize("mode", [*LIVES, *REFUSED])
async def test_an_odd_answer_is_told_or_an_error_at_once_and_the_connection_lives(fleet: Running, mode: str) -> None:
    with anyio.fail_after(90):
        if mode in LIVES:
            output = await fleet.call(mode)
            assert output.content[0].text == LIVES[mode]
            assert ("UTF-8" in output.warning) == (mode == "bad-utf8")
        else:
            for _ in range(2):
                with pytest.raises(ServerError, match=REFUSED[mode]):
                    await fleet.call(mode)
    await answers_at_once(fleet)
    assert fleet.status(mode).state == "ready"


async def test_malformed_bytes_are_recorded_and_results_of_a_wrong_shape_given_as_they_came(fleet: Running) -> None:
    await fleet.call("banner", call="recorded")
    malformed = [record.data for record in fleet.records("banner", kind="frame") if record.malformed]
    assert malformed[-4:] == [b"Welcome!\n", b"\n", b"\xff\xfe banner\n", b'{"half": \n']
    await fleet.call("bad-utf8")
    assert b"caf\xe9" in fleet.lines("bad-utf8", "in")[-1]
    assert (fleet.status("bad-banner").state, fleet.status("bad-banner").malformed) == ("ready", 2)
    output = await fleet.call("no-content")
    assert output.raw == {"content": "text", "isError": "no"}
    assert "malformed" in output.warning
    odd = await fleet.call("odd-blocks")
    assert [content.kind for content in odd.content] == ["hologram", "text", "text"]
    assert odd.content[2].text == "and this"


async def test_a_server_that_dies_in_a_call_ends_it_at_once_with_the_cause_and_its_last_words() -> None:
    async with started(hostile("bad", "dies"), hostile("good", "good")) as running:
        with anyio.fail_after(90), pytest.raises(ServerError, match=r"exited 3 during the call"):
            await running.call("bad")
        await running.until(lambda: running.status("bad").state == "lost")
        status = running.status("bad")
        assert (status.exit_code, status.stderr) == (3, ("about to die",))
        assert status.detail.startswith("exited 3")
        await answers_at_once(running)
        assert {tool.server for tool in running.pool.tools()} == {"good"}
    ladder = Ladder()
    ladder.feed(running.recorder.since(0))
    call = next(row for row in ladder.rows if row.method == "tools/call")
    assert (call.state, call.ending) == ("unanswered", "bad exited 3")
    ends = [(row.peer, row.words, row.error) for row in ladder.rows if row.kind == "end"]
    assert ends == [("bad", "exited 3", True), ("good", "closed by tui-host", False)]
    assert not any(row.state == "open" for row in ladder.rows)


async def test_a_call_that_hangs_ends_when_its_server_is_disconnected_and_no_tool_of_it_is_offered_any_more() -> None:
    async with started(hostile("bad", "good"), hostile("good", "good")) as running, anyio.create_task_group() as group:
        ended: list[str] = []

        async def slow() -> None:
            with pytest.raises(ServerError) as caught:
                await running.call("bad", "slow", b'{"seconds":60}')
            ended.append(caught.value.what)

        group.start_soon(slow)
        await running.until(lambda: len(running.lines("bad", "out")) == 5)
        running.pool.server("bad").stop()
        assert {tool.server for tool in running.pool.tools()} == {"good"}
        await running.until(lambda: bool(ended))
        assert ended == ["the server was disconnected during the call; the tool may have run"]
        await running.until(lambda: running.status("bad").detail == "")
        assert running.status("bad").state == "stopped"
        os.kill(pid_of(running, "good"), 9)  # while it is idle
        await running.until(lambda: running.status("good").state == "lost")
        assert running.status("good").detail.startswith("ended by SIGKILL")


def pid_of(running: Running, name: str) -> int:
    return some(some(running.pool.server(name).connection).child).process.pid


CAUSES = {
    "exits": "exited 4",
    "future": ".*2099-01-01",
    "no-initialize": ".*no answer to initialize within 3 s",
    "no-list": ".*no answer to tools/list within 3 s",
}


async def test_a_server_that_cannot_be_connected_is_told_with_the_cause() -> None:
    bad = [hostile(mode, mode, timeout=3 if mode.startswith("no-") else 60) for mode in CAUSES]
    async with started(*bad, hostile("good", "good")) as running:
        await running.until(lambda: all(running.status(mode).state == "failed" for mode in CAUSES))
        details = {mode: running.status(mode).detail for mode in CAUSES}
        assert all(re.match(CAUSES[mode], detail) for mode, detail in details.items()), details
        assert running.status("exits").stderr == ("\x1b[2Jno license found\x07",)
        await answers_at_once(running)


async def test_silence_ends_a_call_and_is_cancelled_on_the_wire() -> None:
    async with started(hostile("bad", "silent")) as running:
        running.limit("bad", 0.4)
        with anyio.fail_after(90), pytest.raises(ServerError, match="the tool may have run"):
            await running.call("bad")
        await running.until(lambda: any(line.startswith("cancelled") for line in running.status("bad").stderr))
        assert running.status("bad").state == "ready"


async def test_progress_extends_a_call_and_is_told() -> None:
    strict = replace(hostile("strict", "good", "0.35"), timeout_max=2)
    async with started(hostile("good", "good", "0.35"), strict) as running:
        running.limit("good", 3.0)
        running.limit("strict", 1.9)
        told: list[float] = []

        async def give_up() -> None:
            with pytest.raises(ServerError, match=r"raise timeout_max of servers\.strict"):
                await running.call("strict", "progress")

        with anyio.fail_after(90):
            async with anyio.create_task_group() as group:
                group.start_soon(give_up)
                output = await running.call("good", "progress", on_progress=lambda at: told.append(at.progress))
                assert output.content[0].text == "worked"
        assert (told[0], told) == (0, sorted(told))


@pytest.mark.parametrize(
    ("mode", "words"),
    [
        ("closes-stdout", "closed its standard output"),
        ("endless-line", "the limit is 67,108,864"),
        ("flood-stdout", "that are no messages"),
    ],
)
async def test_output_that_is_too_much_costs_the_link(mode: str, words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tui_host.capture.stdio.server_pipes.JUNK_LIMIT", 1 << 20)
    async with started(hostile("bad", mode), hostile("good", "good")) as running:
        with anyio.fail_after(90):
            async with anyio.create_task_group() as group:
                group.start_soon(answers_at_once, running)
                with pytest.raises(ServerError, match=words):
                    await running.call("bad")
        await running.until(lambda: running.status("bad").state == "lost")
        if mode == "endless-line":
            assert running.records("bad", kind="frame", direction="in")[-1].data == b"x" * (1 << 20)
        await answers_at_once(running)


AFTER = "after the flood"
FLOODS: list[tuple[str, int, str, Callable[[Running], bool]]] = [
    ("long-line", 30_000_000, "x" * 30_000_000, lambda at: at.status("bad").malformed == 0),
    ("flood-notifications", 6_000, AFTER, lambda at: dict(at.status("bad").log_counts) == {"info": 6000}),
    ("flood-requests", 3_000, AFTER, lambda at: at.status("bad").notices == ()),
    ("flood-stderr", 50_000_000, AFTER, lambda at: any("came too fast" in each for each in at.status("bad").notices)),
]


@pytest.mark.parametrize(("mode", "size", "text", "is_told"), FLOODS, ids=[flood[0] for flood in FLOODS])
async def test_the_answer_behind_a_flood_comes_and_the_flood_is_kept_within_bounds(
    mode: str, size: int, text: str, is_told: Callable[[Running], bool]
) -> None:
    async with started(hostile("bad", mode, str(size)), hostile("good", "good")) as running:
        with anyio.fail_after(90):
            async with anyio.create_task_group() as group:
                group.start_soon(answers_at_once, running)
                assert (await running.call("bad")).content[0].text == text
        assert is_told(running)
        assert sum(len(record.data) for record in running.records("bad", wire="stderr")) < 30_000_000
        if mode == "flood-notifications":
            assert sum(b"notifications/message" in line for line in running.lines("bad", "in")) == size
        await answers_at_once(running)


async def test_a_server_that_does_not_read_blocks_nobody_and_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tui_host.capture.stdio.pipes.UNREAD_SECONDS", 0.3)
    async with started(hostile("bad", "never-reads"), hostile("good", "good")) as running:
        running.limit("bad", 1.0)
        arguments = json.dumps({"a": "x" * 3_000_000}, separators=(",", ":")).encode()

        async def call(name: str) -> None:
            with anyio.fail_after(90), pytest.raises(ServerError, match="no answer within"):
                await running.call("bad", "echo", arguments, call=name)

        async with anyio.create_task_group() as group:
            for name in ("one", "two", "three"):
                group.start_soon(call, name)
            await running.until(lambda: any("has not read" in notice for notice in running.status("bad").notices))
            await answers_at_once(running)


async def test_servers_that_ignore_everything_are_gone_within_five_seconds_all_at_once() -> None:
    deaf = [f"deaf{number}" for number in range(5)]
    async with started(*(hostile(name, "deaf") for name in deaf), hostile("bad", "grandchild")) as running:
        await running.until(lambda: bool(running.status("bad").stderr))
        grandchild = int(running.status("bad").stderr[0].split()[1])
        pids = [pid_of(running, name) for name in deaf]
        with anyio.fail_after(5 * 4):  # less than what one after the other would take
            await running.pool.stop_all()
        assert not any(is_alive(pid) for pid in pids)
        await running.until(lambda: not is_alive(grandchild))


async def test_good_servers_get_the_listed_variables_alone_and_leave_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tui_host.capture.stdio.server_pipes.PATIENCE", 600.0)
    environment = {**os.environ, "OPENAI_API_KEY": "sk-canary", "TZ": "UTC"}
    servers = [hostile("env", "environment"), *(hostile(f"good{number}", "good") for number in range(3))]
    async with started(*servers, environment=environment) as running:
        seen = json.loads((await running.call("env")).content[0].text)
        assert (seen["TZ"], "OPENAI_API_KEY" in seen) == ("UTC", False)
        with anyio.fail_after(END_SECONDS):
            await running.pool.stop_all()


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
        with open(f"/proc/{pid}/stat", encoding="utf-8") as stat:  # noqa: PTH123 - a zombie is not alive
            return stat.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
