"""The names of tools as a model sees them, and the table that maps them to servers and tools."""

from __future__ import annotations

import difflib
import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TypeAlias

from tui_host.llm.messages import ToolSpec

Known: TypeAlias = tuple[str, str]

_HASH = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class NameRule:
    """A vendor's rule for the names of tools.

    Attributes:
        first: The characters a name may begin with, as the inside of a regular expression's brackets.
        rest: The characters allowed after the first.
        limit: The most characters.
    """

    first: str = "A-Za-z0-9_-"
    rest: str = "A-Za-z0-9_-"
    limit: int = 64

    def allows(self, name: str) -> bool:
        """Tell whether a name may be sent as it is."""
        return len(name) <= self.limit and re.fullmatch(f"[{self.first}][{self.rest}]*", name) is not None

    def clean(self, name: str) -> str:
        """Replace forbidden characters and shorten the name; two names may become equal."""
        text = re.sub(f"[^{self.rest}]", "_", name) or "_"
        if re.match(f"[{self.first}]", text) is None:
            text = f"t{text}"
        return text[: self.limit]

    def hashed(self, name: str, *, of: str) -> str:
        """Shorten a name to fit with a hash of the original name, which keeps it unique."""
        digest = hashlib.sha256(of.encode("utf-8", "backslashreplace")).hexdigest()[:_HASH]
        return f"{self.clean(name)[: self.limit - _HASH - 1]}_{digest}"


OPENAI_NAMES = NameRule()
"""The rule `^[a-zA-Z0-9_-]{1,64}$`."""


TEXT_NAMES = NameRule(first=r"\w", rest=r"\w.:-", limit=128)
"""Names that plain-text tool protocols accept: letters of any script."""


class NameTable:
    """Maps the tool names of a request to servers and tools, and back. Names are looked up, never parsed."""

    def __init__(self, names: Mapping[Known, str]) -> None:
        """Take a table built by `make`."""
        self._names = MappingProxyType(dict(names))
        self._known: Mapping[str, Known] = MappingProxyType(
            {name: tools_by_name for tools_by_name, name in self._names.items()}
        )

    @classmethod
    def make(cls, tools: Iterable[Known], rule: NameRule = OPENAI_NAMES) -> NameTable:
        """Name each tool `SERVER__TOOL`, with a hash if the name breaks a vendor's rule or is taken."""
        wanted = {
            server_and_tool: f"{server_and_tool[0]}__{server_and_tool[1]}" for server_and_tool in dict.fromkeys(tools)
        }
        taken = Counter(wanted.values())
        names: dict[Known, str] = {}
        used = {name for name, count in taken.items() if count == 1 and rule.allows(name)}
        for server_and_tool, name in wanted.items():
            if name in used:
                names[server_and_tool] = name
                continue
            number = 0
            while True:  # repeats only if a real tool already has a name that ends in that hash
                made = rule.hashed(name, of="\0".join((*server_and_tool, str(number))))
                if made not in used:
                    break
                number += 1
            used.add(made)
            names[server_and_tool] = made
        return cls(names)

    def name(self, server: str, tool: str) -> str:
        """Return the model's name for a tool.

        Raises:
            KeyError: The tool is not in the table.
        """
        return self._names[server, tool]

    def find(self, name: str) -> Known | None:
        """Return server and tool of a model's name. None if unknown."""
        return self._known.get(name)

    def resolve(self, name: str) -> Known | None:
        """Return server and tool for a name as a model wrote it."""
        return self._known.get(resolve(name, self._known) or "")

    @property
    def known(self) -> Mapping[str, Known]:
        """Server and tool by name."""
        return self._known


_MARKERS = re.compile(r"[<\[][|｜].*|:\d+$", re.DOTALL)
"""What models write behind a name when the server does not parse their markers: `<|channel|>commentary`, `:0`."""
_PREFIX = re.compile(r"(?:functions?|tools?|mcp)(?:\.|__)")
"""What models and hosts put before a name: `functions.`, `mcp__`."""


def resolve(name: str, known: Mapping[str, Known]) -> str | None:
    """Return the name in a table that a model meant; None if it may mean no tool, or several.

    A bare tool name, other signs between server and tool, and markers around a name are understood, but never guessed.
    """
    if name in known:
        return name
    words = _words(_PREFIX.sub("", _MARKERS.sub("", name.strip()), count=1))
    bare = [offered for offered, (_, tool) in known.items() if tool == name]
    alike = [
        offered
        for offered, (server, tool) in known.items()
        if words in {_words(tool), _words(offered), _words(f"{server} {tool}")}
    ]
    meant = bare or (alike if words else [])
    return meant[0] if len(meant) == 1 else None


def _words(name: str) -> tuple[str, ...]:
    return tuple(re.findall(r"[^\W_]+", name))


def tool_meant(name: str, tools: Iterable[ToolSpec]) -> ToolSpec | None:
    """Return the tool that a model meant by a name; None if it may mean none, or several."""
    by_name = {tool.name: tool for tool in tools}
    return by_name.get(resolve(name, {offered: (tool.server, tool.tool) for offered, tool in by_name.items()}) or "")


def nearest(name: str, tools: Iterable[ToolSpec], *, most: int = 3, alike: float = 0.5) -> tuple[str, ...]:
    """Return the names most similar to an unknown name, best first.

    Args:
        name: As a model wrote it; may be a tool's bare name.
        tools: The tools that the model may know.
        most: The most names to return.
        alike: The least similarity, from 0 to 1.
    """
    named: dict[str, list[str]] = {}
    for tool in tools:
        for form in dict.fromkeys((tool.tool, tool.name, f"{tool.server}__{tool.tool}")):
            named.setdefault(form, []).append(tool.name)
    close = difflib.get_close_matches(name[:200], named, n=3 * most, cutoff=alike)
    return tuple(dict.fromkeys(full for form in close for full in named[form]))[:most]
