"""What a person asked a tapped host first, for a title."""

from __future__ import annotations

from collections.abc import Callable

from tui_host.chat.conversation import title_of
from tui_host.infer.asking.model_exchange import Asking
from tui_host.infer.asking.speakers import NATIVE
from tui_host.infer.asking.text_protocols import said_by_person

_OPENING = 8
"""First requests among which it is: hosts ask for a title, or try whether the model is there, before."""
_READ = 8192
"""Characters of it that are read for its first line."""


class FirstQuestion:
    """It stands in the first request that tells a model of tools, else in the first of all.

    Attributes:
        words: Its first line, without secrets and not long; empty before there is one.
        left: So many more requests are worth a look.
    """

    def __init__(self) -> None:
        self.words = ""
        self.left = _OPENING

    def hear(self, asking: Asking, redact: Callable[[str], str]) -> None:
        """The next request.

        Args:
            asking: What it says.
            redact: What the words pass.
        """
        tells_of_tools = bool(asking.offered) or asking.protocol != NATIVE
        if not self.left or (self.words and not tells_of_tools):
            self.left = max(self.left - 1, 0)
            return
        said = (said_by_person(each) for each in reversed(asking.messages) if each.role == "user")
        question = next(filter(None, said), "")
        if question:
            self.words = title_of(redact(question[:_READ]))
        self.left = 0 if question and tells_of_tools else self.left - 1
