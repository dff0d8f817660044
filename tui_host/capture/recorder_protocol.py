"""The interfaces through which a tap uses a recorder."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from tui_host.capture.record import Record, Redaction, Shift


class RedactedStream(Protocol):
    """Removes secrets from a body in pieces, also if a secret is split between pieces."""

    @property
    def shifts(self) -> Sequence[Shift]:
        """The places of the secrets removed so far, in order."""
        ...

    @property
    def left_out(self) -> int:
        """Number of bytes that were not recorded, because they may contain secrets."""
        ...

    @property
    def is_open(self) -> bool:
        """Whether streamed text is held back because it may be the beginning of a secret."""
        ...

    def feed(self, data: bytes, /) -> tuple[bytes, tuple[Redaction, ...]]:
        """Take bytes; returns the bytes that certainly contain no secret."""
        ...

    def release(self) -> tuple[bytes, tuple[Redaction, ...]]:
        """Return the text held back, because its rest does not arrive in time."""
        ...

    def flush(self) -> tuple[bytes, tuple[Redaction, ...]]:
        """Return the rest at the end of the body."""
        ...


class BodyRedactor(Protocol):
    """Removes secrets from bodies."""

    @property
    def is_needed(self) -> bool:
        """Whether there may be secrets to remove."""
        ...

    def stream(self) -> RedactedStream:
        """Return a stream that removes secrets from one body."""
        ...

    def stream_by_value(self) -> RedactedStream:
        """Return a stream for compressed bytes, which searches only for known values."""
        ...

    def learn_value(self, name: str, value: str, /) -> None:
        """Search from now on for a credential of another host, found by its place in a body."""
        ...


class Recording(Protocol):
    """The part of a recorder used by observers."""

    @property
    def redactor(self) -> BodyRedactor:
        """The redactor, which knows the secrets."""
        ...

    def append(self, draft: Record, /) -> int:
        """Append a record; return the number."""
        ...

    def new_exchange(self) -> str:
        """Return a new exchange id."""
        ...
