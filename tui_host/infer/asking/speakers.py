"""Name the hosts, models and tool protocols of a story."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from types import MappingProxyType
from typing import TypeAlias

from tui_host.infer.asking.host_names import asks_no_model, host_named, is_host, is_named_by_clients_alone
from tui_host.infer.asking.model_exchange import Asking

Agent: TypeAlias = tuple[str, str]
"""User agent and title from a request's headers."""
Own: TypeAlias = Mapping[Agent, str]
"""The hosts of agents that name themselves only to servers."""

NATIVE = "native"
"""The protocol of requests that use the vendor's API for tools, and of requests without tools."""
_NAMED = 2
"""How many names are listed before the rest is counted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Speaking:
    """The host, model and protocol of one exchange.

    Attributes:
        host: The name of the host; empty if unknown.
        agent: What the headers alone state of the host.
        peer: Who is asked.
        model: The model's name.
        protocol: The tool protocol.
        has_tools: Tools are offered by the vendor's API.
    """

    host: str = ""
    agent: Agent = ("", "")
    peer: str = ""
    model: str = ""
    protocol: str = ""
    has_tools: bool = False


def speaking_in(asking: Asking) -> Speaking:
    """Return the host, model and protocol of an exchange."""
    return Speaking(
        host=asking.host,
        agent=asking.agent,
        peer=asking.peer,
        model=asking.model,
        protocol=asking.protocol,
        has_tools=bool(asking.offered),
    )


def hosts_of(spoken: Collection[Speaking], clients: Iterable[str], own: Own = MappingProxyType({})) -> list[str]:
    """Return the hosts in order of appearance, model requests before server connections.

    Args:
        spoken: The speakers of all model requests.
        clients: The names of the servers' clients.
        own: Hosts of agents that do not name themselves to models.
    """
    asking = hosts_asking(spoken, own).values()
    calling = list(map(host_named, clients))
    if any(map(is_host, (*asking, *calling))):
        calling = list(filter(is_host, calling))
    return list(dict.fromkeys(filter(None, (*asking, *calling))))


def hosts_asking(spoken: Collection[Speaking], own: Own) -> Mapping[Speaking, str]:
    """Return the host of each speaker; empty where unknown.

    An SDK stands for a host only if no named host may be meant: the agent has not named itself elsewhere, and no host known
    only to servers was found for the agent.
    """
    hosts_by_agent: dict[Agent, set[str]] = {agent: {host} for agent, host in own.items()}
    for speaking in spoken:
        if is_host(speaking.host):
            hosts_by_agent.setdefault(speaking.agent, set()).add(speaking.host)
    return {
        speaking: speaking.host
        if is_host(speaking.host)
        else _only(hosts_by_agent.get(speaking.agent, {speaking.host}))
        for speaking in spoken
    }


def own_hosts(spoken: Collection[Speaking], clients: Iterable[str]) -> Own:
    """Return the host of agents that do not name themselves, where clients of servers name exactly one host.

    Only hosts that never name themselves to models count: beside other hosts an unnamed agent is another program.
    """
    beside = {host for host in map(host_named, clients) if is_host(host) and not asks_no_model(host)}
    host = _only(beside)
    if not is_named_by_clients_alone(host) or any(is_host(speaking.host) for speaking in spoken):
        return {}
    return {speaking.agent: host for speaking in spoken}


def _only(hosts: Collection[str]) -> str:
    return next(iter(hosts)) if len(hosts) == 1 else ""


def models_of(spoken: Iterable[Speaking]) -> list[tuple[str, str]]:
    """Return provider and model of all requests, in order of first use."""
    return list(dict.fromkeys((speaking.peer, speaking.model) for speaking in spoken))


def protocols_of(spoken: Collection[Speaking]) -> list[str]:
    """Return the tool protocols in order of first use; tool-less requests of a protocol's agent do not count as native."""
    taught = {speaking.agent for speaking in spoken if speaking.protocol != NATIVE}
    protocols = (
        speaking.protocol
        for speaking in spoken
        if speaking.protocol != NATIVE or speaking.has_tools or speaking.agent not in taught
    )
    return list(dict.fromkeys(filter(None, protocols)))


def in_words(names: Sequence[str]) -> str:
    """Join names: `Cline and Zed`, `Cline, Zed +3 more`."""
    more = len(names) - _NAMED
    return f"{', '.join(names[:_NAMED])} +{more} more" if more > 0 else " and ".join(names)


def models_in_words(models: Sequence[tuple[str, str]]) -> str:
    """Join models, naming each provider once: `demo/gpt-x and gpt-y`; empty for none."""
    asked = [pair for pair in models if pair[1]] or models
    peers = [peer for peer, _ in asked]
    is_new = [True, *(peer != following for peer, following in pairwise(peers))]
    return in_words(
        ["/".join(filter(None, (peer * new, model))) for (peer, model), new in zip(asked, is_new, strict=False)]
    )
