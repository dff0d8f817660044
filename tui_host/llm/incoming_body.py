"""A response's body while it comes, read by a task of its own. Imported late, with anyio."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Final

import anyio

MOST_WAITING: Final = 1 << 20
"""Bytes that are read ahead of whoever takes them."""


class Incoming:
    """Reads while others work with what came before, so that all that has come meanwhile is taken at once.

    Vendors send each event in a chunk of its own: going through every layer for each costs more than reading it.
    """

    def __init__(self, body: AsyncIterator[bytes]) -> None:
        """Read nothing yet; `run` does."""
        self._body = body
        self._pieces: list[bytes] = []
        self._waiting = 0  # bytes of them
        self._news = anyio.Event()
        self._taken = anyio.Event()
        self._ended = anyio.Event()
        self._fault: Exception | None = None
        self._scope = anyio.CancelScope()

    async def run(self) -> None:
        """Read to the end; what goes wrong is raised to whoever takes."""
        try:
            with self._scope:
                async for data in self._body:
                    if not self._pieces:
                        self._news.set()
                    self._pieces.append(data)
                    self._waiting += len(data)
                    if self._waiting > MOST_WAITING:
                        self._taken = anyio.Event()
                        await self._taken.wait()
        except Exception as error:  # noqa: BLE001 - is raised where it is waited for
            self._fault = error
        finally:
            self._ended.set()
            self._news.set()

    async def take(self) -> bytes:
        """All that came since; waits until there is something. Empty at the end.

        Raises:
            Exception: What reading raised, behind all that came before.
        """
        await self._news.wait()
        if not self._pieces:
            if self._fault is not None:
                raise self._fault
            return b""
        data = b"".join(self._pieces)
        self._pieces.clear()
        self._waiting = 0
        self._taken.set()
        if not self._ended.is_set():
            self._news = anyio.Event()
        return data

    async def rest(self, seconds: float) -> None:
        """Let it come to its own end, for so long; nobody takes what comes."""
        with anyio.move_on_after(seconds):
            while await self.take():
                pass

    async def stop(self) -> None:
        """Read no further."""
        self._scope.cancel()
        with anyio.CancelScope(shield=True):
            await self._ended.wait()
