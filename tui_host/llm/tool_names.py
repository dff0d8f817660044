"""The names of tools as a model sees them, and the table that maps them to servers and tools."""

from __future__ import annotations

import difflib
import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import count
from types import MappingProxyType
from typing import TypeAlias

from tui_host.llm.messages import ToolSpec

Known: TypeAlias = tuple[str, str]  # a server and a tool of it
_HASH = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class NameRule:
    """A vendor's rule for the names of tools."""

    first: str = "A-Za-z0-9_-"  # the inside of a regular expression's brackets
    rest: str = "A-Za-z0-9_-"
    limit: int = 64

    def clean(self, name: str) -> str:
        """Replace forbidden characters and shorten the name; two names may become equal."""
        text = re.sub(f"[^{self.rest}]", "_", name) or "_"
        is_begun = re.match(f"[{self.first}]", text) is not None
        return (text if is_begun else f"t{text}")[: self.limit]


OPENAI_NAMES = NameRule()
TEXT_NAMES = NameRule(first=r"\w", rest=r"\w.:-", limit=128)  # of plain-text tool protocols: letters of any script


@dataclass(frozen=True, slots=True)
class NameTable:
    """Maps the tool names of a request to servers and tools, and back. Names are looked up, never parsed."""

    names: Mapping[Known, str]
    known: Mapping[str, Known]

    @classmethod
    def make(cls, tools: Iterable[Known], rule: NameRule = OPENAI_NAMES) -> NameTable:
        """Name each tool `SERVER__TOOL`, with a hash if the name breaks a vendor's rule or is taken."""
        names = {tool: "__".join(tool) for tool in dict.fromkeys(tools)}
        taken = Counter(names.values())
        used = {name for name, times in taken.items() if times == 1 and rule.clean(name) == name}
        for tool, name in names.items():
            if name not in used:
                # The number counts only if a real tool already has a name that ends in that hash.
                texts = ("\0".join((*tool, str(number))).encode("utf-8", "backslashreplace") for number in count())
                hashes = (hashlib.sha256(text).hexdigest()[:_HASH] for text in texts)
                made = (f"{rule.clean(name)[: rule.limit - _HASH - 1]}_{digest}" for digest in hashes)
                names[tool] = next(fitting for fitting in made if fitting not in used)
                used.add(names[tool])
        return cls(names, MappingProxyType({name: tool for tool, name in names.items()}))

    def resolve(self, name: str) -> Known | None:
        return self.known.get(resolve(name, self.known) or "")


# What models write behind a name when the server does not parse their markers: `<|channel|>commentary`, `:0`.
_MARKERS = re.compile(r"[<\[][|｜].*|:\d+$", re.DOTALL)
_PREFIX = re.compile(r"(?:functions?|tools?|mcp)(?:\.|__)")  # what models and hosts put before a name


def resolve(name: str, known: Mapping[str, Known]) -> str | None:
    """Return the name in a table that a model meant; None if it may mean no tool, or several.

    A bare tool name, other signs between server and tool, and markers around a name are understood, but never guessed.
    """
    if name in known:
        return name
    words = _words(_PREFIX.sub("", _MARKERS.sub("", name.strip()), count=1))
    meant = [offered for offered, (_, tool) in known.items() if tool == name]
    if words and not meant:
        forms = {offered: (tool, offered, f"{server} {tool}") for offered, (server, tool) in known.items()}
        meant = [offered for offered, alike in forms.items() if words in map(_words, alike)]
    return meant[0] if len(meant) == 1 else None


def _words(name: str) -> tuple[str, ...]:
    return tuple(re.findall(r"[^\W_]+", name))


def tool_meant(name: str, tools: Iterable[ToolSpec]) -> ToolSpec | None:
    """Return the tool that a model meant by a name; None if it may mean none, or several."""
    by_name = {tool.name: tool for tool in tools}
    return by_name.get(resolve(name, {offered: (tool.server, tool.tool) for offered, tool in by_name.items()}) or "")


def nearest(name: str, tools: Iterable[ToolSpec], *, most: int = 3) -> tuple[str, ...]:
    """Return the names most similar to an unknown name, which may be a tool's bare name, best first."""
    named: dict[str, list[str]] = {}
    for tool in tools:
        for form in dict.fromkeys((tool.tool, tool.name, f"{tool.server}__{tool.tool}")):
            named.setdefault(form, []).append(tool.name)
    close = difflib.get_close_matches(name[:200], named, n=3 * most, cutoff=0.5)
    return tuple(dict.fromkeys(full for form in close for full in named[form]))[:most]
