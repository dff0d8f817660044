"""The tables of what a person can do, and by which key: footer, palette, `/commands`, lines of keys and help are made of them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """Something a person can do anywhere in the app.

    Attributes:
        name: The `/name` in the prompt; the palette's search finds it too.
        key: Textual's name of the key, empty if it has none.
        shown: The key as it is written for people.
        action: Textual's action, looked up on the app.
        label: One or two words for the footer, empty if it is not shown there.
        help: A sentence for help, palette and completion.
    """

    name: str
    key: str
    shown: str
    action: str
    label: str = ""
    help: str = ""


ACTIONS = (
    Action(name="help", key="f1", shown="f1", action="help", label="help", help="Every key, and where it works"),
    Action(
        name="inspector",
        key="f2",
        shown="f2",
        action="inspector",
        label="inspector",
        help="Chat and inspector, the inspector alone, the chat alone",
    ),
    Action(
        name="servers",
        key="f3",
        shown="f3",
        action="servers",
        label="servers",
        help="Each server's state, tools, frames and standard error; reconnect",
    ),
    Action(
        name="model",
        key="f4",
        shown="f4",
        action="model",
        label="model",
        help="Choose the model, the tool protocol, a profile; set options",
    ),
    Action(name="profile", key="", shown="", action="profile", help="Choose a profile: an agent of your configuration"),
    Action(
        name="sessions",
        key="f5",
        shown="f5",
        action="sessions",
        label="sessions",
        help="Earlier sessions: search, and open again with their wires",
    ),
    Action(name="new", key="ctrl+n", shown="ctrl+n", action="new", help="A new session"),
    Action(
        name="request",
        key="ctrl+o",
        shown="ctrl+o",
        action="request",
        help="The coming request, byte for byte, before it is sent",
    ),
    Action(
        name="again", key="ctrl+r", shown="ctrl+r", action="again", help="Send the last request again, after it failed"
    ),
    Action(
        name="revoke", key="", shown="", action="revoke", help="Take back the rules given for this session: ask again"
    ),
    Action(name="stop", key="", shown="escape", action="stop", help="Stop the turn; what came so far stays"),
    Action(
        name="copy",
        key="ctrl+c",
        shown="ctrl+c",
        action="copy",
        help="Copy what is selected, else the current item, to the terminal's clipboard (tmux: set -g set-clipboard on)",
    ),
    Action(
        name="code",
        key="",
        shown="",
        action="copy_code",
        help="Copy the code of the chat's current answer, else of the last one; once more, its next block",
    ),
    Action(
        name="palette", key="", shown="ctrl+p", action="command_palette", label="palette", help="All of these, by name"
    ),
    Action(name="theme", key="", shown="", action="change_theme", help="Choose a theme, light or dark"),
    Action(
        name="suspend",
        key="",
        shown="",
        action="suspend_process",
        help="Give the terminal back to the shell until its fg; servers and turns go on waiting, no deadline passes",
    ),
    Action(
        name="quit", key="ctrl+q", shown="ctrl+q", action="quit", label="quit", help="End the program and its servers"
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """A key that works in one place.

    Attributes:
        names: Textual's names of it, separated by commas as in a binding.
        shown: As it is written for people.
        help: What it does.
        brief: The same in a word or two for the line of keys, empty if it is not shown there.
    """

    names: str
    shown: str
    help: str
    brief: str = ""


HELP = Key(names="f1", shown="f1", help="every key, and where it works", brief="help")
LEAVE = Key(names="escape", shown="escape", help="back to where you were", brief="back")
_MOVES = (
    Key(names="up,down,k,j", shown="up down, k j", help="a line up or down"),
    Key(names="pageup,pagedown", shown="pageup pagedown", help="a screenful up or down"),
    Key(names="home,g,end,G", shown="home end, g G", help="the first and the last line"),
)
_SELECTING = (
    Key(
        names="shift+up,shift+down,shift+left,shift+right,shift+pageup,shift+pagedown,shift+home,shift+end",
        shown="shift+arrows, …",
        help=(
            "select from the current place on; pageup, pagedown, home and end too. By mouse: drag, twice for a word,"
            " three times for a paragraph, shift+click to extend; escape selects nothing"
        ),
    ),
    Key(names="o", shown="o", help="while something is selected: move its other end"),
)
_CHOOSING = (
    Key(names="up,down", shown="up down", help="choose in the list while you type", brief="choose"),
    Key(names="pageup,pagedown", shown="pageup pagedown", help="a screenful up or down"),
)
_DETAILS = (
    Key(names="enter,space,plus,minus", shown="enter, space, + -", help="open or close what the line stands for"),
)

PLACES: dict[str, tuple[Key, ...]] = {
    "Prompt": (
        Key(names="enter", shown="enter", help="send"),
        Key(
            names="ctrl+j,shift+enter",
            shown="ctrl+j",
            help="new line (shift+enter too, where the terminal tells it apart)",
        ),
        Key(names="up,down", shown="up down", help="earlier messages, from the prompt's first or last line"),
        Key(
            names="slash",
            shown="/",
            help="a command by its name; tab completes it. A space before it sends a text that begins with /",
        ),
        Key(
            names="at",
            shown="@",
            help="a file to send along: an image or a text; tab completes its name. What is chosen is read then, and sent so",
        ),
        Key(names="ctrl+u", shown="ctrl+u", help="take away all that is written"),
        Key(names="ctrl+z,ctrl+y", shown="ctrl+z ctrl+y", help="take back what was changed last, and change it again"),
        Key(names="ctrl+t", shown="ctrl+t", help="the text of a large paste in the place of its mark"),
        Key(names="1,2,3", shown="1 2 3", help="in an empty chat: ask the question of that number"),
        Key(names="question_mark", shown="?", help="in an empty prompt: this help"),
        Key(names="tab,shift+tab", shown="tab shift+tab", help="prompt, chat, list, details, and back"),
        Key(names="escape", shown="escape", help="close what lies on top, else stop the turn; never quits"),
    ),
    "Chat": (
        Key(names="up,down,k,j", shown="up down, k j", help="from item to item"),
        Key(names="enter", shown="enter", help="open or close a tool call, thinking or an error"),
        Key(names="pageup,pagedown", shown="pageup pagedown", help="a screenful up or down"),
        Key(names="home,g,end,G", shown="home end, g G", help="the beginning, and the end with what comes"),
        Key(
            names="c",
            shown="c",
            help="copy the code of the current answer, else of the last one; again: the next block",
        ),
        *_SELECTING,
    ),
    "Approval": (
        Key(names="y,a", shown="y", help="approve this call once"),
        Key(names="Y", shown="Y", help="approve all that remain, once each was shown to its end"),
        Key(names="A", shown="A, twice", help="approve this tool for the session; the rule stands in words between"),
        Key(names="e", shown="e", help="edit the arguments, then approve"),
        Key(names="n", shown="n", help="reject"),
        Key(names="r", shown="r", help="reject with a reason; the model is told"),
        Key(names="escape", shown="escape", help="reject, and stop the turn"),
        Key(names="tab", shown="tab", help="look around in the inspector, and back; keys decide nothing there"),
        Key(names="left,right", shown="left right", help="the call before and after, where several wait"),
        Key(
            names="up,down,pageup,pagedown,home,end",
            shown="up down, …",
            help="read the arguments: pageup, pagedown, home and end too",
        ),
        Key(names="p", shown="p", help="the arguments indented, or byte for byte"),
        Key(names="d", shown="d", help="the whole description, as the server gives it"),
    ),
    "Inspector, list": (
        *_MOVES,
        Key(names="left,h", shown="left, h", help="its relative in the LLM lane, else the nearest row there"),
        Key(names="right,l", shown="right, l", help="its relative in the MCP lane, else the nearest row there"),
        Key(names="enter", shown="enter", help="into the details"),
        Key(
            names="slash",
            shown="/",
            help="filter by words, and by tool: method: id: dir: kind: status: server: turn:; escape takes it away",
        ),
        Key(
            names="vertical_line",
            shown="|",
            help="details side by side or one above the other; where one has room, the other one",
        ),
        Key(names="z", shown="z", help="the whole screen for the inspector, and back"),
        *_SELECTING,
    ),
    "Inspector, details": (
        *_MOVES,
        Key(names="left,right,h,l,1,2,3,4,5", shown="left right, h l", help="the tab before and after; 1 to 5 too"),
        *_DETAILS,
        Key(names="vertical_line", shown="|", help="as in the list"),
        Key(names="z", shown="z", help="as in the list"),
        *_SELECTING,
    ),
    "Request": (
        *_MOVES,
        Key(
            names="left,right,h,l,1,2,3,4,5",
            shown="left right, h l",
            help="the tab before and after; 1 to 5 too",
            brief="tabs",
        ),
        *_DETAILS,
        *_SELECTING,
    ),
    "Servers": (
        Key(names="up,down,k,j", shown="up down, k j", help="choose a server", brief="choose"),
        Key(names="r", shown="r", help="connect, or connect again", brief="reconnect"),
        Key(names="s", shown="s", help="stop it: disconnect, and end its process", brief="stop"),
        Key(names="enter,tab,shift+tab", shown="enter, tab", help="into what is known of it, and back", brief="read"),
        *_DETAILS,
        *_MOVES[1:],
        *_SELECTING,
    ),
    "Model": (
        Key(names="", shown="letters", help="filter the list, or type a whole PROVIDER/MODEL", brief="filter"),
        *_CHOOSING,
        Key(names="enter", shown="enter", help="take it, for this session and those to come", brief="take"),
    ),
    "Key": (Key(names="enter", shown="enter", help="keep it in the system's keyring", brief="keep it"),),
    "Option": (Key(names="enter", shown="enter", help="set it for this session; nothing: not set", brief="set"),),
    "Sessions": (
        Key(names="", shown="letters", help="search titles and messages", brief="search"),
        *_CHOOSING,
        Key(names="enter", shown="enter", help="open it, chat and inspector", brief="open"),
        Key(
            names="ctrl+l",
            shown="ctrl+l",
            help="join what a tap recorded to the story above it, or part a tap from its story",
            brief="join or part a tap",
        ),
    ),
    "Help": _MOVES,
}
"""The keys of each place, beside those that work everywhere."""
