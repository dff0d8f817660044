"""The interface through which a tap uses a recorder."""

from __future__ import annotations

from typing import Protocol

from tui_host.capture.record import Record
from tui_host.capture.redact.redaction import Redactor


class Recording(Protocol):
    """The part of a recorder used by observers."""

    @property
    def redactor(self) -> Redactor:
        """The redactor, which knows the secrets."""
        ...

    def append(self, draft: Record, /) -> int:
        """Append a record; return the number."""
        ...

    def new_exchange(self) -> str:
        """Return a new exchange id."""
        ...
