"""Help: what this program is, and every key, those of the place one comes from first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from textual.strip import Strip
from textual.widget import Widget
from typing_extensions import override

from tui_host.tui.glyphs import UNICODE, Glyphs
from tui_host.tui.key_tables import ACTIONS, PLACES, Key
from tui_host.tui.markdown.wrap import fill
from tui_host.tui.screens.page_screen import PageScreen
from tui_host.tui.widgets.approval.approval_panel import Approval
from tui_host.tui.widgets.details.detail_view import PageView
from tui_host.tui.widgets.ladder.ladder_view import LadderView
from tui_host.tui.widgets.lines.json_lines import Piece
from tui_host.tui.widgets.lines.line_pieces import PieceView
from tui_host.tui.widgets.prompt.prompt_field import Prompt
from tui_host.tui.widgets.transcript.transcript_view import Transcript

ABOUT = (
    (
        "tui-host is a chat with a model that may use tools, with glass walls: beside the chat stands every byte that went"
        " between the host and the model (left lane) and between the host and each MCP server (right lane)."
    ),
    "No tool runs before you, or a rule of yours, approved the call. What was approved is what is sent.",
)
MARKS = "Marks in the inspector"
ABOUT_MARKS = (
    ("> and *", "the selected row, and its relatives: of the same call, or its other half."),
    ("…", "at a row's end: more of it may still come. Elsewhere: it goes on, where there is no room."),
    (
        "•••",
        (
            "at a row's end: a secret was taken out before anything was kept. In a text it stands where the secret"
            " was, with its name and length."
        ),
    ),
    ("x12", "so many that say the same follow each other, folded into one row."),
)
"""Marks that stand in rows, and are no words."""
OTHERS = "Other hosts"
ABOUT_OTHERS = (
    (
        "tui-host tap",
        "stands between another host and its model (llm) or a server (stdio, http); f5 lists what passes.",
    ),
    ("tui-host open FILE", "shows what others captured: HAR, JSON lines, bodies, streams."),
    ("inferred", "no host told what belongs together here: name, arguments, time and result do."),
    ("doubtful", "it may be one of several, so it is joined to none of them."),
    ("its frame is not known", "the model was told a result, and no frame that a tap has seen brought it."),
)
"""Words of sessions that are not of this program's own making."""
_KEYS = 20
"""Cells of the column of keys, where there is room for one."""
_WIDE = 56
_PLACES: tuple[tuple[type[Widget], str], ...] = (
    (Prompt, "Prompt"),
    (Transcript, "Chat"),
    (Approval, "Approval"),
    (LadderView, "Inspector, list"),
    (PageView, "Inspector, details"),
)


def everywhere() -> tuple[Key, ...]:
    """The keys of the table of actions."""
    return tuple(
        Key(names=action.key, shown=action.shown, help=action.help[:1].lower() + action.help[1:])
        for action in ACTIONS
        if action.shown
    )


def place_of(screen: object, focused: Widget | None) -> str:
    """The place whose keys work where the focus is, empty if it is none of them."""
    if isinstance(screen, PageScreen):
        return screen.PLACE
    above = (focused, *focused.ancestors) if focused is not None else ()
    return next((place for widget in above for kind, place in _PLACES if isinstance(widget, kind)), "")


@dataclass(frozen=True, slots=True)
class Paragraph:
    """Words that are wrapped, behind a column that is not."""

    words: str
    style: str = ""
    key: str = ""


def paragraphs(here: str) -> list[Paragraph]:
    """The whole text, the keys of one place first."""
    found = [Paragraph(words) for words in ABOUT]
    places = {"Everywhere": everywhere(), **PLACES}
    for title in ([here] if here else []) + [title for title in places if title != here]:
        found += [Paragraph(""), Paragraph(f"{title} (where you were)" if title == here else title, style="mark")]
        found += [Paragraph(key.help, key=key.shown) for key in places[title]]
    for title, meanings in ((MARKS, ABOUT_MARKS), (OTHERS, ABOUT_OTHERS)):
        found += [Paragraph(""), Paragraph(title, style="mark")]
        found += [Paragraph(words, key=word) for word, words in meanings]
    return found


def folded(text: Sequence[Paragraph], width: int) -> list[list[Piece]]:
    """The text as lines of a width; nothing is cut."""
    lines: list[list[Piece]] = []
    for paragraph in text:
        indent = 0
        if paragraph.key and width >= _WIDE and len(paragraph.key) < _KEYS:
            indent = _KEYS
        elif paragraph.key:
            lines.append([(f"  {paragraph.key}", "what")])
            indent = 4
        for number, (start, end) in enumerate(fill(paragraph.words, max(8, width - 2 - indent))):
            is_beside = number == 0 and indent == _KEYS
            lead = (f"  {paragraph.key:<{_KEYS}}", "what") if is_beside else (" " * (2 + indent), "")
            lines.append([lead, (paragraph.words[start:end], paragraph.style)])
    return lines


def in_marks(words: str, glyphs: Glyphs) -> str:
    """With the marks that a terminal draws, so that they are those which stand elsewhere."""
    return words.replace(UNICODE.more, glyphs.more).replace(UNICODE.hidden, glyphs.hidden)


class HelpView(PieceView):
    """The text, wrapped at the width."""

    def __init__(self, *, glyphs: Glyphs = UNICODE) -> None:
        super().__init__(glyphs=glyphs, classes="page-body")
        self._text: list[Paragraph] = []
        self._lines: list[list[Piece]] = []

    def say(self, text: list[Paragraph]) -> None:
        """Show a text."""
        self._text = text
        self.width_changed()
        self.redraw()

    @override
    def width_changed(self) -> None:
        if self.view_width <= 0:
            return  # not laid out yet
        lines = folded(self._text, max(1, self.view_width - 1))
        self._lines = [[(in_marks(words, self.glyphs), style) for words, style in pieces] for pieces in lines]

    @override
    def line_count(self) -> int:
        return len(self._lines)

    @override
    def draw(self, number: int) -> Strip:
        return self.strip_of(self._lines[number])


class HelpScreen(PageScreen):
    """Every key, those of the place where the person was first.

    Args:
        here: That place, by its name in `keys.PLACES`; empty if it is none of them.
    """

    HEADING = "Help"
    PLACE = "Help"

    def __init__(self, here: str = "") -> None:
        super().__init__()
        self._here = here

    @override
    def body(self) -> Sequence[Widget]:
        return [HelpView(glyphs=self.glyphs)]

    def on_mount(self) -> None:
        """Say it."""
        view = self.query_one(HelpView)
        view.say(paragraphs(self._here))
