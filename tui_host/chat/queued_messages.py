"""What the user writes while a turn runs: messages that wait in their session, and how the store keeps them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tui_host.capture.json.narrowing import items, mapping, number_or_zero, text_or_empty
from tui_host.errors import JSON
from tui_host.llm.messages import Image, Text

if TYPE_CHECKING:
    from tui_host.chat.attachments import Attached


@dataclass(frozen=True, slots=True, kw_only=True)
class Queued:
    """A message that waits for its turn, or (`joins_step`) for the next step of the running one, beside the results of tools."""

    text: str
    attached: Sequence[Attached] = ()
    joins_step: bool = False


def queue_to_json(queued: Sequence[Queued]) -> JSON:
    """Return the messages as JSON, with what is attached to them."""
    texts: list[JSON] = []
    for message in queued:
        attached: list[JSON] = []
        for file in message.attached:
            value: dict[str, JSON] = {"name": file.name, "kind": file.kind, "size": file.size, "server": file.server}
            if isinstance(file.part, Image):
                value["data"] = file.part.data
            else:
                value |= {"text": file.part.text, "origin": file.part.origin}
            attached.append(value)
        texts.append({"text": message.text, "attached": attached} if attached else message.text)
    return texts


def queue_of(value: JSON) -> list[Queued]:
    """Read what `queue_to_json` wrote. No turn runs then, so that none joins a step."""
    from tui_host.chat.attachments import Attached

    queued: list[Queued] = []
    for message in items(value):
        attached: list[Attached] = []
        for file in map(mapping, items(mapping(message).get("attached"))):
            kind = text_or_empty(file.get("kind"))
            part = Text(text=text_or_empty(file.get("text")), origin=text_or_empty(file.get("origin")))
            if "data" in file:
                part = Image(media_type=kind, data=text_or_empty(file["data"]))
            name, server = text_or_empty(file.get("name")), text_or_empty(file.get("server"))
            size = number_or_zero(file.get("size"))
            attached.append(Attached(name=name, kind=kind, size=size, part=part, server=server))
        text = message if isinstance(message, str) else text_or_empty(mapping(message).get("text"))
        queued.append(Queued(text=text, attached=tuple(attached)))
    return queued
