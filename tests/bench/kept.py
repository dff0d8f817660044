"""Sessions as the program would have kept them, for benches that open them."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.bench.conversations import Traffic
from tui_host.capture.recorder import Recorder
from tui_host.capture.redact.redaction import Redactor
from tui_host.capture.session_summary import session_id
from tui_host.capture.store.store import Store
from tui_host.chat.conversation import AnswerItem, Conversation, Item, UserItem
from tui_host.chat.policy import Policy
from tui_host.chat.session import Session
from tui_host.chat.stored_messages import Messages
from tui_host.host.session_storage import StoreKeeper
from tui_host.llm.messages import Message, Text
from tui_host.settings.schema import ModelRef

ANSWER = (
    "The **{number}th** answer says what was asked for, with `code` and a list:\n\n"
    "- first, that the answer has some sixty tokens as most of them have;\n"
    "- second, that 中文 stands in it as well.\n\n"
    "It ends here, and the next question follows.\n"
)


def conversation_of(messages: int, *, last: str = "") -> Sequence[Item]:
    """So many messages, questions and answers in turn; the last answer is what is given."""
    items: list[Item] = []
    for turn in range(1, messages // 2 + 1):
        text = last if last and turn == messages // 2 else ANSWER.format(number=turn)
        items.append(UserItem(turn=turn, text=f"question {turn}: what is it?"))
        items.append(AnswerItem(turn=turn, step=1, text=text, state="done", seconds=1.0))
    return items


def keep_session(store: Store, title: str, items: Sequence[Item]) -> str:
    """Put a session with these items into the store; its id."""
    session = Session(
        id=session_id(time.time_ns(), os.urandom(8)),
        source="chat",
        created_ns=time.time_ns(),
        model=ModelRef(provider="demo", model="openai"),
        protocol="native",
        policy=Policy(()),
        title=title,
        turn=len(items) // 2,
        messages=Messages([message_of(item) for item in items]),
        conversation=Conversation(items),
    )
    session.keep_in(StoreKeeper(store))
    store.sessions.release(session.id)
    return session.id


def message_of(item: Item) -> Message:
    role = "user" if isinstance(item, UserItem) else "assistant"
    text = item.text if isinstance(item, UserItem | AnswerItem) else json.dumps(str(item))
    return Message(role=role, parts=(Text(text=text),), turn=item.turn)


@contextmanager
def recorder_on(folder: Path, name: str = "tui-host") -> Generator[Recorder]:
    """A recorder into a store in this folder, with a secret to look for; all is on the disk once the block has ended."""
    store = Store.open(folder / f"{name}.db")
    recorder = Recorder(store, Redactor([("KEY", "sk-1234567890abcdef")]), capture=f"{name} {time.time_ns()}")
    yield recorder
    assert recorder.close(300)
    assert store.close(300)


def keep_wires(store: Store, session: str, turns: int) -> None:
    """Put the records of so many turns into the store: each a request and an answer of sixty events."""
    recorder = Recorder(store, Redactor(), capture=f"capture of {session}")
    for number, draft in enumerate(
        Traffic("tools before the messages", turns, session=session, words=60, told=20).drafts()
    ):
        recorder.append(draft)
        if number % 5000 == 0:
            assert recorder.flush(60)
    assert recorder.close(120)


def sessions_in(folder: Path, *sizes: int, last: str = "", has_wires: bool = False) -> list[str]:
    """A data folder with sessions of so many messages, titled `session N`; their ids."""
    folder.mkdir(parents=True, exist_ok=True)
    store = Store.open(folder / "tui-host.db")
    found = [
        keep_session(store, f"session {number}", conversation_of(size, last=last)) for number, size in enumerate(sizes)
    ]
    for session, size in zip(found, sizes, strict=True) if has_wires else ():
        keep_wires(store, session, size // 2)
    assert store.close(120)
    return found
