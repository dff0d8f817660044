"""The servers: state, version, capabilities, tools, frames, log and standard error."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.containers import Container, Vertical
from textual.widget import Widget
from textual.widgets import Input
from typing_extensions import override

from tui_host.capture.visible import line
from tui_host.errors import ServerError
from tui_host.llm.dialects.table import dialect
from tui_host.tui.host_mask import mask_of
from tui_host.tui.screens.page_screen import LOW, PageScreen, Surroundings
from tui_host.tui.screens.server_catalog import ServerChoices
from tui_host.tui.screens.server_switches import ServerSwitches
from tui_host.tui.screens.servers_detail import Frames, Parts, failure_of, notes_of
from tui_host.tui.widgets.choices import Choice, ChoiceList
from tui_host.tui.widgets.pages.page_lines import PageLines
from tui_host.tui.widgets.pages.tree_page import TreePage
from tui_host.tui.widgets.status_lines import mark_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Self

    from textual.screen import Screen

    from tui_host.chat.session import Session
    from tui_host.host.host import Host
    from tui_host.servers.catalog import ServerStatus, State
    from tui_host.servers.pool import Pool

_STYLES: dict[State, str] = {"ready": "", "connecting": "secret", "lost": "secret", "failed": "failed"}
_BESIDE = 76
"""Width in columns from which list and details are side by side."""
_WIDE = 110
_PATIENCE = 8.0
"""How many times the duration of building details must pass before they are built again."""
_EMPTY = (
    "No servers are configured. Write one into config.toml, as [servers.time] with a command or a url,"
    " or start with just one: tui-host -- COMMAND, tui-host URL."
)


class ServersScreen(PageScreen):
    """The list of servers, and details of the chosen server beside or below it.

    Args:
        host: The host whose servers are listed.
        session: The session on screen, whose model's dialect decides how schemas are adapted.
        open_requests: Makes the screen for requests to a server, by its name.
    """

    HEADING = "Servers"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("r", "reconnect", "reconnect", tooltip="connect, or reconnect"),
        Binding("p", "ping", "ping", tooltip="ask whether the server is alive"),
        Binding(
            "o",
            "switch(False)",
            "on/off",
            tooltip="switch the server, or in the details a tool, on or off until tui-host ends",
        ),
        Binding("O", "switch(True)", "and keep it", tooltip="switch it on or off, and keep that for later starts"),
        Binding(
            "i", "instructions", "instructions", tooltip="send the server's instructions to the model, or no longer"
        ),
        Binding("slash", "filter", "filter", tooltip="filter tools, resources and prompts"),
        Binding("s", "stop", "stop", tooltip="disconnect, and end the server's process"),
        Binding(
            "t",
            "try",
            "try",
            tooltip="call its tools, read its resources and fill in its prompts without a model",
        ),
        Binding("enter", "", "details", tooltip="go to the server's details, and back"),
        Binding("tab", "app.focus_next"),
        Binding("shift+tab", "app.focus_previous"),
    ]
    DEFAULT_CSS = """
    ServersScreen {
        & > .page-body { layout: horizontal; }
        & ChoiceList { width: 32; }
        & .-wide ChoiceList { width: 44; }
        & .server-detail { width: 1fr; border-left: solid $panel; }
        & .server-detail Input { margin: 0 1; }
        & .server-detail Input:disabled { display: none; }
        & PageLines { width: 1fr; height: 1fr; }
        & .-below { layout: vertical; }
        & .-low ChoiceList { max-height: 50%; }
        & .-below ChoiceList { width: 1fr; height: auto; max-height: 40%; }
        & .-below .server-detail { width: 1fr; height: 1fr; border-left: none; border-top: solid $panel; }
        & .-below.-low .server-detail { border-top: none; }
    }
    """

    def __init__(self, host: Host, session: Session, open_requests: Callable[[str], Screen[None]]) -> None:
        super().__init__()
        self._open_requests = open_requests
        self._host = host
        self._listed: Sequence[ServerStatus] | None = None
        self._frames = Frames()
        provider = host.settings.providers.get(session.model.provider)
        self._dialect = dialect(provider.dialect) if provider is not None and session.protocol == "native" else None
        self._mask = mask_of(host)
        self._parts = Parts(self._mask, self._dialect)
        self._switches = ServerSwitches(host, session)
        self._chosen_words = ServerChoices()
        self._due = 0.0
        self._flipped: dict[str, set[str]] = {}
        self._shown: tuple[ServerStatus, int, ServerChoices] | None = None
        self._put: int | None = None  # the line that was chosen here, and by nobody
        self._is_chosen = False
        self._is_up = False
        self._counts: Sequence[str] = ()

    @classmethod
    @override
    def over(cls, place: Surroundings, words: str = "") -> Self:
        def open_requests(server: str) -> Screen[None]:
            from tui_host.tui.screens.direct_screen import DirectScreen

            return DirectScreen(place.host, place.asks, server, place.direct)

        return cls(place.host, place.session, open_requests)

    @override
    def body(self) -> Sequence[Widget]:
        lines = Vertical(
            Input(placeholder="filter tools, resources and prompts", compact=True, disabled=True),
            PageLines(),
            classes="server-detail",
        )
        return [Container(ChoiceList(least=14), lines, classes="page-body")]

    def on_mount(self) -> None:
        self._is_up = True
        self.look()

    @override
    def on_resize(self, event: events.Resize) -> None:
        body = self.query_one(".page-body")
        body.set_class(event.size.width < _BESIDE, "-below")
        body.set_class(event.size.width >= _WIDE, "-wide")
        body.set_class(event.size.height < LOW, "-low")

    def look(self) -> None:
        """Show what has changed."""
        if not self._is_up:
            return
        recorder, pool = self._host.recorder, self._host.pool
        listed = pool.statuses() if pool is not None else ()
        if listed != self._listed:
            choices, current = self.query_one(ChoiceList), self._line_of_current(listed)
            self._listed = listed
            empty = _EMPTY
            choices.show([self._choice(status) for status in listed], empty=empty, current=current)
            self._put = choices.cursor
            states = [status.state for status in listed]
            self._counts = [f"{states.count(state)} {state}" for state in dict.fromkeys(states)]
        heading, coming = "   ".join((self.HEADING, *self._counts)), self._switches.coming
        whole = f"{heading}   next request: {coming}"
        self.say(whole if len(whole) < self.size.width - 2 else f"{heading}   {coming}")
        if recorder is not None:
            self._frames.look(recorder)
        self._show()

    def _line_of_current(self, listed: Sequence[ServerStatus]) -> int | None:
        """Return the line to move the cursor to: the first one until the user chooses, then that server's; None to stay."""
        cursor, chosen = self.query_one(ChoiceList).cursor, self.current
        self._is_chosen |= cursor != self._put
        name = chosen.name if chosen is not None and self._is_chosen else None
        line = next((number for number, status in enumerate(listed) if name in {None, status.name}), None)
        return None if line == cursor else line

    def _choice(self, status: ServerStatus) -> Choice:
        count = len(status.tools)
        return Choice(
            words=status.name,
            mark=mark_of(status.state),
            style=_STYLES.get(status.state, "note"),
            mark_style="string" if status.state == "ready" else "",
            right=(status.state, f"{count:,} tool{'s' * (count != 1)}" if status.state == "ready" else ""),
        )

    @property
    def current(self) -> ServerStatus | None:
        number, listed = self.query_one(ChoiceList).cursor, self._listed or ()
        return listed[number] if number is not None and number < len(listed) else None

    def _show(self) -> None:
        """Show the details of the chosen server if anything changed; otherwise compares two numbers."""
        status, view = self.current, self.query_one(PageLines)
        if status is None or view.view_width <= 0:
            return
        frames = self._frames.of(status)
        self._chosen_words = self._switches.chosen(status, self.query_one(Input).value)
        now = status, frames.sent + frames.received, self._chosen_words
        before = self._shown
        is_same = before is not None and before[0].name == status.name
        is_same = is_same and before is not None and before[2].wanted == self._chosen_words.wanted
        is_switched = before is not None and before[2] != self._chosen_words
        began = time.perf_counter()
        if before == now or (is_same and not is_switched and began < self._due):
            view.advance()
            return
        self._shown = now
        entries = self._parts.of(status, frames, self._chosen_words)
        flipped = self._flipped.setdefault(status.name, set())
        failed, notes = failure_of(status, self._mask), notes_of(status, self._mask)
        view.show(TreePage(status.name, entries, flipped=flipped, failed=failed, notes=notes), hold=is_same)
        ended = time.perf_counter()
        self._due = ended + _PATIENCE * (ended - began)

    def on_line_view_cursor_moved(self, event: ChoiceList.CursorMoved) -> None:
        if isinstance(event.view, ChoiceList):
            self._is_chosen = True
            self._show()

    def on_line_view_opened(self, event: ChoiceList.Opened) -> None:
        if isinstance(event.view, ChoiceList):
            self._is_chosen = True
            self.query_one(PageLines).focus()

    def action_reconnect(self) -> None:
        name = self._own()
        if name and self._host.pool is not None:
            self._host.pool.server(name).reconnect()
            self.notify(f"connecting {line(name, 40)}", markup=False, timeout=2)

    def action_stop(self) -> None:
        name = self._own()
        if name and self._host.pool is not None:
            self._host.pool.server(name).stop()

    def action_ping(self) -> None:
        name = self._own()
        if name and self._host.pool is not None:
            self.run_worker(self._ping(name, self._host.pool), group="ping")

    def action_switch(self, for_good: bool) -> None:
        """Switch the tool under the cursor on or off, or the chosen server if the focus is in the list."""
        name, pool, status = self._own(), self._host.pool, self.current
        if not name or pool is None or status is None:
            return
        view = self.query_one(PageLines)
        item = view.item if view.has_focus else None
        path = () if item is None else item.keys
        tool = next((tool for tool in status.tools if path[:2] == ("tools", self._mask(tool.name))), None)
        with self.telling():
            if tool is not None:
                words = self._switches.switch_tool(pool, name, tool.name, for_good=for_good)
            elif path:
                words = "o switches a tool in this tree, or a server in the list"
            else:
                words = self._switches.switch_server(pool, status, for_good=for_good)
            self.notify(line(self._mask(words), 300), markup=False, timeout=4)
        self.look()

    def action_instructions(self) -> None:
        name, pool, status = self._own(), self._host.pool, self.current
        if name and pool is not None and status is not None:
            words = self._switches.switch_instructions(pool, status)
            self.notify(line(self._mask(words), 300), markup=False, timeout=4)
            self.look()

    def action_filter(self) -> None:
        field = self.query_one(Input)
        field.disabled = False
        field.focus()

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        self._show()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.query_one(PageLines).focus()

    @override
    def action_leave(self) -> None:
        field = self.query_one(Input)
        if field.disabled:
            super().action_leave()
            return
        field.value = ""
        self.query_one(PageLines).focus()
        field.disabled = True

    async def _ping(self, name: str, pool: Pool) -> None:
        try:
            began = time.perf_counter()
            await pool.request(name, lambda connection: connection.ping())
            words = f"{line(name, 40)} answered in {(time.perf_counter() - began) * 1000:,.0f} ms"
        except ServerError as error:
            self.notify(line(self._mask(str(error)), 300), markup=False, severity="warning", timeout=6)
        else:
            self.notify(words, markup=False, timeout=4)

    def action_try(self) -> None:
        name = self._own()
        if name:
            self.app.push_screen(self._open_requests(name))  # pyright: ignore[reportUnknownMemberType] - of any app

    def _own(self) -> str:
        """Return the chosen server's name, which the user means from now on; empty if there is none."""
        self._is_chosen = True
        return self.current.name if self.current is not None else ""
