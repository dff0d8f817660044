"""What a tap needs of a recorder."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from tui_host.capture.record import Draft, Redaction, Shift


class RedactedStream(Protocol):
    """Takes secrets out of a body that comes in pieces, also where a piece ends within one."""

    @property
    def shifts(self) -> Sequence[Shift]:
        """What was taken out so far, in order."""
        ...

    @property
    def left_out(self) -> int:
        """Bytes at the end that cannot be kept, since a secret stands in them."""
        ...

    def feed(self, data: bytes, /) -> tuple[bytes, tuple[Redaction, ...]]:
        """What is certainly no part of a secret so far."""
        ...

    def flush(self) -> tuple[bytes, tuple[Redaction, ...]]:
        """The rest."""
        ...


class BodyRedactor(Protocol):
    """Takes secrets out of bodies."""

    @property
    def is_needed(self) -> bool:
        """Whether there may be any."""
        ...

    def stream(self) -> RedactedStream:
        """For one body."""
        ...

    def stream_by_value(self) -> RedactedStream:
        """For bytes that stand for others, in which nothing has its place."""
        ...

    def learn_value(self, name: str, value: str, /) -> None:
        """Know a credential of somebody else's, that a body told by its place, from now on."""
        ...


class Recording(Protocol):
    """What the observer needs of a recorder."""

    @property
    def redactor(self) -> BodyRedactor:
        """Knows the secrets."""
        ...

    def append(self, draft: Draft, /) -> int:
        """Keep a record; gives its number."""
        ...

    def new_exchange(self) -> str:
        """A new id."""
        ...
