"""Stores sessions as they happen, and reopens stored sessions."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from tui_host.capture.session_summary import SessionState
from tui_host.chat.conversation import Conversation, Item, item_to_text
from tui_host.chat.session import Session
from tui_host.chat.stored_messages import Messages, message_to_text
from tui_host.errors import JSON, StoreError
from tui_host.settings.model_options import Options, options_of, options_to_json
from tui_host.settings.schema import ModelRef

if TYPE_CHECKING:
    from tui_host.capture.session_summary import SessionInfo
    from tui_host.capture.store.store import Store
    from tui_host.chat.policy import Policy
    from tui_host.llm.messages import Message


class StoreKeeper:
    """Passes every change of a session to the store's writer without waiting."""

    def __init__(self, store: Store) -> None:
        self._sessions = store.sessions

    def session(self, session: Session) -> None:
        """Save title, model, protocol, profile, options, draft, and the time of the change."""
        self._sessions.save(
            SessionState(
                id=session.id,
                title=session.title,
                created_ns=session.created_ns,
                updated_ns=time.time_ns(),
                source=session.source,
                model=f"{session.model.provider}/{session.model.model}",
                protocol=session.protocol,
                profile=session.profile,
                options=json.dumps(options_to_json(session.options), ensure_ascii=False),
                draft=session.draft,
            )
        )

    def message(self, session: str, number: int, message: Message) -> None:
        """Save a message."""
        self._sessions.save_message(
            session, number, turn=message.turn, text=message_to_text(message), time_ns=time.time_ns()
        )

    def item(self, session: str, number: int, item: Item) -> None:
        """Save an item of the chat."""
        self._sessions.save_item(session, number, item_to_text(item))


def _messages(store: Store, session: str, before: int) -> Sequence[str]:
    """Return earlier messages of a reopened session. Refuses to continue without them."""
    texts = store.sessions.messages(session, before=before)
    if before and not texts:
        raise StoreError("this session's messages are no longer stored", session, "begin a new session")
    return texts


def _options(text: str) -> Options:
    """Return the session's model options; unreadable ones count as unset."""
    value: JSON = json.loads(text)
    return options_of(value) if isinstance(value, Mapping) else Options()


def tapped_session(info: SessionInfo, policy: Policy, redact: Callable[[str], str] = str) -> Session:
    """Return a tap's recording as a read-only session; nothing is stored from here."""
    return Session(
        id=info.id,
        source="tap",
        created_ns=info.created_ns,
        model=ModelRef(provider="tap", model=info.title),
        protocol="",
        policy=policy,
        redact=redact,
        title=info.title,
        turn=1,
    )


def imported_session(
    info: SessionInfo, items: Sequence[str], policy: Policy, redact: Callable[[str], str] = str
) -> Session:
    """Return an imported file as a read-only session; nothing is stored from here.

    Args:
        info: The session's summary in the store.
        items: The stored items of the chat, if any.
        policy: Required by `Session`, never asked.
        redact: Removes secrets from displayed text.
    """
    session = Session(
        id=info.id,
        source="import",
        created_ns=info.created_ns,
        model=ModelRef(provider="file", model=info.title),
        protocol="",
        policy=policy,
        redact=redact,
        conversation=Conversation(items),
    )
    tell_imported(session, info)
    return session


def tell_imported(session: Session, info: SessionInfo) -> None:
    """Update an imported session's title, models and protocol from the store."""
    session.title, session.asked, session.protocol = info.title, info.model, info.protocol
    session.turn = max(info.turns, 1)


def stored_session(store: Store, info: SessionInfo, policy: Policy, redact: Callable[[str], str] = str) -> Session:
    """Reopen a stored session, owned by this process from now on. Blocks on the disk.

    Items are parsed on access, and messages are read for the next request.

    Raises:
        StoreError: Another running process has the session open.
    """
    if not store.sessions.claim(info.id):
        raise StoreError("another process has this session open", info.id, "close it there first")
    provider, _, model = info.model.partition("/")
    stored = store.sessions.count_messages(info.id)
    session = Session(
        id=info.id,
        source=info.source,
        created_ns=info.created_ns,
        model=ModelRef(provider=provider, model=model),
        protocol=info.protocol,
        profile=info.profile,
        options=_options(info.options),
        policy=policy,
        redact=redact,
        keeper=StoreKeeper(store),
        title=info.title,
        draft=store.sessions.draft(info.id),
        turn=info.turns,
        messages=Messages(stored=stored, read=lambda: _messages(store, info.id, stored)),
        conversation=Conversation(store.sessions.item_texts(info.id)),
    )
    session.conversation.close_open()
    return session
