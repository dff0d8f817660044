"""Guess turn and step of a call while a story is growing, from the exchange that seems to have made the call."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from tui_host.infer.call_values import CallFrame, FrameKey
from tui_host.infer.clock_offsets import SURE_NS
from tui_host.infer.conversations.conversation_tree import Conversations
from tui_host.infer.conversations.host_names import host_named, is_host
from tui_host.infer.conversations.model_exchange import ModelExchange
from tui_host.infer.conversations.tool_offers import Offers, ToolNames
from tui_host.infer.tapped_frames import TappedFrames
from tui_host.infer.tool_aliases import meant

_SEARCHED = 50
"""How many exchanges to search for the one that made a call."""


class CallSteps:
    """Guesses for each new frame which exchange made the call, until a link tells.

    Args:
        conversations: The conversations.
        frames: The servers' side.
        naming: Resolves tool names.
    """

    def __init__(self, conversations: Conversations, frames: TappedFrames, naming: ToolNames) -> None:
        self._conversations = conversations
        self._frames = frames
        self._naming = naming
        self._found: dict[FrameKey, ModelExchange | None] = {}

    def of(self, call: FrameKey) -> ModelExchange | None:
        """Return the exchange that seems to have made a call, None if there is none. The guess never changes."""
        if call not in self._found:
            sent = self._frames.sent[call]
            fitting = [exchange for exchange in self._recent(sent) if self._may_be_of(exchange, sent)]
            is_one = len({exchange.conversation for exchange in fitting}) == 1
            self._found[call] = fitting[0] if is_one else None
        return self._found[call]

    def _may_be_of(self, exchange: ModelExchange, sent: CallFrame) -> bool:
        """Return whether an answer has a call like the frame's, and the conversation had not continued."""
        children = (self._conversations.exchanges[key] for key in exchange.children)
        until_ns = min((child.at_ns for child in children), default=None)
        return (until_ns is None or sent.at_ns <= until_ns + SURE_NS) and any(
            arguments == sent.arguments and self._naming.means(Offers(exchange.offered), name, sent.server, sent.tool)
            for name, arguments in map(meant, exchange.calls())
        )

    def _recent(self, sent: CallFrame) -> Iterator[ModelExchange]:
        """Yield recent exchanges, the newest first, without those of hosts other than the frame's."""
        client = host_named(self._frames.clients.get(sent.line, ""))
        for exchange in islice(reversed(self._conversations.exchanges.values()), _SEARCHED):
            if exchange.host == client or not (is_host(exchange.host) and is_host(client)):
                yield exchange
