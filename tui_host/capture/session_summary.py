"""The values of a session, for lists and for saving."""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Literal, TypeAlias

Source: TypeAlias = Literal["chat", "ask", "tap", "import"]
_LOCAL_MARK = "~"


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionInfo:
    """A session as listed.

    Attributes:
        model: PROVIDER/MODEL.
        imported: It was brought here from a file; `source` is then what made it there.
    """

    id: str
    title: str
    created_ns: int
    updated_ns: int
    turns: int
    source: Source
    live: bool
    model: str
    protocol: str
    profile: str = ""
    options: str = "{}"
    imported: bool = False

    @property
    def listed_source(self) -> Source:
        """The source for a list."""
        return "import" if self.imported else self.source

    @property
    def is_foreign(self) -> bool:
        """Whether the conversation took place elsewhere: readable, but not to be continued."""
        return self.imported or self.source in {"tap", "import"}

    @property
    def user(self) -> str:
        """The name for the person or program asking the model."""
        return "User" if self.is_foreign else "You"

    @property
    def created(self) -> str:
        """RFC 3339, UTC, microseconds."""
        return rfc3339(self.created_ns)

    @property
    def updated(self) -> str:
        """RFC 3339, UTC, microseconds."""
        return rfc3339(self.updated_ns)


def foreign_session(identity: str, title: str) -> SessionInfo:
    """Return the session of a file from elsewhere, with nothing else known yet."""
    return SessionInfo(
        id=identity,
        title=title,
        created_ns=0,
        updated_ns=0,
        turns=0,
        source="import",
        live=False,
        model="",
        protocol="",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionState:
    """The saved values of a session, besides messages and items."""

    id: str
    title: str
    created_ns: int
    updated_ns: int
    source: Source
    model: str
    protocol: str
    profile: str = ""
    options: str = "{}"
    draft: str = ""

    @property
    def begun(self) -> SessionInfo:
        """The session as listed while the saving process runs, before the first turn."""
        return SessionInfo(
            id=self.id,
            title=self.title,
            created_ns=self.created_ns,
            updated_ns=self.updated_ns,
            turns=0,
            source=self.source,
            live=True,
            model=self.model,
            protocol=self.protocol,
            profile=self.profile,
            options=self.options,
        )


def session_id(now_ns: int, randomness: bytes) -> str:
    """Return an id sorted by time: UTC date and time, then five characters to tell ids of one second apart."""
    stamp = time.strftime("%Y%m%d-%H%M%S", time.gmtime(now_ns // 1_000_000_000))
    letters = "0123456789abcdefghjkmnpqrstvwxyz"
    number = int.from_bytes(randomness[:8])
    return f"{stamp}-{''.join(letters[number >> 5 * place & 31] for place in range(5))}"


def rfc3339(time_ns: int) -> str:
    """Return a time in UTC with microseconds: `2026-11-21T13:45:01.000250Z`."""
    moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=time_ns // 1000)
    return f"{moment:%Y-%m-%dT%H:%M:%S.%f}Z"


def local_name(name: str, number: int) -> str:
    """Return the stored name of something imported: the original name, with a mark and a number if taken."""
    return name if number == 1 else f"{name}{_LOCAL_MARK}{number}"


def own_name(name: str) -> str:
    """Return the original name of something imported; exports use no other."""
    return name.partition(_LOCAL_MARK)[0]
