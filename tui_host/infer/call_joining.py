"""Join each call that a model made with the frames on its server's wire and with the result in the next request."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from tui_host.capture.wall_clock import WallClock
from tui_host.infer.alias_table import Naming
from tui_host.infer.asking.conversations import Key, Said, Talks
from tui_host.infer.asking.host_names import asks_no_model, host_named, is_host
from tui_host.infer.asking.request_messages import Heard
from tui_host.infer.asking.results import results_in
from tui_host.infer.asking.text_protocols import reader_of
from tui_host.infer.call_values import Asked, Line, Sent, Told
from tui_host.infer.clock_offsets import Cuts
from tui_host.infer.matching.candidates import Candidate, places_of
from tui_host.infer.matching.matching import match
from tui_host.infer.matching.shared_servers import Connection
from tui_host.infer.tapped_frames import Frames
from tui_host.infer.tool_aliases import meant, names_server
from tui_host.llm.events import TextDelta
from tui_host.llm.fold import Fold

TOLD_OTHERWISE = "told otherwise"
"""The remark on a call whose result differs from the server's answer."""
_Unheeded: TypeAlias = dict[tuple[str, str, str | None], int]
"""The times of first calls in answers that nothing continues, by host, tool and arguments."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Joined:
    """A call with the frames and results that belong to the call.

    Attributes:
        asked: The call.
        server: The server's name in the tap; empty if unknown.
        tool: The tool's own name, else the name as the model wrote it.
        sent: The frames that carried the call.
        told: The places of the result in requests.
        rivals: The frames that may have carried the call, if doubtful.
        is_told_otherwise: Whether the result differs from the server's answer.
    """

    asked: Asked
    server: str
    tool: str
    sent: tuple[Sent, ...] = ()
    told: tuple[Told, ...] = ()
    rivals: tuple[Sent, ...] = ()
    is_told_otherwise: bool = False

    @property
    def is_inferred(self) -> bool:
        """Whether any frame was matched by content, without the call's id."""
        return not all(map(self.is_named_in, self.sent))

    def is_named_in(self, sent: Sent) -> bool:
        """Return whether a frame contains the model's id of the call."""
        return self.asked.wire_id in sent.ids


class Joining:
    """Joins the calls and frames read so far.

    Args:
        talks: The conversations.
        frames: The servers' side.
        naming: Resolves tool names.
        cuts: How exact the times are.
    """

    def __init__(self, talks: Talks, frames: Frames, naming: Naming, cuts: Cuts, clock: WallClock) -> None:
        self._talks = talks
        self._frames = frames
        self._naming = naming
        self._cuts = cuts
        self._clock = clock
        self._before: dict[Key, Sequence[tuple[Asked, Told | None]]] = {}

    def joined(self) -> Iterator[Joined]:
        """Yield all calls in order, each with the frames and results that certainly belong to the call."""
        asked: list[Asked] = []
        results: dict[str, list[Told]] = {}
        candidates: list[Candidate] = []
        unheeded: _Unheeded = {}
        names = {line: host_named(name) for line, name in self._frames.clients.items()}
        lines = self._connections(names)
        for key, exchange in self._talks.said.items():
            calls = exchange.asking.calls()
            asked += calls
            for call, place in self._talks.told(key):
                results.setdefault(call.key, []).append(place)
            if not self._talks.is_left(key):
                candidates += self._candidates(key, calls, results, lines[exchange.asking.host])
            candidates += self._candidates_before(key, lines[exchange.asking.host], unheeded)
            for call, meaning in zip(() if exchange.children else calls, exchange.asking.meant(), strict=False):
                unheeded.setdefault((_named(exchange.asking.host), *meaning), call.at_ns)
        connections = [
            Connection(line=line, server=server, client=names.get(line, ""), since_ns=self._frames.since[line])
            for line, server in self._frames.peers.items()
        ]
        cuts = ((sent, self._cuts.of((sent.capture, sent.server))) for sent in self._frames.sent.values())
        frames = [replace(sent, cut_ns=cut_ns) if cut_ns else sent for sent, cut_ns in cuts]
        matched = match(candidates, frames, connections)
        rivals: dict[str, list[Sent]] = {}
        for frame, calls in matched.doubtful.items():
            for call in calls:
                rivals.setdefault(call, []).append(self._frames.sent[frame])
        tools = {candidate.asked.key: candidate.tools for candidate in candidates}
        for call in asked:
            sent = matched.frames.get(call.key, ())
            place = matched.told.get(call.key, call.key)
            named = [tool for tool in tools.get(call.key, ()) if names_server(call.name, *tool)]
            server, tool = (sent[0].server, sent[0].tool) if sent else named[0] if len(named) == 1 else ("", call.name)
            places = tuple(results.get(place or "", ()))
            rival = tuple(rivals.get(call.key, ()))
            yield Joined(
                asked=call,
                server=server,
                tool=tool,
                sent=sent,
                told=places,
                rivals=rival,
                is_told_otherwise=call.key in matched.told_otherwise,
            )

    def _connections(self, names: Mapping[Line, str]) -> Mapping[str, frozenset[Line]]:
        """Return the connections that each host may use; a host known by name to model and server uses only its own."""
        peers = self._frames.peers
        clients = {line: names.get(line, "") for line in peers}
        asking = {exchange.asking.host for exchange in self._talks.said.values()}
        own = {host for host in asking.intersection(clients.values()) if is_host(host)}
        at_servers = {(client, peers[line]) for line, client in clients.items() if client in asking - {""}}

        def may_be(host: str, line: Line) -> bool:
            client = clients[line]
            is_told_apart = asks_no_model(client) or (is_host(host) and is_host(client))
            if is_told_apart or (host, peers[line]) in at_servers:
                return host == client
            return len(asking) == 1 or not {host, client} & own  # a connection without a name may be of the only host

        return {host: frozenset(line for line in clients if may_be(host, line)) for host in asking}

    def _candidates(
        self,
        key: Key,
        calls: Sequence[Asked],
        results: Mapping[str, Sequence[Told]],
        connections: frozenset[Line],
    ) -> Iterator[Candidate]:
        exchange, until = self._talks.said[key], self._talks.until(key)
        asking = exchange.asking
        first_told = {call: next(iter(results.get(call.key, ())), None) for call in calls}
        places = places_of(first_told)
        for call, (name, arguments) in zip(calls, asking.meant(), strict=True):
            candidate = self._candidate(key, call, name, arguments, connections)
            yield replace(candidate, until_ns=until, told=first_told[call], places=places.get(call))

    def _candidate(
        self, key: Key, call: Asked, name: str, arguments: str | None, connections: frozenset[Line]
    ) -> Candidate:
        """Build a candidate from a call and its conversation."""
        exchange = self._talks.said[key]
        asking = exchange.asking
        return Candidate(
            asked=call,
            arguments=arguments,
            tools=self._naming.tools_named(name, asking),
            talk=exchange.talk,
            agent=(key[0], asking.host, asking.agent),
            connections=connections,
            is_timed=asking.is_timed,
            clock=(key[0], asking.peer),
            cut_ns=self._cuts.of((key[0], asking.peer)),
            boot_ns=self._clock.boot_ns(key[0]) if asking.is_timed else None,
        )

    def _candidates_before(self, key: Key, connections: frozenset[Line], unheeded: _Unheeded) -> Iterator[Candidate]:
        """Yield candidates for uncaptured calls that a request repeats, because their frames carry no other calls.

        Calls that were captured after all, in an answer that nothing continues, are left out: hosts assign call ids of their
        own, above all when they continue with another vendor's model.
        """
        exchange = self._talks.said[key]
        asking = exchange.asking
        if key not in self._before:
            since_ns = 0 if exchange.parent is None else self._talks.said[exchange.parent].asking.end_ns
            self._before[key] = _uncaptured_calls(exchange, since_ns)
        of_answer: dict[str, dict[Asked, Told | None]] = {}
        for call, result in self._before[key]:
            of_answer.setdefault(call.exchange, {})[call] = result
        for calls in of_answer.values():
            places = places_of(calls)
            for call, result in calls.items():
                name, arguments = meant(call)
                if unheeded.get((_named(asking.host), name, arguments), asking.at_ns) < asking.at_ns:
                    continue
                candidate = self._candidate(key, call, name, arguments, connections)
                until = asking.at_ns
                yield replace(candidate, until_ns=until, told=result, places=places.get(call), is_uncaptured=True)


def _named(host: str) -> str:
    return host if is_host(host) else ""


def _uncaptured_calls(exchange: Said, since_ns: int) -> Sequence[tuple[Asked, Told | None]]:
    """Return the calls in the uncaptured messages of a request, each with its result in the request.

    Args:
        exchange: The exchange of the request.
        since_ns: The end of the last captured exchange before; the calls get times from then on, in order.
    """
    asking = exchange.asking
    calls_with_results: list[tuple[Asked, Told | None]] = []
    for place in exchange.unheard:
        message = asking.messages[place]
        if message.role == "model":
            calls = [
                Asked(
                    key=f"{'.'.join(asking.key)}.before.{place}.{number}",
                    capture=asking.key[0],
                    exchange=f"{asking.key[1]}.before.{place}",
                    number=number,
                    wire_id=wire_id,
                    name=name,
                    arguments=arguments,
                    at_ns=since_ns + place,
                    spans=(),
                )
                for number, (name, arguments, wire_id) in enumerate(_calls_in(message, exchange))
            ]
            results = {call.key: result for call, result in results_in(asking, place, calls)}
            calls_with_results += [(call, results.get(call.key)) for call in calls]
    return calls_with_results


def _calls_in(message: Heard, exchange: Said) -> Iterator[tuple[str, str, str]]:
    """Yield name, arguments and id of the calls in a repeated answer."""
    calls, asking = message.of("call"), exchange.asking
    yield from ((piece.name, piece.text, piece.wire_id) for piece in calls)
    if not calls and asking.protocol != "native":
        system = "\n\n".join(piece.text for piece in asking.system_pieces)
        reader, text = reader_of(asking.protocol, system, asking.host), message.text
        fold = Fold(provider="", model="", call_id=str)
        for event in (*reader.feed(TextDelta(text=text, start=0, end=len(text))), *reader.finish()):
            fold.add(event)
        yield from ((folded.call.name, folded.call.arguments, "") for folded in fold.calls)
