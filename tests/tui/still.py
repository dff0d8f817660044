"""The real app on a host that stands still (fixed records, items, servers and clocks), so that each picture of it is always the same.

A golden picture is a text file: the lines of the screen, and below them one letter a cell for its look, each with its
colours. After a change that is meant: `UPDATE_PICTURES=1 pytest tests/tui/test_pictures.py`, then read the difference.
"""

import json
import os
from collections.abc import AsyncGenerator, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import anyio
from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual.app import App
from textual.color import Color
from textual.geometry import Region
from textual.pilot import Pilot
from typing_extensions import override

from tests.kit.app import Running
from tests.llm.protocols.answers import NUMBERS
from tests.tui.inspector_wires import APPROVED, Wires, a_turn, begun
from tui_host.capture.record import Record
from tui_host.capture.recorder import Recorder, SystemClock
from tui_host.capture.redact.redaction import Redactor
from tui_host.capture.store.store import Store
from tui_host.chat.call_arguments import canonical
from tui_host.chat.conversation import AnswerItem, CallItem, NoteItem, SummaryItem, UserItem
from tui_host.chat.policy import CallRequest, Decision, Policy, Question
from tui_host.chat.session import Session
from tui_host.errors import JSON
from tui_host.host.host import Host
from tui_host.host.open_sessions import DEFAULT_MODEL
from tui_host.servers.catalog import ServerStatus, Tool
from tui_host.servers.pool import Pool
from tui_host.settings.load import Overrides, load
from tui_host.settings.schema import ServerSpec
from tui_host.tui.app import TuiHost
from tui_host.tui.readable_colours import contrast

FOLDER = Path(__file__).parent.parent / "golden" / "screens"
UPDATE = bool(os.environ.get("UPDATE_PICTURES"))
LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
PATIENCE = 90.0
"""Seconds that a slow machine has to draw a picture."""
LEAST = {"textual-light": 3.0, "textual-dark": 3.0}
"""Contrast of the faintest words: placeholders, what is switched off, a theme's palest colours. Source: WCAG 2.2, 1.4.11."""
MOMENT_NS = 1_700_000_000_000_000_000

TOOLS = tuple(
    Tool(
        server="math",
        name=name,
        description=f"{name.capitalize()} two numbers.",
        schema=NUMBERS,
        annotations=(("readOnlyHint", True),),
        fingerprint=f"print of {name}",
        size=420,
    )
    for name in ("multiply", "add")
)
STATUSES = (
    ServerStatus(name="math", state="ready", command="bundled math", protocol_version="2026-07-28", era="stateless",
        server_info="math 1.0.0", instructions="Two numbers each. 数字可以是小数。",
        capabilities={"tools": {"listChanged": False}}, tools=TOOLS, frames_out=3, frames_in=3,
        stderr=("math server: ready",)),
    ServerStatus(name="weather", state="connecting", detail="starting", command="uvx weather-server --units metric"),
    ServerStatus(name="docs", state="failed", detail="the program ended with exit code 1 before it answered",
        command="npx -y docs-server", stderr=("Error: DB_URL is not set", "    at main (index.js:12)"), exit_code=1),
    ServerStatus(name="old", state="disabled", transport="http", command="https://old.example/mcp"),
)  # fmt: skip


class StillPool(Pool):
    shown: tuple[ServerStatus, ...] = STATUSES

    @override
    def statuses(self) -> tuple[ServerStatus, ...]:
        return self.shown

    @override
    def tools(self) -> tuple[Tool, ...]:
        return tuple(tool for status in self.shown if status.state == "ready" for tool in status.tools)


class StillClock(SystemClock):
    def __init__(self) -> None:
        self.seconds = 0.0

    @override
    def wall_ns(self) -> int:
        return MOMENT_NS + round(self.seconds * 1e9)

    @override
    def mono_ns(self) -> int:
        return 5_000_000_000 + round(self.seconds * 1e9)


class RecordedWires(Wires):
    def __init__(self, recorder: Recorder, clock: StillClock) -> None:
        super().__init__()
        self.recorder, self.clock = recorder, clock

    @override
    def append(self, draft: Record, at: float) -> Record:
        self.clock.seconds = at
        self.recorder.append(draft)
        return super().append(draft, at)


class Still(Running):
    def __init__(self, app: TuiHost, pilot: Pilot[int], wires: RecordedWires) -> None:
        super().__init__(app, pilot)
        self.wires = wires

    # What happens.

    def a_whole_turn(self) -> None:
        begun(self.wires)
        self.wires.frame(b'{"jsonrpc":"2.0","id":2,"method":"tools/list"}', 0.2, direction="out", turn=0)
        listed: list[JSON] = [{"name": tool.name, "inputSchema": {}} for tool in TOOLS]
        answer = json.dumps({"jsonrpc": "2.0", "id": 2, "result": {"tools": listed}}).encode()
        self.wires.frame(answer, 0.3, direction="in", turn=0)
        a_turn(self.wires)
        request = self.wires.ladder.rows[-1]
        response = self.wires.response(
            request, 3.97, b'data: {"choices":[{"index":0,"delta":{"content":"6 \xc3\x97 5 = **30**"}}]}\n\n'
        )
        self.wires.end(response, 4.2)
        chat = self.session.conversation
        self.session.turn = 1
        chat.add(UserItem(turn=1, text="what's 6 × 5? use the tools"))
        chat.add(a_call(state="done", words=APPROVED, waited=2.5, result="30", milliseconds=12.0))
        text = "6 × 5 = **30**\n\n| step | tool |\n| --- | --- |\n| 1 | `math.multiply` |\n\n乘法的结果是 30。"
        chat.add(AnswerItem(turn=1, step=2, text=text, state="done", seconds=0.3))
        chat.add(SummaryItem(turn=1, steps=2, calls=1, seconds=3.2, tokens_in=612, tokens_out=85))

    def a_question(self) -> None:
        begun(self.wires)
        chat = self.session.conversation
        self.session.turn = 1
        chat.add(UserItem(turn=1, text="what's 6 × 5 and 30 + 7? use the tools"))
        for number, (tool, arguments) in enumerate(zip(TOOLS, ({"a": 6, "b": 5}, {"a": 30, "b": 7}), strict=True)):
            asked = canonical(dict(arguments))
            chat.add(replace(a_call(state="waiting"), call=f"c{number}", tool=tool.name, asked=asked.decode()))
            request = CallRequest(call=f"c{number}", tool=tool, arguments=asked)
            self.session.questions.append(Question(request, answered=nobody_waits))

    def a_failed_request(self) -> None:
        begun(self.wires)
        body = b'{"error":{"message":"Incorrect API key provided."}}'
        request = self.wires.request(json.dumps({"model": "openai", "messages": []}).encode(), 1.0, exchange="x1")
        self.wires.end(self.wires.response(request, 1.2, body, status=401), 1.3)
        chat = self.session.conversation
        self.session.turn = 1
        chat.add(UserItem(turn=1, text="hello"))
        chat.add(
            NoteItem(
                turn=1,
                kind="error",
                what="401 Incorrect API key provided.",
                where="demo: POST https://api.example/v1/chat/completions",
                remedy="set OPENAI_API_KEY, or choose another model with f4",
                again=True,
            )
        )

    # What is looked at.

    async def resize(self, columns: int, lines: int) -> None:
        await self.pilot.resize_terminal(columns, lines)

    async def looks_like(self, name: str, size: tuple[int, int], *, colours: bool = False) -> None:
        """Wait until the screen, at this size, is like a golden picture, else tell the difference; all on it must be readable."""
        await self.resize(*size)
        path = FOLDER / f"{name}-{size[0]}x{size[1]}.txt"
        wanted = path.read_text(encoding="utf-8") if path.exists() else ""
        drawn = picture_of if colours else text_of
        seen = drawn(runs_of(self.app))
        steady = 0
        with anyio.move_on_after(PATIENCE):
            while (steady < 30) if UPDATE else (seen != wanted):
                await self.pilot.pause(0.05)
                before, seen = seen, drawn(runs_of(self.app))
                steady = steady + 1 if seen == before else 0
        if UPDATE:
            path.write_text(seen, encoding="utf-8")
        else:
            assert seen == wanted, f"{name} looks different"
        for theme, least in LEAST.items():
            self.app.theme = theme
            await self.pilot.pause()
            pale = faint(runs_of(self.app), least)
            assert not pale, (theme, pale)


def a_call(**more: str | float) -> CallItem:
    known: dict[str, JSON] = {"asked": '{"a":6,"b":5}', "sent": '{"a":6,"b":5}', **more}
    return CallItem(turn=1, step=1, call="s.1.1.1", server="math", tool="multiply", **known)  # pyright: ignore[reportArgumentType] - named by the tests here


def nobody_waits(question: Question, decision: Decision) -> None:
    """No turn is at work."""


@asynccontextmanager
async def still(
    folder: Path, *, size: tuple[int, int], servers: Sequence[ServerStatus] = STATUSES
) -> AsyncGenerator[Still]:
    (folder / "config.toml").write_text("[ui]\nascii = false\n", encoding="utf-8")
    host = Host(load(Overrides(config=folder / "config.toml", data_dir=folder), {}))
    clock = StillClock()
    host.store = Store.open(folder / "tui-host.db")
    host.recorder = Recorder(host.store, Redactor(()), capture="c1", clock=clock)
    pool = StillPool({status.name: ServerSpec(name=status.name) for status in servers}, host.recorder, {})
    pool.shown = tuple(servers)
    host.pool = pool
    session = Session(
        id="s", source="chat", created_ns=MOMENT_NS, model=DEFAULT_MODEL, protocol="native", policy=Policy(())
    )
    app = TuiHost(host, lambda: session)
    try:
        async with app.run_test(size=size, notifications=True) as pilot:
            with anyio.fail_after(PATIENCE):
                while app.main is None or not app.main.seen:
                    await pilot.pause(0.02)
            yield Still(app, pilot, RecordedWires(host.recorder, clock))
    finally:
        host.recorder.close()
        host.store.close()


@dataclass(frozen=True, slots=True)
class Look:
    fore: str
    back: str
    attributes: tuple[str, ...] = ()

    @property
    def contrast(self) -> float:
        return contrast(Color.parse(self.fore), Color.parse(self.back))


Run = tuple[str, Look]


def runs_of(app: App[int], region: Region | None = None) -> list[list[Run]]:
    colours = app.theme_variables
    blank = Look(fore=colours["foreground"], back=colours["background"])
    place = region or app.size.region
    compositor = app.screen._compositor  # pyright: ignore[reportPrivateUsage] - Textual has no other way to it
    strips = compositor.render_strips(app.size)[place.y : place.bottom]
    return [
        [
            (text, _look(style or Style.null(), blank))
            for text, style, _ in Segment.simplify(strip.crop(place.x, place.right))
        ]
        for strip in strips
    ]


def _look(style: Style, blank: Look) -> Look:
    fore, back = (
        default if colour is None or colour.is_default else colour.get_truecolor().hex
        for colour, default in ((style.color, blank.fore), (style.bgcolor, blank.back))
    )
    if style.reverse:
        fore, back = back, fore
    names = ("bold", "dim", "italic", "underline", "strike")
    return Look(fore=fore.lower(), back=back.lower(), attributes=tuple(name for name in names if getattr(style, name)))


def text_of(lines: Iterable[Sequence[Run]]) -> str:
    return "".join("".join(text for text, _ in line).rstrip() + "\n" for line in lines)


def picture_of(lines: Sequence[Sequence[Run]]) -> str:
    letters: dict[Look, str] = {}
    marks = [
        "".join(letters.setdefault(look, LETTERS[len(letters)]) * cell_len(text) for text, look in line)
        for line in lines
    ]
    legend = [f"{at}  {look.fore} on {look.back} {' '.join(look.attributes)}".rstrip() for look, at in letters.items()]
    return "\n".join((text_of(lines), *marks, "", *legend, ""))


def faint(lines: Sequence[Sequence[Run]], least: float) -> list[str]:
    """The words that stand out less from their background than they have to."""
    return [
        f"{look.contrast:.1f}: {text.strip()!r} {look.fore} on {look.back}"
        for line in lines
        for text, look in line
        if any(character.isalnum() for character in text) and look.contrast < least
    ]
