"""The screen with the next request: the bytes that sending the prompt would produce."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType
from textual.widget import Widget
from typing_extensions import override

from tui_host.answers.masks import masked
from tui_host.capture.record import Record
from tui_host.capture.visible import line
from tui_host.errors import TuiHostError
from tui_host.tui.host_mask import mask_of
from tui_host.tui.screens.page_screen import PageScreen
from tui_host.tui.sources.live import SessionSource
from tui_host.tui.widgets.details.detail_panel import Detail

if TYPE_CHECKING:
    from tui_host.answers.wires import TakenRequest
    from tui_host.capture.ladder.row import Row
    from tui_host.capture.record import Record
    from tui_host.chat.session import Session
    from tui_host.host.host import Host
    from tui_host.host.request_preview import Without
    from tui_host.tui.screens.main_screen import MainScreen

COMING = "coming"
"""Capture id of the request, which no stored capture has."""


class ComingSource(SessionSource):
    """Provides a request that is not sent yet, after the last request that was, for the details."""

    def __init__(self, host: Host, session: Session, drafts: Sequence[Record], wires: SessionSource | None) -> None:
        super().__init__(host, session)
        before = None if wires is None else _last_request(wires)
        mono_ns = before.mono_ns if before is not None else 0
        self.live = False
        self._drafts: list[Record] = [] if before is None else [before]
        self._drafts += [
            replace(draft, capture=COMING, seq=number, time_ns=0, mono_ns=mono_ns)
            for number, draft in enumerate(drafts, 1)
        ]
        self._wires = wires
        self.ladder.feed(self._drafts)

    @property
    def row(self) -> Row:
        return self.ladder.rows[len(self.ladder.rows) - 1]

    @property
    @override
    def whole(self) -> SessionSource:
        return self if self._wires is None else self._wires

    @override
    def record(self, key: tuple[str, int]) -> Record | None:
        return next((record for record in self._drafts if record.key == key), None)

    @override
    def names(self, row: Row) -> Mapping[str, tuple[str, str]]:
        from tui_host.llm.tool_names import NameTable

        pool = self._host.pool
        return NameTable.make((tool.server, tool.name) for tool in pool.tools()).known if pool is not None else {}

    @override
    def called(self, row: Row) -> str:
        if row.capture == COMING:
            return "the coming request"
        wires = self._wires
        number = None if wires is None else wires.ladder.row_of((row.capture, row.seq))
        return super().called(row) if wires is None or number is None else wires.called(wires.ladder.rows[number])

    @override
    def _read(self, capture: str, after: int, last: int) -> Sequence[Record]:
        return [record for record in self._drafts if record.capture == capture and after < record.seq <= last]


def _named(without: Without) -> str:
    return line(f"{without.server}.{without.tool}" if without.tool else without.server, 80)


def _last_request(wires: SessionSource) -> Record | None:
    rows = (wires.ladder.rows[number] for number in range(len(wires.ladder.rows) - 1, -1, -1))
    return next(
        (wires.record((row.capture, row.seq)) for row in rows if (row.kind, row.lane) == ("request", "llm")), None
    )


class RequestScreen(PageScreen):
    """Parts, bytes and headers of the next request."""

    HEADING = "The coming request"
    IS_OWN = True
    AUTO_FOCUS: ClassVar[str | None] = "PageLines"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("d", "changes", "changes", tooltip="show what changes since the last request; again: all parts"),
        Binding(
            "w", "without", "without", tooltip="leave out the tool of the current line; again: its server, the next"
        ),
    ]

    def __init__(self, main: MainScreen) -> None:
        super().__init__()
        self._host, self._session, self._wires = main.host, main.submissions.session, main.source
        self._unsent, self._attached = main.unsent
        self._without: Without | None = None
        self._whole = 0
        self._full: TakenRequest | None = None  # what the request without a tool or server is compared with
        self.source: ComingSource | None = None  # the request to show, None while it is being made

    @override
    def body(self) -> Sequence[Widget]:
        return [Detail(empty="Nothing yet.", id="request-detail")]

    def on_mount(self) -> None:
        """Build the request; the demo model may have to start first."""
        if self._session.busy:
            self.note("A turn is running. Its next request is built when all calls have results; look again then.")
        else:
            self.start(self._make())

    @property
    def _words(self) -> str:
        """What the request is, and what is not in it."""
        pool = self._host.pool
        statuses = () if pool is None else pool.statuses()
        connecting = ", ".join(status.name for status in statuses if status.state == "connecting")
        late = f" Not included: the tools of {connecting}, still connecting." if connecting else ""
        if self._unsent:
            return f"What would be sent if you sent the prompt now. Nothing is sent from here.{late}"
        return f"The prompt is empty: this is what would go before your next message. Nothing is sent from here.{late}"

    async def _make(self) -> None:
        from tui_host.answers.outlines import taken
        from tui_host.host.request_preview import preview_request

        without = self._without
        self.note(self._words)
        try:
            drafts = await preview_request(self._host, self._session, self._unsent, self._attached, without=without)
        except TuiHostError as error:
            self.note(line(f"The request cannot be built: {mask_of(self._host)(str(error))}", 1000))
            return
        draft, name = drafts[0], self.HEADING
        if without is None:
            self._whole = len(draft.data)
        else:
            name += f" without {_named(without)}"
            less = f"{self._whole - len(draft.data):,} of {self._whole:,} bytes less"
            self.note(f"Without {_named(without)}: {less}. Nothing is switched off. w: the next one")
        url = masked((draft.head.url if draft.head is not None else "") or "", draft.redacted)
        self.say(f"{name}   POST {line(url, 200)}   {len(draft.data):,} bytes")
        self.source = source = ComingSource(self._host, self._session, drafts, self._wires)
        if without is None:
            whole = taken(source, source.row, "")
            self._full = None if whole is None else replace(whole, name="the same request, whole")
        elif self._full is not None:
            source.chosen[source.row.number] = self._full
        detail = self.query_one(Detail)
        detail.show(source, source.row)
        detail.sync(now=True)

    def action_changes(self) -> None:
        detail = self.query_one(Detail)
        detail.choose("Parts" if detail.tab == "Changes" else "Changes")

    def action_without(self) -> None:
        """Show the request without the tool of the current line, then without its server and each next one, then whole."""
        if self.source is not None:
            self._without = self._next_without(self.source)
            self.start(self._make(), exclusive=True)

    def _next_without(self, source: ComingSource) -> Without | None:
        from tui_host.host.request_preview import Without

        pool, without = self._host.pool, self._without
        if without is not None and without.tool:
            return Without(without.server)
        servers = [] if pool is None else list(dict.fromkeys(tool.server for tool in pool.tools()))
        item = self.query_one(Detail).view.item if without is None else None
        names = source.names(source.row)
        for word in reversed([word for key in (() if item is None else item.keys) for word in key.split("/")]):
            if word in names:
                return Without(*names[word])
            if word in servers:
                return Without(word)
        after = 0 if without is None or without.server not in servers else servers.index(without.server) + 1
        return Without(servers[after]) if after < len(servers) else None

    def look(self) -> None:
        """Draw more of a long page."""
        self.query_one(Detail).sync()
