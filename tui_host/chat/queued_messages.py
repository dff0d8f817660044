"""What the user writes while a turn runs: messages that wait in their session, and their form in the store."""

from __future__ import annotations

from dataclasses import dataclass

from tui_host.chat.attachments import Attached
from tui_host.chat.stored_messages import StoredForm
from tui_host.llm.messages import Image, Text


@dataclass(frozen=True, slots=True, kw_only=True)
class Queued:
    """A message that waits for its turn, or (`joins_step`) for the next step of the running one, beside the results of tools."""

    text: str
    attached: tuple[Attached, ...] = ()
    joins_step: bool = False


QUEUED_FORM = StoredForm(
    tag="is",
    classes={"file": Attached, "text": Text, "image": Image},
    sparse=frozenset(("attached", "joins_step", "origin")),
)
