"""What a server offers as plain data, to be compared with what it offered before."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from typing_extensions import override

from tui_host.capture.json.narrowing import mapping
from tui_host.errors import JSON

if TYPE_CHECKING:
    from tui_host.servers.catalog import ServerStatus, Tool

Offers: TypeAlias = dict[str, dict[str, dict[str, JSON]]]  # definitions by name, by kind: `tool`, `resource`, `prompt`
_WORDS = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogChange:
    """Something that is new (`+`), gone (`-`) or changed (`~`). A resource's name is its URI; name and words are untrusted."""

    sign: Literal["+", "-", "~"]
    kind: str
    name: str
    words: str = ""

    @override
    def __str__(self) -> str:
        """Return the change as a line."""
        return f"{self.sign} {self.kind} {self.name}{f': {self.words}' if self.words else ''}"


def offers_of(status: ServerStatus) -> Offers:
    """Return what a ready server offers."""
    return {
        "tool": {tool.name: _definition(tool) for tool in status.tools},
        "resource": {each.uri: {"description": each.description} for each in (*status.resources, *status.templates)},
        "prompt": {
            each.name: {"description": each.description, "arguments": [argument.name for argument in each.arguments]}
            for each in status.prompts
        },
    }


def changed_parts(before: Tool, after: Tool) -> tuple[str, ...]:
    """Return the parts of a tool's definition that differ."""
    return tuple(key for key, _ in _differences(_definition(before), _definition(after)))


def changes_between(before: Mapping[str, JSON], after: Offers) -> tuple[CatalogChange, ...]:
    """Return the differences, tools first. `before` may come from a file, in any form."""
    changes: list[CatalogChange] = []
    for kind, now in after.items():
        was = mapping(before.get(kind))
        changes += [CatalogChange(sign="+", kind=kind, name=name) for name in now if name not in was]
        changes += [CatalogChange(sign="-", kind=kind, name=name) for name in was if name not in now]
        for name in (name for name in now if name in was):
            words = "; ".join(f"{key} {changed}" for key, changed in _differences(mapping(was[name]), now[name]))
            if words:
                changes.append(CatalogChange(sign="~", kind=kind, name=name, words=words))
    return tuple(changes)


def _definition(tool: Tool) -> dict[str, JSON]:
    return {
        "title": tool.title,
        "description": tool.description,
        "input schema": tool.schema,
        "output schema": tool.output_schema,
        "annotations": dict(tool.annotations),
        "problem": tool.problem,
    }


def _differences(before: Mapping[str, JSON], after: Mapping[str, JSON]) -> Iterator[tuple[str, str]]:
    """Yield the members that differ, each with the words that do, as `old → new`, `+new`, `-old`."""
    for key, value in after.items():
        was, now = (  # with spaces between the words of JSON, so that single words can be compared
            each or "" if each is None or isinstance(each, str) else json.dumps(each, sort_keys=True, indent=1)
            for each in (before.get(key), value)
        )
        if was == now:
            continue
        old, new, pieces = was.split(), now.split(), list[str]()
        for kind, a, b, c, d in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
            texts = (" ".join(old[a:b]), " ".join(new[c:d]))
            removed, added = (text if len(text) <= _WORDS else f"{text[: _WORDS - 1]}…" for text in texts)
            if kind == "replace":
                pieces.append(f"{removed} → {added}")
            elif kind != "equal":
                pieces.append(f"+{added}" if kind == "insert" else f"-{removed}")
        yield key, ", ".join(pieces)
