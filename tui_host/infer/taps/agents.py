"""Taps of agents that say nothing of who they are, told apart by what they offer: a model is told of a server's tools by its own host."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Mapping
from itertools import chain
from types import MappingProxyType

from tui_host.infer.taps.about import About
from tui_host.infer.taps.touching import Joins, Stretch, Stretches, in_a_row, meetings
from tui_host.infer.tool_aliases import name_any


def agents_of(
    ran: Mapping[str, Stretch], abouts: Mapping[str, About], voices: Mapping[str, str] = MappingProxyType({})
) -> Mapping[str, str]:
    """The agent of each tap of which that is known; an agent has the name of one of its taps.

    Args:
        ran: When each tap ran.
        abouts: What is known of each.
        voices: The voices of taps before models. A server that several of them tell their models of may be of any of these.
    """
    models = _by(lambda about: tuple(about.offered), ran, abouts, voices)
    agents = Joins()
    for server, others, _ in _by(lambda about: about.tools, ran, abouts):
        offering = [(voice, own) for model, own, voice in models if _offers(model, server)]
        left = _of_no_two_voices([each for each in offering if each[0]], others)
        for voice, own in offering:
            for pair in meetings(own, left if voice else others):
                agents.join(pair)
    return agents.names


def voices_of(ran: Mapping[str, Stretch], abouts: Mapping[str, About]) -> Mapping[str, str]:
    """The voice of each tap through which a model is asked by hosts that are not known by name.

    Those who call themselves the same, or are made with the same, may be one host. So may all who use one tap.

    Args:
        ran: When each tap ran.
        abouts: What is known of each.

    Returns:
        For each such tap the name of one of those whose voice it shares; nothing where all are of one.
    """
    of_name: dict[str, list[str]] = {}
    for tap in ran:
        for name in abouts[tap].voice:
            of_name.setdefault(name, []).append(tap)
    voices = Joins()
    for taps in of_name.values():
        for together in in_a_row(taps, ran.__getitem__):
            voices.join(together)
    return voices.names if len({*voices.names.values()}) > 1 else {}


def as_one(voices: Mapping[str, str], joined: Iterable[Collection[str]]) -> Mapping[str, str]:
    """Voices, some of which are one."""
    whole = Joins()
    for names in chain(([voice] for voice in voices.values()), joined):
        whole.join(names)
    return {tap: whole.names[voice] for tap, voice in voices.items()}


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
    voices: Mapping[str, str] = MappingProxyType({}),
) -> list[tuple[About, dict[str, Stretch], str]]:
    """When taps ran of which as much is known, each with what that is, and with their voice: many are of one kind."""
    kinds: dict[Hashable, tuple[About, dict[str, Stretch], str]] = {}
    for name, stretch in ran.items():
        about, voice = abouts[name], voices.get(name, "")
        if said := told(about):
            kinds.setdefault((said, about.signs, voice), (about, {}, voice))[1][name] = stretch
    return list(kinds.values())


def _of_no_two_voices(
    offering: Iterable[tuple[str, Mapping[str, Stretch]]], servers: Mapping[str, Stretch]
) -> Mapping[str, Stretch]:
    """The servers that models of one voice at most could be told of."""
    ran: dict[str, list[Stretch]] = {}
    for voice, models in offering:
        ran.setdefault(voice, []).extend(models.values())
    if len(ran) < 2:
        return servers
    whole = [Stretches(each) for each in ran.values()]
    return {name: stretch for name, stretch in servers.items() if sum(each.touch(stretch) for each in whole) < 2}


def _offers(model: About, server: About) -> bool:
    """Whether a model is told of a server's tools."""
    return not model.is_of_another_host(server) and name_any(tuple(model.offered), server.tools)
