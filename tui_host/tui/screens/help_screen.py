"""Help: what the program is, every key, and the documents that come with the program."""

from __future__ import annotations

import pkgutil
import re
from collections.abc import Iterable, Iterator, Sequence
from importlib import import_module
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.widget import Widget
from typing_extensions import override

from tui_host.capture.ladder.row_filter import FIELDS
from tui_host.settings.paths import documents
from tui_host.tui import screens
from tui_host.tui.keys import ACTIONS, Key, keys_of
from tui_host.tui.questions.approval import Approval
from tui_host.tui.questions.elicitation import AskPanel
from tui_host.tui.screens.main_screen import MainScreen
from tui_host.tui.screens.page_screen import PageScreen
from tui_host.tui.widgets.details.detail_panel import Detail
from tui_host.tui.widgets.document_view import DocumentView
from tui_host.tui.widgets.inspector.inspector_pane import Inspector
from tui_host.tui.widgets.inspector.ladder import LadderView
from tui_host.tui.widgets.lines.line_view import LineView
from tui_host.tui.widgets.pages.page_lines import PageLines
from tui_host.tui.widgets.prompt.prompt_field import Prompt
from tui_host.tui.widgets.transcript.transcript_view import Transcript

PLACES: dict[str, type[Widget]] = {
    "Main screen": MainScreen,
    "Prompt": Prompt,
    "Chat": Transcript,
    "Approval": Approval,
    "Question of a server": AskPanel,
    "Inspector": Inspector,
    "Inspector, list": LadderView,
    "Inspector, details": Detail,
    "Pages": PageLines,
    "Lists and pages": LineView,
    "Every other screen": PageScreen,
}
"""The classes whose keys stand in the help; the screens over the main one follow."""
ABOUT = (
    (
        "tui-host is a chat with a model that may use tools, with glass walls: beside the chat stands every byte that went"
        " between the host and the model (left lane) and between the host and each MCP server (right lane)."
    ),
    "No tool runs before you, or a rule of yours, approved the call. What was approved is what is sent.",
)
ABOUT_MARKS = (
    ("> and *", "the selected row, and its related rows: the same call, or the other half of the exchange"),
    ("…", "at a row's end: more may still come. Elsewhere: cut, because there is no room"),
    (
        "•••",
        "at a row's end: a secret was removed before saving. In a text: here stood a secret, with its name and length",
    ),
    ("x12", "twelve frames that say the same, folded into one row"),
)
ABOUT_OTHERS = (
    ("tui-host tap", "stands between another host and its model (llm) or a server (stdio, http); f5 lists what passes"),
    ("tui-host open FILE", "shows what others captured: HAR, JSON lines, bodies, streams"),
    ("inferred", "linked by name, arguments, time and result: the other host does not record what belongs together"),
    ("?", "maybe: the likeliest of several calls, by order; J on it lists the others and joins by hand"),
    ("its frame is not known", "the model was told a result, and no tapped frame brought it"),
)
ABOUT_FILTER = (
    ("word", "in any value of a row, its URL, its headers, or in what it shows"),
    (
        '"text in a body"',
        "in the body, the URL or the headers of a row: decoded, in any case; two Chinese characters are enough",
    ),
    *((f"{name}{field.sign}", field.help) for name, field in FIELDS.items()),
    ("a b, a or b, not a, (…)", "both; at least one; the opposite; together"),
)
DOCUMENTS = {
    "usage": "keys, selecting, the filter, commands; 中文说明也在这里",
    "configuration": "config.toml: providers, servers, rules, profiles",
    "taps": "record the traffic of another host",
    "open": "which files of others can be opened",
    "protocols": "how the model learns of tools and asks for one",
    "mcp": "what of MCP this program speaks, and the tests for it",
    "promises": "what always holds, and the tests for it",
    "architecture": "how the program is built",
}
"""The subject of each document, in the order of the help screen."""
_CHINESE = re.compile(r"^#+ .*[\u4e00-\u9fff]", re.MULTILINE)


def shipped_documents() -> list[str]:
    """Return the names of the documents that come with the program, the most useful first."""
    names = sorted(path.stem for path in documents().glob("*.md"))
    return sorted(names, key=lambda name: [*DOCUMENTS, name].index(name))


def places() -> dict[str, type[Widget]]:
    """Return the classes whose keys stand in the help, by their titles."""
    for module in pkgutil.iter_modules(screens.__path__):
        import_module(f"{screens.__name__}.{module.name}")
    found = dict(PLACES)
    kinds = PageScreen.__subclasses__()
    for kind in kinds:
        kinds += kind.__subclasses__()
        if kind.HEADING:
            found[kind.HEADING] = kind
    return found


def places_of(name: str) -> list[str]:
    """Return where a key works, by textual's name of the key."""
    classes = places()
    but = frozenset(classes.values())
    return [
        title for title, kind in classes.items() if any(name in key.names for key in keys_of(kind, but=but - {kind}))
    ]


def help_text(here: Sequence[type] = ()) -> str:
    """Return the help as Markdown, beginning with the keys of the classes where the user was, the innermost first."""
    everywhere = [(action.shown, action.help[:1].lower() + action.help[1:]) for action in ACTIONS if action.shown]
    blocks = [*ABOUT, *_documents_block()]
    if here:
        blocks += ["## Where you were", _keys_table(keys_of(*here))]
    blocks += ["## Everywhere", _table("key", "what it does", everywhere)]
    classes = places()
    for title, kind in classes.items():
        if keys := keys_of(kind, but=frozenset(classes.values()) - {kind}):
            blocks += [f"## {title}", _keys_table(keys)]
    for title, meanings in (
        ("The filter of the inspector", ABOUT_FILTER),
        ("Marks in the inspector", ABOUT_MARKS),
        ("Other hosts", ABOUT_OTHERS),
    ):
        blocks += [f"## {title}", _table("what", "meaning", meanings)]
    return "\n\n".join(blocks) + "\n"


def _keys_table(keys: Iterable[Key]) -> str:
    return _table("key", "what it does", [(key.shown, key.help) for key in keys])


def _documents_block() -> Iterator[str]:
    names = shipped_documents()
    if names:
        yield "## Documents"
        rows = [(f"{number} {name}", DOCUMENTS.get(name, "")) for number, name in enumerate(names, 1)]
        yield _table("press", "to read about", rows)


def _table(left: str, right: str, rows: Sequence[tuple[str, str]]) -> str:
    lines = [f"| {_cell(key)} | {_cell(words)} |" for key, words in rows]
    return "\n".join([f"| {left} | {right} |", "| --- | --- |", *lines])


def _cell(words: str) -> str:
    return re.sub(r"([\\`*_<>|])", r"\\\1", words)


class TextScreen(PageScreen):
    """A screen with a Markdown text."""

    def __init__(self, text: str, heading: str = "") -> None:
        super().__init__(heading)
        self._text = text

    @override
    def body(self) -> Sequence[Widget]:
        return [DocumentView(self._text, classes="page-body")]

    def look(self) -> None:
        """Draw more of the text."""
        self.query_one(DocumentView).sync()


class HelpScreen(TextScreen):
    """The help screen: every key, and the documents by number.

    Args:
        here: The classes of the widgets where the user was, the innermost first.
    """

    HEADING = "Help"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("1", "read(1)", "documents", key_display="1 to 9", tooltip="read the document of that number"),
        *(Binding(str(number), f"read({number})") for number in range(2, 10)),
    ]

    def __init__(self, here: Sequence[type] = ()) -> None:
        super().__init__(help_text(here))

    def action_read(self, number: int) -> None:
        names = shipped_documents()
        if number <= len(names):
            self.app.push_screen(DocumentScreen(names[number - 1]))  # pyright: ignore[reportUnknownMemberType]


class DocumentScreen(TextScreen):
    """A screen with one of the documents that come with the program."""

    HEADING = "Document"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("z", "chinese", "中文", tooltip="go to the Chinese part, if there is one / 跳到中文部分"),
    ]

    def __init__(self, name: str) -> None:
        text = (documents() / f"{name}.md").read_text(encoding="utf-8")
        self._chinese = _CHINESE.search(text)
        super().__init__(text, f"{name}: {DOCUMENTS.get(name, name)}{'   z 中文' if self._chinese else ''}")

    def action_chinese(self) -> None:
        if self._chinese:
            self.query_one(DocumentView).show_offset(self._chinese.start())
