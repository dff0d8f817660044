"""The screen with a server as the model sees it: its part of the next request, per dialect and tool protocol."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from textual.containers import Container
from textual.widget import Widget
from typing_extensions import override

from tui_host.answers.sheet import SheetLine
from tui_host.capture.short_units import short_size
from tui_host.capture.visible import line
from tui_host.chat.server_part import ServerPart, server_parts, tokens_of
from tui_host.tui.host_mask import mask_of
from tui_host.tui.screens.page_screen import PageScreen
from tui_host.tui.widgets.details.detail_view import PageLines
from tui_host.tui.widgets.pages.tree_page import TreePage

if TYPE_CHECKING:
    from tui_host.chat.session import Session
    from tui_host.host.host import Host
    from tui_host.servers.catalog import ServerStatus

_NOTE = "What each request holds because of this server, exactly; tokens are estimated. Nothing is sent from here."


class ModelViewScreen(PageScreen):
    """The part of the next request that a server makes.

    Args:
        host: The host.
        session: The session on screen, whose dialect and tool protocol come first.
        server: The server's name.
    """

    HEADING = "As the model sees it"
    PLACE = "As the model sees it"
    AUTO_FOCUS = "PageLines"

    def __init__(self, host: Host, session: Session, server: str) -> None:
        super().__init__()
        self._host = host
        self._session = session
        self._server = server

    @override
    def body(self) -> Sequence[Widget]:
        return [Container(PageLines(glyphs=self.glyphs), classes="page-body")]

    def on_mount(self) -> None:
        """Make the parts."""
        self.say(f"{self.HEADING}: {line(self._server, 40)}")
        self.start(self._make())

    async def _make(self) -> None:
        pool = self._host.pool
        if pool is None:
            return
        tools = pool.tools()
        parts = await asyncio.to_thread(lambda: list(server_parts(tools, self._server)))
        status = pool.status_of(self._server)
        entries = [self._entry(part) for part in sorted(parts, key=lambda part: not self._is_used(part))]
        if status is not None and status.instructions:
            entries.append(self._instructions(status))
        page = TreePage("request", entries, flipped=set(), notes=[_NOTE], empty="This server offers no tools.")
        self.query_one(PageLines).show(page)

    def look(self) -> None:
        """Draw more of a long page."""
        self.query_one(PageLines).advance()

    def _is_used(self, part: ServerPart) -> bool:
        """Whether the session on screen would send this part."""
        session = self._session
        protocol = session.protocol.partition("+")[2] or session.protocol
        provider = self._host.settings.providers.get(session.model.provider)
        dialect = "" if provider is None else session.model.model if provider.embedded else provider.dialect
        return part.protocol == protocol and part.dialect in {"", dialect}

    def _entry(self, part: ServerPart) -> SheetLine:
        mask = mask_of(self._host, self.glyphs)
        is_hub = self._session.protocol.startswith("hub") and self._is_used(part)
        used = "this session" if self._is_used(part) else ""
        if is_hub:
            used = "this session, once the hub has found the tools"
        pieces = [
            SheetLine(
                key=name or "prompt",
                label=name or "in the system prompt",
                text=_made(mask(text)),
                figures=(f"~{tokens_of(text):,} tok",),
            )
            for name, text in part.pieces
        ]
        changes = tuple(
            SheetLine(key=change, label=f"adapted  {mask(change)}", is_wrapped=True) for change in part.changes
        )
        name = f"{part.protocol}, in every dialect" if not part.dialect else f"{part.protocol}, {part.dialect}"
        return SheetLine(
            key=f"{part.protocol} {part.dialect}",
            label=name,
            note=used,
            figures=(short_size(len(part.text.encode("utf-8", "replace"))), f"~{part.tokens:,} tok"),
            children=(*changes, *pieces),
            opened=bool(used),
            style="key" if used else "what",
        )

    def _instructions(self, status: ServerStatus) -> SheetLine:
        assert self._host.pool is not None  # noqa: S101 - there is a status
        is_sent = any(name == status.name for name, _ in self._host.pool.instructions())
        return SheetLine(
            key="instructions",
            label="instructions of the server",
            note="switched on: sent with the system prompt" if is_sent else "switched off: not sent",
            text=_made(mask_of(self._host, self.glyphs)(status.instructions)),
            style="what",
        )


def _made(text: str) -> Callable[[], str]:
    return lambda: text
