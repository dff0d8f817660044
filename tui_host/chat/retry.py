"""Decides whether a refused request is sent again, and after how many seconds."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field

from tui_host.errors import ModelError

MOST_SECONDS = 120.0
"""Longest total wait. A request is not retried if the provider asks for a longer wait."""
FIRST_PAUSE_SECONDS = 0.5
LONGEST_PAUSE_SECONDS = 8.0


@dataclass(slots=True, kw_only=True)
class Retries:
    """Counts the automatic retries of a request and computes the waits.

    Attributes:
        waited: Seconds waited so far.
        jitter: Returns a number from 0 to 1 that varies the wait, so that many clients do not retry at the same moment.
    """

    limit: int = 3
    count: int = 0
    waited: float = 0.0
    jitter: Callable[[], float] = field(default=random.random)

    def next_wait(self, error: ModelError) -> float | None:
        """Return the seconds to wait before sending the request again, None to give up.

        Uses the provider's `Retry-After` if present, otherwise half a second, doubled with each retry.
        """
        if not error.passes or self.count >= self.limit:
            return None
        seconds = error.retry_after
        if not seconds:  # some gateways send 0, and would be asked again without a pause
            pause = min(FIRST_PAUSE_SECONDS * 2**self.count, LONGEST_PAUSE_SECONDS)
            seconds = pause * (1 - 0.25 * self.jitter())
        if self.waited + seconds > MOST_SECONDS:
            return None
        self.count += 1
        self.waited += seconds
        return seconds
