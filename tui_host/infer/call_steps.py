"""In which turn and step a call seems to stand while its story goes on: those of the exchange that seems to have asked for it."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from tui_host.infer.alias_table import Naming
from tui_host.infer.asking.conversations import Key, Said, Talks
from tui_host.infer.asking.host_names import host_named, is_host
from tui_host.infer.call_values import FrameKey, Sent
from tui_host.infer.clock_offsets import DOUBTFUL_NS
from tui_host.infer.tapped_frames import Frames

_LOOKED_BACK = 50
"""Exchanges among which the one that a frame belongs to is looked for, to put it under its heading."""


class Steps:
    """Finds for each frame of a call, as it comes, the exchange that seems to have asked for it. It is no link: more may tell otherwise.

    Args:
        talks: The conversations.
        frames: The servers' side.
        naming: What the names in answers stand for.
    """

    def __init__(self, talks: Talks, frames: Frames, naming: Naming) -> None:
        self._talks = talks
        self._frames = frames
        self._naming = naming
        self._found: dict[FrameKey, Said | None] = {}
        self._carried: dict[tuple[Key, int], FrameKey] = {}

    def of(self, call: FrameKey) -> Said | None:
        """The exchange that seems to have asked for a call, None if none does; of its answer the same."""
        if call not in self._found:
            self._found[call] = self._find(self._frames.sent[call])
        return self._found[call]

    def _find(self, sent: Sent) -> Said | None:
        client = self._client_of(sent)
        recent = self._recent(client)
        if sent.mono_ns is None:  # all that was said may stand before it in the file: calls are taken in their order
            recent = reversed(list(recent))
        for said in recent:
            call = self._call_of(said, sent)
            if call is None:
                continue
            if sent.mono_ns is not None and any(self._may_be_of(other, said, sent) for other in recent):
                return None
            self._carried[call] = sent.key
            return said
        # What was asked may not be recorded to its end yet, or the host may have changed it: while it is at that.
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
        """Whether a conversation had not gone on from an answer when a call was sent, as far as clocks agree."""
        until = self._talks.until(key)
        return until is None or sent.at_ns <= until + DOUBTFUL_NS

    def _may_be_of(self, other: Said, said: Said, sent: Sent) -> bool:
        """Whether a frame may as well be of another conversation that goes on at the time."""
        return (
            other.talk != said.talk
            and other.asking.is_at_work(sent.at_ns)
            and self._call_of(other, sent, is_free=True) is not None
        )

    def _call_of(self, said: Said, sent: Sent, *, is_free: bool = False) -> tuple[Key, int] | None:
        """The call of an answer that a frame is, and no frame before it was answered as that, or was sent at all if it is to be free."""
        asking = said.asking
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
        """The last exchanges, the newest first, save those of another host than a client's."""
        for said in islice(reversed(self._talks.said.values()), _LOOKED_BACK):
            host = said.asking.host
            if host == client or not (is_host(host) and is_host(client)):
                yield said

    def _client_of(self, sent: Sent) -> str:
        """The host that sent a frame, as it calls itself."""
        return host_named(self._frames.clients.get(sent.line, ""))
