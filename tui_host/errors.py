"""The tree of errors, and the type of parsed JSON.

TuiHostError
├── SettingsError     the configuration or the command line is wrong; the command line ends with 2
├── ServerError       a server could not be reached or was lost
├── ModelError        a provider refused, failed, or its stream broke off
└── StoreError        the database cannot be read or written
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from typing_extensions import override

JSON: TypeAlias = "bool | int | float | str | Sequence[JSON] | Mapping[str, JSON] | None"


@dataclass(slots=True, eq=False)
class TuiHostError(Exception):
    """An error that a user can be told in one line.

    Attributes:
        what: What happened, as a sentence without a full stop.
        where: File and key, server, or URL; may be empty.
        remedy: What to do, in the imperative; may be empty.
    """

    what: str
    where: str = ""
    remedy: str = ""

    @override
    def __str__(self) -> str:
        """The error in one line."""
        place = f"{self.where}: " if self.where else ""
        remedy = f" ({self.remedy})" if self.remedy else ""
        return f"{place}{self.what}{remedy}"

    def to_json(self) -> dict[str, JSON]:
        """Return the error in the form of every `--json`."""
        return {"what": self.what, "where": self.where, "remedy": self.remedy}


@dataclass(slots=True, eq=False)
class SettingsError(TuiHostError):
    """Mistakes in the configuration or on the command line.

    Attributes:
        more: Further mistakes from the same reading, so that all are reported at once.
    """

    more: tuple[TuiHostError, ...] = ()

    __str__ = TuiHostError.__str__


@dataclass(slots=True, eq=False)
class ServerError(TuiHostError):
    """A server could not be reached, or its connection was lost.

    Attributes:
        sent: Whether the request may have reached the server.
        is_session_lost: The server refused the request because it no longer knows the session; nothing ran.
    """

    sent: bool = True
    is_session_lost: bool = False

    __str__ = TuiHostError.__str__


@dataclass(slots=True, eq=False)
class ModelError(TuiHostError):
    """A provider refused a request, failed, or its stream broke off.

    Attributes:
        status: The HTTP status, None without a response.
        retry_after: Seconds to wait according to the provider, None if not given.
        exchange: The id of the failed exchange, None if nothing was sent.
        passes: The failure may be temporary: the same request may be retried automatically.
        is_full: The conversation is longer than the model reads.
    """

    status: int | None = None
    retry_after: float | None = None
    exchange: str | None = None
    passes: bool = False
    is_full: bool = False

    __str__ = TuiHostError.__str__


@dataclass(slots=True, eq=False)
class StoreError(TuiHostError):
    """The database cannot be opened, read or written."""

    __str__ = TuiHostError.__str__
