"""The parts of the host used by a turn."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from tui_host.chat.active_profile import local_time

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from tui_host.capture.recorder import Recorder
    from tui_host.chat.policy import Approver
    from tui_host.llm.model_client import ModelClient
    from tui_host.servers.pool import Pool
    from tui_host.settings.schema import ModelRef, Provider, Settings


@dataclass(slots=True, kw_only=True)
class Services:
    """The parts of the host used by a turn.

    Attributes:
        provider: Returns a model's provider, with the embedded process started; raises ModelError.
        approver: Asks the user.
        clock: Monotonic seconds.
        now: Local time to tell to a model.
    """

    settings: Settings
    recorder: Recorder
    pool: Pool
    client: ModelClient
    provider: Callable[[ModelRef], Awaitable[Provider]]
    approver: Approver
    clock: Callable[[], float]
    now: Callable[[], datetime] = local_time
