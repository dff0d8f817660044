"""Finds tools among those offered. Names are compared as words, since each host joins server and tool in its own way."""

from __future__ import annotations

import re
from collections.abc import Sequence


def tool_for(tools: Sequence[str], server: str, own_name: str) -> str | None:
    """Return the tool with an own name, of this server if it is offered."""
    named = [tool for tool in tools if _ends_in(tool, own_name)]
    return min(named, key=lambda tool: server not in _words(tool), default=None)


def tool_named(tools: Sequence[str], asked: str) -> str | None:
    """Return the tool that a user names as `SERVER.TOOL`, or by a name of its own."""
    joined = asked.replace(".", "__", 1)
    for tool in tools:
        # A name that was too long or already used ends in a hash: its beginning is compared.
        shortened = re.sub(r"_[0-9a-f]{6,}$", "", tool)
        if tool in {asked, joined} or (shortened != tool and joined.startswith(shortened)):
            return tool
    return next((tool for tool in tools if _ends_in(tool, asked)), None)


def _ends_in(name: str, asked: str) -> bool:
    """Return whether a name ends in the asked words. After `__` the whole rest is the tool's own name."""
    words, wanted = _words(name), _words(asked)
    own = _words(name.rpartition("__")[2])
    return words[len(words) - len(wanted) :] == wanted and ("__" not in name or len(wanted) >= len(own))


def _words(name: str) -> list[str]:
    return [word.casefold() for word in re.split(r"[\W_]+", name) if word]
