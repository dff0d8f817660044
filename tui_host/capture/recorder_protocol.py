"""The protocols by which a tap uses a recorder."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from tui_host.capture.record import Draft, Redaction, Shift


class RedactedStream(Protocol):
    """Take secrets out of a body in pieces, also where a piece ends within a secret."""

    @property
    def shifts(self) -> Sequence[Shift]:
        """The places of removed secrets so far, in order."""
        ...

    @property
    def left_out(self) -> int:
        """The number of bytes not kept, because nobody can tell whether secrets are among the bytes."""
        ...

    def feed(self, data: bytes, /) -> tuple[bytes, tuple[Redaction, ...]]:
        """Take in bytes; return the part certain to have no secret."""
        ...

    def flush(self) -> tuple[bytes, tuple[Redaction, ...]]:
        """The rest."""
        ...


class BodyRedactor(Protocol):
    """Takes secrets out of bodies."""

    @property
    def is_needed(self) -> bool:
        """Whether secrets are possible."""
        ...

    def stream(self) -> RedactedStream:
        """Return a stream for one body."""
        ...

    def stream_by_value(self) -> RedactedStream:
        """Return a stream for coded bytes, without a search by place."""
        ...

    def learn_value(self, name: str, value: str, /) -> None:
        """Search for a credential of another host, found by place in a body, from now on."""
        ...


class Recording(Protocol):
    """The part of a recorder used by observers."""

    @property
    def redactor(self) -> BodyRedactor:
        """Knows the secrets."""
        ...

    def append(self, draft: Draft, /) -> int:
        """Append a record; return the number."""
        ...

    def new_exchange(self) -> str:
        """A new id."""
        ...
