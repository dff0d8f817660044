"""The servers: state, version, capabilities, tools, frames, log and standard error, and switches for each."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.containers import Container
from textual.widget import Widget
from typing_extensions import override

from tui_host.answers.sheet import Sheet, SheetLine
from tui_host.capture.visible import line
from tui_host.chat.active_profile import offers
from tui_host.errors import TuiHostError
from tui_host.llm.dialects.table import dialect
from tui_host.llm.outline import estimate_tokens
from tui_host.servers.catalog import Resource
from tui_host.settings.save import save_switches
from tui_host.tui.host_mask import mask_of
from tui_host.tui.questions.overlay import QuestionOverlay
from tui_host.tui.screens.field_screen import FillScreen
from tui_host.tui.screens.page_screen import Browse
from tui_host.tui.screens.server_sheet import LastFrames, ServerChoices, ServerSheets
from tui_host.tui.widgets.choices import Choice
from tui_host.tui.widgets.pages.text_page import Match
from tui_host.tui.widgets.prompt.server_offers import Form, form_of
from tui_host.tui.widgets.status_lines import mark_of

if TYPE_CHECKING:
    from tui_host.servers.catalog import ServerStatus, State
    from tui_host.servers.pool import Pool
    from tui_host.servers.server import Server
    from tui_host.tui.screens.main_screen import MainScreen

_STYLES: dict[State, str] = {"ready": "", "connecting": "secret", "lost": "secret", "failed": "failed"}
_ON = frozenset({"ready", "connecting", "lost"})
_PLACE = "{server_instructions}"


class ServersScreen(Browse):
    """The list of servers, and the sheet of the chosen one; requests to it without a model are lines of the sheet."""

    HEADING = "Servers"
    FILTER = "filter tools, resources and prompts"
    EMPTY = (
        "No servers are configured. Write one into config.toml, as [servers.time] with a command or a url,"
        " or start with just one: tui-host -- COMMAND, tui-host URL."
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("r", "reconnect", "reconnect", tooltip="connect, or reconnect"),
        Binding("p", "ping", "ping", tooltip="ask whether the server is alive"),
        Binding(
            "o", "switch(False)", "on/off", tooltip="switch it, or a tool in its sheet, on or off until tui-host ends"
        ),
        Binding("O", "switch(True)", "on/off, saved", tooltip="switch it on or off, also for the next start"),
        Binding("i", "instructions", "instructions", tooltip="send its instructions to the model, or no longer"),
        Binding("s", "stop", "stop", tooltip="disconnect, and end the server's process"),
        Binding(
            "t", "try", "call, read", tooltip="on a tool, resource or prompt: request it without a model, as here again"
        ),
        Binding("slash", "filter", "filter", tooltip="filter tools, resources and prompts"),
        Binding("tab", "app.focus_next", "details", tooltip="go to the server's sheet, and back; enter goes there too"),
        Binding("shift+tab", "app.focus_previous"),
    ]

    DEFAULT_CSS = """
    ServersScreen {
        & #chat { height: 1fr; layers: below above; }
        & #talk { layer: below; height: 1fr; }
        & #talk > .page-body { layout: horizontal; height: 1fr; }
        &.-below #talk > .page-body { layout: vertical; }
        & QuestionPanel { layer: above; dock: bottom; }
    }
    """

    def __init__(self, main: MainScreen) -> None:
        super().__init__()
        self._host, self._asks, self._direct = main.host, main.asks, main.direct
        self._session = session = main.submissions.session
        provider = main.host.settings.providers.get(session.model.provider)
        self._mask = mask_of(main.host)
        declares = provider is not None and session.protocol == "native"  # else tools are described in words
        self._sheets = ServerSheets(self._mask, dialect(provider.dialect) if provider and declares else None)
        self._statuses: Sequence[ServerStatus] = ()
        self._frames = LastFrames()
        self._weighed: object = ()  # the tools whose tokens were estimated
        self._tokens: Mapping[str, Mapping[str, int]] = {}  # by server and tool, in the coming request
        self._overlay: QuestionOverlay | None = None

    @override
    def body(self) -> Sequence[Widget]:
        return [Container(Container(*super().body(), id="talk"), id="chat")]

    @override
    def on_mount(self) -> None:
        super().on_mount()
        self._overlay = QuestionOverlay(self, self._host, self._asks, prompt=self.choices, shows_chat=lambda: True)

    # What is shown.

    @override
    def items(self) -> Sequence[tuple[str, Choice]]:
        return [(status.name, _choice(status)) for status in self._statuses]

    @override
    def look(self) -> None:
        self._statuses = () if self._host.pool is None else self._host.pool.statuses()
        states = [status.state for status in self._statuses]
        counts = [f"{states.count(state)} {state}" for state in dict.fromkeys(states)]
        heading, coming = "   ".join((self.HEADING, *counts)), self.coming
        whole = f"{heading}   next request: {coming}"
        self.say(whole if len(whole) < self.size.width - 2 else f"{heading}   {coming}")
        if self._overlay is not None and self._direct.session is not None:
            self._overlay.show(self._direct.session)
        super().look()

    @property
    def _status(self) -> ServerStatus | None:
        return next((status for status in self._statuses if status.name == self.current), None)

    @override
    def facts(self, key: str) -> object:
        status, recorder, requests = self._status, self._host.recorder, self._direct.of(key)
        if status is None or recorder is None:
            return status
        if self._frames_of(key) is not None:
            if self._frames.connection != status.connection:
                self._frames = LastFrames(status.connection, recorder.last, first=recorder.last)
            self._frames.look(recorder)
        if requests:
            requests[0].frames.look(recorder)
        states = [(request.state, request.frames.frames) for request in requests]
        return status, self._chosen(key), self._frames_of(key) and self._frames.frames, states

    def _frames_of(self, key: str) -> LastFrames | None:
        """Return the frames of a server, if somebody looks at them."""
        return self._frames if "/frames" in self._flipped.get(key, ()) else None

    def _chosen(self, key: str) -> ServerChoices:
        status, pool = self._status, self._host.pool
        if status is None or pool is None:
            return ServerChoices()
        words = f"~{_tokens(status.instructions):,} tok"
        if not pool.server(key).is_instructing:
            words = f"not sent, {words}; i sends them"
        elif self._has_place:
            words = f"sent, {words} in each request"
        else:
            words = f"sent only by a system prompt with {_PLACE}"
        return ServerChoices(
            off=pool.server(key).tools_off,
            instructions=words,
            wanted=self.typed,
            tokens=self._tokens.get(key, {}),
            shows_log="/log" in self._flipped.get(key, ()),
        )

    @override
    def sheet(self, key: str) -> Sheet | None:
        if (status := self._status) is None:
            return None
        sheet, requests = self._sheets.of(status, self._frames_of(key), self._chosen(key)), self._direct.of(key)
        made: list[SheetLine] = []
        if requests and not self.typed:
            lines = tuple(request.line(self._mask, is_newest=request is requests[0]) for request in requests)
            words = "requests by you, newest first"
            made.append(SheetLine(key="requests", label=words, children=lines, opened=True, style="what"))
        return replace(sheet, lines=[*made, *sheet.lines])

    # The coming request.

    @property
    def coming(self) -> str:
        """What the next request offers, in words; changes at once with every switch."""
        pool = self._host.pool
        if pool is None:
            return ""
        profile = self._host.settings.profiles.get(self._session.profile)
        tools = [tool for tool in pool.tools() if tool.resources is None and offers(profile, tool.server, tool.name)]
        if tools != self._weighed:  # asked at the screen's rate: lists that are equal differ in no object
            self._weighed = tools
            self.start(self._weigh_request(), group="weigh", exclusive=True)
        behind = " behind the hub" if self._session.protocol.partition("+")[0] == "hub" else ""
        told = [text for name, text in pool.instructions() if offers(profile, name)] if self._has_place else []
        tokens = sum(sum(weights.values()) for weights in self._tokens.values()) + sum(map(_tokens, told))
        more = f" and the instructions of {len(told)} server{'s' * (len(told) > 1)}" if told else ""
        return f"{len(tools):,} tool{'s' * (len(tools) != 1)}{behind}{more}{f', ~{tokens:,} tok' if tokens else ''}"

    @property
    def _has_place(self) -> bool:
        """Whether the session's requests have a place for instructions of servers."""
        if self._session.protocol in {"native", "hub"}:
            return True
        profile = self._host.settings.profiles.get(self._session.profile)
        return profile is not None and profile.system is not None and _PLACE in profile.system.text

    async def _weigh_request(self) -> None:
        """Weigh a request such as the session's next one, but for its messages, as the Bill weighs what was sent."""
        from anyio import to_thread

        from tui_host.answers.request_weights import weigh
        from tui_host.chat.conversation import Conversation
        from tui_host.chat.stored_messages import Messages
        from tui_host.host.request_preview import preview_request
        from tui_host.tui.screens.request_screen import ComingSource

        blank = replace(self._session, keeper=None, messages=Messages(), conversation=Conversation())
        tokens: dict[str, dict[str, int]] = {}
        try:
            source = ComingSource(self._host, blank, await preview_request(self._host, blank, ""), None)
            weighed = await to_thread.run_sync(lambda: weigh(source, [source.row]))
        except TuiHostError:
            weighed = []  # such as without a key: then nothing is said of tokens
        for tool in weighed[0].tools if weighed else ():
            tokens.setdefault(tool.server, {})[tool.tool] = tool.tokens
        self._tokens = tokens

    # What a person does.

    @override
    def opened(self, key: str) -> None:
        self.view.focus()

    def _tell(self, words: str) -> None:
        self.notify(line(self._mask(words), 300), markup=False, timeout=4)
        self.look()

    def _meant(self) -> Server | None:
        pool, name = self._host.pool, self.current
        return pool.server(name) if pool is not None and name else None

    def action_reconnect(self) -> None:
        if (server := self._meant()) is not None:
            server.reconnect()
            self._tell(f"connecting {self.current}")

    def action_stop(self) -> None:
        if (server := self._meant()) is not None:
            server.stop()

    @property
    def _path(self) -> tuple[str, ...]:
        """The keys that lead to the current line of the sheet; empty while the focus is elsewhere."""
        item = self.view.item
        return item.keys if item is not None and self.view.has_focus else ()

    def action_try(self) -> None:
        """Fill in what the current line takes, with what was sent last, and request it; make a request again."""
        status, path = self._status, self._path[:2]
        if status is None:
            return
        made = self._direct.of(status.name)
        again = next((request.form for request in made if path == ("requests", f"{request.number}")), None)
        lists = {"tools": status.tools, "resources": status.resources, "templates": status.templates}
        listed = status.prompts if path[:1] == ("prompts",) else lists.get("".join(path[:1]), ())
        named = {item.uri if isinstance(item, Resource) else item.name: item for item in listed}
        item = named.get("".join(path[1:]))
        if again is not None:
            self._request(again)
        elif item is None:
            self._tell("t is for a tool, a resource or a prompt in the sheet; tab goes there")
        else:
            sent = [request.form.given for request in made if request.form.item == item]
            form = form_of(status.name, item)
            form = replace(form, given=sent[0]) if sent else form
            screen = FillScreen(self._host, form, lambda values: self._request(replace(form, given=values)))
            self.app.push_screen(screen)  # pyright: ignore[reportUnknownMemberType] - of any app

    def _request(self, form: Form) -> None:
        status, recorder = self._status, self._host.recorder
        if status is None or recorder is None:
            return
        if any(request.is_running for request in self._direct.of(form.server)):
            self._tell("A request is running; escape stops it.")
            return
        request = self._direct.begin(form, LastFrames(status.connection, recorder.last))
        self.start(self._direct.make(self._host, request), group="direct")
        self.look()
        self.view.focus()
        self.view.go_to(Match(-1, -1, ("requests", f"{request.number}")))

    def ignores(self, event: events.Event) -> bool:
        """Whether a key or click came too early to answer a question."""
        panel = None if self._overlay is None else self._overlay.panel
        return panel is not None and panel.swallow(event)

    @override
    def action_leave(self) -> None:
        if any(request.is_running for request in self._direct.of(self.current)):
            self.workers.cancel_group(self, "direct")  # pyright: ignore[reportUnknownMemberType] - of any worker
        else:
            super().action_leave()

    def action_ping(self) -> None:
        if self._host.pool is not None and self._meant() is not None:
            self.start(self._ping(self._host.pool, self.current), group="ping")

    async def _ping(self, pool: Pool, name: str) -> None:
        began = time.perf_counter()
        with self.telling(severity="warning"):
            await pool.request(name, lambda connection: connection.ping())
            self._tell(f"{name} answered in {(time.perf_counter() - began) * 1000:,.0f} ms")

    def action_instructions(self) -> None:
        server, status = self._meant(), self._status
        if server is None or status is None:
            return
        if not status.instructions:
            self._tell(f"{status.name} has no instructions")
            return
        server.switch_instructions(is_on=not server.is_instructing)
        sent = "are sent from the next turn on" if server.is_instructing else "are no longer sent"
        self._tell(f"the instructions of {status.name} {sent}")

    def action_switch(self, for_good: bool) -> None:
        """Switch the tool under the cursor on or off, or the chosen server if the focus is in the list."""
        server, status, path = self._meant(), self._status, self._path
        if server is None or status is None:
            return
        if path and (path[0] != "tools" or not path[1:]):
            self._tell("o switches a tool in this tree, or a server in the list")
            return
        name, is_on = ".".join((status.name, *path[1:2])), status.state not in _ON
        with self.telling():
            if path:
                is_on = path[1] in server.tools_off
                server.switch_tool(path[1], is_on=is_on)
            if for_good:  # of a server before it is done: the configuration file may say otherwise
                save_switches(self._host.settings, {name: None if path and is_on else is_on})
            if not path:
                (server.reconnect if is_on else server.stop)()
            self._tell(f"{name} is {'on' if is_on else 'off'} {'from now on' if for_good else 'until tui-host ends'}")


def _choice(status: ServerStatus) -> Choice:
    count = len(status.tools)
    return Choice(
        words=status.name,
        mark=mark_of(status.state),
        style=_STYLES.get(status.state, "note"),
        mark_style="string" if status.state == "ready" else "",
        right=(status.state, f"{count:,} tool{'s' * (count != 1)}" if status.state == "ready" else ""),
    )


def _tokens(text: str) -> int:
    return estimate_tokens(text.encode("utf-8", "replace")) if text else 0
