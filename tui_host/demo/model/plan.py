"""The plan of an answer, made by the rules, and the pieces in which it is streamed."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Literal, TypeAlias

from tui_host.demo.model.conversation import DemoCall

Stop: TypeAlias = Literal["end", "calls", "length"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """An answer: thinking, then text, then calls; or an error that the user asked for.

    Attributes:
        trouble: What happens in mid-answer: `stream`: an error object within the stream; `cut`: the connection breaks
            off; `hang`: nothing follows the head.
        status: An HTTP error in place of the answer; 0 for none. With `once`, only for the conversation's first request.
    """

    thinking: str = ""
    text: str = ""
    calls: tuple[DemoCall, ...] = ()
    is_cut: bool = False
    lacks_tool: bool = False  # whether the answer is that the tool for the question was not offered
    trouble: Literal["", "stream", "cut", "hang"] = ""
    status: int = 0
    once: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class PiecedCall:
    """A call with the fragments of its arguments."""

    name: str
    arguments: str
    fragments: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PiecedAnswer:
    """A plan cut into the pieces that are streamed. A piece counts as a token, a call's name as some."""

    thinking: tuple[str, ...]
    text: tuple[str, ...]
    calls: tuple[PiecedCall, ...]
    stop: Stop
    tokens: int


# Sizes in characters, as uneven as a model's tokens; fixed, so that the same answer is always cut in the same way.
_LATIN = (4, 2, 5, 3, 7, 1, 4, 6, 3, 8, 2, 5)
_CJK = (1, 2, 1, 3, 1, 2)
_NAME_TOKENS, _NO_LIMIT = 4, 1_000_000_000


def in_pieces(plan: Plan, most_tokens: object = None) -> PiecedAnswer:
    """Cut the plan into pieces, up to a limit of tokens; `most_tokens` is the limit as sent, a number or not."""
    limit = most_tokens if isinstance(most_tokens, int) and most_tokens > 0 else _NO_LIMIT
    thinking = _pieces(plan.thinking, limit)
    text = _pieces(plan.text, limit - len(thinking))
    tokens = len(thinking) + len(text)
    left = limit - tokens
    calls: list[PiecedCall] = []
    for call in plan.calls:
        left -= _NAME_TOKENS
        fragments = _pieces(call.arguments, left)
        left -= len(fragments)
        if left >= 0:
            calls.append(PiecedCall(name=call.name, arguments="".join(fragments), fragments=fragments))
            tokens += _NAME_TOKENS + len(fragments)
    stop: Stop = "calls" if plan.calls else "end"
    if plan.is_cut or left <= 0:
        stop = "length"
    return PiecedAnswer(thinking=thinking, text=text, calls=tuple(calls), stop=stop, tokens=tokens)


def _pieces(text: str, most: int) -> tuple[str, ...]:
    pieces: list[str] = []
    position = 0
    for size in itertools.cycle(_CJK if text[:1] >= "\u2e80" else _LATIN):
        if position >= len(text) or len(pieces) >= most:
            break
        pieces.append(text[position : position + size])
        position += size
    return tuple(pieces)
