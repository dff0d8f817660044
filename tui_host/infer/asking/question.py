"""Find a person's first question to a tapped host, for a title."""

from __future__ import annotations

from collections.abc import Callable

from tui_host.chat.conversation import title_of
from tui_host.infer.asking.model_exchange import Asking
from tui_host.infer.asking.speakers import NATIVE
from tui_host.infer.asking.text_protocols import said_by_person

_OPENING = 8
"""How many first requests to read: hosts ask for titles and check the model before the question."""
_READ = 8192
"""Characters of the question that are read for the first line."""


class FirstQuestion:
    """Takes the question from the first request that offers tools, else from the first request.

    Attributes:
        words: The question's first line, redacted and shortened; empty before there is a question.
        left: How many more requests to read.
    """

    def __init__(self) -> None:
        self.words = ""
        self.left = _OPENING

    def hear(self, asking: Asking, redact: Callable[[str], str]) -> None:
        """Take in the next request.

        Args:
            asking: The request.
            redact: Redacts the words.
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
