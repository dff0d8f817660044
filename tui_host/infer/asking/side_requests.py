"""Recognise a host's own requests beside a person's: for a title, a topic, a summary."""

from __future__ import annotations

import re

from tui_host.infer.asking.model_exchange import Asking

_NATIVE = "native"
_QUOTED = 4096
"""The longest question searched for; hosts cut longer questions."""
_READ = 1 << 18
"""Characters of the other request that are searched."""


def is_beside(asking: Asking, main: Asking, question: str) -> bool:
    """Return whether a request is the host's own, about a person's question in another request.

    The answer must be certain, because a person may quote one question in another. So only a request without tools counts,
    beside a request with tools, whose single message quotes the question between tags or quotes, or on lines of its own.

    Args:
        asking: The request.
        main: The person's request.
        question: The person's question.
    """
    if asking.key[0] != main.key[0] or asking.host != main.host or _has_tools(asking) or not _has_tools(main):
        return False
    question = question.strip()
    if len(asking.messages) != 1 or asking.messages[0].role != "user" or not 0 < len(question) <= _QUOTED:
        return False
    text = asking.messages[0].text[:_READ].strip()
    return text != question and re.search(_quoted(question), text) is not None


def _has_tools(asking: Asking) -> bool:
    return bool(asking.offered) or asking.protocol != _NATIVE


def _quoted(question: str) -> str:
    return rf"(?:^|[\n>\"“`]|: )[ \t]*{re.escape(question)}[ \t]*(?:$|[\n<\"”`])"
