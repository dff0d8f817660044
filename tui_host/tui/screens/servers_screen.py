"""The servers: state, version, capabilities, tools, log and standard error, and switches for each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

from anyio import to_thread
from textual.binding import Binding, BindingType
from textual.containers import Container
from typing_extensions import override

from tui_host.answers.request_weights import ToolWeight, weigh
from tui_host.answers.sheet import Sheet, SheetLine
from tui_host.capture.visible import line
from tui_host.chat.active_profile import offers
from tui_host.chat.conversation import Conversation, NoteItem
from tui_host.chat.stored_messages import Messages
from tui_host.errors import TuiHostError
from tui_host.host.request_preview import preview_request
from tui_host.llm.outline import estimate_tokens
from tui_host.servers.catalog import READ, Resource
from tui_host.settings.save import save_switches
from tui_host.tui.keys import bound, key_of
from tui_host.tui.questions.overlay import QuestionOverlay
from tui_host.tui.screens.field_screen import FillScreen
from tui_host.tui.screens.page_screen import Browse
from tui_host.tui.screens.request_screen import ComingSource
from tui_host.tui.screens.server_sheet import DirectRequest, lists_of, name_of, offers_of, sheet_of
from tui_host.tui.widgets.choices import Choice
from tui_host.tui.widgets.pages.text_page import Match
from tui_host.tui.widgets.prompt.server_offers import Form, form_of
from tui_host.tui.widgets.status_lines import MARKS

if TYPE_CHECKING:
    from tui_host.servers.catalog import ServerStatus, State
    from tui_host.servers.server import Server
    from tui_host.tui.screens.main_screen import MainScreen

_STYLES: dict[State, str] = {"ready": "string", "connecting": "secret", "lost": "secret", "failed": "failed"}
_ON = frozenset({"ready", "connecting", "lost"})


class ServersScreen(Browse):
    """The list of servers, and the sheet of the chosen one; requests to it without a model are lines of the sheet."""

    HEADING = "Servers"
    FILTER = "filter tools, resources and prompts"
    AUTO_FOCUS = "#list"
    empty = "No servers are configured. Start with one: tui-host -- COMMAND, or write [servers.NAME] into config.toml."
    BINDINGS: ClassVar[list[BindingType]] = [
        bound("reconnect", "reconnect", "reconnect", tooltip="connect, or reconnect"),
        bound("switch", "switch(False)", "on/off", tooltip="switch it, or a tool, on or off until tui-host ends"),
        bound("switch_for_good", "switch(True)", "on/off, saved", tooltip="the same, also for the next start"),
        bound("instructions", "instructions", "instructions", tooltip="send its instructions to the model, or not"),
        bound("try", "try", "call, read", tooltip="request a tool, resource or prompt without a model; there: again"),
        bound("filter", "focus('Input')", "filter", tooltip="filter tools, resources and prompts"),
        Binding("tab", "app.focus_next", "details", tooltip="go to the server's sheet, and back; enter goes there too"),
    ]
    DEFAULT_CSS = """
    ServersScreen #chat { layers: below above; & > #talk { layer: below; } & > QuestionPanel { layer: above; dock: bottom; } }
    """

    def __init__(self, main: MainScreen) -> None:
        super().__init__()
        self._body = [Container(Container(*self._body, id="talk"), id="chat")]
        self._host, self._asks, self._direct = main.host, main.asks, main.direct
        self._session, self._mask = main.submissions.session, main.host.mask
        self._statuses: Mapping[str, ServerStatus] = {}
        self._weighed: object = ()  # the tools that were weighed
        self._weights: Mapping[str, Mapping[str, ToolWeight]] = {}  # by server and tool, in the coming request
        self._basis: object = ()  # what the lists below were made from
        self._lists: Sequence[SheetLine] = ()  # made once per listing: there may be thousands of tools
        self.overlay = QuestionOverlay(self, self._host, self._asks, self.choices, lambda: None)

    # What is shown.

    @override
    def look(self) -> None:
        self._statuses = {status.name: status for status in self._host.pool.statuses()} if self._host.pool else {}
        states = [status.state for status in self._statuses.values()]
        counts = [f"{states.count(state)} {state}" for state in dict.fromkeys(states)]
        coming = ""  # what the next request offers; changes at once with every switch
        if (pool := self._host.pool) is not None:
            profile = self._host.settings.profiles.get(self._session.profile)
            own = (tool for tool in pool.tools() if tool.resources is None)
            tools = [tool for tool in own if offers(profile, tool.server, tool.name)]
            if tools != self._weighed:  # asked at the screen's rate: lists that are equal differ in no object
                self._weighed = tools
                self.start(self._weigh_request(), group="weigh", exclusive=True)
            behind = " behind the hub" if self._session.protocol.partition("+")[0] == "hub" else ""
            tokens = sum(weight.tokens for weights in self._weights.values() for weight in weights.values())
            coming = f"{len(tools):,} tool{'s' * (len(tools) != 1)}{behind}{f', ~{tokens:,} tok' if tokens else ''}"
        if self.size.width > 90:
            coming = f"next request: {coming}"
        self.note("   ".join((self.HEADING, *counts, coming)), place="#page-heading")
        if self._direct:
            for ask in self._asks.of(self._direct[0].session):
                ask.is_wanted = True  # a login too: it is of this request
            self.overlay.show(self._direct[0].session)
        super().look()

    @override
    def items(self) -> Mapping[str, Choice]:
        listed: dict[str, Choice] = {}
        for name, status in self._statuses.items():
            count, state = len(status.tools), status.state
            right = f"{state}  {count:,} tool{'s' * (count != 1)}" if state == "ready" else state
            style = _STYLES.get(state, "note")
            server = None if self._host.pool is None else self._host.pool.server(name)
            switches = server and (server.tools_off, server.is_instructing)
            states = [request.state for request in self._direct if request.form.server == name]
            subject = status, switches, self._weights.get(name), self.typed, states
            choice = Choice(words=name, mark=MARKS[state][0], style=style, right=right)
            listed[name] = replace(choice, take=self.view.focus, subject=subject)
        return listed

    @override
    def sheet(self, key: str) -> Sheet | None:
        status, server = self._statuses[key], self._server()
        requests = [request for request in self._direct if request.form.server == key]
        if server is None:
            return None
        off, weights = server.tools_off, self._weights.get(key, {})
        if self._basis != (basis := (key, off, weights, offers_of(status))):
            self._basis, self._lists = basis, lists_of(status, self._mask, off, weights)
        instructed = f"not sent; {key_of('instructions')} sends them"
        if server.is_instructing and self._session.protocol in {"native", "hub"}:
            size = estimate_tokens(status.instructions.encode("utf-8", "replace"))
            instructed = f"sent, ~{size:,} tok in each request"
        elif server.is_instructing:
            instructed = "sent where the system prompt has {server_instructions}"
        sheet = sheet_of(status, self._lists, self._mask, instructed=instructed, wanted=self.typed)
        if requests:
            lines = tuple(request.line(self._mask, is_newest=request is requests[0]) for request in requests)
            made = SheetLine(key="requests", label="requests by you, newest first", children=lines, style="what")
            sheet = replace(sheet, lines=[replace(made, opened=True), *sheet.lines])
        return sheet

    async def _weigh_request(self) -> None:
        """Weigh a request such as the session's next one, but for its messages, as the Bill weighs what was sent."""
        blank = replace(self._session, keeper=None, messages=Messages(), conversation=Conversation())
        weights: dict[str, dict[str, ToolWeight]] = {}
        with suppress(TuiHostError):  # such as without a key: then nothing is said of tokens
            source = ComingSource(self._host, blank, await preview_request(self._host, blank, ""), None)
            for tool in (await to_thread.run_sync(lambda: weigh(source, [source.row])))[0].tools:
                weights.setdefault(tool.server, {})[tool.tool] = tool
        self._weights = weights

    # What a person does.

    def _server(self) -> Server | None:
        pool, name = self._host.pool, self.choices.current
        return pool.server(name) if pool is not None and name else None

    def _path(self) -> tuple[str, ...]:
        item = self.view.item
        return item.keys if item is not None and self.view.has_focus else ()

    def _tell(self, words: str) -> None:
        self.notify(line(self._mask(words), 300), markup=False, timeout=4)
        self.look()

    def action_reconnect(self) -> None:
        if (server := self._server()) is not None:
            server.reconnect()
            self._tell(f"connecting {self.choices.current}")

    def action_switch(self, for_good: bool) -> None:
        """Switch the tool under the cursor on or off, or the chosen server if the focus is in the list."""
        server, path, session, here = self._server(), self._path(), self._session, self.choices.current
        tool = "".join(path[1:2]) if path[:1] == ("tools",) else ""
        if path and not tool:
            self._tell(f"{key_of('switch')} switches a tool in this tree, or a server in the list")
        elif server is not None:
            name, is_on = ".".join((here, *path[1:2])), server.status.state not in _ON
            with self.telling():
                if tool:
                    is_on = tool in server.tools_off
                    server.switch(tool, is_on=is_on)
                if for_good:  # of a server before it is done: the configuration file may say otherwise
                    save_switches(self._host.settings, {name: None if tool and is_on else is_on})
                if not tool:
                    (server.reconnect if is_on else server.stop)()
                state = "on" if is_on else "off"
                if session.turn and not session.is_foreign:
                    words = f"{name} is switched {state} from here on"
                    session.conversation.add(NoteItem(turn=session.turn, kind="note", what=words, server=here))
                self._tell(f"{name} is {state} {'from now on' if for_good else 'until tui-host ends'}")

    def action_instructions(self) -> None:
        if (server := self._server()) is not None:
            server.switch(is_on=not server.is_instructing)
            sent = "are sent from the next turn on" if server.is_instructing else "are not sent"
            self._tell(f"the instructions of {self.choices.current} {sent}")

    def action_try(self) -> None:
        """Fill in what the current line takes, with what was sent last or then, and request it."""
        status, path = self._statuses.get(self.choices.current), self._path()[:2]
        if status is None:
            return
        offered = {(place, name_of(item)): item for place, items in offers_of(status).items() for item in items}
        form = next((request.form for request in self._direct if path == ("requests", f"{request.first}")), None)
        if form is None and len(path) == 2 and (item := offered.get(path)):
            form = form_of(status.name, item)
            given = next((request.form.given for request in self._direct if request.form.item == item), form.given)
            form = replace(form, given=given)
        if form is not None:
            screen = FillScreen(self._host, form, lambda values, form=form: self._request(replace(form, given=values)))
            self.app.push_screen(screen)  # pyright: ignore[reportUnknownMemberType] - of any app
        else:
            self._tell(f"{key_of('try')} is for a tool, a resource or a prompt in the sheet; tab goes there")

    def _request(self, form: Form) -> None:
        pool, recorder, tool = self._host.pool, self._host.recorder, form.item
        if pool is None or recorder is None:
            return
        if isinstance(tool, Resource):
            tool = next((tool for tool in pool.tools() if (tool.server, tool.name) == (form.server, READ)), None)
        if tool is None or any(not request.last for request in self._direct):
            self._tell("A request is running; escape stops it." if tool else f"{form.server} is not connected.")
            return
        if not self._direct:
            self._tell("The answer and its frames stand here, under requests; the inspector has conversations.")
        session = self._direct[0].session if self._direct else self._host.sessions.new()
        session.is_direct = True
        connection = pool.server(form.server).status.connection
        request = DirectRequest(session, form, tool, connection, recorder, recorder.reached)
        self._direct.insert(0, request)
        self.start(request.make(pool), group="direct")
        self.look()
        self.view.focus()
        self.view.go_to(Match(-1, -1, ("requests", f"{request.first}")))

    @override
    def action_leave(self) -> None:
        if any(not request.last for request in self._direct):
            self.workers.cancel_group(self, "direct")  # pyright: ignore[reportUnknownMemberType] - of any worker
        else:
            super().action_leave()
