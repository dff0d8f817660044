"""Stores sessions while they run, and reopens stored sessions."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Container, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING

from tui_host.capture.json.narrowing import items, mapping, number_or_zero
from tui_host.capture.session_summary import DIRECT, SessionInfo
from tui_host.chat.conversation import ITEM_FORM, Conversation, Item
from tui_host.chat.queued_messages import QUEUED_FORM, Queued
from tui_host.chat.session import Session
from tui_host.chat.stored_messages import Messages, message_to_text
from tui_host.errors import JSON, StoreError
from tui_host.host.cut_answers import finish_cut_answer
from tui_host.settings.model_options import options_of, options_to_json
from tui_host.settings.schema import ModelRef

if TYPE_CHECKING:
    from tui_host.capture.store.store import Store
    from tui_host.chat.policy import Policy
    from tui_host.llm.messages import Message


_OMITTED, _REFUSED = "omitted_turns", "refused_images"
"""Names in the stored options for what requests leave out."""
_QUEUED = "queued"
"""The name in the stored facts of the messages that wait."""


@dataclass(slots=True, eq=False)
class StoreKeeper:
    """Queues every change of a session for the store's writer, without waiting for the disk."""

    _store: Store
    message_ns: int | None = None  # of messages that were said before they are saved
    queued: Sequence[Queued] = ()  # as saved last

    def session(self, session: Session) -> None:
        """Save the session's title, model, protocol, profile, options and draft. It was last used when its last message came."""
        more = {_OMITTED: session.omitted_turns, _REFUSED: dict(session.refused_images), DIRECT: session.is_direct}
        options = {**options_to_json(session.options), **{name: value for name, value in more.items() if value}}
        facts: dict[str, JSON] = {} if session.parent is None else asdict(session.parent)
        if (*session.queued,) != self.queued:  # stored ones stay unless others are named
            self.queued = (*session.queued,)
            # No turn runs when they are read, so that none joins a step.
            facts[_QUEUED] = [QUEUED_FORM.write(replace(queued, joins_step=False)) for queued in self.queued] or None
        self._store.sessions.save(
            SessionInfo(
                id=session.id,
                title=session.title,
                created_ns=session.created_ns,
                updated_ns=session.created_ns,
                source=session.source,
                model=f"{session.model.provider}/{session.model.model}",
                protocol=session.protocol,
                profile=session.profile,
                options=json.dumps(options, ensure_ascii=False),
                facts=json.dumps(facts, ensure_ascii=False),
                draft=session.draft,
            )
        )
        if _QUEUED in facts:
            self._store.hurry()  # what is shown as queued must outlive a killed program

    def message(self, session: str, number: int, message: Message) -> None:
        """Save a message."""
        time_ns = self.message_ns or time.time_ns()
        self._store.sessions.save_message(
            session, number, turn=message.turn, text=message_to_text(message), time_ns=time_ns
        )

    def item(self, session: str, number: int, item: Item) -> None:
        """Save a chat item."""
        self._store.sessions.save_item(session, number, ITEM_FORM.write(item))


def stored_session(store: Store, info: SessionInfo, policy: Policy, redact: Callable[[str], str] = str) -> Session:
    """Reopen a stored session and make this process its owner. Blocks on the disk.

    Parses chat items when they are read, and loads messages for the next request.

    Raises:
        StoreError: The session is open in another running process.
    """
    if not store.sessions.claim(info.id):
        raise StoreError("another process has this session open", info.id, "close it there first")
    provider, _, model = info.model.partition("/")
    waiting = (QUEUED_FORM.read(str(text), Queued) for text in items(mapping(json.loads(info.facts)).get(_QUEUED)))
    queued = [message for message in waiting if isinstance(message, Queued)]
    keeper = StoreKeeper(store, queued=(*queued,))
    options = dict(mapping(json.loads(info.options)))
    options.pop(DIRECT, None)
    omitted, refused = options.pop(_OMITTED, 0), mapping(options.pop(_REFUSED, None))
    stored = max(store.sessions.count_messages(info.id), info.parent.shared[-1].messages if info.parent else 0)

    def read() -> Sequence[str]:
        texts = store.sessions.messages(info.id, before=stored)
        if stored and not texts:
            raise StoreError("this session's messages are no longer stored", info.id, "begin a new session")
        return texts

    session = Session(
        id=info.id,
        source=info.source,
        created_ns=info.created_ns,
        model=ModelRef(provider=provider, model=model),
        protocol=info.protocol,
        profile=info.profile,
        options=options_of(options),  # without those that cannot be read
        omitted_turns=number_or_zero(omitted),
        refused_images={name: turn for name, turn in refused.items() if isinstance(turn, int)},
        is_direct=info.is_direct,
        parent=info.parent,
        policy=policy,
        redact=redact,
        keeper=keeper,
        title=info.title,
        draft=info.draft,
        queued=queued,
        turn=info.turns,
        messages=Messages(stored=stored, read=read),
        conversation=Conversation(store.session_items(info.id)),
    )
    keeper.message_ns = info.updated_ns  # what a killed process left does not change when the session was last used
    finish_cut_answer(store, session)
    session.conversation.close_open()
    keeper.message_ns = None
    return session


def finish_left(
    store: Store, policy: Policy, redact: Callable[[str], str] = str, *, opened: Container[str] = ()
) -> None:
    """Complete the chats of processes that were killed during an answer, but for those `opened` here. Blocks on the disk.

    Whoever reads what was recorded calls this first, so that all see the same.
    """
    for info in store.sessions.left(has_turn=True):
        if info.id in opened:
            continue
        with suppress(StoreError):  # another process completed the session first
            stored_session(store, info, policy, redact)
        if info.id not in opened:
            store.sessions.release(info.id)
