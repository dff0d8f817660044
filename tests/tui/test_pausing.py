"""A loop's clock that stands still while the program does."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from types import FrameType

from tui_host.tui.suspension import PausableLoop

WAKER = """
import os, signal, sys, time
os.kill(int(sys.argv[1]), signal.SIGSTOP); time.sleep(0.6); os.kill(int(sys.argv[1]), signal.SIGCONT)
"""


def test_no_deadline_passes_while_the_program_is_paused() -> None:
    heard: list[int] = []

    async def wait(loop: PausableLoop) -> None:
        def go_on(number: int, frame: FrameType | None) -> None:
            loop.go_on()
            heard.append(number)

        signal.signal(signal.SIGCONT, go_on)
        before, began, after = time.monotonic(), loop.time(), time.monotonic()
        waker = await asyncio.create_subprocess_exec(sys.executable, "-I", "-S", "-c", WAKER, str(os.getpid()))
        async with asyncio.timeout(90):
            while not heard:
                await asyncio.sleep(0.01)
            await waker.wait()
        skipped = loop.skipped()
        least, passed, most = time.monotonic() - after, loop.time() - began, time.monotonic() - before
        assert skipped > 0.3
        assert least - 0.001 <= passed + skipped <= most + 0.001

    before = signal.getsignal(signal.SIGCONT)
    try:
        with asyncio.Runner(loop_factory=PausableLoop) as runner:
            loop = runner.get_loop()
            assert isinstance(loop, PausableLoop)
            runner.run(wait(loop))
    finally:
        signal.signal(signal.SIGCONT, before)
