"""An app that asks, and hands that decide in it."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager

import anyio
from textual import events
from textual.app import App, ComposeResult
from textual.containers import Container, Vertical
from textual.pilot import Pilot
from textual.widgets import Input, Static, TextArea
from typing_extensions import override

from tests.tui.waiting import until
from tui_host.answers.masks import Mask
from tui_host.capture.redact.redaction import Redactor
from tui_host.chat.call_arguments import canonical
from tui_host.chat.policy import CallRequest, Decision, Question
from tui_host.errors import JSON
from tui_host.servers.catalog import Tool
from tui_host.tui.glyphs import UNICODE, Glyphs
from tui_host.tui.widgets.approval.approval_lines import Field
from tui_host.tui.widgets.approval.approval_panel import Approval

SCHEMA: JSON = {
    "type": "object",
    "properties": {"a": {"type": "number"}, "b": {"type": "number"}, "unit": {"enum": ["m", "km"]}},
    "required": ["a", "b"],
}
KEY = "hunter2-hunter2"
SECRETS = Redactor([("KEY", KEY)])
HINTS = (("readOnlyHint", True),)
HOSTILE = "\x1b[2J\x1b]52;c;eA==\x07\x9b2J\u202egnirts\u200b\u2066 [@click=app.quit]x[/] [/]"


def answered(question: Question, decision: Decision) -> None:
    """Nobody waits in these tests."""


def question(
    name: str = "multiply",
    arguments: Mapping[str, JSON] | None = None,
    *,
    server: str = "math",
    description: str = "Multiply two numbers.",
    changed: str = "",
    misfits: Sequence[str] = (),
    numbers: Sequence[tuple[str, str]] = (),
) -> Question:
    tool = Tool(
        server=server,
        name=name,
        description=description,
        schema=SCHEMA,
        annotations=HINTS,
        fingerprint=f"print of {name}",
    )
    given = {"a": 6, "b": 5} if arguments is None else arguments
    request = CallRequest(
        call=f"{name}-{id(given)}",
        tool=tool,
        arguments=canonical(given),
        changed=changed,
        misfits=misfits,
        changed_numbers=numbers,
    )
    return Question(request, answered=answered)


class Asking(App[None]):
    """A screen like the main one: chat at the left, something else to read at the right."""

    CSS = """
    #chat { width: 2fr; layers: below above; } #talk { layer: below; }
    Approval { layer: above; dock: bottom; } #row { layout: horizontal; } #other { width: 1fr; }
    """

    def __init__(self, *questions: Question, quiet: float = 0.05, glyphs: Glyphs = UNICODE) -> None:
        super().__init__()
        self.questions = questions
        self.granted: list[Question] = []
        self._quiet = quiet
        self._glyphs = glyphs

    @override
    def compose(self) -> ComposeResult:
        with Container(id="row"):
            with Container(id="chat"), Vertical(id="talk"):
                yield Static("chat")
                yield Input(id="prompt")
            yield TextArea("to read", read_only=True, id="other")

    def on_mount(self) -> None:
        self.query_one("#prompt").focus()
        self.ask()

    def ask(self) -> None:
        self.query_one("#talk").disabled = True
        self.query_one("#chat").mount(
            Approval(
                self.questions,
                on_grant=self.granted.append,
                mask=Mask(lambda: SECRETS),
                glyphs=self._glyphs,
                quiet_seconds=self._quiet,
            )
        )

    @property
    def approval(self) -> Approval:
        return self.query_one(Approval)

    @override
    async def on_event(self, event: events.Event) -> None:
        kinds = events.Key | events.Paste | events.MouseDown | events.MouseUp | events.Click
        if isinstance(event, kinds) and any(found.swallow(event) for found in self.query(Approval)):
            return
        await super().on_event(event)


class Alone(Asking):
    """The chat alone, as on a narrow screen."""

    CSS = Asking.CSS + "#chat { width: 1fr; } #other { display: none; }"


async def armed(pilot: Pilot[None], app: Asking) -> None:
    await pilot.pause()
    with anyio.fail_after(90):
        while not app.approval.is_armed:
            await anyio.sleep(0.02)
    await pilot.pause()


@asynccontextmanager
async def until_armed(app: Asking, size: tuple[int, int] = (100, 24)) -> AsyncGenerator[tuple[Asking, Pilot[None]]]:
    """Run an app until keys decide."""
    async with app.run_test(size=size) as pilot:
        await armed(pilot, app)
        yield app, pilot


async def at_once(pilot: Pilot[None], app: Asking, *keys: str) -> None:
    """Keys that a hand typed without a pause, however long the machine takes for them."""
    typed = [events.Key(key, key if len(key) == 1 else None) for key in keys]
    for event in typed:
        app.post_message(event)
    for _ in typed:
        await pilot.pause()


async def armed_or_writing(pilot: Pilot[None], app: Asking) -> None:
    """Wait until keys decide again, or a field takes them."""
    with anyio.fail_after(90):
        while not (app.approval.is_armed or any(field.has_focus for field in app.query(Field))):
            await anyio.sleep(0.02)
    await pilot.pause()


async def decide(pilot: Pilot[None], app: Asking, *keys: str) -> None:
    """Press keys, each once it would decide."""
    for key in keys:
        await armed(pilot, app)
        await pilot.press(key)
        await pilot.pause()


def text(app: Asking) -> str:
    """The approval as it stands on the screen."""
    region = app.approval.region
    update = app.screen._compositor.render_strips()  # pyright: ignore[reportPrivateUsage]
    rows = [strip.crop(region.x, region.right).text.rstrip() for strip in update[region.y : region.bottom]]
    return "\n".join(rows)


async def until_said(pilot: Pilot[None], app: Asking, said: str) -> None:
    """Wait until this stands in the approval, however its lines are broken."""
    await until(pilot, lambda: said in " ".join(text(app).replace("│", " ").split()))


def words(asked: Question) -> str:
    return "" if asked.decision is None else asked.decision.words.split(",")[0]


def verdict(asked: Question) -> str:
    return "" if asked.decision is None else asked.decision.verdict


LONG: Mapping[str, JSON] = {"note": "\n".join(f"line {number}" for number in range(400)), "list": list(range(200))}
