"""The app's actions, and what the bindings of a class say: key bar, key lines, palette, commands and help come from here."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple

from textual.binding import Binding
from textual.content import Content
from textual.keys import key_to_character
from textual.screen import Screen

from tui_host.answers.pages import PAGES

_GAP = 3  # cells between two keys of a row


class Action(NamedTuple):
    """An action that works anywhere in the app."""

    name: str  # the `/name` in the prompt, also found in the palette
    action: str  # the Textual action of the app; `open_screen('MODULE.CLASS')` opens a screen; empty for a page
    help: str  # a sentence for help, palette and completion
    key: str = ""  # textual's name of the key; empty without one
    is_bound: bool = True  # whether the app binds the key; else Textual or a screen does
    by_key: str = ""  # the Textual action of the key, where it does more than the name


_COPY = "Copy the selection, else the current item, to the terminal's clipboard (tmux: set -g set-clipboard on)"
ACTIONS = (
    Action("help", "help", "Every key and where it works, and the documents", "f1"),
    Action("inspector", "on_main('next_arrangement')", "Chat and inspector, only the inspector, only the chat", "f2"),
    Action("mcp", "open_screen('servers_screen.ServersScreen')", "Servers: state, tools, log, stderr", "f3"),
    Action("model", "open_screen('model_screen.ModelScreen')", "Model, tool protocol, profile and options", "f4"),
    Action(
        "profile",
        "open_screen('model_screen.ModelScreen', 'profile')",
        "Choose a profile: an agent of your configuration",
    ),
    Action("sessions", "open_screen('sessions_screen.SessionsScreen')", "Search and open earlier sessions", "f5"),
    *(
        Action(page.command, "", page.help[0].upper() + page.help[1:])
        for page in PAGES
        if page.command
        in {"look", "time", "bill", "tools", "servers"}  # others have a key of that name, or are a screen
    ),
    Action("new", "new", "Begin a new session", "ctrl+n"),
    Action(
        "request",
        "open_screen('request_screen.RequestScreen')",
        "Show the coming request, byte for byte, before it is sent",
        "ctrl+o",
    ),
    Action(
        "again",
        "again",
        "Ask the last question again: in place after it failed, else in a branch, with the model of now",
        "ctrl+r",
        by_key="find_or_again",
    ),
    Action(
        "step",
        "on_main('say_with_step')",
        "Say it with the next step: what is written, else what is queued last, goes beside the tools' results",
        "ctrl+enter",
        is_bound=False,
    ),
    Action(
        "edit", "in_pane('Transcript', 'edit')", "Edit your current or last message, and ask from there in a branch"
    ),
    Action("branch", "on_main('action_branch')", "Show the next branch of this session"),
    Action(
        "editor",
        "edit_prompt",
        "Write the prompt in $VISUAL or $EDITOR; while a server waits for a login, the key shows that",
        "ctrl+g",
        by_key="show_login_or_edit",
    ),
    Action("login", "on_main('show_login')", "Show the login that a server waits for"),
    Action(
        "reload",
        "reload",
        "Read the configuration again: its rules count, and servers that changed are connected, ended or restarted",
    ),
    Action(
        "rules",
        "open_screen('rules_screen.RulesScreen')",
        "The rules of session and files; why a call was allowed or asked about; take back",
    ),
    Action("stop", "stop", "Stop the turn; what came so far stays", "escape", is_bound=False),
    Action("copy", "copy", _COPY, "ctrl+c"),
    Action(
        "code",
        "in_pane('Transcript', 'copy_code')",
        "Copy the code of the current or the last answer; again: its next block",
    ),
    Action("palette", "command_palette", "All of these, by name", "ctrl+p", is_bound=False),
    Action("theme", "change_theme", "Choose a light or dark theme"),
    Action("suspend", "suspend_process", "Go back to the shell until its fg; turns wait, but their time limits run on"),
    Action("quit", "quit", "Quit, and end the servers", "ctrl+q"),
)

_BAR = {"f1", "f2", "f3", "f4", "f5", "ctrl+p", "ctrl+q"}
IN_BAR = [(a.key, a.name.replace("mcp", "servers")) for a in ACTIONS if a.key in _BAR]  # `/servers` is the page
"""The keys that work everywhere and stand in the key bar."""


class Key(NamedTuple):
    """What one key does, or several that belong together."""

    names: frozenset[str]  # textual's names of the keys
    shown: str  # the keys as written for people
    brief: str  # what they do, in a word or two for the key bar; empty to leave them out there
    help: str  # what they do, in a sentence for the help; empty to leave them out there
    action: str  # the action of the first
    command: str  # the `/name` that does the same from the prompt; empty without one
    works_in_field: bool  # whether it does so while the first class is a text field that has the focus


_SIGNS = {"slash": "/", "plus": "+", "minus": "-", "at": "@"}


@lru_cache(100)
def keys_of(*kinds: type, but: frozenset[type] = frozenset()) -> Sequence[Key]:
    """Return the keys that classes and their bases, `but` not some, bind: each once, the first class's first.

    A binding's description is the brief, its tooltip the help. A binding without tooltip belongs to the one before it.
    """
    bases = dict.fromkeys(base for kind in kinds for base in kind.__mro__ if base.__module__.startswith("tui_host."))
    taken: set[str] = set()
    keys: list[Key] = []
    for base in bases:
        groups: list[list[Binding]] = []
        for binding in vars(base).get("BINDINGS", ()) if base not in but else ():
            if binding.tooltip or not groups:
                groups.append([])
            groups[-1].append(binding)
        for group in groups:
            names = [name for binding in group for name in binding.key.split(",")]
            first = group[0]
            if first.tooltip and not taken.issuperset(names):
                taken.update(names)
                signs = (_SIGNS.get(name) or ("_" in name and key_to_character(name)) or name for name in names)
                shown = first.key_display or " ".join(signs)
                is_own = base in kinds[0].__mro__
                in_field = is_own or (first.priority and len(shown) > 1)  # of the others, a letter is text there
                brief, command = first.description, first.id or ""
                keys.append(Key(frozenset(names), shown, brief, first.tooltip, first.action, command, in_field))
    return keys


def kinds_at(screen: Screen[object] | Screen[None]) -> tuple[type, ...]:
    """Return the classes whose keys work where the focus of a screen is, the innermost first."""
    focused = screen.focused
    nodes = () if focused is None else focused.ancestors_with_self
    return (*(type(node) for node in nodes if node is not screen.app and node is not screen), type(screen))  # pyright: ignore[reportUnknownMemberType] - of any app


def key_rows(keys: Iterable[tuple[str, str]], width: int, style: str = "bold $foreground") -> list[Content]:
    """Lay out keys, each beside what it does, in as many rows as they need."""
    rows: list[Content] = []
    for shown, brief in keys:
        part = Content.assemble((shown, style), f" {brief}")
        if rows and rows[-1].cell_length + _GAP + part.cell_length <= width:
            rows[-1] = Content.assemble(rows[-1], " " * _GAP, part)
        else:
            rows.append(part)
    return rows
