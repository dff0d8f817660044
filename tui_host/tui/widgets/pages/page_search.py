"""A search on a page: its places are collected in slices, and gone through one by one."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator

from tui_host.tui.widgets.pages.detail_page import Match, Page

MOST = 9_999
"""Places that are collected."""


class PageSearch:
    """The places of a text on a page.

    Args:
        text: The text; large and small letters are alike.
        page: The page.

    Attributes:
        pattern: The text as a pattern, for which a blank behind a colon may be missing: JSON is drawn with it.
        is_whole: Whether all places are collected.
    """

    def __init__(self, text: str, page: Page) -> None:
        self.text = text
        self.pattern = re.compile(re.escape(text).replace(r":\ ", r":\s*"), re.IGNORECASE)
        self._current = -1
        self._goal: int | None = 0  # the number of the place to go to, once it is collected
        self.begin(page, hold=True)

    def begin(self, page: Page, *, hold: bool = False) -> None:
        """Collect the places of another page; with `hold`, of a page that only grew."""
        self._places: Iterator[Match | None] = page.places(self.pattern)
        self._matches: list[Match] = []
        self.is_whole = False
        if not hold:
            self._current, self._goal = -1, None

    @property
    def is_done(self) -> bool:
        """Whether `look` has nothing to do."""
        return self.is_whole and self._goal is None

    @property
    def words(self) -> str:
        """The place and the number of places: `3 of 17`."""
        count = len(self._matches)
        if not count:
            return "not on this page" if self.is_whole else "looking"
        more = "" if self.is_whole else "…"
        return f"{count:,}{more} here" if self._current < 0 else f"{self._current + 1:,} of {count:,}{more}"

    def step(self, step: int) -> None:
        """Ask for the next (1) or the former (-1) place; behind the last comes the first."""
        self._goal = self._current + step if self._current >= 0 else min(step, 0)

    def look(self, seconds: float) -> Match | None:
        """Collect more places for a time; returns the place to go to, once."""
        until = time.perf_counter() + seconds
        while not self.is_whole and time.perf_counter() < until:
            match = next(self._places, self)
            if isinstance(match, Match):
                self._matches.append(match)
            self.is_whole = match is self or len(self._matches) >= MOST
        goal, count = self._goal, len(self._matches)
        if goal is None or not (0 <= goal < count or self.is_whole):
            return None
        self._goal = None
        if not count:
            return None
        self._current = goal % count
        return self._matches[self._current]
