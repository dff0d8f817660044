"""The screen with the contents of a call's result: view, save and open each."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType
from textual.containers import Container
from textual.widget import Widget
from typing_extensions import override

from tui_host.answers.sheet import Form
from tui_host.capture.json.reading import read_object
from tui_host.capture.visible import line, tool_called
from tui_host.chat.result_words import content_bytes, described, suggested_name
from tui_host.errors import JSON, TuiHostError
from tui_host.llm.outline import size_words
from tui_host.servers.catalog import READ, ContentBlock
from tui_host.servers.tool_output import read_contents, read_output
from tui_host.tui.host_mask import mask_of
from tui_host.tui.screens.field_screen import SaveScreen
from tui_host.tui.screens.page_screen import PageScreen
from tui_host.tui.widgets.choices import Choice, ChoiceList
from tui_host.tui.widgets.lines.line_view import LineView
from tui_host.tui.widgets.pages.page_lines import PageLines
from tui_host.tui.widgets.pages.text_page import TextPage
from tui_host.tui.widgets.picture_view import PictureView

if TYPE_CHECKING:
    from tui_host.chat.conversation import CallItem
    from tui_host.chat.session import Session
    from tui_host.host.host import Host
    from tui_host.servers.catalog import ToolOutput
    from tui_host.tui.screens.main_screen import MainScreen
    from tui_host.tui.sources.live import SessionSource

MOST_LISTED = 8
"""Lines of the list of contents; more scroll."""
DRAWABLE = "image/"


@dataclass(slots=True)
class _Entry:
    """A line of the list."""

    words: str  # what the content is
    content: ContentBlock | None  # the content; None for a page that was not read yet
    block: JSON = None  # the block as received, None if the content is text alone
    saved: Path | None = None  # the file it was saved to


def entries_of(output: ToolOutput, page: str = "") -> list[_Entry]:
    """Return the contents of a result, its structured content, and the server's page for the tool."""
    blocks = output.raw.get("content", output.raw.get("contents")) if isinstance(output.raw, dict) else None
    received = blocks if isinstance(blocks, list) and len(blocks) == len(output.content) else []
    entries = [
        _Entry(described(content), content, received[number] if received else None)
        for number, content in enumerate(output.content)
    ]
    if output.has_structured:
        text = json.dumps(output.structured, ensure_ascii=False)
        words = f"structured content: {size_words(len(text.encode('utf-8', 'replace')))}"
        entries.append(_Entry(words, ContentBlock(kind="structured", text=text, media_type="application/json")))
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


def recorded_output(source: SessionSource, call: str) -> ToolOutput | None:
    """Return the result of a call from its frame, however old; None if no frame with it was recorded, or none was read so far."""
    rows = source.ladder.rows
    for number in range(len(rows) - 1, -1, -1):
        row = rows[number]
        if call in row.calls and row.answer and not row.outward and row.method in {"tools/call", READ}:
            result = read_object(source.body(row)).get("result")
            if isinstance(result, Mapping):
                return (read_contents if row.method == READ else read_output)(result)
    return None


class ContentsScreen(PageScreen):
    """The contents of a call's result.

    Args:
        output: The result, as recorded.
        item: The call.
    """

    HEADING = "Contents"
    AUTO_FOCUS = "ChoiceList"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("v", "view", "view", tooltip="draw the image; read the source of a server's page"),
        Binding("enter", ""),
        Binding("s", "save", "save", tooltip="save the content to a file that you name"),
        Binding("o", "open", "open", tooltip="open the saved file with the platform's program"),
        Binding("tab,shift+tab", "change_focus", "scroll", tooltip="go to the content to scroll it, and back"),
    ]
    DEFAULT_CSS = """
    ContentsScreen {
        & > ChoiceList { height: auto; max-height: 8; }
        & PageLines, & PictureView { height: 1fr; }
        & PictureView { display: none; }
        &.-picture PageLines { display: none; }
        &.-picture PictureView { display: block; }
    }
    """

    def __init__(self, host: Host, session: Session, item: CallItem, output: ToolOutput) -> None:
        super().__init__()
        self._host = host
        self._session = session
        self._item = item
        self._entries = entries_of(output, item.page)
        self._drawn: tuple[int, int, int] | None = None  # the entry that is drawn, and the room that it was drawn for

    @override
    def body(self) -> Sequence[Widget]:
        return [
            ChoiceList(),
            Container(
                PageLines(),
                PictureView(),
                classes="page-body",
            ),
        ]

    def on_mount(self) -> None:
        """List the contents; the first that is more than text is chosen."""
        self.say(f"Contents of {tool_called(self._item.server, self._item.tool)}, turn {self._item.turn}")
        kinds = ["" if entry.content is None else entry.content.kind for entry in self._entries]
        current = next((number for number, kind in enumerate(kinds) if kind != "text"), 0)
        choices = self.query_one(ChoiceList)
        choices.styles.height = min(MOST_LISTED, len(self._entries))
        self._list(current)
        self._show()
        self.call_after_refresh(self.action_view)  # a key asked for it in the chat

    def _list(self, current: int | None = None) -> None:
        mask = mask_of(self._host)
        choices = [
            Choice(words=mask(entry.words), before=f"{number}  ", note=f"saved: {entry.saved}" if entry.saved else "")
            for number, entry in enumerate(self._entries, 1)
        ]
        self.query_one(ChoiceList).show(choices, current=current, empty="The result has no content.")

    @property
    def _number(self) -> int:
        return self.query_one(ChoiceList).cursor or 0

    @property
    def _entry(self) -> _Entry | None:
        return self._entries[self._number] if self._entries else None

    def look(self) -> None:
        """Draw more of a long text, and draw a picture again for a new size."""
        self.query_one(PageLines).advance()
        drawn = self._drawn
        if drawn is not None and self.has_class("-picture") and drawn != self._room(drawn[0]):
            self._draw(drawn[0])

    def on_line_view_cursor_moved(self) -> None:
        self._show()

    def on_line_view_opened(self, event: LineView.Opened) -> None:
        event.stop()
        self.action_view()

    # What is shown.

    def _show(self) -> None:
        """Show the chosen content as text; pictures wait for their key."""
        entry = self._entry
        self.remove_class("-picture")
        self._drawn = None
        if entry is None:
            return
        form, text = _text_of(entry)
        mask = mask_of(self._host)
        text = mask(text)
        page = TextPage("content", text, form=form)
        self.query_one(PageLines).show(page)
        self.note(_advice(entry))

    def action_view(self) -> None:
        entry = self._entry
        if entry is None:
            return
        if entry.content is None:
            self.start(self._read(self._number), group="read", exclusive=True)
        elif entry.content.media_type.startswith(DRAWABLE) and entry.content.data:
            self._draw(self._number)

    def _room(self, number: int) -> tuple[int, int, int]:
        size = self.query_one(".page-body").size
        return number, max(1, size.width - 1), max(1, size.height)

    def _draw(self, number: int) -> None:
        self._drawn = self._room(number)
        self.start(self._decode(*self._drawn), group="draw", exclusive=True)

    async def _decode(self, number: int, columns: int, rows: int) -> None:
        from tui_host.host.image_decoder import decode_image

        content, view = self._entries[number].content, self.query_one(PictureView)
        if content is None:
            return
        try:
            data = await asyncio.to_thread(content_bytes, content)
            picture = await decode_image(
                data,
                columns=columns,
                rows=rows,
                background=view.ground,
                environment=self._host.settings.environment,
            )
        except TuiHostError as error:
            self.note(f"{error}. s saves the file.")
            return
        if self._number == number:
            view.show(picture)
            self.add_class("-picture")
            width, height = picture.original
            self.note(f"{picture.form}, {width:,} × {height:,} pixels, drawn small   s saves it, o opens it once saved")

    async def _read(self, number: int) -> None:
        """Read the source of the server's page; it is shown as text and never run."""
        pool = self._host.pool
        if pool is None or self._session.is_foreign:
            self.note("Not read: this call was not made here, so no server of yours is asked for its page.")
            return
        self.note("reading the page's source from the server …")
        try:
            output = await pool.read(self._item.server, self._item.page, place=self._session.place())
        except TuiHostError as error:
            self.note(str(error))
            return
        contents = output.content or (ContentBlock(kind="text"),)
        self._entries[number] = _Entry(f"page: {described(contents[0])}", contents[0])
        self._list()
        self._show()

    # Files.

    def action_save(self) -> None:
        entry, number = self._entry, self._number
        if entry is None or entry.content is None:
            self.note("Nothing to save yet: enter reads the page's source first.")
            return
        with self.telling("Not saved: "):
            data = content_bytes(entry.content)
            name = suggested_name(entry.content, self._item.tool, number + 1)

            def saved(path: Path) -> None:
                entry.saved = path
                self._list()
                self.note(f"Saved: {path}   o opens it with the platform's program")

            self.app.push_screen(SaveScreen(name, entry.words, data, saved))  # pyright: ignore[reportUnknownMemberType]

    def action_open(self) -> None:
        from tui_host.guard.file_opener import open_file

        entry = self._entry
        if entry is None or entry.saved is None:
            self.note("Only a saved file is opened: s saves it first.")
            return
        with self.telling("Not opened: "):
            open_file(entry.saved)
            self.note(f"Opening {entry.saved} with the platform's program")

    def action_change_focus(self) -> None:
        views = [self.query_one(PictureView) if self.has_class("-picture") else self.query_one(PageLines)]
        self.set_focus(self.query_one(ChoiceList) if self.focused in views else views[0])


def _text_of(entry: _Entry) -> tuple[Form, str]:
    """Return an entry as text: the text itself, or the block as JSON without its data."""
    content = entry.content
    if content is None:
        return "plain", ""
    if content.kind in {"text", "resource"} and not content.data:
        return ("json" if content.text.lstrip()[:1] in {"{", "["} else "plain"), content.text
    if content.kind == "structured":
        return "json", content.text
    block = entry.block
    if isinstance(block, dict) and content.data:
        block = _without_data(block, content.data)
    return "json", json.dumps(block, ensure_ascii=False)


def _without_data(block: dict[str, JSON], data: str) -> dict[str, JSON]:
    words = f"({len(data):,} characters of base64)"
    shown: dict[str, JSON] = {}
    for name, value in block.items():
        shown[name] = _without_data(value, data) if isinstance(value, dict) else value
        if isinstance(value, str) and value == data:
            shown[name] = words
    return shown


def _advice(entry: _Entry) -> str:
    content = entry.content
    if content is None:
        return (
            "The server has this page for the tool (MCP Apps). It is not fetched, drawn or run. enter reads its source."
        )
    opens = "o opens the saved file" if entry.saved else "o opens it once saved"
    if content.kind == "resource_link":
        return "Only an address: what it names was not read. Attach it with @ in the prompt."
    if content.data and content.media_type.startswith(DRAWABLE):
        return f"v draws it   s saves it   {opens}"
    return f"s saves it   {opens}"
