"""What a tap is, as its first records tell: before what it stands, which host it belongs to, which model is asked."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tui_host.capture.record import Record
from tui_host.chat.infer.recognise import is_host
from tui_host.chat.infer.story import Story

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
    """

    kind: str = ""
    peer: str = ""
    hosts: Sequence[str] = ()
    models: Sequence[str] = ()
    protocol: str = ""

    @property
    def host(self) -> str:
        """The one host that is known by its name; empty for what hosts are made with, and for several."""
        return self.hosts[0] if len(self.hosts) == 1 and is_host(self.hosts[0]) else ""

    @property
    def model(self) -> str:
        """PROVIDER/MODEL of the model that was asked last; empty if none was."""
        return f"{self.peer}/{self.models[-1]}" if self.models else ""


def about(first: Iterable[Record]) -> About:
    """What the first records of a tap tell."""
    story = Story()
    kind = peer = ""
    telling = 0
    for record in first:
        story.feed(record)
        draft = record.draft
        telling += draft.kind == "frame" or bool(story.exchanges)
        if not kind and draft.wire != "host":
            kind = "llm" if draft.wire == "llm" else "http" if draft.exchange is not None else "stdio"
            peer = draft.peer
        if story.hosts or telling >= _TELLING:
            break
    models = [model for _, model in story.models if model]
    return About(kind=kind, peer=peer, hosts=story.hosts, models=models, protocol=next(iter(story.protocols), ""))
