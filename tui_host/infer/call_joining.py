"""Join each call that a model made with the frames on its server's wire and with the result in the next request."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from tui_host.capture.wall_clock import WallClock
from tui_host.infer.call_values import Call, CallFrame, Result
from tui_host.infer.conversations.conversation_tree import Conversations
from tui_host.infer.conversations.host_names import host_named
from tui_host.infer.conversations.tool_offers import Offers, ToolNames
from tui_host.infer.matching.call_matching import Connection, match
from tui_host.infer.matching.candidates import Candidate, places_of
from tui_host.infer.tapped_frames import TappedFrames
from tui_host.infer.tool_aliases import meant, names_server

TOLD_OTHERWISE = "told otherwise"
"""The remark on a call whose result differs from the server's answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinedCall:
    """A call with the frames and results that belong to the call.

    Attributes:
        call: The call.
        server: The server's name in the tap; empty if unknown.
        tool: The tool's own name, else the name as the model wrote it.
        sent: The frames that carried the call.
        results: The places of the result in requests.
        rivals: The frames that may have carried the call, if doubtful.
        is_told_otherwise: Whether the result differs from the server's answer.
    """

    call: Call
    server: str
    tool: str
    sent: tuple[CallFrame, ...] = ()
    results: tuple[Result, ...] = ()
    rivals: tuple[CallFrame, ...] = ()
    is_told_otherwise: bool = False

    @property
    def key(self) -> str:
        """The call's key."""
        return self.call.key

    @property
    def is_inferred(self) -> bool:
        """Whether any frame was matched by content, without the call's id."""
        return not all(map(self.is_named_in, self.sent))

    def is_named_in(self, sent: CallFrame) -> bool:
        """Return whether a frame contains the model's id of the call."""
        return self.call.wire_id in sent.ids


class CallJoining:
    """Joins the calls and frames read so far.

    Args:
        conversations: The conversations.
        frames: The servers' side.
        naming: Resolves tool names.
        clock: The clock that all captures share.
    """

    def __init__(
        self,
        conversations: Conversations,
        frames: TappedFrames,
        naming: ToolNames,
        clock: WallClock,
    ) -> None:
        self._conversations = conversations
        self._frames = frames
        self._naming = naming
        self._clock = clock

    def joined(self) -> Iterator[JoinedCall]:
        """Yield all calls in order, each with the frames and results that certainly belong to the call."""
        asked = list(self._conversations.calls())
        results = {call.key: call.results for call in asked}
        candidates = list(self._candidates(asked))
        names = {line: host_named(name) for line, name in self._frames.clients.items()}
        connections = [
            Connection(line=line, server=server, client=names.get(line, ""), since_ns=self._frames.since[line])
            for line, server in self._frames.peers.items()
        ]
        matched = match(candidates, list(self._frames.sent.values()), connections)
        rivals: dict[str, list[CallFrame]] = {}
        for frame, calls in matched.doubtful.items():
            for call in calls:
                rivals.setdefault(call, []).append(self._frames.sent[frame])
        tools = {candidate.key: candidate.tools for candidate in candidates}
        for call in asked:
            sent = matched.frames.get(call.key, ())
            place = matched.result_places.get(call.key, call.key)
            named = [tool for tool in tools.get(call.key, ()) if names_server(call.name, *tool)]
            server, tool = (sent[0].server, sent[0].tool) if sent else named[0] if len(named) == 1 else ("", call.name)
            places = tuple(results.get(place or "", ()))
            rival = tuple(rivals.get(call.key, ()))
            yield JoinedCall(
                call=call,
                server=server,
                tool=tool,
                sent=sent,
                results=places,
                rivals=rival,
                is_told_otherwise=call.key in matched.told_otherwise,
            )

    def _candidates(self, asked: Sequence[Call]) -> Iterator[Candidate]:
        """Yield the calls as candidates, those of an answer together."""
        offers: dict[tuple[str, ...], Offers] = {}
        for key, of_answer in groupby(asked, key=lambda call: (call.capture, call.exchange)):
            calls, exchange = list(of_answer), self._conversations.exchanges[key]
            first_results = {call: next(iter(call.results), None) for call in calls}
            places = places_of(first_results)
            for call in calls:
                name, arguments = meant(call)
                offered = offers.setdefault(call.offered, Offers(call.offered))
                yield Candidate(
                    call=call,
                    arguments=arguments,
                    tools=self._naming.tools_named(name, offered),
                    conversation=call.conversation,
                    agent=(call.capture, call.host, call.agent),
                    until_ns=call.until_ns,
                    result=first_results[call],
                    places=places.get(call),
                    is_timed=exchange.is_timed,
                    boot_ns=self._clock.boot_ns(call.capture) if exchange.is_timed else None,
                )
