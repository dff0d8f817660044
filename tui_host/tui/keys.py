"""The one table of what a person can do, and by which key: footer, palette, `/commands` and help are made of it."""

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
    Action(name="help", key="f1", shown="f1", action="help", label="help", help="Every key of this screen"),
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
    Action(name="model", key="f4", shown="f4", action="model", label="model", help="Choose the model"),
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
        name="again", key="ctrl+r", shown="ctrl+r", action="again", help="Send the last request again, after it failed"
    ),
    Action(name="stop", key="", shown="escape", action="stop", help="Stop the turn; what came so far stays"),
    Action(
        name="copy",
        key="ctrl+c",
        shown="ctrl+c",
        action="copy",
        help="Copy the current item to the terminal's clipboard",
    ),
    Action(
        name="palette", key="", shown="ctrl+p", action="command_palette", label="palette", help="All of these, by name"
    ),
    Action(name="theme", key="", shown="", action="change_theme", help="Choose a theme, light or dark"),
    Action(
        name="quit", key="ctrl+q", shown="ctrl+q", action="quit", label="quit", help="End the program and its servers"
    ),
)
