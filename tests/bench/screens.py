"""The app on a pseudo-terminal: its start and its memory against a bare Textual app."""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from tests.bench.measure import HERE, QUICK_SERVER, Table, at_most
from tests.bench.terminal import app, running
from tui_host.capture.session_summary import session_id
from tui_host.capture.store.store import Store
from tui_host.chat.conversation import AnswerItem, Conversation, Item, UserItem
from tui_host.chat.policy import Policy
from tui_host.chat.session import Session
from tui_host.chat.stored_messages import Messages
from tui_host.host.session_storage import StoreKeeper
from tui_host.llm.messages import Message, Text
from tui_host.settings.schema import ModelRef

BARE = (sys.executable, str(HERE / "bare_app.py"))
PLACEHOLDER = "sk anything"  # the cursor may stand on its first letter
READY = "● orders"
"""What the header says of the last of the bundled servers once it is connected: the SDK is loaded then."""
KEY = "§"
ANSWER = "The **{turn}th** answer says what was asked for, with `code` and a list:\n\n- first,\n- second, 中文.\n\nIt ends.\n"


def sessions_in(folder: Path, *sizes: int) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    store = Store.open(folder / "tui-host.db")
    for size in sizes:
        items: list[Item] = []
        messages: list[Message] = []
        for turn in range(1, size // 2 + 1):
            asked, said = f"question {turn}: what is it?", ANSWER.format(turn=turn)
            items += [UserItem(turn=turn, text=asked), AnswerItem(turn=turn, step=1, text=said, state="done")]
            messages.append(Message(role="user", parts=(Text(text=asked),), turn=turn))
            messages.append(Message(role="assistant", parts=(Text(text=said),), turn=turn))
        session = Session(
            id=session_id(time.time_ns(), os.urandom(8)),
            source="chat",
            created_ns=time.time_ns(),
            model=ModelRef(provider="demo", model="openai"),
            protocol="native",
            policy=Policy(()),
            turn=size // 2,
            messages=Messages(messages),
            conversation=Conversation(items),
        )
        session.keep_in(StoreKeeper(store))
        store.sessions.release(session.id)
    assert store.close(120)


def started(command: Sequence[str], home: Path) -> tuple[float, float, float]:
    with running(command, home) as program:
        frame = program.painted_at(PLACEHOLDER)
        cpu = program.cpu_seconds()
        program.type(KEY)
        return frame - program.started, program.painted_at(KEY) - program.started, cpu


def start(table: Table) -> None:
    rounds = 3 if table.is_quick else 11
    quick = "".join(
        f"[servers.s{number}]\ncommand = {json.dumps(QUICK_SERVER[0])}\nargs = {json.dumps(QUICK_SERVER[1:])}\n"
        for number in range(20)
    )
    with tempfile.TemporaryDirectory() as name:
        usual, large = Path(name, "usual"), Path(name, "large")
        sessions_in(usual / "data", *[4] * 100)
        sessions_in(large / "data", *[4] * 100, 2000)
        commands = BARE, app(usual), app(large, quick)
        found = [[started(command, Path(name)) for command in commands] for _ in range(rounds + 1)]
    bare, with_three, with_twenty = zip(*found[1:], strict=True)  # the first round warms what is read from the disk
    table.heading("start", "from exec, against a bare Textual app")
    for what, times, most in (
        ("three servers, a hundred sessions", with_three, 1.2),
        ("twenty servers, a session of 2,000 messages kept", with_twenty, 1.4),
    ):
        for place, event in enumerate((f"first frame: {what}", f"first key: {what}", "  CPU to the first frame")):
            ours, theirs = ([each[place] for each in some] for some in (times, bare))
            table.ratio(event, ours, theirs, at_most(most) if place < 2 else None)


def memory(table: Table) -> None:
    ours, theirs = list[float](), list[float]()
    with tempfile.TemporaryDirectory() as name:
        for _ in range(1 if table.is_quick else 3):
            with running(BARE, Path(name)) as bare, running(app(Path(name)), Path(name)) as program:
                program.painted_at(PLACEHOLDER, READY)
                program.watch(1.5)
                bare.painted_at(PLACEHOLDER)
                bare.settle(0.2)
                ours.append(program.memory_bytes())
                theirs.append(bare.memory_bytes())
    table.heading("memory", "idle, three bundled servers, SDK loaded, resident")
    table.ratio("the app's own process", ours, theirs, at_most(2.3), unit="B")
