"""The values of a session, for lists and for saving."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Literal, NamedTuple, TypeAlias

from tui_host.capture.json.narrowing import items, mapping, number_or_zero, text_or_empty

Source: TypeAlias = Literal["chat", "ask", "tap", "import"]
# The stored values of a `SessionInfo`, in its order.
SessionFields: TypeAlias = "tuple[str, str, Source, int, int, int, str, str, str, str, str, str]"
DIRECT = "direct"  # the name among the stored options of a session that has asked no model; no model option
TITLE_CHARACTERS = 24  # of a parent's title in the words for a branch
LOCAL_MARK = "~"  # before the number in a name under which imported content is stored because its own was taken


class SharedPart(NamedTuple):
    """What a branch shares of an older session: records up to a turn, messages and items with smaller numbers."""

    session: str
    turn: int
    messages: int
    items: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Parent:
    """The session that a branch goes on from, as it is stored among the branch's facts; `shared` has the parent last."""

    parent: str  # its id
    parent_title: str
    parent_turn: int  # the last one shared; 0 for none
    shared: tuple[SharedPart, ...]  # of the parent, and what that shares itself

    def words(self, *, at: str = "at") -> str:
        """Say where the branch was made, in foreign text; a long title is cut, so that the turn is seen."""
        cut = self.parent_title[:TITLE_CHARACTERS]
        title = cut if cut == self.parent_title else f"{cut}…"
        return f"branch of «{title}» {at} turn {self.parent_turn}"


def parent_of(facts: str) -> Parent | None:
    """Read the parent among a session's stored facts; None for a session that is no branch."""
    if '"parent_turn"' not in facts:
        return None
    try:
        members = mapping(json.loads(facts))
        return Parent(
            parent=str(members["parent"]),
            parent_title=text_or_empty(members.get("parent_title")),
            parent_turn=number_or_zero(members["parent_turn"]),
            shared=tuple(
                SharedPart(str(session), *map(number_or_zero, numbers))
                for session, *numbers in map(items, items(members["shared"]))
            ),
        )
    except (ValueError, TypeError, LookupError, RecursionError):
        return None


@dataclass(frozen=True, slots=True)
class SessionInfo:
    """A session as listed."""

    id: str
    title: str
    source: Source
    created_ns: int = 0
    updated_ns: int = 0
    turns: int = 0
    model: str = ""  # PROVIDER/MODEL
    protocol: str = ""
    profile: str = ""
    options: str = "{}"
    facts: str = "{}"  # what a tap found out about the host that it records, or a branch's parent
    draft: str = ""  # the unsent text of the prompt
    live: bool = False
    imported: bool = False  # from a file; `source` then says what created it originally

    @property
    def listed_source(self) -> Source:
        """The source, as shown in lists."""
        return "import" if self.imported else self.source

    @property
    def is_foreign(self) -> bool:
        """Whether the conversation took place elsewhere: it can be read, but not continued."""
        return self.imported or self.is_story

    @property
    def is_story(self) -> bool:
        """Whether its turns and calls are found when it is shown: another host's, recorded by a tap or read from a file."""
        return self.source in {"tap", "import"}

    @property
    def parent(self) -> Parent | None:
        """The session that this one is a branch of."""
        return None if self.is_foreign else parent_of(self.facts)

    @property
    def is_direct(self) -> bool:
        """Whether all turns were requests to servers without a model."""
        return f'"{DIRECT}": true' in self.options

    @property
    def asked(self) -> tuple[str, str]:
        """The model and the tool protocol, as shown in lists."""
        return ("", "") if self.is_direct else (self.model, self.protocol)

    @property
    def user(self) -> str:
        """The name of the person or program that asks the model."""
        return "User" if self.is_foreign else "You"


def session_id(now_ns: int, randomness: bytes) -> str:
    """Return an id that sorts by time: UTC date and time, then five random characters."""
    stamp = time.strftime("%Y%m%d-%H%M%S", time.gmtime(now_ns // 1_000_000_000))
    letters = "0123456789abcdefghjkmnpqrstvwxyz"
    number = int.from_bytes(randomness[:8])
    return f"{stamp}-{''.join(letters[number >> 5 * place & 31] for place in range(5))}"


def rfc3339(time_ns: int) -> str:
    """Return a time in UTC with microseconds: `2026-11-21T13:45:01.000250Z`."""
    moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=time_ns // 1000)
    return f"{moment:%Y-%m-%dT%H:%M:%S.%f}Z"
