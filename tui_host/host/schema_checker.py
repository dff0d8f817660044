"""Checks arguments against servers' schemas in a helper process, which is ended if a check takes too long."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from tui_host.errors import JSON
from tui_host.guard.guard_client import Guard
from tui_host.host.helper_process import HelperProcess

START_SECONDS = 5.0
"""Time limit for the first check, in seconds: the process imports a library first."""
ANSWER_SECONDS = 1.0


class SchemaChecker:
    """Checks with a `chat.schema_check` process, which is kept for the next check."""

    def __init__(self, environment: Mapping[str, str], guard: Guard) -> None:
        self._helper = HelperProcess("tui_host.chat.schema_check", environment, guard)
        self._results: dict[str, Sequence[str] | None] = {}  # by question, since models repeat calls
        self.close = self._helper.close

    async def misfits(self, schema: JSON, value: JSON) -> Sequence[str] | None:
        """Return the schema errors of a value; None if the schema is unusable or the check takes too long."""
        question: JSON = [schema, value]
        key = json.dumps(question)
        if key not in self._results:
            limit = ANSWER_SECONDS if self._helper.is_running else START_SECONDS
            errors = await self._helper.ask(question, limit)
            self._results[key] = list(map(str, errors)) if isinstance(errors, list) else None
        return self._results[key]
