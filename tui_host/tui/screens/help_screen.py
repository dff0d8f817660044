"""Help: what the program is, every key, and the documents that come with the program."""

from __future__ import annotations

import pkgutil
import re
from collections.abc import Iterable, Sequence
from importlib import import_module
from time import perf_counter
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.widget import Widget

from tui_host.capture.ladder.row_filter import FIELDS
from tui_host.chat.conversation import AnswerItem, Conversation
from tui_host.settings import paths
from tui_host.tui import screens
from tui_host.tui.keys import ACTIONS, Key, key_of, keys_of
from tui_host.tui.questions.approval import Approval
from tui_host.tui.questions.ask_panels import AskPanel
from tui_host.tui.screens.main_screen import MainScreen
from tui_host.tui.screens.page_screen import PageScreen
from tui_host.tui.widgets.details.detail_panel import Detail
from tui_host.tui.widgets.inspector.inspector_pane import Inspector
from tui_host.tui.widgets.inspector.ladder import LadderView
from tui_host.tui.widgets.lines.line_view import LineView
from tui_host.tui.widgets.pages.page_lines import PageLines
from tui_host.tui.widgets.prompt.prompt_field import Prompt
from tui_host.tui.widgets.transcript.blocks import PATIENCE, Blocks, BlockView
from tui_host.tui.widgets.transcript.items import Items, Rank
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
    ("•••", "at a row's end: a secret was taken out. In a text: here stood a secret, with its name and length"),
    ("x12", "twelve frames that say the same, folded into one row"),
    ("inferred", "linked by name, arguments, time and result: another host does not record what belongs together"),
    ("?", "maybe: the likeliest of several calls, by order; joining by hand lists the others"),
    ("its frame is not known", "the model was told a result, and no tapped frame brought it"),
)
ABOUT_FILTER = (
    ("word", "in a row's values, URL, headers, or what it shows; with a digit, as GZ-7741-K, in its body too"),
    ('"text in a body"', "in a row's body, URL or headers: decoded, in any case; two Chinese characters are enough"),
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
"""The documents that come with the program, and their subjects, in the order of the help screen."""
_CHINESE = re.compile(r"^#+ .*[\u4e00-\u9fff]", re.MULTILINE)


def places() -> dict[str, Sequence[Key]]:
    """Return the keys that stand in the help, by the titles of the places where they work."""
    for module in pkgutil.iter_modules(screens.__path__):
        import_module(f"{screens.__name__}.{module.name}")
    classes, kinds = dict(PLACES), PageScreen.__subclasses__()
    for kind in kinds:
        kinds += kind.__subclasses__()
        if kind.HEADING:
            classes[kind.HEADING] = kind
    every = frozenset(classes.values())
    return {title: keys_of(kind, but=every - {kind}) for title, kind in classes.items()}


def help_text(here: Sequence[type] = ()) -> str:
    """Return the help as Markdown, beginning with the keys of the classes where the user was, the innermost first."""
    tables: list[tuple[str, Iterable[tuple[str, str]]]] = [
        ("Documents", ((f"{at} {name}", words) for at, (name, words) in enumerate(DOCUMENTS.items(), 1))),
        ("Where you were", ((key.shown, key.help) for key in keys_of(*here))),
        (
            "Everywhere",
            ((key, act.help[:1].lower() + act.help[1:]) for act in ACTIONS if (key := key_of(act.key or act.name))),
        ),
        *((title, [(key.shown, key.help) for key in keys]) for title, keys in places().items()),
        ("The filter of the inspector", ABOUT_FILTER),
        ("Marks in the inspector", ABOUT_MARKS),
    ]
    text = "\n\n".join(ABOUT)
    for title, rows in tables:
        cells = ([re.sub(r"([\\`*_<>|])", r"\\\1", words) for words in row] for row in rows)
        if lines := "\n".join(f"| {left} | {right} |" for left, right in cells):
            text += f"\n\n## {title}\n\n| what | meaning |\n| --- | --- |\n{lines}"
    return f"{text}\n"


class DocumentView(BlockView):
    """Draws a Markdown source."""

    AROUND = 1 << 20  # all of it, so that the scroll bar is right
    WHAT = "document"


class HelpScreen(PageScreen):
    """The help screen: every key, beginning with those of the classes where the user was, and the documents by number."""

    HEADING = "Help"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("1", "read(1)", "documents", key_display="1 to 9", tooltip="read the document of that number"),
        *(Binding(str(number), f"read({number})") for number in range(2, 10)),
    ]

    def __init__(self, here: Sequence[type] = (), *, text: str = "", heading: str = "") -> None:
        document = Conversation([AnswerItem(turn=0, step=0, text=text or help_text(here), state="done")])
        self._view = DocumentView(Blocks(Items(document, str)), classes="page-body")
        super().__init__(heading, body=[self._view])

    def action_read(self, number: int) -> None:
        for name in [*DOCUMENTS][number - 1 : number]:
            self.app.push_screen(DocumentScreen(name))  # pyright: ignore[reportUnknownMemberType]


class DocumentScreen(HelpScreen):
    """One of the documents that come with the program; a number goes on to another one."""

    HEADING = "Document"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("z", "chinese", "中文", tooltip="go to the Chinese part, if there is one / 跳到中文部分"),
    ]

    def __init__(self, name: str) -> None:
        text = (paths.DOCUMENTS / f"{name}.md").read_text(encoding="utf-8")
        self._chinese = _CHINESE.search(text)
        super().__init__(text=text, heading=f"{name}: {DOCUMENTS[name]}{'   z 中文' if self._chinese else ''}")

    def action_chinese(self) -> None:
        if self._chinese:
            blocks = self._view.blocks
            blocks.anchor = (0, Rank.TEXT, self._chinese.start()), 1  # below the empty line before it
            blocks.settle(0, 1, perf_counter() + PATIENCE)
            self._view.show_line(blocks.line_held, top=True)
