"""Makes the pictures of this folder from the real app: real demo model, real bundled servers, keys as a person presses them.

    uv run python screenshots/make.py [--into FOLDER] [NAME …]

Each scene starts a host of its own in a temporary folder, with no key of yours in its environment. Ports are masked; times
are those of the run.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from contextlib import AbstractAsyncContextManager, ExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import anyio
from picture import svg
from textual import events
from textual.pilot import Pilot

from tui_host.chat.conversation import AnswerItem, UserItem
from tui_host.host.host import Host
from tui_host.settings.load import Overrides, load
from tui_host.tui.app import TuiHost
from tui_host.tui.questions.approval import Approval
from tui_host.tui.run_app import around
from tui_host.tui.widgets.transcript.transcript_view import Transcript

FOLDER = Path(__file__).parent
KEPT = ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR")
DARK, LIGHT = "textual-dark", "catppuccin-latte"
BIG, SMALL = (140, 45), (80, 24)
SUM = "what is (6 × 5 + 7) / 2? use the tools"
PROGRAM = (sys.executable, "-m", "tui_host")
SERVER = (sys.executable, "-m", "tui_host.demo.servers")
PATIENCE = 60
"""Seconds that a machine may take for one thing."""


class Person:
    """Who sits before the app: types, presses, waits until something is to be seen."""

    def __init__(self, app: TuiHost, pilot: Pilot[int]) -> None:
        self.app, self.host, self.pilot = app, app.host, pilot

    async def until(self, condition: Callable[[], bool]) -> None:
        """Wait for something."""
        with anyio.fail_after(PATIENCE):
            while not condition():
                await self.pilot.pause(0.02)

    @property
    def text(self) -> str:
        """What is on the screen."""
        compositor = self.app.screen._compositor  # noqa: SLF001 # pyright: ignore[reportPrivateUsage] - Textual has no other way
        return "\n".join(strip.text for strip in compositor.render_strips(self.app.size))

    async def ready(self) -> None:
        """Wait for every server."""
        await self.until(
            lambda: (
                self.host.pool is not None
                and len(self.host.pool.statuses()) > 0
                and all(status.state == "ready" for status in self.host.pool.statuses())
            )
        )

    async def press(self, *keys: str) -> None:
        """Press keys."""
        await self.pilot.press(*keys)
        await self.pilot.pause(0.2)

    async def ask(self, text: str) -> None:
        """Put a question into the prompt and send it."""
        self.app.post_message(events.Paste(text))  # Pilot's keys know few characters
        await self.pilot.pause()
        await self.press("enter")

    async def asked(self) -> Approval:
        """Wait until the approval takes keys."""
        found: list[Approval] = []

        def is_up() -> bool:
            approval = self.app.main.question if self.app.main is not None else None
            found[:] = [approval] if isinstance(approval, Approval) and approval.is_armed else []
            return bool(found)

        await self.until(is_up)
        await self.pilot.pause(0.2)
        return found[0]

    async def decide(self, key: str = "y") -> None:
        """Wait for the next question, and answer it."""
        await self.asked()
        await asyncio.sleep(0.6)  # as long as a quick reader takes, so that the pictures show likely times
        await self.press(key)

    async def done(self) -> None:
        """Wait for the end of the turn, and for the last repaint."""
        await self.until(lambda: self.app.session.turn > 0 and not self.app.session.busy)
        await self.pilot.pause(0.6)

    async def whole_turn(self, text: str, calls: int) -> None:
        """Ask, approve each call, wait for the answer."""
        await self.ask(text)
        for _ in range(calls):
            await self.decide()
        await self.done()


# The scenes.


async def after_a_turn(person: Person) -> None:
    """The main view after a turn with three calls."""
    await person.whole_turn(SUM, 3)


async def first_screen(person: Person) -> None:
    """What one sees first."""


async def approval(person: Person) -> None:
    """Two calls wait."""
    await person.ask("what is the weather in Paris and in Tokyo?")
    await person.asked()


async def inspector(person: Person) -> None:
    """The inspector alone, the request that tells a result beside the frame that carried it."""
    await person.whole_turn(SUM, 3)
    await person.press("f2")
    await person.press("G", "k")


async def servers(person: Person) -> None:
    """The servers."""
    await person.press("f3", "tab", *["down"] * 7, "enter")


async def sessions(person: Person) -> None:
    """Sessions of earlier."""
    for text, calls in (("订单 1042 到哪了？", 1), ("what is the weather in Paris and in Tokyo?", 2), (SUM, 3)):
        await person.whole_turn(text, calls)
        await person.press("ctrl+n")
    await person.press("f5")


async def chinese(person: Person) -> None:
    """A conversation in Chinese."""
    await person.whole_turn("东京和巴黎的天气怎么样？", 2)
    await person.whole_turn("(6 × 5 + 7) / 2 等于多少？", 3)


async def tapped(person: Person) -> None:
    """Another host's model and server, seen through taps: here that host is `tui-host ask`, any other would do."""
    data = person.host.settings.data_dir
    with tempfile.TemporaryDirectory() as folder, ExitStack() as running:
        demo = running.enter_context(line_of("demo-model"))
        upstream = json.loads(demo)["dialects"]["openai"]
        base_url = running.enter_context(
            line_of("--data-dir", str(data), "tap", "llm", "--upstream", upstream, "--port", "0")
        )
        math = [*PROGRAM, "--data-dir", str(data), "tap", "stdio", "math", "--", *SERVER, "math"]
        config = Path(folder, "config.toml")
        await anyio.Path(config).write_text(
            f'[providers.mine]\nbase_url = "{base_url.strip()}"\n'
            f"[servers.math]\ncommand = {json.dumps(math[0])}\nargs = {json.dumps(math[1:])}\n"
        )
        asked = [*PROGRAM, "--config", str(config), "--data-dir", folder, "ask", SUM]
        asked += ["--model", "mine/openai", "--protocol", "native", "--allow", "math.*"]
        await anyio.run_process(asked, stderr=None)
        await person.press("f5")
        await person.until(lambda: "2 taps" in person.text)
        await person.press("enter")
        await person.until(lambda: ' result  "18.5"' in person.text)
        await asyncio.sleep(2.0)  # until all is joined
        await person.press("tab", "tab", *["up"] * 3)


def page(place: int, *keys: str, row: str = "") -> Callable[[Person], Awaitable[None]]:
    """A page of a recorded session, the inspector alone: keys from its first line, or from a row that deserves a look."""

    async def act(person: Person) -> None:
        await person.press("f5")
        await person.until(lambda: "4 turns" in person.text)
        await person.press(*["down"] * place, "enter")
        await person.until(lambda: "to look at" in person.text)
        await person.press("f2", "g")
        await person.until(lambda: "▾ turn 1" in person.text)
        while row and not any(line.startswith(">") and row in line for line in person.text.splitlines()):
            await person.press("n")
        for key in keys:
            await person.press(key)
            await person.pilot.pause(0.5)  # pages are made in slices
        await person.pilot.pause(1.0)

    return act


async def form(person: Person) -> None:
    """A server asks for a form to be filled in, in the middle of a call."""
    await person.ask('call trains.book {"train": "IC 7"}')
    await person.decide()
    await person.until(lambda: "Which seats?" in person.text and "ready" in person.text)
    await person.press("3", "tab")


async def sampling(person: Person) -> None:
    """A server asks for an answer of the person's model."""
    await person.ask("call trains.ask_the_model {}")
    await person.decide()
    await person.until(lambda: "Say blue." in person.text and "ready" in person.text)


async def login(person: Person) -> None:
    """A server behind a URL wants the person to log in."""
    await person.until(lambda: "ctrl+g" in person.text)
    await person.press("ctrl+g")
    await person.until(lambda: "/authorize" in person.text and "ready" in person.text)


@asynccontextmanager
async def asking_server() -> AsyncGenerator[str]:
    """The configuration of a server that asks its client for something."""
    sys.path.append(str(FOLDER.parent))
    from tests.kit.mcp_server import mcp_server, tool

    seats = {"type": "integer", "title": "Which seats?", "description": "How many.", "minimum": 1, "maximum": 8}
    place = {"type": "string", "title": "Where?", "enum": ["at the window", "at the table", "in the quiet zone"]}
    name = {"type": "string", "title": "In which name?", "description": "As it stands in the passport."}
    fields = {"seats": seats, "place": place, "name": name}
    schema = {"type": "object", "properties": fields, "required": ["seats", "name"]}
    form = {"mode": "form", "message": "Seats on IC 7 to Hamburg, 14:03", "requestedSchema": schema}
    said = {"role": "user", "content": {"type": "text", "text": "Say blue."}}
    server = mcp_server(
        {
            "tools": [tool("book"), tool("ask_the_model")],
            "on": {
                "tools/call book": [{"ask": "elicitation/create", "params": form}, {"answers": True}],
                "tools/call ask_the_model": [
                    {"ask": "sampling/createMessage", "params": {"messages": [said], "maxTokens": 40}},
                    {"answers": True},
                ],
            },
        }
    )
    yield server.table("trains", "sampling = true")


@cache
def recording() -> tempfile.TemporaryDirectory[str]:
    """The sessions of `tests/recorded`, recorded once, in a folder that goes with the process."""
    folder = tempfile.TemporaryDirectory()
    data = str(Path(folder.name, "data"))
    subprocess.run([sys.executable, "-m", "tests.recorded", data], cwd=FOLDER.parent, check=True)  # noqa: S603 - our own
    return folder


@asynccontextmanager
async def recorded() -> AsyncGenerator[str]:
    """The configuration of the recorded sessions' servers."""
    yield await anyio.Path(recording().name, "data", "config.toml").read_text(encoding="utf-8")


@asynccontextmanager
async def guarded_server() -> AsyncGenerator[str]:
    """The configuration of a server behind an authorization server."""
    sys.path.append(str(FOLDER.parent))
    from tests.servers.login_server import login_server

    async with login_server() as server:
        yield f'[servers.guarded]\nurl = "{server.url}"\n'


@contextmanager
def line_of(*arguments: str) -> Generator[str]:
    """The first line that a command of ours says; it runs until the block is left."""
    with subprocess.Popen(  # noqa: S603 - our own
        [*PROGRAM, *arguments], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        try:
            yield process.stdout.readline() if process.stdout is not None else ""
        finally:
            process.terminate()


async def hard_page(person: Person) -> None:
    """An answer with everything that Markdown has, chat alone."""
    page = (FOLDER / "hard.md").read_text(encoding="utf-8")
    conversation = person.app.session.conversation
    conversation.add(UserItem(turn=1, text="a hard page of Markdown"))
    conversation.add(AnswerItem(turn=1, step=1, text=page, state="done", seconds=1.0))
    transcript = person.app.screen.query_one(Transcript)
    await person.until(lambda: transcript.virtual_size.height > len(page.splitlines()))
    if person.app.size.width >= BIG[0]:
        await person.press("f2", "f2")
    await person.pilot.pause(1.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """A picture to take."""

    title: str
    act: Callable[[Person], Awaitable[None]]
    size: tuple[int, int] = BIG
    theme: str = DARK
    configured: Callable[[], AbstractAsyncContextManager[str]] | None = None
    """What runs meanwhile, and the configuration for it; the bundled servers if None."""


SCENES = {
    "main": Scene(title="tui-host: the main view after a turn with tool calls", act=after_a_turn),
    "main-light": Scene(title="tui-host in a light theme", act=after_a_turn, theme=LIGHT),
    "small": Scene(title="tui-host at 80 × 24", act=after_a_turn, size=SMALL),
    "start": Scene(title="tui-host: the first screen", act=first_screen, size=(100, 30)),
    "approval": Scene(title="tui-host: two calls to decide", act=approval),
    "approval-small": Scene(title="tui-host: an approval at 80 × 24", act=approval, size=SMALL),
    "inspector": Scene(title="tui-host: the inspector over the whole screen", act=inspector),
    "servers": Scene(title="tui-host: the servers", act=servers),
    "sessions": Scene(title="tui-host: the sessions", act=sessions, size=(100, 20)),
    "tapped": Scene(title="tui-host: another host seen through its taps", act=tapped),
    "markdown-140": Scene(title="tui-host: a hard page of Markdown, 140 wide", act=hard_page, size=(140, 94)),
    "markdown-80": Scene(title="tui-host: the same, 80 wide, light", act=hard_page, size=(80, 113), theme=LIGHT),
    "markdown-46": Scene(title="tui-host: the same, 46 wide", act=hard_page, size=(46, 127)),
    "form": Scene(title="tui-host: a server asks for a form", act=form, configured=asking_server),
    "sampling": Scene(
        title="tui-host: a server asks for an answer of the model", act=sampling, configured=asking_server
    ),
    "login": Scene(title="tui-host: a server wants a login", act=login, configured=guarded_server),
    "page-list": Scene(title="tui-host: a session and its headings", act=page(0), configured=recorded),
    "page-time": Scene(
        title="tui-host: where the time of a turn went",
        act=page(0, "]", "]", "tab", "right", *["down"] * 3, "enter"),
        configured=recorded,
    ),
    "page-bill": Scene(
        title="tui-host: what a request consists of",
        act=page(0, *["]"] * 4, "tab", "right", "right", "down", "enter"),
        configured=recorded,
    ),
    "page-tools": Scene(
        title="tui-host: what each tool costs", act=page(0, "tab", *["right"] * 3), configured=recorded
    ),
    "page-servers": Scene(
        title="tui-host: servers as they were", act=page(0, "tab", *["right"] * 4), configured=recorded
    ),
    "page-chain": Scene(
        title="tui-host: the steps of a call, in Chinese",
        size=(140, 60),
        act=page(1, "c", "tab", row="edited"),
        configured=recorded,
    ),
    "page-changes": Scene(
        title="tui-host: what changed since the request before",
        size=(140, 60),
        act=page(0, "d", "tab", row="LLM 7"),
        configured=recorded,
    ),
    "chinese": Scene(title="tui-host: a conversation in Chinese", act=chinese),
}


@asynccontextmanager
async def driven(scene: Scene, folder: Path) -> AsyncGenerator[Person]:
    """The app with a host around it, as `tui_host.tui.run_app` has it, and somebody at its keys."""
    environment = {name: os.environ[name] for name in KEPT if name in os.environ}
    async with nothing_configured() if scene.configured is None else scene.configured() as text:
        (folder / "config.toml").write_text(text)
        if scene.configured is recorded:
            shutil.copytree(Path(recording().name, "data"), folder / "data")
        settings = load(Overrides(config=folder / "config.toml", data_dir=folder / "data"), environment)
        app = TuiHost(Host(replace(settings, ui=replace(settings.ui, theme=scene.theme))))
        async with around(app), app.run_test(size=scene.size) as pilot:
            person = Person(app, pilot)
            if scene.configured is not guarded_server:  # which is not ready before the login
                await person.ready()
            yield person


@asynccontextmanager
async def nothing_configured() -> AsyncGenerator[str]:
    """An empty configuration: the bundled servers run."""
    yield ""


async def take(name: str, scene: Scene, into: Path) -> None:
    """Play a scene and write its picture."""
    with tempfile.TemporaryDirectory() as folder:
        async with driven(scene, Path(folder)) as person:
            await scene.act(person)
            await person.pilot.pause(0.3)
            app = person.app
            compositor = app.screen._compositor  # noqa: SLF001 # pyright: ignore[reportPrivateUsage] - Textual has no other way
            strips = compositor.render_strips(app.size)
            colours = app.theme_variables
            text = svg(strips, title=scene.title, back=colours["background"], fore=colours["foreground"])
            (into / f"{name}.svg").write_text(text, encoding="utf-8")
    print(f"{name}.svg  {len(text):,} bytes")


async def main(names: list[str], into: Path) -> None:
    """Make the pictures that are named, else all."""
    for name in names or SCENES:
        await take(name, SCENES[name], into)


if __name__ == "__main__":
    os.environ["TEXTUAL_ANIMATIONS"] = "none"
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*", choices=[[], *SCENES], metavar="NAME")
    parser.add_argument("--into", type=Path, default=FOLDER, metavar="FOLDER")
    arguments = parser.parse_args()
    asyncio.run(main(arguments.names, arguments.into))
