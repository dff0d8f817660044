"""The runner of the app: the real app with its host, its configuration and its data, driven by keys (Textual's Pilot).

    with peer_in_thread(always=says("openai", Answer("hi"))) as there:
        async with running(tmp_path, config=provider_table(there.url) + OFF) as app:
            await app.send("hello")
            await app.until_shown("hi")

In `tests/tui` the fixture `app` is one that all tests share, renewed for each: the demo model, a provider that is closed, one
without its key, and the server `math`. `app.press`, `reach`, `type`, `write`, `send`, `ask`, `decide` do; `until`, `until_shown`, `until_told`,
`until_asked`, `until_idle`, `until_ready` wait; `text`, `lines`, `session`, `inspector`, `bodies` know.
"""

from __future__ import annotations

import json
import os
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TypeAlias, TypeVar

import anyio
from textual import events, screen
from textual.pilot import Pilot
from textual.widget import Widget

import tui_host.tui.app
from tests.cases import some
from tui_host.capture.store.store import Store
from tui_host.chat.conversation import Item
from tui_host.chat.session import Session
from tui_host.errors import JSON
from tui_host.host.host import Host
from tui_host.host.open_sessions import DEFAULT_MODEL
from tui_host.settings.load import Overrides, load
from tui_host.tui.app import TuiHost
from tui_host.tui.questions.approval import Approval
from tui_host.tui.questions.panel import QuestionPanel
from tui_host.tui.run_app import around
from tui_host.tui.screens.main_screen import MainScreen
from tui_host.tui.sources.live import SessionSource
from tui_host.tui.widgets.inspector.inspector_pane import Inspector
from tui_host.tui.widgets.prompt.prompt_field import Prompt
from tui_host.tui.widgets.transcript.transcript_view import Transcript

K = TypeVar("K", bound=Item)
Wanted: TypeAlias = str | Callable[[], object]

BOUND_SECONDS = 90.0
"""How long a condition may take on a machine that does much else; nothing waits that long where all is well."""
WIDE, USUAL, NARROW = (140, 45), (80, 24), (60, 20)
# Painting is most of what these tests cost. Textual and the app call their rates final.
setattr(screen, "UPDATE_PERIOD", 1 / 10)  # noqa: B010
setattr(tui_host.tui.app, "RATE", 1 / 12)  # noqa: B010
setattr(tui_host.tui.app, "RESTING_SECONDS", 1 / 12)  # noqa: B010 - tests change state by hand, which wakes nobody
QuestionPanel.QUIET_SECONDS = 0.2  # keys count sooner: else tests wait for that more than for all else
SMALL = (112, 36)
"""Both panes, and no more to paint than it takes."""
PATIENT = "[limits]\nconnect_wait = 240\n"
"""Servers are waited for, however busy the machine is."""
MATH = f'{PATIENT}[servers.math]\nbundled = "math"\n'
OFF = f"{MATH}enabled = false\n"
"""For tests that need no server: none is started."""
BROKEN = """
[providers.closed]
base_url = "http://127.0.0.1:9/v1"
[providers.keyless]
base_url = "http://127.0.0.1:9/v1"
api_key = "${NOBODY_SET_THIS}"
"""
"""Providers that cannot answer."""


def fast(url: str) -> str:
    return f'model = "fast/openai"\n[providers.fast]\nbase_url = "{url}"\n'


class Running:
    """The app at work, and what a test wants to do with it and to know of it."""

    def __init__(self, app: TuiHost, pilot: Pilot[int]) -> None:
        self.app = app
        self.pilot = pilot
        self.told: list[str] = []
        notify = app.notify

        def heard(message: str, **more: object) -> None:
            self.told.append(message)
            notify(message, **more)  # pyright: ignore[reportArgumentType] - passed on

        setattr(app, "notify", heard)  # noqa: B010 - a method is replaced, on this one object

    # Doing.

    async def press(self, *keys: str) -> None:
        await self.pilot.press(*keys)

    async def reach(self, keys: str, *wanted: Wanted, told: str = "") -> None:
        """Press keys, named between blanks, and wait for the words that they lead to."""
        await self.press(*keys.split())
        await self.until_shown(*wanted)
        await self.until_told(told)

    async def press_at_once(self, *keys: str) -> None:
        """Keys that were all pressed at this moment, however long the app takes to get to them."""
        for key in keys:
            character = " " if key == "space" else key if len(key) == 1 else None
            self.app.post_message(events.Key(key, character))
        await self.pilot.pause()

    async def type(self, text: str, *wanted: Wanted) -> None:
        names = {" ": "space", "\n": "ctrl+j"}
        await self.press_at_once(*(names.get(letter, letter) for letter in text))
        await self.until_shown(*wanted)

    def write(self, text: str) -> None:
        self.prompt.load_text(text)

    async def send(self, text: str, *wanted: Wanted) -> None:
        """Write a message and send it. Returns once a question stands in the chat, so that `until_idle` waits for its turn."""
        items = len(self.session.conversation)
        self.write(text)
        await self.press("enter")
        if not text.startswith("/"):
            with anyio.move_on_after(2):  # a message that is kept back adds nothing
                while len(self.session.conversation) == items:
                    await anyio.sleep(0.005)
        await self.until_shown(*wanted)

    async def ask(self, text: str) -> None:
        await self.send(text)
        await self.until_idle()

    async def renew(self) -> None:
        """Begin anew in the same process: a new session, nothing written, the main screen as it starts."""
        while self.app.screen is not self.main:
            self.app.pop_screen()
            await self.pilot.pause()
        self.host.turns.stop(self.session)
        await self.until_idle()
        self.app.clear_notifications()
        self.told.clear()
        self.write("")
        settings, new = self.host.settings, self.host.sessions
        new.model, new.protocol = settings.model or DEFAULT_MODEL, settings.protocol
        new.profile = settings.profile
        self.main.show_session(new.new())
        while self.main.arrangement != "both":
            self.main.action_arrange()
        self.prompt.focus()
        await self.until(lambda: self.focused is self.prompt)

    async def until(self, is_so: Callable[[], object], *, every: float = 0.02) -> None:
        try:
            with anyio.fail_after(BOUND_SECONDS):
                while not is_so():
                    assert self.app.crash is None, f"the app ended: {self.app.crash}"
                    await anyio.sleep(every)
        except TimeoutError:
            raise AssertionError(f"it did not come to this; on the screen:\n{self.text}") from None

    async def until_shown(self, *wanted: Wanted) -> None:
        """Wait until all these words are on the screen at once, and all these conditions hold."""

        def is_shown() -> bool:
            text = self.text if wanted else ""
            return all(each in text if isinstance(each, str) else each() for each in wanted)

        await self.until(is_shown, every=0.05)

    async def until_told(self, words: str) -> None:
        await self.until(lambda: not words or any(words in message for message in self.told))

    def asks(self) -> bool:
        return (it := self.approval) is not None and it.is_armed and it.current.open

    async def until_asked(self) -> None:
        await self.until(self.asks)

    async def decide(self, key: str) -> None:
        await self.until_asked()
        waiting = list(self.session.open_questions())
        await self.press(key)
        await self.until(lambda: any(not question.open for question in waiting))

    async def answer(self, *keys: str) -> None:
        """Decide by these keys, one after the other, and wait for the end of the turn."""
        for key in keys:
            await self.decide(key)
        await self.until_idle()

    async def until_idle(self) -> None:
        await self.until(lambda: not self.session.busy and self.approval is None)
        await self.pilot.pause()

    async def until_ready(self) -> None:
        await self.until(lambda: self.host.pool is not None)
        pool = self.host.pool
        await self.until(lambda: all(status.state in {"ready", "disabled"} for status in some(pool).statuses()))

    # Knowing.

    @property
    def host(self) -> Host:
        return self.app.host

    @property
    def store(self) -> Store:
        return some(self.host.store)

    @property
    def session(self) -> Session:
        return self.app.session

    @property
    def main(self) -> MainScreen:
        return some(self.app.main)

    @property
    def prompt(self) -> Prompt:
        return self.main.query_one(Prompt)

    @property
    def transcript(self) -> Transcript:
        return self.main.query_one(Transcript)

    @property
    def inspector(self) -> Inspector:
        return self.main.query_one(Inspector)

    @property
    def inspector_source(self) -> SessionSource:
        return some(self.main.source)

    @property
    def approval(self) -> Approval | None:
        return self.main.question if isinstance(self.main.question, Approval) else None

    @property
    def focused(self) -> Widget | None:
        return self.app.focused

    @property
    def lines(self) -> list[str]:
        compositor = self.app.screen._compositor  # pyright: ignore[reportPrivateUsage] - Textual has no other way to it
        return [strip.text for strip in compositor.render_strips()]

    @property
    def text(self) -> str:
        return "\n".join(self.lines)

    def text_in(self, widget: Widget) -> str:
        """What of the screen belongs to a widget; for screens without wide characters."""
        region = widget.region
        return "\n".join(line[region.x : region.right] for line in self.lines[region.y : region.bottom])

    @property
    def messages(self) -> list[dict[str, JSON]]:
        value: dict[str, list[dict[str, JSON]]] = json.loads(self.bodies("llm", "out")[-1])
        return value["messages"]

    def items(self, kind: type[K]) -> list[K]:
        return [item for item in self.session.conversation if isinstance(item, kind)]

    def bodies(self, wire: str, direction: str) -> list[bytes]:
        """Requests (`out`) to the model or frames of the servers, as their bytes were recorded, oldest first."""
        assert self.host.recorder is not None
        self.host.recorder.flush()  # what has just moved may not be shown yet
        return [
            record.data
            for record in self.host.recorder.since(0, limit=10**6)
            if record.wire == wire and record.direction == direction and record.kind in {"request", "frame"}
        ]


@asynccontextmanager
async def running(
    folder: Path, *, config: str = PATIENT, size: tuple[int, int] = WIDE, environment: Mapping[str, str] | None = None
) -> AsyncGenerator[Running]:
    """The app on a data folder, where a second run finds the sessions of the first; without a `config` all bundled servers are there."""
    path = folder / "config.toml"
    path.write_text(config, encoding="utf-8")
    home = folder / "home"
    home.mkdir(exist_ok=True)
    kept = {name: value for name, value in os.environ.items() if not name.endswith("_API_KEY") and name[:4] != "XDG_"}
    whole = {**kept, "HOME": str(home), **(environment or {})}
    app = TuiHost(Host(load(Overrides(config=path, data_dir=folder / "data"), whole)))
    app.animation_level = "none"
    async with around(app), app.run_test(size=size, notifications=True) as pilot:
        here = Running(app, pilot)
        await here.until(lambda: here.main.seen)
        yield here
