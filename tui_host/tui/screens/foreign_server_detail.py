"""What is told of a server of a session from elsewhere, as entries: beside what is known of one's own, who its host is and what it lists."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tui_host.capture.json.narrowing import mapping
from tui_host.capture.visible import line
from tui_host.tui.screens.servers_detail import Flow, Parts, fact, spelled
from tui_host.tui.widgets.pages.tree_page import Entry

if TYPE_CHECKING:
    from tui_host.errors import JSON
    from tui_host.servers.catalog import State
    from tui_host.tui.masks import Mask
    from tui_host.tui.sources.tapped_servers import ToldServer, ToldServers

STATES: dict[State, str] = {"ready": "live", "stopped": "ended"}
"""What a server that is looked at from outside is said to be."""
READ_ONLY = "Another host's server: it can be looked at, and no more."
_LISTED = {
    "resources": ("resources", "uri"),
    "resourceTemplates": ("templates", "uriTemplate"),
    "prompts": ("prompts", "name"),
}
"""By a list's name: what it is called here, and what names a thing in it."""
_ASKED = ("tools", "resources", "prompts")
_WORDS = 300


def state_of(told: ToldServer) -> str:
    """How it is, in a word."""
    return STATES.get(told.status.state, told.status.state)


def flow_of(told: ToldServer, servers: ToldServers) -> Flow:
    """Its frames, the last of them one by one."""
    flow = Flow(told.status.connection)
    flow.sent, flow.received = told.status.frames_out, told.status.frames_in
    flow.last.extend(servers.last(told.status.name))
    return flow


def told_notes(told: ToldServer, whose: str, mask: Mask) -> list[str]:
    """What stands above all: whose it is, and how it is."""
    reason = f": {line(mask(told.status.detail), 600)}" if told.status.detail else ""
    return [f"{state_of(told)}{reason}, {whose}: read only"]


def told_entries(told: ToldServer, flow: Flow, parts: Parts, mask: Mask) -> Sequence[Entry]:
    """All that its frames tell of it."""
    entries: list[Entry] = []
    if told.client:
        entries.append(fact("host", mask(told.client)))
    if told.abilities is not None:
        names = ", ".join(mapping(told.abilities)) or "nothing"
        entries.append(fact("host offers", mask(names), text=mask(spelled(told.abilities))))
    lists = [_list(name, told.listed[name], mask) for name in _LISTED if name in told.listed]
    offered = mapping(told.status.capabilities)
    missed = [name for name in _ASKED if name not in told.listed and name in offered]
    if missed:
        lists.append(fact("not asked for", ", ".join(missed)))
    return [*entries, *parts.of(told.status, flow, lists)]


def _list(name: str, listed: Sequence[JSON], mask: Mask) -> Entry:
    called, names = _LISTED[name]
    return Entry(
        key=name,
        label=f"{called} ({len(listed):,})",
        children=tuple(_thing(number, mapping(thing), names, mask) for number, thing in enumerate(listed)),
        style="what",
    )


def _thing(number: int, thing: JSON, names: str, mask: Mask) -> Entry:
    known = mapping(thing)
    texts = [value for key in (names, "title", "name", "description") if isinstance(value := known.get(key), str)]
    first, *more = [*dict.fromkeys(texts)] or ["(no name)"]
    return Entry(
        key=f"{number}",
        label=mask(first),
        note=line(mask("  ".join(more)), _WORDS),
        text=lambda: mask(spelled(thing)),
        style="key",
    )
