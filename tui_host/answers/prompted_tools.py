"""The tools that a tool protocol writes into the prompt: which bytes of the list are about which tool."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from tui_host.capture.visible import decode

LISTS = "lists the tools"
"""The purpose of the text that is such a list, in the words of the links that tell it."""
_LINE = rb"(?:^|\\n|<tools>)\s*"
_ENTRY = re.compile(
    _LINE + rb"(?P<form>- |\d+\. |Tool: |<tool>(?:\\n|\s)*<name>|\{(?:[^{}]{0,60}\{)?\s*\\\"name\\\":\s*\\\")"
    rb"(?P<name>[^\s\\:<\"]+)(?=: |:?\\n|</name>|\\\")"
)
"""Where a tool begins: a line of `cline` and `react`, of `json` and `function`, of `cherry`, of `hermes`."""
_HEADING = re.compile(_LINE + rb"##(?P<deep>#?) (?P<words>[^\\]*)")
"""A heading of `cline`, which names a server unless it is a deep one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedTool:
    """A tool in such a list."""

    name: str  # the name that the model sees
    server: str  # its server; empty for a tool of nobody that is known
    tool: str  # the name that the server gave it
    start: int  # its first byte in the list
    end: int  # one past its last


def listed_tools(text: bytes, names: Mapping[str, tuple[str, str]]) -> Iterator[ListedTool]:
    """Yield the tools of a list that stands in a JSON string, in order; none if the form of the list is not known.

    Args:
        text: The list, escaped as in the body.
        names: Server and tool for each name.
    """
    entries = list(_ENTRY.finditer(text))
    entries = [entry for entry in entries if entry["form"] == entries[0]["form"]]
    headings = list(_HEADING.finditer(text)) if entries and entries[0]["form"] == b"- " else []
    ends = sorted((*(match.start() for match in (*entries, *headings)), len(text)))
    known = {*names.values()}
    for entry in entries:
        above = (each["words"] for each in headings if not each["deep"] and each.start() < entry.start())
        server = decode(next(reversed(list(above)), b"")).partition(" (")[0]
        name = decode(entry["name"])
        place = (server, name) if server else names.get(name, ("", name))
        if server or place in known or not known:
            end = next(end for end in ends if end > entry.start())
            yield ListedTool(name=name, server=place[0], tool=place[1], start=entry.start(), end=end)
