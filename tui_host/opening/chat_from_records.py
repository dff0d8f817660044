"""The chat of an imported session of tui-host, made of its records: record lines hold no chat."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from tui_host.capture.chain import read_object
from tui_host.capture.json.narrowing import mapping, said
from tui_host.capture.record import NOWHERE, Place, Record
from tui_host.chat.conversation import AnswerItem, CallItem, CallState, Conversation, Item, NoteItem, UserItem
from tui_host.errors import JSON
from tui_host.infer.story import Story
from tui_host.infer.story_chat import Telling


class ChatFromRecords:
    """Makes a chat of a session's records: messages as in the story of a tap, calls and turns as recorded."""

    def __init__(self) -> None:
        self._story = Story()
        self._places: dict[tuple[str, str], Place] = {}
        self._asked: dict[tuple[str, str], list[Mapping[str, JSON]]] = {}
        self._decisions: dict[str, Mapping[str, JSON]] = {}

    def feed(self, record: Record) -> None:
        """Take in the next record."""
        draft = record.draft
        if draft.kind == "link":
            link = read_object(draft.data)
            if link.get("relation") == "asked":
                exchange = said(mapping(link.get("span")).get("exchange"))
                self._asked.setdefault((record.capture, exchange), []).append(link)
        elif draft.kind == "decision":
            self._decisions[draft.place.call or ""] = read_object(draft.data)
        elif draft.kind == "request" and draft.wire == "llm":
            self._places[record.capture, draft.exchange or ""] = draft.place
        self._story.feed(record)

    def items(self) -> Iterator[Item]:
        """The items of the chat, in order."""
        conversation = Conversation()
        Telling(self._story, conversation).tell()
        places = {
            (exchange.turn, exchange.step): self._places.get(exchange.asking.key, NOWHERE)
            for exchange in self._story.exchanges
            if not self._story.talks.root(exchange).is_beside
        }
        for item in conversation.items:
            if isinstance(item, AnswerItem | CallItem) and not item.step:  # told in a request alone
                yield replace(item, turn=places.get((item.turn, 1), NOWHERE).turn or item.turn)
            elif isinstance(item, CallItem):
                yield self._call(item, places.get((item.turn, item.step), NOWHERE))
            elif isinstance(item, AnswerItem):
                place = places.get((item.turn, item.step), NOWHERE)
                yield replace(item, turn=place.turn or item.turn, step=place.step or item.step)
            elif isinstance(item, UserItem | NoteItem):
                yield replace(item, turn=places.get((item.turn, 1), NOWHERE).turn or item.turn)

    def _call(self, item: CallItem, place: Place) -> CallItem:
        capture, exchange, number = item.call.rsplit(".", 2)
        asked = self._asked.get((capture, exchange), [])
        link: Mapping[str, JSON] = asked[int(number)] if int(number) < len(asked) else {}
        decided = self._decisions.get(said(link.get("call")), {})
        refused = decided.get("decision")
        state: CallState = refused if refused in ("rejected", "invalid") else item.state
        return replace(
            item,
            turn=place.turn or item.turn,
            step=place.step or item.step,
            call=said(link.get("call")) or item.call,
            server=said(link.get("server")) or item.server,
            tool=said(link.get("tool")) or item.tool,
            state=state,
            decision=said(decided.get("decision")),
            by=said(decided.get("by")),
            words=said(decided.get("words")) or ("" if link else item.words),
        )
