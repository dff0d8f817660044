"""Guess turn and step of a call while a story is growing, from the exchange that seems to have made the call."""

from __future__ import annotations

from itertools import islice

from tui_host.infer.call_values import CallFrame, FrameKey
from tui_host.infer.conversations.conversation_tree import Conversations
from tui_host.infer.conversations.model_exchange import ModelExchange
from tui_host.infer.matching.tool_names import meant, tools_named
from tui_host.infer.tapped_frames import TappedFrames

_SEARCHED = 50
"""How many exchanges to search for the one that made a call."""


class CallSteps:
    """Guesses for each new frame which exchange made the call, until a link tells.

    Args:
        conversations: The conversations.
        frames: The servers' side.
    """

    def __init__(self, conversations: Conversations, frames: TappedFrames) -> None:
        self._conversations = conversations
        self._frames = frames
        self._found: dict[FrameKey, ModelExchange | None] = {}

    def of(self, call: FrameKey) -> ModelExchange | None:
        """Return the exchange that seems to have made a call, None if there is none. The guess never changes."""
        if call not in self._found:
            sent = self._frames.sent[call]
            newest = islice(reversed(self._conversations.exchanges.values()), _SEARCHED)
            fitting = [exchange for exchange in newest if not exchange.children and _has_made(exchange, sent)]
            is_one = len({exchange.conversation for exchange in fitting}) == 1
            self._found[call] = fitting[0] if is_one else None
        return self._found[call]


def _has_made(exchange: ModelExchange, sent: CallFrame) -> bool:
    """Return whether an answer holds a call like a frame's."""
    return any(
        arguments == sent.arguments and tools_named(name, [(sent.server, sent.tool)], exchange.offered)
        for name, arguments in map(meant, exchange.calls())
    )
