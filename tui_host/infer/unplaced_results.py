"""Results that a model is told of calls where nothing says which result is of which call: they are joined to none, and told beside them."""

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
    """Finds them for the answers of conversations.

    Args:
        talks: The conversations.
    """

    def __init__(self, talks: Talks) -> None:
        self._talks = talks
        self._results: dict[Key, Sequence[Piece]] = {}
        self._told: dict[Key, dict[int, Piece]] = {}

    def of(self, said: Said, calls: Sequence[Joined]) -> Sequence[Piece]:
        """The results that stand behind an answer and belong to its calls, to which of them nobody knows; none where each has its own.

        Args:
            said: The answer.
            calls: Its calls.
        """
        if not said.children or not said.asking.is_over or all(map(has_result, calls)):
            return ()
        child = said.children[0]
        if child not in self._results:
            self._results[child] = list(self._told_in(self._talks.said[child]))
        placed = {(told.capture, told.exchange, told.start) for each in calls for told in each.told}
        has_ids = any(each.asked.wire_id for each in calls)  # then a result of another id is of another answer
        return [
            piece
            for piece in self._results[child]
            if (*child, piece.start) not in placed and not (has_ids and piece.wire_id)
        ]

    def items(self, said: Said, calls: Sequence[Joined]) -> Iterator[tuple[tuple[str, ...], Item]]:
        """They as items, each with what names it behind its answer; nothing in the place of one that has its call by now."""
        pieces = self.of(said, calls)
        before = self._told.setdefault(said.asking.key, {}) if pieces else self._told.get(said.asking.key, {})
        before.update((piece.start, piece) for piece in pieces)
        now = {piece.start for piece in pieces}
        names = {each.asked.name for each in calls if not has_result(each)}
        for start, piece in before.items():
            call = f"{'.'.join(said.asking.key)}.told.{start}"
            item: Item = AnswerItem(turn=said.turn, step=0, text="", state="done")
            if start in now:
                item = CallItem(
                    turn=said.turn,
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

    def _told_in(self, child: Said) -> Sequence[Piece]:
        asking = child.asking
        behind = (each for each in asking.messages[child.after + 1 :] if each.role == "user")
        message = next(behind, None)
        return () if message is None else results_of(asking.body, asking.protocol, message)


def has_result(joined: Joined) -> bool:
    """Whether a call's result is known, from either side."""
    return bool(joined.told) or (bool(joined.sent) and joined.sent[-1].answer is not None)


def doubt_in_words(joined: Joined, pieces: Sequence[Piece]) -> str:
    """What is said of a call that one of these results may be of; empty where it has its own, or there is none."""
    if has_result(joined) or not pieces:
        return ""
    count = sum(piece.name in {"", joined.asked.name} for piece in pieces) or len(pieces)
    which = f"which of the {count:,} results" if count > 1 else "whether the result"
    return f"doubtful {which} told below is its own"
