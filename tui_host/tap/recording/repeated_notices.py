"""Sentences for a person that may come up any number of times."""

from __future__ import annotations

from collections.abc import Callable

MOST = 1000
"""Different sentences that are told: a web page could make up any number."""


def told_once(tell: Callable[[str], None]) -> Callable[[str], None]:
    """Takes sentences, and tells each that has not been told yet."""
    told: set[str] = set()

    def tell_once(words: str) -> None:
        if words not in told and len(told) < MOST:
            told.add(words)
            tell(words)

    return tell_once
