"""The screen with the next request: the bytes that sending the prompt would produce."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

from textual.binding import BindingType
from typing_extensions import override

from tui_host.answers.masks import masked
from tui_host.answers.outlines import taken
from tui_host.capture.record import Record
from tui_host.capture.visible import line
from tui_host.errors import TuiHostError
from tui_host.host.request_preview import Without, preview_request
from tui_host.llm.tool_names import NameTable
from tui_host.tui.keys import bound
from tui_host.tui.screens.page_screen import PageScreen
from tui_host.tui.sources.live import SessionSource
from tui_host.tui.widgets.details.detail_panel import Detail

if TYPE_CHECKING:
    from tui_host.answers.wires import TakenRequest
    from tui_host.capture.ladder.row import Row
    from tui_host.chat.session import Session
    from tui_host.host.host import Host
    from tui_host.tui.screens.main_screen import MainScreen

COMING = "coming"  # the request's capture, which no stored one is called


class ComingSource(SessionSource):
    """Provides a request that is not sent yet, after the last request that was, for the details."""

    def __init__(self, host: Host, session: Session, drafts: Sequence[Record], wires: SessionSource | None) -> None:
        super().__init__(host, session)
        self.live = False
        self.whole = wires
        self._drafts, self._name_before, mono_ns = list[Record](), "", 0
        if wires is not None and (numbers := wires.ladder.numbers.requests):
            row = wires.ladder.rows[numbers[-1]]
            if before := wires.record((row.capture, row.seq)):
                self._drafts, self._name_before, mono_ns = [before], wires.called(row), before.mono_ns
        for number, draft in enumerate(drafts, 1):
            self._drafts.append(replace(draft, capture=COMING, seq=number, time_ns=0, mono_ns=mono_ns))
        self.ladder.feed(self._drafts)
        self.row = self.ladder.rows[len(self.ladder.rows) - 1]  # of the request that is not sent yet

    @override
    def names(self, row: Row) -> Mapping[str, tuple[str, str]]:
        pool = self._host.pool
        return NameTable.make((tool.server, tool.name) for tool in pool.tools()).known if pool is not None else {}

    @override
    def called(self, row: Row) -> str:
        return "the coming request" if row.capture == COMING else self._name_before

    @override
    def _read(self, capture: str, after: int, last: int) -> Sequence[Record]:
        return [record for record in self._drafts if record.capture == capture and after < record.seq <= last]


class RequestScreen(PageScreen):
    """Parts, bytes and headers of the next request."""

    HEADING = "The coming request"
    IS_OWN = True
    AUTO_FOCUS: ClassVar[str | None] = "PageLines"
    BINDINGS: ClassVar[list[BindingType]] = [
        bound("changes", "changes", "changes", tooltip="show what changes since the last request; again: all parts"),
        bound("without", "without", "without", tooltip="leave out the tool of this line; again: its server, the next"),
    ]

    def __init__(self, main: MainScreen) -> None:
        self._detail = Detail(empty="Nothing yet.", id="request-detail")
        self.look = self._detail.sync  # called at the screen's rate
        super().__init__(body=[self._detail])
        self._host, self._session, self._wires = main.host, main.submissions.session, main.source
        if edited := main.submissions.edited:  # what is edited is asked in a branch: here one to look at
            self._session = self._host.sessions.branch(self._session, edited - 1)
            self._host.sessions.leave(self._session)
        self._unsent, self._attached = main.prompt.message(), main.prompt.marks.attached(main.prompt.text)
        self._without: Without | None = None  # what is left out
        self._next: list[Without] = []  # what is left out after that
        self._full: TakenRequest | None = None  # what the request without a tool or server is compared with
        self.source: ComingSource | None = None  # the request to show, None while it is being made

    def on_mount(self) -> None:
        if self._session.busy:
            self.note("A turn is running. Its next request is built when all calls have results; look again then.")
        else:
            self.start(self._make())

    async def _make(self) -> None:
        without, pool = self._without, self._host.pool
        what = "What would be sent if you sent the prompt now."
        if not self._unsent:
            what = "The prompt is empty: this is what would go before your next message."
        words = f"{what} Nothing is sent from here."
        statuses = () if pool is None else pool.statuses()
        if connecting := ", ".join(status.name for status in statuses if status.state == "connecting"):
            words += f" Not included: the tools of {connecting}, still connecting."
        self.note(words)
        try:
            drafts = await preview_request(self._host, self._session, self._unsent, self._attached, without=without)
        except TuiHostError as error:
            self.note(line(f"The request cannot be built: {self._host.mask(str(error))}", 1000))
            return
        draft, heading = drafts[0], self.HEADING
        self.source = source = ComingSource(self._host, self._session, drafts, self._wires)
        if without is None:
            self._full = taken(source, source.row, "")
        elif self._full is not None:
            name, size = line(".".join(filter(None, (without.server, without.tool))), 80), len(self._full.data)
            heading += f" without {name}"
            less = f"{size - len(draft.data):,} of {size:,} bytes less"
            self.note(f"Without {name}: {less}. Nothing is switched off. w: the next one")
            source.chosen[source.row.number] = replace(self._full, name="the same request, whole")
        url = masked((draft.head.url if draft.head is not None else "") or "", draft.redacted)
        self.note(f"{heading}   POST {line(url, 200)}   {len(draft.data):,} bytes", place="#page-heading")
        self._detail.show(source, source.row)
        self._detail.sync(now=True)

    def action_changes(self) -> None:
        self._detail.choose("Parts" if self._detail.tab == "Changes" else "Changes")

    def action_without(self) -> None:
        """Show the request without the tool of the current line, then without its server and each next one, then whole."""
        if (source := self.source) is None:
            return
        if self._without is None:
            names, item = source.names(source.row), self._detail.view.item
            servers = list(dict.fromkeys(server for server, _ in names.values()))
            words = [word for key in (() if item is None else item.keys) for word in key.split("/")]
            tools = [names[word] for word in words if word in names][-1:]
            named = [server for server, _ in tools] or [word for word in words if word in servers]
            first = servers.index(named[-1]) if named else 0
            self._next = [*(Without(*tool) for tool in tools), *map(Without, servers[first:])]
        self._without = self._next.pop(0) if self._next else None
        self.start(self._make(), exclusive=True)
