"""The contents of a call's result: each is viewed, saved and opened."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from rich.color import Color
from rich.color_triplet import ColorTriplet
from rich.segment import Segment
from rich.style import Style
from textual.binding import Binding, BindingType
from textual.strip import Strip
from textual.widget import Widget
from typing_extensions import override

from tui_host.capture.json.reading import read_object
from tui_host.capture.visible import line, tool_called
from tui_host.chat.result_words import content_bytes, described, suggested_name
from tui_host.errors import TuiHostError
from tui_host.llm.outline import size_words
from tui_host.servers.catalog import READ, ContentBlock
from tui_host.servers.tool_output import read_contents, read_output
from tui_host.tui.host_mask import mask_of
from tui_host.tui.screens.field_screen import SaveScreen
from tui_host.tui.screens.page_screen import Browse
from tui_host.tui.widgets.choices import Choice
from tui_host.tui.widgets.lines.line_view import LineView
from tui_host.tui.widgets.pages.text_page import TextPage

if TYPE_CHECKING:
    from tui_host.chat.conversation import CallItem
    from tui_host.chat.session import Session
    from tui_host.host.host import Host
    from tui_host.host.image_decoder import Picture
    from tui_host.servers.catalog import ToolOutput
    from tui_host.tui.screens.main_screen import MainScreen
    from tui_host.tui.sources.live import SessionSource

HALF = "▀"  # upper and lower pixel of a cell


@dataclass(slots=True)
class _Entry:
    """A line of the list."""

    words: str  # what the content is
    content: ContentBlock | None  # the content; None for a page that was not read yet
    text: str = ""  # the text, or the block as received, its data left out
    saved: Path | None = None  # the file it was saved to

    @property
    def is_picture(self) -> bool:
        return self.content is not None and self.content.media_type.startswith("image/") and bool(self.content.data)

    @property
    def advice(self) -> str:
        """What can be done with the content."""
        if self.content is None:
            return "The server's page for the tool (MCP Apps): not fetched, drawn or run. enter reads its source."
        if self.content.kind == "resource_link":
            return "Only an address: what it names was not read. Attach it with @ in the prompt."
        opens = f"saved: {self.saved}   o opens it" if self.saved else "o opens it once saved"
        return f"{'v draws it   ' * self.is_picture}s saves it   {opens}"


def recorded_output(source: SessionSource, call: str) -> ToolOutput | None:
    """Return the result of a call from its frame, however old; None if no frame with it was recorded, or none was read so far."""
    for row in reversed(source.ladder.rows):
        if call in row.calls and row.answer and not row.outward and row.method in {"tools/call", READ}:
            result = read_object(source.body(row)).get("result")
            if isinstance(result, Mapping):
                return (read_contents if row.method == READ else read_output)(result)
    return None


def entries_of(output: ToolOutput, page: str = "") -> list[_Entry]:
    """Return the contents of a result, its structured content, and the server's page for the tool."""
    raw = output.raw if isinstance(output.raw, dict) else {}
    blocks = raw.get("content", raw.get("contents"))
    entries: list[_Entry] = []
    for number, content in enumerate(output.content):
        text = content.text
        if content.data or content.kind not in {"text", "resource"}:
            block = blocks[number] if isinstance(blocks, list) and number < len(blocks) else None
            data = f'"({len(content.data):,} characters of base64)"'
            text = json.dumps(block, ensure_ascii=False).replace(f'"{content.data}"' if content.data else "\0", data)
        entries.append(_Entry(described(content), content, text))
    if output.has_structured:
        text = json.dumps(output.structured, ensure_ascii=False)
        words = f"structured content: {size_words(len(text.encode('utf-8', 'replace')))}"
        entries.append(_Entry(words, ContentBlock(kind="structured", text=text, media_type="application/json"), text))
    if page:
        entries.append(_Entry(f"page: {line(page, 120)}, not read: enter reads its source", None))
    return entries


def open_contents(main: MainScreen, item: CallItem) -> None:
    """Open the screen with the contents of a call's result, or say that there is none."""
    output = None if main.source is None else recorded_output(main.source, item.call)
    if output is None:
        main.notify("No frame with this call's result was recorded.", markup=False, timeout=5)
    else:
        main.app.push_screen(ContentsScreen(main.host, main.submissions.session, item, output))  # pyright: ignore[reportUnknownMemberType]


class PictureView(LineView):
    """A picture as lines of coloured cells; where marks are ASCII, the exit filter leaves each lower pixel."""

    _picture: Picture | None = None

    @property
    def ground(self) -> str:
        """The colour behind the picture, in six hexadecimal digits."""
        red, green, blue = self.background_colors[1].rgb
        return f"{red:02x}{green:02x}{blue:02x}"

    def show(self, picture: Picture) -> None:
        self._picture = picture
        self.redraw()

    @override
    def line_count(self) -> int:
        return 0 if self._picture is None else (self._picture.height + 1) // 2

    @override
    def draw(self, number: int) -> Strip:
        picture = self._picture
        if picture is None:
            return Strip([])
        width, start = picture.width, 6 * number * picture.width
        row = picture.rgb[start : start + 6 * width]
        upper = [row[at : at + 3] for at in range(0, 3 * width, 3)]
        # A missing last line repeats the one above it.
        lower = [row[at : at + 3] for at in range(3 * width, len(row), 3)] or upper
        segments: list[Segment] = []
        for colours, run in groupby(zip(upper, lower, strict=True)):
            above, below = (Color.from_triplet(ColorTriplet(*colour)) for colour in colours)
            segments.append(Segment(HALF * sum(1 for _ in run), Style(color=above, bgcolor=below)))
        return Strip(segments)


class ContentsScreen(Browse):
    """The contents of a call's result, as recorded."""

    HEADING = "Contents"
    HORIZONTAL_BREAKPOINTS: list[tuple[int, str]] | None = [(0, "-below"), (100, "-wide")]  # noqa: RUF012
    EMPTY = "The result has no content."
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("v", "view", "view", tooltip="draw the image; read the source of a server's page"),
        Binding("enter", ""),
        Binding("s", "save", "save", tooltip="save the content to a file that you name"),
        Binding("o", "open", "open", tooltip="open the saved file with the platform's program"),
        Binding("tab", "app.focus_next", "scroll", tooltip="go to the content to scroll it, and back"),
        Binding("shift+tab", "app.focus_previous"),
    ]
    DEFAULT_CSS = """
    ContentsScreen {
        & PictureView { width: 1fr; height: 1fr; display: none; }
        &.-picture PageLines { display: none; }
        &.-picture PictureView { display: block; }
    }
    """

    def __init__(self, host: Host, session: Session, item: CallItem, output: ToolOutput) -> None:
        super().__init__(f"Contents of {tool_called(item.server, item.tool)}, turn {item.turn}")
        self._host, self._session, self._item = host, session, item
        self._entries = entries_of(output, item.page)

    @override
    def sheet_views(self) -> Sequence[Widget]:
        return [*super().sheet_views(), PictureView()]

    @override
    def on_mount(self) -> None:
        """Choose the first content that is more than text, and draw it: a key asked for it in the chat."""
        kinds = ["" if entry.content is None else entry.content.kind for entry in self._entries]
        self.list_again(str(next((number for number, kind in enumerate(kinds, 1) if kind != "text"), 1)))
        self.call_after_refresh(self.action_view)

    @override
    def items(self) -> Sequence[tuple[str, Choice]]:
        mask = mask_of(self._host)
        lines = enumerate(self._entries, 1)
        return [(str(number), Choice(words=mask(entry.words), before=f"{number}  ")) for number, entry in lines]

    @property
    def _entry(self) -> _Entry | None:
        return self._entries[int(self.current) - 1] if self.current else None

    @override
    def facts(self, key: str) -> object:
        return id(self._entries[int(key) - 1])

    @override
    def sheet(self, key: str) -> TextPage:
        """Show the chosen content as text; pictures wait for their key."""
        entry = self._entries[int(key) - 1]
        self.remove_class("-picture")
        self.note(line(entry.advice, 500))
        text = mask_of(self._host)(entry.text)
        return TextPage("content", text, form="json" if text.lstrip()[:1] in {"{", "["} else "plain")

    @override
    def opened(self, key: str) -> None:
        self.action_view()

    def action_view(self) -> None:
        entry = self._entry
        if entry is not None and (entry.content is None or entry.is_picture):
            work = self._read if entry.content is None else self._draw
            self.start(partial(work, entry), group="view", exclusive=True)

    @override
    def on_resize(self) -> None:
        if self.has_class("-picture"):
            self.call_after_refresh(self.action_view)

    async def _draw(self, entry: _Entry) -> None:
        from tui_host.host.image_decoder import decode_image

        if entry.content is None:
            return
        view, size = self.query_one(PictureView), self.query_one(".browse-sheet").size
        try:
            data, environment = await asyncio.to_thread(content_bytes, entry.content), self._host.settings.environment
            columns, rows, ground = max(1, size.width - 2), max(1, size.height), view.ground
            picture = await decode_image(data, columns=columns, rows=rows, background=ground, environment=environment)
        except TuiHostError as error:
            self.note(line(f"{error}. s saves the file.", 500))
            return
        if self._entry is entry:
            view.show(picture)
            self.add_class("-picture")
            width, height = picture.original
            facts = f"{picture.form}, {width:,} × {height:,} pixels, drawn small"
            self.note(f"{facts}   s saves it, o opens it once saved")

    async def _read(self, entry: _Entry) -> None:
        """Read the source of the server's page; it is shown as text and never run."""
        pool = self._host.pool
        if pool is None or self._session.is_foreign:
            self.note("Not read: this call was not made here, so no server of yours is asked for its page.")
            return
        self.note("reading the page's source from the server …")
        try:
            output = await pool.read(self._item.server, self._item.page, place=self._session.place())
        except TuiHostError as error:
            self.note(line(str(error), 500))
            return
        content = next(iter(output.content), ContentBlock(kind="text"))
        read = _Entry(f"page: {described(content)}", content, content.text)
        self._entries[self._entries.index(entry)] = read
        self.look()

    def action_save(self) -> None:
        entry = self._entry
        if entry is None or entry.content is None:
            self.note("Nothing to save yet: enter reads the page's source first.")
            return

        def saved(path: Path) -> None:
            entry.saved = path
            self.note(line(entry.advice, 500))

        with self.telling("Not saved: "):
            data = content_bytes(entry.content)
            name = suggested_name(entry.content, self._item.tool, int(self.current))
            self.app.push_screen(SaveScreen(name, entry.words, data, saved))  # pyright: ignore[reportUnknownMemberType]

    def action_open(self) -> None:
        from tui_host.guard.file_opener import open_file

        entry = self._entry
        if entry is None or entry.saved is None:
            self.note("Only a saved file is opened: s saves it first.")
            return
        with self.telling("Not opened: "):
            open_file(entry.saved)
            self.note(line(f"Opening {entry.saved} with the platform's program", 500))
