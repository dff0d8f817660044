"""A session in the store: kept as it happens, and opened again whole."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from tui_host.capture.sessions import SessionState
from tui_host.chat.conversation import Conversation, Item, NoteItem, item_from_json, item_to_json
from tui_host.chat.session import Session
from tui_host.chat.stored import message_from_text, message_to_text
from tui_host.errors import JSON, StoreError
from tui_host.settings.schema import ModelRef

if TYPE_CHECKING:
    from tui_host.capture.sessions import SessionInfo
    from tui_host.capture.store import Store
    from tui_host.chat.policy import Policy
    from tui_host.llm.messages import Message


class StoreKeeper:
    """Hands every change of a session to the store's writer; never waits for it."""

    def __init__(self, store: Store) -> None:
        self._sessions = store.sessions

    def session(self, session: Session) -> None:
        """Title, model, protocol, draft, and the time of the change."""
        self._sessions.save(
            SessionState(
                id=session.id,
                title=session.title,
                created_ns=session.created_ns,
                updated_ns=time.time_ns(),
                source=session.source,
                model=f"{session.model.provider}/{session.model.model}",
                protocol=session.protocol,
                draft=session.draft,
            )
        )

    def message(self, session: str, number: int, message: Message) -> None:
        """One message."""
        self._sessions.save_message(
            session, number, turn=message.turn, text=message_to_text(message), time_ns=time.time_ns()
        )

    def item(self, session: str, number: int, item: Item) -> None:
        """One item of the chat."""
        text = json.dumps(item_to_json(item), ensure_ascii=False, separators=(",", ":"))
        self._sessions.save_item(session, number, text)


def _stored_item(text: str) -> Item:
    """An item as it was kept; what this version cannot read is told in its place, so that numbers stay."""
    value: JSON = json.loads(text)
    item = item_from_json(value) if isinstance(value, Mapping) else None
    return item or NoteItem(turn=0, kind="note", what="something that this version cannot show")


def stored_session(store: Store, info: SessionInfo, policy: Policy, redact: Callable[[str], str] = str) -> Session:
    """A session of earlier, owned by this process from now on. Blocks on the disk.

    Raises:
        StoreError: Another running process writes it.
    """
    if not store.sessions.claim(info.id):
        raise StoreError("another process has this session open", info.id, "close it there first")
    provider, _, model = info.model.partition("/")
    messages = [message for text in store.sessions.messages(info.id) if (message := message_from_text(text))]
    session = Session(
        id=info.id,
        source=info.source,
        created_ns=info.created_ns,
        model=ModelRef(provider=provider, model=model),
        protocol=info.protocol,
        policy=policy,
        redact=redact,
        keeper=StoreKeeper(store),
        title=info.title,
        draft=store.sessions.draft(info.id),
        turn=info.turns,
        messages=messages,
        conversation=Conversation([_stored_item(text) for _, text in store.sessions.items(info.id)]),
    )
    session.conversation.close_open()
    return session
