"""The screen for requests to a server without a model: call a tool, read a resource, fill in a prompt, with the frames beside."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.containers import Container, Horizontal, Vertical
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static
from typing_extensions import override

from tui_host.answers.sheet import SheetLine
from tui_host.capture.json.narrowing import short
from tui_host.capture.visible import line, visible
from tui_host.chat.call_arguments import canonical, pretty, read_arguments
from tui_host.chat.calls import call_directly
from tui_host.chat.schema_form import text_of, whole_field
from tui_host.errors import JSON, TuiHostError
from tui_host.servers.catalog import READ, expand
from tui_host.tui.direct_items import DirectItem, DirectWork, ItemKind, KeptRequest, items_of
from tui_host.tui.host_mask import mask_of
from tui_host.tui.questions.form import Finished, FormView, TextField
from tui_host.tui.questions.overlay import QuestionOverlay
from tui_host.tui.questions.panel import AskBody, AskButton
from tui_host.tui.screens.page_screen import PageScreen
from tui_host.tui.screens.servers_detail import FrameFlow, frame_entry
from tui_host.tui.widgets.choices import Choice, ChoiceList
from tui_host.tui.widgets.pages.page_lines import PageLines
from tui_host.tui.widgets.pages.tree_page import TreePage

if TYPE_CHECKING:
    from collections.abc import Callable

    from tui_host.chat.session import Session
    from tui_host.host.host import Host
    from tui_host.servers.catalog import ContentBlock as Block
    from tui_host.servers.catalog import ServerStatus
    from tui_host.tui.questions.asks import Asks

_HEADINGS: Mapping[ItemKind, str] = {
    "tool": "tools",
    "resource": "resources",
    "template": "resource templates",
    "prompt": "prompts",
}
_VERBS: Mapping[ItemKind, str] = {"tool": "Call", "resource": "Read", "template": "Read", "prompt": "Fill in"}
_BESIDE, _WIDE = 76, 120
"""Widths in columns from which the list, and from which the result too, has a column of its own."""
_PAUSE = 0.15
"""Seconds for which the cursor rests on an item before its form is made."""


class DirectScreen(PageScreen):
    """What a server offers, a form for the chosen item, and the result with its frames.

    Args:
        host: The host.
        asks: What servers ask; a question of a call is shown here.
        server: The server's name.
        work: The session for the requests, and the kept requests.
    """

    HEADING = "Requests"
    AUTO_FOCUS = "ChoiceList"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "back", "back", tooltip="go back"),
        Binding("enter", "", "form", tooltip="go to the form; in a field: to the next field; on a button: press it"),
        Binding(
            "tab",
            "app.focus_next",
            "next",
            tooltip="go to the next field, the buttons, the result and its frames, the list",
        ),
        Binding("shift+tab", "app.focus_previous"),
        Binding("r", "repeat", "repeat", tooltip="make the chosen kept request again, or the last one"),
        Binding("j", "json", "JSON", tooltip="write the arguments as JSON, or in the form"),
    ]
    DEFAULT_CSS = """
    DirectScreen {
        & #chat { height: 1fr; layers: below above; }
        & #talk { layer: below; height: 1fr; layout: vertical; }
        & QuestionPanel { layer: above; dock: bottom; }
        & ChoiceList { height: 1fr; max-height: 40%; }
        & #direct-form { height: 1fr; border-top: solid $panel; padding: 0 1; }
        & #direct-about { height: auto; max-height: 6; color: $text-muted; }
        & #direct-buttons { height: 1; }
        & #direct-message { height: auto; color: $text-warning; text-style: bold; }
        & #direct-form AskBody { height: 1fr; }
        & PageLines { height: 1fr; border-top: solid $panel; }
        &.-beside #talk { layout: grid; grid-size: 2 2; grid-columns: 30 1fr; }
        &.-beside ChoiceList { row-span: 2; max-height: 100%; height: 100%; }
        &.-beside #direct-form { border-top: none; border-left: solid $panel; }
        &.-beside PageLines { border-left: solid $panel; }
        &.-three #talk { grid-size: 3 1; grid-columns: 34 1fr 1fr; }
        &.-three ChoiceList { row-span: 1; }
        &.-three #direct-form AskBody { height: auto; max-height: 80%; }
        &.-three PageLines { border-top: none; }
    }
    """

    def __init__(self, host: Host, asks: Asks, server: str, work: DirectWork) -> None:
        super().__init__()
        self._host = host
        self._asks = asks
        self._server = server
        self._work = work
        self._mask = mask_of(host)
        self._items: Sequence[DirectItem] = ()
        self._lines: Sequence[DirectItem | KeptRequest | None] = ()
        self._listed: tuple[object, ...] = ()
        self._item: DirectItem | None = None
        self._editor: FormView | TextField | None = None
        self._buttons: Sequence[AskButton] = ()
        self._arguments: Mapping[str, JSON] = {}  # what the form began with
        self._overlay: QuestionOverlay | None = None
        self._flow = FrameFlow("")
        self._seen = 0
        self._result: Sequence[SheetLine] = ()
        self._failed, self._state, self._is_running = "", "", False
        self._drawn: tuple[object, ...] = ()
        self._flipped: set[str] = set()

    @override
    def body(self) -> Sequence[Widget]:
        form = Vertical(
            Static(id="direct-about", markup=False),
            AskBody(),
            Static(id="direct-message", markup=False),
            Horizontal(id="direct-buttons"),
            id="direct-form",
        )
        choices = ChoiceList(least=14)
        return [Container(Container(choices, form, PageLines(), id="talk"), id="chat")]

    def on_mount(self) -> None:
        self._mask = mask_of(self._host)
        self._overlay = QuestionOverlay(
            self,
            self._host,
            self._asks,
            prompt=self.query_one(ChoiceList),
            shows_chat=lambda: True,
        )
        self.query_one(PageLines).show(
            TreePage("result", (), flipped=self._flipped, empty="The result and its frames appear here.")
        )
        self.look()

    @override
    def on_resize(self, event: events.Resize) -> None:
        """Put list, form and result side by side where there is room. Textual also calls the base class's handler."""
        self.set_class(event.size.width >= _BESIDE, "-beside")
        self.set_class(event.size.width >= _WIDE, "-three")

    # What is listed.

    @property
    def _status(self) -> ServerStatus | None:
        return None if self._host.pool is None else self._host.pool.status_of(self._server)

    def look(self) -> None:
        """Show what has changed: the list, the question of a call, new frames."""
        status, session = self._status, self._work.session
        if self._overlay is None or status is None:
            return
        kept = self._work.kept.get(self._server, [])
        listed = (status.tools, status.resources, status.templates, status.prompts, list(kept))
        if listed != self._listed:
            self._listed = listed
            self._items = items_of(status)
            self._list(kept)
        self.say(
            f"{self.HEADING} to {line(status.name, 40)}   {status.state}   without a model, recorded in sessions (f5)"
        )
        if session is not None:
            self._overlay.show(session)
        self._read_frames()
        self._draw()

    def _list(self, kept: Sequence[KeptRequest]) -> None:
        chosen = self._chosen
        lines: list[DirectItem | KeptRequest | None] = []
        choices: list[Choice] = []
        groups = [(_HEADINGS[kind], [item for item in self._items if item.kind == kind]) for kind in _HEADINGS]
        for heading, entries in (("kept requests", list(kept)), *groups):
            if not entries:
                continue
            lines += [None, *entries]
            choices += [Choice(words=heading, heading=True), *map(self._choice, entries)]
        self._lines = lines
        current = lines.index(chosen) if chosen in lines else None
        self.query_one(ChoiceList).show(choices, empty=f"{line(self._server, 40)} offers nothing now.", current=current)

    def _choice(self, entry: DirectItem | KeptRequest) -> Choice:
        if isinstance(entry, KeptRequest):
            words = f"{entry.item[1]} {short(entry.arguments, 120) if entry.arguments else ''}"
            return Choice(words=self._mask(words))
        return Choice(words=entry.name, note=entry.title if entry.title != entry.name else "")

    @property
    def _chosen(self) -> DirectItem | KeptRequest | None:
        number = self.query_one(ChoiceList).cursor
        return self._lines[number] if number is not None and number < len(self._lines) else None

    def on_line_view_cursor_moved(self, event: ChoiceList.CursorMoved) -> None:
        if isinstance(event.view, ChoiceList):
            chosen = self._chosen
            self.set_timer(_PAUSE, lambda: self._show(chosen) if chosen is self._chosen else None)

    def on_line_view_opened(self, event: ChoiceList.Opened) -> None:
        if isinstance(event.view, ChoiceList):
            self._show(self._chosen)
            self._focus_later()

    # The form.

    def _show(self, chosen: DirectItem | KeptRequest | None, *, as_json: bool | None = None) -> None:
        """Show the form of an item, filled in as it was sent if it is a kept request."""
        arguments: Mapping[str, JSON] = {}
        if isinstance(chosen, KeptRequest):
            arguments = chosen.arguments
            item = next((item for item in self._items if (item.kind, item.name) == chosen.item), None)
        else:
            item = chosen
        if item is None or (item is self._item and arguments == self._arguments and as_json is None):
            return
        self._item, self._arguments = item, arguments
        known = {field.name: field for field in item.fields}
        fits = whole_field(item.fields) is None or item.kind != "tool"
        needs_json = item.kind == "tool" and any(name not in known for name in arguments)
        if as_json or not fits or (as_json is None and needs_json):
            self._editor = TextField(pretty(arguments))
        else:
            texts = {name: text_of(known[name].kind, value) for name, value in arguments.items() if name in known}
            texts = {**dict.fromkeys(known, ""), **texts} if arguments else texts
            self._editor = FormView(item.fields, texts)
        about = f"{item.title}: {item.description}" if item.title else item.description or "(no description)"
        self.query_one("#direct-about", Static).update(Content(f"{line(item.name, 200)}\n{visible(self._mask(about))}"))
        self._say(_remark(item, fits=fits))
        buttons = [AskButton(_VERBS[item.kind], self._send)]
        if item.kind == "tool" and fits:
            buttons.append(
                AskButton("As JSON" if isinstance(self._editor, FormView) else "As a form", self.action_json)
            )
        self._buttons = buttons
        self.start(self._mount_form(), group="form", exclusive=True)

    async def _mount_form(self) -> None:
        """Put the form and its buttons in the place of the former, and give the form the focus if it is wanted there."""
        form, row, editor = self.query_one(AskBody), self.query_one("#direct-buttons"), self._editor
        await form.remove_children()
        await row.remove_children()
        if editor is not None:
            await form.mount(editor)
        await row.mount(*self._buttons)
        if self._held is not None:
            self._focus_form()

    def _focus_later(self) -> None:
        """Give the form the focus; keys typed before it can take them are kept."""
        if self._buttons and self._buttons[0].is_mounted:
            self._focus_form()
        else:
            self.set_focus(None)  # what is being removed would hand its focus to a neighbour
            self._held = []

    def _focus_form(self) -> None:
        inputs = [row.input for row in self._editor.rows] if isinstance(self._editor, FormView) else [self._editor]
        self.set_focus(next((field for field in inputs if field is not None), None) or self._buttons[0])

    def _say(self, words: str) -> None:
        message = self.query_one("#direct-message", Static)
        message.display = bool(words)
        message.update(Content(line(words, 400)))

    def on_finished(self, event: Finished) -> None:
        """After the last field: go to the button."""
        event.stop()
        self.query(AskButton).first().focus()

    def action_json(self) -> None:
        item = self._item
        if item is None or item.kind != "tool" or whole_field(item.fields) is not None:
            return
        is_form = isinstance(self._editor, FormView)
        arguments = self._values()
        if arguments is not None:
            self._show(KeptRequest(item=(item.kind, item.name), arguments=arguments), as_json=is_form)
            self._focus_later()

    def _values(self) -> Mapping[str, JSON] | None:
        """Return the arguments as written; None after saying what is wrong with them."""
        if isinstance(self._editor, FormView):
            return self._editor.content()
        try:
            return read_arguments(self._editor.value) if self._editor is not None else None
        except TuiHostError as error:
            self._say(str(error))
            return None

    # Requests.

    def on_ask_button_pressed(self, event: AskButton.Pressed) -> None:
        event.stop()
        event.action()

    def _send(self) -> None:
        arguments = self._values()
        if self._item is not None and arguments is not None:
            self._request(KeptRequest(item=(self._item.kind, self._item.name), arguments=arguments))

    def action_repeat(self) -> None:
        kept = self._work.kept.get(self._server, [])
        chosen = self._chosen if isinstance(self._chosen, KeptRequest) else next(iter(kept), None)
        if chosen is None:
            self._say("Nothing was requested yet.")
        else:
            self._show(chosen)
            self._request(chosen)

    def _request(self, request: KeptRequest) -> None:
        item = next((item for item in self._items if (item.kind, item.name) == request.item), None)
        recorder, status = self._host.recorder, self._status
        if item is None or recorder is None or status is None:
            self._say("The server does not offer this any more.")
        elif self._is_running:
            self._say("A request is running; escape cancels it.")
        else:
            self._say("")
            self._work.keep(self._server, request)
            self._flow, self._seen = FrameFlow(status.connection), recorder.last
            self._result, self._failed, self._is_running, self._state = (), "", True, "waiting for the server"
            self.start(self._run(item, request.arguments), group="direct")

    async def _run(self, item: DirectItem, arguments: Mapping[str, JSON]) -> None:
        session = self._work.session
        if session is None:
            session = self._work.session = self._host.sessions.new()
            session.is_direct = True
        began, state = time.monotonic(), "cancelled; the server may have acted"
        session.wait_for("tools")  # so that a question of the server is known to belong here
        try:
            blocks, raw, notes = await self._answer(session, item, arguments)
            self._result = [
                *self._entries(blocks),
                SheetLine(key="raw", label="result as received", text=_text(raw), style="what"),
            ]
            self._failed = notes
            state = f"answered after {(time.monotonic() - began) * 1000:,.0f} ms"
        except TuiHostError as error:
            self._failed, state = str(error), "failed"
        finally:
            session.wait_for("")
            self._is_running, self._state = False, state

    async def _answer(
        self, session: Session, item: DirectItem, arguments: Mapping[str, JSON]
    ) -> tuple[Sequence[Block], JSON, str]:
        """Return the blocks of the answer, the answer as received, and what is wrong with it."""
        pool, recorder = self._host.pool, self._host.recorder
        assert pool is not None  # noqa: S101 - there is a status
        assert recorder is not None  # noqa: S101 - checked before
        if item.kind == "prompt":
            texts = {name: str(value) for name, value in arguments.items()}
            session.begin_turn(f"prompt {self._server} {item.name} {short(texts)}")
            place = session.place(step=1, call=f"direct_{session.turn}")
            filled = await pool.get_prompt(self._server, item.name, texts, place=place)
            return [message.content for message in filled.messages], filled.raw, filled.warning
        tool, sent = item.tool, arguments
        if item.kind != "tool":
            tool = next((tool for tool in pool.tools() if (tool.server, tool.name) == (self._server, READ)), None)
            values = {name: str(value) for name, value in arguments.items()}
            sent = {"uri": expand(item.name, values) if item.kind == "template" else item.name}
        if tool is None:
            raise TuiHostError("the server is not connected", self._server, "connect it with f3, r")

        output = await call_directly(
            pool,
            recorder,
            session,
            tool,
            canonical(sent),
            on_progress=lambda progress: self._progressed(f"{progress.progress:g} {progress.message}"),
        )
        failed = "the server says that the tool failed (isError)" if output.is_error else output.warning
        return output.content, output.raw, failed

    def _progressed(self, words: str) -> None:
        self._state = f"running: {words}".strip()

    def _entries(self, blocks: Sequence[Block]) -> Sequence[SheetLine]:
        return [
            SheetLine(
                key=f"block {number}",
                label=f"{block.kind} {block.media_type} {block.uri}".strip(),
                text=_text_of(self._mask(block.text)),
                opened=True,
                style="key",
            )
            for number, block in enumerate(blocks)
        ]

    # The result and the frames.

    def _read_frames(self) -> None:
        recorder = self._host.recorder
        if recorder is None or not self._flow.connection:
            return
        for record in recorder.since(self._seen, limit=2000):
            self._seen = record.seq
            if record.kind == "frame" and record.peer == self._server and record.connection == self._flow.connection:
                self._flow.add(record)

    def _draw(self) -> None:
        view, flow = self.query_one(PageLines), self._flow
        drawn = (self._state, self._failed, len(self._result), flow.sent + flow.received)
        if drawn == self._drawn or not flow.connection or view.view_width <= 0:
            view.advance()
            return
        self._drawn = drawn
        start = flow.last[0].mono_ns if flow.last else None
        frames = tuple(frame_entry(record, start) for record in flow.last)
        listed = SheetLine(
            key="frames",
            label=f"frames  {flow.sent:,} out, {flow.received:,} in",
            children=frames,
            opened=True,
            style="what",
        )
        page = TreePage(
            "result",
            [*self._result, listed],
            flipped=self._flipped,
            failed=line(self._mask(self._failed), 600),
            notes=[self._state],
        )
        view.show(page, hold=True)

    # Questions of the server, and going back.

    def ignores(self, event: events.Event) -> bool:
        """Whether a key or click came too early to answer a question."""
        panel = None if self._overlay is None else self._overlay.panel
        return panel is not None and panel.swallow(event)

    def action_back(self) -> None:
        choices = self.query_one(ChoiceList)
        if self._is_running:
            self.workers.cancel_group(self, "direct")  # pyright: ignore[reportUnknownMemberType] - of any worker
        elif self.focused is not choices:
            choices.focus()
        else:
            self.action_leave()


def _remark(item: DirectItem, *, fits: bool) -> str:
    if not fits:
        return "This tool has more fields than a form can show; write the arguments as JSON."
    return "" if item.fields or item.kind != "tool" else "This tool takes no arguments; j writes some as JSON."


def _text(value: JSON) -> Callable[[], str]:
    return lambda: json.dumps(value, ensure_ascii=False)


def _text_of(text: str) -> Callable[[], str]:
    return lambda: text
