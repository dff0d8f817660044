"""Which tool a name stands for that a host gave it. Each host joins, shortens and cleans names in its own way."""

from __future__ import annotations

import re
from collections.abc import Iterable

HUB = "invoke"
"""So ends the name of a hub's tool whose arguments hold the call that is meant."""
_SHORTENED = 40
"""Characters from which on a name may have been shortened."""
_ALIKE = 28
_NO_WORD = re.compile(r"[^0-9A-Za-z]+")


def tools_named(name: str, tools: Iterable[tuple[str, str]]) -> frozenset[tuple[str, str]]:
    """The tools that a name may stand for.

    `mcp__server__tool`, `server__tool`, `server-tool`, `server.tool` and plain `tool` end with the tool's own name: the longest one
    that fits counts, and of several servers those that are named before it. A shortened name has a beginning alone.

    Args:
        name: As the model has it.
        tools: Server and own name of all that are known.
    """
    known = list(tools)
    wanted = _cleaned(name)
    fitting = [tool for tool in known if _ends(wanted, _cleaned(tool[1]))]
    if fitting:
        longest = max(len(_cleaned(tool)) for _, tool in fitting)
        fitting = [(server, tool) for server, tool in fitting if len(_cleaned(tool)) == longest]
        before = wanted[: len(wanted) - longest]
        named = [(server, tool) for server, tool in fitting if _cleaned(server) in before]
        longest = max((len(server) for server, _ in named), default=0)
        return frozenset((server, tool) for server, tool in named if len(server) == longest) or frozenset(fitting)
    squeezed = _squeezed(name)
    same = [
        (server, tool) for server, tool in known if _squeezed(server + tool) == squeezed or _squeezed(tool) == squeezed
    ]
    if same or len(name) < _SHORTENED:
        return frozenset(same)
    return frozenset((server, tool) for server, tool in known if _begins(squeezed, _squeezed(server + tool)))


def _cleaned(name: str) -> str:
    return _NO_WORD.sub("_", name).lower()


def _squeezed(name: str) -> str:
    return _NO_WORD.sub("", name).lower()


def _ends(name: str, tool: str) -> bool:
    return bool(tool) and (name == tool or name.endswith(f"_{tool.lstrip('_')}"))


def _begins(name: str, whole: str) -> bool:
    return whole[:_ALIKE] in name if len(whole) >= _ALIKE else False
