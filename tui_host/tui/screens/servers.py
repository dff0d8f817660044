"""The servers: each one's state, version, capabilities, tools, frames and standard error."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.content import Content
from textual.widget import Widget
from typing_extensions import override

from tui_host.capture.visible import line, visible
from tui_host.llm.outline import estimate_tokens
from tui_host.tui.screens.page import ListView, PageScreen, TextView
from tui_host.tui.widgets.status import STATE_STYLES

if TYPE_CHECKING:
    from tui_host.host.host import Host
    from tui_host.servers.catalog import ServerStatus, Tool


def _heading(words: str) -> list[Content]:
    return [Content(""), Content.styled(words, "bold $primary")]


def _fact(name: str, words: str) -> list[Content]:
    return [Content.assemble(Content.styled(f"{name:<14}", "$text-muted"), Content(line(words, 400)))] if words else []


def _tool_lines(tool: Tool) -> list[Content]:
    tokens = estimate_tokens(json.dumps(tool.schema, ensure_ascii=False).encode()) if tool.schema else 0
    size = f"  {tool.size:,} bytes, ~{tokens:,} tokens of schema"
    problem = f"  not offered: {line(tool.problem, 200)}" if tool.problem else ""
    lines = [
        Content.assemble(Content.styled(line(tool.name, 80), "bold"), Content.styled(size + problem, "$text-muted"))
    ]
    lines += [Content(f"  {row}") for row in visible(tool.description).splitlines()]
    schema = visible(json.dumps(tool.schema, ensure_ascii=False, indent=2))
    lines += [Content.styled(f"    {row}", "$text-muted") for row in schema.splitlines()]
    return lines


def detail(status: ServerStatus) -> list[Content]:
    """All that is known of one server, as lines."""
    lines = [Content.styled(line(status.name, 40), "bold")]
    lines += _fact("state", f"{status.state}  {status.detail}")
    lines += _fact("command", status.command)
    lines += _fact("calls itself", status.server_info)
    lines += _fact("protocol", f"{status.protocol_version} ({status.era})" if status.protocol_version else "")
    lines += _fact("capabilities", json.dumps(status.capabilities, ensure_ascii=False) if status.capabilities else "")
    malformed = f", {status.malformed} malformed" if status.malformed else ""
    lines += _fact("frames", f"{status.frames_out} out, {status.frames_in} in{malformed}")
    resources, templates, prompts = status.resources
    lines += _fact("also lists", f"{resources} resources, {templates} templates, {prompts} prompts")
    for notice in status.notices:
        lines += _fact("notice", notice)
    if status.instructions:
        lines += _heading("Instructions (the server's words)")
        lines += [Content(f"  {row}") for row in visible(status.instructions).splitlines()]
    lines += _heading(
        f"Standard error, last {len(status.stderr)} lines" if status.stderr else "Standard error: nothing"
    )
    lines += [Content.styled(f"  {visible(row, newlines=False)}", "$text-muted") for row in status.stderr]
    lines += _heading(f"Tools ({len(status.tools)})")
    for tool in status.tools:
        lines += _tool_lines(tool)
    return lines


class ServersScreen(PageScreen):
    """The list at the left, the chosen server at the right."""

    HEADING = "Servers"
    KEYS = "up/down choose   r reconnect   s stop   tab into the details"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("r", "reconnect", "Reconnect", show=False),
        Binding("s", "stop", "Stop", show=False),
    ]
    DEFAULT_CSS = """
    ServersScreen {
        & #server-list { width: 34; border-right: solid $panel; }
        & #server-detail { width: 1fr; padding: 0 1; }
        &.-narrow #server-list { width: 20; }
    }
    """

    def __init__(self, host: Host) -> None:
        super().__init__()
        self._host = host
        self._statuses: tuple[ServerStatus, ...] = ()

    @override
    def body(self) -> list[Widget]:
        return [Horizontal(ListView(id="server-list"), TextView(id="server-detail"))]

    @override
    def on_mount(self) -> None:
        super().on_mount()
        view = self.query_one("#server-list", ListView)
        view.focus()
        self.look()
        view.cursor = 0 if self._statuses else None
        self._show()

    def look(self) -> None:
        """Take in what is new."""
        statuses = self._host.pool.statuses() if self._host.pool is not None else ()
        if statuses == self._statuses and statuses:
            return
        self._statuses = statuses
        lines = [self._line(status) for status in statuses]
        empty = [Content.styled("  No servers are configured.", "$text-muted")]
        self.query_one("#server-list", ListView).show(lines or empty)
        self._show()

    def _line(self, status: ServerStatus) -> Content:
        tools = f"{len(status.tools)} tools" if status.state == "ready" else ""
        return Content.assemble(
            Content(f"{line(status.name, 16):<16} "),
            Content.styled(f"{status.state:<10}", STATE_STYLES[status.state]),
            Content.styled(f" {tools}", "$text-muted"),
        )

    def _current(self) -> ServerStatus | None:
        cursor = self.query_one("#server-list", ListView).cursor
        return self._statuses[cursor] if cursor is not None and cursor < len(self._statuses) else None

    def _show(self) -> None:
        status = self._current()
        self.query_one("#server-detail", TextView).show(detail(status) if status is not None else [])

    def on_line_view_cursor_moved(self) -> None:
        """Show the other server."""
        self._show()

    def action_reconnect(self) -> None:
        """A new connection."""
        status = self._current()
        if status is not None and self._host.pool is not None:
            self._host.pool.reconnect(status.name)

    def action_stop(self) -> None:
        """End the connection."""
        status = self._current()
        if status is not None and self._host.pool is not None:
            self._host.pool.stop(status.name)
