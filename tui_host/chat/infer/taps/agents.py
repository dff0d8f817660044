"""Taps of agents that say nothing of who they are, told apart by what they offer: a model is told of a server's tools by its own host."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from functools import lru_cache

from tui_host.chat.infer.names import tools_named
from tui_host.chat.infer.taps.about import About
from tui_host.chat.infer.taps.touching import Joins, Stretch, in_a_row, meetings


def agents_of(ran: Mapping[str, Stretch], abouts: Mapping[str, About]) -> Mapping[str, str]:
    """The agent of each tap of which that is known; an agent has the name of one of its taps.

    Args:
        ran: When each tap ran.
        abouts: What is known of each.
    """
    models = _by(lambda about: tuple(about.offered), ran, abouts)
    servers = _by(lambda about: about.tools, ran, abouts)
    agents = Joins()
    for model, own in models:
        for server, others in servers:
            if _offers(model, server):
                for pair in meetings(own, others):
                    agents.join(pair)
    return agents.names


def kin_of(ran: Mapping[str, Stretch], abouts: Mapping[str, About]) -> Mapping[str, str]:
    """Taps that a host which is known by name has in common, and those that others of its taps have in common with further hosts.

    Hosts that take turns at one tap are so of one story with all that is each one's own.

    Args:
        ran: When each tap ran.
        abouts: What is known of each.

    Returns:
        For each tap that is of a known host the name of one of those with which it belongs together.
    """
    of_host: dict[str, list[str]] = {}
    for name in ran:
        for host in abouts[name].known_hosts:
            of_host.setdefault(host, []).append(name)
    kin = Joins()
    for names in of_host.values():
        for together in in_a_row(names, ran.__getitem__):
            kin.join(together)
    return kin.names


def _by(
    told: Callable[[About], tuple[str, ...] | frozenset[tuple[str, str]]],
    ran: Mapping[str, Stretch],
    abouts: Mapping[str, About],
) -> list[tuple[About, dict[str, Stretch]]]:
    """When taps ran of which as much is known, each with what that is: many are of one kind."""
    kinds: dict[Hashable, tuple[About, dict[str, Stretch]]] = {}
    for name, stretch in ran.items():
        about = abouts[name]
        if said := told(about):
            kinds.setdefault((said, about.signs), (about, {}))[1][name] = stretch
    return list(kinds.values())


def _offers(model: About, server: About) -> bool:
    """Whether a model is told of a server's tools."""
    return not model.is_of_another_host(server) and _names_any(tuple(model.offered), server.tools)


@lru_cache(maxsize=1 << 14)
def _names_any(names: tuple[str, ...], tools: frozenset[tuple[str, str]]) -> bool:
    return any(tools_named(name, tools) for name in names)
