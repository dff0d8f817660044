"""The one tree of errors, and the type of parsed JSON.

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
    """Something a person can be told in one line.

    Attributes:
        what: What happened, as a sentence without a full stop.
        where: File and key, server, or URL it happened at; may be empty.
        remedy: What to do about it, in the imperative; may be empty.
    """

    what: str
    where: str = ""
    remedy: str = ""

    @override
    def __str__(self) -> str:
        """Everything in one line."""
        place = f"{self.where}: " if self.where else ""
        remedy = f" ({self.remedy})" if self.remedy else ""
        return f"{place}{self.what}{remedy}"

    def to_json(self) -> dict[str, JSON]:
        """The same for a machine, as every `--json` tells it."""
        return {"what": self.what, "where": self.where, "remedy": self.remedy}


@dataclass(slots=True, eq=False)
class SettingsError(TuiHostError):
    """One or more mistakes in what a person configured or typed.

    Attributes:
        more: The other mistakes found in the same reading, so that all are told at once.
    """

    more: tuple[TuiHostError, ...] = ()

    __str__ = TuiHostError.__str__


@dataclass(slots=True, eq=False)
class ServerError(TuiHostError):
    """A server could not be reached, or its connection was lost.

    Attributes:
        sent: Whether the request may have reached it.
    """

    sent: bool = True

    __str__ = TuiHostError.__str__


@dataclass(slots=True, eq=False)
class ModelError(TuiHostError):
    """A provider refused a request, failed, or its stream broke off.

    Attributes:
        status: The HTTP status, None if no response came.
        retry_after: Seconds the provider asked to wait, None if it did not say.
        exchange: The id of the exchange that failed, None if nothing was sent.
        passes: It may be over in a while: the same request may be sent again by itself.
    """

    status: int | None = None
    retry_after: float | None = None
    exchange: str | None = None
    passes: bool = False

    __str__ = TuiHostError.__str__


@dataclass(slots=True, eq=False)
class StoreError(TuiHostError):
    """The database cannot be opened, read or written."""

    __str__ = TuiHostError.__str__
