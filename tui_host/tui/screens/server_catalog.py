"""A server's resources, templates and prompts as entries of a tree, and the filter over all its lists."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tui_host.answers.sheet import SheetLine
from tui_host.capture.short_units import short_size
from tui_host.capture.visible import line

if TYPE_CHECKING:
    from tui_host.answers.masks import Mask
    from tui_host.servers.catalog import OfferedPrompt, PromptArgument, Resource, ServerStatus

_LABEL = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerChoices:
    """What the person chose for a server."""

    off: frozenset[str] = frozenset()  # names of tools that are switched off
    instructions: str = ""  # whether the server's instructions are sent, in words
    wanted: str = ""  # words by which the lists are filtered; empty for whole lists


def filtered(entry: SheetLine, wanted: str) -> SheetLine:
    """Return a list's entry with only the items that have all words in their label, note or description."""
    words = wanted.lower().split()
    if not words:
        return entry
    children = tuple(child for child in entry.children if all(word in _searched(child) for word in words))
    name = entry.label.partition(" (")[0]
    return replace(
        entry, label=f"{name} ({len(children):,} of {len(entry.children):,})", children=children, opened=True
    )


def _searched(entry: SheetLine) -> str:
    return f"{entry.label}\n{entry.note}".lower()


class Lists:
    """Builds the entries of resources, templates and prompts, once per listing: there may be thousands.

    Args:
        mask: Hides secrets.
    """

    def __init__(self, mask: Mask) -> None:
        self._mask = mask
        self._kept: dict[str, tuple[Sequence[object], SheetLine]] = {}

    def of(self, status: ServerStatus) -> list[SheetLine]:
        """Return the entries of the lists that have items."""
        mask = self._mask
        entries = [
            self._list("resources", status.resources, lambda: [_resource(each, mask) for each in status.resources]),
            self._list("templates", status.templates, lambda: [_resource(each, mask) for each in status.templates]),
            self._list("prompts", status.prompts, lambda: [_prompt(each, mask) for each in status.prompts]),
        ]
        updates = [_subscription(each, mask) for each in status.subscriptions]
        if updates:
            label = f"subscriptions ({len(updates):,})"
            entries.append(
                SheetLine(key="subscriptions", label=label, children=tuple(updates), opened=True, style="what")
            )
        return [entry for entry in entries if entry.children]

    def _list(self, name: str, items: Sequence[object], build: Callable[[], Sequence[SheetLine]]) -> SheetLine:
        kept = self._kept.get(name)
        if kept is None or kept[0] is not items:
            label = f"{name} ({len(items):,})"
            kept = self._kept[name] = items, SheetLine(key=name, label=label, children=tuple(build()), style="what")
        return kept[1]


def _resource(resource: Resource, mask: Mask) -> SheetLine:
    hints = ", ".join(f"{name} {json.dumps(value, ensure_ascii=False)}" for name, value in resource.annotations)
    facts = {
        "name": resource.name,
        "description": resource.description,
        "type": resource.media_type,
        "the server claims": hints,
    }
    size = "" if resource.size is None else short_size(resource.size) + "B" * (resource.size >= 1000)
    return SheetLine(
        key=resource.uri,
        label=mask(resource.uri),
        figures=(size,) if size else (),
        note=line(mask(resource.name or resource.description), _LABEL),
        children=_facts(facts, mask),
        style="key",
    )


def _prompt(prompt: OfferedPrompt, mask: Mask) -> SheetLine:
    facts = {"title": prompt.title, "description": prompt.description}
    return SheetLine(
        key=prompt.name,
        label=mask(prompt.name) + mask("".join(f" {_place(argument)}" for argument in prompt.arguments)),
        note=line(mask(prompt.title or prompt.description), _LABEL),
        children=(*_facts(facts, mask), *(_argument(argument, mask) for argument in prompt.arguments)),
        style="key",
    )


def _place(argument: PromptArgument) -> str:
    return f"{{{argument.name}}}" if argument.required else f"[{argument.name}]"


def _argument(argument: PromptArgument, mask: Mask) -> SheetLine:
    need = "required" if argument.required else "optional"
    words = f"{argument.name}: {need}{f'. {argument.description}' if argument.description else ''}"
    return SheetLine(key=f"argument {argument.name}", label=mask(words), is_wrapped=True)


def _subscription(subscription: tuple[str, int], mask: Mask) -> SheetLine:
    uri, count = subscription
    return SheetLine(
        key=uri,
        label=mask(uri),
        figures=(f"{count:,} update{'s' if count != 1 else ''}",),
        style="key",
    )


def _facts(facts: dict[str, str], mask: Mask) -> tuple[SheetLine, ...]:
    return tuple(
        SheetLine(key=name, label=f"{name}: {mask(words)}", is_wrapped=True) for name, words in facts.items() if words
    )
