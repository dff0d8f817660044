"""What a tap is, as its first records tell: before what it stands, which host it belongs to, which model is asked."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tui_host.capture.record import Record
from tui_host.chat.infer.recognise import is_host
from tui_host.chat.infer.story import Story

if TYPE_CHECKING:
    from tui_host.capture.store.store import Store

SEARCHED = 10_000
"""Records among which a tap's calls are looked for where it may be of several hosts."""
FIRST = 500
"""Records that are looked at, at most: hosts ask for lists of models, and for health, before they ask a model."""
_TELLING = 16
"""And so many frames, or records of exchanges with a model, tell what they can tell."""


@dataclass(frozen=True, slots=True, kw_only=True)
class About:
    """What a tap is.

    Attributes:
        kind: `llm`, `stdio` or `http`; empty where nothing has passed yet.
        peer: What it stands before, as it calls it; empty likewise.
        hosts: Whose it is, as the host says itself.
        models: The models that are asked.
        protocol: The tool protocol that is spoken; empty where no model is asked.
        offered: The names of the tools that a model is offered by the vendor's API.
        tools: Server and own name of the tools that a server has.
    """

    kind: str = ""
    peer: str = ""
    hosts: Sequence[str] = ()
    models: Sequence[str] = ()
    protocol: str = ""
    offered: Sequence[str] = ()
    tools: frozenset[tuple[str, str]] = frozenset()

    @property
    def host(self) -> str:
        """The one host that is known by its name; empty for what hosts are made with, and for several."""
        return self.hosts[0] if len(self.hosts) == 1 and is_host(self.hosts[0]) else ""

    @property
    def is_known(self) -> bool:
        """Whether anything tells it from taps of other hosts."""
        return bool(self.host) or self.protocol not in {"", "native"}

    def is_of_another_host(self, other: About) -> bool:
        """Whether two taps are known to be of different hosts: by their names, or as each teaches a model its own tool protocol."""
        taught = [each.protocol for each in (self, other) if each.protocol not in {"", "native"}]
        return len({self.host, other.host} - {""}) > 1 or len(set(taught)) > 1

    @property
    def model(self) -> str:
        """PROVIDER/MODEL of the model that was asked last; empty if none was."""
        return f"{self.peer}/{self.models[-1]}" if self.models else ""


class Looking:
    """A look into a capture's first records, which goes on where it stopped while there are too few of them.

    Args:
        capture: Which.

    Attributes:
        about: What they tell so far.
    """

    def __init__(self, capture: str = "") -> None:
        self.about = About()
        self._capture = capture
        self._story = Story()
        self._seen = self._count = self._telling = self._searched = 0

    @property
    def is_done(self) -> bool:
        """Whether the next records would tell no more."""
        return self._is_told or self._telling >= _TELLING or self._count >= FIRST

    @property
    def _is_told(self) -> bool:
        """Whether they say who the host is, and of which tools its model or this server is."""
        story = self._story
        is_told = bool(story.frames.tools) or any(said.asking.offered for said in story.exchanges)
        return is_told and bool(story.hosts)

    def look(self, store: Store) -> About:
        """What is told by now. Blocks.

        Raises:
            StoreError: The file cannot be read.
        """
        if not self.is_done:
            limit = FIRST - self._count
            self.feed(store.records(capture=self._capture, after=self._seen, limit=limit))
        return self.about

    def calls(self, store: Store) -> Story:
        """What it said so far, further than to tell what it is: for the calls in it. Blocks.

        Raises:
            StoreError: The file cannot be read.
        """
        limit = SEARCHED - self._searched
        for record in store.records(capture=self._capture, after=self._seen, limit=limit) if limit > 0 else ():
            self._story.feed(record)
            self._seen = record.seq
            self._searched += 1
        return self._story

    def feed(self, records: Iterable[Record]) -> None:
        """The next records; no more are taken than needed."""
        story, kind, peer = self._story, self.about.kind, self.about.peer
        for record in records:
            story.feed(record)
            draft = record.draft
            self._seen = record.seq
            self._count += 1
            self._telling += draft.kind == "frame" or bool(story.exchanges)
            if not kind and draft.wire != "host":
                kind = "llm" if draft.wire == "llm" else "http" if draft.exchange is not None else "stdio"
                peer = draft.peer
            if self._is_told or self._telling >= _TELLING:
                break
        models = [model for _, model in story.models if model]
        protocol = next(iter(story.protocols), "")
        self.about = About(
            kind=kind,
            peer=peer,
            hosts=story.hosts,
            models=models,
            protocol=protocol,
            offered=list(dict.fromkeys(name for said in story.exchanges for name in said.asking.offered)),
            tools=frozenset(story.frames.tools),
        )


def about(first: Iterable[Record]) -> About:
    """What the first records of a tap tell."""
    looking = Looking()
    looking.feed(first)
    return looking.about
