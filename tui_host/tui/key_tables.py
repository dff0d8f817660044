"""The tables of actions and keys. Footer, palette, `/commands`, key lines and help are made from them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Action:
    """An action that works anywhere in the app."""

    name: str  # the `/name` in the prompt, also found in the palette
    action: str  # the Textual action, looked up on the app
    help: str  # a sentence for help, palette and completion
    key: str = ""  # textual's name of the key; empty if Textual or a screen binds the key, or there is none
    keys_shown: str = ""  # the key as written for people, where `key` is empty
    is_in_footer: bool = False  # whether the footer shows key and name

    @property
    def shown(self) -> str:
        return self.key or self.keys_shown

    @property
    def label(self) -> str:
        """The footer's label; empty if the footer does not show the action."""
        return self.name if self.is_in_footer else ""


_COPY = "Copy the selection, else the current item, to the terminal's clipboard (tmux: set -g set-clipboard on)"
ACTIONS = (
    Action("help", "help", "Every key and where it works, and the documents", "f1", is_in_footer=True),
    Action("inspector", "inspector", "Chat and inspector, only the inspector, only the chat", "f2", is_in_footer=True),
    Action("servers", "open_screen('servers')", "Servers: state, tools, frames, stderr", "f3", is_in_footer=True),
    Action("model", "open_screen('model')", "Model, tool protocol, profile and options", "f4", is_in_footer=True),
    Action("profile", "open_screen('profile')", "Choose a profile: an agent of your configuration"),
    Action("sessions", "open_screen('sessions')", "Search and open earlier sessions", "f5", is_in_footer=True),
    Action("time", "answer('Time')", "Where the time of this session went: you, the model, servers, waiting"),
    Action("bill", "answer('Bill')", "What the tokens of this session were spent on, and where the prompt cache broke"),
    Action("tools", "answer('Tools')", "What each tool of this session cost, and how often it was called"),
    Action("new", "new", "Begin a new session", "ctrl+n"),
    Action("request", "open_screen('request')", "Show the coming request, byte for byte, before it is sent", "ctrl+o"),
    Action(
        "again", "again", "Send the last request again after it failed, or go on without the oldest turns", "ctrl+r"
    ),
    Action("reload", "reload", "Read the configuration again, and connect, end or restart the servers that changed"),
    Action("rules", "open_screen('rules')", "List the rules given for this session, and take them back"),
    Action("revoke", "open_screen('rules')", "The same as /rules"),
    Action("stop", "stop", "Stop the turn; what came so far stays", keys_shown="escape"),
    Action("copy", "copy", _COPY, "ctrl+c"),
    Action("code", "copy_code", "Copy the code of the current or the last answer; again: its next block"),
    Action("palette", "command_palette", "All of these, by name", keys_shown="ctrl+p", is_in_footer=True),
    Action("theme", "change_theme", "Choose a light or dark theme"),
    Action(
        "suspend", "suspend_process", "Go back to the shell until its fg; servers and turns wait, no deadline passes"
    ),
    Action("quit", "quit", "Quit, and end the servers", "ctrl+q", is_in_footer=True),
)


@dataclass(frozen=True, slots=True)
class Key:
    """A key that works in one place of the app."""

    names: str  # textual's names of the key, separated by commas as in a binding
    shown: str  # the key as written for people
    help: str  # what the key does
    brief: str = ""  # what the key does, in a word or two for the line of keys; empty to leave the key out there


HELP = Key("f1", "f1", "every key, and where it works", "help")
LEAVE = Key("escape", "escape", "go back", "back")
_MOVES = (
    Key("up,down,k,j", "up down, k j", "move a line up or down"),
    Key("pageup,pagedown", "pageup pagedown", "move a page up or down"),
    Key("home,g,end,G", "home end, g G", "go to the first or the last line"),
)
_CHOOSING = (
    Key("up,down", "up down", "move in the list while you type", "choose"),
    Key("pageup,pagedown", "pageup pagedown", "move a page up or down"),
)
_OPENING = (
    Key(
        "enter,space,plus,minus",
        "enter, space, + -",
        "open or close the current line; in JSON: fold it, or read a long string as a page, which escape leaves",
    ),
    Key("b", "b", "sort the lines by size, the largest first; again: in order"),
)
_VALUES = (
    Key("r", "r", "show the bytes of the current line's value as they were sent; again: in hex; again: back"),
    Key("p", "p", "copy the path of the current line's value, such as messages[3].content"),
)
_TABS = Key(
    "left,right,h,l,1,2,3,4,5,6,7,8,9", "left right, h l", "go to the next or the previous tab; 1 to 9 too", "tabs"
)
_SEARCH = Key(
    "slash", "/", "search the page, opening what hides a place: n and N go on, escape ends; up: the last text"
)

PLACES: dict[str, tuple[Key, ...]] = {
    "Prompt": (
        Key("enter", "enter", "send"),
        Key("ctrl+j,shift+enter", "ctrl+j", "begin a new line (shift+enter too, if the terminal passes it on)"),
        Key("up,down", "up down", "from the first or the last line: bring back earlier messages"),
        Key(
            "slash",
            "/",
            "run a command, or a server's prompt by /server:prompt; tab completes. A space before it sends text",
        ),
        Key(
            "at",
            "@",
            "attach a file, or a server's resource by @server:uri; tab completes. It is read when you choose it",
        ),
        Key("ctrl+u", "ctrl+u", "delete everything that is written"),
        Key("ctrl+z,ctrl+y", "ctrl+z ctrl+y", "undo and redo"),
        Key("ctrl+t", "ctrl+t", "show the text of a large paste in place of its mark"),
        Key("1,2,3", "1 2 3", "in an empty chat: ask the question with this number"),
        Key("question_mark", "?", "in an empty prompt: show this help"),
        Key("tab,shift+tab", "tab shift+tab", "move between prompt, chat, list and details"),
        Key("escape", "escape", "close what lies on top, else stop the turn, else go back to the prompt; never quits"),
    ),
    "Chat": (
        Key("up,down,k,j", "up down, k j", "go from item to item"),
        Key("enter", "enter", "open or close a tool call, thinking or an error"),
        Key("pageup,pagedown", "pageup pagedown", "move a page up or down"),
        Key("home,g,end,G", "home end, g G", "go to the beginning, or to the end and follow it"),
        Key("c", "c", "on a call: show its chain in the inspector; else copy code, again: its next block"),
        Key("v", "v", "view the contents of the current call's result: draw images, save, open"),
    ),
    "Approval": (
        Key("y,a", "y", "approve this call once; what was not shown to its end is shown first"),
        Key("Y", "Y", "approve all that remain, once the whole arguments of each were shown, in the list or below"),
        Key("A", "A, twice", "approve this tool for the session; the first A shows the rule in words"),
        Key("e", "e", "edit the arguments, then approve"),
        Key("n", "n", "reject"),
        Key("r", "r", "reject with a reason that the model is told"),
        Key("escape", "escape, twice", "reject, and stop the turn; from an edit, a reason or a description: go back"),
        Key("tab", "tab", "look around in the inspector, and back; no key decides there"),
        Key("left,right", "left right", "go to the call before or after, where several wait"),
        Key(
            "up,down,pageup,pagedown,home,end", "up down, …", "scroll the arguments; pageup, pagedown, home and end too"
        ),
        Key("p", "p", "show the arguments indented, or byte for byte"),
        Key("d", "d", "show the server's whole description"),
        Key("z", "z", "give the approval the width of the screen, and back"),
    ),
    "Question of a server": (
        Key("tab,shift+tab", "tab", "go to the next field, then to the buttons; letters are text in the fields"),
        Key("enter", "enter", "in a field: go to the next one; on a button: press it"),
        Key("ctrl+d", "ctrl+d", "decline"),
        Key("escape", "escape", "cancel: the question is closed without an answer"),
        Key("o", "o", "open the address in the browser, where a page is to be visited"),
        Key("up,down,space", "up down, space", "move in a list of values, and choose"),
        Key("pageup,pagedown", "pageup pagedown", "scroll"),
    ),
    "Inspector, list": (
        *_MOVES,
        Key("left,h", "left, h", "go to the related row in the LLM lane, else to the nearest row there"),
        Key("right,l", "right, l", "go to the related row in the MCP lane, else to the nearest row there"),
        Key("enter", "enter", "go to the details; on a heading: fold or open its rows"),
        Key("1,2,3,4,5,6,7,8,9", "1 to 9", "show that tab of the details, such as Bill of a heading"),
        Key(
            "slash",
            "/",
            'filter by words, server: tool: size>10k …, "text in a body", or, not (below); tab completes; up: the last one; escape clears',
        ),
        Key(
            "n,N",
            "n N",
            "go to the next or the previous row that deserves a look: errors, cut answers, retries, changes, edits, what was not told",
        ),
        Key(
            "left_square_bracket,right_square_bracket,ctrl+pageup,ctrl+pagedown",
            "ctrl+pageup",
            "go to the heading above, ctrl+pagedown to the one below ([ and ] too): its pages answer questions",
        ),
        Key("question_mark", "?", "show what the signs of the list mean, in place of the row; again: the row"),
        Key("vertical_line", "|", "put the details side by side or one above the other, or show the other one"),
        Key("z", "z", "give the inspector the whole screen, and back"),
        Key(
            "d", "d", "show what changed in a request since the one before; again: everything, with the changes marked"
        ),
        Key("m", "m", "mark the row, or no longer: requests are compared with the request marked last; filter: marked"),
        Key("M", "M", "write a note on the row, and mark it"),
        Key("J", "J", "join the row's call with a frame by hand, or part them: a digit chooses; also sessions link"),
        Key("x", "x", "export the row, its call, its turn or the session to a file, in one of several formats"),
        Key(
            "c",
            "c",
            "show the chain of the row's call: asked, decided, sent, answered, told, said; again: the tab before",
        ),
    ),
    "Inspector, details": (
        *_MOVES,
        _TABS,
        *_OPENING,
        *_VALUES,
        _SEARCH,
        Key("n,N", "n N", "go to the next or the former place of the search; without one, as in the list"),
        Key("left_square_bracket,right_square_bracket,ctrl+pageup,ctrl+pagedown", "ctrl+pageup", "as in the list"),
        Key("question_mark", "?", "as in the list"),
        Key("vertical_line", "|", "as in the list"),
        Key("z", "z", "as in the list"),
        Key("d", "d", "as in the list"),
        Key("m,M,J", "m M J", "as in the list"),
        Key("x", "x", "as in the list"),
        Key("c", "c", "as in the list"),
        Key("o", "o", "on a line of a page such as Time or Chain: go to the row it leads to"),
    ),
    "Contents": (
        Key("up,down,k,j", "up down, k j", "choose a content", "choose"),
        Key("v,enter", "v, enter", "draw the image; read the source of a server's page", "view"),
        Key("space,plus,minus", "space, + -", "in JSON: fold the current line, or read a long string as a page"),
        Key("s", "s", "save the content to a file that you name", "save"),
        Key("o", "o", "open the saved file with the platform's program", "open"),
        Key("tab,shift+tab", "tab", "go to the content to scroll it, and back", "scroll"),
        *_MOVES[1:],
    ),
    "Fill in": (
        Key("enter", "enter", "take the chosen suggestion; else go to the next field, or finish", "next"),
        Key("up,down", "up down", "choose a value that the server suggests", "suggestions"),
        Key("tab,shift+tab", "tab", "go to the next or the former field", "field"),
    ),
    "Filled prompt": (
        Key("enter", "enter", "send the messages", "send"),
        *_MOVES,
    ),
    "Save": (Key("enter", "enter", "write the file; a second enter replaces an existing one", "save"),),
    "Export": (
        Key("up,down", "up down", "choose the format", "format"),
        Key("tab,shift+tab", "tab", "choose the call, the row, the turn or the session", "part"),
        Key("enter", "enter", "write the file; a second enter replaces an existing one", "export"),
    ),
    "Request": (
        Key(
            "d", "d", "show what changes since the last request; again: everything, with the changes marked", "changes"
        ),
        Key(
            "w",
            "w",
            "show the request without the tool of the current line; again: without its server, each next one, then whole",
            "without",
        ),
        *_MOVES,
        _TABS,
        *_OPENING,
        _SEARCH,
        *_VALUES,
    ),
    "Servers": (
        Key("up,down,k,j", "up down, k j", "choose a server", "choose"),
        Key("r", "r", "connect, or reconnect", "reconnect"),
        Key("p", "p", "ask whether the server is alive", "ping"),
        Key("o", "o", "switch the server, or in the details a tool, on or off until tui-host ends", "on/off"),
        Key("O", "O", "switch it on or off for good", "for good"),
        Key("i", "i", "send the server's instructions to the model, or no longer", "instructions"),
        Key("slash", "/", "filter tools, resources and prompts", "filter"),
        Key("s", "s", "disconnect, and end the server's process", "stop"),
        Key("t", "t", "call its tools, read its resources and fill in its prompts without a model", "try"),
        Key("enter,tab,shift+tab", "enter, tab", "go to the server's details, and back", "details"),
        *_OPENING,
        *_MOVES[1:],
    ),
    "Requests": (
        Key("up,down,k", "up down", "choose a tool, a resource, a prompt, or a kept request", "choose"),
        Key("enter", "enter", "go to the form; in a field: to the next field; on a button: press it", "form"),
        Key("tab,shift+tab", "tab", "go to the next field, the buttons, the result and its frames, the list", "next"),
        Key("r", "r", "make the chosen kept request again, or the last one", "repeat"),
        Key("j", "j", "write the arguments as JSON, or in the form", "JSON"),
        *_OPENING,
        *_MOVES[1:],
    ),
    "Model": (
        Key("", "letters", "filter the list, or type a whole PROVIDER/MODEL", "filter"),
        *_CHOOSING,
        Key("tab,shift+tab", "tab", "go to the next group; shift+tab: the former one", "next group"),
        Key("enter", "enter", "use it in this session and in new ones", "use"),
    ),
    "Key": (Key("enter", "enter", "save the key in the system's keyring", "save"),),
    "Note": (Key("enter", "enter", "keep the note; an empty one leaves the mark", "keep"),),
    "Join": (Key("", "1 to 9", "join the pair with this digit, or part it; kept like marks", "join"),),
    "Option": (Key("enter", "enter", "set it for this session; an empty field unsets it", "set"),),
    "Sessions": (
        Key("", "letters", "search titles, messages and records, by words or a filter of the inspector", "search"),
        *_CHOOSING,
        Key("enter", "enter", "open the session, chat and inspector", "open"),
        Key("ctrl+s", "ctrl+s", "export the session to a file, in one of several formats", "export"),
        Key("ctrl+l", "ctrl+l", "join a tap to the story above it, or part it from its story", "join or part a tap"),
        Key(
            "delete",
            "delete, twice",
            "remove the session for good; any other key after the first delete keeps it",
            "remove",
        ),
    ),
    "Rules": (
        Key("up,down,k,j", "up down, k j", "choose a rule", "choose"),
        Key("enter,delete", "enter, delete", "take the rule back: you are asked about its calls again", "take back"),
    ),
    "Oldest turns": (
        Key("enter", "enter", "leave them out of this and all later requests, and go on", "go on without them"),
        Key("s", "s", "send everything again, such as to another model", "send everything again"),
        Key("up,down,k,j", "up down, k j", "move a line up or down"),
    ),
    "Help": (
        Key("1,2,3,4,5,6,7,8,9", "1 to 9", "read the document of that number", "documents"),
        *_MOVES,
    ),
    "Document": (Key("z", "z", "go to the Chinese part, if there is one / 跳到中文部分", "中文"), *_MOVES),
}
"""The keys of each place, in addition to those that work everywhere."""
