"""Find a person's first question to a tapped host, for a title."""

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
    """Takes the question from the first request that offers tools, else from the first request.

    Attributes:
        words: Its first line, without secrets and not long; empty before there is one.
        left: So many more requests are worth a look.
    """

    def __init__(self) -> None:
        self.words = ""
        self.left = _OPENING

    def hear(self, asking: Asking, redact: Callable[[str], str]) -> None:
        """Take in the next request.

        Args:
            asking: What it says.
            redact: What the words pass.
        """
        tells_of_tools = bool(asking.offered) or asking.protocol != NATIVE
        if not self.left or (self.words and not tells_of_tools):
            self.left = max(self.left - 1, 0)
            return
        words = (said_by_person(message) for message in reversed(asking.messages) if message.role == "user")
        question = next(filter(None, words), "")
        if question:
            self.words = title_of(redact(question[:_READ]))
        self.left = 0 if question and tells_of_tools else self.left - 1
