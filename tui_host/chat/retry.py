"""When a request that was refused is sent again by itself, and after how long. Source: llm-dialects.md, section 10."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field

from tui_host.errors import ModelError

MOST_SECONDS = 120.0
"""In all; a provider that asks for more is not waited for."""
_FIRST = 0.5
_LONGEST = 8.0


@dataclass(slots=True, kw_only=True)
class Retries:
    """The retries of one request.

    Attributes:
        limit: How many there may be.
        count: How many there were.
        waited: Seconds waited for them.
        chance: Gives a number from 0 to 1, so that many clients do not come back together.
    """

    limit: int = 3
    count: int = 0
    waited: float = 0.0
    chance: Callable[[], float] = field(default=random.random)

    def wait(self, error: ModelError) -> float | None:
        """Seconds to wait before the request is sent again; None if it is not to be.

        The provider's own word comes first, then half a second, doubled each time.
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
