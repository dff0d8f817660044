"""Who spoke in a story: its hosts, the models that they asked, and the tool protocols in which they did. Each of several is named."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from types import MappingProxyType
from typing import TypeAlias

from tui_host.infer.asking.host_names import asks_no_model, host_named, is_host, is_known_by_clients_alone
from tui_host.infer.asking.model_exchange import Asking

Agent: TypeAlias = tuple[str, str]
"""What a request's headers say of who sends it."""
Own: TypeAlias = Mapping[Agent, str]
"""The hosts that agents were found to be of which these say nothing to their models, but before servers."""

NATIVE = "native"
"""The protocol of those who leave it to the vendor's API; and where no tools are told of."""
_NAMED = 2
"""So many are named: over a tap that runs for long many may speak."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Speaking:
    """What one exchange with a model tells of who speaks.

    Attributes:
        host: Who asks, as far as that can be told.
        agent: What the headers alone say of that.
        peer: Who is asked.
        model: Which model.
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
    """The same of an exchange."""
    return Speaking(
        host=asking.host,
        agent=asking.agent,
        peer=asking.peer,
        model=asking.model,
        protocol=asking.protocol,
        has_tools=bool(asking.offered),
    )


def hosts_of(spoken: Collection[Speaking], clients: Iterable[str], own: Own = MappingProxyType({})) -> list[str]:
    """The hosts, in the order in which they were heard, those before servers last.

    Args:
        spoken: What was asked of models.
        clients: What the clients of servers call themselves.
        own: Hosts that do not name themselves to their models.
    """
    asking = hosts_asking(spoken, own).values()
    calling = list(map(host_named, clients))
    if any(map(is_host, (*asking, *calling))):
        calling = list(filter(is_host, calling))
    return list(dict.fromkeys(filter(None, (*asking, *calling))))


def hosts_asking(spoken: Collection[Speaking], own: Own) -> Mapping[Speaking, str]:
    """The host that each of these is of; empty where that is not known.

    What hosts are made with stands for one only where it may not be of one that is named: not where the same agent has said who it
    is, nor where it was found to be one that its servers alone know by name.
    """
    known: dict[Agent, set[str]] = {agent: {host} for agent, host in own.items()}
    for each in spoken:
        if is_host(each.host):
            known.setdefault(each.agent, set()).add(each.host)
    return {each: each.host if is_host(each.host) else _only(known.get(each.agent, {each.host})) for each in spoken}


def own_hosts(spoken: Collection[Speaking], clients: Iterable[str]) -> Own:
    """Return the host of the agents that do not name themselves, where one host alone is named, by the clients of its servers.

    Only hosts that never name themselves to their models count: of others an agent without a name is another program.
    """
    beside = {host for host in map(host_named, clients) if is_host(host) and not asks_no_model(host)}
    host = _only(beside)
    if not is_known_by_clients_alone(host) or any(is_host(each.host) for each in spoken):
        return {}
    return {each.agent: host for each in spoken}


def _only(hosts: Collection[str]) -> str:
    return next(iter(hosts)) if len(hosts) == 1 else ""


def models_of(spoken: Iterable[Speaking]) -> list[tuple[str, str]]:
    """Provider and model of all that were asked, in the order in which they were first."""
    return list(dict.fromkeys((each.peer, each.model) for each in spoken))


def protocols_of(spoken: Collection[Speaking]) -> list[str]:
    """The tool protocols, likewise; but an agent that teaches one is not named for what it asks without any tools, as for a title."""
    taught = {each.agent for each in spoken if each.protocol != NATIVE}
    told = (each.protocol for each in spoken if each.protocol != NATIVE or each.has_tools or each.agent not in taught)
    return list(dict.fromkeys(filter(None, told)))


def in_words(names: Sequence[str]) -> str:
    """Several in words: `Cline and Zed`, `Cline, Zed +3 more`."""
    more = len(names) - _NAMED
    return f"{', '.join(names[:_NAMED])} +{more} more" if more > 0 else " and ".join(names)


def models_in_words(models: Sequence[tuple[str, str]]) -> str:
    """Models with their providers, each of which is named once: `demo/gpt-x and gpt-y`; empty for none."""
    asked = [each for each in models if each[1]] or models
    peers = [peer for peer, _ in asked]
    is_new = [True, *(one != two for one, two in pairwise(peers))]
    return in_words(
        ["/".join(filter(None, (peer * new, model))) for (peer, model), new in zip(asked, is_new, strict=False)]
    )
