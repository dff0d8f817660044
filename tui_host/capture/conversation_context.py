"""The place of the running task in a conversation, from which a tap knows the place of a record."""

from __future__ import annotations

from contextvars import ContextVar

from tui_host.capture.record import NOWHERE, Place

current_place: ContextVar[Place] = ContextVar("current_place", default=NOWHERE)
"""Set by the task of a turn around a model's request or a call; a task started meanwhile inherits it."""
