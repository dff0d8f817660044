"""The options of `sessions show` that ask for a page in place of the conversation."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from typing_extensions import override

_PAGES: tuple[tuple[str, str, str | int, str], ...] = (
    (
        "look",
        "",
        0,
        "what deserves a look: errors, cut answers, retries, changed definitions, edits, what was not told",
    ),
    ("time", "TURN", "?", "where the time of a turn, or of all turns, went"),
    (
        "changes",
        "REQUEST",
        "+",
        "what changed in a request since the one before, or since another: LLM 3 is 3, of another session ID:3",
    ),
    ("bill", "REQUEST", "?", "what a request consists of, by tools and messages: the last one, or LLM 3 as 3"),
    ("tools", "", 0, "what each tool costs: in how many requests, its tokens, its calls, its changes"),
    ("servers", "", 0, "the servers as they were: versions, connections and their ends, tools and their tokens"),
    ("chain", "CALL", 1, "the steps of a call, such as 1.1.2: asked, decided, sent, answered, told, said"),
)
"""Name, what follows it, how many of these, and the help of each option."""


class _Asked(argparse.Action):
    """Stores the name of the page and what follows it as `answer`."""

    @override
    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: str | Sequence[object] | None,
        option_string: str | None = None,
    ) -> None:
        name = (option_string or "").lstrip("-")
        if getattr(namespace, "answer", ()):
            parser.error(f"--{name}: ask for one page at a time")
        given = [values] if isinstance(values, str) else list(values or ())
        if name == "changes" and len(given) > 2:
            parser.error("--changes: compares two requests, not more, such as 2 5")
        namespace.answer = (name, *map(str, given))


def add_answers(shown: argparse.ArgumentParser) -> None:
    """Add the options to `sessions show`."""
    shown.usage = "%(prog)s ID [OPTION ...]"
    pages = shown.add_argument_group("pages, in place of the conversation")
    for name, metavar, number, words in _PAGES:
        pages.add_argument(
            f"--{name}", action=_Asked, nargs=number, metavar=metavar or None, dest="answer", default=(), help=words
        )
