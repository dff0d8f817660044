"""A body is read by a task of its own: what has come is taken at once, in order, and nothing is lost."""

from __future__ import annotations

from collections.abc import AsyncIterator

import anyio

from tui_host.llm.answer_stream import MOST_AHEAD, BodyAhead


async def test_what_came_together_is_taken_at_once_and_no_more_is_read_than_has_its_room() -> None:
    async def body() -> AsyncIterator[bytes]:
        for number in range(MOST_AHEAD + 3):
            yield b"%d " % number
        await anyio.sleep_forever()

    ahead, taken = BodyAhead(body()), list[bytes]()
    with anyio.fail_after(90):
        async with anyio.create_task_group() as group:
            group.start_soon(ahead.run)
            taken += [await ahead.take(), await ahead.take()]
            await ahead.rest(0)
            await ahead.stop()
    assert MOST_AHEAD <= len(taken[0].split()) <= MOST_AHEAD + 2
    assert b"".join(taken).split() == [b"%d" % number for number in range(MOST_AHEAD + 3)]
