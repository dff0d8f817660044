"""How servers begin, and how long a turn waits for that."""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager

import anyio
import pytest

from tests.servers.running import END_SECONDS, hostile, made_with_sdk
from tui_host.capture.recorder import Recorder
from tui_host.capture.redact.redaction import Redactor
from tui_host.servers.pool import Pool
from tui_host.settings.schema import ServerSpec

# Linux and macOS start processes by the same code; only how this file looks at them, through /proc, is Linux's.
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="children are counted in Linux's way")
PATIENCE = 90.0
MUTE = "no-initialize"


def pool_of(*specs: ServerSpec) -> Pool:
    return Pool({spec.name: spec for spec in specs}, Recorder(None, Redactor([]), capture="c"), dict(os.environ))


@asynccontextmanager
async def at_work(pool: Pool) -> AsyncGenerator[None]:
    async with anyio.create_task_group() as group:
        group.start_soon(pool.run)
        try:
            yield
        finally:
            with anyio.CancelScope(shield=True), anyio.fail_after(END_SECONDS):
                await pool.stop_all()


async def until(is_so: Callable[[], object]) -> None:
    with anyio.fail_after(PATIENCE):
        while not is_so():
            await anyio.sleep(0.005)


def children() -> set[int]:
    """Our children's process ids, as Linux knows them."""
    with open(f"/proc/self/task/{os.getpid()}/children", encoding="ascii") as file:  # noqa: PTH123 - no path of a project
        return {int(word) for word in file.read().split()}


async def test_a_connection_takes_the_process_that_was_started_before_it() -> None:
    pool = pool_of(made_with_sdk("a"))
    before = children()
    async with at_work(pool):
        assert await pool.settled(PATIENCE) == ()
        assert [status.state for status in pool.statuses()] == ["ready"]
        assert len(children() - before) == 2, "the server and the guard"
    assert children() == before


@pytest.mark.parametrize("is_stopped", [False, True])
async def test_a_process_that_no_connection_takes_is_ended_with_the_pool(is_stopped: bool) -> None:  # noqa: FBT001
    pool = pool_of(hostile("a", MUTE))
    before = children()
    async with anyio.create_task_group() as group:
        group.start_soon(pool.run)
        await until(lambda: len(children() - before) == 2)
        if is_stopped:
            pool.server("a").stop()
        group.cancel_scope.cancel()
    assert children() == before


async def test_a_connection_that_did_not_become_ready_is_waited_for_once() -> None:
    pool = pool_of(hostile("mute", MUTE))
    async with at_work(pool):
        await until(lambda: pool.server("mute").connection)
        assert await pool.settled(0.2) == ("mute",)
        with anyio.fail_after(PATIENCE):
            assert await pool.settled(2 * PATIENCE) == ("mute",), "it was waited for in vain before"
        pool.server("mute").reconnect()
        with anyio.move_on_after(0.3) as waiting:
            await pool.settled(PATIENCE)
        assert waiting.cancelled_caught, "the new connection is waited for"
