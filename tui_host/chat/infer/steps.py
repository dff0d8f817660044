"""In which turn and step a call seems to stand while its story goes on: those of the exchange that seems to have asked for it."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from tui_host.chat.infer.asking.exchanges import Asking
from tui_host.chat.infer.asking.recognise import host_named, is_host
from tui_host.chat.infer.asking.talks import Key, Said, Talks
from tui_host.chat.infer.clocks import DOUBTFUL_NS
from tui_host.chat.infer.frames import Frames
from tui_host.chat.infer.naming import Naming
from tui_host.chat.infer.values import FrameKey, Sent

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
            if self._may_still_send(said.asking.key, sent) and self._carries(said.asking, sent):
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

    def _carries(self, asking: Asking, sent: Sent) -> bool:
        """Whether a frame is what an answer asks for, and no frame before it was answered as that."""
        alike = [
            (asking.key, number)
            for number, (name, arguments) in enumerate(asking.meant())
            if arguments == sent.arguments and self._naming.means(asking, name, sent.server, sent.tool)
        ]
        free = [call for call in alike if call not in self._carried]
        open_ = [
            call for call in alike if call in self._carried and self._frames.sent[self._carried[call]].answer is None
        ]
        call = next(iter((*free, *open_)), None)
        if call is not None:
            self._carried[call] = sent.key
        return call is not None

    def _recent(self, client: str) -> Iterator[Said]:
        """The last exchanges, the newest first, save those of another host than a client's."""
        for said in islice(reversed(self._talks.said.values()), _LOOKED_BACK):
            host = said.asking.host
            if host == client or not (is_host(host) and is_host(client)):
                yield said

    def _client_of(self, sent: Sent) -> str:
        """The host that sent a frame, as it calls itself."""
        return host_named(self._frames.clients.get(sent.line, ""))
