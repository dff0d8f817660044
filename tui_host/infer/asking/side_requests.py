"""Recognise a host's own requests beside a person's: for a title, a topic, a summary."""

from __future__ import annotations

import re

from tui_host.infer.asking.model_exchange import Asking

_NATIVE = "native"
_QUOTED = 4096
"""Characters of a question that is looked for in another request; what is longer, hosts cut."""
_READ = 1 << 18
"""Characters of that request in which it is."""


def is_beside(asking: Asking, main: Asking, question: str) -> bool:
    """Return whether a request is the host's own, about a person's question in another request.

    It must be sure: a person may ask two things at once, and say in one what was said in the other. So only what offers no tools counts,
    beside a request that does, where its one message holds the question as a quotation, between tags or quotes, or as lines of its own.

    Args:
        asking: The request.
        main: That of the person.
        question: What the person asked with it.
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
