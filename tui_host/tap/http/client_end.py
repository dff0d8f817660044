"""A client's connection, as the upstream's side of a relay knows it."""

from __future__ import annotations

from typing import Protocol


class ClientEnd(Protocol):
    """What this side says to the client's."""

    def write(self, data: bytes) -> None:
        """Bytes for the client."""
        ...

    def sink(self) -> int | None:
        """The client's socket, if it may be written to; None while something waits to be."""
        ...

    def break_off(self) -> None:
        """Nothing can be written to the client any more."""
        ...

    def pause(self, *, paused: bool) -> None:
        """Read no more, or again."""
        ...

    def tunnel(self) -> None:
        """From now on what comes is passed as it is."""
        ...

    def answered(self, *, lasts: bool) -> None:
        """The response is complete; whether the connection lasts."""
        ...

    def failed(self, words: str) -> None:
        """The upstream could not be asked, or what it answers cannot be passed on; nothing of it has been."""
        ...

    def cut(self, words: str, *, was_reset: bool) -> None:
        """The upstream's connection ended before its answer did."""
        ...

    def close(self, *, was_reset: bool = False) -> None:
        """The upstream's connection ended, and nothing was on its way."""
        ...
