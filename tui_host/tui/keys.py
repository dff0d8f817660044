"""The app's actions, and what the bindings of a class say: key bar, key lines, palette, commands and help come from here."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from textual.binding import Binding, BindingsMap
from textual.content import Content
from textual.keys import key_to_character
from textual.screen import Screen

from tui_host.answers.pages import PAGES, WIRE_TABS
from tui_host.settings.key_names import DEFAULT_KEYS

_GAP = 3  # cells between two keys of a row


class Action(NamedTuple):
    """An action that works anywhere in the app."""

    name: str  # the `/name` in the prompt, also found in the palette
    action: str  # the Textual action of the app; `open_screen('MODULE.CLASS')` opens a screen; empty for page and tab
    help: str  # a sentence for help, palette and completion
    key: str = ""  # its name in `[keys]` where that is another, or a key that stays
    by_key: str = ""  # the Textual action of the key, where it does more than the name


_COPY = "Copy the selection, else the current item, to the terminal's clipboard (tmux: set -g set-clipboard on)"
_PAGES = {"look": "", "calls": "", "time": "", "bill": "", "tools": "", "servers": "servers_page"}  # others have a key
ACTIONS = (
    Action("help", "help", "Every key and where it works, and the documents"),
    Action("inspector", "on_main('arrange')", "Chat and inspector, only the inspector, only the chat"),
    Action("mcp", "open_screen('servers_screen.ServersScreen')", "Servers: state, tools, log, stderr", "servers"),
    Action("model", "open_screen('model_screen.ModelScreen')", "Model, tool protocol, profile and options"),
    Action("profile", "open_screen('model_screen.ModelScreen', 'profile')", "Choose a profile of your configuration"),
    Action("sessions", "open_screen('sessions_screen.SessionsScreen')", "Search and open earlier sessions"),
    *(
        Action(name, "", f"{page.help[0].upper()}{page.help[1:]}", _PAGES[name], f"command('{name}')")
        for page in PAGES
        if (name := page.command) in _PAGES
    ),
    *(
        Action(tab.lower(), "", f"Show {words}: of LLM 1, lab #4, a call, or the last")
        for tab, words in WIRE_TABS.items()
    ),
    Action("new", "new", "Begin a new session"),
    Action("request", "open_screen('request_screen.RequestScreen')", "Show the coming request byte for byte, unsent"),
    Action("again", "again(False)", "Ask the last question again, in a branch unless it failed", by_key="again(True)"),
    Action("step", "on_main('submit(True)', 'Prompt')", "Say what is written, or queued last, with the tools' results"),
    Action("edit", "on_main('edit', 'Transcript')", "Edit your current or last message, and ask it in a branch"),
    Action("branch", "on_main('branch')", "Show the next branch of this session"),
    Action("editor", "edit_prompt(False)", "Write the prompt in $VISUAL or $EDITOR", by_key="edit_prompt(True)"),
    Action("login", "on_main('login')", "Show the login that a server waits for; so does the editor's key"),
    Action("reload", "reload", "Read the configuration again, its rules too; end or connect servers that changed"),
    Action("rules", "open_screen('rules_screen.RulesScreen')", "All rules, taking back; why a call was asked about"),
    Action("stop", "stop", "Stop the turn; what came so far stays", "escape"),
    Action("copy", "copy", _COPY),
    Action(
        "code", "on_main('copy_code(False)', 'Transcript')", "Copy the code of the current or last answer; again: more"
    ),
    Action("palette", "command_palette", "All of these, by name"),
    Action("theme", "change_theme", "Choose a light or dark theme"),
    Action("suspend", "suspend_process", "Go back to the shell until its fg; turns wait, but their time limits run on"),
    Action("quit", "quit", "Quit, and end the servers"),
)

_BAR = ("help", "inspector", "servers", "model", "sessions", "palette", "quit")
IN_BAR: list[tuple[str, str]] = []
"""The keys that work everywhere and stand in the key bar."""
CHOSEN: dict[str, str] = {}
"""The keys of `[keys]`, joined by commas, of the one app that runs."""


def keys_named(name: str) -> list[str]:
    """Return Textual's names of the keys of an action; a name that `[keys]` does not know is a key that stays."""
    return [key for key in (CHOSEN.get(name) or DEFAULT_KEYS.get(name, name)).split(",") if key]


def key_of(name: str) -> str:
    """Return the first key of an action as written for people; empty without one."""
    return "".join(map(_written, keys_named(name)[:1]))


def _written(key: str) -> str:
    return _SIGNS.get(key) or ("_" in key and key_to_character(key)) or key


def bound(
    name: str, action: str, brief: str = "", *, tooltip: str = "", display: str | None = None, priority: bool = False
) -> Binding:
    """Return the binding of an action that `[keys]` names: keys that no terminal sends stand for those that are missing."""
    keys = DEFAULT_KEYS[name] or f"none+{name}"
    return Binding(keys, action, brief, key_display=display, priority=priority, tooltip=tooltip, id=name)


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
            names = [name for binding in group for name in (CHOSEN.get(binding.id or "") or binding.key).split(",")]
            first, is_chosen = group[0], any(binding.id in CHOSEN for binding in group)
            if first.tooltip and not taken.issuperset(names):
                taken.update(names)
                shown = "" if is_chosen else first.key_display or ""
                shown = shown or " ".join(map(_written, names))
                is_own = base in kinds[0].__mro__
                in_field = is_own or (first.priority and len(shown) > 1)  # of the others, a letter is text there
                brief = first.description
                command = first.id if first.id and "_" not in first.id else ""  # a name of one word is a command too
                keys.append(Key(frozenset(names), shown, brief, first.tooltip, first.action, command, in_field))
    return keys


@lru_cache(30)
def bindings_of(kind: type) -> BindingsMap:
    """Return the bindings of a class and its bases, own bindings first, with the keys of `[keys]`."""
    made = BindingsMap(binding for base in kind.__mro__ for binding in vars(base).get("BINDINGS", ()))
    made.apply_keymap(CHOSEN)
    return made


def choose(keys: Mapping[str, str]) -> None:
    """Take the keys of `[keys]`."""
    CHOSEN.clear()
    CHOSEN.update(keys)
    IN_BAR[:] = [(key_of(name), name) for name in _BAR]
    keys_of.cache_clear()
    bindings_of.cache_clear()


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
