"""Guess turn and step of a call while a story is growing, from the exchange that seems to have made the call."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from tui_host.infer.alias_table import Naming
from tui_host.infer.asking.conversations import Key, Said, Talks
from tui_host.infer.asking.host_names import host_named, is_host
from tui_host.infer.call_values import FrameKey, Sent
from tui_host.infer.clock_offsets import DOUBTFUL_NS
from tui_host.infer.tapped_frames import Frames

_SEARCHED = 50
"""How many exchanges to search for the one that made a call."""


class Steps:
    """Guesses for each new frame which exchange made the call. A guess is no link: later records may contradict it.

    Args:
        talks: The conversations.
        frames: The servers' side.
        naming: Resolves tool names.
    """

    def __init__(self, talks: Talks, frames: Frames, naming: Naming) -> None:
        self._talks = talks
        self._frames = frames
        self._naming = naming
        self._found: dict[FrameKey, Said | None] = {}
        self._carried: dict[tuple[Key, int], FrameKey] = {}

    def of(self, call: FrameKey) -> Said | None:
        """Return the exchange that seems to have made a call, None if there is none. The guess never changes."""
        if call not in self._found:
            self._found[call] = self._find(self._frames.sent[call])
        return self._found[call]

    def _find(self, sent: Sent) -> Said | None:
        client = self._client_of(sent)
        recent = self._recent(client)
        if sent.mono_ns is None:  # in a file all exchanges may stand before the frame, so calls are taken in order
            recent = reversed(list(recent))
        for exchange in recent:
            call = self._call_of(exchange, sent)
            if call is None:
                continue
            if sent.mono_ns is not None and any(self._may_be_of(rival, exchange, sent) for rival in recent):
                return None
            self._carried[call] = sent.key
            return exchange
        # The call may not be recorded to its end yet, or the host may have changed the arguments.
        last = next(self._recent(client), None)
        if (
            last is not None
            and sent.mono_ns is not None
            and last.asking.is_at_work(sent.at_ns)
            and self._may_still_send(last.asking.key, sent)
        ):
            is_its_host = is_host(client) and last.asking.host == client
            if is_its_host or self._naming.may_ask_for(last.asking, sent.server, sent.tool):
                return last
        return None

    def _may_still_send(self, key: Key, sent: Sent) -> bool:
        """Return whether a frame was sent before the conversation continued, as far as the clocks agree."""
        until = self._talks.until(key)
        return until is None or sent.at_ns <= until + DOUBTFUL_NS

    def _may_be_of(self, rival: Said, exchange: Said, sent: Sent) -> bool:
        """Return whether a frame may also belong to a concurrent conversation."""
        return (
            rival.talk != exchange.talk
            and rival.asking.is_at_work(sent.at_ns)
            and self._call_of(rival, sent, is_free=True) is not None
        )

    def _call_of(self, exchange: Said, sent: Sent, *, is_free: bool = False) -> tuple[Key, int] | None:
        """Return the call of an answer that a frame seems to carry, unless another frame carries the call."""
        asking = exchange.asking
        alike = [
            (asking.key, number)
            for number, (name, arguments) in enumerate(asking.meant())
            if arguments == sent.arguments and self._naming.means(asking, name, sent.server, sent.tool)
        ]
        if not alike or not self._may_still_send(asking.key, sent):
            return None
        free = [call for call in alike if call not in self._carried]
        open_ = [
            call
            for call in alike
            if not is_free and call in self._carried and self._frames.sent[self._carried[call]].answer is None
        ]
        return next(iter((*free, *open_)), None)

    def _recent(self, client: str) -> Iterator[Said]:
        """Yield recent exchanges, the newest first, without those of hosts other than the client's."""
        for exchange in islice(reversed(self._talks.said.values()), _SEARCHED):
            host = exchange.asking.host
            if host == client or not (is_host(host) and is_host(client)):
                yield exchange

    def _client_of(self, sent: Sent) -> str:
        """Return the host that sent a frame, by the client's name."""
        return host_named(self._frames.clients.get(sent.line, ""))
