"""The app on a pseudo-terminal: its start and its memory against a bare Textual app, and the servers screen under load."""

import json
import os
import re
import sys
import tempfile
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.bench.measure import HERE, QUICK_SERVER, Goal, Table, at_least, at_most, percentile
from tests.bench.terminal import OnPty, app, running
from tests.kit.mcp_server import mcp_server, tool
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
KEY, F3, ESCAPE, BACKSPACE = "§", "\x1bOR", "\x1b", "\x7f"
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
    ours, theirs, trees, bares = list[float](), list[float](), list[float](), list[float]()
    with tempfile.TemporaryDirectory() as name:
        for _ in range(1 if table.is_quick else 3):
            with running(BARE, Path(name)) as bare, running(app(Path(name)), Path(name)) as program:
                program.painted_at(PLACEHOLDER, READY)
                program.watch(1.5)
                bare.painted_at(PLACEHOLDER)
                bare.settle(0.2)
                ours.append(program.memory_bytes())
                theirs.append(bare.memory_bytes())
                trees.append(program.tree_bytes())
                bares.append(bare.tree_bytes())
    table.heading("memory", "idle, three bundled servers, SDK loaded, resident")
    table.ratio("the app's own process", ours, theirs, at_most(2.3), unit="B")
    table.ratio("with its processes, the servers among them (proportional)", trees, bares, unit="B")


ANNOUNCED = 10_000
SCHEMA = {"type": "object", "properties": {f"argument_{place}": {"type": "string"} for place in "abcdef"}}
DESCRIPTION = "Does what this tool does, and says so in a sentence of usual length."
TOOLS = [tool(f"tool_{number:03}", description=DESCRIPTION, inputSchema=SCHEMA) for number in range(500)]
_RECEIVED = re.compile(r"── ([\d,]+) MCP")


def many_tools(folder: Path, *, is_loud: bool) -> str:
    """A server's table in a configuration; a loud one writes all its notifications soon after its tools were listed."""
    updated = {"notify": "notifications/resources/updated", "params": {"uri": "x://1"}}
    news = [{"wait": 2}, *[{"log": "line"}, updated] * (ANNOUNCED // 2)]
    listed: list[object] = [{"result": {"tools": TOOLS}}, *[{"background": news}] * is_loud]
    file = folder / f"many-{is_loud}.json"
    file.write_text(json.dumps({"name": "many", "tools": TOOLS, "on": {"tools/list": listed}}))
    return mcp_server({"file": file}).table("many")


@contextmanager
def servers_screen(folder: Path, *, is_loud: bool) -> Generator[OnPty]:
    """The app with the filter of the server's tools open."""
    with running(app(folder, many_tools(folder, is_loud=is_loud)), folder) as program:
        program.painted_at(PLACEHOLDER, "many")
        program.watch(0.5)
        program.type(F3)
        program.painted_at(f"{len(TOOLS)} tools", f"tools ({len(TOOLS)})")
        program.type("/")
        program.watch(0.3)
        yield program


def filtered(program: OnPty, rounds: int) -> list[float]:
    times: list[float] = []
    for number in range(rounds):
        first, second = str(number % 5), str((number * 3 + 1) % 10)
        for key, words in ((first, first), (second, first + second)):
            count = sum(words in str(each["name"]) for each in TOOLS)
            program.type(key)
            times.append(program.painted_at(f"({count} of {len(TOOLS)})", seconds=30) - program.typed)
            program.watch(0.05)
        for _ in range(2):
            program.type(BACKSPACE)
            program.watch(0.1)
    return times


def received(program: OnPty) -> int:
    """How many messages of the server the screen says to have come, once all have; as far as a minute goes."""
    end, most = time.monotonic() + 60, 0
    while most < ANNOUNCED and time.monotonic() < end:
        program.watch(0.2)
        most = max([most, *(int(count.replace(",", "")) for count in _RECEIVED.findall(program.painted))])
    return most


def catalogs(table: Table) -> None:
    rounds = 5 if table.is_quick else 20
    table.heading("catalogs", f"{len(TOOLS)} tools in f3, and {ANNOUNCED:,} notifications at once")
    with tempfile.TemporaryDirectory() as name:
        with servers_screen(Path(name), is_loud=False) as program:
            program.watch(1.0)
            times = filtered(program, rounds)
            told_keys(table, "from a key to the filtered list: 95 %", times, percentile(times, 0.95), at_most(0.050))
        with servers_screen(Path(name), is_loud=True) as program:
            times = filtered(program, 8)
            told_keys(table, "the slowest key while they come", times, max(times), at_most(0.100))
            program.type(ESCAPE)  # to the list of the main view, whose title counts the messages
            table.figure("messages counted", received(program), "", at_least(ANNOUNCED))


def told_keys(table: Table, what: str, times: Sequence[float], figure: float, goal: Goal) -> None:
    note = f"median {percentile(times, 0.5) * 1e3:.0f} ms, worst {max(times) * 1e3:.0f}"
    table.figure(what, figure, "s", goal, note=note)
