"""The names of tools as seen by a model, and the table back to servers and tools."""

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
        """Tell whether a name may be sent unchanged."""
        return len(name) <= self.limit and re.fullmatch(f"[{self.first}][{self.rest}]*", name) is not None

    def clean(self, name: str) -> str:
        """Replace forbidden characters and cut the name; two names may become equal."""
        text = re.sub(f"[^{self.rest}]", "_", name) or "_"
        if re.match(f"[{self.first}]", text) is None:
            text = f"t{text}"
        return text[: self.limit]

    def hashed(self, name: str, *, of: str) -> str:
        """Make a name fit, with a hash of the original for uniqueness."""
        digest = hashlib.sha256(of.encode("utf-8", "backslashreplace")).hexdigest()[:_HASH]
        return f"{self.clean(name)[: self.limit - _HASH - 1]}_{digest}"


OPENAI_NAMES = NameRule()
"""`^[a-zA-Z0-9_-]{1,64}$`."""


class NameTable:
    """The names of a request's tools, both ways. Names are looked up, never parsed."""

    def __init__(self, names: Mapping[Known, str]) -> None:
        """Take a table built by `make`."""
        self._names = MappingProxyType(dict(names))
        self._known: Mapping[str, Known] = MappingProxyType(
            {name: tools_by_name for tools_by_name, name in self._names.items()}
        )

    @classmethod
    def make(cls, tools: Iterable[Known], rule: NameRule = OPENAI_NAMES) -> NameTable:
        """Name each tool `SERVER__TOOL`, with a hash in case of conflict with a vendor's rule or another tool.

        Args:
            tools: Server and tool, as the servers call them; duplicates count once.
            rule: The dialect's rule.
        """
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
            while True:  # a second round only when somebody's tool bears the very name that the hash would give
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

    @property
    def known(self) -> Mapping[str, Known]:
        """Server and tool by name."""
        return self._known


def nearest(name: str, tools: Iterable[ToolSpec], *, most: int = 3, alike: float = 0.5) -> tuple[str, ...]:
    """Return the names most similar to an unknown name, best first.

    Args:
        name: As a model wrote it; a tool's bare name leads to it too.
        tools: All that a model may know by name.
        most: How many at most.
        alike: From 0 to 1, how much alike they are at least.
    """
    named: dict[str, list[str]] = {}
    for tool in tools:
        for form in dict.fromkeys((tool.tool, tool.name, f"{tool.server}__{tool.tool}")):
            named.setdefault(form, []).append(tool.name)
    close = difflib.get_close_matches(name[:200], named, n=3 * most, cutoff=alike)
    return tuple(dict.fromkeys(full for form in close for full in named[form]))[:most]
