"""The result of a call, read from its frame: all contents with their bytes, however long ago it was recorded."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from tui_host.capture.json.reading import read_object
from tui_host.servers.catalog import READ
from tui_host.servers.tool_output import read_contents, read_output

if TYPE_CHECKING:
    from tui_host.servers.catalog import ToolOutput
    from tui_host.tui.sources.live import SessionSource

_METHODS = frozenset(("tools/call", READ))


def recorded_output(source: SessionSource, call: str) -> ToolOutput | None:
    """Return the result of a call; None if no frame with it was recorded, or none was read so far."""
    rows = source.ladder.rows
    for number in range(len(rows) - 1, -1, -1):
        row = rows[number]
        if call in row.calls and row.answer and not row.outward and row.method in _METHODS:
            result = read_object(source.body(row)).get("result")
            if isinstance(result, Mapping):
                return (read_contents if row.method == READ else read_output)(result)
    return None
