"""Show results that no evidence assigns to a call, beside the calls they may belong to."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tui_host.chat.conversation import AnswerItem, CallItem, Item
from tui_host.infer.asking.conversations import Key, Said, Talks
from tui_host.infer.asking.request_messages import Piece
from tui_host.infer.asking.text_protocols import results_of
from tui_host.infer.call_joining import Joined

_NO_NAME = "a tool"
_OF_ANOTHER = "told in the request, of one of these calls"
_OF_THIS_NAME = "told in the request, of one of the calls of this name"


class Unplaced:
    """Finds the unassigned results of answers.

    Args:
        talks: The conversations.
    """

    def __init__(self, talks: Talks) -> None:
        self._talks = talks
        self._results: dict[Key, Sequence[Piece]] = {}
        self._shown: dict[Key, dict[int, Piece]] = {}

    def of(self, exchange: Said, calls: Sequence[Joined]) -> Sequence[Piece]:
        """Return the results behind an answer that belong to unknown calls of the answer.

        Args:
            exchange: The exchange of the answer.
            calls: The answer's calls.
        """
        if not exchange.children or not exchange.asking.is_over or all(map(has_result, calls)):
            return ()
        child = exchange.children[0]
        if child not in self._results:
            self._results[child] = list(self._results_after(self._talks.said[child]))
        placed = {(result.capture, result.exchange, result.start) for call in calls for result in call.told}
        has_ids = any(call.asked.wire_id for call in calls)  # then a result with another id belongs to another answer
        return [
            piece
            for piece in self._results[child]
            if (*child, piece.start) not in placed and not (has_ids and piece.wire_id)
        ]

    def items(self, exchange: Said, calls: Sequence[Joined]) -> Iterator[tuple[tuple[str, ...], Item]]:
        """Yield unassigned results as items with keys, and empty items for results assigned since."""
        pieces = self.of(exchange, calls)
        before = self._shown.setdefault(exchange.asking.key, {}) if pieces else self._shown.get(exchange.asking.key, {})
        before.update((piece.start, piece) for piece in pieces)
        now = {piece.start for piece in pieces}
        names = {call.asked.name for call in calls if not has_result(call)}
        for start, piece in before.items():
            call = f"{'.'.join(exchange.asking.key)}.told.{start}"
            item: Item = AnswerItem(turn=exchange.turn, step=0, text="", state="done")
            if start in now:
                item = CallItem(
                    turn=exchange.turn,
                    step=0,
                    call=call,
                    server="",
                    tool=piece.name or _NO_NAME,
                    asked="",
                    state="done",
                    words=_OF_THIS_NAME if piece.name in names and len(names) > 1 else _OF_ANOTHER,
                    result=piece.text,
                )
            yield ("unplaced", str(start)), item

    def _results_after(self, child: Said) -> Sequence[Piece]:
        asking = child.asking
        behind = (message for message in asking.messages[child.after + 1 :] if message.role == "user")
        message = next(behind, None)
        return () if message is None else results_of(asking.body, asking.protocol, message)


def has_result(joined: Joined) -> bool:
    """Return whether a call's result is known from either side."""
    return bool(joined.told) or (bool(joined.sent) and joined.sent[-1].answer is not None)


def doubt_in_words(joined: Joined, pieces: Sequence[Piece]) -> str:
    """Return a remark for a call that may own one of the results; empty if the call has a result."""
    if has_result(joined) or not pieces:
        return ""
    count = sum(piece.name in {"", joined.asked.name} for piece in pieces) or len(pieces)
    which = f"which of the {count:,} results" if count > 1 else "whether the result"
    return f"doubtful {which} told below is its own"
