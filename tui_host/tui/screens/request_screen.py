"""The coming request: the bytes that sending the prompt would produce."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar

from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static
from typing_extensions import override

from tui_host.capture.ladder.ladder import Ladder
from tui_host.capture.visible import line
from tui_host.errors import TuiHostError
from tui_host.tui.masks import mask_of, masked
from tui_host.tui.screens.page_screen import PageScreen
from tui_host.tui.widgets.details.detail_panel import Detail
from tui_host.tui.widgets.pages.row_source import request_above

if TYPE_CHECKING:
    from tui_host.capture.ladder.row import Row
    from tui_host.capture.record import Draft, Record
    from tui_host.chat.attachments import Attached
    from tui_host.chat.session import Session
    from tui_host.host.host import Host
    from tui_host.llm.dialects.dialect import Dialect
    from tui_host.tui.sources.live import SessionSource

COMING = "coming"
"""The capture that it stands in: none that is kept."""


class ComingSource:
    """An unsent request after the last sent request, as a source for the details.

    Attributes:
        ladder: Its row, after that of the request before it.
        live: Nothing more comes.
        why_empty: Nothing: there is a row.
        user: Who would send it.
        has_talks: It is of the one conversation that is held here.
    """

    live = False
    why_empty = ""
    user = "you"
    has_talks = False

    def __init__(self, drafts: Sequence[Draft], wires: SessionSource | None) -> None:
        from tui_host.capture.record import Record

        self.ladder = Ladder()
        self._wires = wires
        before = None if wires is None else _last_request(wires)
        if before is not None:
            self.ladder.feed([before])
        mono_ns = before.mono_ns if before is not None else 0
        coming = [
            Record(capture=COMING, seq=number, time_ns=0, mono_ns=mono_ns, draft=draft)
            for number, draft in enumerate(drafts, 1)
        ]
        self._records = coming if before is None else [before, *coming]
        self.ladder.feed(coming)

    @property
    def row(self) -> Row:
        """The row of the coming request."""
        return self.ladder.rows[len(self.ladder.rows) - 1]

    def record(self, key: tuple[str, int]) -> Record | None:
        """Return a record of the two requests."""
        return next((record for record in self._records if record.key == key), None)

    def records_of(self, row: Row) -> Sequence[Record]:
        """The row's own."""
        return [record for record in self._records if record.key == (row.capture, row.seq)]

    def pages_of(self, row: Row) -> Iterator[Sequence[Record]]:
        """The row's own."""
        yield self.records_of(row)

    def body(self, row: Row) -> bytes:
        """The row's bytes."""
        return b"".join(record.draft.data for record in self.records_of(row))

    def started_mono_ns(self, row: Row) -> int | None:
        """Return the row's own time: the turn has not begun."""
        return row.mono_ns

    def dialect(self, row: Row) -> Dialect | None:
        """As in the inspector."""
        return None if self._wires is None else self._wires.dialect(row)

    def before(self, row: Row) -> Row | None:
        """Return the last sent request."""
        return request_above(self, row)

    def hide(self, text: str) -> str:
        """Nothing is joined here."""
        return text

    def marks(self, text: str) -> str:
        """No row is drawn here."""
        return text

    def names(self, row: Row) -> Mapping[str, tuple[str, str]]:
        """As in the inspector."""
        return {} if self._wires is None else self._wires.names(row)


def _last_request(wires: SessionSource) -> Record | None:
    for number in range(len(wires.ladder.rows) - 1, -1, -1):
        row = wires.ladder.rows[number]
        if row.kind == "request" and row.lane == "llm":
            return wires.record((row.capture, row.seq))
    return None


class RequestScreen(PageScreen):
    """Parts, bytes and headers of the next request.

    Attributes:
        source: What is shown, None while it is made.
    """

    HEADING = "The coming request"
    PLACE = "Request"
    AUTO_FOCUS: ClassVar[str | None] = "PageView"
    DEFAULT_CSS = """
    RequestScreen { & > #request-note { height: auto; padding: 0 1; color: $text-muted; } }
    """

    def __init__(
        self, host: Host, session: Session, unsent: str, wires: SessionSource | None, attached: Sequence[Attached] = ()
    ) -> None:
        super().__init__()
        self._host = host
        self._session = session
        self._unsent = unsent
        self._attached = attached
        self._wires = wires
        self.source: ComingSource | None = None

    @override
    def body(self) -> Sequence[Widget]:
        return [
            Static(id="request-note", markup=False),
            Detail(glyphs=self.glyphs, empty="Nothing yet.", id="request-detail"),
        ]

    def on_mount(self) -> None:
        """Build the request; the demo model may have to start first."""
        if self._session.busy:
            self._note("A turn is running. Its next request is built when all calls have results; look again then.")
            return
        pool = self._host.pool
        connecting = (
            [status.name for status in pool.statuses() if status.state == "connecting"] if pool is not None else []
        )
        late = f" Not included: the tools of {', '.join(connecting)}, still connecting." if connecting else ""
        self._note(
            (
                "What would be sent if you sent the prompt now. Nothing is sent from here."
                if self._unsent
                else "The prompt is empty: this is what would go before your next message. Nothing is sent from here."
            )
            + late
        )
        self.run_worker(self._make())

    async def _make(self) -> None:
        from tui_host.host.request_preview import preview_request

        try:
            drafts = await preview_request(self._host, self._session, self._unsent, self._attached)
        except TuiHostError as error:
            self._note(f"The request cannot be built: {mask_of(self._host, self.glyphs)(str(error))}")
            return
        draft = drafts[0]
        url = draft.head.url if draft.head is not None and draft.head.url is not None else ""
        self.say(f"The coming request   POST {line(masked(url, draft.redacted), 200)}   {len(draft.data):,} bytes")
        self.source = source = ComingSource(drafts, self._wires)
        detail = self.query_one(Detail)
        detail.show(source, source.row)
        detail.sync(now=True)

    def _note(self, words: str) -> None:
        self.query_one("#request-note", Static).update(Content(line(words, 1000)))

    def look(self) -> None:
        """Go on with a long page."""
        self.query_one(Detail).sync()
