"""Taps of agents that say nothing of who they are, told apart by what they offer: a model is told of a server's tools by its own host."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache

from tui_host.capture.store.sessions import SessionInfo
from tui_host.chat.infer.about import About
from tui_host.chat.infer.names import tools_named


def agents_of(
    taps: Sequence[SessionInfo],
    abouts: Mapping[str, About],
    touch: Callable[[SessionInfo, SessionInfo], bool],
) -> Mapping[str, str]:
    """The agent of each tap of which that is known, by the ids of their sessions; an agent has the id of one of its taps.

    Args:
        taps: All taps.
        abouts: What is known of each.
        touch: Whether two of them ran at the same time.
    """
    models = [tap for tap in taps if abouts[tap.id].offered]
    servers = [tap for tap in taps if abouts[tap.id].tools]
    agents: dict[str, set[str]] = {}
    for model in models:
        own = [each for each in servers if touch(model, each) and _offers(abouts[model.id], abouts[each.id])]
        together = {model.id, *(each.id for each in own)} if own else set[str]()
        for known in [agents[name] for name in together if name in agents]:
            together |= known
        agents.update(dict.fromkeys(together, together))
    return {name: min(together) for name, together in agents.items()}


def kin_of(
    taps: Sequence[SessionInfo],
    abouts: Mapping[str, About],
    touch: Callable[[SessionInfo, SessionInfo], bool],
) -> Mapping[str, str]:
    """Taps that a host which is known by name has in common, and those that others of its taps have in common with further hosts.

    Hosts that take turns at one tap are so of one story with all that is each one's own.

    Args:
        taps: All taps.
        abouts: What is known of each.
        touch: Whether two of them ran at the same time.

    Returns:
        For each tap that is of a known host the id of one of those with which it belongs together.
    """
    before: dict[str, list[SessionInfo]] = {}
    kin: dict[str, set[str]] = {}
    for tap in taps:
        together = {tap.id}
        for host in abouts[tap.id].known_hosts:
            for other in before.setdefault(host, []):
                if other.id not in together and touch(tap, other):
                    together |= kin[other.id]
            before[host].append(tap)
        if abouts[tap.id].known_hosts:
            kin.update(dict.fromkeys(together, together))
    return {name: min(together) for name, together in kin.items()}


def _offers(model: About, server: About) -> bool:
    """Whether a model is told of a server's tools."""
    return not model.is_of_another_host(server) and _names_any(tuple(model.offered), server.tools)


@lru_cache(maxsize=1 << 10)
def _names_any(names: tuple[str, ...], tools: frozenset[tuple[str, str]]) -> bool:
    return any(tools_named(name, tools) for name in names)
