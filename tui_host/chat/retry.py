"""Decides whether a refused request is sent again, and after how many seconds."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field

from tui_host.errors import ModelError

MOST_SECONDS = 120.0
"""Longest total wait; a provider that asks for more is not retried."""
_FIRST = 0.5
_LONGEST = 8.0


@dataclass(slots=True, kw_only=True)
class Retries:
    """The automatic retries of a request.

    Attributes:
        limit: Most retries.
        count: Retries so far.
        waited: Seconds waited so far.
        chance: Returns a number from 0 to 1, so that many clients do not return at the same moment.
    """

    limit: int = 3
    count: int = 0
    waited: float = 0.0
    chance: Callable[[], float] = field(default=random.random)

    def wait(self, error: ModelError) -> float | None:
        """Return the seconds to wait before sending again, None to give up.

        The provider's `Retry-After` comes first, then half a second, doubled each time.
        """
        if not error.passes or self.count >= self.limit:
            return None
        seconds = error.retry_after
        if seconds is None:
            seconds = min(_FIRST * 2**self.count, _LONGEST) * (1 - 0.25 * self.chance())
        if self.waited + seconds > MOST_SECONDS:
            return None
        self.count += 1
        self.waited += seconds
        return seconds
