"""Help: what this program is, and every key."""

from __future__ import annotations

from textual.content import Content
from textual.widget import Widget
from typing_extensions import override

from tui_host.tui.keys import ACTIONS
from tui_host.tui.screens.page import PageScreen, TextView

ABOUT = """\
tui-host is a chat with a model that may use tools, with glass walls: beside the chat stands every byte that went
between the host and the model (left lane) and between the host and each MCP server (right lane).
No tool runs before you, or a rule of yours, approved the call. What was approved is what is sent."""

CHAT = (
    ("enter", "send"),
    ("ctrl+j", "new line (shift+enter where the terminal tells it apart)"),
    ("up / down", "earlier messages, at the prompt's first or last line"),
    ("escape", "close what lies on top, else stop the turn"),
    ("tab / shift+tab", "prompt, chat, list, details"),
    ("/", "a command by name"),
)
APPROVAL = (
    ("y", "approve this call once"),
    ("Y", "approve all that remain, once each was shown to its end"),
    ("A, twice", "approve this tool for the session; the rule stands in words between"),
    ("e", "edit the arguments, then approve"),
    ("n", "reject"),
    ("r", "reject with a reason; the model is told"),
    ("escape", "reject, and stop the turn"),
    ("tab", "look around in the inspector, and back; keys decide nothing there"),
)
INSPECTOR = (
    ("arrows, hjkl", "move; g and G to the first and the last row"),
    ("enter", "into the details"),
    ("/", "filter: words, and tool: method: id: dir: kind: status: server: turn:"),
    ("|", "details side by side, one above the other; flips to the relative where there is room for one"),
    ("z", "the whole screen for the inspector, and back"),
)


class HelpScreen(PageScreen):
    """Every key."""

    HEADING = "Help"

    @override
    def body(self) -> list[Widget]:
        return [TextView(id="help")]

    @override
    def on_mount(self) -> None:
        super().on_mount()
        lines = [Content(f"  {words}") for words in ABOUT.splitlines()]
        everywhere = [(action.shown, action.help) for action in ACTIONS if action.shown]
        for title, rows in (
            ("Everywhere", everywhere),
            ("Chat", CHAT),
            ("Approval", APPROVAL),
            ("Inspector", INSPECTOR),
        ):
            lines += [Content(""), Content.styled(f"  {title}", "bold $primary")]
            lines += [Content.assemble(Content.styled(f"  {key:<18}", "bold"), Content(words)) for key, words in rows]
        view = self.query_one(TextView)
        view.show(lines)
        view.focus()
