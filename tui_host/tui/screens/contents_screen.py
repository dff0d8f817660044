"""The contents of a call's result: each is viewed, saved and opened."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from rich.color import Color
from rich.segment import Segment
from rich.style import Style
from textual.binding import Binding, BindingType
from textual.strip import Strip
from typing_extensions import override

from tui_host.answers.bodies import first_data
from tui_host.capture.json.reading import read_object
from tui_host.capture.visible import line, tool_name
from tui_host.chat.result_words import content_bytes, described, suggested_name
from tui_host.errors import TuiHostError
from tui_host.guard.file_opener import open_file
from tui_host.host.image_decoder import Picture, decode_image
from tui_host.llm.outline import size_words
from tui_host.servers.catalog import READ, ContentBlock
from tui_host.servers.tool_output import read_contents, read_output
from tui_host.tui.keys import bound, key_of
from tui_host.tui.screens.field_screen import SaveScreen
from tui_host.tui.screens.page_screen import Browse
from tui_host.tui.widgets.choices import Choice
from tui_host.tui.widgets.lines.line_view import LineView
from tui_host.tui.widgets.pages.text_page import TextPage

if TYPE_CHECKING:
    from tui_host.chat.conversation import CallItem
    from tui_host.servers.catalog import ToolOutput
    from tui_host.tui.screens.main_screen import MainScreen

HALF = "▀"  # upper and lower pixel of a cell
_READERS = {READ: read_contents, "tools/call": read_output}
_ADVICE = {
    "page": "The server's page for the tool (MCP Apps): not fetched, drawn or run. enter reads its source.",
    "resource_link": "Only an address: what it names was not read. Attach it with @ in the prompt.",
}


def open_contents(main: MainScreen, item: CallItem) -> None:
    """Open the screen with the contents of a call's result, however old, or say that there is none."""
    source = main.source
    for row in () if source is None else reversed(source.ladder.rows):
        if source and item.call in row.calls and row.answer and not row.outward and row.method in _READERS:
            result = read_object(first_data(source, row)).get("result")
            if isinstance(result, Mapping):
                screen = ContentsScreen(main, item, _READERS[row.method](result))
                main.app.push_screen(screen)  # pyright: ignore[reportUnknownMemberType] - of any app
                return
    main.notify("No frame with this call's result was recorded.", markup=False, timeout=5)


class PictureView(LineView):
    """A picture as lines of coloured cells; where marks are ASCII, the exit filter leaves each lower pixel."""

    picture: Picture | None = None

    @override
    def draw(self, number: int) -> Strip:
        if (picture := self.picture) is None:
            return Strip([])
        row = picture.rgb[6 * number * picture.width :][: 6 * picture.width]
        pixels = [Color.from_rgb(*row[at : at + 3]) for at in range(0, len(row), 3)]
        upper, lower = pixels[: picture.width], pixels[picture.width :]
        # A missing last line repeats the one above it.
        cells = zip(upper, lower or upper, strict=True)
        return Strip([Segment(HALF, Style(color=above, bgcolor=below)) for above, below in cells])


class ContentsScreen(Browse):
    """The contents of a call's result, as recorded, and its structured content; also the server's page for the tool."""

    HEADING = "Contents"
    HORIZONTAL_BREAKPOINTS: list[tuple[int, str]] | None = [(0, "-below"), (100, "-wide")]  # noqa: RUF012
    empty = "The result has no content."
    BINDINGS: ClassVar[list[BindingType]] = [
        bound("view", "take", "view", tooltip="draw the image; read the source of a server's page"),
        Binding("enter", ""),
        bound("save", "save", "save", tooltip="save the content to a file that you name"),
        bound("open_saved", "open", "open", tooltip="open the file that was saved last with the platform's program"),
        Binding("tab", "app.focus_next", "scroll", tooltip="go to the content to scroll it, and back"),
    ]
    DEFAULT_CSS = """
    PictureView, ContentsScreen.-picture PageLines { display: none; }
    ContentsScreen.-picture PictureView { display: block; }
    """

    def __init__(self, main: MainScreen, item: CallItem, output: ToolOutput) -> None:
        super().__init__(f"Contents of {tool_name(item.server, item.tool, is_decided=True)}, turn {item.turn}")
        self._host, self._session, self._item = main.host, main.submissions.session, item
        self._entries = [(described(content), content) for content in output.content]  # what each is, and itself
        if output.has_structured:
            text = json.dumps(output.structured, ensure_ascii=False)
            words = f"structured content: {size_words(len(text.encode('utf-8', 'replace')))}"
            self._entries.append((words, ContentBlock(kind="structured", text=text, media_type="application/json")))
        if item.page:
            words = f"page: {line(item.page, 120)}, not read: enter reads its source"
            self._entries.append((words, ContentBlock(kind="page")))
        self._saved: Path | None = None  # the file that was saved last

    @override
    def on_mount(self) -> None:
        """Choose the first content that is more than text, and draw it: a key asked for it in the chat."""
        self.query_one(".browse-sheet").mount(PictureView())
        kinds = [content.kind for _, content in self._entries]
        self.list_again(str(next((number for number, kind in enumerate(kinds, 1) if kind != "text"), 1)))
        self.call_after_refresh(self.action_take)

    @override
    def items(self) -> Mapping[str, Choice]:
        listed: dict[str, Choice] = {}
        for number, entry in enumerate(self._entries, 1):
            take = partial(self.start, partial(self._view, entry), group="view", exclusive=True)
            words = self._host.mask(entry[0])
            listed[f"{number}"] = Choice(words=words, before=f"{number}  ", take=take, subject=entry)
        return listed

    @override
    def sheet(self, key: str) -> TextPage:
        words, content = self._entries[int(key) - 1]
        self.remove_class("-picture")
        self.note(_ADVICE.get(content.kind, ""))
        text = self._host.mask(content.text or words)
        return TextPage("content", text, form="json" if text.lstrip()[:1] in {"{", "["} else "plain")

    async def _view(self, entry: tuple[str, ContentBlock]) -> None:
        """Draw a picture, or read the source of the server's page, which is shown as text and never run."""
        (_, content), pool, environment = entry, self._host.pool, self._host.settings.environment
        view, size = self.query_one(PictureView), self.query_one(".browse-sheet").size
        columns, rows, behind = max(1, size.width - 2), max(1, size.height), view.background_colors[1].hex6[1:]
        draw = partial(decode_image, columns=columns, rows=rows, background=behind, environment=environment)
        try:
            if content.data and content.media_type.startswith("image/"):
                picture = await draw(await asyncio.to_thread(content_bytes, content))
                if self.listed[self.choices.current].subject is entry:
                    view.picture = picture
                    view.redraw((picture.height + 1) // 2)
                    self.add_class("-picture")
                    self.note("{}, {:,} × {:,} pixels, drawn small".format(picture.form, *picture.original))
            elif content.kind == "page" and (pool is None or self._session.is_foreign):
                self.note("Not read: this call was not made here, so no server of yours is asked for its page.")
            elif content.kind == "page" and pool is not None:
                self.note("reading the page's source from the server …")
                output = await pool.read(self._item.server, self._item.page, place=self._session.place())
                source = next(iter(output.content), ContentBlock(kind="text"))
                self._entries[self._entries.index(entry)] = (f"page: {described(source)}", source)
                self.look()
        except TuiHostError as error:
            self.note(line(str(error), 500))

    def action_save(self) -> None:
        number = int(self.choices.current or 0)
        words, content = self._entries[number - 1] if number else ("", ContentBlock(kind="page"))
        if content.kind == "page":
            self.note("Nothing to save yet: enter reads the page's source first.")
            return

        def saved(path: Path) -> None:
            self._saved = path
            self.note(line(f"saved: {path}   {key_of('open_saved')} opens it", 500))

        with self.telling("Not saved: "):
            data, name = content_bytes(content), suggested_name(content, self._item.tool, number)
            self.app.push_screen(SaveScreen(name, words, data, saved))  # pyright: ignore[reportUnknownMemberType]

    def action_open(self) -> None:
        if self._saved is None:
            self.note("Only a saved file is opened: s saves it first.")
            return
        with self.telling("Not opened: "):
            open_file(self._saved)
            self.note(line(f"Opening {self._saved} with the platform's program", 500))
