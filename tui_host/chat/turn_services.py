"""The parts of the host that a turn uses."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from tui_host.chat.active_profile import local_time
from tui_host.servers.server_questions import unchecked

if TYPE_CHECKING:
    from collections.abc import Awaitable, Sequence

    from tui_host.capture.recorder import Recorder
    from tui_host.chat.policy import Approver
    from tui_host.errors import JSON
    from tui_host.llm.model_client import ModelClient
    from tui_host.servers.pool import Pool
    from tui_host.settings.schema import ModelRef, Provider, Settings


@dataclass(slots=True, kw_only=True)
class Services:
    """The parts of the host that a turn uses.

    Attributes:
        provider: Returns a model's provider, and starts the demo model's process if needed; raises ModelError.
        clock: Returns monotonic seconds.
        now: Returns the local time to state to the model.
        misfits: Returns the schema errors of arguments; None if the schema is unusable or the check takes too long.
    """

    settings: Settings
    recorder: Recorder
    pool: Pool
    client: ModelClient
    provider: Callable[[ModelRef], Awaitable[Provider]]
    approver: Approver
    clock: Callable[[], float]
    now: Callable[[], datetime] = local_time
    misfits: Callable[[JSON, JSON], Awaitable[Sequence[str] | None]] = unchecked
