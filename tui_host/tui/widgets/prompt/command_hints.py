"""Explains why a `/name` is not run."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from difflib import get_close_matches
from types import MappingProxyType

from tui_host.capture.visible import line

ELSEWHERE: Mapping[str, str] = MappingProxyType(
    {
        "clear": "/new begins a new session, and this one stays in /sessions",
        "compact": "nothing is left out of the history unasked; /new begins a new session",
        "config": "/model has model, protocol and options; the rest stands in config.toml (see /help)",
        "exit": "/quit ends the program and its servers",
        "export": "the command «tui-host sessions export last» writes a session to a file",
        "history": "/sessions searches and opens earlier sessions",
        "login": "/model asks for a provider's key",
        "mcp": "/servers shows servers, tools and messages",
        "permissions": "/rules lists the rules of this session, and takes them back",
        "resume": "/sessions searches and opens earlier sessions",
        "tools": "/servers shows servers, tools and messages",
    }
)
"""Commands of other programs, each with this program's way to do the same."""


def hint_of(name: str, commands: Collection[str]) -> str:
    """Say why a command was not run, and what to use instead.

    Args:
        name: The command as typed.
        commands: The names of the commands.
    """
    near = " or ".join(f"/{other}" for other in get_close_matches(name, commands, n=2, cutoff=0.5))
    if name in commands:
        words = f"/{name} takes no arguments, so it did not run."
    elif name in ELSEWHERE:
        words = f"There is no command /{name}: {ELSEWHERE[name]}."
    else:
        words = f"There is no command /{line(name, 40)}{f': {near}?' if near else '.'}"
    return f"{words} A space before the / sends it as text."
