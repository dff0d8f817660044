"""What a model does wrong with its calls, and how often in a row."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tui_host.llm.events import CallMalformed
from tui_host.llm.messages import Text
from tui_host.llm.protocols.foreign_calls import grammar_of
from tui_host.llm.protocols.text_reader import calls_after_call

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tui_host.llm.fold import Fold
    from tui_host.llm.messages import ToolSpec
    from tui_host.llm.protocols.tool_protocol import ToolProtocol

MOST_CORRECTIONS = 3
"""Answers in a row whose calls cannot be read, or are of no tool that there is, that the model is corrected for; then the turn is
given up."""
MOST_SAME = 3
"""Times in a row that the same calls with the same arguments are run."""


class Mistakes:
    """Counts them through one turn.

    Attributes:
        malformed: Answers in a row whose calls could not be read, or run as they are.
        same: Times in a row that the same calls were asked for.
        behind: The tools of the calls that stand in what was cut behind the answer's call, as the tool protocol says them.
    """

    def __init__(self) -> None:
        self.malformed = 0
        self.same = 0
        self.behind: list[str] = []
        self._last: tuple[tuple[str, str], ...] = ()

    def look(self, fold: Fold, speaks: ToolProtocol, tools: Sequence[ToolSpec]) -> None:
        """Look through an answer; what is found besides what the reader found stands in its `malformed`.

        Args:
            fold: The answer.
            speaks: The tool protocol that it was read by.
            tools: What a model may know by name.
        """
        cut = "".join(piece.text for piece in fold.cut_off) if fold.calls else ""
        self.behind = [speaks.spoken(name, tools) for name in calls_after_call(cut, speaks, tools)]
        if speaks.name != "native":  # there the vendor's interface says what a call is
            reason = _reason(fold, speaks, tools)
            if reason:
                fold.add(CallMalformed(reason=reason, start=0, end=0))
            asked = tuple((each.call.name, "".join(each.call.arguments.split())) for each in fold.calls)
            self.same = self.same + 1 if asked and asked == self._last else int(bool(asked))
            self._last = asked

    def count(self, wrong: Sequence[str]) -> int:
        """How many answers in a row had no call that could be run, with the one of which this is wrong."""
        self.malformed = self.malformed + 1 if wrong else 0
        return self.malformed


def _reason(fold: Fold, speaks: ToolProtocol, tools: Sequence[ToolSpec]) -> str:
    if fold.calls or fold.malformed or fold.unreadable or fold.stop != "end":
        return ""
    parts = fold.message(turn=0).parts
    if any(isinstance(part, Text) and part.written for part in parts):  # it stands where an answer belongs
        return ""
    if not fold.text.strip():
        return "the answer was empty"
    other = grammar_of(fold.text, tools, besides=speaks.name)
    return f"it is written in the form of {other}, which is not the one agreed on" if other else ""
