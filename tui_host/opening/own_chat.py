"""Makes the chat of a session of our own from its records: messages as for a tap's story, calls and turns as recorded."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from tui_host.capture.json.narrowing import mapping, said
from tui_host.capture.json.reading import read_object
from tui_host.capture.record import NOWHERE, Place, Record
from tui_host.chat.conversation import AnswerItem, CallItem, CallState, Conversation, Item, NoteItem, UserItem
from tui_host.errors import JSON
from tui_host.infer.story import Story
from tui_host.infer.story_chat import StoryChat


@dataclass(slots=True, eq=False)
class OwnChat:
    """Makes a chat from a session's records, which are fed in order."""

    _story: Story = field(default_factory=Story)
    _places: dict[tuple[str, str], Place] = field(default_factory=dict[tuple[str, str], Place])
    _asked: dict[tuple[str, str], list[Mapping[str, JSON]]] = field(
        default_factory=dict[tuple[str, str], "list[Mapping[str, JSON]]"]
    )
    _decisions: dict[str, Mapping[str, JSON]] = field(default_factory=dict[str, "Mapping[str, JSON]"])

    def feed(self, record: Record) -> None:
        """Read the next record."""
        if record.kind == "link":
            link = read_object(record.data)
            if link.get("relation") == "asked":
                exchange = said(mapping(link.get("span")).get("exchange"))
                self._asked.setdefault((record.capture, exchange), []).append(link)
        elif record.kind == "decision":
            self._decisions[record.place.call or ""] = read_object(record.data)
        elif record.kind == "request" and record.wire == "llm":
            self._places[record.capture, record.exchange or ""] = record.place
        self._story.feed(record)

    def items(self) -> Iterator[Item]:
        """Return the items of the chat, in order."""
        conversation = Conversation()
        StoryChat(self._story, conversation).tell()
        exchanges = self._story.conversations.exchanges.values()
        own = [exchange for exchange in exchanges if not exchange.root.is_side_request]
        places = {(exchange.turn, exchange.step): self._places.get(exchange.key, NOWHERE) for exchange in own}
        for item in conversation:
            step = item.step if isinstance(item, AnswerItem | CallItem) else 0  # 0: stated only in a later request
            place = places.get((item.turn, step or 1), NOWHERE)
            turn = place.turn or item.turn
            if isinstance(item, CallItem) and step:  # as its link and its decision were recorded
                capture, exchange, number = item.call.rsplit(".", 2)
                links = self._asked.get((capture, exchange), [])[int(number) :] or [{}]
                call, server, tool = (said(links[0].get(name)) for name in ("call", "server", "tool"))
                decision = self._decisions.get(call, {})
                words, refused = said(decision.get("words")), decision.get("decision")
                state: CallState = refused if refused in ("rejected", "stopped", "invalid") else item.state
                names = {"call": call or item.call, "server": server or item.server, "tool": tool or item.tool}
                decided = {"decision": said(refused), "by": said(decision.get("by"))}
                told = words if words or call else item.words
                yield replace(item, turn=turn, step=place.step or step, **names, **decided, state=state, words=told)
            elif isinstance(item, AnswerItem) and step:
                yield replace(item, turn=turn, step=place.step or step)
            elif isinstance(item, UserItem | NoteItem | AnswerItem | CallItem):
                yield replace(item, turn=turn)
